"""Slices of an array on a server, beside the least that they need, and beside other mounts."""

import concurrent.futures
import http.client
import mmap
import pathlib
import random
import statistics
import sys
import threading
import time
import urllib.parse
from typing import NamedTuple

import numpy

from data import make, run
from remote_layout import Layout

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from link_proxy import round_trips  # noqa: E402

ARRAY, ARRAY_CHUNK, ARRAY_BLOCK = (64, 512, 512), (64, 128, 128), (16, 32, 64)
# One slice of each kind that the benchmark of local arrays has.
SLICES = {"cube": (64, 64, 64), "corner": (64, 64, 4), "row": (1, 1, 512), "plane": (1, 512, 512),
          "plane across the rows": (64, 512, 1)}
# As many connections as framefs uses at first.
CONNECTIONS = 16
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
    """The tables, and then the blocks, as pairs of an offset and a size."""
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


def make_array(all_data):
    """The first part of the floats as an array.  Returns the path of its frame."""
    folder = all_data.folder / "array"
    folder.mkdir(exist_ok=True)
    make(folder / "plain", lambda path: path.write_bytes(
        (all_data.plain / "float").open("rb").read(4 * int(numpy.prod(ARRAY)))))
    make(folder / "cube.b2nd", lambda path: run(
        all_data.make_frame, "--codec", "lz4", "--typesize", 4, "--filter", "shuffle", "--split", "--dtype", "<f4",
        *(word for option, dims in (("--shape", ARRAY), ("--chunkshape", ARRAY_CHUNK), ("--blockshape", ARRAY_BLOCK))
          for word in (option, ",".join(map(str, dims)))), folder / "plain", path))
    return folder / "cube.b2nd"


def take(proxy, contestant, begin, size):
    """The figures of one slice through a new mount.  The open of the file and the read of its
    header are timed apart, but their requests and bytes count."""
    with contestant.counted(proxy) as ledger:
        times = [time.perf_counter()]
        array = numpy.load(contestant.mountpoint / "cube.npy", mmap_mode="r")
        times.append(time.perf_counter())
        numpy.array(array[tuple(slice(b, b + n) for b, n in zip(begin, size))])
        times.append(time.perf_counter())
        del array
    open_ms, ms = (1000 * float(step) for step in numpy.diff(times))
    return {"open_ms": open_ms, "ms": ms, "both_ms": open_ms + ms, "requests": len(ledger),
            "round_trips": round_trips(ledger), "mb": sum(r.bytes for r in ledger) / 1e6}


def measure(bench, runs):
    """Slices of each kind, each through new mounts of all contestants, and the medians of their
    figures."""
    path = make_array(bench.all_data)
    chunks = Layout.of(bench.programs["framefs"], path).chunks
    url = f"{bench.url(path.parent)}/{path.name}"
    contestants = bench.contestants(path.parent)
    order = random.Random(7)
    rows = []
    for name, size in SLICES.items():
        taken = {contestant.name: [] for contestant in contestants}
        for _ in range(runs):
            begin = [order.randrange(whole - part + 1) for whole, part in zip(ARRAY, size)]
            least = slice_beside_client(url, chunks, Grid(ARRAY, ARRAY_CHUNK, ARRAY_BLOCK), begin, size)
            for contestant in contestants:
                row = take(bench.proxy, contestant, begin, size) | least
                taken[contestant.name].append(row | {"times": row["ms"] / row["client_ms"],
                                                     "bytes": row["mb"] / row["needed_mb"]})
        rows += [{"what": name, "who": who, "most_bytes": round(max(row["bytes"] for row in of_who), 2),
                  **{field: round(statistics.median(row[field] for row in of_who), 2) for field in of_who[0]}}
                 for who, of_who in taken.items()]
    return rows


def as_text(rows):
    return [f"{'slice of an array':24}{'':32}{'open ms':>9}{'ms':>9}{'both ms':>9}{'client ms':>11}{'times':>7}"
            f"{'requests':>10}{'round trips':>13}{'MB':>8}{'needed MB':>11}{'bytes':>9}{'most':>9}",
            *(f"{row['what']:24}{row['who']:32}{row['open_ms']:>9.1f}{row['ms']:>9.1f}{row['both_ms']:>9.1f}"
              f"{row['client_ms']:>11.1f}{row['times']:>7.2f}{row['requests']:>10.0f}{row['round_trips']:>13.0f}"
              f"{row['mb']:>8.2f}{row['needed_mb']:>11.2f}{row['bytes']:>9.2f}{row['most_bytes']:>9.2f}"
              for row in rows)]
