"""Entries that the kernel trusts for longer than --attr-timeout while inotify reports no change."""

import json
import mmap
import os
import time
import unittest

from case import MountCase

FILES = 200
AFTER_THE_TIMEOUT = 1.5  # --attr-timeout is 1
SOON = 10.0              # far less than the 30 seconds of trust, far more than a change needs


class TrustedEntries(MountCase):
    def setUp(self):
        for number in range(FILES):
            (self.source / f"plain-{number}").write_bytes(b"x" * number)
        self.frame = self.make_frame(b"content", self.source / "frame.b2frame")
        self.mounted = None

    def path(self, name):
        return self.mounted.path(name)

    def asked(self):
        """How often the kernel has asked for a name or for attributes."""
        requests = json.loads(os.getxattr(self.mounted.path(), "user.framefs.stats"))["requests"]
        return sum(requests[name]["count"] for name in ("lookup", "getattr") if name in requests)

    def walk(self):
        return {name: os.lstat(self.path(name)).st_size for name in os.listdir(self.mounted.path())}

    def walks(self):
        """The requests of a second walk, after the timeout."""
        first = self.walk()
        time.sleep(AFTER_THE_TIMEOUT)
        before = self.asked()
        self.assertEqual(self.walk(), first)
        return self.asked() - before

    @staticmethod
    def get(shown):
        try:
            return shown()
        except FileNotFoundError:
            return None

    def wait_for(self, shown, wanted):
        """Waits until shown() returns what is wanted."""
        end = time.monotonic() + SOON
        while self.get(shown) != wanted and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.get(shown), wanted)

    def test_a_second_walk_asks_for_nothing(self):
        with self.mount() as self.mounted:
            self.assertLess(self.walks(), 10)
        with self.mount("--attr-timeout", "0.1") as self.mounted:
            self.assertLess(self.walks(), 10)
        with self.mount("--attr-timeout", "0") as self.mounted:
            self.assertGreater(self.walks(), FILES)

    def test_changes_in_source_show_soon(self):
        def size(name):
            return lambda: os.lstat(self.path(name)).st_size

        def listed(name):
            return lambda: os.path.lexists(self.path(name))

        plain, other = self.source / "plain-7", self.source / "plain-8"
        changes = {
            "bytes": (lambda: plain.write_bytes(b"other bytes"), size("plain-7"), 11),
            "size": (lambda: os.truncate(plain, 3), size("plain-7"), 3),
            "mode": (lambda: plain.chmod(0o600), lambda: os.lstat(self.path("plain-7")).st_mode & 0o777, 0o600),
            "time": (lambda: os.utime(plain, (5, 6)), lambda: os.lstat(self.path("plain-7")).st_mtime, 6),
            "replaced": (lambda: os.replace(other, plain), size("plain-7"), 8),
            "renamed": (lambda: plain.rename(other), listed("plain-7"), False),
            "removed": (other.unlink, listed("plain-8"), False),
            "a frame": (lambda: self.make_frame(b"longer content", self.source / "frame.b2frame"), size("frame"), 14),
            "the folder": (lambda: self.source.chmod(0o700),
                           lambda: self.mounted.path().stat().st_mode & 0o777, 0o700),
            # The frame then has its full name.
            "another entry": (lambda: (self.source / "frame").write_bytes(b"a file"), size("frame"), 6),
        }
        for what, (change, shown, wanted) in changes.items():
            with self.subTest(what), self.mount() as self.mounted:
                self.walk()
                self.assertNotEqual(self.get(shown), wanted)
                change()
                self.wait_for(shown, wanted)

    def test_changes_through_a_second_mount_show_soon(self):
        second = self.folder / "second"
        second.mkdir()
        with self.mount() as self.mounted, self.mount(mountpoint=second) as other:
            self.walk()
            with open(other.path("frame"), "ab") as file:
                file.write(b" and more")
                os.fsync(file.fileno())
            self.wait_for(lambda: os.lstat(self.path("frame")).st_size, 16)

    def test_files_with_other_names_are_not_trusted(self):
        """inotify reports a change to the folder of the name through which it is made."""
        elsewhere = self.folder / "elsewhere"
        os.link(self.source / "plain-7", elsewhere)
        with self.mount() as self.mounted:
            self.walk()
            elsewhere.write_bytes(b"changed")
            self.wait_for(lambda: os.lstat(self.path("plain-7")).st_size, 7)
            self.assertLess(self.walks(), 10)

    def test_open_and_read_do_not_depend_on_reports(self):
        """A write through a mapping is not reported."""
        with self.mount() as self.mounted:
            self.walk()
            with open(self.source / "plain-7", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
                mapped[:] = b"changed"
                mapped.flush()
            self.assertEqual(self.path("plain-7").read_bytes(), b"changed")

    def test_more_folders_than_the_system_watches(self):
        limit = "/proc/sys/fs/inotify/max_user_watches"
        folders = [self.source / f"folder-{number}" for number in range(20)]
        for folder in folders:
            folder.mkdir()
            (folder / "x").write_bytes(b"x")
        with open(limit, encoding="ascii") as file:
            before = file.read()
        try:
            with open(limit, "w", encoding="ascii") as file:
                file.write("5")
            with self.mount() as self.mounted:
                for folder in folders:
                    shown = self.path(folder.name) / "x"
                    self.assertEqual(shown.stat().st_size, 1)
                    (folder / "x").write_bytes(b"more")
                    self.wait_for(lambda path=shown: path.stat().st_size, 4)
        finally:
            with open(limit, "w", encoding="ascii") as file:
                file.write(before)


if __name__ == "__main__":
    unittest.main()
