"""The times of a file are those of its changes, not those of the commits behind them."""

import contextlib
import os
import time
import unittest

import daemon
import data
from case import MountCase

PATIENCE_NS = 50_000_000  # the kernel's clock for times of files may lag behind by a tick


def times_of(path):
    found = os.stat(path)
    return found.st_mtime_ns, found.st_ctime_ns


class Times(MountCase):
    def check_change(self, mount, name, change, moves_mtime=True):
        """Makes a change, and watches the times until the daemon has closed the frame."""
        path = self.mountpoint / name
        frame = str(self.source / f"{name}.b2frame")
        before = times_of(path)
        daemon.wait_for(lambda: time.time_ns() > before[1] + PATIENCE_NS, "the clock")
        begin = time.time_ns()
        change(path)
        end = time.time_ns()
        mtime, ctime = times_of(path)
        self.assertLessEqual(begin - PATIENCE_NS, ctime)
        self.assertLessEqual(ctime, end)
        self.assertEqual(mtime == before[0], not moves_mtime)

        def is_closed():
            self.assertEqual(times_of(path), (mtime, ctime), "the times moved by themselves")
            return frame not in daemon.open_files(mount.pid)

        daemon.wait_for(is_closed, "the end of the commit")
        self.assertEqual(times_of(path), (mtime, ctime))
        return ctime

    def test_the_daemon_does_not_move_the_access_time_of_a_new_file(self):
        """Commits read the frame through the descriptor that created it."""
        for options in ((), ("--plain", "*")):
            with self.subTest(options), self.mount("--attr-timeout", "0", *options) as mount:
                path = mount.path(f"new{len(options)}")
                with open(path, "w+b", buffering=0) as file:
                    file.write(b"first")
                    os.fsync(file.fileno())
                    os.utime(path, ns=(5, 7))
                    self.assertEqual(os.stat(path).st_atime_ns, 5)
                    self.assertEqual(os.pread(file.fileno(), 10, 0), b"first")
                    os.setxattr(path, "user.note", b"text")
                    self.assertEqual(os.stat(path).st_atime_ns, 5)
                self.assertEqual(os.stat(path).st_atime_ns, 5)

    def test_ctime_is_the_time_of_the_change(self):
        self.make_frame(data.noise(300_000), self.source / "x.b2frame")

        def write(path):
            with open(path, "r+b", buffering=0) as file:
                file.write(b"changed")

        def allocate(path):
            with open(path, "r+b", buffering=0) as file:
                os.posix_fallocate(file.fileno(), 0, 200_000)

        def overwrite(path):
            with open(path, "wb", buffering=0):
                pass

        def set_layer(path):
            os.setxattr(path, "user.framefs.vlmeta.note", b"text")

        with self.mount("--attr-timeout", "0") as mount, contextlib.ExitStack() as held:
            # The daemon keeps a ctime only as long as the kernel knows the file, and a kernel that
            # may not cache names forgets a file that no process holds.
            held.callback(os.close, os.open(self.mountpoint / "x", os.O_PATH))
            ctime = times_of(self.mountpoint / "x")[1]
            for change in (write, lambda path: os.truncate(path, 100_000), allocate, overwrite):
                later = self.check_change(mount, "x", change)
                self.assertGreater(later, ctime)
                ctime = later
            self.check_change(mount, "x", set_layer, moves_mtime=False)
            self.check_change(mount, "x", lambda path: os.chmod(path, 0o600), moves_mtime=False)
            # A change in SOURCE counts as well.
            daemon.wait_for(lambda: time.time_ns() > times_of(self.mountpoint / "x")[1]
                            + PATIENCE_NS, "the clock")
            os.chmod(self.source / "x.b2frame", 0o640)
            self.assertEqual(times_of(self.mountpoint / "x")[1],
                             os.stat(self.source / "x.b2frame").st_ctime_ns)

    def test_ctime_while_the_file_is_open(self):
        """A sync leaves the times, and a change of the mode or the name moves ctime."""
        path = self.mountpoint / "new"
        with self.mount("--attr-timeout", "0"):
            with open(path, "wb", buffering=0) as file:
                file.write(b"content")
                written = times_of(path)
                daemon.wait_for(lambda: time.time_ns() > written[1] + PATIENCE_NS, "the clock")
                os.fsync(file.fileno())
                self.assertEqual(times_of(path), written)
                for change in (lambda: os.chmod(path, 0o600),
                               lambda: os.setxattr(path, "user.note", b"text"),
                               lambda: os.utime(path, (1, 2)),
                               lambda: os.link(path, self.mountpoint / "link"),
                               lambda: os.rename(path, self.mountpoint / "moved")):
                    before = os.fstat(file.fileno()).st_ctime_ns
                    daemon.wait_for(lambda: time.time_ns() > before + PATIENCE_NS, "the clock")
                    change()
                    self.assertGreater(os.fstat(file.fileno()).st_ctime_ns, before)
                    changed = os.fstat(file.fileno()).st_ctime_ns
                    os.fsync(file.fileno())
                    self.assertEqual(os.fstat(file.fileno()).st_ctime_ns, changed)


if __name__ == "__main__":
    unittest.main()
