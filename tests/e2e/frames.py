"""Writes Blosc2 frames that framefs_make_frame cannot: huge frames, and frames around existing
chunks.  Chunks are stored uncompressed, or are only index entries."""

import struct

ZERO, NAN, UNINIT = (code << 56 | 1 << 63 for code in (1, 2, 4))  # index entries
HEADER_BYTES = 32  # of a chunk
MOST_CHUNK_BYTES = 2_147_483_615


def stored(data, typesize=1):
    """A chunk of uncompressed bytes."""
    head = struct.pack("<BBBBiii", 5, 1, 0x07, min(typesize, 255), len(data), max(len(data), 1),
                       HEADER_BYTES + len(data))
    return head + bytes(HEADER_BYTES - len(head)) + data


def special_value(value, count):
    """A chunk of a repeated value of the size of an index entry."""
    head = bytearray(stored(b"", len(value)))
    struct.pack_into("<iii", head, 4, len(value) * count, 8192, HEADER_BYTES + len(value))
    head[2] = 0x05
    head[31] = 3 << 4
    return bytes(head) + value


def index_chunk(entries):
    packed = [struct.pack("<Q", entry) for entry in entries]
    if len(set(packed)) == 1 and len(packed) > 4:
        return special_value(packed[0], len(packed))
    return stored(b"".join(packed), 8)


def metalayers(layers, offset):
    """The directory of metalayers, which begins at `offset` of its frame."""
    names, contents = b"", b""
    names_size = 3 + 1 + 3 + sum(len(name) + 6 for name in layers)
    at = offset + names_size + 3
    for name, content in layers.items():
        names += bytes([0xa0 | len(name)]) + name.encode() + struct.pack(">Bi", 0xd2, at)
        contents += struct.pack(">BI", 0xc6, len(content)) + content
        at += 5 + len(content)
    count = len(layers)
    return struct.pack(">BBHBH", 0x93, 0xcd, names_size, 0xde, count) + names + \
        struct.pack(">BH", 0xdc, count) + contents


def header(nbytes, chunksize, typesize, cbytes, frame_len, layers, sparse, blocksize):
    head = b"\x9e\xa8b2frame\0" + b"\xd2\0\0\0\0" + struct.pack(">BQ", 0xcf, frame_len)
    head += struct.pack(">BBBBB", 0xa4, 0x12 if chunksize else 0x53, sparse, 0x51, 3)
    head += struct.pack(">BqBq", 0xd3, nbytes, 0xd3, cbytes)
    for number in (typesize, blocksize or chunksize, chunksize):
        head += struct.pack(">Bi", 0xd2, number)
    head += struct.pack(">BhBhB", 0xd1, 1, 0xd1, 1, 0xc2) + b"\xd8\x06" + bytes(16)
    head += metalayers(layers, len(head))
    return head[:11] + struct.pack(">i", len(head)) + head[15:]


TRAILER = b"\x94\x01\x93\xcd\0\x06\xde\0\0\xdc\0\0" + struct.pack(">BI", 0xce, 35) + b"\xd8" + bytes(17)


def frame(chunks, nbytes, chunksize, typesize=1, layers=None, blocksize=0):
    """A contiguous frame.  Each of `chunks` is a stored chunk or an index entry."""
    entries, section = [], b""
    for chunk in chunks:
        entries.append(len(section) if isinstance(chunk, bytes) else chunk)
        section += chunk if isinstance(chunk, bytes) else b""
    index = index_chunk(entries) if entries else b""
    arguments = (layers or {}, 0, blocksize)
    head = header(nbytes, chunksize, typesize, len(section), 0, *arguments)
    frame_len = len(head) + len(section) + len(index) + len(TRAILER)
    return header(nbytes, chunksize, typesize, len(section), frame_len, *arguments) + \
        section + index + TRAILER


def write_sparse_frame(folder, chunks, nbytes, chunksize, typesize=1, layers=None, blocksize=0, numbers=None):
    """The same as a directory with a file per stored chunk.  `numbers` has file numbers by chunk;
    without it, files are counted."""
    folder.mkdir()
    entries, cbytes = [], 0
    for index, chunk in enumerate(chunks):
        if isinstance(chunk, bytes):
            entries.append(number := (numbers or {}).get(index, sum(e < 1 << 63 for e in entries)))
            (folder / f"{number:08X}.chunk").write_bytes(chunk)
            cbytes += len(chunk)
        else:
            entries.append(chunk)
    index = index_chunk(entries) if entries else b""
    arguments = (layers or {}, 1, blocksize)
    head = header(nbytes, chunksize, typesize, cbytes, 0, *arguments)
    frame_len = len(head) + len(index) + len(TRAILER)
    (folder / "chunks.b2frame").write_bytes(
        header(nbytes, chunksize, typesize, cbytes, frame_len, *arguments) + index + TRAILER)
    return folder


def array_layer(shape, chunkshape, blockshape, dtype):
    """The content of the metalayer "b2nd"."""
    out = bytes([0x97, 0, len(shape)])
    for dims, code in ((shape, ">Bq"), (chunkshape, ">Bi"), (blockshape, ">Bi")):
        out += bytes([0x90 + len(dims)])
        out += b"".join(struct.pack(code, 0xd3 if code == ">Bq" else 0xd2, dim) for dim in dims)
    text = dtype.encode()
    return out + bytes([0]) + struct.pack(">BI", 0xdb, len(text)) + text


def around_chunk(chunk, nbytes=None):
    """A frame of one existing chunk; `nbytes` is its size, if known for certain."""
    if nbytes == 0:
        return frame([], 0, 1)
    if nbytes is None:
        # A damaged chunk may have an invalid size; any other size makes the reader open the chunk.
        (nbytes,) = struct.unpack_from("<i", chunk.ljust(8, b"\0"), 4)
        nbytes = nbytes if 0 < nbytes <= MOST_CHUNK_BYTES else 1000
    typesize = chunk[3] if len(chunk) > 3 else 1
    return frame([chunk], nbytes, nbytes, max(typesize, 1))
