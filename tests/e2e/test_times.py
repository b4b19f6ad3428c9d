"""The times of a file are those of its changes, not those of the commits behind them."""

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

    def test_the_daemon_does_not_move_the_access_time_of_a_sparse_frame(self):
        """A writer compares the index file with the state that it knows, again and again."""
        self.make_frame(data.noise(300_000), self.source / "x.b2frame", "--sparse")
        with self.mount("--attr-timeout", "0") as mount:
            path = mount.path("x")
            with open(path, "r+b", buffering=0) as file:
                os.utime(path, ns=(5, 7))
                self.assertEqual(os.stat(path).st_atime_ns, 5)
                file.write(b"changed")
                os.fsync(file.fileno())
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

        with self.mount("--attr-timeout", "0") as mount:
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

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make the kernel forget files")
    def test_times_stay_when_the_kernel_forgets_the_files(self):
        names = [f"file{i}" for i in range(20)]
        with self.mount() as mount:
            shown = {}
            for name in names:
                with open(mount.path(name), "wb") as file:
                    file.write(data.noise(20_000))
                    file.flush()
                    found = os.fstat(file.fileno())
                    shown[name] = (found.st_mtime_ns, found.st_ctime_ns)
            daemon.wait_for(lambda: not any(str(self.source) in path and path.endswith(".b2frame")
                                            for path in daemon.open_files(mount.pid)), "the commits")
            daemon.drop_kernel_references()
            self.assertEqual({name: times_of(mount.path(name)) for name in names}, shown)

    def test_times_are_in_the_order_of_the_changes(self):
        makes = {"symlink": lambda path: os.symlink("to", path), "directory": os.mkdir, "fifo": os.mkfifo,
                 "empty": lambda path: path.touch(), "written": lambda path: path.write_bytes(b"content"),
                 "plain.txt": lambda path: path.write_bytes(b"content")}
        with self.mount("--plain", "*.txt") as mount:
            for i in range(100):
                for name, make in makes.items():
                    first, second = mount.path(f"first{i}-{name}"), mount.path(f"second{i}-{name}")
                    first.write_bytes(data.noise(20_000))
                    before = os.lstat(first).st_mtime_ns
                    make(second)
                    self.assertLessEqual(before, os.lstat(second).st_mtime_ns, name)


if __name__ == "__main__":
    unittest.main()
