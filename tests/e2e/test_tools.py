"""Unmodified tools behave the same on a mount as on a plain copy."""

import mmap
import os
import unittest

import numpy

import data
from case import MountCase

# No tool's buffer size divides these chunk and block sizes.
ODD = ("--chunk", "123464", "--block", "23456", "--typesize", "4")


class Tools(MountCase):
    def setUp(self):
        self.plain = self.folder / "plain"
        deep = self.plain / "run/2024"
        deep.mkdir(parents=True)
        (self.plain / "walk.f32").write_bytes(data.random_walk(200_000))
        (self.plain / "app.log").write_bytes(data.text(20_000))
        (self.plain / "empty").write_bytes(b"")
        (self.plain / "one").write_bytes(b"1")
        (self.plain / "noise").write_bytes(data.noise(300_001))
        (deep / "sparse.bin").write_bytes(data.sparse(1_500_000))
        (deep / "day.log").write_bytes(data.text(3_000, seed=9))
        (self.source / "run/2024").mkdir(parents=True)
        options = {"walk.f32": ("--codec", "zstd", "--filter", "shuffle", "--split"),
                   "app.log": ("--codec", "lz4"),
                   "noise": ("--codec", "blosclz"),
                   "run/2024/sparse.bin": ("--codec", "zlib", "--filter", "bitshuffle"),
                   "run/2024/day.log": ("--codec", "zstd", "--variable")}
        for path in self.plain.rglob("*"):
            if path.is_file():
                name = path.relative_to(self.plain)
                self.make_frame(path, self.source / f"{name}.b2frame", *ODD,
                                *options.get(str(name), ()))
        # A file that is not a frame is shown unchanged.
        (self.plain / "notes.txt").write_bytes(b"needle in a plain file\n")
        (self.source / "notes.txt").write_bytes(b"needle in a plain file\n")

    def both(self, *command):
        return self.assert_same_output(command, self.plain, self.mountpoint)

    def test_content_tools(self):
        with self.mount():
            self.assertIn(b"needle", self.both("sh", "-c", "grep -r needle . | sort").stdout)
            self.both("grep", "-rc", "no such thing", "walk.f32", "app.log", "run")
            self.both("sh", "-c", "find . -type f | sort | xargs md5sum")
            self.both("sh", "-c", "find . -type f | sort | xargs wc")
            self.both("sh", "-c", "find . -type f | sort | xargs cat | sha256sum")
            self.both("sort", "-k3", "app.log")
            for name in ("walk.f32", "app.log", "noise", "empty", "one", "run/2024/sparse.bin"):
                self.tool("cmp", self.plain / name, self.mountpoint / name)
                for size in (0, 1, 4095, 4097, 123_464, 123_465):
                    self.both("tail", "-c", str(size), name)
                    self.both("head", "-c", str(size), name)
            self.tool("diff", "-r", self.plain, self.mountpoint)

    def test_dd_at_odd_offsets_and_sizes(self):
        with self.mount():
            for block, skip, count in ((1, 123_460, 9), (7, 17_637, 40), (511, 241, 500),
                                       (4097, 28, 4), (23_456, 5, 2), (123_463, 1, 3),
                                       (999_983, 0, 2), (1_000_003, 1, 1)):
                self.both("dd", "if=walk.f32", f"bs={block}", f"skip={skip}", f"count={count}",
                          "status=none")
            self.both("dd", "if=walk.f32", "bs=1M", "iflag=direct", "status=none")
            self.both("dd", "if=app.log", "bs=3", "skip=999999999", "count=1", "status=none")

    def test_listing_tools(self):
        with self.mount():
            self.both("sh", "-c", "find . | sort")
            self.both("sh", "-c", "find . -type f -size +100k -printf '%p %s %y\\n' | sort")
            self.both("sh", "-c", "du --apparent-size -b app.log walk.f32 run/2024/*")
            self.both("sh", "-c", "stat -c '%n %s %F' *")
            sizes = self.both("sh", "-c", "LC_ALL=C ls -l | awk '{print $1, $5, $NF}' | grep -v total")
            self.assertIn(b"app.log", sizes.stdout)
            # The shown size on disk is that of the frame.
            frame = self.tool("du", "-k", self.source / "run/2024/sparse.bin.b2frame").stdout.split()
            shown = self.tool("du", "-k", self.mountpoint / "run/2024/sparse.bin").stdout.split()
            self.assertEqual(frame[0], shown[0])

    def test_copying_tools(self):
        with self.mount():
            self.tool("cp", "-r", self.mountpoint, self.folder / "copy")
            self.tool("cp", "-a", self.mountpoint / "run", self.folder / "copy-a")
            with open(self.folder / "mount.tar", "wb") as archive:
                self.tool("sh", "-c", f"tar -C '{self.mountpoint}' -cf '{archive.name}' .")
            self.tool("cp", "--sparse=always", self.mountpoint / "run/2024/sparse.bin",
                      self.folder / "sparse-copy")
        self.tool("diff", "-r", self.plain, self.folder / "copy")
        self.tool("diff", "-r", self.plain / "run", self.folder / "copy-a")
        self.tool("cmp", self.plain / "run/2024/sparse.bin", self.folder / "sparse-copy")
        (self.folder / "untarred").mkdir()
        self.tool("tar", "-C", self.folder / "untarred", "-xf", self.folder / "mount.tar")
        self.tool("diff", "-r", self.plain, self.folder / "untarred")

    def test_numpy(self):
        with self.mount():
            plain = numpy.fromfile(self.plain / "walk.f32", dtype=numpy.float32)
            mapped = numpy.memmap(self.mountpoint / "walk.f32", dtype=numpy.float32, mode="r")
            self.assertEqual(mapped.shape, plain.shape)
            self.assertEqual(float(mapped[-1]), float(plain[-1]))
            numpy.testing.assert_array_equal(mapped[12_345:150_000:7], plain[12_345:150_000:7])
            numpy.testing.assert_array_equal(mapped, plain)
            numpy.testing.assert_array_equal(
                numpy.fromfile(self.mountpoint / "walk.f32", dtype=numpy.float32, offset=40,
                               count=50_000), plain[10:50_010])
            del mapped

    def test_mmap_private_and_shared(self):
        plain = (self.plain / "walk.f32").read_bytes()
        with self.mount():
            with open(self.mountpoint / "walk.f32", "rb") as file:
                for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
                    with mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ) as view:
                        self.assertEqual(view[-5:], plain[-5:])
                        self.assertEqual(view[123_460:123_470], plain[123_460:123_470])
                        self.assert_same_bytes(view[:], plain, "the whole mapping")
                # A private mapping may be written; only its writer sees the change.
                with mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE,
                               prot=mmap.PROT_READ | mmap.PROT_WRITE) as view:
                    view[1000:1004] = b"mine"
                    self.assertEqual(view[996:1008], plain[996:1000] + b"mine" + plain[1004:1008])
                self.assertEqual(os.pread(file.fileno(), 12, 996), plain[996:1008])

    def test_the_same_file_on_both_sides(self):
        """Two descriptors with their own positions; seeking from both ends; vectored reads."""
        plain = (self.plain / "app.log").read_bytes()
        with self.mount():
            with open(self.mountpoint / "app.log", "rb", buffering=0) as one, \
                    open(self.mountpoint / "app.log", "rb", buffering=0) as two:
                self.assertEqual(one.seek(-100, os.SEEK_END), len(plain) - 100)
                self.assertEqual(one.read(), plain[-100:])
                self.assertEqual(two.read(10), plain[:10])
                buffers = [bytearray(3), bytearray(70_000), bytearray(5)]
                self.assertEqual(os.preadv(two.fileno(), buffers, 123_450), 70_008)
                self.assert_same_bytes(b"".join(buffers), plain[123_450:193_458], "preadv")
                self.assertEqual(os.pread(two.fileno(), 100, len(plain) - 1), plain[-1:])
                self.assertEqual(os.pread(two.fileno(), 100, len(plain)), b"")
                self.assertEqual(os.pread(two.fileno(), 100, len(plain) + 1_000_000), b"")


if __name__ == "__main__":
    unittest.main()
