"""The rows of scripts/bench --peers about writing, in new filesystems in memory."""

import functools
import pathlib
import shutil
import tarfile

import writing
from data import MIB, QUARTERS, make, run
from peer_mounts import BTRFS
from peer_reading import PYTHON, WORKLOADS, plural
from peer_rows import MOUNT, Job

OVERWRITES = "2,000 random overwrites of 4 KiB, and fsync"
SMALL_FILES = "new files of 600 bytes"
WRITEBACK = "framefs --writeback"
WRITERS = (1, 2, 8)
HEADERS = pathlib.Path("/usr/include")


class Writing:
    """Adds rows to a Plan.  `portion` multiplies the numbers of files and calls."""

    def __init__(self, plan, stores, all_data, folder, programs, portion):
        self.plan = plan
        self.stores = stores
        self.data = all_data
        self.folder = folder
        self.programs = programs
        self.portion = portion

    def add_all(self):
        self._add_sequential()
        self._add_writers()
        self._add_overwrites()
        self._add_appends()
        self._add_small_files()
        self._add_database()

    def _count(self, number):
        return max(int(number * self.portion), 1)

    def _every_way(self):
        """framefs and its peers, for work in which the codec matters little."""
        stores = self.stores
        return [stores.framefs(), stores.plain(), stores.passthrough(), stores.ext4(), stores.btrfs("zstd")]

    def _compressed(self, fills=None):
        """framefs with LZ4 and with its default codec, and the peers.  `fills` has functions that
        fill the stored folder, by codec; "" is the plain form."""
        fills = fills or {}
        stores, plain = self.stores, fills.get("")
        return [stores.framefs("--rule", "*:codec=lz4", codec="lz4", fill=fills.get("lz4")),
                stores.framefs(codec="default", fill=fills.get("default")), stores.passthrough(plain),
                stores.ext4(plain), *(stores.btrfs(codec, plain) for codec in BTRFS)]

    # -------------------------------------------------------------------------------------- rows

    def _add_sequential(self):
        for kind in ("float", "text"):
            job = Job([self.programs["writer"], "sequential", MIB, 2, self.data.plain / kind, f"{MOUNT}/new"])
            self.plan.add(f"write {2 * self.data.mib} MiB, and fsync", None, kind, job, self._compressed())

    def _add_writers(self):
        for writers in WRITERS:
            job = Job([self.programs["writer"], "sequential", MIB, 2, self.data.plain / "float.0",
                       *(f"{MOUNT}/new-{i}" for i in range(writers))])
            self.plan.add(f"{plural(writers, 'writer')} of {2 * self.data.mib // QUARTERS} MiB, and fsync", None, "float", job,
                          self._compressed())

    def _add_overwrites(self):
        places = self.data.offsets("uniform", 4096, self._count(2000))
        job = Job([self.programs["writer"], "offsets", 4096, places, f"{MOUNT}/float"])
        fills = {"": lambda folder: shutil.copy(self.data.plain / "float", folder / "float"),
                 "lz4": lambda folder: shutil.copy(self._written("lz4"), folder),
                 "default": lambda folder: shutil.copy(self._written("zstd"), folder)}
        self.plan.add(OVERWRITES, "write", "float", job, self._compressed(fills))

    @functools.cache
    def _written(self, codec):
        """A frame of `float` that framefs has written."""
        folder = self.folder / f"written-{codec}-{self.data.mib}"
        frame = folder / "float.b2frame"
        if not frame.exists():
            folder.mkdir(exist_ok=True)
            mount = writing.writable_mount(self.programs["framefs"], folder, self.folder / "mnt-written",
                                           "--rule", f"*:codec={codec}")
            with mount.mounted():
                shutil.copy(self.data.plain / "float", mount.mountpoint / "float")
        return frame

    def _add_appends(self):
        stores, writer = self.stores, self.programs["writer"]
        self.plan.add("append 4 KiB and fsync", "write", "",
                      Job([writer, "append-sync", self._count(500), 4096, f"{MOUNT}/log"]), self._every_way())
        self.plan.add("append 100 bytes", "write", "",
                      Job([writer, "append", self._count(100_000), 100, f"{MOUNT}/log"]),
                      [*self._every_way(), stores.framefs("--writeback", who=WRITEBACK), stores.null()])

    def _add_small_files(self):
        writer = self.programs["writer"]
        self.plan.add(SMALL_FILES, "file", "", Job([writer, "create", self._count(5000), 600, MOUNT]), self._every_way())
        self.plan.add("new file closed and renamed over another", "file", "",
                      Job([writer, "replace", self._count(1000), 4096, MOUNT]), self._every_way())
        if not self._headers():
            return
        archive, repository, files, size = self._make_trees()
        self.plan.add("tar x of C headers", "file", "", Job(["tar", "-xf", archive, "-C", MOUNT], files, size),
                      self._every_way())
        self.plan.add("git clone of C headers", "file", "",
                      Job(["git", "clone", "-q", "--no-local", repository, f"{MOUNT}/clone"], files, size),
                      self._every_way())

    @functools.cache
    def _headers(self):
        return sorted(path for path in HEADERS.rglob("*.h") if path.is_file())[:self._count(2000)]

    def _make_trees(self):
        """An archive and a repository of C headers, their number, and their size."""
        headers = self._headers()
        archive, repository = self.folder / f"headers-{len(headers)}.tar", self.folder / f"headers-{len(headers)}.git"
        make(archive, self._write_archive)
        make(repository, lambda path: self._write_repository(path, archive))
        return archive, repository, len(headers), sum(path.stat().st_size for path in headers)

    def _write_archive(self, path):
        with tarfile.open(path, "w") as archive:
            for header in self._headers():
                archive.add(header.resolve(), header.relative_to(HEADERS))

    def _write_repository(self, path, archive):
        tree = self.folder / "headers-tree"
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir()
        run("tar", "-xf", archive, "-C", tree)
        git = ["git", "-C", tree, "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        run(*git, "init", "-q")
        run(*git, "add", "--all", "--force")
        run(*git, "commit", "-q", "-m", "headers")
        shutil.rmtree(path, ignore_errors=True)
        run("git", "clone", "-q", "--bare", tree, path)
        shutil.rmtree(tree)

    def _add_database(self):
        job = Job([PYTHON, WORKLOADS, "commits", self._count(50), 1000, f"{MOUNT}/database"])
        self.plan.add("SQLite, commits of 1,000 rows", "commit", "", job, self._every_way())
