"""One frame as all of SOURCE: on a directory or on a file, for all kinds of frames."""

import errno
import os
import subprocess
import unittest

import numpy

import daemon
import data
import frames
from case import MountCase

CONTENT = data.text(3_000)


class OneFrame(MountCase):
    def setUp(self):
        self.array = numpy.arange(6_000, dtype="<f4").reshape(60, 100)
        self.target = self.folder / "target.bin"
        self.target.write_bytes(b"underneath")

    def make_array(self, name, *options):
        return self.make_frame(self.array.tobytes(), self.source / name, "--shape", "60,100",
                               "--chunkshape", "25,40", "--blockshape", "10,20", "--typesize", "4",
                               "--dtype", "<f4", *options)

    def check_on_directory(self, source, shown, check, *options):
        with self.mount(*options, source=source) as mount:
            self.assertEqual(os.listdir(mount.path()), [shown])
            check(mount.path(shown))
            self.assertTrue(mount.path(shown).is_file())
            (entry,) = os.scandir(mount.path())
            self.assertEqual(entry.inode(), entry.stat().st_ino)
            self.assertNotEqual(entry.inode(), mount.path().stat().st_ino)
            for absent in ("other", source.name + "x", "chunks.b2frame"):
                self.assertFalse(mount.path(absent).exists())

    def check_on_file(self, source, check, *options):
        with self.mount("-o", "ro", *options, source=source, mountpoint=self.target):
            self.assertTrue(self.target.is_file())
            check(self.target)
            with self.assertRaises(OSError) as caught:
                open(self.target, "ab")
            self.assertEqual(caught.exception.errno, errno.EROFS)
        self.assertEqual(self.target.read_bytes(), b"underneath")

    def is_content(self, path):
        self.assert_same_bytes(path.read_bytes(), CONTENT, path)
        self.assertEqual(path.stat().st_size, len(CONTENT))
        self.tool("cmp", "-n", "100", path, path)

    def is_npy(self, path):
        numpy.testing.assert_array_equal(numpy.load(path), self.array)

    def is_raw(self, path):
        self.assert_same_bytes(path.read_bytes(), self.array.tobytes(), path)

    def test_frames(self):
        for name, shown in (("x.b2frame", "x"), ("x.b2", "x"), ("no-suffix", "no-suffix"),
                            ("x.dat", "x.dat")):
            for options in ((), ("--sparse",)):
                with self.subTest(name, options=options):
                    (self.folder / "sub").mkdir()
                    frame = self.make_frame(CONTENT, self.folder / "sub" / name, "--chunk", "20000",
                                            *options)
                    (self.folder / "sub/beside").write_bytes(b"not to be seen")
                    self.check_on_directory(frame, shown, self.is_content)
                    self.check_on_file(frame, self.is_content)
                    self.tool("rm", "-r", self.folder / "sub")

    def test_keep_suffix(self):
        frame = self.make_frame(CONTENT, self.source / "x.b2frame")
        self.check_on_directory(frame, "x.b2frame", self.is_content, "--keep-suffix")

    def test_a_trailing_slash(self):
        frame = self.make_frame(CONTENT, self.source / "x.b2frame", "--sparse")
        with self.mount(source=f"{frame}/") as mount:
            self.assertEqual(os.listdir(mount.path()), ["x"])
            self.is_content(mount.path("x"))

    def test_by_way_of_a_link(self):
        frame = self.make_frame(CONTENT, self.source / "x.b2frame")
        link = self.folder / "link"
        link.symlink_to(frame)
        with self.mount(source=link) as mount:
            self.assertEqual(os.listdir(mount.path()), ["x"])
            self.is_content(mount.path("x"))
        self.check_on_file(link, self.is_content)

    def test_arrays(self):
        for options in ((), ("--sparse",)):
            with self.subTest(options=options):
                frame = self.make_array("a.b2nd", *options)
                self.check_on_directory(frame, "a.npy", self.is_npy)
                self.check_on_directory(frame, "a", self.is_raw, "--arrays", "raw")
                self.check_on_file(frame, self.is_npy)
                self.check_on_file(frame, self.is_raw, "--arrays", "raw")
                self.tool("rm", "-r", frame)

    def test_an_array_without_a_suffix(self):
        frame = self.make_array("array")
        self.check_on_directory(frame, "array", self.is_npy)
        self.check_on_file(frame, self.is_npy)

    def test_an_array_as_both(self):
        frame = self.make_array("a.b2nd")
        with self.mount("--arrays", "both", source=frame) as mount:
            self.assertEqual(sorted(os.listdir(mount.path())), ["a", "a.npy"])
            self.is_raw(mount.path("a"))
            self.is_npy(mount.path("a.npy"))

    def test_a_frame_inside_of_a_file(self):
        inside = self.make_frame(CONTENT, self.folder / "inside.b2frame", "--chunk", "20000").read_bytes()
        other = self.make_frame(b"other content", self.folder / "other.b2frame").read_bytes()
        file = self.source / "several.bin"
        file.write_bytes(data.noise(1001) + inside + data.noise(99) + other)
        self.check_on_directory(file, "several.bin", self.is_content, "--offset", "1001")
        self.check_on_file(file, self.is_content, "--offset", "1001")
        refused = subprocess.run([daemon.FRAMEFS, "--offset", "1001", "http://127.0.0.1:1/x",
                                  self.mountpoint],
                                 capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--offset needs a SOURCE that is not a URL", refused.stderr)
        with self.mount("-o", f"offset={1001 + len(inside) + 99}", source=file,
                        mountpoint=self.target):
            self.assertEqual(self.target.read_bytes(), b"other content")

    def test_bytes_behind_a_frame(self):
        frame = self.make_frame(CONTENT, self.source / "x.b2frame", "--chunk", "20000")
        with open(frame, "ab") as file:
            file.write(data.noise(5_000))
        self.check_on_directory(frame, "x", self.is_content)
        self.check_on_file(frame, self.is_content)

    def test_a_damaged_frame_is_mounted_and_fails_to_read(self):
        frame = self.make_frame(CONTENT, self.source / "x.b2frame")
        frame.write_bytes(frame.read_bytes()[:-1])
        for mountpoint in (self.mountpoint, self.target):
            with self.mount(source=frame, mountpoint=mountpoint):
                shown = mountpoint / "x" if mountpoint.is_dir() else mountpoint
                self.assertEqual(shown.stat().st_size, len(CONTENT))
                with self.assertRaises(OSError) as caught:
                    shown.read_bytes()
                self.assertEqual(caught.exception.errno, errno.EIO)

    def test_a_vast_frame(self):
        size = 1 << 42
        frame = self.source / "vast.b2frame"
        frame.write_bytes(frames.frame([frames.ZERO] * 4096, size, 1 << 30))
        self.assertLess(frame.stat().st_size, 1000)
        with self.mount(source=frame, mountpoint=self.target):
            self.assertEqual(self.target.stat().st_size, size)
            with open(self.target, "rb") as file:
                file.seek(size - 10)
                self.assertEqual(file.read(), bytes(10))

    def test_replaced_while_mounted(self):
        frame = self.make_frame(CONTENT, self.source / "x.b2frame")
        with self.mount("--attr-timeout", "0", source=frame) as mount:
            self.is_content(mount.path("x"))
            new = self.make_frame(b"new content", self.folder / "new.b2frame")
            os.replace(new, frame)
            self.assertEqual(mount.path("x").read_bytes(), b"new content")
            self.assertEqual(mount.path().stat().st_mtime_ns, frame.stat().st_mtime_ns)

    def test_its_name_in_the_log(self):
        frame = self.make_frame(CONTENT, self.source / "x.b2frame", "--sparse", "--chunk", "20000")
        (frame / "00000001.chunk").unlink()
        with self.mount(source=frame) as mount:
            with self.assertRaises(OSError):
                mount.path("x").read_bytes()
            self.assertIn(f"{frame}: chunk 1: ", mount.log())


if __name__ == "__main__":
    unittest.main()
