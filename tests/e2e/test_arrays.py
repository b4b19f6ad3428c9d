"""Arrays, shown as NumPy files, as their bytes, or as both."""

import errno
import os
import shutil
import struct
import unittest

import numpy

import daemon
import data
import frames
from case import MountCase


class ArrayCase(MountCase):
    def make_array(self, array, name, chunkshape, blockshape, *options, dtype=None):
        """Packs an array into the source folder."""
        def dims(shape):
            return ",".join(map(str, shape))

        self.make_frame(numpy.ascontiguousarray(array).tobytes(), self.source / name,
                        "--shape", dims(array.shape), "--chunkshape", dims(chunkshape),
                        "--blockshape", dims(blockshape), "--typesize", str(array.dtype.itemsize),
                        "--dtype", dtype or array.dtype.str, *options)
        return self.source / name

    def listing(self, mount):
        return sorted(os.listdir(mount.path()))


class NumpyFiles(ArrayCase):
    def setUp(self):
        walk = numpy.frombuffer(data.random_walk(180 * 200), dtype=numpy.float32)
        self.plane = walk.reshape(180, 200)
        self.make_array(self.plane, "plane.b2nd", (50, 60), (16, 24), "--filter", "shuffle")
        rng = numpy.random.default_rng(7)
        self.cube = rng.integers(-9, 9, (23, 17, 31)).astype(">i2")
        self.make_array(self.cube, "cube.b2nd", (10, 17, 12), (3, 5, 12), "--codec", "lz4", "--sparse")
        self.line = numpy.arange(100_003, dtype="<u8") ** 2
        self.make_array(self.line, "line.b2nd", (30_000,), (1_000,), "--codec", "blosclz",
                        "--filter", "bitshuffle")

    def arrays(self):
        return {"plane": self.plane, "cube": self.cube, "line": self.line}.items()

    def test_numpy_load(self):
        with self.mount() as mount:
            self.assertEqual(self.listing(mount), ["cube.npy", "line.npy", "plane.npy"])
            for name, array in self.arrays():
                loaded = numpy.load(mount.path(f"{name}.npy"))
                self.assertEqual(loaded.dtype, array.dtype, name)
                numpy.testing.assert_array_equal(loaded, array)

    def test_the_file_is_the_one_that_numpy_writes(self):
        with self.mount() as mount:
            for name, array in self.arrays():
                saved = self.folder / f"{name}.npy"
                numpy.save(saved, array)
                self.assert_same_bytes(mount.path(f"{name}.npy").read_bytes(), saved.read_bytes(), name)
                self.assertEqual(mount.path(f"{name}.npy").stat().st_size, saved.stat().st_size)

    def test_numpy_load_mapped(self):
        with self.mount() as mount:
            for name, array in self.arrays():
                mapped = numpy.load(mount.path(f"{name}.npy"), mmap_mode="r")
                numpy.testing.assert_array_equal(mapped[-1], array[-1])
                numpy.testing.assert_array_equal(mapped[3:20:2], array[3:20:2])
                numpy.testing.assert_array_equal(mapped[..., -5:], array[..., -5:])
                numpy.testing.assert_array_equal(mapped[::-7], array[::-7])
                numpy.testing.assert_array_equal(mapped, array)
                del mapped

    def test_any_range_of_bytes(self):
        rng = numpy.random.default_rng(5)
        for options in ((), ("--cache-size", "100K"), ("--threads", "1")):
            with self.mount(*options) as mount:
                for name, array in self.arrays():
                    raw = array.tobytes()
                    with open(mount.path(f"{name}.npy"), "rb", buffering=0) as file:
                        skip = os.fstat(file.fileno()).st_size - len(raw)
                        for _ in range(60):
                            offset = int(rng.integers(len(raw)))
                            size = int(rng.choice((1, 7, 4096, 70_000)))
                            got = os.pread(file.fileno(), size, skip + offset)
                            self.assert_same_bytes(got, raw[offset:offset + size],
                                                   f"{name}: {size} at {offset}")

    def test_tools(self):
        with self.mount() as mount:
            saved = self.folder / "plane.npy"
            numpy.save(saved, self.plane)
            self.tool("cmp", saved, mount.path("plane.npy"))
            self.assertIn(b"NumPy", self.tool("file", "-b", mount.path("plane.npy")).stdout)
            self.tool("cp", mount.path("plane.npy"), self.folder / "copy.npy")
            self.tool("cmp", saved, self.folder / "copy.npy")
            head = self.tool("head", "-c", "10", mount.path("plane.npy")).stdout
            self.assertEqual(head[:6], b"\x93NUMPY")

    def test_attributes(self):
        with self.mount() as mount:
            real, shown = os.stat(self.source / "plane.b2nd"), mount.path("plane.npy").stat()
            self.assertEqual(shown.st_blocks, real.st_blocks)
            self.assertEqual(shown.st_mtime_ns, real.st_mtime_ns)
            for entry in os.scandir(mount.path()):
                self.assertEqual(entry.inode(), os.lstat(entry.path).st_ino, entry.name)

    def test_as_bytes(self):
        with self.mount("--arrays", "raw") as mount:
            self.assertEqual(self.listing(mount), ["cube", "line", "plane"])
            for name, array in self.arrays():
                self.assert_same_bytes(mount.path(name).read_bytes(), array.tobytes(), name)
                self.assertEqual(mount.path(name).stat().st_size, array.nbytes)
            mapped = numpy.memmap(mount.path("plane"), dtype=numpy.float32, mode="r", shape=(180, 200))
            numpy.testing.assert_array_equal(mapped[100, 20:90], self.plane[100, 20:90])
            del mapped
            self.assertFalse(mount.path("plane.npy").exists())

    def test_as_both(self):
        with self.mount("-o", "arrays=both") as mount:
            self.assertEqual(self.listing(mount), ["cube", "cube.npy", "line", "line.npy",
                                                   "plane", "plane.npy"])
            inodes = {os.stat(mount.path(name)).st_ino for name in self.listing(mount)}
            self.assertEqual(len(inodes), 6)
            for name, array in self.arrays():
                self.assert_same_bytes(mount.path(name).read_bytes(), array.tobytes(), name)
                numpy.testing.assert_array_equal(numpy.load(mount.path(f"{name}.npy")), array)
            for entry in os.scandir(mount.path()):
                self.assertEqual(entry.inode(), os.lstat(entry.path).st_ino, entry.name)

    def test_changed_while_mounted(self):
        with self.mount() as mount:
            numpy.testing.assert_array_equal(numpy.load(mount.path("plane.npy")), self.plane)
            other = (self.plane[:90] * 2).copy()
            self.make_array(other, "plane.b2nd", (40, 40), (20, 10))
            daemon.wait_for(lambda: mount.path("plane.npy").stat().st_size == 128 + other.nbytes,
                            "the new size")
            numpy.testing.assert_array_equal(numpy.load(mount.path("plane.npy")), other)


