"""Entries that the kernel trusts for longer than --attr-timeout while inotify reports no change."""

import errno
import json
import mmap
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import daemon
from case import MAKE_FRAME, MountCase
from disk import Disk, EncryptionKey

FILES = 200
MANY = 20_000
AFTER_THE_TIMEOUT = 1.5  # --attr-timeout is 1
SOON = 10.0              # far less than the 30 seconds of trust, far more than a change needs
SETTLED = 11.0           # the age at which the kernel trusts a file


class TrustedEntries(MountCase):
    OF_MANY = "test_a_signal_ends_the_daemon_while_the_trust_ends"

    @classmethod
    def setUpClass(cls):
        """Makes the SOURCE of each test, and waits once until the files have the age."""
        super().setUpClass()
        cls.sources = tempfile.TemporaryDirectory(prefix="framefs-e2e-")
        cls.addClassCleanup(cls.sources.cleanup)
        plain = pathlib.Path(cls.sources.name) / "plain"
        plain.write_bytes(b"content")
        for test in unittest.defaultTestLoader.getTestCaseNames(cls):
            source = pathlib.Path(cls.sources.name) / test
            source.mkdir()
            for number in range(MANY if test == cls.OF_MANY else FILES):
                (source / f"plain-{number}").write_bytes(b"x" * (number % FILES))
            subprocess.run([MAKE_FRAME, plain, source / "frame.b2frame"], check=True)
        time.sleep(SETTLED)

    def setUp(self):
        self.source.rmdir()
        (pathlib.Path(self.sources.name) / self._testMethodName).rename(self.source)
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
        with daemon.kernel_references_kept():
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

        def plain(number):
            return self.source / f"plain-{number}"

        def mode(name):
            return lambda: os.lstat(self.path(name)).st_mode & 0o777

        changes = {
            "bytes": (lambda: plain(10).write_bytes(b"other bytes"), size("plain-10"), 11),
            "size": (lambda: os.truncate(plain(11), 3), size("plain-11"), 3),
            "mode": (lambda: plain(12).chmod(0o600), mode("plain-12"), 0o600),
            "time": (lambda: os.utime(plain(13), (5, 6)), lambda: os.lstat(self.path("plain-13")).st_mtime, 6),
            "replaced": (lambda: os.replace(plain(8), plain(14)), size("plain-14"), 8),
            "renamed": (lambda: plain(15).rename(plain(16)), listed("plain-15"), False),
            "removed": (plain(17).unlink, listed("plain-17"), False),
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

    def test_files_that_changed_lately_are_not_trusted(self):
        """inotify reports a write to the folder of the name under which the file was opened."""
        folder = self.source / "folder"
        folder.mkdir()
        with open(self.source / "plain-7", "ab", buffering=0) as writer:
            os.link(self.source / "plain-7", folder / "x")
            os.unlink(self.source / "plain-7")
            with self.mount() as self.mounted:
                self.assertEqual(os.lstat(self.path("folder") / "x").st_size, 7)
                writer.write(b" more")
                self.wait_for(lambda: os.lstat(self.path("folder") / "x").st_size, 12)

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount")
    def test_mounted_files_are_not_trusted(self):
        """inotify reports their changes to the folder that they come from."""
        elsewhere = self.folder / "elsewhere"
        os.rename(self.source / "plain-9", elsewhere)
        subprocess.run(["mount", "--bind", elsewhere, self.source / "plain-7"], check=True)
        try:
            time.sleep(SETTLED)
            with self.mount() as self.mounted:
                self.assertEqual(os.lstat(self.path("plain-7")).st_size, 9)
                os.truncate(elsewhere, 3)
                self.wait_for(lambda: os.lstat(self.path("plain-7")).st_size, 3)
        finally:
            subprocess.run(["umount", self.source / "plain-7"], check=True)

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount")
    def test_encrypted_folders_are_not_trusted(self):
        """inotify does not report that the key is removed, which changes all names."""
        with Disk(self, "ext4", "-O", "encrypt") as disk:
            folder = disk.path / "folder"
            folder.mkdir()
            try:
                key = EncryptionKey(disk.path)
                key.encrypt(folder)
            except OSError as error:
                self.skipTest(f"no encryption here: {error}")
            (folder / "x").write_bytes(b"content")
            time.sleep(SETTLED)
            self.source = disk.path
            with self.mount() as self.mounted:
                shown = self.path("folder") / "x"
                self.assertEqual(shown.stat().st_size, 7)
                key.remove()
                self.wait_for(lambda: os.path.lexists(shown), False)

    def test_a_signal_ends_the_daemon_while_the_trust_ends(self):
        """The end of the trust in a name waits for requests that hold the lock of the folder."""
        with self.mount() as self.mounted:
            self.walk()
            seekers = [os.fork() for _ in range(3)]
            if 0 in seekers:
                self.look_up_missing_names()
            time.sleep(0.3)
            (self.source / "plain-3").write_bytes(b"changed")
            time.sleep(0.03)
            self.mounted.process.send_signal(signal.SIGTERM)
            self.assertEqual(self.mounted.process.wait(60), 0)
            for seeker in seekers:
                os.waitpid(seeker, 0)

    def look_up_missing_names(self):
        """Ends with the mount.  Runs in a process of its own."""
        number = 0
        while True:
            number += 1
            try:
                os.lstat(self.path(f"missing-{os.getpid()}-{number}"))
            except OSError as error:
                if error.errno != errno.ENOENT or not os.path.ismount(self.mounted.path()):
                    os._exit(0)

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
