"""The part of the interoperation test that writes through a mount; scripts/interop runs it.

    mounted.py edit FOLDER FRAMEFS SEED     changes all frames and arrays in FOLDER through a mount,
                                            creates new ones of every kind, and writes the final
                                            content of each, as the mount shows it, to NAME.plain
    mounted.py check FOLDER FRAMEFS         checks that a mount shows every frame as its NAME.plain

The other side is library_side.c.  It requires that names of arrays end in "a", and that the
vl-metalayer "head" repeats the first 1000 bytes.
"""

import collections
import contextlib
import ctypes
import errno
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
os.environ["FRAMEFS"] = sys.argv[3]

import daemon  # noqa: E402  (the environment tells it which program it is to run)

CODECS = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
FILTERS = ("none", "shuffle", "bitshuffle", "bytedelta")
TYPESIZES = (1, 2, 4, 8, 3, 16, 17)
MOST_BYTES = 400_000
HEAD = "user.framefs.vlmeta.head"
HEAD_BYTES = 1000
PUNCH_HOLE, KEEP_SIZE, ZERO_RANGE = 2, 1, 16
LIBC = ctypes.CDLL(None, use_errno=True)


def new_files(rng):
    """Names and their rules: every codec with every filter."""
    rules = {}
    for number, (codec, filter_name) in enumerate((c, f) for c in CODECS for f in FILTERS):
        typesize = 1 if filter_name == "none" else rng.choice(TYPESIZES)
        chunksize = rng.choice((1, 7, 100)) * 160 * typesize
        rules[f"new{number}w"] = f"codec={codec},filter={filter_name},typesize={typesize}," \
                                 f"chunksize={chunksize},clevel={rng.choice((1, 3, 5, 6))}"
    return rules


