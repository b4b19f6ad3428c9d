"""Two writable mounts of one SOURCE: neither destroys what the other has synced."""

import contextlib
import os
import random
import unittest

import contention
import daemon
import data
from case import MountCase

RECORD = 700
ROUNDS = 12


class TwoMounts(MountCase):
    @contextlib.contextmanager
    def two_mounts(self):
        second = self.folder / "second"
        second.mkdir()
        with self.mount() as one, self.mount(mountpoint=second) as other:
            yield one, other

    def record(self, number):
        return bytes([number + 1]) * RECORD

    def records(self):
        return b"".join(self.record(number) for number in range(ROUNDS))

    def test_appends_in_turn(self):
        with self.two_mounts() as mounts:
            for number in range(ROUNDS):
                with open(mounts[number % 2].path("log"), "ab", buffering=0) as file:
                    file.write(self.record(number))
                    os.fsync(file.fileno())
            for mount in mounts:
                # A mount trusts the size that it has seen for --attr-timeout.
                daemon.wait_for(lambda mount=mount: mount.path("log").read_bytes() == self.records(), "all records")
        for mount in mounts:
            self.assertNotIn("lost", mount.log())
        self.assertEqual(self.unpacked("log.b2frame"), self.records())

    def test_both_have_it_open(self):
        with self.two_mounts() as mounts:
            mounts[0].path("data").write_bytes(b"")
            handles = [os.open(mount.path("data"), os.O_RDWR) for mount in mounts]
            for number in range(ROUNDS):
                fd = handles[number % 2]
                os.pwrite(fd, self.record(number), number * RECORD)
                os.fsync(fd)
            for fd in handles:
                os.close(fd)
        self.assertEqual(self.unpacked("data.b2frame"), self.records())

    def test_a_change_of_attributes_hides_no_change(self):
        """The kernel takes the time in the answer for that of its pages."""
        def several(fd, _):
            os.utime(fd)
            os.fchown(fd, os.getuid(), os.getgid())
            os.fchmod(fd, 0o600)

        changes = {"chmod": lambda fd, _: os.fchmod(fd, 0o600), "utime": lambda fd, _: os.utime(fd),
                   "chown": lambda fd, _: os.fchown(fd, os.getuid(), os.getgid()), "several": several,
                   "same time": lambda fd, before: os.utime(fd, ns=(before.st_atime_ns, before.st_mtime_ns)),
                   "same size": lambda fd, before: os.truncate(f"/proc/self/fd/{fd}", before.st_size)}
        old, new = data.noise(300_000), data.noise(300_000, seed=9)
        for name in changes:
            self.make_frame(old, self.source / f"{name}.b2frame")
            (self.source / f"{name}.txt").write_bytes(old)
        with self.two_mounts() as (one, other):
            for name, change in changes.items():
                for shown in (name, f"{name}.txt"):
                    with self.subTest(shown), open(one.path(shown), "rb", buffering=0) as reader:
                        self.assert_same_bytes(reader.read(), old, "before")
                        before = os.fstat(reader.fileno())
                        with open(other.path(shown), "r+b") as writer:
                            writer.write(new)
                            writer.flush()
                            os.fsync(writer.fileno())
                        change(reader.fileno(), before)
                        self.assert_same_bytes(os.pread(reader.fileno(), len(old), 0), new, "after")
                        stored = self.source / (shown if shown.endswith(".txt") else f"{shown}.b2frame")
                        self.assertEqual(os.fstat(reader.fileno()).st_mtime_ns, stored.stat().st_mtime_ns)

    def test_a_frame_that_the_other_removes_before_its_commit_is_no_loss(self):
        """The written bytes go with the file, as those of a file that was removed here."""
        names = [f"{kind}{number}" for kind in ("contiguous", "sparse") for number in range(ROUNDS)]
        for name in names:
            options = ["--sparse"] if name.startswith("sparse") else []
            self.make_frame(self.records(), self.source / f"{name}.b2frame", *options)
        with self.two_mounts() as (one, other):
            for name in names:
                with open(other.path(name), "r+b") as file:
                    file.write(self.records()[::-1])
                one.path(name).unlink()
            other.wait_for_commits()
        self.assertNotIn("lost", other.log())

    def compacted(self):
        self.tool(daemon.FRAMEFS, "compact", self.source / "data.b2frame")

    def test_the_same_sizes_at_the_same_places(self):
        """A change and a compaction can lead to the state that the other mount knows."""
        layer = "user.framefs.vlmeta.layer"
        with self.two_mounts() as mounts, contextlib.ExitStack() as handles:
            def opened(mount, name):
                fd = os.open(mount.path(name), os.O_RDWR)
                handles.callback(os.close, fd)
                return fd

            for kind in ("layer", "data"):
                stored = self.source / f"{kind}.b2frame"
                plain = bytearray(data.noise(300_000))
                mounts[0].path(kind).write_bytes(plain)
                one = opened(mounts[0], kind)
                os.setxattr(one, layer, b"1" * 1000)
                os.fsync(one)
                self.tool(daemon.FRAMEFS, "compact", stored)
                before = stored.stat().st_size
                other = opened(mounts[1], kind)
                os.pread(other, 4096, 151_552)  # beside the bytes that are written next
                if kind == "layer":
                    os.setxattr(one, layer, b"2" * 1000)
                else:
                    os.pwrite(one, piece := data.noise(1000, seed=2), 150_000)
                    plain[150_000:151_000] = piece
                os.fsync(one)
                self.tool(daemon.FRAMEFS, "compact", stored)
                self.assertEqual(stored.stat().st_size, before)
                self.assert_same_bytes(mounts[1].path(kind).read_bytes(), plain, f"a new open, {kind}")
                os.pwrite(other, piece := data.noise(1000, seed=3), 149_000)
                plain[149_000:150_000] = piece
                os.fsync(other)
                self.assertEqual(os.getxattr(other, layer), (b"2" if kind == "layer" else b"1") * 1000)
                self.assert_same_bytes(self.unpacked(stored.name), plain, kind)

    def test_contention(self):
        """A sample of scripts/contend."""
        folder = self.folder / "contention"
        folder.mkdir()
        seed = random.randrange(1 << 30)
        print(contention.Contention(folder, seed, frames=2, writers=2).run(seconds=6))

    def unpacked(self, name):
        out = self.folder / "unpacked"
        self.tool(daemon.FRAMEFS, "unpack", "-q", "-f", self.source / name, "-o", out)
        return out.read_bytes()


if __name__ == "__main__":
    unittest.main()
