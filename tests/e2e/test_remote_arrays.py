"""Slices of remote arrays: the bytes that they fetch, and those of the blocks that they need."""

import contextlib
import mmap
import os
import struct
import subprocess
import sys
import unittest

import numpy

import daemon
from remote_case import RemoteCase

sys.path.insert(0, str(daemon.ROOT / "tests/support"))
import link_proxy  # noqa: E402

PAGE = mmap.PAGESIZE
NPY_HEADER = 128
SHAPE, CHUNK, BLOCK = (64, 512, 512), (64, 128, 128), (16, 32, 64)
# The sizes of the five kinds of slices that the benchmark of local arrays has, and their number.
SLICES = {"cube": ((64, 64, 64), 2), "corner": ((64, 64, 4), 2), "row": ((1, 1, 512), 48),
          "plane": ((1, 512, 512), 2), "plane across the rows": ((64, 512, 1), 1)}


class StoredArray:
    """Where the blocks of a contiguous frame are stored, all of whose chunks are in order."""

    def __init__(self, frame):
        self.chunks = []
        at = struct.unpack(">i", frame[11:15])[0]
        grid = [size // chunk for size, chunk in zip(SHAPE, CHUNK)]
        count = numpy.prod([chunk // block for chunk, block in zip(CHUNK, BLOCK)])
        for _ in range(numpy.prod(grid)):
            size = struct.unpack_from("<i", frame, at + 12)[0]
            starts = numpy.frombuffer(frame, "<i4", count, at + 32)
            ends = numpy.append(numpy.sort(starts), size)
            sizes = ends[numpy.searchsorted(ends, starts) + 1] - starts
            self.chunks.append((32 + 4 * int(count), sizes))
            at += size

    def needed(self, begins, size):
        """The bytes of tables and blocks of all pages of the NumPy file that slices touch."""
        places = [numpy.ravel_multi_index(
            numpy.meshgrid(*(numpy.arange(b, b + n) for b, n in zip(begin, size)), indexing="ij"), SHAPE)
            for begin in begins]
        pages = numpy.unique((numpy.stack(places) * 4 + NPY_HEADER) // PAGE)
        # One element for each row of a block: they begin at multiples of the header's size.
        elements = (pages[:, None] * PAGE - NPY_HEADER) // 4 + numpy.arange(0, PAGE // 4, NPY_HEADER // 4)
        elements = elements[(elements >= 0) & (elements < numpy.prod(SHAPE))]
        at = numpy.unravel_index(elements, SHAPE)
        chunks = numpy.ravel_multi_index([a // c for a, c in zip(at, CHUNK)],
                                         [s // c for s, c in zip(SHAPE, CHUNK)])
        blocks = numpy.ravel_multi_index([a % c // b for a, c, b in zip(at, CHUNK, BLOCK)],
                                         [c // b for c, b in zip(CHUNK, BLOCK)])
        touched = numpy.unique(numpy.stack([chunks, blocks]), axis=1).T
        return (sum(int(self.chunks[chunk][1][block]) for chunk, block in touched)
                + sum(self.chunks[chunk][0] for chunk in numpy.unique(touched[:, 0])))


def fetched_bytes(requests):
    """The bytes of the answers, but for second requests beside one that seems to have stalled: on a
    busy machine, there are some."""
    first = {}
    for request in sorted(requests, key=lambda r: r.begin):
        other = first.get(request.range)
        if other is None or other.end <= request.begin:
            first[request.range] = request
            yield request.sent


class RemoteArrays(RemoteCase):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(7)
        smooth = sum(numpy.sin(numpy.arange(n) / 40).reshape([-1 if i == axis else 1 for i in range(3)])
                     for axis, n in enumerate(SHAPE))
        self.array = (smooth * 12 + rng.standard_normal(SHAPE) * 0.02).astype("<f4")
        self.make_frame(self.array.tobytes(), self.source / "cube.b2nd", "--codec", "lz4", "--typesize", "4",
                        "--filter", "shuffle", "--split", "--dtype", "<f4",
                        *(word for option, dims in (("--shape", SHAPE), ("--chunkshape", CHUNK), ("--blockshape", BLOCK))
                          for word in (option, ",".join(map(str, dims)))))
        self.server = self.serve_source()
        frame = self.server.objects["cube.b2nd"].content
        self.stored_bytes = len(frame)
        self.stored = StoredArray(frame)

    @contextlib.contextmanager
    def opened(self):
        """A mount whose array has been opened once, so that its header and index are known."""
        with self.mount_s3(self.server, "--attr-timeout", "600") as mount:
            with open(mount.path("cube.npy"), "rb"):
                pass
            self.server.ended_requests()
            self.server.clear_ledger()
            yield mount

    def test_a_point_takes_two_round_trips(self):
        element = numpy.ravel_multi_index((31, 200, 300), SHAPE)
        # So that requests which are sent together are seen together.
        self.server.latency = 0.1
        for advice in (os.POSIX_FADV_NORMAL, os.POSIX_FADV_RANDOM):
            with self.subTest(advice), self.opened() as mount:
                fd = os.open(mount.path("cube.npy"), os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, advice)
                self.server.clear_ledger()
                got = os.pread(fd, 256, NPY_HEADER + 4 * element)
                self.assertEqual(got, self.array.reshape(-1)[element:element + 64].tobytes())
                os.close(fd)
                requests = self.server.ended_requests()
                self.assertLessEqual(link_proxy.round_trips(requests), 2, requests)
                needed = self.stored.needed([(31, 200, 300)], (1, 1, 64))
                self.assertLessEqual(sum(fetched_bytes(requests)), 2.5 * needed, requests)

    def test_slices_fetch_what_they_need(self):
        rng = numpy.random.default_rng(11)
        for name, (size, count) in SLICES.items():
            begins = [[int(rng.integers(0, whole - part + 1)) for whole, part in zip(SHAPE, size)]
                      for _ in range(count)]
            with self.subTest(name, begins=begins), self.opened() as mount:
                # The header is read before, because its page has blocks of its own.
                array = numpy.load(mount.path("cube.npy"), mmap_mode="r")
                self.server.ended_requests()
                self.server.clear_ledger()
                for begin in begins:
                    box = tuple(slice(b, b + n) for b, n in zip(begin, size))
                    self.assertTrue(numpy.array_equal(array[box], self.array[box]))
                del array
                requests = self.server.ended_requests()
                needed = self.stored.needed(begins, size)
                self.assertLessEqual(sum(fetched_bytes(requests)), 1.5 * needed, (needed, requests))

    def test_a_scan_of_a_mapping_fetches_ahead_of_itself(self):
        """The kernel requests 16 KiB at a time: a quarter of a row of blocks in a plane."""
        self.server.latency = 0.05
        with self.opened() as mount:
            array = numpy.load(mount.path("cube.npy"), mmap_mode="r")
            self.assertTrue(numpy.array_equal(array, self.array))
            del array
            requests = self.server.ended_requests()
            rows = SHAPE[0] // BLOCK[0] * SHAPE[1] // BLOCK[1]
            self.assertLess(link_proxy.round_trips(requests), rows // 4, requests)
            self.assertLessEqual(sum(fetched_bytes(requests)), 1.01 * self.stored_bytes, requests)

    def test_the_header_alone_fetches_few_blocks(self):
        """The blocks of the first rows: NumPy reads the header through a small buffer."""
        with self.opened() as mount:
            numpy.load(mount.path("cube.npy"), mmap_mode="r")
            requests = self.server.ended_requests()
            needed = self.stored.needed([(0, 0, 0)], (1, *BLOCK[1:2], SHAPE[2]))
            self.assertLessEqual(sum(fetched_bytes(requests)), 1.5 * needed, (needed, requests))

    def test_a_sequential_reader_fetches_all_once(self):
        for name, command in {"cat": ["cat"], "a buffer of a page": ["dd", "bs=4096", "status=none"]}.items():
            with self.subTest(name), self.opened() as mount, open(mount.path("cube.npy"), "rb") as file:
                self.server.clear_ledger()
                whole = subprocess.run(command, stdin=file, capture_output=True, check=True).stdout
                self.assertEqual(whole[NPY_HEADER:], self.array.tobytes())
                requests = self.server.ended_requests()
                self.assertLessEqual(sum(fetched_bytes(requests)), 1.01 * self.stored_bytes, requests)
                # Not one for each read of a reader that waits for it.
                self.assertLess(len(requests), self.array.nbytes / (128 << 10), requests)

    def test_the_read_ahead_of_the_kernel_is_small_and_fixed(self):
        with self.opened() as mount:
            self.assertEqual(mount.read_ahead_control().read_text().strip(), "16")
            subprocess.run(["cat", mount.path("cube.npy")], stdout=subprocess.DEVNULL, check=True)
            with open(mount.path("cube.npy"), "rb"):
                self.assertEqual(mount.read_ahead_control().read_text().strip(), "16")


if __name__ == "__main__":
    unittest.main()