class Names(ArrayCase):
    def setUp(self):
        self.array = numpy.arange(1000, dtype="<i4")

    def add(self, name):
        self.make_array(self.array, name, (300,), (100,))

    def check(self, mount, npy=(), raw=(), plain=()):
        self.assertEqual(self.listing(mount), sorted([*npy, *raw, *plain]))
        for name in npy:
            numpy.testing.assert_array_equal(numpy.load(mount.path(name)), self.array)
        for name in raw:
            self.assertEqual(mount.path(name).read_bytes(), self.array.tobytes())
        for name in plain:
            self.assertEqual(mount.path(name).read_bytes(), b"plain")

    def test_a_real_entry_keeps_its_name(self):
        self.add("x.b2nd")
        self.add("y.b2nd")
        (self.source / "x.npy").write_bytes(b"plain")
        (self.source / "y").write_bytes(b"plain")
        with self.mount() as mount:
            self.check(mount, npy=["x.b2nd", "y.npy"], plain=["x.npy", "y"])
            self.assertFalse(mount.path("x").exists())
        with self.mount("--arrays", "raw") as mount:
            self.check(mount, raw=["x", "y.b2nd"], plain=["x.npy", "y"])
        with self.mount("--arrays", "both") as mount:
            self.check(mount, raw=["x.b2nd", "y.b2nd"], npy=["x.b2nd.npy", "y.b2nd.npy"],
                       plain=["x.npy", "y"])

    def test_an_array_precedes_a_frame_that_wants_the_same(self):
        self.add("x.b2nd")
        self.make_frame(b"plain", self.source / "x.npy.b2frame")
        with self.mount() as mount:
            self.check(mount, npy=["x.npy"], plain=["x.npy.b2frame"])

    def test_beside_a_frame_of_its_name(self):
        self.add("x.b2nd")
        self.make_frame(b"plain", self.source / "x.b2frame")
        with self.mount() as mount:
            self.check(mount, npy=["x.npy"], plain=["x"])
        with self.mount("--arrays", "both") as mount:
            self.check(mount, npy=["x.b2nd.npy"], raw=["x.b2nd"], plain=["x.b2frame"])

    def test_keep_suffix(self):
        self.add("x.b2nd")
        with self.mount("--keep-suffix") as mount:
            self.check(mount, npy=["x.b2nd"])
        with self.mount("--keep-suffix", "--arrays", "raw") as mount:
            self.check(mount, raw=["x.b2nd"])
        with self.mount("--keep-suffix", "--arrays", "both") as mount:
            self.check(mount, raw=["x.b2nd"], npy=["x.b2nd.npy"])

    def test_an_array_under_a_frame_s_suffix_is_a_frame(self):
        """Shows its chunks one after the other, in blocks."""
        self.add("x.b2nd")
        shutil.copyfile(self.source / "x.b2nd", self.source / "y.b2frame")
        with self.mount() as mount:
            self.assertEqual(self.listing(mount), ["x.npy", "y"])
            self.assertEqual(mount.path("y").stat().st_size, 4 * 300 * 4)

    def test_a_frame_under_an_array_s_suffix_is_a_frame(self):
        self.make_frame(b"plain", self.source / "x.b2nd")
        with self.mount() as mount:
            self.check(mount, plain=["x"])

    def test_a_file_that_is_no_frame_is_itself(self):
        (self.source / "x.b2nd").write_bytes(b"plain")
        (self.source / "folder.b2nd").mkdir()
        with self.mount() as mount:
            self.assertEqual(self.listing(mount), ["folder.b2nd", "x.b2nd"])
            self.assertEqual(mount.path("x.b2nd").read_bytes(), b"plain")


