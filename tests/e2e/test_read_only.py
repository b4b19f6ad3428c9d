"""Changes that a mount refuses: in a read-only SOURCE, in a container, beside a single frame."""

import errno
import os
import stat
import unittest
import zipfile

from case import MountCase
from test_names import FRAME_DATA, listing


class ReadOnly(MountCase):
    def assert_errno(self, number, attempt):
        with self.assertRaises(OSError) as caught:
            attempt()
        self.assertEqual(caught.exception.errno, number)

    def test_an_offset(self):
        self.make_frame(FRAME_DATA, self.folder / "plain.b2frame")
        image = self.folder / "image"
        image.write_bytes(bytes(4096) + (self.folder / "plain.b2frame").read_bytes())
        with self.mount("--offset", "4096", source=image) as mount:
            (name,) = listing(mount.path())
            self.assert_errno(errno.EROFS, lambda: os.chmod(mount.path(name), 0o600))

    def test_one_frame_has_no_neighbours(self):
        frame = self.make_frame(FRAME_DATA, self.folder / "lone.b2frame")
        os.chmod(frame, 0o644)
        with self.mount(source=frame) as mount:
            self.assert_errno(errno.EPERM, lambda: os.mkdir(mount.path("d")))
            self.assert_errno(errno.EPERM, lambda: os.unlink(mount.path("lone")))
            self.assert_errno(errno.EPERM, lambda: os.rename(mount.path("lone"), mount.path("x")))
            self.assert_errno(errno.EPERM, lambda: os.chmod(mount.path(), 0o700))
            os.chmod(mount.path("lone"), 0o600)
        self.assertEqual(stat.S_IMODE(frame.stat().st_mode), 0o600)

    def test_members_of_a_container_stay(self):
        self.make_frame(FRAME_DATA, self.folder / "f.b2frame")
        with zipfile.ZipFile(self.source / "c.b2z", "w") as archive:
            archive.write(self.folder / "f.b2frame", "f.b2frame")
        with self.mount() as mount:
            container = mount.path("c.b2z")
            self.assertEqual(listing(container), ["f"])
            self.assert_errno(errno.EROFS, lambda: os.mkdir(container / "d"))
            self.assert_errno(errno.EROFS, lambda: os.unlink(container / "f"))
            self.assert_errno(errno.EROFS, lambda: os.rename(container / "f", container / "g"))
            self.assert_errno(errno.EROFS, lambda: os.rename(container / "f", mount.path("f")))
            self.assert_errno(errno.EROFS, lambda: os.chmod(container / "f", 0o600))
            self.assert_errno(errno.EROFS, lambda: os.open(container / "f", os.O_RDWR))
            self.assert_errno(errno.EROFS, lambda: os.setxattr(container / "f", "user.x", b""))
            self.assert_errno(errno.EPERM, lambda: os.rmdir(container))
            self.assert_errno(errno.EPERM, lambda: os.rename(container, mount.path("folder")))
            os.rename(container, mount.path("other.b2z"))
            self.assertEqual(mount.path("other.b2z/f").read_bytes(), FRAME_DATA)
        self.assertEqual(listing(self.source), ["other.b2z"])
        with self.mount(source=self.source / "other.b2z") as mount:
            self.assert_errno(errno.EROFS, lambda: os.mkdir(mount.path("d")))

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount")
    def test_a_source_that_allows_no_changes(self):
        self.make_frame(FRAME_DATA, self.source / "f.b2frame")
        self.tool("mount", "--bind", self.source, self.source)
        try:
            self.tool("mount", "-o", "remount,bind,ro", self.source)
            with self.mount() as mount:
                self.assertTrue(os.statvfs(mount.path()).f_flag & os.ST_RDONLY)
                self.assert_errno(errno.EROFS, lambda: os.mkdir(mount.path("d")))
                self.assert_errno(errno.EROFS, lambda: os.unlink(mount.path("f")))
                self.assertEqual(mount.path("f").read_bytes(), FRAME_DATA)
        finally:
            self.tool("umount", self.source)


if __name__ == "__main__":
    unittest.main()
