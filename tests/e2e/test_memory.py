"""The memory of a daemon after reads of all kinds."""

import os
import pathlib
import random
import re
import unittest

import daemon
from case import MountCase

MIB = 1 << 20
CACHE_MIB = 48
BLOCKS_KIB = (16, 40, 64, 72, 128, 136, 256, 320, 512)


def resident_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024


@unittest.skipIf(daemon.SANITIZED, "what a sanitizer keeps is not the daemon's")
class Memory(MountCase):
    def test_the_cache_is_all_that_grows(self):
        """Blocks of many sizes in turn, so that blocks of one size make room for those of
        another."""
        seed = 11
        plain = self.folder / "plain"
        plain.write_bytes(b"".join(i.to_bytes(8, "little") for i in range(8 * MIB)))
        for kib in BLOCKS_KIB:
            self.make_frame(plain, self.source / f"x{kib}.b2frame", "--codec", "lz4", "--typesize", "8",
                            "--filter", "shuffle", "--chunk", "4M", "--block", f"{kib}K")
        size = plain.stat().st_size
        with self.mount("--cache-size", f"{CACHE_MIB}M") as mount:
            at = random.Random(seed)
            before = resident_mib(mount.pid)
            for _ in range(2):
                for kib in BLOCKS_KIB:
                    with open(mount.path(f"x{kib}"), "rb", buffering=0) as file:
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                        for _ in range(300):
                            place = at.randrange(size - 8) & ~7
                            os.lseek(file.fileno(), place, os.SEEK_SET)
                            self.assertEqual(int.from_bytes(file.read(8), "little"), place // 8, f"seed {seed}")
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            grown = resident_mib(mount.pid) - before
            self.assertGreater(grown, CACHE_MIB / 2)
            self.assertLess(grown, CACHE_MIB + 20)


if __name__ == "__main__":
    unittest.main()
