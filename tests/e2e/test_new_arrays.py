"""The key `arrays` of a rule: the files of numpy.save() become arrays, and keep their bytes."""

import errno
import os
import pathlib
import random
import shutil
import threading
import unittest

import numpy

import data
from command_case import CommandCase
from daemon import wait_for

RULE = ("--rule", "*.npy:arrays=yes")
SEED = int(os.environ.get("FRAMEFS_SEED", random.randrange(1 << 32)))


def npy_bytes(folder, array, **options):
    """The file that NumPy writes."""
    path = pathlib.Path(folder) / "reference.npy"
    numpy.save(path, array, **options)
    return path.read_bytes()


class NewArrayCase(CommandCase):
    def stored(self):
        return sorted(entry.name for entry in self.source.iterdir())

    def wait_for_array(self, stem):
        """Waits until a closed file is an array."""
        wait_for(lambda: self.stored().count(f"{stem}.b2nd") and f"{stem}.npy.b2frame" not in self.stored(),
                 f"{stem}.b2nd among {self.stored()}")

    def walk(self, *shape, dtype="f4"):
        items = int(numpy.prod(shape))
        return numpy.frombuffer(data.random_walk(items), "f4")[:items].astype(dtype).reshape(shape)


class Saved(NewArrayCase):
    def arrays(self):
        rng = numpy.random.default_rng(SEED)
        return {"line": self.walk(100_003), "plane": self.walk(300, 517, dtype="<f8"), "cube": self.walk(40, 30, 50),
                "big": rng.integers(0, 1000, (70, 90)).astype(">i4"), "flags": rng.integers(0, 2, 5000) == 1,
                "text": numpy.array([["one", "two"], ["three", "\N{SNOWMAN}"]]), "one": numpy.array([7.5]),
                "days": numpy.arange("2020-01", "2021-01", dtype="datetime64[D]"), "zeros": numpy.zeros((500, 600)),
                "complex": self.walk(5000).astype("c16"), "raw": numpy.frombuffer(rng.bytes(7000), "V7")}

    def test_a_saved_array_becomes_an_array_and_keeps_its_bytes(self):
        with self.mount(*RULE) as mount:
            for name, array in self.arrays().items():
                numpy.save(mount.path(f"{name}.npy"), array)
            for name in self.arrays():
                self.wait_for_array(name)
            self.assertEqual(sorted(os.listdir(mount.path())), sorted(f"{name}.npy" for name in self.arrays()))
            for name, array in self.arrays().items():
                self.assert_same_bytes(mount.path(f"{name}.npy").read_bytes(), npy_bytes(self.folder, array), name)
                numpy.testing.assert_array_equal(numpy.load(mount.path(f"{name}.npy")), array)
        for name, array in self.arrays().items():
            (said,) = self.info(self.source / f"{name}.b2nd")
            self.assertEqual((said["shape"], said["array"]["dtype"]), (list(array.shape), array.dtype.str), name)
        self.framefs("check", self.source)

    def test_an_array_is_the_one_that_pack_makes(self):
        """Shapes of chunks and blocks come from the same place."""
        array = self.walk(600, 700)
        with self.mount("--rule", "*.npy:arrays=yes,chunksize=512K,codec=lz4,checksums=yes") as mount:
            numpy.save(mount.path("a.npy"), array)
        numpy.save(self.folder / "a.npy", array)
        self.framefs("pack", "--chunk-size", "512K", "--codec", "lz4", "--checksums", self.folder / "a.npy")
        (ours,) = self.info(self.source / "a.b2nd")
        (packed,) = self.info(self.folder / "a.b2nd")
        for key in ("array", "codec", "typesize", "checksums", "chunks"):
            self.assertEqual(ours[key], packed[key], key)
        self.framefs("check", self.source / "a.b2nd")

    def test_an_array_of_one_item(self):
        """numpy.save() of a number: an array without dimensions."""
        arrays = {"number": numpy.array(5.0), "byte": numpy.array(7, dtype="u1"), "text": numpy.array("a word"),
                  "time": numpy.array("2024-01-01", dtype="M8[D]")}
        with self.mount(*RULE) as mount:
            for name, array in arrays.items():
                numpy.save(mount.path(f"{name}.npy"), array)
        self.assertEqual(self.stored(), sorted(f"{name}.b2nd" for name in arrays))
        for name, array in arrays.items():
            (said,) = self.info(self.source / f"{name}.b2nd")
            self.assertEqual((said["shape"], said["chunks"], said["nbytes"]), ([], 1, array.itemsize), name)
            path = self.folder / f"{name}.npy"
            numpy.save(path, array)
            self.framefs("pack", path)
            with self.mount() as mount:
                self.assert_same_bytes(mount.path(f"{name}.npy").read_bytes(), path.read_bytes(), name)
            self.framefs("unpack", self.folder / f"{name}.b2nd", "-o", self.folder / "again.npy")
            self.assert_same_bytes((self.folder / "again.npy").read_bytes(), path.read_bytes(), name)
            (self.folder / "again.npy").unlink()
        with self.mount(*RULE) as mount:
            mapped = numpy.load(mount.path("number.npy"), mmap_mode="r+")
            mapped[...] = 6.0
            mapped.flush()
            del mapped
            numpy.save(mount.path("byte.npy"), numpy.arange(100))  # another shape takes its place
        with self.mount() as mount:
            self.assertEqual(float(numpy.load(mount.path("number.npy"))), 6.0)
            numpy.testing.assert_array_equal(numpy.load(mount.path("byte.npy")), numpy.arange(100))
        self.framefs("check", self.source)

    def test_unmounting_finishes_the_work(self):
        arrays = {f"a{i}": self.walk(200, 300 + i) for i in range(20)}
        with self.mount(*RULE) as mount:
            for name, array in arrays.items():
                numpy.save(mount.path(f"{name}.npy"), array)
        self.assertEqual(self.stored(), sorted(f"{name}.b2nd" for name in arrays))

    def test_larger_than_the_memory_for_it(self):
        """The rows of chunks side by side do not fit in the window for decoded rows."""
        array = self.walk(48, 400_000)
        with self.mount("--cache-size", "8M", *RULE) as mount:
            numpy.save(mount.path("wide.npy"), array)
            self.wait_for_array("wide")
            numpy.testing.assert_array_equal(numpy.load(mount.path("wide.npy")), array)

    def test_attributes_stay(self):
        with self.mount(*RULE) as mount:
            path = mount.path("a.npy")
            with open(path, "wb") as file:
                numpy.save(file, self.walk(50, 60))
                os.fchmod(file.fileno(), 0o640)
                os.setxattr(path, "user.note", b"kept")
                os.setxattr(path, "user.framefs.vlmeta.units", b"kelvin")
                os.utime(path, ns=(10**18, 10**18 + 5))
            self.wait_for_array("a")
            state = path.stat()
            self.assertEqual((state.st_mode & 0o777, state.st_mtime_ns, state.st_nlink), (0o640, 10**18 + 5, 1))
            self.assertEqual(os.getxattr(path, "user.note"), b"kept")
            self.assertEqual(os.getxattr(path, "user.framefs.vlmeta.units"), b"kelvin")

    def test_mapped_writes_to_the_result(self):
        array = self.walk(200, 300)
        with self.mount(*RULE) as mount:
            numpy.save(mount.path("a.npy"), array)
            self.wait_for_array("a")
            mapped = numpy.load(mount.path("a.npy"), mmap_mode="r+")
            mapped[5:100, 7] = -1
            mapped.flush()
            del mapped
        array = array.copy()
        array[5:100, 7] = -1
        with self.mount() as mount:
            numpy.testing.assert_array_equal(numpy.load(mount.path("a.npy")), array)

    def test_the_name_is_there_throughout(self):
        """Another process opens, reads and lists the file while it becomes an array."""
        array = self.walk(90, 1000)
        wanted = npy_bytes(self.folder, array)
        with self.mount(*RULE) as mount:
            for round_number in range(15):
                name = f"a{round_number}"
                path = mount.path(f"{name}.npy")
                path.write_bytes(wanted)
                while f"{name}.b2nd" not in self.stored() or f"{name}.npy.b2frame" in self.stored():
                    self.assertEqual(path.stat().st_size, len(wanted))
                    self.assertIn(path.name, os.listdir(mount.path()))
                    self.assert_same_bytes(path.read_bytes(), wanted, name)
                self.assert_same_bytes(path.read_bytes(), wanted, name)

    def test_without_the_rule_nothing_changes(self):
        array = self.walk(50, 60)
        with self.mount("--rule", "b*:arrays=yes", "--rule", "*.npy:arrays=no") as mount:
            for name in ("a.npy", "b.npy", "b.dat"):
                with open(mount.path(name), "wb") as file:
                    numpy.save(file, array)
        self.assertEqual(self.stored(), ["a.npy.b2frame", "b.b2nd", "b.dat.b2frame"])
        with self.mount() as mount:
            with self.assertRaises(OSError) as caught:
                numpy.save(mount.path("b.npy"), array[:10])
            self.assertEqual(caught.exception.errno, errno.EPERM)
            numpy.testing.assert_array_equal(numpy.load(mount.path("b.npy")), array)

    def test_usage(self):
        for option in ("--arrays=raw", "--arrays=both", "--keep-suffix"):
            self.assert_refused(self.source, self.mountpoint, option, *RULE, cause="needs --arrays=npy")
        self.assert_refused(self.source, self.mountpoint, "--rule", "*.npy:arrays=maybe", cause="the value of arrays is yes|no")


