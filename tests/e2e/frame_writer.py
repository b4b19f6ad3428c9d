"""Writes frames by hand, from the format's tables.  Chunks are stored uncompressed, so that frames
do not depend on the code under test.  Source: codec/FORMAT.md."""

import struct

_MARKER_INT64 = b"\xd3"


def memcpyed_head(size, typesize=1, version=5):
    """The 32-byte header of a chunk with `size` uncompressed bytes."""
    return struct.pack("<BBBBiii", version, 1, 0x07, typesize, size, max(size, 1), size + 32) + bytes(16)


def memcpyed_chunk(data, typesize=1, version=5):
    """A chunk with a 32-byte header and uncompressed `data`."""
    return memcpyed_head(len(data), typesize, version) + data


def run_chunk(nbytes, blocksize, value=0, typesize=1):
    """A chunk whose bytes all are `value`, in blocks that share one stream of five bytes."""
    count = -(-nbytes // blocksize)
    stream_at = 32 + 4 * count
    stream = struct.pack("<iB", -value, 1)
    head = struct.pack("<BBBBiii", 5, 1, 0x15, typesize, nbytes, blocksize, stream_at + len(stream))
    return head + bytes(16) + struct.pack("<i", stream_at) * count + stream


def _metalayers(contents, at):
    """The directory of metalayers in a header or trailer, from byte `at` on."""
    names = b""
    sizes = 4 + 3 + sum(1 + len(name) + 5 for name in contents) + 3
    offset = at + sizes
    for name, content in contents.items():
        names += bytes([0xA0 | len(name)]) + name.encode() + b"\xd2" + struct.pack(">i", offset)
        offset += 5 + len(content)
    index = b"\xde" + struct.pack(">H", len(contents)) + names
    body = b"".join(b"\xc6" + struct.pack(">I", len(content)) + content for content in contents.values())
    return (b"\x93\xcd" + struct.pack(">H", 3 + len(index)) + index + b"\xdc" + struct.pack(">H", len(contents)) + body)


def frame(chunks, chunksize, *, typesize=1, blocksize=0, meta=None, vlmeta=None, vlchunks=None, nbytes=None,
          index=None):
    """A contiguous frame of stored chunks, each from memcpyed_chunk() or run_chunk().

    `nbytes` and `index` replace what follows from the chunks: a frame may claim to hold more.
    `vlchunks` are contents of vl-metalayers that are chunks already.
    """
    layers = _metalayers(meta or {}, 87)
    header_len = 87 + len(layers)
    nbytes = nbytes or sum(struct.unpack_from("<i", chunk, 4)[0] for chunk in chunks)
    section = b"".join(chunks)
    entries = []
    at = 0
    for chunk in chunks:
        entries.append(at)
        at += len(chunk)
    index = index or memcpyed_chunk(struct.pack(f"<{len(entries)}q", *entries), typesize=8) if chunks else b""
    vl = {name: memcpyed_chunk(content) for name, content in (vlmeta or {}).items()}
    vl.update(vlchunks or {})
    trailer = b"\x94\x01" + _metalayers(vl, 2)
    trailer += b"\xce" + struct.pack(">I", len(trailer) + 23) + b"\xd8\x00" + bytes(16)
    frame_len = header_len + len(section) + len(index) + len(trailer)
    head = b"\x9e\xa8b2frame\x00"
    head += b"\xd2" + struct.pack(">i", header_len)
    head += b"\xcf" + struct.pack(">Q", frame_len)
    head += b"\xa4" + bytes([0x12, 0, 0, 0x03])
    head += _MARKER_INT64 + struct.pack(">q", nbytes) + _MARKER_INT64 + struct.pack(">q", len(section))
    for number in (typesize, blocksize, chunksize):
        head += b"\xd2" + struct.pack(">i", number)
    head += b"\xd1\x00\x01\xd1\x00\x01" + (b"\xc3" if vl else b"\xc2")
    head += b"\xd8\x06" + bytes(16)
    assert len(head) == 87
    return head + layers + section + index + trailer


def plain_frame(data, chunksize=1000, **fields):
    """A frame of `data`, divided into chunks."""
    chunks = [memcpyed_chunk(data[i : i + chunksize]) for i in range(0, len(data), chunksize)]
    return frame(chunks, chunksize, **fields)


def array_frame(array, blockshape=None):
    """A frame of one chunk and one block with the array, padded to the blockshape."""
    import numpy

    shape = array.shape
    block = blockshape or tuple(max(n, 1) for n in shape)
    padded = numpy.zeros(block, array.dtype)
    padded[tuple(slice(0, n) for n in shape)] = array
    ndim = len(shape)
    content = b"\x97\x00" + bytes([ndim])
    content += bytes([0x90 + ndim]) + b"".join(_MARKER_INT64 + struct.pack(">q", n) for n in shape)
    for dims in (block, block):
        content += bytes([0x90 + ndim]) + b"".join(b"\xd2" + struct.pack(">i", n) for n in dims)
    dtype = numpy.lib.format.dtype_to_descr(array.dtype)
    text = (dtype if isinstance(dtype, str) else repr(dtype)).encode()
    content += b"\x00\xdb" + struct.pack(">I", len(text)) + text
    data = padded.tobytes()
    chunks = [memcpyed_chunk(data, typesize=array.itemsize)] if array.size else []
    return frame(chunks, len(data), typesize=array.itemsize, blocksize=len(data), meta={"b2nd": content})