class Dtypes(ArrayCase):
    def test_every_kind_of_item(self):
        structured = numpy.zeros(50, dtype=[("a", "<i4"), ("b", "<f8", (3,)), ("c", "|S5")])
        structured["a"] = numpy.arange(50)
        structured["c"] = b"text"
        arrays = {
            "bool": numpy.arange(50) % 3 == 0,
            "complex": numpy.arange(50).astype("<c16") * 1j,
            "half": numpy.arange(50).astype("<f2"),
            "big": numpy.arange(50).astype(">f8"),
            "text": numpy.array([f"item {i}" for i in range(50)], dtype="<U9"),
            "bytes": numpy.array([f"{i}" for i in range(50)], dtype="|S3"),
            "time": numpy.arange(50).astype("<M8[ms]"),
            "span": numpy.arange(50).astype("<m8[ns]"),
            "opaque": numpy.frombuffer(data.noise(50 * 12), dtype="|V12"),
        }
        for name, array in arrays.items():
            self.make_array(array, f"{name}.b2nd", (20,), (8,))
        self.make_array(structured, "structured.b2nd", (20,), (8,), dtype=str(structured.dtype.descr))
        with self.mount() as mount:
            for name, array in {**arrays, "structured": structured}.items():
                with self.subTest(name):
                    loaded = numpy.load(mount.path(f"{name}.npy"))
                    self.assertEqual(loaded.dtype, array.dtype)
                    self.assertEqual(loaded.tobytes(), array.tobytes())

    def test_shapes_of_few_items(self):
        for name, shape in {"none": (0,), "no_rows": (0, 4), "no_columns": (3, 0), "one": (1, 1, 1)}.items():
            self.make_array(numpy.ones(shape, "<f4"), f"{name}.b2nd", (2,) * len(shape),
                            (1,) * len(shape))
        layer = frames.array_layer((), (), (), "<i4")
        (self.source / "scalar.b2nd").write_bytes(
            frames.frame([frames.stored(struct.pack("<i", -5), 4)], 4, 4, 4, {"b2nd": layer}))
        with self.mount() as mount:
            for name, shape in {"none": (0,), "no_rows": (0, 4), "no_columns": (3, 0),
                                "one": (1, 1, 1)}.items():
                loaded = numpy.load(mount.path(f"{name}.npy"))
                self.assertEqual(loaded.shape, shape)
            scalar = numpy.load(mount.path("scalar.npy"))
            self.assertEqual(scalar.shape, ())
            self.assertEqual(int(scalar), -5)


