"""The test data, its frames and images, and lists of offsets to read at."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
from typing import NamedTuple

import numpy

MIB = 1 << 20
CHUNK = 4 * MIB
PEER_BLOCK = 128 << 10  # of the squashfs and EROFS images; also a block size of frames
LEVEL = 5
CODECS = ("lz4", "zstd", "blosclz", "zlib")
FILTERS = ("none", "shuffle", "bitshuffle", "delta", "bytedelta")
WIDE = "float-lz4-wide"  # an array
SMALL_CONTENT = b"a line of text\n" * 40  # of each of many small files
QUARTERS = 4  # `float`, divided into this many files, for several readers
RANDOM_READS = 2000


class Kind(NamedTuple):
    typesize: int
    filter: str


KINDS = {"float": Kind(4, "shuffle"), "time": Kind(8, "shuffle"), "text": Kind(1, "none")}


def automatic_block(codec, kind):
    """The reference library's choice at level 5.  Source: chunk format, "Encoding"."""
    if splits(codec, kind):
        return (64 << 10) * kind.typesize
    return (128 << 10) * (2 if codec in ("zlib", "zstd") else 1)


def splits(codec, kind):
    return kind.filter != "none" and codec != "zlib"


class Frame(NamedTuple):
    """A frame of one kind of data.  `part` is None for all of the data, or the number of a
    quarter."""
    data: str
    codec: str
    block: int
    part: int | None = None
    chunk: int = CHUNK

    @property
    def plain(self):
        return self.data if self.part is None else f"{self.data}.{self.part}"

    @property
    def name(self):
        return f"{self.plain}-{self.codec}-{size_text(self.block)}" + ("" if self.chunk == CHUNK else "-chunks")


def all_frames():
    """Every kind with every codec, with the automatic block size and with the peers' block size."""
    frames = []
    for data, kind in KINDS.items():
        for codec in CODECS:
            for block in sorted({PEER_BLOCK, automatic_block(codec, kind)}):
                frames.append(Frame(data, codec, block))
    return frames


def size_text(size):
    return f"{size >> 10}K" if size >= 1 << 10 else f"{size}"


def small_chunks():
    """Frames in which the work per chunk outweighs the decoding."""
    return [Frame("float", "lz4", size, chunk=size) for size in (512, 4096)]


def quarters(data, codec):
    return [Frame(data, codec, PEER_BLOCK, part) for part in range(QUARTERS)]