class Bytes(NewArrayCase):
    def files(self):
        """Files that an array could not give back, byte for byte."""
        array = self.walk(30, 40)
        plain = npy_bytes(self.folder, array)
        header = plain[:128]
        return {"fortran": npy_bytes(self.folder, numpy.asfortranarray(array)),
                "object": npy_bytes(self.folder, numpy.array([{"a": 1}, None]), allow_pickle=True),
                "record": npy_bytes(self.folder, numpy.zeros(10, dtype=[("a", "i4"), ("b", "f8")])),
                "nothing": npy_bytes(self.folder, array[:0]), "none": npy_bytes(self.folder, array[:, :0]),
                "padding": header.replace(b" \n", b"\n").replace(b"NUMPY\x01\x00v", b"NUMPY\x01\x00u") + plain[128:],
                "blanks": header.replace(b"}  ", b" } ") + plain[128:], "short": plain[:-1], "long": plain + b"x",
                "cut": plain[:100], "empty": b"", "text": data.text(100)}

    def test_other_files_stay_as_they_are(self):
        files = self.files()
        with self.mount(*RULE) as mount:
            for name, plain in files.items():
                mount.path(f"{name}.npy").write_bytes(plain)
        self.assertEqual(self.stored(), sorted(f"{name}.npy.b2frame" for name in files))
        with self.mount(*RULE) as mount:
            for name, plain in files.items():
                self.assert_same_bytes(mount.path(f"{name}.npy").read_bytes(), plain, name)

    def test_a_name_that_is_taken(self):
        (self.source / "a.b2nd").write_bytes(b"not an array")
        plain = npy_bytes(self.folder, self.walk(50, 60))
        with self.mount(*RULE) as mount:
            mount.path("a.npy").write_bytes(plain)
            self.assert_same_bytes(mount.path("a.npy").read_bytes(), plain, "a.npy")
        self.assertEqual(self.stored(), ["a.b2nd", "a.npy.b2frame"])
        self.assertEqual((self.source / "a.b2nd").read_bytes(), b"not an array")


    def test_damaged_bytes_get_no_new_checksum(self):
        """Uncompressed noise, so that a damaged byte decodes to another byte."""
        array = numpy.frombuffer(os.urandom(50_000), "u1")
        with self.mount("--rule", "*.npy:checksums=yes,clevel=0") as mount:
            numpy.save(mount.path("b.npy"), array)
        stored = bytearray((self.source / "b.npy.b2frame").read_bytes())
        stored[stored.index(array.tobytes()[20_000:20_100]) + 50] ^= 1
        (self.source / "b.npy.b2frame").write_bytes(stored)
        with self.mount(*RULE) as mount:
            os.rename(mount.path("b.npy"), mount.path("a.npy"))
        self.assertEqual(self.stored(), ["a.npy.b2frame"])
        self.framefs("check", self.source, code=1)