def content(rng, size):
    """Content between noise and zeros, so that all kinds of chunks occur."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        return bytes(size)
    if kind == 2:
        return bytes([rng.randrange(256)]) * size
    piece = rng.randbytes(rng.randrange(1, 40))
    return (piece * (size // len(piece) + 1))[:size]


class Edited:
    """A file of the mount, and its expected content."""

    def __init__(self, path, plain, rng, resizable=True):
        self.path = path
        self.plain = bytearray(plain)
        self.rng = rng
        self.resizable = resizable
        self.counts = collections.Counter()

    def change(self, rounds):
        kinds = [self.overwrite, self.overwrite_little, self.punch]
        if self.resizable:
            kinds += [self.append, self.truncate, self.extend, self.zero_range]
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT)
        try:
            for _ in range(rounds):
                kind = self.rng.choice(kinds)
                kind(fd)
                self.counts[kind.__name__] += 1
                if self.rng.randrange(3) == 0:
                    os.fsync(fd)
            if self.resizable:
                self.annotate(fd)
        finally:
            os.close(fd)

    def put(self, fd, at, piece):
        if at > len(self.plain):
            self.plain += bytes(at - len(self.plain))
        self.plain[at:at + len(piece)] = piece
        if os.pwrite(fd, piece, at) != len(piece):
            raise RuntimeError(f"{self.path}: a short write")

    def place(self, most):
        at = self.rng.randrange(len(self.plain) + 1)
        return at, min(self.rng.randrange(most), len(self.plain) - at)

    def overwrite(self, fd):
        at, size = self.place(100_000)
        self.put(fd, at, content(self.rng, size))

    def overwrite_little(self, fd):
        for _ in range(10):
            at, size = self.place(50)
            self.put(fd, at, content(self.rng, size))

    def append(self, fd):
        self.put(fd, len(self.plain), content(self.rng, self.rng.randrange(60_000)))
        if len(self.plain) > MOST_BYTES:
            self.truncate(fd)

    def truncate(self, fd):
        size = self.rng.randrange(len(self.plain) + 1)
        if self.rng.randrange(8) == 0:
            size = 0
        del self.plain[size:]
        os.ftruncate(fd, size)

    def extend(self, fd):
        size = min(len(self.plain) + self.rng.randrange(50_000), MOST_BYTES)
        size = max(size, len(self.plain))
        self.plain += bytes(size - len(self.plain))
        os.ftruncate(fd, size)

    def punch(self, fd):
        self.fallocate(fd, PUNCH_HOLE | KEEP_SIZE)

    def zero_range(self, fd):
        self.fallocate(fd, ZERO_RANGE)

    def fallocate(self, fd, mode):
        at, size = self.place(100_000)
        if size == 0:
            return
        if LIBC.fallocate(fd, mode, ctypes.c_long(at), ctypes.c_long(size)) != 0:
            code = ctypes.get_errno()
            if code == errno.EOPNOTSUPP:
                return
            raise OSError(code, f"{self.path}: fallocate mode {mode}")
        self.plain[at:at + size] = bytes(size)

    def annotate(self, fd):
        if HEAD in os.listxattr(fd) or self.rng.randrange(2) == 0:
            os.setxattr(fd, HEAD, bytes(self.plain[:HEAD_BYTES]))
            self.counts["vlmeta"] += 1
        if self.rng.randrange(4) == 0:
            os.setxattr(fd, "user.framefs.vlmeta.passing", b"x" * self.rng.randrange(3000))
            if self.rng.randrange(2) == 0:
                os.removexattr(fd, "user.framefs.vlmeta.passing")


def edit(folder, seed):
    rng = random.Random(seed)
    rules = new_files(rng)
    options = [word for name, rule in rules.items() for word in ("--rule", f"{name}:{rule}")]
    names = sorted(path.stem for path in folder.glob("*.plain"))
    files = []
    # Twice, so that files are also changed after they were closed.
    for round_ in range(2):
        with mount(folder, *options, "--plain", "*.plain", "--arrays", "raw") as mountpoint:
            if not files:
                files = [Edited(mountpoint / name, (folder / f"{name}.plain").read_bytes(), rng,
                                not name.endswith("a")) for name in names]
                files += [Edited(mountpoint / name, b"", rng) for name in rules]
            for file in files:
                file.path = mountpoint / file.path.name
                file.change(rng.randrange(1, 6))
                if file.path.read_bytes() != file.plain:
                    raise RuntimeError(f"{file.path.name}: the mount shows other bytes than were written")
    counts = sum((file.counts for file in files), collections.Counter())
    compacted = [path for path in sorted(folder.iterdir())
                 if path.suffix in (".b2frame", ".b2nd") and rng.randrange(3) == 0]
    subprocess.run([daemon.FRAMEFS, "compact", *compacted], check=True)
    for file in files:
        (folder / f"{file.path.name}.plain").write_bytes(file.plain)
    done = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(f"a mount changed {len(names)} frames and made {len(rules)} ({done}); {len(compacted)} were compacted",
          flush=True)


@contextlib.contextmanager
def mount(folder, *options):
    """Yields the mountpoint."""
    with tempfile.TemporaryDirectory(prefix="framefs-interop-") as name:
        mountpoint = pathlib.Path(name) / "mnt"
        mountpoint.mkdir()
        with daemon.Mount(folder, mountpoint, *options):
            yield mountpoint


def check(folder):
    names = sorted(path.stem for path in folder.glob("*.plain"))
    wrong = []
    with mount(folder, "--ro", "--arrays", "raw") as mountpoint:
        for name in names:
            try:
                if (mountpoint / name).read_bytes() != (folder / f"{name}.plain").read_bytes():
                    wrong.append(f"{name}: other bytes")
            except OSError as error:
                wrong.append(f"{name}: {error}")
    print(f"a mount read {len(names)} frames after the library changed them, {len(wrong)} of them wrongly",
          *wrong, sep="\n", flush=True)
    return 1 if wrong or not names else 0


def main():
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if command == "check":
        return check(folder)
    edit(folder, int(sys.argv[4]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
