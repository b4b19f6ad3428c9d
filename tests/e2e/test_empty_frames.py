"""An empty file with the suffix of a frame of bytes is an empty frame."""

import errno
import json
import os

import daemon
import data
from case import MountCase

SUFFIXES = (".b2frame", ".b2f", ".b2", ".b2b")
OTHERS = (".b2nd", ".b2e", ".b2z")
CONTENT = data.noise(50_000)


class EmptyFrames(MountCase):
    def setUp(self):
        for suffix in SUFFIXES + OTHERS:
            (self.source / f"x{suffix[1:]}{suffix}").touch()

    def framefs(self, *arguments, **options):
        return self.tool(daemon.FRAMEFS, *arguments, **options)

    def test_it_is_an_empty_file_and_reading_leaves_it_alone(self):
        with self.mount() as mount:
            self.assertEqual(sorted(os.listdir(mount.path())),
                             ["xb2", "xb2b", "xb2e.b2e", "xb2f", "xb2frame", "xb2nd.b2nd", "xb2z.b2z"])
            for suffix in SUFFIXES:
                path = mount.path(f"x{suffix[1:]}")
                self.assertEqual(path.stat().st_size, 0)
                self.assertEqual(path.read_bytes(), b"")
                with open(path, "r+b") as file:  # to write, but nothing is written
                    self.assertEqual(file.read(), b"")
            self.assertEqual(json.loads(os.getxattr(mount.path("xb2"), "user.framefs.info"))["nbytes"], 0)
        for file in self.source.iterdir():
            self.assertEqual(file.stat().st_size, 0, file)

    def test_it_can_be_written(self):
        with self.mount() as mount:
            for suffix in SUFFIXES:
                with open(mount.path(f"x{suffix[1:]}"), "r+b" if suffix == ".b2" else "ab") as file:
                    file.write(CONTENT)
                    file.flush()
                    os.fsync(file.fileno())
                self.assertEqual(self.framefs("unpack", self.source / f"x{suffix[1:]}{suffix}", "-o", "-").stdout,
                                 CONTENT)
                self.assertEqual(mount.path(f"x{suffix[1:]}").read_bytes(), CONTENT)

    def test_one_frame(self):
        target = self.folder / "file"
        target.touch()
        with self.mount(source=self.source / "xb2.b2", mountpoint=target):
            self.assertEqual(target.read_bytes(), b"")
            target.write_bytes(CONTENT)
        self.assertEqual(self.framefs("unpack", self.source / "xb2.b2", "-o", "-").stdout, CONTENT)

    def test_another_program_is_first(self):
        other = self.make_frame(CONTENT, self.folder / "other").read_bytes()
        with self.mount() as mount, open(mount.path("xb2"), "ab", buffering=0) as file:
            (self.source / "xb2.b2").write_bytes(other)
            file.write(b"more")
            os.fsync(file.fileno())
        self.assertEqual(self.framefs("unpack", self.source / "xb2.b2", "-o", "-").stdout, CONTENT + b"more")

    def test_commands(self):
        frame = self.source / "xb2frame.b2frame"
        (described,) = json.loads(self.framefs("info", "--json", frame).stdout)
        self.assertEqual(described["nbytes"], 0)
        self.framefs("check", frame)
        self.framefs("compact", frame)
        self.assertEqual(self.framefs("unpack", frame, "-o", "-").stdout, b"")
        self.framefs("unpack", self.source, "-o", self.folder / "out", "--include", "*.b2*", check=False)
        for suffix in SUFFIXES:
            self.assertEqual((self.folder / "out" / f"x{suffix[1:]}").stat().st_size, 0)
        self.assertNotEqual(self.framefs("info", self.source / "xb2nd.b2nd", check=False).returncode, 0)

    def test_a_reader_of_a_frame_that_is_emptied(self):
        """A copy over a frame in place begins like that.  The end of the file would be invented."""
        content = data.noise(50_000)
        frame = self.make_frame(content, self.source / "copied.b2frame")
        stored = frame.read_bytes()
        with self.mount("--attr-timeout", "60") as mount, open(mount.path("copied"), "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            os.truncate(frame, 0)
            with self.assertRaises(OSError) as caught:
                file.read(100)
            self.assertEqual(caught.exception.errno, errno.ESTALE)
            frame.write_bytes(stored)
            self.assertEqual(os.pread(file.fileno(), 50_000, 0), content)
