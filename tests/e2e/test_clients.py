"""Programs with their own file formats on a mount: they read the files they know."""

import os
import pathlib
import sqlite3
import unittest
import zipfile

import h5py
import numpy

import data
from case import MountCase

# No page size of a format divides these chunk and block sizes.
ODD = ("--chunk", "123464", "--block", "23456", "--typesize", "4")


class Clients(MountCase):
    def setUp(self):
        self.plain = self.folder / "plain"
        self.plain.mkdir()

    def pack_all(self, *options):
        """Packs every plain file into a frame of its name; half of the frames are sparse."""
        for i, path in enumerate(sorted(self.plain.rglob("*"))):
            target = self.source / path.relative_to(self.plain)
            if path.is_dir():
                target.mkdir()
                continue
            self.make_frame(path, target.with_name(target.name + ".b2frame"), *ODD, *options,
                            *(("--sparse",) if i % 2 else ()))

    def test_hdf5(self):
        rng = numpy.random.default_rng(3)
        walk = numpy.frombuffer(data.random_walk(300_000), dtype="<f4").reshape(300, 1000)
        with h5py.File(self.plain / "results.h5", "w") as file:
            file["whole"] = walk
            file.create_dataset("chunked", data=walk, chunks=(50, 100), compression="gzip")
            group = file.create_group("group")
            group["text"] = [f"entry {i}" for i in range(500)]
            group.attrs["unit"] = "metre"
        self.pack_all("--filter", "shuffle")
        with self.mount() as mount, h5py.File(mount.path("results.h5"), "r") as file:
            numpy.testing.assert_array_equal(file["whole"][...], walk)
            numpy.testing.assert_array_equal(file["chunked"][20:70, 5:900:7], walk[20:70, 5:900:7])
            for _ in range(50):
                row, column = rng.integers(300), rng.integers(1000)
                self.assertEqual(file["whole"][row, column], walk[row, column])
            self.assertEqual(file["group/text"][499], b"entry 499")
            self.assertEqual(file["group"].attrs["unit"], "metre")

    def make_database(self):
        database = sqlite3.connect(self.plain / "log.sqlite")
        database.execute("CREATE TABLE line (number INTEGER PRIMARY KEY, text TEXT)")
        lines = data.text(20_000).decode().splitlines()
        database.executemany("INSERT INTO line VALUES (?, ?)", enumerate(lines))
        database.execute("CREATE INDEX by_text ON line (text)")
        database.commit()
        database.close()
        return lines

    def test_sqlite(self):
        lines = self.make_database()
        self.pack_all()
        with self.mount("-o", "ro") as mount:
            shown = mount.path("log.sqlite")
            self.assertEqual(self.tool("sqlite3", shown, "PRAGMA integrity_check").stdout, b"ok\n")
            count = self.tool("sqlite3", shown, "SELECT count(*) FROM line WHERE text LIKE '%needle%'")
            self.assertEqual(int(count.stdout), sum("needle" in line for line in lines))
            database = sqlite3.connect(f"file:{shown}?mode=ro", uri=True)
            self.addCleanup(database.close)
            database.execute("PRAGMA mmap_size = 100000000")
            for number in (0, 777, 19_999):
                (found,) = database.execute("SELECT number FROM line WHERE text = ?", (lines[number],))
                self.assertEqual(found, (number,))
            with self.assertRaises(sqlite3.OperationalError):
                database.execute("DELETE FROM line")
            database.close()
            refused = self.tool("sqlite3", shown, "DELETE FROM line", check=False)
            self.assertIn(b"readonly", refused.stderr)

    def make_tree(self):
        (self.plain / "run/2024").mkdir(parents=True)
        (self.plain / "app.log").write_bytes(data.text(5_000))
        (self.plain / "noise").write_bytes(data.noise(300_001))
        (self.plain / "empty").write_bytes(b"")
        (self.plain / "run/2024/sparse.bin").write_bytes(data.sparse(1_500_000))
        (self.plain / "run/day.f32").write_bytes(data.random_walk(100_000))
        self.pack_all()

    def test_tar(self):
        self.make_tree()
        with self.mount() as mount:
            for i, options in enumerate(((), ("-S",), ("-z",))):
                archive, out = self.folder / "all.tar", self.folder / f"out{i}"
                out.mkdir()
                self.tool("tar", *options, "-C", mount.path(), "-cf", archive, ".")
                self.tool("tar", "-C", out, "-xf", archive)
                self.tool("diff", "-r", self.plain, out)

    def test_rsync(self):
        self.make_tree()
        copy = self.folder / "copy"
        with self.mount() as mount:
            self.tool("rsync", "-a", f"{mount.path()}/", copy)
            self.tool("diff", "-r", self.plain, copy)
            # Everything is up to date already, by time and size, and by content.
            for how in (), ("--checksum",):
                again = self.tool("rsync", "-ai", *how, f"{mount.path()}/", copy)
                self.assertEqual(again.stdout, b"")
            # Only the changed part is sent.
            with open(copy / "noise", "r+b") as file:
                file.write(b"changed")
            self.tool("rsync", "-a", "--no-whole-file", "--checksum", f"{mount.path()}/", copy)
        self.tool("diff", "-r", self.plain, copy)

    def test_file(self):
        self.make_tree()
        with zipfile.ZipFile(self.plain / "archive", "w") as archive:
            archive.writestr("inside", "text")
        self.make_database()
        self.pack_again("archive", "log.sqlite")
        with self.mount() as mount:
            for name in ("app.log", "empty", "archive", "log.sqlite"):
                self.assert_same_output(("file", "-b", name), self.plain, mount.path())
            self.assertIn(b"Zip archive", self.tool("file", "-b", mount.path("archive")).stdout)
            self.assertIn(b"SQLite", self.tool("file", "-b", mount.path("log.sqlite")).stdout)

    def pack_again(self, *names):
        for name in names:
            self.make_frame(self.plain / name, self.source / f"{name}.b2frame", *ODD)

    def test_unzip(self):
        with zipfile.ZipFile(self.plain / "archive.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("text", data.text(10_000))
            archive.writestr("folder/noise", data.noise(200_000))
        self.pack_all()
        with self.mount() as mount:
            self.tool("unzip", "-t", mount.path("archive.zip"))
            self.tool("unzip", "-q", mount.path("archive.zip"), "-d", self.folder / "out")
            self.assert_same_bytes((self.folder / "out/text").read_bytes(), data.text(10_000), "text")
            with zipfile.ZipFile(mount.path("archive.zip")) as archive:
                self.assert_same_bytes(archive.read("folder/noise"), data.noise(200_000), "noise")

    def test_executing(self):
        """A program in a frame can be executed if its mode allows it."""
        program = self.plain / "program"
        program.write_bytes(pathlib.Path("/bin/true").resolve().read_bytes())
        self.pack_all()
        frame = self.source / "program.b2frame"
        os.chmod(frame, 0o755)
        with self.mount() as mount:
            self.tool(mount.path("program"))
        os.chmod(frame, 0o644)
        with self.mount() as mount, self.assertRaises(PermissionError):
            self.tool(mount.path("program"))


if __name__ == "__main__":
    unittest.main()
