"""The memory of a daemon after reads of all kinds."""

import os
import random
import threading
import unittest

import daemon
import data
from case import MountCase
from memory import peak_mib, promised_mib, resident_mib

MIB = 1 << 20
CACHE_MIB = 48
BLOCKS_KIB = (16, 40, 64, 72, 128, 136, 256, 320, 512)


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

    def write_with_little_memory(self, write, chunk_mib):
        """Runs write(mount) with an overlay of 16 MiB, and checks the daemon's peak memory."""
        with self.mount("--cache-size", "16M", "--overlay-size", "16M", "--rule",
                        f"*:chunksize={chunk_mib}M") as mount:
            write(mount)
            self.assertLess(peak_mib(mount.pid), promised_mib(16, 16, chunk_mib))

    def test_tiny_writes_far_apart(self):
        """A dirty chunk with a few written bytes takes little memory, and a commit needs all of its
        bytes."""
        count = 700

        def write(mount):
            for what in (b"first", b"second"):  # into holes, then into stored chunks
                with open(mount.path("x"), "r+b" if what == b"second" else "w+b", buffering=0) as file:
                    for i in range(count):
                        os.pwrite(file.fileno(), what, i * MIB)
                    os.fsync(file.fileno())
                    for i in (0, 1, count - 1):
                        self.assertEqual(os.pread(file.fileno(), len(what), i * MIB), what)

        self.write_with_little_memory(write, 1)

    def test_writers_of_large_chunks(self):
        """Several files with chunks that are larger than the overlay, written at once."""
        noise = data.noise(80 * MIB)

        def write_one(path, pieces):
            with open(path, "wb", buffering=0) as file:
                for at, size in pieces:
                    os.pwrite(file.fileno(), noise[at:at + size], at)

        def write(mount):
            sequential = [(at, MIB) for at in range(0, len(noise), MIB)]
            plans = [sequential, sequential[40:50], [(60 * MIB, 100)], [(61 * MIB, 100)], [(5, 100)]]
            threads = [threading.Thread(target=write_one, args=(mount.path(f"x{i}"), plan))
                       for i, plan in enumerate(plans)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for i, plan in enumerate(plans):
                with open(mount.path(f"x{i}"), "rb", buffering=0) as file:
                    for at, size in plan:
                        self.assert_same_bytes(os.pread(file.fileno(), size, at), noise[at:at + size],
                                               f"x{i} at {at}")

        self.write_with_little_memory(write, 64)

    def test_indexes_of_closed_files_make_room(self):
        with self.mount("--overlay-size", "16M", "--rule", "*:chunksize=4096") as mount:
            names = [f"file{i}" for i in range(12)]
            for name in names:
                with open(mount.path(name), "wb", buffering=0) as file:
                    file.truncate(400 << 20)  # the index takes 1.6 of the 3.5 MiB for indexes
                    file.write(b"content")
            for name in names:
                self.assertEqual(mount.path(name).stat().st_size, 400 << 20)
            for name in names:
                with open(mount.path(name), "ab", buffering=0) as file:
                    file.write(b"more")
            for name in names:
                self.assertEqual(mount.path(name).stat().st_size, (400 << 20) + 4)


if __name__ == "__main__":
    unittest.main()
