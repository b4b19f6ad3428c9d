"""Small files whose few bytes stand for gigabytes of blocks."""

import os
import struct

from frame_writer import frame, memcpyed_chunk, memcpyed_head, run_chunk

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


def dictionary_for_each_byte(size=1 << 20):
    """A frame whose `size` chunks of one byte are one stored chunk with a dictionary of 32 KiB."""
    dictionary, start = os.urandom(32 << 10), 32 + 4 + 4 + (32 << 10)
    body = struct.pack("<i", start) + struct.pack("<i", len(dictionary)) + dictionary + struct.pack("<i", 0)
    chunk = chunk_of_blocks(body, nbytes=1, blocksize=1, flags=0x95, blosc2_flags=1)
    index = value_chunk(struct.pack("<q", 0), size)
    return frame([chunk], 1, nbytes=size, index=index)


def unordered_starts(blocks, chunks=8):
    """A frame whose chunks are one stored chunk, with a table of `blocks` random block starts."""
    blocksize = 127
    chunk = chunk_of_blocks(os.urandom(4 * blocks) + bytes(64), blocks * blocksize, blocksize, flags=0x15)
    index = value_chunk(struct.pack("<q", 0), chunks)
    return frame([chunk], blocks * blocksize, nbytes=chunks * blocks * blocksize, index=index)


def write_hollow_starts(path, blocks):
    """Writes a frame of one chunk whose table of block starts is a hole."""
    size = 4 * blocks + 5
    chunk = chunk_of_blocks(b"", blocks, 1, flags=0x15)[:12] + struct.pack("<i", 32 + size) + bytes(16)
    small = frame([chunk], blocks)
    end = small.index(chunk) + len(chunk)
    header = bytearray(small[:end])
    struct.pack_into(">Q", header, 16, len(small) + size)
    struct.pack_into(">q", header, 39, len(chunk) + size)
    with open(path, "wb") as file:
        file.write(header)
        file.seek(size, os.SEEK_CUR)
        file.write(small[end:])


def chunk_of_blocks(body, nbytes, blocksize, flags, blosc2_flags=0):
    """A chunk without filters, with these bytes behind its header.  `flags` has the codec."""
    sizes = struct.pack("<iii", nbytes, blocksize, 32 + len(body))
    return bytes([5, 1, flags, 1]) + sizes + bytes(15) + bytes([blosc2_flags]) + body


def write_hollow_trailer(path, size=64 << 20):
    """Writes a frame whose trailer of about `size` bytes is a hole: 300 bytes on the disk."""
    small = frame([memcpyed_chunk(b"data")], 4, vlmeta={"hollow": b""})
    trailer_at = small.rindex(b"\x94\x01")
    content_at = small.rindex(b"\xc6\x00\x00\x00\x20")  # of 32 bytes, the header of a chunk
    count = size - 4096
    start = bytearray(small[:content_at] + b"\xc6" + struct.pack(">I", count + 32) + memcpyed_head(count))
    trailer_len = len(start) - trailer_at + count + 23
    struct.pack_into(">Q", start, 16, trailer_at + trailer_len)
    with open(path, "wb") as file:
        file.write(start)
        file.seek(count, os.SEEK_CUR)
        file.write(b"\xce" + struct.pack(">I", trailer_len) + b"\xd8\x00" + bytes(16))


def cache_with_record(record_bytes):
    """A cache of remote data: 70 KiB whose record, of `record_bytes`, has all blocks."""
    blocks, size, chunks = record_bytes * 8, record_bytes + 5, 1 << 14
    first = struct.pack("<i", 1 << 16) + (b"\xc6" + struct.pack(">I", record_bytes)).ljust(1 << 16, b"\xff")
    count = -(-size // (1 << 16))
    first_at = 32 + 4 * count
    starts = struct.pack("<i", first_at) + struct.pack("<i", first_at + len(first)) * (count - 1)
    record = chunk_of_blocks(starts + first + struct.pack("<iB", -255, 1), size, 1 << 16, flags=0x15)
    chunksize = blocks // chunks
    return frame([memcpyed_chunk(bytes(chunksize))], chunksize, blocksize=1, nbytes=blocks,
                 index=value_chunk(struct.pack("<q", 0), chunks), meta={"proxy-source": b"\x80"},
                 vlchunks={"proxy-fetched-blocks": record})


def value_chunk(value, count):
    """A chunk that repeats a value."""
    sizes = struct.pack("<iii", len(value) * count, len(value) * count, 32 + len(value))
    return bytes([5, 1, 0x15, len(value)]) + sizes + bytes(15) + bytes([3 << 4]) + value


def large_zeros(chunksize):
    """A frame of one chunk of zeros."""
    return frame([run_chunk(chunksize, 1 << 20)], chunksize)


def damaged_chunks(count):
    """A frame with `count` chunks of one page; each chunk has another damage in its header."""
    chunks = [bytearray(memcpyed_chunk(bytes(PAGE))) for _ in range(count)]
    for number, chunk in enumerate(chunks):
        struct.pack_into("<i", chunk, 12, 1_000_000_000 + number)  # cbytes
    return frame([bytes(chunk) for chunk in chunks], PAGE)
