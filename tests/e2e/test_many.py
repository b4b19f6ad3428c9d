"""A folder of ten thousand small frames."""

import os
import unittest

import daemon
from case import MountCase

FRAMES = 10_000


def content(i):
    return f"frame {i} of {FRAMES}\n".encode() * (i % 40 + 1)


class Many(MountCase):
    def setUp(self):
        plain = self.folder / "plain"
        plain.mkdir()
        for i in range(FRAMES):
            (plain / f"small-{i:05d}.txt").write_bytes(content(i))
        self.make_frames([plain], "--codec", "lz4", "--chunk", "512", "--block", "256")
        self.plain = plain

    def test_listing_and_reading_all(self):
        with self.mount() as mount:
            names = os.listdir(mount.path())
            self.assertEqual(len(names), FRAMES)
            odd = set(names) ^ {f"small-{i:05d}.txt" for i in range(FRAMES)}
            self.assertEqual(sorted(odd)[:10], [])
            self.assert_same_output(["sh", "-c", "ls -l | awk 'NR > 1 {print $5, $NF}'"],
                                    self.plain, mount.mountpoint)
            self.assert_same_output(["sh", "-c", "cat * | sha256sum"], self.plain, mount.mountpoint)
            self.assert_same_output(["sh", "-c", "grep -rlx 'frame 777 of 10000' ."],
                                    self.plain, mount.mountpoint)

    def test_attributes_come_with_the_names_once_they_are_looked_up(self):
        def lookups():
            return mount.stats()["requests"]["lookup"]["count"]

        with self.mount("--attr-timeout", "300") as mount, daemon.kernel_references_kept():
            names = os.listdir(mount.path())
            before = lookups()
            # The first names have their attributes anyway.
            for name in names[-200:]:
                os.stat(mount.path(name))
            self.assertGreaterEqual(lookups() - before, 100)
            before = lookups()
            self.assertEqual(os.listdir(mount.path()), names)
            for name in names:
                self.assertEqual(os.stat(mount.path(name)).st_size, len(content(int(name[6:11]))))
            self.assertLess(lookups() - before, FRAMES // 10)

    def test_a_listing_read_in_small_pieces(self):
        """A listing does not depend on the size of the kernel's reads, or on a second reader."""
        with self.mount() as mount:
            seen = []
            with os.scandir(mount.path()) as entries:
                for entry in entries:
                    seen.append(entry.name)
                    if len(seen) in (1, 500, 5_000):
                        self.assertEqual(len(os.listdir(mount.path())), FRAMES)
            self.assertEqual(len(seen), FRAMES)
            self.assertEqual(len(set(seen)), FRAMES)


if __name__ == "__main__":
    unittest.main()
