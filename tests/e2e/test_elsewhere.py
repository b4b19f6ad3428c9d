"""Frames whose data lie elsewhere: nothing that is not there is shown as zeros."""

import errno
import json
import mmap
import os
import struct

import daemon
from case import MountCase, read_at
from frame_writer import frame, memcpyed_chunk

CHUNK = 64 << 10
BLOCK = 16 << 10
SOURCE_LAYER = {"proxy-source": b"\x81\xa7urlpath\xc0"}


def bitmap(bits, there):
    """The record of a cache: `there` are the numbers of the blocks or chunks that it has."""
    content = bytearray((bits + 7) // 8)
    for bit in there:
        content[bit // 8] |= 1 << bit % 8
    return b"\xc5" + struct.pack(">H", len(content)) + bytes(content)


class Elsewhere(MountCase):
    def read_at(self, name, offset):
        return read_at(self.mountpoint / name, offset, 4096)

    def write_cache(self, name, there, block_bytes=BLOCK):
        """A cache of four chunks with four blocks each; what is not there is stored as zeros."""
        chunk_bytes = 4 * block_bytes
        self.plain = b"".join(struct.pack("<I", i) for i in range(4 * chunk_bytes // 4))
        content = bytearray(4 * chunk_bytes)
        for block in there:
            content[block * block_bytes:(block + 1) * block_bytes] = self.plain[block * block_bytes:(block + 1) * block_bytes]
        chunks = [memcpyed_chunk(bytes(content[i * chunk_bytes:(i + 1) * chunk_bytes]), typesize=4) for i in range(4)]
        (self.source / name).write_bytes(
            frame(chunks, chunk_bytes, typesize=4, blocksize=block_bytes, meta=SOURCE_LAYER,
                  vlmeta={"proxy-fetched-blocks": bitmap(16, there)}))

    def test_a_cache_shows_what_it_has_and_refuses_the_rest(self):
        there = [0, 1, 2, 3, 6, 13]
        self.write_cache("c.b2frame", there)
        with self.mount("--ro") as mount:
            for block in range(16):
                wanted = self.plain[block * BLOCK:][:4096] if block in there else errno.EIO
                self.assertEqual(self.read_at("c", block * BLOCK), wanted, f"block {block}")
            with open(self.mountpoint / "c", "rb") as file:
                self.assertEqual(os.lseek(file.fileno(), 0, os.SEEK_HOLE), 4 * CHUNK)
            self.assertIn("cache of remote data", mount.log())
        info = json.loads(self.tool(daemon.FRAMEFS, "info", "--json", self.source / "c.b2frame").stdout)[0]
        self.assertEqual(info["cache"], {"recorded": True, "blocks_fetched": 6, "blocks": 16})
        checked = self.tool(daemon.FRAMEFS, "check", self.source / "c.b2frame").stdout.decode()
        self.assertIn("6 of 16 blocks fetched", checked)
        self.assertIn("no damage", checked)
        unpacked = self.tool(daemon.FRAMEFS, "unpack", self.source / "c.b2frame", "-o", self.folder / "out", check=False)
        self.assertEqual(unpacked.returncode, 1)
        self.assertFalse((self.folder / "out").exists())

    def test_blocks_that_share_a_page_with_missing_ones(self):
        """The kernel reads whole pages: a page is shown if all of its bytes are there."""
        page, block_bytes, there = 4096, 10_000, {0, 1, 2, 3, 6, 13}
        self.write_cache("c.b2frame", sorted(there), block_bytes)
        with self.mount("--ro"):
            for offset in range(0, len(self.plain) - page, page):
                blocks = set(range(offset // block_bytes, (offset + page - 1) // block_bytes + 1))
                wanted = self.plain[offset:offset + page] if blocks <= there else errno.EIO
                self.assertEqual(self.read_at("c", offset), wanted, f"blocks {blocks}")

    def test_direct_reads_ask_for_no_more_than_their_bytes(self):
        block_bytes, there = 10_000, {0, 1, 2, 3, 6, 13}
        self.write_cache("c.b2frame", sorted(there), block_bytes)
        with self.mount("--ro"):
            for block in range(16):
                wanted = self.plain[block * block_bytes:][:block_bytes] if block in there else errno.EIO
                got = read_at(self.mountpoint / "c", block * block_bytes, block_bytes, os.O_DIRECT)
                self.assertEqual(got, wanted, f"block {block}")
            self.assertEqual(read_at(self.mountpoint / "c", 6 * block_bytes - 1, 2, os.O_DIRECT), errno.EIO)
            # The kernel refuses this mapping (ENODEV) if all reads of a file are direct.
            with open(self.mountpoint / "c", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                self.assertEqual(mapped[:4096], self.plain[:4096])

    def test_a_cache_is_not_written_to(self):
        self.write_cache("c.b2frame", [0])
        before = (self.source / "c.b2frame").read_bytes()
        with self.mount() as mount:
            for change in (lambda: os.truncate(self.mountpoint / "c", 100),
                           lambda: (self.mountpoint / "c").write_bytes(b"x")):
                with self.assertRaises(OSError) as caught:
                    change()
                self.assertEqual(caught.exception.errno, errno.EOPNOTSUPP)
            self.assertIn("writing to a cache of remote data", mount.log())
        self.assertEqual((self.source / "c.b2frame").read_bytes(), before)

    def test_a_stored_recipe_is_refused(self):
        chunk = memcpyed_chunk(bytes(CHUNK), typesize=8)
        for layer in ("b2o", "LazyArray"):
            (self.source / f"{layer}.b2frame").write_bytes(frame([chunk], CHUNK, typesize=8, meta={layer: b"\x00"}))
        with self.mount("--ro") as mount:
            for layer in ("b2o", "LazyArray"):
                self.assertEqual(self.read_at(layer, 0), errno.EOPNOTSUPP)
            self.assertIn("stores a recipe", mount.log())
        for layer in ("b2o", "LazyArray"):
            path = self.source / f"{layer}.b2frame"
            self.assertTrue(json.loads(self.tool(daemon.FRAMEFS, "info", "--json", path).stdout)[0]["recipe"])
            self.assertIn(b"stored recipe", self.tool(daemon.FRAMEFS, "check", path).stdout)
            self.assertEqual(self.tool(daemon.FRAMEFS, "unpack", path, "-o", self.folder / "out", check=False).returncode, 1)

    def test_info_names_what_a_frame_holds(self):
        for layer, text in (("vlarray", "object array"), ("batcharray", "batch array")):
            path = self.source / f"{layer}.b2frame"
            path.write_bytes(frame([memcpyed_chunk(b"abcd")], 4, meta={layer: b"\x00"}))
            self.assertIn(text, self.tool(daemon.FRAMEFS, "info", path).stdout.decode())
