"""The rows of scripts/bench --peers about reading."""

import pathlib
import sys

import numpy

import data
import disciplines as d
from data import MIB
from peer_mounts import LONG, PARTS, SQUASHFS, part_names
from peer_rows import MOUNT, Job

SEQUENTIAL = "sequential, 1 MiB"
UNIFORM = "random 4 KiB, uniform"
MAPPED_BYTES = "mapped, 50 bytes at random"
CUBES = "cubes of 64"
SMALL_READS = "open, read, close each small file, warm"

READERS = (2, 8, 64)
RANDOM_READS = 6000
TIMED_S = 2.5
MAPPED_TOUCHES = 50
KINDS = (("float", "lz4"), ("float", "zstd"), ("text", "zstd"))
PYTHON = pathlib.Path(sys.executable)
WORKLOADS = pathlib.Path(__file__).with_name("workloads.py")


def slices(name):
    return f"mapped, slices of an array: {name}"


def plural(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def one_file(readers):
    return f"{readers} readers of one file"


def many_files(readers):
    return f"{readers} readers of {PARTS} files"


class Reading:
    """Adds rows to a Plan.  `portion` multiplies the numbers of calls.  `reference` runs the
    reference library's program, or is None."""

    def __init__(self, plan, library, programs, portion, reference):
        self.plan = plan
        self.library = library
        self.data = library.data
        self.reader = programs["reader"]
        self.portion = portion
        self.reference = reference

    def add_all(self):
        self._add_sequential()
        self._add_random()
        self._add_random_for_seconds()
        self._add_several_readers()
        self._add_mapped()
        self._add_slices()
        self._add_hard_layouts()
        self._add_listings()

    def _count(self, number):
        return max(int(number * self.portion), 1)

    def _add_for_each_kind(self, what, counted, arguments):
        """A row with each of KINDS.  None in `arguments` stands for the file."""
        def job(kind):
            return Job([self.reader, *(f"{MOUNT}/{kind}" if argument is None else argument for argument in arguments)])

        for kind, codec in KINDS:
            self.plan.add(what, counted, kind, job(kind), [self.library.framefs(codec), *self.library.peers(codec)])
        self.plan.add(what, counted, "", job("float"), self.library.plain_peers())

    # -------------------------------------------------------------------------------------- rows

    def _add_sequential(self):
        self._add_for_each_kind(SEQUENTIAL, None, ["sequential", MIB, 1, None])

    def _add_random(self):
        count = self._count(RANDOM_READS)
        for what, pattern, threads in ((UNIFORM, "uniform", 1), (f"{UNIFORM}, 4 threads", "uniform", 4),
                                       ("random 4 KiB, zipfian", "zipf", 1),
                                       ("random 4 KiB, each in another block", "blocks", 1)):
            places = self.data.offsets(pattern, 4096, count)
            self._add_for_each_kind(what, "read", ["offsets", 4096, places, None, threads])

    def _add_random_for_seconds(self):
        mib = LONG * self.data.mib
        places = self.data.offsets("uniform", 4096, self._count(400_000), mib)
        for threads in (1, 8):
            job = Job([self.reader, "offsets", 4096, places, f"{MOUNT}/float", threads, TIMED_S])
            self.plan.add(f"random 4 KiB of a long file for {TIMED_S} s, {plural(threads, 'thread')}", "read", "float", job,
                          self.library.long())

    def _add_several_readers(self):
        lib = self.library
        peers = [lib.framefs("lz4"), lib.squashfs("lz4"), lib.erofs(), lib.btrfs("lz4"), lib.ext4()]
        quarter = lib.null(1 / data.QUARTERS)
        two = [f"{MOUNT}/float.{i}" for i in range(2)]
        self.plan.add("2 readers of 2 files", None, "float", Job([self.reader, "sequential", MIB, 2, *two]),
                      [*peers, quarter])
        for readers in READERS:
            self.plan.add(one_file(readers), None, "float", Job([self.reader, "sequential", MIB, readers, two[0]]),
                          [*peers, quarter])
        parts = [f"{MOUNT}/{name}" for name in part_names()]
        # The null server has no directory of long files.
        for readers in READERS:
            self.plan.add(many_files(readers), None, "float", Job([self.reader, "sequential", MIB, readers, *parts]),
                          peers)

    def _add_mapped(self):
        places = self.data.offsets("uniform", 1, MAPPED_TOUCHES)
        self._add_for_each_kind(MAPPED_BYTES, "byte", ["touch", places, None])

    def _add_slices(self):
        lib = self.library
        shape = lib.cube_shape()
        edge = min(64, shape[0])
        for name, box, count in ((CUBES, (edge, 64, 64), 20), ("corners of 64 x 64 x 4", (edge, 64, 4), 40),
                                 ("rows", (1, 1, 512), 200), ("planes", (1, 512, 512), 20),
                                 ("planes across the rows", (edge, 512, 1), 20)):
            listed = self._boxes(name, shape, box, self._count(count))
            job = Job([PYTHON, WORKLOADS, "boxes", listed, f"{MOUNT}/cube.npy"])
            what = slices(name)
            self.plan.add(what, "slice", "float", job,
                          [lib.framefs("lz4"), lib.squashfs("lz4"), lib.erofs(), lib.btrfs("lz4"), lib.ext4()])
            if self.reference:
                self.plan.add(what, "slice", "float", Job([*self.reference, "boxes", listed, f"{MOUNT}/cube.b2nd"]),
                              [lib.frames_themselves("lz4", d.REFERENCE)])

    def _boxes(self, name, shape, box, count):
        """A file of starts and ends."""
        rng = numpy.random.default_rng(13)
        begins = numpy.stack([rng.integers(0, whole - part + 1, count) for whole, part in zip(shape, box)], axis=1)
        path = self.data.folder / f"boxes-{name.replace(' ', '-')}-{shape[0]}-{count}"
        path.write_bytes(numpy.stack([begins, begins + numpy.array(box)], axis=1).astype("<i8").tobytes())
        return path

    def _add_hard_layouts(self):
        lib = self.library
        whole = [self.reader, "sequential", MIB, 1]
        for size in (512, 4096):
            self.plan.add(f"sequential, chunks of {data.size_text(size)}", None, "float",
                          Job([*whole, f"{MOUNT}/float"]),
                          [lib.small_chunks(size), lib.squashfs("lz4", block=4096, who=f"{SQUASHFS} -b 4K"), lib.null()])
        self.plan.add("sequential, a band of an array above the cache of 32 MiB", None, "float",
                      Job([*whole, f"{MOUNT}/cube.npy"]),
                      [lib.wide(), lib.squashfs("lz4"), lib.erofs(), lib.null()])

    def _add_listings(self):
        files = self.library.files
        many = self.library.many()
        self.plan.add("list names: ls -f, cold", "name", "", Job(["ls", "-f", MOUNT], files), many)
        self.plan.add("list names: ls -f, warm", "name", "", Job(["ls", "-f", MOUNT], files, is_warm=True), many)
        self.plan.add("list attributes: ls -lR, warm", "name", "", Job(["ls", "-lR", MOUNT], files, is_warm=True), many)
        self.plan.add("list sizes: find -size, warm", "name", "",
                      Job(["find", MOUNT, "-size", "+1M"], files, is_warm=True), many)
        self.plan.add("open, read, close each small file, cold", "file", "", Job([self.reader, "each", MOUNT]), many)
        self.plan.add(SMALL_READS, "file", "", Job([self.reader, "each", MOUNT], is_warm=True),
                      many)
