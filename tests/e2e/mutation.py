"""Changes frames as an attacker would: in the fields of headers, in block tables and streams, and
anywhere.  Source of the layouts: codec/FORMAT.md."""

import struct

# Offset and format of the numbers in a frame's header.
FRAME_FIELDS = ((11, ">i"), (16, ">Q"), (25, ">B"), (26, ">B"), (27, ">B"), (28, ">B"), (30, ">q"),
                (39, ">q"), (48, ">i"), (53, ">i"), (58, ">i"))
FRAME_HEADER_BYTES = 87
HEADER_LEN_AT = 11
CBYTES_AT = 39
MEMCPYED = 2  # a flag in a chunk's header

# The same in a chunk's header: version, flags, typesize, sizes, filters, plugin codec, flags.
CHUNK_FIELDS = ((0, "<B"), (2, "<B"), (3, "<B"), (4, "<i"), (8, "<i"), (12, "<i"), (16, "<B"), (21, "<B"),
                (22, "<B"), (24, "<B"), (29, "<B"), (31, "<B"))
CHUNK_HEADER_BYTES = 32
MAX_CHUNKS = 256


def chunk_starts(content):
    """Where the chunks of a frame begin, as far as one follows the other; 0 for loose chunks."""
    at = 0
    if content[2:9] == b"b2frame" and len(content) >= FRAME_HEADER_BYTES:
        (at,) = struct.unpack_from(">i", content, 11)
    starts = []
    while 0 <= at <= len(content) - CHUNK_HEADER_BYTES and len(starts) < MAX_CHUNKS:
        (cbytes,) = struct.unpack_from("<i", content, at + 12)
        if cbytes < CHUNK_HEADER_BYTES or at + cbytes > len(content):
            break
        starts.append(at)
        at += cbytes
    return starts


class Mutator:
    """Changes copies of the files that it was given."""

    def __init__(self, rng, donors):
        self._rng = rng
        self._donors = donors

    def mutated(self, original):
        content = bytearray(original)
        starts = chunk_starts(original)
        while True:
            self._change(content, starts)
            if self._rng.randrange(3) == 0:
                return bytes(content)

    def _change(self, content, starts):
        if not content:
            content += self._rng.randbytes(CHUNK_HEADER_BYTES)
        kinds = [self._flip_bits, self._set_number_anywhere, self._copy_slice, self._insert_or_remove]
        if content[2:9] == b"b2frame" and len(content) >= FRAME_HEADER_BYTES:
            kinds += [self._set_frame_field, self._repeat_index_entry]
        if starts:
            kinds += [self._set_chunk_field, self._set_block_start, self._set_stream_bytes] * 3
        kind = self._rng.choice(kinds)
        if kind in (self._set_chunk_field, self._set_block_start, self._set_stream_bytes):
            start = self._rng.choice(starts)
            if start + CHUNK_HEADER_BYTES <= len(content):
                kind(content, start)
        else:
            kind(content)

    def _number(self, present, bits):
        """A number that is likely to matter: a limit, or one near the present number."""
        rng = self._rng
        return rng.choice((0, 1, -1, present + 1, present - 1, present * 2, present // 2, -present, 1 << (bits - 1),
                           (1 << (bits - 1)) - 1, 1 << rng.randrange(bits), rng.getrandbits(bits),
                           present ^ 1 << rng.randrange(bits)))

    def _set_number(self, content, at, layout):
        """Overwrites the number, as far as the content reaches."""
        bits = 8 * struct.calcsize(layout)
        if at + bits // 8 > len(content):
            return
        (present,) = struct.unpack_from(layout, content, at)
        unsigned = layout.upper()
        struct.pack_into(unsigned, content, at, self._number(present, bits) % (1 << bits))

    def _repeat_index_entry(self, content):
        """Lets two chunks have one place, where the index is stored as it is."""
        (header_len,) = struct.unpack_from(">i", content, HEADER_LEN_AT)
        (cbytes,) = struct.unpack_from(">q", content, CBYTES_AT)
        index_at = header_len + cbytes
        if header_len < 0 or cbytes < 0 or index_at + CHUNK_HEADER_BYTES > len(content):
            return
        (nbytes,) = struct.unpack_from("<i", content, index_at + 4)
        entries_at = index_at + CHUNK_HEADER_BYTES
        if not content[index_at + 2] & MEMCPYED or not 8 <= nbytes <= len(content) - entries_at:
            return
        count = nbytes // 8
        one, other = (entries_at + 8 * self._rng.randrange(count) for _ in range(2))
        content[one:one + 8] = content[other:other + 8]

    def _set_frame_field(self, content):
        self._set_number(content, *self._rng.choice(FRAME_FIELDS))

    def _set_chunk_field(self, content, start):
        offset, layout = self._rng.choice(CHUNK_FIELDS)
        self._set_number(content, start + offset, layout)

    def _set_block_start(self, content, start):
        """Changes an entry of the block table, or the size of the first stream of a block."""
        nbytes, blocksize = struct.unpack_from("<ii", content, start + 4)
        blocks = -(-nbytes // blocksize) if nbytes > 0 and blocksize > 0 else 1
        entry = start + CHUNK_HEADER_BYTES + 4 * self._rng.randrange(min(blocks, 1 << 20))
        if self._rng.randrange(2) and entry + 4 <= len(content):
            (block,) = struct.unpack_from("<i", content, entry)
            if block >= 0:
                entry = start + block
        self._set_number(content, entry, "<i")

    def _set_stream_bytes(self, content, start):
        """Overwrites some bytes behind the header, where compressors have their tokens."""
        (cbytes,) = struct.unpack_from("<i", content, start + 12)
        if cbytes <= CHUNK_HEADER_BYTES:
            return
        at = start + CHUNK_HEADER_BYTES + self._rng.randrange(cbytes - CHUNK_HEADER_BYTES)
        for place in range(at, min(at + self._rng.randrange(1, 5), len(content))):
            content[place] = self._rng.choice((0, 1, 0xFF, 0xF0, self._rng.randrange(256)))

    def _flip_bits(self, content):
        for _ in range(self._rng.randrange(1, 5)):
            content[self._rng.randrange(len(content))] ^= 1 << self._rng.randrange(8)

    def _set_number_anywhere(self, content):
        self._set_number(content, self._rng.randrange(len(content)), self._rng.choice(("<i", ">i", "<q", ">q")))

    def _copy_slice(self, content):
        """Overwrites a part with another part of the same file or of another one."""
        donor = bytes(content) if self._rng.randrange(2) else self._rng.choice(self._donors)
        size = self._rng.randrange(1, min(len(donor), len(content), 4096) + 1)
        begin = self._rng.randrange(len(donor) - size + 1)
        at = self._rng.randrange(len(content) - size + 1)
        content[at : at + size] = donor[begin : begin + size]

    def _insert_or_remove(self, content):
        at = self._rng.randrange(len(content))
        size = self._rng.randrange(1, 65)
        kind = self._rng.randrange(4)
        if kind == 0:
            content[at:at] = self._rng.randbytes(size)
        elif kind == 1:
            del content[at : at + size]
        elif kind == 2:
            del content[at:]
        else:
            content += self._rng.randbytes(size)