class Damage(ArrayCase):
    def setUp(self):
        self.array = numpy.arange(80_000, dtype="<i4").reshape(200, 400)
        # Each chunk has whole rows, so that it is one range of the file.
        self.frame = self.make_array(self.array, "x.b2nd", (50, 400), (10, 100), "--sparse")

    def read_row(self, path, row):
        with open(path, "rb", buffering=0) as file:
            try:
                # Whole pages inside the chunk of the row.
                return os.pread(file.fileno(), 4096, 128 + row * 1600 + 8192)
            except OSError as error:
                return error.errno

    def check_rows(self, path, lost):
        raw = self.array.tobytes()
        for chunk in range(4):
            offset = chunk * 50 * 1600 + 8192
            wanted = errno.EIO if chunk == lost else raw[offset:offset + 4096]
            self.assertEqual(self.read_row(path, chunk * 50), wanted, f"chunk {chunk}")

    def test_a_missing_chunk_spoils_its_own_range(self):
        (self.frame / "00000002.chunk").unlink()
        with self.mount() as mount:
            self.check_rows(mount.path("x.npy"), 2)
            self.assertIn("chunk 2", mount.log())

    def test_blocks_of_another_size_spoil_their_own_range(self):
        chunk = self.frame / "00000001.chunk"
        content = bytearray(chunk.read_bytes())
        self.assertEqual(struct.unpack_from("<i", content, 8)[0], 4000)
        # A chunk with the same bytes but other blocks, as another writer might choose.
        plain = frames.stored(self.array[50:100].tobytes(), 4)
        chunk.write_bytes(plain)  # uncompressed, and therefore without blocks
        with self.mount() as mount:
            self.assertIsInstance(self.read_row(mount.path("x.npy"), 50), bytes)
        struct.pack_into("<i", content, 8, 2000)
        chunk.write_bytes(content)
        with self.mount() as mount:
            self.check_rows(mount.path("x.npy"), 1)

    def test_a_write_keeps_the_blocks_of_the_array(self):
        """The header of the frame names another block size than the metalayer."""
        blocksize_at = 53
        index = self.frame / "chunks.b2frame"
        content = bytearray(index.read_bytes())
        self.assertEqual(struct.unpack_from(">i", content, blocksize_at)[0], 4000)
        for blocksize in (0, 8000):
            with self.subTest(blocksize):
                struct.pack_into(">i", content, blocksize_at, blocksize)
                index.write_bytes(content)
                with self.mount() as mount:
                    array = numpy.load(mount.path("x.npy"), mmap_mode="r+")
                    array[60] = self.array[60]
                    array.flush()
                    del array
                with self.mount() as mount:
                    self.assertTrue((numpy.load(mount.path("x.npy")) == self.array).all())
                content = bytearray(index.read_bytes())

    def test_an_array_that_makes_no_sense(self):
        layers = {"ndim": frames.array_layer((10,) * 17, (5,) * 17, (5,) * 17, "<i4"),
                  "more": frames.array_layer((1000, 400), (50, 400), (10, 100), "<i4"),
                  "zero": frames.array_layer((200, 400), (0, 400), (0, 100), "<i4"),
                  "cut": frames.array_layer((200, 400), (50, 400), (10, 100), "<i4")[:20]}
        for name, layer in layers.items():
            (self.source / f"{name}.b2nd").write_bytes(
                frames.frame([frames.ZERO] * 4, 320_000, 80_000, 4, {"b2nd": layer}))
        with self.mount() as mount:
            for name in layers:
                with self.subTest(name):
                    self.assertIn(name, self.listing(mount))
                    with self.assertRaises(OSError) as caught:
                        mount.path(name).read_bytes()
                    self.assertEqual(caught.exception.errno, errno.EIO)
            numpy.testing.assert_array_equal(numpy.load(mount.path("x.npy")), self.array)


if __name__ == "__main__":
    unittest.main()
