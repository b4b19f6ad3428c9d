"""A frame does not grow forever if the same bytes are written repeatedly."""

import os
import unittest

import daemon
import data
from case import MountCase

MOST_GROWTH = 3.3  # in multiples of the largest compacted frame
ROUNDS = 10
CHUNK_BYTES = 256 << 10
FILE_BYTES = (4 << 20) if daemon.SANITIZED else (16 << 20)
RULE = ("--rule", f"*:chunksize={CHUNK_BYTES}")


class Rewrite(MountCase):
    def content(self, kind, number):
        if kind == "noise":
            return data.noise(FILE_BYTES, seed=number)
        return data.random_walk(FILE_BYTES // 4, seed=number)

    def sync_all(self, fd):
        os.fsync(fd)
        return (self.source / "file.b2frame").stat().st_size

    def compacted_bytes(self, content):
        """The size of a frame that is written only once."""
        fd = os.open(self.mountpoint / "once", os.O_RDWR | os.O_CREAT | os.O_EXCL)
        self.write_in_order(fd, content)
        os.fsync(fd)
        os.close(fd)
        size = (self.source / "once.b2frame").stat().st_size
        (self.mountpoint / "once").unlink()
        return size

    def check_growth(self, kind, write_round):
        with self.mount(*RULE):
            fd = os.open(self.mountpoint / "file", os.O_RDWR | os.O_CREAT)
            sizes, compacted_sizes = [], []
            for number in range(ROUNDS):
                content = self.content(kind, number)
                write_round(fd, content)
                sizes.append(self.sync_all(fd))
                compacted_sizes.append(self.compacted_bytes(content))
            # The contents of the rounds do not compress equally well.
            self.assertLessEqual(max(sizes), MOST_GROWTH * max(compacted_sizes),
                                 f"{sizes}, compacted {compacted_sizes}")
            compacted = compacted_sizes[-1]
            os.close(fd)
            # The last close returns dead space that makes up more than half.
            frame = self.source / "file.b2frame"
            daemon.wait_for(lambda: frame.stat().st_size <= 2.1 * compacted,
                            f"a frame of {compacted} bytes, not {frame.stat().st_size}")
        with self.mount():
            self.assert_same_bytes((self.mountpoint / "file").read_bytes(), content, kind)

    @staticmethod
    def write_in_order(fd, content):
        for offset in range(0, len(content), 1 << 20):
            os.pwrite(fd, content[offset:offset + (1 << 20)], offset)

    @staticmethod
    def write_with_syncs_between(fd, content):
        """Syncs after every fourth chunk, last chunks first."""
        step = 4 * CHUNK_BYTES
        for offset in reversed(range(0, len(content), step)):
            os.pwrite(fd, content[offset:offset + step], offset)
            os.fsync(fd)

    def test_incompressible(self):
        self.check_growth("noise", self.write_in_order)

    def test_compressible(self):
        self.check_growth("walk", self.write_in_order)

    def test_syncs_between(self):
        self.check_growth("noise", self.write_with_syncs_between)

    def test_emptied_each_time(self):
        def write_anew(fd, content):
            os.ftruncate(fd, 0)
            self.write_in_order(fd, content)

        self.check_growth("noise", write_anew)

    def test_small_frames_are_compacted_when_they_are_quiet(self):
        """Appends that are committed one by one store the last chunk again and again."""
        content = data.noise(300_000, seed=1)
        with self.mount("--commit-interval", "0.2"):
            fd = os.open(self.mountpoint / "log", os.O_RDWR | os.O_CREAT)
            for offset in range(0, len(content), 20_000):
                os.write(fd, content[offset:offset + 20_000])
                os.fsync(fd)
            frame = self.source / "log.b2frame"
            self.assertGreater(frame.stat().st_size, 2 * len(content))
            os.close(fd)
            daemon.wait_for(lambda: frame.stat().st_size <= 1.1 * len(content),
                            f"a frame of {len(content)} bytes, not {frame.stat().st_size}")
            self.assert_same_bytes((self.mountpoint / "log").read_bytes(), content, "log")
        with self.mount():
            self.assert_same_bytes((self.mountpoint / "log").read_bytes(), content, "log")


if __name__ == "__main__":
    unittest.main()
