"""Each kind of SOURCE, on a directory and on a file, with each option that is allowed there.

The same small session runs in all of them.  A call may be refused; the daemon must survive all, and
end in order.
"""

import contextlib
import io
import os
import subprocess
import unittest

import numpy

import container_writer
import daemon
from remote_case import RemoteCase

CONTENT = b"some content\n" * 20_000
OPTIONS = [(), ("-o", "ro"), ("--writeback",), ("--rule", "*:arrays=yes"), ("--rule", "*:codec=lz4"),
           ("--checksums", "--verify-checksums"), ("--plain", "*"), ("--locking",),
           ("--overlay-size", "16M", "--commit-interval", "1"), ("--keep-suffix",), ("--arrays", "raw"),
           ("--arrays", "both"), ("--attr-timeout", "0", "--list-info"), ("--no-sandbox",),
           ("--allow-other", "--umask", "077"), ("--acl", "--allow-other"), ("--export",),
           ("--cache-size", "16M", "--threads", "1", "--idle", "1h", "--nonempty", "--fsname", "x")]


def is_gone(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        return True
    return False


class EverySource(RemoteCase):
    def setUp(self):
        super().setUp()
        text = io.BytesIO()
        numpy.save(text, numpy.arange(6_000, dtype="<f4").reshape(60, 100))
        self.npy = text.getvalue()
        self.target = self.folder / "target"

    def make_array(self, path):
        return self.make_frame(self.npy[-24_000:], path, "--shape", "60,100", "--chunkshape", "25,40",
                               "--blockshape", "10,20", "--typesize", "4", "--dtype", "<f4")

    def fresh(self, name):
        path = self.folder / name
        if path.exists():
            self.tool("rm", "-r", path)
        return path

    def directory(self):
        folder = self.fresh("directory")
        folder.mkdir()
        self.make_frame(CONTENT, folder / "frame.b2frame")
        self.make_frame(self.npy, folder / "saved.npy.b2frame")
        self.make_frame(CONTENT, folder / "sparse.b2frame", "--sparse")
        self.make_array(folder / "array.b2nd")
        (folder / "plain").write_bytes(CONTENT)
        return folder

    def frame(self):
        """Its bytes are those of an array, as a rule with `arrays` wants them."""
        return self.make_frame(self.npy, self.fresh("saved.npy.b2frame"))

    def sparse_frame(self):
        return self.make_frame(self.npy, self.fresh("sparse.npy.b2frame"), "--sparse")

    def array(self):
        return self.make_array(self.fresh("array.b2nd"))

    def container(self):
        member = self.frame().read_bytes()
        container_writer.archive(self.fresh("archive.b2z"), {"member.b2frame": member})
        return self.folder / "archive.b2z"

    def frame_at_an_offset(self):
        member = self.frame().read_bytes()
        path = self.fresh("several.bin")
        path.write_bytes(b"x" * 1001 + member + b"y" * 99)
        return path

    def is_allowed(self, source, place, options):
        done = subprocess.run([daemon.FRAMEFS, source, place, "--check-only", *options], capture_output=True,
                              timeout=daemon.DEADLINE_S, check=False)
        self.assertGreaterEqual(done.returncode, 0, done.stderr)
        return done.returncode == 0

    def session(self, path, other):
        """Reads, writes, truncates, renames and removes one file, and its attributes."""
        def refused(body):
            with contextlib.suppress(OSError):
                body()
        content = path.read_bytes()
        self.assertEqual(len(content), path.stat().st_size)
        refused(lambda: os.listxattr(path))
        refused(lambda: os.getxattr(path, "user.framefs.info"))
        refused(lambda: os.setxattr(path, "user.framefs.vlmeta.note", b"x"))
        refused(lambda: os.removexattr(path, "user.framefs.vlmeta.note"))
        refused(lambda: os.setxattr(path, "user.note", b"x"))
        refused(lambda: path.write_bytes(content))       # truncates by O_TRUNC first
        refused(lambda: path.open("r+b").close())
        with contextlib.suppress(OSError), open(path, "r+b") as file:
            file.write(content[:100])
            file.seek(0, os.SEEK_END)
            file.write(b"more")
            os.fsync(file.fileno())
            os.ftruncate(file.fileno(), len(content))
        refused(lambda: os.truncate(path, 0))
        refused(lambda: os.truncate(path, 10))
        refused(lambda: path.write_bytes(content))
        refused(lambda: os.chmod(path, 0o600))
        refused(lambda: os.utime(path, (5, 6)))
        refused(lambda: os.rename(path, other))
        refused(lambda: os.rename(other, path))
        refused(lambda: os.remove(path))
        refused(lambda: path.write_bytes(content))

    def files(self, place):
        if place.is_file():
            return [place]
        return [place / name for name in sorted(os.listdir(place)) if (place / name).is_file()]

    def check(self, make_source, *always):
        mounts = 0
        for place in (self.mountpoint, self.target):
            for options in OPTIONS:
                source = make_source()
                self.target.write_bytes(b"underneath")
                if not self.is_allowed(source, place, (*always, *options)):
                    continue
                mounts += 1
                with self.subTest(place=place.name, options=options), \
                        self.mount(*always, *options, source=source, mountpoint=place):
                    for number, path in enumerate(self.files(place)):
                        # An array that is shown by two names loses both at once, and the kernel
                        # may know the second one for a while.
                        if number > 0 and is_gone(path):
                            continue
                        self.session(path, place / "other" if place.is_dir() else self.folder / "other")
        self.assertGreater(mounts, 5)

    def test_directory(self):
        self.check(self.directory)

    def test_frame(self):
        self.check(self.frame)

    def test_sparse_frame(self):
        self.check(self.sparse_frame)

    def test_array(self):
        self.check(self.array)

    def test_container(self):
        self.check(self.container)

    def test_frame_at_an_offset(self):
        self.check(self.frame_at_an_offset, "--offset", "1001")

    def test_url(self):
        source = self.directory()
        server = self.serve({path.name: path.read_bytes() for path in source.iterdir() if path.is_file()})
        for url, place in ((server.url, self.mountpoint), (server.url + "/frame.b2frame", self.mountpoint),
                           (server.url + "/frame.b2frame", self.target),
                           (server.url + "/array.b2nd", self.target)):
            for options in OPTIONS:
                self.target.write_bytes(b"underneath")
                if self.is_allowed(url, place, options):
                    with self.subTest(url, place=place.name, options=options), \
                            self.mount_url(url, *options, mountpoint=place):
                        for path in self.files(place):
                            self.session(path, self.folder / "other")


if __name__ == "__main__":
    unittest.main()
