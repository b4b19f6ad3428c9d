"""Small files whose few bytes stand for gigabytes of blocks."""

import struct

from frame_writer import frame, memcpyed_chunk, run_chunk

BLOCK = 256 << 20
PAGE = 4096
MAX_CHUNKS = 2147483615 // 8


def many_chunks(index_blocksize=BLOCK):
    """A frame of as many chunks as an index can have, none of which is a hole: 300 bytes."""
    index = run_chunk(MAX_CHUNKS * 8, index_blocksize, value=1, typesize=8)
    return frame([memcpyed_chunk(bytes(1))], 1, nbytes=MAX_CHUNKS, index=index)


def wide_array(columns=256, rows=16 << 20, extra_meta=None, vlmeta=None):
    """An array.  Each of its rows touches `columns` chunks, and each chunk is one large block."""
    dims = b"\x92" + b"".join(b"\xd3" + struct.pack(">q", n) for n in (rows, columns))
    chunk = b"\x92" + b"".join(b"\xd2" + struct.pack(">i", n) for n in (rows, 1))
    content = b"\x97\x00\x02" + dims + chunk + chunk + b"\x00\xdb" + struct.pack(">I", 3) + b"|u1"
    index = memcpyed_chunk(bytes(8 * columns), typesize=8)
    return frame([run_chunk(rows, rows)], rows, blocksize=rows, nbytes=rows * columns, index=index,
                 meta={"b2nd": content, **(extra_meta or {})}, vlmeta=vlmeta)


def tiny_blocks(size=1 << 20):
    """A frame of one chunk whose blocks have one byte each."""
    return frame([run_chunk(size, 1, value=7)], size)


def damaged_chunks(count):
    """A frame with `count` chunks of one page; each chunk has another damage in its header."""
    chunks = [bytearray(memcpyed_chunk(bytes(PAGE))) for _ in range(count)]
    for number, chunk in enumerate(chunks):
        struct.pack_into("<i", chunk, 12, 1_000_000_000 + number)  # cbytes
    return frame([bytes(chunk) for chunk in chunks], PAGE)
