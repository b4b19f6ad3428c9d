"""The places of a frame's chunks and blocks in its file."""

import json
import subprocess
from typing import NamedTuple


class Chunk(NamedTuple):
    offset: int
    table_bytes: int  # of its header and table
    blocks: list      # for each block: where it begins in the chunk, and its size


class Layout(NamedTuple):
    chunk_bytes: int  # decoded
    chunks: list

    @staticmethod
    def of(program, path):
        told = json.loads(subprocess.run([program, "info", "--json", "--chunks", path], check=True,
                                         capture_output=True).stdout)[0]
        content = path.read_bytes()
        return Layout(told["chunksize"], [chunk_of(content, chunk) for chunk in told["chunk_list"]])


def chunk_of(content, chunk):
    """Source: chunk format, "Header" and "Offsets"."""
    offset, size = chunk["offset"], chunk["cbytes"]
    stored = content[offset:offset + size]
    nbytes, block = (int.from_bytes(stored[at:at + 4], "little") for at in (4, 8))
    count = -(-nbytes // block)
    starts = [int.from_bytes(stored[at:at + 4], "little") for at in range(32, 32 + 4 * count, 4)]
    ends = {start: end for start, end in zip(sorted(starts), [*sorted(starts)[1:], size])}
    return Chunk(offset, 32 + 4 * count, [(start, ends[start] - start) for start in starts])
