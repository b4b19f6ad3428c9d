"""New files in a mount become frames or plain files, depending on their names."""

import errno
import json
import os
import stat
import threading
import unittest

import daemon
from case import MountCase
from test_names import FRAME_DATA, PLAIN_DATA, listing


def create(path, mode=0o644, flags=os.O_WRONLY):
    os.close(os.open(path, flags | os.O_CREAT, mode))


class NewFiles(MountCase):
    def info(self, name):
        (described,) = json.loads(self.tool(daemon.FRAMEFS, "info", "--json", self.source / name).stdout)
        return described

    def test_a_new_file_is_a_frame(self):
        with self.mount() as mount:
            create(mount.path("a"), 0o640)
            os.mkdir(mount.path("d"))
            create(mount.path("d", "b.txt"), flags=os.O_RDWR | os.O_EXCL)
            os.mknod(mount.path("c"), stat.S_IFREG | 0o600)
            self.assertEqual(listing(mount.path()), ["a", "c", "d"])
            self.assertEqual(mount.path("a").stat().st_size, 0)
            self.assertEqual(mount.path("a").read_bytes(), b"")
            self.assertEqual(stat.S_IMODE(mount.path("a").stat().st_mode), 0o640)
        self.assertEqual(listing(self.source), ["a.b2frame", "c.b2frame", "d"])
        self.assertEqual(listing(self.source / "d"), ["b.txt.b2frame"])
        for name in ("a.b2frame", "c.b2frame", "d/b.txt.b2frame"):
            described = self.info(name)
            self.assertEqual((described["nbytes"], described["codec"], described["level"]), (0, "zstd", 2))
        self.assertEqual(stat.S_IMODE((self.source / "c.b2frame").stat().st_mode), 0o600)

    def test_rules(self):
        rules = ["*.log:codec=lz4,level=9,chunk-size=64K,typesize=4,filter=bitshuffle,block-size=8K",
                 "deep/*:codec=zlib,level=1", "*.l*:codec=blosclz"]
        options = [word for rule in rules for word in ("--rule", rule)]
        with self.mount(*options, "--plain", "*.txt", "--plain", "raw/*") as mount:
            for folder in ("deep", "raw", "raw/er"):
                os.mkdir(mount.path(folder))
            for name in ("a.log", "a.lag", "a.dat", "a.txt", "deep/a.txt", "deep/a.log", "deep/a",
                         "raw/a", "raw/er/a.log"):
                create(mount.path(name))
        found = self.info("a.log.b2frame")
        self.assertEqual([found[key] for key in ("codec", "level", "chunksize", "typesize", "blocksize")],
                         ["lz4", 9, 65536, 4, 8192])
        self.assertIn("bitshuffle", json.dumps(found["filters"]))
        self.assertEqual(self.info("a.lag.b2frame")["codec"], "blosclz")
        self.assertEqual(self.info("a.dat.b2frame")["codec"], "zstd")
        self.assertEqual(self.info("deep/a.b2frame")["codec"], "zlib")
        self.assertEqual(self.info("deep/a.log.b2frame")["codec"], "lz4")  # the first matching rule
        self.assertEqual(listing(self.source / "deep"), ["a.b2frame", "a.log.b2frame", "a.txt"])
        self.assertEqual(listing(self.source / "raw"), ["a", "er"])
        self.assertEqual(listing(self.source / "raw" / "er"), ["a.log"])

    def test_options_for_all_new_files(self):
        """They are those of pack, and a rule replaces what it names."""
        how = ("--codec", "lz4", "--level", "9", "--chunk-size", "64K", "--typesize", "4", "--filter", "bitshuffle",
               "--block-size", "8K", "--checksums")
        keys = ("codec", "level", "chunksize", "typesize", "blocksize", "filters")
        with self.mount(*how, "--rule", "*.log:codec=zlib,checksums=no") as mount:
            for name in ("a.dat", "a.log"):
                mount.path(name).write_bytes(b"0123" * 50_000)
            self.tool(daemon.FRAMEFS, "pack", *how, mount.path("a.dat"), "-o", self.folder / "packed.b2frame")
        names = ("a.dat.b2frame", self.folder / "packed.b2frame", "a.log.b2frame")
        found, packed, ruled = (self.info(name) for name in names)
        self.assertEqual([found[key] for key in keys], [packed[key] for key in keys])
        self.assertEqual([found[key] for key in keys[:5]], ["lz4", 9, 65536, 4, 8192])
        self.assertEqual([ruled[key] for key in keys[:5]], ["zlib", 9, 65536, 4, 8192])
        self.assertEqual([one["checksums"] for one in (found, packed)], [packed["checksums"]] * 2)
        self.assertNotEqual(found["checksums"], ruled["checksums"])

    def test_rules_in_mount_words(self):
        with self.mount("-o", "rw,rule=*.log:codec=lz4;clevel=1,plain=*.txt") as mount:
            create(mount.path("a.log"))
            create(mount.path("a.txt"))
        self.assertEqual(listing(self.source), ["a.log.b2frame", "a.txt"])
        self.assertEqual(self.info("a.log.b2frame")["codec"], "lz4")

    def test_a_suffix_that_is_taken(self):
        for suffix in (".b2frame", ".b2f"):
            (self.source / f"a{suffix}").write_bytes(b"no frame")
        for suffix in (".b2frame", ".b2f", ".b2", ".b2b"):
            (self.source / f"b{suffix}").write_bytes(b"no frame")
        with self.mount() as mount:
            create(mount.path("a"))
            create(mount.path("b"))  # plain from now on
            self.assertTrue(mount.path("a").exists())
            self.assertTrue(mount.path("b").exists())
        self.assertEqual([n for n in listing(self.source) if n.startswith("a")], ["a.b2", "a.b2f", "a.b2frame"])
        self.assertEqual((self.source / "b").stat().st_size, 0)

    def test_names_that_leave_no_room_for_a_suffix(self):
        with self.mount() as mount:
            for length in (247, 248, 252, 253, 255):
                create(mount.path("n" * length))
                self.assertEqual(mount.path("n" * length).stat().st_size, 0)
            with self.assertRaises(OSError) as caught:
                create(mount.path("n" * 256))
            self.assertEqual(caught.exception.errno, errno.ENAMETOOLONG)
        self.assertEqual(listing(self.source), sorted(["n" * 247 + ".b2frame", "n" * 248 + ".b2f",
                                                       "n" * 252 + ".b2", "n" * 253, "n" * 255]))

    def test_keep_suffix(self):
        with self.mount("--keep-suffix") as mount:
            create(mount.path("a.b2frame"))
            create(mount.path("b.txt"))
            self.assertEqual(listing(mount.path()), ["a.b2frame", "b.txt"])
            self.assertEqual(mount.path("a.b2frame").stat().st_size, 0)
            for name in ("c.b2nd", "c.b2z", "c.b2e", "c.b2lock"):
                with self.assertRaises(OSError) as caught:
                    create(mount.path(name))
                self.assertEqual(caught.exception.errno, errno.EPERM, name)
            os.rename(mount.path("a.b2frame"), mount.path("d.b2f"))
            with self.assertRaises(OSError) as caught:  # it would show the frame's own bytes there
                os.rename(mount.path("d.b2f"), mount.path("d.txt"))
            self.assertEqual(caught.exception.errno, errno.EPERM)
        self.assertEqual(listing(self.source), ["b.txt", "d.b2f"])
        self.assertEqual((self.source / "b.txt").stat().st_size, 0)
        self.assertGreater((self.source / "d.b2f").stat().st_size, 0)

    def test_exclusive_creation_is_exact(self):
        self.make_frame(FRAME_DATA, self.source / "there.b2frame")
        with self.mount() as mount:
            with self.assertRaises(FileExistsError):
                create(mount.path("there"), flags=os.O_WRONLY | os.O_EXCL)
            won = []

            def race(name):
                try:
                    create(mount.path(name), flags=os.O_WRONLY | os.O_EXCL)
                    won.append(name)
                except FileExistsError:
                    pass

            names = [f"r{i}" for i in range(50)]
            threads = [threading.Thread(target=lambda: [race(name) for name in names]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(won), sorted(names))
        self.assertEqual(len(listing(self.source)), 51)


class PlainFiles(MountCase):
    """Plain files are written unchanged."""

    def setUp(self):
        self.options = ["--plain", "*"]

    def test_written_and_read_back(self):
        data = os.urandom(300_000)
        with self.mount(*self.options) as mount:
            mount.path("a").write_bytes(data)
            with open(mount.path("a"), "r+b") as file:
                file.seek(100_000)
                file.write(b"middle")
                file.truncate(200_000)
            with open(mount.path("a"), "ab") as file:
                file.write(b"end")
            wanted = data[:100_000] + b"middle" + data[100_006:200_000] + b"end"
            self.assert_same_bytes(mount.path("a").read_bytes(), wanted, "in the mount")
            self.assert_same_bytes((self.source / "a").read_bytes(), wanted, "in SOURCE")
            mount.path("a").write_bytes(PLAIN_DATA)
            self.assertEqual((self.source / "a").read_bytes(), PLAIN_DATA)
            os.truncate(mount.path("a"), 5)
            self.assertEqual(mount.path("a").read_bytes(), PLAIN_DATA[:5])

    def test_a_new_file_is_written_whatever_its_mode(self):
        with self.mount(*self.options) as mount:
            fd = os.open(mount.path("a"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o400)
            os.write(fd, PLAIN_DATA)
            os.close(fd)
            self.assertEqual(mount.path("a").read_bytes(), PLAIN_DATA)
        self.assertEqual(stat.S_IMODE((self.source / "a").stat().st_mode), 0o400)

    def test_a_removed_file_can_be_written(self):
        with self.mount(*self.options) as mount:
            fd = os.open(mount.path("a"), os.O_CREAT | os.O_RDWR, 0o600)
            os.unlink(mount.path("a"))
            os.write(fd, PLAIN_DATA)
            os.ftruncate(fd, 10)
            self.assertEqual(os.pread(fd, 100, 0), PLAIN_DATA[:10])
            self.assertEqual((os.fstat(fd).st_size, os.fstat(fd).st_nlink), (10, 0))
            os.close(fd)
        self.assertEqual(listing(self.source), [])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_writing_takes_the_right_to_become_its_owner(self):
        os.chmod(self.folder, 0o755)
        os.chmod(self.source, 0o755)
        for name in ("write", "append", "truncate", "cut"):
            (self.source / name).write_bytes(PLAIN_DATA)
            os.chmod(self.source / name, 0o6777)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        script = "dd if=/dev/zero of=write bs=1 count=1 conv=notrunc; echo x >> append; : > truncate; " \
                 "truncate -s 3 cut"
        with self.mount(*self.options, "--allow-other") as mount:
            self.tool("sh", "-c", script, cwd=mount.path(), **nobody)
            for name in ("write", "append", "truncate", "cut"):
                for root in (mount.path(), self.source):
                    self.assertEqual(stat.S_IMODE((root / name).stat().st_mode), 0o777, name)
            denied = self.tool("sh", "-c", ": > new", cwd=mount.path(), check=False, **nobody)
            self.assertIn(b"Permission denied", denied.stderr)


if __name__ == "__main__":
    unittest.main()
