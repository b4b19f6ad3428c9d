"""The effect of one damaged place: its own range, an errno, and one line in the log."""

import errno
import os
import struct
import unittest

import daemon
import data
from case import MountCase, read_at
from fixtures import FIXTURES

CHUNK = 100_000
CHUNKS = 8
HEADER_BYTES = 97  # of a frame without metalayers
FRAME_FILTERS_AT = 71
CHUNK_FILTERS_AT = 16


class Damage(MountCase):
    def setUp(self):
        self.plain = data.noise(CHUNK * CHUNKS)
        self.frame = self.make_frame(self.plain, self.source / "d.b2frame", "--codec", "zlib",
                                     "--chunk", str(CHUNK), "--block", "10000")
        # Noise does not shrink, so that a stored chunk has 32 bytes of header and then the plain
        # data.
        self.stored_chunk = CHUNK + 32
        self.assertGreater(self.frame.stat().st_size, self.stored_chunk * CHUNKS)

    def chunk_at(self, chunk):
        return HEADER_BYTES + chunk * self.stored_chunk

    def overwrite(self, offset, content):
        with open(self.frame, "r+b") as file:
            file.seek(offset)
            file.write(content)

    def check_only_this_chunk_is_lost(self, shown, lost, code):
        for chunk in range(CHUNKS):
            # Not at the chunk's ends: the kernel reads whole pages, which may be in two chunks.
            offset = chunk * CHUNK + 8192
            wanted = code if chunk == lost else self.plain[offset:offset + 4096]
            self.assertEqual(read_at(shown, offset, 4096), wanted, f"chunk {chunk}")
        # Also the nearest whole pages of its neighbours.
        pages = {((lost + 1) * CHUNK) // 4096 * 4096 + 4096}
        if lost > 0:
            pages.add((lost * CHUNK) // 4096 * 4096 - 4096)
        for offset in pages:
            self.assertEqual(read_at(shown, offset, 4096), self.plain[offset:offset + 4096])

    def test_a_bad_chunk_spoils_only_its_own_range(self):
        self.overwrite(self.chunk_at(3) + 4, struct.pack("<i", -1))  # its nbytes
        with self.mount() as mount:
            shown = mount.path("d")
            self.assertEqual(shown.stat().st_size, len(self.plain))
            self.check_only_this_chunk_is_lost(shown, 3, errno.EIO)
            self.check_only_this_chunk_is_lost(shown, 3, errno.EIO)

    def test_an_unknown_codec_is_not_supported(self):
        # A compressed chunk, so that its codec matters: data of zeros and ones.
        self.plain = bytes(range(2)) * (CHUNK * CHUNKS // 2)
        self.make_frame(self.plain, self.frame, "--codec", "zstd", "--chunk", str(CHUNK))
        self.assertLess(self.frame.stat().st_size, self.stored_chunk)
        flags_at = HEADER_BYTES + 2
        self.overwrite(flags_at, bytes([0x15 | 6 << 5]))
        self.overwrite(HEADER_BYTES + 22, bytes([200]))
        with self.mount() as mount:
            self.check_only_this_chunk_is_lost(mount.path("d"), 0, errno.EOPNOTSUPP)
            self.assertIn("200", mount.log())

    def test_an_unknown_filter_is_not_supported(self):
        self.plain = bytes(range(2)) * (CHUNK * CHUNKS // 2)
        self.make_frame(self.plain, self.frame, "--codec", "zstd", "--chunk", str(CHUNK))
        self.assertLess(self.frame.stat().st_size, self.stored_chunk)
        self.overwrite(HEADER_BYTES + CHUNK_FILTERS_AT, bytes([159]))
        with self.mount() as mount:
            self.check_only_this_chunk_is_lost(mount.path("d"), 0, errno.EOPNOTSUPP)
            self.assertIn("159", mount.log())
        for filter_id, code in ((31, errno.EIO), (37, errno.EOPNOTSUPP), (159, errno.EOPNOTSUPP)):
            with self.subTest(filter_id=filter_id):
                self.overwrite(FRAME_FILTERS_AT, bytes([filter_id]))
                with self.mount() as mount:
                    self.assertEqual(read_at(mount.path("d"), 0, 4096), code)

    def test_a_place_is_logged_once(self):
        self.overwrite(self.chunk_at(2) + 4, struct.pack("<i", -1))
        self.overwrite(self.chunk_at(5) + 12, struct.pack("<i", 3))  # its cbytes
        with self.mount() as mount:
            for _ in range(5):
                for chunk in range(CHUNKS):
                    read_at(mount.path("d"), chunk * CHUNK + 8192, 4096)
            # The daemon may reply before it logs.
            daemon.wait_for(lambda: mount.log().count("d.b2frame") >= 2, "two lines in the log")
            lines = [line for line in mount.log().splitlines() if "d.b2frame" in line]
            self.assertEqual(len(lines), 2, lines)
            for chunk, field, line in zip((2, 5), ("nbytes", "cbytes"), lines):
                self.assertRegex(line, rf"chunk {chunk}\b")
                self.assertIn(field, line)

    def test_a_bad_index_or_trailer_spoils_the_frame_but_not_its_neighbours(self):
        good = self.make_frame(b"all is well\n" * 1000, self.source / "good.b2frame")
        size = self.frame.stat().st_size
        self.overwrite(size - 23, b"\0")  # the trailer's length marker
        with self.mount() as mount:
            self.assertEqual(mount.path("d").stat().st_size, len(self.plain))
            self.assertEqual(read_at(mount.path("d"), 0, 10), errno.EIO)
            self.assertEqual(read_at(mount.path("d"), len(self.plain) - 10, 10), errno.EIO)
            self.assert_same_bytes(mount.path("good").read_bytes(), b"all is well\n" * 1000, "neighbour")
            self.assertEqual(sorted(os.listdir(mount.path())), ["d", "good"])
        self.assertTrue(good.exists())

    def test_a_frame_whose_size_is_unknown_fails_to_read(self):
        self.overwrite(11, struct.pack(">i", -5))  # header_len
        with self.mount() as mount:
            self.assertIn("d", os.listdir(mount.path()))
            with open(mount.path("d"), "rb", buffering=0) as file:
                with self.assertRaises(OSError) as caught:
                    file.read(1)
            self.assertEqual(caught.exception.errno, errno.EIO)

    def test_truncated_while_mounted(self):
        with self.mount() as mount, open(mount.path("d"), "rb", buffering=0) as file:
            self.assertEqual(os.pread(file.fileno(), 100, 10), self.plain[10:110])
            os.truncate(self.frame, self.chunk_at(4) + 50)
            # The descriptor reads an error or the kernel's cached bytes, never other bytes.
            for chunk in range(CHUNKS - 1, 3, -1):
                offset = chunk * CHUNK + 8192
                try:
                    got = os.pread(file.fileno(), 4096, offset)
                except OSError as error:
                    self.assertEqual(error.errno, errno.EIO)
                else:
                    self.assertIn(got, (b"", self.plain[offset:offset + 4096]))
            fresh = read_at(mount.path("d"), 6 * CHUNK + 8192, 4096)
            self.assertIn(fresh, (errno.EIO, b""))
            self.make_frame(b"still alive\n", self.source / "other.b2frame")
            self.assertEqual(mount.path("other").read_bytes(), b"still alive\n")

    def test_replaced_while_mounted(self):
        new = data.text(5_000)
        with self.mount() as mount:
            self.assert_same_bytes(mount.path("d").read_bytes(), self.plain, "the old frame")
            replacement = self.make_frame(new, self.folder / "new.b2frame")
            os.replace(replacement, self.frame)
            daemon.wait_for(lambda: mount.path("d").stat().st_size == len(new), "the new size")
            self.assert_same_bytes(mount.path("d").read_bytes(), new, "the new frame")

    def test_rewritten_in_place_while_mounted(self):
        """Same inode, same decoded size, other bytes."""
        new = bytes(reversed(self.plain))
        with self.mount() as mount:
            self.assert_same_bytes(mount.path("d").read_bytes(), self.plain, "the old frame")
            self.make_frame(new, self.frame, "--codec", "zlib", "--chunk", str(CHUNK), "--block", "10000")
            daemon.wait_for(lambda: mount.path("d").read_bytes() == new, "the new bytes")

    def test_damage_in_padding_spoils_nothing_in_any_order(self):
        """The array's last row is the first of 37 in its blocks.  A stream of one of them is
        damaged behind it."""
        frame = self.source / "array.b2nd"
        content = bytearray((FIXTURES / "b2nd/dtype_07.b2nd").read_bytes())
        frame.write_bytes(content)
        with self.mount("--arrays", "raw") as mount:
            plain = mount.path("array").read_bytes()
        self.assertEqual(content[5710], 0x1F)  # of the distance of a match
        content[5710] = 0x01
        frame.write_bytes(content)
        self.assertIn(b"cannot be read", self.tool(daemon.FRAMEFS, "check", frame, check=False).stdout)
        parts = [(at, 100) for at in range(0, len(plain), 100)]
        for places in ([(0, len(plain)), *parts], [*parts, (0, len(plain))], parts * 9):
            with self.mount("--arrays", "raw") as mount:
                for at, size in places:
                    self.assertEqual(read_at(mount.path("array"), at, size, os.O_DIRECT), plain[at:at + size], at)


if __name__ == "__main__":
    unittest.main()
