"""Two writable mounts of one SOURCE: neither destroys what the other has synced."""

import contextlib
import os
import random
import unittest

import contention
import daemon
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
