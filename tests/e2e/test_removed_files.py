"""A file without names keeps its bytes for all that can still read it: open files, mappings, and
descriptors that stand for the file."""

import contextlib
import mmap
import os

import data
from case import MountCase
from test_namespace import EXCHANGE, renameat2

OLD = data.noise(70_000)
NEW = data.noise(90_000, seed=2)
OTHER = b"another file"


def write_all(path):
    path.write_bytes(NEW)
    return NEW


def append(path):
    with open(path, "ab") as file:
        file.write(NEW)
    return OLD + NEW


def change(path):
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(NEW[:10_000])
    return OLD[:100] + NEW[:10_000] + OLD[10_100:]


def keep(_path):
    return OLD


WRITES = {"new": write_all, "rewritten": write_all, "appended": append, "changed": change, "kept": keep}


class Observers:
    """The ways in which a program holds a file: a reader, a mapping whose descriptor is closed, and
    a descriptor that only stands for the file (O_PATH)."""

    def __init__(self, path, size):
        self.reader = os.open(path, os.O_RDONLY)
        self.stand_in = os.open(path, os.O_PATH)
        with open(path, "rb") as mapped:
            self.mapping = mmap.mmap(mapped.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ)

    def close(self):
        os.close(self.reader)
        os.close(self.stand_in)
        self.mapping.close()

    def read(self):
        os.posix_fadvise(self.reader, 0, 0, os.POSIX_FADV_DONTNEED)
        return os.pread(self.reader, 1 << 20, 0)

    def read_mapping(self):
        """Returns the mapped bytes; nothing if an access ends the process, as one to a page without
        bytes does."""
        from_child, to_parent = os.pipe()
        pid = os.fork()
        if pid == 0:
            with open(to_parent, "wb") as pipe:
                pipe.write(self.mapping[:])
            os._exit(0)
        os.close(to_parent)
        with open(from_child, "rb") as pipe:
            content = pipe.read()
        os.waitpid(pid, 0)
        return content

    def read_again(self):
        with open(f"/proc/self/fd/{self.stand_in}", "rb") as again:
            return again.read()


class RemovedFiles(MountCase):
    def check(self, content, observers, has_handle_only):
        self.assert_same_bytes(observers.read(), content, "the reader")
        self.assertEqual(os.fstat(observers.reader).st_size, len(content))
        self.assertEqual(os.fstat(observers.reader).st_nlink, 0)
        self.assert_same_bytes(observers.read_mapping(), content, "the mapping")
        if not has_handle_only:
            self.assert_same_bytes(observers.read_again(), content, "another opening")
            self.assertEqual(os.fstat(observers.stand_in).st_size, len(content))

    def check_all(self, remove, *options, make=(), names=tuple(WRITES), has_handle_only=False):
        """Writes and closes files, removes them by remove(mount, name), and checks what their
        observers find, at once and after the commit."""
        for name in names:
            if name != "new":
                self.make_frame(OLD, self.source / f"{name}.b2frame", *make)
        with self.mount(*options) as mount, contextlib.ExitStack() as stack:
            held = []
            for name in names:
                content = WRITES[name](mount.path(name))
                observers = Observers(mount.path(name), len(content))
                stack.callback(observers.close)
                remove(mount, name)
                held.append((name, content, observers))
                with self.subTest(name=name, when="at once"):
                    self.check(content, observers, has_handle_only)
            if not make:
                mount.wait_for_commits()
            for name, content, observers in held:
                with self.subTest(name=name, when="later"):
                    self.check(content, observers, has_handle_only)

    @staticmethod
    def unlink(mount, name):
        mount.path(name).unlink()

    @staticmethod
    def replace(mount, name):
        mount.path("other").write_bytes(OTHER)
        mount.path("other").rename(mount.path(name))

    def test_removed(self):
        self.check_all(self.unlink)

    def test_removed_with_writeback(self):
        self.check_all(self.unlink, "--writeback")

    def test_replaced(self):
        self.check_all(self.replace)

    def test_exchanged_and_removed(self):
        def exchange(mount, name):
            mount.path("other").write_bytes(OTHER)
            renameat2(mount.path("other"), mount.path(name), EXCHANGE)
            mount.path("other").unlink()

        self.check_all(exchange)

    def test_sparse_frames(self):
        names = [name for name in WRITES if name != "new"]
        make = ("--sparse", "--chunk", "20000")
        self.check_all(self.unlink, make=make, names=names)

    def test_replaced_sparse_frames(self):
        names = [name for name in WRITES if name != "new"]
        make = ("--sparse", "--chunk", "20000")
        self.check_all(self.replace, make=make, names=names)

    def test_arrays(self):
        self.make_frame(OLD, self.source / "a.b2nd", "--shape", "70,1000", "--chunkshape", "16,256",
                        "--blockshape", "8,64", "--typesize", "1", "--dtype", "|u1")
        with self.mount() as mount, open(mount.path("a.npy"), "r+b") as file:
            header = mount.path("a.npy").stat().st_size - len(OLD)
            file.seek(header + 100)
            file.write(NEW[:10_000])
            file.close()
            content = mount.path("a.npy").read_bytes()
            self.assertEqual(content[header:], OLD[:100] + NEW[:10_000] + OLD[10_100:])
            with contextlib.closing(Observers(mount.path("a.npy"), len(content))) as observers:
                self.unlink(mount, "a.npy")
                self.check(content, observers, False)
                mount.wait_for_commits()
                self.check(content, observers, False)

    def test_removed_in_source(self):
        """The kernel finds such a file by its open handles alone."""
        def remove(_mount, name):
            (self.source / f"{name}.b2frame").unlink()

        self.check_all(remove, "--attr-timeout", "0", has_handle_only=True)

    def test_replaced_in_source(self):
        other = self.make_frame(OTHER, self.folder / "other.b2frame")

        def replace(_mount, name):
            path = self.source / f"{name}.b2frame"
            (self.folder / "next.b2frame").write_bytes(other.read_bytes())
            (self.folder / "next.b2frame").rename(path)

        self.check_all(replace, "--attr-timeout", "0", has_handle_only=True)
