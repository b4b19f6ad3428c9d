"""--writeback with other writers of SOURCE: mounts are excluded, programs are noticed."""

import contextlib
import os
import unittest

import daemon
from case import MountCase
from daemon import FRAMEFS, mounts_at

BUSY = b"another writable mount"


class WritebackMounts(MountCase):
    def setUp(self):
        (self.source / "below/deep").mkdir(parents=True)
        self.other = self.folder / "other"
        self.other.mkdir()

    def try_to_mount(self, source, *options):
        """Whether a second mount, at `other`, can be made; it is unmounted again."""
        result = self.tool(FRAMEFS, source, self.other, *options, check=False)
        if result.returncode == 0:
            self.tool(FRAMEFS, "umount", self.other)
            return True
        self.assertIn(BUSY, result.stderr)
        self.assertEqual(mounts_at(self.other), [])
        return False

    def test_it_excludes_other_writable_mounts_of_its_files(self):
        below = self.source / "below"
        for first, second, both in (((), (), True), (("--writeback",), (), False), ((), ("--writeback",), False),
                                    (("--writeback",), ("--writeback",), False), (("--writeback",), ("--ro",), True),
                                    (("--ro",), ("--writeback",), True)):
            for one, other in ((self.source, self.source), (self.source, below), (below / "deep", self.source)):
                with self.subTest(first=first, second=second, one=one.name, other=other.name):
                    with self.mount(*first, source=one):
                        self.assertEqual(self.try_to_mount(other, *second), both)
        with self.mount("--writeback", source=below):
            (self.source / "beside").mkdir()
            self.assertTrue(self.try_to_mount(self.source / "beside", "--writeback"))

    def test_a_mount_of_one_frame(self):
        one = self.make_frame(b"one" * 1000, self.source / "one.b2frame")
        two = self.make_frame(b"two" * 1000, self.source / "two.b2frame")
        with self.mount("--writeback", source=one):
            self.assertFalse(self.try_to_mount(one))
            self.assertFalse(self.try_to_mount(self.source))
            self.assertTrue(self.try_to_mount(two, "--writeback"))
        with self.mount("--writeback"):
            self.assertFalse(self.try_to_mount(one))

    def test_a_later_mount_is_free(self):
        mount = self.mount("--writeback")
        with contextlib.ExitStack() as stack:
            stack.enter_context(mount)
            stack.pop_all()
        mount.kill()
        self.assertTrue(self.try_to_mount(self.source, "--writeback"))

    def test_flock_of_source_is_free(self):
        """Scripts may lock the directory by flock(1) as before."""
        with self.mount("--writeback"):
            self.tool("flock", "-n", self.source, "true")

    def test_an_append_goes_behind_what_another_program_has_written(self):
        frame = self.source / "f.b2frame"
        longer = self.make_frame(b"0123456789" * 5000, self.folder / "longer.b2frame").read_bytes()
        with self.mount("--writeback", "--commit-interval", "1") as mount:
            with open(mount.path("f"), "wb") as file:
                file.write(b"first\n")
                file.flush()
                os.fsync(file.fileno())
            daemon.wait_for(lambda: not any(name.startswith(str(frame)) for name in daemon.open_files(mount.pid)),
                            "the end of the write session")
            for _ in range(2):
                self.assertEqual(mount.path("f").stat().st_size, 6)
            with open(frame, "r+b") as file:  # the same file, as other writers change it in place
                file.truncate(0)
                file.write(longer)
            with open(mount.path("f"), "ab") as file:
                file.write(b"appended")
            wanted = b"0123456789" * 5000 + b"appended"
            self.assert_same_bytes(mount.path("f").read_bytes(), wanted, "after the append")
            self.assertEqual(mount.path("f").stat().st_size, len(wanted))

    def test_changes_of_attributes_are_no_changes_of_the_frame(self):
        with self.mount("--writeback", "--commit-interval", "1") as mount:
            mount.path("f").write_bytes(b"some bytes")
            with open(mount.path("f"), "rb") as reader:
                inode = os.fstat(reader.fileno()).st_ino
                os.chmod(mount.path("f"), 0o600)
                os.utime(mount.path("f"), (1, 1))
                with open(mount.path("f"), "ab") as file:
                    file.write(b" and more")
                    file.flush()
                    # The reader has the same file of the kernel, with the same pages and size.
                    self.assertEqual(os.fstat(reader.fileno()).st_size, 19)
                self.assertEqual(os.fstat(reader.fileno()).st_ino, inode)
                self.assertEqual(reader.read(), b"some bytes and more")


if __name__ == "__main__":
    unittest.main()
