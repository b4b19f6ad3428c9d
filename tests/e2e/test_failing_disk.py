"""SOURCE on a disk whose writes fail: bytes that a sync has acknowledged are there."""

import contextlib
import errno
import os
import resource
import unittest

import daemon
import data
import disk
from case import MountCase

NEVER = ("--commit-interval", "3600")
OLD, NEW = data.noise(300_000), data.noise(700_000)[300_000:]
# The writes of a commit are few: these are all points of a commit and of the stores before it, and
# some of what the filesystem writes afterwards.
POINTS = (0, 1, 2, 3, 4, 5, 6, 8, 11, 15, 20, 30)


class FileSizeLimit(MountCase):
    """SOURCE refuses bytes beyond a limit of file sizes, as ulimit(1) sets one."""

    LIMIT = 1 << 20

    @contextlib.contextmanager
    def limited_mount(self):
        with self.mount(*NEVER).with_any_exit_code() as mount:
            resource.prlimit(mount.pid, resource.RLIMIT_FSIZE, (self.LIMIT, self.LIMIT))
            yield mount
        self.assertEqual(mount.process.returncode, 1)
        self.assertIn("big.b2frame: written bytes are lost", mount.stderr_path.read_text())

    def write_too_much(self, mount):
        content = data.noise(3 * self.LIMIT)
        with open(mount.path("big"), "wb") as file:
            file.write(content)
            file.flush()
            with self.assertRaises(OSError) as caught:
                os.fsync(file.fileno())
            self.assertEqual(caught.exception.errno, errno.EFBIG)
        self.assert_same_bytes(mount.path("big").read_bytes(), content, "the written bytes")
        mount.path("small").write_bytes(b"small")

    def test_an_unmount_names_the_file(self):
        with self.limited_mount() as mount:
            self.write_too_much(mount)
            told = self.tool(daemon.FRAMEFS, "umount", self.mountpoint, check=False)
            self.assertEqual(told.returncode, 1)
            self.assertRegex(told.stderr.decode(), r"^framefs: .*big\.b2frame: written bytes are lost\n$")
        self.assertEqual(self.tool(daemon.FRAMEFS, "unpack", self.source / "small.b2frame", "-o", "-").stdout, b"small")

    def test_a_commit_that_succeeds_ends_the_failure(self):
        with self.mount(*NEVER) as mount:
            resource.prlimit(mount.pid, resource.RLIMIT_FSIZE, (self.LIMIT, resource.RLIM_INFINITY))
            self.write_too_much(mount)
            resource.prlimit(mount.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            self.tool(daemon.FRAMEFS, "umount", self.mountpoint)
        self.tool(daemon.FRAMEFS, "unpack", self.source / "big.b2frame")

    def test_a_command_leaves_nothing_behind(self):
        plain = self.folder / "plain"
        plain.write_bytes(data.noise(2 * self.LIMIT))
        packed = self.tool("prlimit", f"--fsize={self.LIMIT}", daemon.FRAMEFS, "pack", plain, check=False)
        self.assertEqual(packed.returncode, 1)
        self.assertIn(b"File too large", packed.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["mnt", "plain", "source"])


@unittest.skipIf(os.geteuid() != 0, "only root can mount a disk")
class FailingDisk(MountCase):
    def stored(self, place, name):
        """The content of a frame in SOURCE, decoded without the mount; None if it is damaged."""
        found = self.tool(daemon.FRAMEFS, "unpack", place / f"{name}.b2frame", "-o", "-", check=False)
        return found.stdout if found.returncode == 0 else None

    @contextlib.contextmanager
    def opened(self, name, flags):
        fd = os.open(self.mountpoint / name, flags, 0o644)
        try:
            yield fd
        finally:
            with contextlib.suppress(OSError):
                os.close(fd)

    def write(self, name, content):
        """Writes the content and syncs it."""
        with self.opened(name, os.O_RDWR | os.O_CREAT) as fd:
            os.pwrite(fd, content, 0)
            os.fsync(fd)

    def test_each_file_has_its_own_errors(self):
        """Frames are committed together while a file of another program cannot be written."""
        names = [f"x{i}" for i in range(8)]
        with disk.FailingDisk(self, "ext4") as place, self.mount(*NEVER, source=place.path) as mount:
            for name in names:
                self.write(name, b"old")
            # The kernel joins writes of neighbouring blocks, and the error of one is that of all.
            (place.path / "stranger").write_bytes(bytes(2 << 20))
            self.tool("sync", "-f", place.path)
            place.obey("pattern")
            with open(place.path / "stranger", "r+b") as stranger:
                stranger.seek(1 << 20)
                stranger.write(place.PATTERN * 4096)
            for name in names:
                mount.path(name).write_bytes(b"new " + name.encode())
            daemon.wait_for(lambda: all(self.stored(place.path, name) == b"new " + name.encode() for name in names),
                            "the commits")
            self.tool("sync", "-f", place.path, check=False)
            self.assertGreater(place.failed_writes(), 0)
            place.obey("none")

    def test_a_loss_is_not_forgotten(self):
        """The bytes of one of many closed frames are lost.  Each sync of it fails, and it replaces
        no other file, also after another program has been told of the error."""
        with disk.FailingDisk(self, "ext4") as place, \
                self.mount(*NEVER, "--rule", "*:chunksize=64K", source=place.path).with_any_exit_code() as mount:
            for name in ("other", "lost"):
                self.write(name, OLD)
            place.obey("pattern")
            fd = os.open(mount.path("lost"), os.O_RDWR)
            before = (place.path / "lost.b2frame").stat().st_size
            os.pwrite(fd, place.PATTERN + NEW[:100_000], 0)
            # A chunk that is written from end to end is stored before a commit.
            daemon.wait_for(lambda: (place.path / "lost.b2frame").stat().st_size > before, "the store")
            self.tool("sync", "-f", place.path, check=False)
            place.obey("none")
            many = [os.open(mount.path(f"y{i}"), os.O_RDWR | os.O_CREAT) for i in range(8)]
            for other in many:
                os.pwrite(other, b"y", 0)
            for other in [*many, fd]:
                with contextlib.suppress(OSError):
                    os.close(other)
            daemon.wait_for(lambda: "lost" in mount.log(), "the failed commit")
            reader = os.open(mount.path("lost"), os.O_RDONLY)
            with self.assertRaises(OSError):
                os.fsync(reader)
            os.close(reader)
            with self.assertRaises(OSError):
                os.rename(mount.path("lost"), mount.path("other"))
            self.assert_same_bytes(mount.path("lost").read_bytes(), OLD, "what readers see")
            for i in range(8):
                daemon.wait_for(lambda i=i: self.stored(place.path, f"y{i}") == b"y", "the others")
        self.assertIn("lost.b2frame: written bytes are lost", mount.stderr_path.read_text())

    def write_until(self, point, place):
        """Returns the names whose new content was acknowledged by a sync."""
        acknowledged = set()
        with self.mount(*NEVER, source=place.path).with_any_exit_code():
            for name in ("changed", "sparse"):
                self.write(name, OLD)
            place.obey(f"after {point}")
            for name in ("changed", "sparse", "new"):
                with contextlib.suppress(OSError):
                    self.write(name, NEW)
                    acknowledged.add(name)
            # A sync by another descriptor must not say more.
            for name in ("changed", "sparse", "new"):
                with contextlib.suppress(OSError), self.opened(name, os.O_RDONLY) as fd:
                    os.fsync(fd)
                    if os.pread(fd, len(NEW), 0) == NEW:
                        acknowledged.add(name)
        return acknowledged

    def test_writes_fail_at_each_point(self):
        for kind in disk.FILESYSTEMS:
            failed = 0
            for point in POINTS:
                with self.subTest(kind, point=point), disk.FailingDisk(self, kind) as place:
                    self.make_frame(OLD, place.path / "sparse.b2frame", "--sparse")
                    self.tool("sync", "-f", place.path)
                    acknowledged = self.write_until(point, place)
                    failed += place.failed_writes()
                    place.restart()
                    for name in ("changed", "sparse", "new"):
                        got = self.stored(place.path, name)
                        if name in acknowledged:
                            self.assert_same_bytes(got, NEW, f"{name} was synced")
                        elif name != "new":
                            self.assertTrue(got in (OLD, NEW), f"{name} is neither old nor new")
            self.assertGreater(failed, 0, kind)


if __name__ == "__main__":
    unittest.main()