class Data:
    """A folder with all data.  Existing files are not created again."""

    def __init__(self, folder, mib, make_frame):
        self.folder = pathlib.Path(folder)
        self.mib = mib
        self.plain = self.folder / f"plain-{mib}"
        self.frames = self.folder / f"frames-{mib}"
        self.filters = self.folder / f"filters-{mib}"
        self.make_frame = make_frame

    # ------------------------------------------------------------------------------- plain files

    def make_plain(self):
        self.plain.mkdir(parents=True, exist_ok=True)
        for name, write in (("float", write_field), ("time", write_times), ("text", write_log)):
            make(self.plain / name, lambda path, write=write: write(path, self.mib))
        make(self.plain / f"float.{QUARTERS - 1}", lambda path: self._cut(path))

    def _cut(self, last):
        size = self.mib * MIB // QUARTERS
        with open(self.plain / "float", "rb") as whole:
            for part in range(QUARTERS):
                path = last if part == QUARTERS - 1 else self.plain / f"float.{part}"
                path.write_bytes(whole.read(size))

    # ------------------------------------------------------------------------------------ frames

    def frame_path(self, frame):
        return self.frames / f"{frame.name}.b2frame"

    def filter_path(self, codec, name):
        return self.filters / f"{codec}-{name}.b2frame"

    def make_frames(self, more):
        """Creates all frames and those in `more`, one per processor at a time."""
        self.filters.mkdir(exist_ok=True)
        jobs = [(self.plain / "float.0", self.filter_path(codec, name), codec, name, 4, PEER_BLOCK, CHUNK)
                for codec in CODECS for name in FILTERS]
        self.make_only([*all_frames(), *more], jobs)

    def make_only(self, frames, jobs=()):
        """Creates these frames, and those of other jobs."""
        self.frames.mkdir(exist_ok=True)
        jobs = [(self.plain / f.plain, self.frame_path(f), f.codec, KINDS[f.data].filter,
                 KINDS[f.data].typesize, f.block, f.chunk) for f in frames] + list(jobs)
        self._pack_all(jobs)

    def pack(self, files, data, codec, block, chunk=CHUNK):
        """Creates frames of one kind of data.  `files` are (plain file, frame)."""
        kind = KINDS[data]
        self._pack_all([(plain, to, codec, kind.filter, kind.typesize, block, chunk) for plain, to in files])

    def _pack_all(self, jobs):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda job: make(job[1], lambda path: self._pack(path, *job)), jobs))

    def _pack(self, path, plain, _, codec, filter_name, typesize, block, chunk):
        split = ["--split"] if splits(codec, Kind(typesize, filter_name)) else []
        run(self.make_frame, "--codec", codec, "--level", LEVEL, "--typesize", typesize, "--chunk", chunk,
            "--block", block, "--filter", filter_name, *split, plain, path)

    def wide_path(self):
        return self.frames / f"{WIDE}.b2nd"

    def make_wide(self):
        """Creates an array whose rows of 1 MiB cross 512 blocks, 64 MiB of decoded bytes."""
        rows = min(self.mib, 64)
        make(self.wide_path(), lambda path: run(
            self.make_frame, "--codec", "lz4", "--typesize", 4, "--filter", "shuffle", "--split", "--dtype", "<f4",
            "--shape", f"{self.mib},{MIB // 4}", "--chunkshape", f"{rows},16384", "--blockshape", f"{rows},512",
            self.plain / "float", path))

    def make_virtual(self, gib):
        """Creates a folder with a frame that decodes to `gib` GiB and stores none of its bytes."""
        folder = self.folder / f"virtual-{gib}"
        folder.mkdir(exist_ok=True)
        make(folder / "rules.b2frame", lambda path: run(self.make_frame, "--chunk", "4M", "--block", "128K",
                                                        "--typesize", 4, "--rules", f"{gib}G", path))
        return folder

    def make_many(self, count):
        """Creates a folder of `count` small frames."""
        folder = self.folder / f"many-{count}"
        if not (folder / f"small-{count - 1:06d}.txt.b2frame").exists():
            folder.mkdir(exist_ok=True)
            seed = self.folder / "seed.txt"
            seed.write_bytes(SMALL_CONTENT)
            run(self.make_frame, "--codec", "lz4", "--block", "4K", "--chunk", "4K", seed, self.folder / "seed.b2frame")
            content = (self.folder / "seed.b2frame").read_bytes()
            for i in range(count):
                (folder / f"small-{i:06d}.txt.b2frame").write_bytes(content)
        return folder

    # --------------------------------------------------------------------------- places to read at

    def offsets(self, pattern, piece, count=None, mib=None):
        """A file of offsets for reads of `piece` bytes; it is the same in every run."""
        size = (mib or self.mib) * MIB
        count = count or {"hot": 4 * RANDOM_READS, "zipf": 4 * RANDOM_READS,
                          "dense": 3 * size // PEER_BLOCK}.get(pattern, RANDOM_READS)
        path = self.folder / f"offsets-{pattern}-{piece}-{size // MIB}-{count}"
        rng = numpy.random.default_rng(7)
        if pattern in ("uniform", "dense"):  # dense: by default each block three times on average
            places = rng.integers(0, (size - piece) // 4096, count) * 4096
        elif pattern == "hot":  # 100 ranges of 64 KiB, read repeatedly
            starts = rng.integers(0, (size - 65536) // 4096, 100)
            places = (rng.choice(starts, count) + rng.integers(0, 16, count)) * 4096
        elif pattern == "zipf":  # few blocks often, most blocks once or never
            ranks = rng.permutation(size // PEER_BLOCK)
            weights = 1 / numpy.arange(1, len(ranks) + 1)
            blocks = rng.choice(ranks, count, p=weights / weights.sum())
            places = blocks * PEER_BLOCK + rng.integers(0, (PEER_BLOCK - piece) // 4096 + 1, len(blocks)) * 4096
        else:  # each in a different block, and within it
            blocks = rng.permutation(size // PEER_BLOCK)[:count]
            places = blocks * PEER_BLOCK + rng.integers(0, (PEER_BLOCK - piece) // 4096 + 1, len(blocks)) * 4096
        path.write_bytes(places.astype("<i8").tobytes())
        return path


# -------------------------------------------------------------------------------- the plain data

def write_field(path, mib):
    """Temperatures on a grid: smooth in both directions, with noise, in a sensor's resolution."""
    rng = numpy.random.default_rng(1)
    x = numpy.linspace(0, 12 * numpy.pi, 4096, dtype=numpy.float32)
    with open(path, "wb") as file:
        for first in range(0, mib * MIB // 4 // 4096, 64):  # rows
            y = (numpy.arange(first, first + 64, dtype=numpy.float32) / 700)[:, None]
            field = 285 + 12 * numpy.sin(x + y) * numpy.cos(3 * y) + 4 * numpy.sin(5 * x - 2 * y)
            field += rng.standard_normal(field.shape, dtype=numpy.float32) * 0.02
            file.write((numpy.round(field * 1024) / 1024).astype("<f4").tobytes())


def write_times(path, mib):
    """Microseconds since 1970 of samples about a millisecond apart, some of them late."""
    rng = numpy.random.default_rng(2)
    last = 1_700_000_000_000_000
    with open(path, "wb") as file:
        for _ in range(mib):
            steps = 1000 + rng.integers(-3, 4, MIB // 8) + rng.choice([0, 0, 0, 0, 250], MIB // 8)
            times = last + numpy.cumsum(steps)
            last = int(times[-1])
            file.write(times.astype("<i8").tobytes())


def write_log(path, mib):
    """A server's log.  It repeats after 16 MiB, farther than any of the codecs looks back."""
    rng = numpy.random.default_rng(3)
    levels = ["INFO"] * 8 + ["WARN", "ERROR"]
    verbs = ["GET", "GET", "GET", "POST", "PUT"]
    pages = [f"/api/v2/{word}/{part}" for word in ("users", "orders", "items", "search", "session")
             for part in ("list", "detail", "update", "export")]
    rows = []
    second = 0
    count = 16 * MIB // 80  # no line is shorter
    picks = (rng.integers(most, size=count).tolist() for most in (10, 5, 20, 256, 100_000, 900, 6, 64))
    for level, verb, page, a, b, c, status, host in zip(*picks):
        second += a % 3
        rows.append(f"2024-05-{1 + second // 86400 % 28:02d}T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:"
                    f"{second % 60:02d}.{c:03d} {levels[level]:5s} web-{host:02d} 10.1.{host}.{a} "
                    f"\"{verbs[verb]} {pages[page]}?id={b}\" {(200, 200, 200, 304, 404, 500)[status]} {c * 7} ms\n")
    piece = "".join(rows).encode()[:16 * MIB]
    with open(path, "wb") as file:
        for left in range(mib, 0, -16):
            file.write(piece[:left * MIB])


# --------------------------------------------------------------------------------------- helpers

def make(path, write):
    """Writes a file under a temporary name first, so that an existing file is always complete."""
    if path.exists():
        return
    partial = path.with_name(path.name + ".partial")
    write(partial)
    os.replace(partial, path)


def run(*command):
    subprocess.run([os.fspath(part) if isinstance(part, os.PathLike) else str(part) for part in command],
                   check=True, stdout=subprocess.DEVNULL)


def have(*programs):
    return all(shutil.which(program) for program in programs)
