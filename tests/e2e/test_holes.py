"""Zero chunks are holes: tools that look for holes read very little."""

import errno
import mmap
import os
import pathlib
import unittest

import frames
from case import MountCase

GIB = 1 << 30
CHUNK = 1 << 20


def seek(fd, offset, whence):
    """The result of lseek(), or the errno."""
    try:
        return os.lseek(fd, offset, whence)
    except OSError as error:
        return error.errno


def extents(path):
    """The ranges of data according to lseek(): a list of (offset, end)."""
    found = []
    fd = os.open(path, os.O_RDONLY)
    try:
        at = 0
        while True:
            try:
                begin = os.lseek(fd, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return found
            at = os.lseek(fd, begin, os.SEEK_HOLE)
            found.append((begin, at))
    finally:
        os.close(fd)


def replies_bytes(pid):
    """The bytes that a daemon has read and written so far: requests, answers and files."""
    counts = dict(line.split(": ") for line in
                  pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(counts["rchar"]) + int(counts["wchar"])


class Holes(MountCase):
    def setUp(self):
        # Data, two holes, data, an uninitialised chunk, data, a short hole at the end.
        self.block = bytes(range(256)) * (CHUNK // 256)
        self.chunks = [frames.stored(self.block), frames.ZERO, frames.ZERO, frames.stored(self.block),
                       frames.UNINIT, frames.stored(self.block), frames.ZERO]
        self.size = 6 * CHUNK + 1000
        self.data = [(0, CHUNK), (3 * CHUNK, 4 * CHUNK), (5 * CHUNK, 6 * CHUNK)]
        self.plain = self.folder / "plain"
        with open(self.plain, "wb") as file:
            for begin, end in self.data:
                file.seek(begin)
                file.write(self.block)
            file.truncate(self.size)

    def write_frame(self, name="x.b2frame"):
        (self.source / name).write_bytes(frames.frame(self.chunks, self.size, CHUNK))

    def test_lseek(self):
        self.write_frame()
        frames.write_sparse_frame(self.source / "s.b2frame", self.chunks, self.size, CHUNK)
        with self.mount() as mount:
            for name in "xs":
                self.check_lseek(mount.path(name))

    def test_bytes_that_a_mapping_has_written_are_no_hole(self):
        size = 16 * CHUNK
        for options in ((), ("--plain", "*"), ("--writeback",)):
            with self.subTest(options=options), self.mount(*options) as mount:
                path = mount.path("mapped")
                fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                os.ftruncate(fd, size)
                os.fsync(fd)
                with mmap.mmap(fd, size) as mapped:
                    for written in (7 * CHUNK + 10, 3 * CHUNK, 8 * CHUNK, 0, size - 1):
                        mapped[written] = 1
                        self.assertLessEqual(os.lseek(fd, 0, os.SEEK_DATA), written)
                        found = extents(path)
                        self.assertTrue(any(begin <= written < end for begin, end in found), (written, found))
                    mapped[CHUNK] = 1
                    self.assertGreater(os.lseek(fd, CHUNK, os.SEEK_HOLE), CHUNK)
                    # The hole after that may be none either.
                    mapped[10 * CHUNK:11 * CHUNK] = b"x" * CHUNK
                    os.fsync(fd)
                    for filled in (9 * CHUNK, 11 * CHUNK):
                        mapped[filled:filled + CHUNK] = b"x" * CHUNK
                    self.assertGreaterEqual(os.lseek(fd, 9 * CHUNK, os.SEEK_HOLE), 12 * CHUNK)
                    if "--writeback" not in options:
                        self.assertLess(sum(end - begin for begin, end in extents(path)), size)
                os.close(fd)
                path.unlink()

    def check_lseek(self, path):
        with open(path, "rb", buffering=0) as file:
            fd = file.fileno()
            for offset, data, hole in ((0, 0, CHUNK), (5, 5, CHUNK), (CHUNK - 1, CHUNK - 1, CHUNK),
                                       (CHUNK, 3 * CHUNK, CHUNK),
                                       (2 * CHUNK + 7, 3 * CHUNK, 2 * CHUNK + 7),
                                       (3 * CHUNK, 3 * CHUNK, 4 * CHUNK),
                                       (6 * CHUNK - 1, 6 * CHUNK - 1, 6 * CHUNK),
                                       (6 * CHUNK, errno.ENXIO, 6 * CHUNK),
                                       (self.size - 1, errno.ENXIO, self.size - 1),
                                       (self.size, errno.ENXIO, errno.ENXIO),
                                       (self.size + 5, errno.ENXIO, errno.ENXIO),
                                       (-1, errno.ENXIO, errno.ENXIO),
                                       (-(1 << 62), errno.ENXIO, errno.ENXIO)):
                self.assertEqual(seek(fd, offset, os.SEEK_DATA), data, offset)
                self.assertEqual(seek(fd, offset, os.SEEK_HOLE), hole, offset)
            # The other kinds of seeking work as always.
            self.assertEqual(os.lseek(fd, -3, os.SEEK_END), self.size - 3)
            self.assertEqual(os.lseek(fd, 3, os.SEEK_CUR), self.size)
        self.assertEqual(extents(path), self.data)
        self.assert_same_bytes(path.read_bytes(), self.plain.read_bytes(), path)

    def test_frames_without_holes(self):
        self.make_frame(self.block * 3, self.source / "full.b2frame", "--chunk", "1M")
        self.make_frame(bytes(3 * CHUNK), self.source / "varying.b2frame", "--chunk", "1M", "--variable")
        self.make_frame(b"", self.source / "empty.b2frame")
        with self.mount() as mount:
            self.assertEqual(extents(mount.path("full")), [(0, 3 * CHUNK)])
            self.assertEqual(extents(mount.path("varying")), [(0, 3 * CHUNK)])
            self.assertEqual(extents(mount.path("empty")), [])

    def test_files_that_are_no_frames(self):
        os.rename(self.plain, self.source / "plain")
        with self.mount() as mount:
            self.assertEqual(extents(mount.path("plain")), extents(self.source / "plain"))

    def test_arrays(self):
        layer = frames.array_layer((7, 1024, 1024), (1, 1024, 1024), (1, 256, 256), "|u1")
        chunks = self.chunks[:6] + [frames.ZERO]
        (self.source / "a.b2nd").write_bytes(
            frames.frame(chunks, 7 * CHUNK, CHUNK, layers={"b2nd": layer}, blocksize=256 * 256))
        with self.mount() as mount:
            header = mount.path("a.npy").stat().st_size - 7 * CHUNK
            self.assertEqual(extents(mount.path("a.npy")),
                             [(0, header + CHUNK)] + [(header + b, header + e) for b, e in self.data[1:]])
        with self.mount("--arrays", "raw") as mount:
            self.assertEqual(extents(mount.path("a")), self.data)

    def test_copying_tools(self):
        self.write_frame()
        with self.mount() as mount:
            shown = mount.path("x")
            for how in ("always", "auto"):
                copy = self.folder / f"copy-{how}"
                self.tool("cp", f"--sparse={how}", shown, copy)
                self.tool("cmp", self.plain, copy)
                self.assertEqual(extents(copy), extents(self.plain), how)
            archive = self.folder / "x.tar"
            self.tool("tar", "-S", "-C", mount.path(), "-cf", archive, "x")
            self.assertLess(archive.stat().st_size, 4 * CHUNK)
            self.tool("tar", "-xf", archive)
            self.tool("cmp", self.plain, self.folder / "x")
            self.tool("rsync", "-S", shown, self.folder / "rsynced")
            self.tool("cmp", self.plain, self.folder / "rsynced")


class VastHoles(MountCase):
    """64 GiB with 3 MiB of data.  Reading all of it would need one request per 128 KiB, or per 1
    MiB at most, and the daemon would read and write more than the limit."""

    SIZE = 64 * GIB
    LIMIT = 32 << 20

    def setUp(self):
        chunks = [frames.ZERO] * (self.SIZE // CHUNK)
        self.places = (5, 30_000, len(chunks) - 1)
        self.block = os.urandom(CHUNK)
        for place in self.places:
            chunks[place] = frames.stored(self.block)
        (self.source / "vast.b2frame").write_bytes(frames.frame(chunks, self.SIZE, CHUNK))
        self.data = [(place * CHUNK, (place + 1) * CHUNK) for place in self.places]

    def check_copy(self, copy):
        self.assertEqual(copy.stat().st_size, self.SIZE)
        self.assertLess(copy.stat().st_blocks * 512, 8 * CHUNK)
        with open(copy, "rb") as file:
            for place in self.places:
                file.seek(place * CHUNK)
                self.assertEqual(file.read(CHUNK), self.block)

    def test_tools_that_look_for_holes(self):
        with self.mount() as mount:
            shown = mount.path("vast")
            before = replies_bytes(mount.pid)
            self.assertEqual(extents(shown), self.data)
            self.tool("cp", "--sparse=always", shown, self.folder / "copy")
            self.tool("tar", "-S", "-C", mount.path(), "-cf", self.folder / "vast.tar", "vast")
            self.assertLess(replies_bytes(mount.pid) - before, self.LIMIT)
        self.check_copy(self.folder / "copy")
        self.assertLess((self.folder / "vast.tar").stat().st_size, 8 * CHUNK)
        os.unlink(self.folder / "copy")
        (self.folder / "untarred").mkdir()
        self.tool("tar", "-S", "-C", self.folder / "untarred", "-xf", self.folder / "vast.tar")
        self.check_copy(self.folder / "untarred/vast")

    def test_any_place_reads_at_once(self):
        with self.mount() as mount:
            before = replies_bytes(mount.pid)
            with open(mount.path("vast"), "rb", buffering=0) as file:
                for place in self.places:
                    wanted = bytes(4096) + self.block[:4096]
                    self.assertEqual(os.pread(file.fileno(), 8192, place * CHUNK - 4096), wanted)
                self.assertEqual(os.pread(file.fileno(), 4096, 12 * GIB + 123), bytes(4096))
            self.assertLess(replies_bytes(mount.pid) - before, self.LIMIT)
            self.assertEqual(mount.path("vast").stat().st_size, self.SIZE)
            self.assertLess(mount.path("vast").stat().st_blocks * 512, 8 * CHUNK)


if __name__ == "__main__":
    unittest.main()