class Replaced(NewArrayCase):
    def test_saving_over_an_array(self):
        """Shape and type may change, also to those of a file that stays bytes."""
        states = [self.walk(50, 60), self.walk(70), self.walk(30, 20, 10, dtype=">f8"),
                  numpy.asfortranarray(self.walk(50, 60)), self.walk(50, 60), numpy.array(3), self.walk(2000, 20)]
        with self.mount(*RULE) as mount:
            os.mkdir(mount.path("dir"))
            for array in states:
                for name in ("a.npy", "dir/b.npy"):
                    numpy.save(mount.path(name), array)
                    self.assert_same_bytes(mount.path(name).read_bytes(), npy_bytes(self.folder, array), array.shape)
                if array.flags.c_contiguous and array.ndim:
                    self.wait_for_array("a")
        self.assertEqual(self.stored(), ["a.b2nd", "dir"])
        with self.mount() as mount:
            self.assert_same_bytes(mount.path("dir/b.npy").read_bytes(), npy_bytes(self.folder, states[-1]), "b")

    def test_truncating_to_nothing(self):
        numpy.save(self.folder / "a.npy", self.walk(50, 60))
        self.framefs("pack", self.folder / "a.npy", "-o", self.source / "a.b2nd")
        with self.mount(*RULE) as mount:
            path = mount.path("a.npy")
            with open(path, "r+b") as file:
                for size in (0, 10, 100_000):  # through a handle
                    with self.assertRaises(OSError) as caught:
                        os.ftruncate(file.fileno(), size)
                    self.assertEqual(caught.exception.errno, errno.EPERM)
            with self.assertRaises(OSError) as caught:
                os.truncate(path, 10)
            self.assertEqual(caught.exception.errno, errno.EPERM)
            os.chmod(path, 0o600)
            os.truncate(path, 0)
            self.assertEqual((path.stat().st_size, path.stat().st_mode & 0o777), (0, 0o600))
            self.assertEqual(path.read_bytes(), b"")
            self.assertEqual(os.listdir(mount.path()), ["a.npy"])
        self.assertEqual(self.stored(), ["a.npy.b2frame"])

    def test_renaming_over_an_array(self):
        with self.mount(*RULE) as mount:
            for number, temporary in enumerate(("a.tmp", "b.npy", "a.npy.part", "c.npy")):
                array = self.walk(30 + number, 40)
                with open(mount.path(temporary), "wb") as file:
                    numpy.save(file, array)
                if temporary == "c.npy":
                    self.wait_for_array("c")
                os.rename(mount.path(temporary), mount.path("a.npy"))
                self.assert_same_bytes(mount.path("a.npy").read_bytes(), npy_bytes(self.folder, array), temporary)
                self.wait_for_array("a")
                self.assertEqual(os.listdir(mount.path()), ["a.npy"])
                self.assert_same_bytes(mount.path("a.npy").read_bytes(), npy_bytes(self.folder, array), temporary)
        self.assertEqual(self.stored(), ["a.b2nd"])

    def test_readers_of_a_replaced_array_keep_it(self):
        old, new = self.walk(50, 60), self.walk(500, 60)
        with self.mount(*RULE) as mount:
            numpy.save(mount.path("a.npy"), old)
            self.wait_for_array("a")
            mapped = numpy.load(mount.path("a.npy"), mmap_mode="r")
            with open(mount.path("a.npy"), "rb", buffering=0) as reader:
                numpy.save(mount.path("a.npy"), new)
                self.assert_same_bytes(reader.read(), npy_bytes(self.folder, old), "reader")
                self.assertEqual(os.fstat(reader.fileno()).st_size, len(npy_bytes(self.folder, old)))
            numpy.testing.assert_array_equal(mapped, old)
            del mapped
            numpy.testing.assert_array_equal(numpy.load(mount.path("a.npy")), new)


