"""Threads start with the work that needs them, and end when it is over."""

import concurrent.futures
import os
import random
import time
import unittest

from case import MountCase
from daemon import wait_for

MIB = 1 << 20
# TBB's workers of the two pools stay: no more than one for each, nor than CPUs beside the first.
POOLS = ["--threads", "2"]
WORKERS = min(2, (os.cpu_count() or 2) - 1)


class Threads(MountCase):
    def count(self, mount):
        return len(os.listdir(f"/proc/{mount.pid}/task"))

    def read_in_parallel(self, mount):
        """Returns the number of threads while readers of all kinds are at work."""
        def read(number):
            path = mount.path(f"f{number % 4}")
            with path.open("rb", buffering=0) as file:
                while file.read(MIB):
                    pass
                for _ in range(200):
                    os.pread(file.fileno(), 4096, random.Random(number).randrange(8 * MIB))
            return self.count(mount)

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            return max(pool.map(read, range(24)))

    def check_ends(self, mount, most):
        wait_for(lambda: self.count(mount) <= most, f"no more than {most} threads", deadline_s=60)
        # The mount works as before, and its threads end again.
        self.read_in_parallel(mount)
        wait_for(lambda: self.count(mount) <= most, f"no more than {most} threads again", deadline_s=60)

    def setUp(self):
        content = random.Random(1).randbytes(MIB) * 8
        for number in range(4):
            self.make_frame(content, self.source / f"f{number}.b2frame", "--chunk", "1M", "--block", "16K")

    def test_a_mount_that_cannot_change(self):
        for option in ("--ro", "--immutable"):
            with self.subTest(option), self.mount(option, *POOLS) as mount:
                self.assertGreater(self.read_in_parallel(mount), 3 + WORKERS)
                self.check_ends(mount, 3 + WORKERS)

    def test_a_mount_that_can_change(self):
        with self.mount(*POOLS, "--commit-interval", "1") as mount:
            def write(number):
                with mount.path(f"new{number}").open("wb") as file:
                    for _ in range(4):
                        file.write(random.Random(number).randbytes(MIB))
                        time.sleep(0)
                return self.count(mount)

            self.read_in_parallel(mount)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                self.assertGreater(max(pool.map(write, range(16))), 4 + WORKERS)
            self.check_ends(mount, 4 + WORKERS)
            for number in range(16):
                self.assertEqual(mount.path(f"new{number}").stat().st_size, 4 * MIB)
            # A writer after the end of all threads is committed as before.
            mount.path("late").write_bytes(b"late")
            wait_for(lambda: (self.source / "late.b2frame").stat().st_size > 4, "the commit")


if __name__ == "__main__":
    unittest.main()
