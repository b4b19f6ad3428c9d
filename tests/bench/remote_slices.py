"""Slices of an array on a server, and one key of many: figures beside the least that they need."""

import concurrent.futures
import contextlib
import http.client
import mmap
import os
import pathlib
import sys
import threading
import time
import urllib.parse
from typing import NamedTuple

import numpy

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / name) for name in ("e2e", "support")]
from link_proxy import round_trips  # noqa: E402
from object_server import BUCKET, ObjectServer  # noqa: E402

# As many connections as framefs uses at first.
CONNECTIONS = 16
KEYS = 100_000
ITEM_BYTES, NPY_HEADER = 4, 128
STEP = 32  # items: each row of a block has a multiple of it


class Grid(NamedTuple):
    """How an array is divided."""
    shape: tuple
    chunk: tuple
    block: tuple

    def touched(self, begin, size):
        """The blocks of all pages of the NumPy file that hold a part of a box: for the number of
        each chunk, the set of the numbers of blocks in it."""
        ranges = [numpy.arange(b, b + n) for b, n in zip(begin, size)]
        places = numpy.ravel_multi_index(numpy.meshgrid(*ranges, indexing="ij"), self.shape)
        pages = numpy.unique((places * ITEM_BYTES + NPY_HEADER) // mmap.PAGESIZE)
        elements = ((pages[:, None] * mmap.PAGESIZE - NPY_HEADER) // ITEM_BYTES
                    + numpy.arange(0, mmap.PAGESIZE // ITEM_BYTES, STEP))
        elements = elements[(elements >= 0) & (elements < numpy.prod(self.shape))]
        at = numpy.unravel_index(elements, self.shape)
        chunks = numpy.ravel_multi_index([a // c for a, c in zip(at, self.chunk)],
                                         [-(-s // c) for s, c in zip(self.shape, self.chunk)])
        blocks = numpy.ravel_multi_index([a % c // b for a, c, b in zip(at, self.chunk, self.block)],
                                         [c // b for c, b in zip(self.chunk, self.block)])
        found = {}
        for chunk, block in numpy.unique(numpy.stack([chunks, blocks]), axis=1).T.tolist():
            found.setdefault(chunk, set()).add(block)
        return found


def needed_ranges(chunks, touched):
    """The tables, and then the blocks, as pairs of an offset and a size.  `chunks` has for each
    chunk its offset, the size of its header and table, and the places of its blocks in it."""
    tables, blocks = [], []
    for number, some in sorted(touched.items()):
        offset, table, places = chunks[number]
        tables.append((offset, table))
        for start, size in sorted(places[block] for block in some):
            if blocks and sum(blocks[-1]) == offset + start:
                blocks[-1] = (blocks[-1][0], blocks[-1][1] + size)
            else:
                blocks.append((offset + start, size))
    return tables, blocks


class Client:
    """Fetches ranges of one object, and does nothing else."""

    def __init__(self, url):
        self._url = urllib.parse.urlsplit(url)
        self._of_thread = threading.local()

    def _fetch(self, place):
        if not hasattr(self._of_thread, "link"):
            self._of_thread.link = http.client.HTTPConnection(self._url.hostname, self._url.port)
        offset, size = place
        self._of_thread.link.request("GET", self._url.path, headers={"Range": f"bytes={offset}-{offset + size - 1}"})
        body = self._of_thread.link.getresponse().read()
        if len(body) != size:
            raise ValueError(f"{len(body)} bytes instead of {size}")

    def seconds(self, steps):
        """The time for lists of ranges; a list waits for the one before."""
        begin = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
            for ranges in steps:
                list(pool.map(self._fetch, ranges))
        return time.perf_counter() - begin


def slice_beside_client(url, chunks, grid, begin, size):
    """The bytes that the slice needs, and the time of a client that fetches only those."""
    steps = needed_ranges(chunks, grid.touched(begin, size))
    needed = sum(size for ranges in steps for _, size in ranges)
    return {"needed_mb": round(needed / 1e6, 2), "client_ms": round(1000 * Client(url).seconds(steps), 1)}


@contextlib.contextmanager
def many_keys(frame):
    """A server with KEYS keys in one folder, all of them the same frame."""
    with ObjectServer({f"{number:06}.b2frame": frame for number in range(KEYS)}, check_signatures=False) as server:
        yield server


def one_key(server, mount):
    """The requests of a first stat and of a first read in the folder."""
    rows = []
    name = mount.mountpoint / f"{KEYS // 2:06}"
    with mount.mounted():
        for what, body in (("stat", lambda: os.stat(name)), ("read", name.read_bytes)):
            server.ended_requests()
            server.clear_ledger()
            body()
            requests = server.ended_requests()
            rows.append({"what": what, "requests": len(requests), "round_trips": round_trips(requests),
                         "kb": round(sum(r.sent for r in requests) / 1e3, 1)})
    return rows


def bucket_url():
    return f"s3://{BUCKET}"