class Handles(NewArrayCase):
    def test_an_open_file_waits(self):
        """No handle ever belongs to another file than its name."""
        old, new = npy_bytes(self.folder, self.walk(50, 60)), npy_bytes(self.folder, self.walk(50, 60) + 1)
        with self.mount(*RULE) as mount:
            path = mount.path("a.npy")
            path.write_bytes(old)
            reader = os.open(path, os.O_RDONLY)
            writer = os.open(path, os.O_RDWR)
            try:
                mount.path("b.npy").write_bytes(old)
                self.wait_for_array("b")  # which was closed later than a.npy
                self.assertIn("a.npy.b2frame", self.stored())
                os.pwrite(writer, new, 0)
                self.assert_same_bytes(os.pread(reader, len(new) + 1, 0), new, "the reader")
                os.close(writer)
                writer = None
                mount.path("c.npy").write_bytes(old)
                self.wait_for_array("c")
                self.assertIn("a.npy.b2frame", self.stored())
                self.assert_same_bytes(os.pread(reader, len(new) + 1, 0), new, "the reader")
            finally:
                os.close(reader)
                if writer is not None:
                    os.close(writer)
            self.wait_for_array("a")
            self.assert_same_bytes(path.read_bytes(), new, "the array")

    def test_hard_links(self):
        array = self.walk(50, 60)
        with self.mount("--attr-timeout", "0", *RULE) as mount:
            a, b = mount.path("a.npy"), mount.path("b.npy")
            with open(a, "wb") as file:
                numpy.save(file, array)
                os.link(a, b)
            mount.path("c.npy").write_bytes(b.read_bytes())
            self.wait_for_array("c")
            self.assertEqual(self.stored(), ["a.npy.b2frame", "b.npy.b2frame", "c.b2nd"])
            self.assertEqual(a.stat().st_ino, b.stat().st_ino)
            with open(b, "r+b") as file:
                file.seek(-4, 2)
                file.write(b"1234")
            self.assertEqual(a.read_bytes()[-4:], b"1234")
            b.unlink()
            with open(a, "r+b"):
                pass
            self.wait_for_array("a")
            os.link(a, b)  # now of an array
            with self.assertRaises(OSError) as caught:
                numpy.save(a, array)
            self.assertEqual(caught.exception.errno, errno.EPERM)
            self.assertEqual((a.read_bytes(), a.stat().st_nlink), (b.read_bytes(), 2))

    def test_writers_beside_each_other(self):
        """Threads save, read, map and rename a few files: each has bytes that were saved."""
        states = [self.walk(rows, 40) + rows for rows in (10, 50, 200, 800)]
        wanted = {npy_bytes(self.folder, array) for array in states}
        problems = []

        def work(mount, number):
            rng = random.Random(SEED + number)
            try:
                for round_number in range(40):
                    path = mount.path(f"{rng.choice('abc')}.npy")
                    temporary = mount.path(f"t{number}.npy")
                    numpy.save(temporary, rng.choice(states))
                    if rng.random() < 0.3:
                        numpy.load(temporary, mmap_mode="r+").flush()
                    os.rename(temporary, path)
                    got = path.read_bytes()
                    if got not in wanted:
                        problems.append(f"thread {number}, round {round_number}: {len(got)} bytes of {path.name}")
            except Exception as error:  # pylint: disable=broad-except
                problems.append(f"thread {number}: {error!r}")

        with self.mount(*RULE) as mount:
            threads = [threading.Thread(target=work, args=(mount, number)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(problems, [], f"seed {SEED}")
        self.assertEqual([name for name in self.stored() if not name.endswith(".b2nd")], [])


class Killed(NewArrayCase):
    def test_synced_bytes_survive(self):
        """The daemon is killed at random moments around the conversion."""
        rng = random.Random(SEED)
        synced = {}
        for round_number in range(12):
            mount = self.mount(*RULE, "--commit-interval", "1")
            mount.__enter__()  # pylint: disable=unnecessary-dunder-call
            try:
                self.change_and_check(mount, rng, synced, round_number)
                threading.Event().wait(rng.random() * 0.4)
            finally:
                mount.kill()
            for leftover in self.source.glob("*.npy.b2frame"):
                # The array has just taken its place.
                if (self.source / leftover.name.replace(".npy.b2frame", ".b2nd")).exists():
                    leftover.unlink()
            self.framefs("check", self.source)

    def change_and_check(self, mount, rng, synced, round_number):
        found = {path.name: path.read_bytes() for path in mount.path().iterdir()}
        self.assertEqual(sorted(found), sorted(synced), f"seed {SEED}")
        for name, state in synced.items():
            self.assert_same_bytes(found[name], state, f"{name}, seed {SEED}")
        for name in ("a.npy", "b.npy", "c.npy"):
            state = npy_bytes(self.folder, self.walk(rng.randrange(1, 300), 40) + round_number)
            path = mount.path(rng.choice([name, "new"]))
            with open(path, "wb") as file:
                file.write(state)
                file.flush()
                os.fsync(file.fileno())
            if path.name == "new":
                os.rename(path, mount.path(name))
            synced[name] = state


class Model(NewArrayCase):
    def test_random_operations(self):
        """The same changes to a mount and to a plain directory leave the same bytes."""
        rng = random.Random(SEED)
        plain = self.folder / "plain"
        plain.mkdir()
        names = ["a.npy", "b.npy", "c.dat", "d.npy"]

        def save(folder, name, array):
            with open(folder / name, "wb") as file:
                numpy.save(file, array)

        def patch(folder, name, at, piece):
            with open(folder / name, "r+b") as file:
                file.seek(at)
                file.write(piece)

        with self.mount(*RULE) as mount:
            handles = {}
            for step in range(300):
                name, other = rng.choice(names), rng.choice(names)
                kind = rng.choice(["save", "save", "fortran", "patch", "rename", "open", "close", "remove", "wait"])
                array = self.walk(rng.randrange(1, 200), rng.randrange(1, 50), dtype=rng.choice(["f4", ">f8", "i2"]))
                what = f"step {step}: {kind} {name} {other}, seed {SEED}"
                exists = (plain / name).exists()
                is_array = exists and (self.source / name.replace(".npy", ".b2nd")).exists()
                if kind == "save":
                    for folder in (plain, mount.path()):
                        save(folder, name, array)
                elif kind == "fortran":
                    for folder in (plain, mount.path()):
                        save(folder, name, numpy.asfortranarray(array))
                elif kind == "patch" and exists and not is_array and name not in handles:
                    size = (plain / name).stat().st_size
                    at, piece = rng.randrange(size), os.urandom(rng.randrange(1, 30))
                    try:
                        patch(mount.path(), name, at, piece)
                        patch(plain, name, at, piece)
                    except PermissionError:  # it has become an array
                        pass
                elif kind == "rename" and exists and name[-3:] == other[-3:] and name != other \
                        and not {name, other} & set(handles):
                    for folder in (plain, mount.path()):
                        os.rename(folder / name, folder / other)
                elif kind == "open" and exists and name not in handles:
                    handles[name] = [os.open(folder / name, os.O_RDONLY) for folder in (plain, mount.path())]
                elif kind == "close" and name in handles:
                    for handle in handles.pop(name):
                        os.close(handle)
                elif kind == "remove" and exists and name not in handles:
                    for folder in (plain, mount.path()):
                        os.remove(folder / name)
                elif kind == "wait" and rng.random() < 0.2:
                    save(plain, "z.npy", array)
                    save(mount.path(), "z.npy", array)
                    self.wait_for_array("z")
                self.assertEqual(sorted(os.listdir(mount.path())), sorted(os.listdir(plain)), what)
                for path in plain.iterdir():
                    self.assert_same_bytes(mount.path(path.name).read_bytes(), path.read_bytes(), what)
            for pair in handles.values():
                for handle in pair:
                    os.close(handle)
        with self.mount("--ro") as mount:
            for path in plain.iterdir():
                self.assert_same_bytes(mount.path(path.name).read_bytes(), path.read_bytes(), f"seed {SEED}")
        shutil.rmtree(plain)


if __name__ == "__main__":
    unittest.main()
