"""Unmodified tools write to a mount; their files are there, before and after a new mount."""

import contextlib
import filecmp
import mmap
import os
import pathlib
import shutil
import sqlite3
import subprocess
import unittest

import numpy

import daemon
import data
from case import MountCase

with contextlib.suppress(ImportError):
    import h5py

# Chunks are so small that the tools' files have many of them.
RULE = ("--rule", "*:chunksize=20000")


class WriteTools(MountCase):
    def setUp(self):
        self.plain = self.folder / "plain"
        self.plain.mkdir()

    def twice(self, *options):
        """Two mounts, one after the other: the first is for writing, and both are for checking."""
        for is_first in (True, False):
            with self.mount(*RULE, *options) as mount:
                yield is_first
                mount.check_open_files()

    def make_tree(self):
        tree = self.plain / "tree"
        (tree / "deep/er").mkdir(parents=True)
        (tree / "walk.f32").write_bytes(data.random_walk(100_000))
        (tree / "app.log").write_bytes(data.text(5_000))
        (tree / "empty").write_bytes(b"")
        (tree / "deep/noise").write_bytes(data.noise(70_001))
        (tree / "deep/er/one").write_bytes(b"1")
        with open(tree / "deep/sparse", "wb") as sparse:
            sparse.truncate(3_000_000)
            sparse.seek(1_000_000)
            sparse.write(b"island")
        for number in range(60):
            (tree / f"deep/small-{number}").write_bytes(data.text(number))
        os.symlink("../app.log", tree / "deep/link")
        (tree / "deep/noise").chmod(0o640)
        os.utime(tree / "app.log", (1_000_000_000, 1_000_000_000))
        return tree

    def assert_same_trees(self, copy, tree, times=True):
        for path in sorted(tree.rglob("*")):
            shown = copy / path.relative_to(tree)
            self.assertEqual(path.is_symlink(), shown.is_symlink(), shown)
            if path.is_symlink() or path.is_dir():
                continue
            self.assertTrue(filecmp.cmp(path, shown, shallow=False), shown)
            wanted, got = path.stat(), shown.stat()
            self.assertEqual(oct(got.st_mode), oct(wanted.st_mode), shown)
            if times:
                self.assertEqual(got.st_mtime_ns, wanted.st_mtime_ns, shown)
        names = {path.relative_to(tree) for path in tree.rglob("*")}
        self.assertEqual({path.relative_to(copy) for path in copy.rglob("*")}, names)

    def test_cp(self):
        tree = self.make_tree()
        for is_first in self.twice():
            if is_first:
                self.tool("cp", "-a", tree, self.mountpoint / "copy")
                self.tool("cp", "-a", "--sparse=always", tree, self.mountpoint / "sparse")
            self.assert_same_trees(self.mountpoint / "copy", tree)
            self.assert_same_trees(self.mountpoint / "sparse", tree)
        self.assertTrue((self.source / "copy/app.log.b2frame").is_file())

    def test_rsync(self):
        tree = self.make_tree()
        copies = [self.mountpoint / name for name in ("usual", "inplace")]
        for is_first in self.twice():
            if is_first:
                self.tool("rsync", "-a", f"{tree}/", copies[0])
                self.tool("rsync", "-a", "--inplace", f"{tree}/", copies[1])
                with open(tree / "walk.f32", "r+b") as changed:
                    changed.seek(123_456)
                    changed.write(data.noise(999))
                os.truncate(tree / "app.log", 12_345)
                (tree / "deep/small-3").unlink()
                for copy, how in zip(copies, ((), ("--inplace", "--no-whole-file"))):
                    self.tool("rsync", "-a", "--delete", "--checksum", *how, f"{tree}/", copy)
            for copy in copies:
                self.assert_same_trees(copy, tree)
                listed = self.tool("rsync", "-a", "-n", "-i", "--delete", "--checksum", f"{tree}/", copy)
                self.assertEqual(listed.stdout, b"")

    def test_tar(self):
        tree = self.make_tree()
        archive = self.folder / "tree.tar"
        self.tool("tar", "-C", tree, "--format=posix", "-cSf", archive, ".")
        for is_first in self.twice():
            if is_first:
                (self.mountpoint / "out").mkdir()
                self.tool("tar", "-C", self.mountpoint / "out", "-xf", archive)
                self.tool("tar", "-C", tree, "-czf", self.mountpoint / "again.tgz", ".")
            self.assert_same_trees(self.mountpoint / "out", tree)
            self.tool("tar", "-C", self.mountpoint / "out", "-df", self.mountpoint / "again.tgz")

    def git(self, *arguments, cwd=None):
        return self.tool("git", "-c", "user.name=n", "-c", "user.email=n@example.org",
                         "-c", "safe.directory=*", "-c", "init.defaultBranch=main", *arguments, cwd=cwd)

    def test_git(self):
        tree = self.make_tree()
        self.git("init", "-q", cwd=tree)
        self.git("add", "-A", cwd=tree)
        self.git("commit", "-q", "-m", "all", cwd=tree)
        clone = self.mountpoint / "clone"
        for is_first in self.twice():
            if is_first:
                self.git("clone", "-q", "--no-hardlinks", tree, clone)
                (clone / "new.txt").write_text("new\n")
                self.git("add", "-A", cwd=clone)
                self.git("commit", "-q", "-m", "more", cwd=clone)
                self.git("gc", "-q", "--prune=now", cwd=clone)
            self.git("fsck", "--full", "--strict", cwd=clone)
            self.assertEqual(self.git("status", "--porcelain", cwd=clone).stdout, b"")
            self.assertEqual(len(self.git("log", "--oneline", cwd=clone).stdout.splitlines()), 2)
            self.assertTrue(filecmp.cmp(clone / "walk.f32", tree / "walk.f32", shallow=False))

    def check_database(self, path, rows):
        with contextlib.closing(sqlite3.connect(path)) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(database.execute("SELECT count(*), sum(n) FROM t").fetchone(),
                             (rows, rows * (rows - 1) // 2))

    def change_database(self, path, journal):
        rows = 5_000
        with contextlib.closing(sqlite3.connect(path)) as database:
            self.assertEqual(database.execute(f"PRAGMA journal_mode={journal}").fetchone(), (journal,))
            database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, word TEXT)")
            for begin in range(0, rows, 500):
                with database:
                    database.executemany("INSERT INTO t VALUES (?, ?)",
                                         ((n, f"word {n}" * 5) for n in range(begin, begin + 500)))
            with contextlib.suppress(ZeroDivisionError), database:
                database.execute("DELETE FROM t WHERE n % 2 = 0")
                raise ZeroDivisionError  # rolls back
            with database:
                database.execute("UPDATE t SET word = upper(word) WHERE n % 3 = 0")
            with contextlib.closing(sqlite3.connect(path)) as reader:
                self.assertEqual(reader.execute("SELECT count(*) FROM t").fetchone(), (rows,))
            database.execute("CREATE INDEX words ON t (word)")
            database.execute("VACUUM")
        return rows

    def test_sqlite(self):
        rows = {}
        for is_first in self.twice():
            for journal in ("delete", "truncate", "persist", "wal"):
                path = self.mountpoint / f"{journal}.db"
                with self.subTest(journal, is_first=is_first):
                    if is_first:
                        rows[journal] = self.change_database(path, journal)
                    self.check_database(path, rows[journal])
                    answer = self.tool("sqlite3", path, "PRAGMA integrity_check")
                    self.assertEqual(answer.stdout, b"ok\n")

    @unittest.skipIf("h5py" not in globals(), "no h5py")
    def test_h5py(self):
        path = self.mountpoint / "data.h5"
        walk = numpy.frombuffer(data.random_walk(60_000), numpy.float32)
        for is_first in self.twice():
            if is_first:
                with h5py.File(path, "w") as file:
                    file.create_dataset("walk", data=walk[:20_000], maxshape=(None,), chunks=(1_000,))
                    file.create_dataset("zipped", data=walk.reshape(300, 200), compression="gzip")
                with h5py.File(path, "r+") as file:
                    file["walk"].resize((60_000,))
                    file["walk"][20_000:] = walk[20_000:]
                    file["zipped"][10:20] = 0
                    file.attrs["done"] = "yes"
            with h5py.File(path, "r") as file:
                numpy.testing.assert_array_equal(file["walk"][:], walk)
                self.assertEqual(file["zipped"][10:20].any(), False)
                numpy.testing.assert_array_equal(file["zipped"][20:], walk.reshape(300, 200)[20:])
                self.assertEqual(file.attrs["done"], "yes")

    def test_editors(self):
        """Editors that rename, that keep a copy, and that overwrite the file."""
        text = data.text(2_000)
        wanted = text.replace(b"needle", b"thread")
        names = ("no", "yes", "auto")
        for is_first in self.twice():
            for name in names:
                path = self.mountpoint / f"{name}.txt"
                if is_first:
                    path.write_bytes(text)
                    self.tool("vim.tiny", "-e", "-s", "-u", "NONE", "-N", "-c", f"set backup backupskip= backupcopy={name}",
                              "-c", "%s/needle/thread/g", "-c", "wq", path)
                self.assert_same_bytes(path.read_bytes(), wanted, path)
                self.assert_same_bytes(pathlib.Path(f"{path}~").read_bytes(), text, path)
            if is_first:
                replaced = self.mountpoint / "sed.txt"
                replaced.write_bytes(text)
                self.tool("sed", "-i", "s/needle/thread/g", replaced)
            self.assert_same_bytes((self.mountpoint / "sed.txt").read_bytes(), wanted, "sed")

    def test_filters(self):
        lines = data.text(8_000)
        ordered = b"".join(sorted(lines.splitlines(keepends=True), reverse=True))
        path = self.mountpoint / "lines"
        for is_first in self.twice():
            if is_first:
                path.write_bytes(lines)
                self.tool("sort", "-r", "-o", path, path)
                self.tool("sh", "-c", "gzip -k lines && gzip -dc lines.gz > again && split -b 70000 lines part-",
                          cwd=self.mountpoint)
                self.tool("sh", "-c", "cat part-* > joined; wc -l < joined >> count; date >> appended;"
                          " echo end >> appended", cwd=self.mountpoint)
            for name in ("lines", "again", "joined"):
                self.assert_same_bytes((self.mountpoint / name).read_bytes(), ordered, name)
            self.assertEqual((self.mountpoint / "count").read_bytes(), b"8000\n")
            self.assertTrue((self.mountpoint / "appended").read_bytes().endswith(b"\nend\n"))
            self.tool("gzip", "-t", self.mountpoint / "lines.gz")

    def test_dd(self):
        plain = self.plain / "image"
        paths = (plain, self.mountpoint / "image")
        noise = self.folder / "noise"
        noise.write_bytes(data.noise(500_000))
        for is_first in self.twice():
            for path in paths if is_first else ():
                for words in (("bs=100000", "seek=3", "count=2"), ("bs=777", "seek=5", "count=300"),
                              ("bs=4096", "seek=200", "count=3", "conv=notrunc,fsync"),
                              ("bs=1", "seek=99999", "count=30", "conv=notrunc"),
                              ("bs=64K", "seek=1", "conv=notrunc,sparse"), ("bs=4096", "seek=9", "oflag=direct",
                                                                          "count=4", "conv=notrunc"),
                              ("bs=1000", "count=1", "oflag=append", "conv=notrunc")):
                    # A plain folder may be on a filesystem without O_DIRECT.
                    kept = [word for word in words if path != plain or word != "oflag=direct"]
                    self.tool("dd", f"if={noise}", f"of={path}", "status=none", *kept)
                self.tool("truncate", "-s", "+12345", path)
                self.tool("fallocate", "-p", "-o", "150000", "-l", "120000", path)
                self.tool("fallocate", "-z", "-o", "300000", "-l", "10", path)
            self.tool("cmp", *paths)

    def test_fio(self):
        for is_first in self.twice():
            for name, words in {"random": ("--rw=randwrite", "--bsrange=1k-40k", "--blockalign=512"),
                                "mixed": ("--rw=randrw", "--bs=4k", "--fsync=50"),
                                "sequential": ("--rw=write", "--bs=128k", "--end_fsync=1"),
                                "mapped": ("--rw=randwrite", "--bs=4k", "--ioengine=mmap")}.items():
                only = ("--verify_only",) if not is_first and name != "mixed" else ()
                if not is_first and name == "mixed":
                    continue
                engine = () if name == "mapped" else ("--ioengine=psync",)
                self.tool("fio", f"--name={name}", f"--directory={self.mountpoint}", "--size=3m", *engine,
                          "--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0", "--randseed=7",
                          "--allrandrepeat=1", *words, *only)

    def test_memmap(self):
        wanted = numpy.zeros((400, 300), numpy.float64)
        wanted[7] = numpy.arange(300)
        wanted[:, 5] += 1
        path = self.mountpoint / "array.bin"
        for is_first in self.twice():
            if is_first:
                array = numpy.memmap(path, numpy.float64, "w+", shape=wanted.shape)
                array[7] = numpy.arange(300)
                array.flush()
                del array
                array = numpy.memmap(path, numpy.float64, "r+", shape=wanted.shape)
                array[:, 5] += 1
                del array
            numpy.testing.assert_array_equal(numpy.fromfile(path).reshape(wanted.shape), wanted)

    def test_a_mapping_keeps_its_bytes_when_attributes_change(self):
        """The kernel drops its pages then, and writes back those that the mapping has changed."""
        changes = (lambda fd: os.fchmod(fd, 0o600), os.utime, lambda fd: os.fchown(fd, os.getuid(), os.getgid()),
                   lambda fd: os.truncate(f"/proc/self/fd/{fd}", 300_000))
        path = self.mountpoint / "mapped"
        for is_first in self.twice():
            if is_first:
                path.write_bytes(data.noise(300_000))
                with open(path, "r+b", buffering=0) as file, mmap.mmap(file.fileno(), 0) as view:
                    for number, change in enumerate(changes):
                        wanted = data.noise(300_000, seed=20 + number)
                        view[:] = wanted
                        change(file.fileno())
                        os.fstat(file.fileno())
                        self.assert_same_bytes(view[:], wanted, "the mapping")
                        self.assert_same_bytes(os.pread(file.fileno(), 300_000, 0), wanted, "the file")
            self.assert_same_bytes(path.read_bytes(), wanted, "a later reader")

    def test_memmap_of_an_array(self):
        wanted = numpy.arange(60_000, dtype=numpy.int32).reshape(200, 300)
        self.make_frame(wanted.tobytes(), self.source / "a.b2nd", "--shape", "200,300", "--chunkshape", "64,64",
                        "--blockshape", "16,32", "--typesize", "4", "--dtype", "<i4")
        wanted = wanted.copy()
        wanted[10:50, 100:200] = -1
        wanted[:, 299] += 7
        path = self.mountpoint / "a.npy"
        for is_first in self.twice():
            if is_first:
                array = numpy.load(path, mmap_mode="r+")
                array[10:50, 100:200] = -1
                array[:, 299] += 7
                array.flush()
                del array
            numpy.testing.assert_array_equal(numpy.load(path), wanted)

    def test_locks(self):
        path = self.mountpoint / "locked"
        with self.mount(*RULE):
            path.write_bytes(b"x")
            with subprocess.Popen(["flock", path, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
                holder.stdin.write(b"held\n")
                holder.stdin.flush()
                self.assertEqual(holder.stdout.readline(), b"held\n")
                self.assertEqual(self.tool("flock", "-n", path, "true", check=False).returncode, 1)
            self.tool("flock", "-n", path, "true")

    def test_a_copy_of_the_source_is_whole(self):
        """After an unmount, SOURCE has valid frames, which unpack to the same content."""
        tree = self.make_tree()
        with self.mount(*RULE):
            shutil.copytree(tree, self.mountpoint / "tree", symlinks=True)
        for frame in (self.source / "tree").rglob("*.b2frame"):
            plain = tree / frame.relative_to(self.source / "tree").with_suffix("")
            unpacked = self.tool(daemon.FRAMEFS, "unpack", frame, "-o", "-").stdout
            self.assert_same_bytes(unpacked, plain.read_bytes(), frame)


if __name__ == "__main__":
    unittest.main()
