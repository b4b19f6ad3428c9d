"""Many concurrent readers, and a cache that is too small for them."""

import concurrent.futures
import hashlib
import multiprocessing
import os
import random
import unittest

import data
from case import MountCase

READERS = 8


def read_sequentially(path, piece):
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while block := file.read(piece):
            digest.update(block)
    return digest.hexdigest()


def compare_random_reads(shown, plain, seed, reads):
    """The first read that differs, or None."""
    rng = random.Random(seed)
    size = os.path.getsize(plain)
    with open(shown, "rb", buffering=0) as one, open(plain, "rb", buffering=0) as other:
        for _ in range(reads):
            offset = rng.randrange(size)
            length = rng.choice((1, 100, 4096, 70_000, 300_000))
            if os.pread(one.fileno(), length, offset) != os.pread(other.fileno(), length, offset):
                return f"seed {seed}: {length} bytes at {offset} differ"
    return None


class Readers(MountCase):
    FRAMES = 12

    def setUp(self):
        self.plain = self.folder / "plain"
        self.plain.mkdir()
        kinds = (data.random_walk(250_000), data.text(20_000), data.noise(700_001),
                 data.sparse(900_000))
        codecs = ("zstd", "lz4", "zlib", "blosclz", "lz4hc", "memcpy")
        for i in range(self.FRAMES):
            name = self.plain / f"f{i}"
            name.write_bytes(kinds[i % len(kinds)])
            self.make_frame(name, self.source / f"f{i}.b2frame", "--codec", codecs[i % len(codecs)],
                            "--chunk", "200000", "--block", "30000", "--typesize", "4", "--filter",
                            ("none", "shuffle", "bitshuffle")[i % 3],
                            *(["--variable"] if i % 4 == 0 else []))

    def shown(self, i):
        return os.fspath(self.mountpoint / f"f{i}")

    def expect_all_equal(self, *options, random_reads=60):
        expected = [read_sequentially(self.plain / f"f{i}", 1 << 20) for i in range(self.FRAMES)]
        with self.mount(*options), \
                concurrent.futures.ProcessPoolExecutor(
                    READERS, mp_context=multiprocessing.get_context("spawn")) as pool:
            # All read one frame, each with another step.
            same = [pool.submit(read_sequentially, self.shown(0), 1000 + 7919 * r)
                    for r in range(READERS)]
            self.assertEqual({job.result() for job in same}, {expected[0]})
            # Each reads another frame.
            many = [pool.submit(read_sequentially, self.shown(i), 65_536) for i in range(self.FRAMES)]
            self.assertEqual([job.result() for job in many], expected)
            # At random offsets.
            jobs = [pool.submit(compare_random_reads, self.shown(i), os.fspath(self.plain / f"f{i}"),
                                1000 * r + i, random_reads)
                    for r in range(READERS) for i in (0, r % self.FRAMES)]
            self.assertEqual([job.result() for job in jobs if job.result()], [])

    def test_eight_readers(self):
        self.expect_all_equal()

    def test_a_cache_smaller_than_the_data(self):
        self.expect_all_equal("--cache-size", "64K", random_reads=30)

    def test_one_thread(self):
        self.expect_all_equal("--threads", "1", random_reads=30)

    def test_more_threads_than_processors(self):
        with self.mount("--threads", str(4 * os.cpu_count())) as mount:
            for i in range(self.FRAMES):
                self.assertEqual(mount.path(f"f{i}").read_bytes(), (self.plain / f"f{i}").read_bytes())
            self.assertEqual(mount.stderr_path.read_text(), "")

    def test_threads_of_one_process(self):
        """Concurrent requests from threads that share one descriptor."""
        whole = (self.plain / "f1").read_bytes()
        with self.mount("--cache-size", "1M") as mount, \
                open(mount.path("f1"), "rb", buffering=0) as file, \
                concurrent.futures.ThreadPoolExecutor(READERS) as pool:
            rng = random.Random(5)
            places = [(rng.randrange(len(whole)), rng.randrange(1, 200_000)) for _ in range(200)]
            got = pool.map(lambda place: os.pread(file.fileno(), place[1], place[0]), places)
            for (offset, length), piece in zip(places, got):
                self.assert_same_bytes(piece, whole[offset:offset + length], f"{length} bytes at {offset}")


if __name__ == "__main__":
    unittest.main()
