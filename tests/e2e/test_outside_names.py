"""Names that other programs create, rename and remove in SOURCE.

The mount has looked up many names in the same directory, and remembers which names it has.
"""

import os
import pathlib
import shutil
import threading
import unittest

from case import MountCase
from disk import Disk, EncryptionKey

MANY = 40  # lookups, more than make the daemon list the directory


def is_there(path):
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


class OutsideNames(MountCase):
    def look_up_many(self, folder):
        for i in range(MANY):
            self.assertFalse(is_there(folder / f"absent-{i}"))

    def frame(self, name, content):
        """Makes a frame beside SOURCE, so that it can appear in SOURCE in one step."""
        return self.make_frame(content, self.folder / name)

    def test_every_way_to_make_a_name(self):
        folder = self.source / "folder"
        folder.mkdir()
        (folder / "old").write_bytes(b"old")
        (self.source / "elsewhere").write_bytes(b"elsewhere")
        frame = self.frame("frame", b"frame")
        with self.mount() as mount:
            shown = mount.path("folder")
            self.look_up_many(shown)
            ways = {"written": lambda path: path.write_bytes(b"text"),
                    "folder": os.mkdir,
                    "link": lambda path: os.link(folder / "written", path),
                    "symlink": lambda path: os.symlink("target", path),
                    "fifo": os.mkfifo,
                    "renamed": lambda path: os.rename(folder / "old", path),
                    "moved": lambda path: os.rename(self.source / "elsewhere", path)}
            for name, make in ways.items():
                self.assertFalse(is_there(shown / name))
                make(folder / name)
                self.assertTrue(is_there(shown / name), name)
            for suffix in (".b2frame", ".b2f", ".b2", ".b2b"):
                name = f"frame-{suffix[1:]}"
                self.assertFalse(is_there(shown / name))
                os.link(frame, folder / (name + suffix))
                self.assertEqual((shown / name).read_bytes(), b"frame", suffix)

    def test_in_one_tick_of_the_clock(self):
        """The times of the directory stay the same while names come and go."""
        folder = self.source / "folder"
        folder.mkdir()
        self.make_frame(b"frame", folder / "x.b2frame")
        with self.mount("--attr-timeout", "0") as mount:
            shown = mount.path("folder")
            self.look_up_many(shown)
            times = (folder.stat().st_atime_ns, folder.stat().st_mtime_ns)

            def contents():
                os.utime(folder, ns=times)
                names = ("x", "x.b2frame", "y")
                return [(shown / name).read_bytes() if is_there(shown / name) else None for name in names]
            for _ in range(20):
                self.assertEqual(contents(), [b"frame", b"frame", None])
                (folder / "x").write_bytes(b"text")
                self.assertEqual(contents(), [b"text", b"frame", None])
                os.rename(folder / "x", folder / "y")
                self.assertEqual(contents(), [b"frame", b"frame", b"text"])
                os.rename(folder / "x.b2frame", folder / "y.b2frame")
                self.assertEqual(contents(), [None, None, b"text"])
                os.remove(folder / "y")
                self.assertEqual(contents(), [None, None, b"frame"])
                os.rename(folder / "y.b2frame", folder / "x.b2frame")

    def test_beside_a_mount_that_makes_files(self):
        """A program outside looks up its own files in the mount, which makes files beside them."""
        missed = []
        done = threading.Event()
        with self.mount() as mount:
            def outside():
                i = 0
                while not done.is_set():
                    (self.source / f"outside-{i}").write_bytes(b"text")
                    if not is_there(mount.path(f"outside-{i}")):
                        missed.append(i)
                    i += 1
            thread = threading.Thread(target=outside)
            thread.start()
            try:
                for i in range(2000):
                    mount.path(f"inside-{i}").write_bytes(b"x" * 600)
                    self.assertTrue(is_there(mount.path(f"inside-{i}")))
                    if i % 3 == 0:
                        os.rename(mount.path(f"inside-{i}"), mount.path(f"renamed-{i}"))
                        self.assertTrue(is_there(mount.path(f"renamed-{i}")))
            finally:
                done.set()
                thread.join()
        self.assertEqual(missed, [])

    def test_a_removed_directory_comes_back(self):
        folder = pathlib.Path(self.source / "folder")
        with self.mount("--attr-timeout", "0") as mount:
            for i in range(3):
                folder.mkdir()
                self.look_up_many(mount.path("folder"))
                (folder / f"x-{i}").write_bytes(b"text")
                self.assertTrue(is_there(mount.path("folder", f"x-{i}")))
                os.remove(folder / f"x-{i}")
                folder.rmdir()

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount")
    def test_another_directory_takes_the_place(self):
        """Names are looked up in the directory that is there now, not in the one that was known."""
        folder, new = self.source / "folder", self.source / "new"
        folder.mkdir()
        new.mkdir()
        (new / "written").write_bytes(b"text")
        with self.mount() as mount:
            shown = mount.path("folder")
            self.look_up_many(shown)
            os.rename(folder, self.source / "old")
            os.rename(new, folder)
            self.assertEqual((shown / "written").read_bytes(), b"text")
            self.assertFalse(is_there(mount.path("old") / "written"))

    def test_the_names_of_an_encrypted_directory(self):
        """All names change when the key is removed, which inotify does not report."""
        with Disk(self, "ext4", "-O", "encrypt") as disk:
            folder = disk.path / "folder"
            folder.mkdir()
            try:
                key = EncryptionKey(disk.path)
                key.encrypt(folder)
            except OSError as error:
                self.skipTest(f"no encryption here: {error}")
            (folder / "x").write_bytes(b"content")
            self.source = disk.path
            with self.mount("--attr-timeout", "0") as mount:
                shown = mount.path("folder")
                self.look_up_many(shown)
                self.assertEqual((shown / "x").stat().st_size, 7)
                key.remove()
                [encrypted] = os.listdir(folder)
                self.assertNotEqual(encrypted, "x")
                self.assertTrue(is_there(shown / encrypted))
                self.assertFalse(is_there(shown / "x"))

    def test_a_directory_with_the_inode_of_a_removed_one(self):
        """The kernel may cache the names and attributes of the removed one's entries."""
        old = pathlib.Path(self.source / "old")
        old.mkdir()
        for name in ("x", "gone"):
            (old / name).write_bytes(b"an old text")
        if self.tool("stat", "-c", "%W", old).stdout.strip() in (b"0", b"-"):
            self.skipTest("this filesystem does not know when a directory was made")
        inode = old.stat().st_ino
        with self.mount("--attr-timeout", "60") as mount:
            self.assertEqual(mount.path("old/x").read_bytes(), b"an old text")
            self.assertTrue(is_there(mount.path("old/gone")))
            shutil.rmtree(old)
            for number in range(100):
                new = pathlib.Path(self.source / f"new-{number}")
                new.mkdir()
                if new.stat().st_ino == inode:
                    break
            else:
                self.skipTest("this filesystem does not reuse inodes")
            (new / "x").write_bytes(b"new")
            shown = mount.path(new.name)
            self.assertEqual((shown / "x").stat().st_size, len(b"new"))
            self.assertEqual((shown / "x").read_bytes(), b"new")
            self.assertFalse(is_there(shown / "gone"))


if __name__ == "__main__":
    unittest.main()
