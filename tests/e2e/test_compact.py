"""framefs compact: the same frame without its dead space, and the same file."""

import contextlib
import os
import pathlib
import stat
import struct
import subprocess
import unittest

import daemon
import data
import frames
from case import MountCase
from command_case import CommandCase, open_terminal
from frame_writer import memcpyed_chunk

CHUNK_BYTES = 64 << 10
FILE_BYTES = 4 << 20
# Noise is stored uncompressed after a header per chunk; header, index and trailer are added.
MOST_COMPACTED = FILE_BYTES + FILE_BYTES // CHUNK_BYTES * 32 + 1000
# Nothing is chosen by trial, so that equal bytes take equal space.
RULE = ("--rule", f"*:codec=lz4,typesize=4,filter=shuffle,chunksize={CHUNK_BYTES}")
ATIME_NS, MTIME_NS = 1_600_000_000_123_456_789, 1_500_000_000_987_654_321


def terminal_output(command):
    """The standard error of a command if that is a terminal."""
    leader, follower = open_terminal()
    subprocess.run(list(map(os.fspath, command)), check=True, stderr=follower)
    os.close(follower)
    said = b""
    with contextlib.suppress(OSError):  # EIO: everything is read
        while piece := os.read(leader, 1000):
            said += piece
    os.close(leader)
    return said.decode()


class Compact(CommandCase):
    @classmethod
    def setUpClass(cls):
        super(CommandCase, cls).setUpClass()

    def setUp(self):
        self.frame = self.source / "file.b2frame"

    def rewrite(self):
        """Creates a frame with dead space through a mount; returns its content."""
        content = bytearray(data.noise(FILE_BYTES, seed=1))
        with self.mount(*RULE):
            fd = os.open(self.mountpoint / "file", os.O_RDWR | os.O_CREAT)
            os.pwrite(fd, content, 0)
            os.fsync(fd)
            for number in range(6):
                at = (number * 700_000 + 12_345) % (FILE_BYTES - 400_000)
                content[at:at + 400_000] = data.noise(400_000, seed=2 + number)
                os.pwrite(fd, content[at:at + 400_000], at)
                os.fsync(fd)
            os.setxattr(fd, "user.framefs.vlmeta.note", b"kept")
            os.close(fd)
        self.assertGreater(self.frame.stat().st_size, MOST_COMPACTED + 500_000)
        return bytes(content)

    def assert_holds(self, path, content):
        self.framefs("unpack", "--force", path, "-o", self.folder / "plain")
        self.assert_same_bytes((self.folder / "plain").read_bytes(), content, path)

    def test_dead_space_goes_and_all_else_stays(self):
        content = self.rewrite()
        os.chmod(self.frame, 0o640)
        os.setxattr(self.frame, "user.note", b"mine")
        os.link(self.frame, self.source / "link.b2frame")
        os.utime(self.frame, ns=(ATIME_NS, MTIME_NS))
        before = self.frame.stat()
        result = self.framefs("compact", self.frame)
        self.assertEqual((result.stdout, result.stderr), (b"", b""))
        after = self.frame.stat()
        self.assertLessEqual(after.st_size, MOST_COMPACTED)
        self.assertEqual(stat.S_IMODE(after.st_mode), 0o640)
        for field in ("st_ino", "st_uid", "st_gid", "st_nlink", "st_atime_ns", "st_mtime_ns"):
            self.assertEqual(getattr(after, field), getattr(before, field), field)
        self.assertEqual(os.getxattr(self.frame, "user.note"), b"mine")
        self.assertEqual(set(os.listdir(self.source)), {"file.b2frame", "link.b2frame"})
        self.assert_holds(self.source / "link.b2frame", content)
        with self.mount():
            self.assert_same_bytes((self.mountpoint / "file").read_bytes(), content, "mounted")
            self.assertEqual(os.getxattr(self.mountpoint / "file", "user.framefs.vlmeta.note"), b"kept")
        # It can be written and compacted again.
        with self.mount(), open(self.mountpoint / "file", "r+b") as file:
            file.write(b"new")
        self.framefs("compact", self.frame)
        self.assert_holds(self.frame, b"new" + content[3:])

    def test_saved_space_is_printed_on_a_terminal_or_on_request(self):
        self.rewrite()
        first = self.folder / "first.b2frame"
        first.write_bytes(self.frame.read_bytes())
        said = self.framefs("compact", "-v", self.frame).stderr.decode()
        self.assertRegex(said, r"^\S+/file\.b2frame: [\d.]+ MB to 4\.\d MB\n$")
        self.assertRegex(terminal_output([daemon.FRAMEFS, "compact", first]),
                         r"^\S+/first\.b2frame: [\d.]+ MB to 4\.\d MB\r\n$")
        self.assertLessEqual(first.stat().st_size, MOST_COMPACTED)
        stored = first.read_bytes()
        self.assertRegex(self.framefs("compact", "-v", first).stderr.decode(), r": 4\.\d MB, nothing to save\n$")
        self.assertEqual(first.read_bytes(), stored)

    def test_a_damaged_frame_is_left_as_it_is(self):
        content = self.rewrite()
        stored = bytearray(self.frame.read_bytes())
        chunks = self.info("--chunks", self.frame)[0]["chunk_list"]
        (frame_len,) = struct.unpack_from(">Q", stored, 16)
        damages = {
            "a chunk's stored size": (chunks[7]["offset"] + 12, struct.pack("<I", 40), "chunk 7: "),
            "a chunk's stored size, too long": (chunks[7]["offset"] + 12, struct.pack("<I", 3 * CHUNK_BYTES), ""),
            "a chunk's size": (chunks[9]["offset"] + 4, struct.pack("<I", 40), "chunk 9: "),
            "the magic": (2, b"x", "magic"),
            "the trailer": (frame_len - 30, b"\xff" * 16, ""),
        }
        for what, (at, damage, cause) in damages.items():
            with self.subTest(what):
                damaged = self.source / "damaged.b2frame"
                damaged.write_bytes(stored[:at] + damage + stored[at + len(damage):])
                os.utime(damaged, ns=(ATIME_NS, MTIME_NS))
                before = damaged.read_bytes()
                other = self.source / "other.b2frame"
                other.write_bytes(stored)
                result = self.assert_fails("compact", damaged, other, cause=cause)
                self.assertIn("damaged.b2frame: ", result.stderr.decode())
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assert_same_bytes(damaged.read_bytes(), before, what)
                self.assertEqual(damaged.stat().st_mtime_ns, MTIME_NS)
                self.assertLessEqual(other.stat().st_size, MOST_COMPACTED)  # the next one
        self.assert_holds(other, content)

    def test_bytes_behind_the_frame_are_dead_space(self):
        content = data.noise(100_000)
        (self.folder / "plain").write_bytes(content)
        self.framefs("pack", self.folder / "plain", "-o", self.frame)
        frame = self.frame.read_bytes()
        behind = b"behind the frame" * 1000

        def write():
            with self.mount(), open(self.mountpoint / "file", "r+b") as file:
                file.write(content[:1000])

        for change in (lambda: self.framefs("compact", self.frame),
                       lambda: self.framefs("check", "--rehash", self.frame), write):
            self.frame.write_bytes(frame + behind)
            self.assertIn(f"{len(behind) / 1000:.1f} kB dead", self.framefs("check", "-v", self.frame).stdout.decode())
            self.assert_holds(self.frame, content)
            change()
            self.assertFalse(self.frame.read_bytes().endswith(behind))
            self.assert_holds(self.frame, content)
        self.framefs("compact", self.frame)
        self.assertLess(self.frame.stat().st_size, len(frame) + 1000)

    def test_bytes_behind_an_empty_frame_are_dead_space(self):
        """A commit that failed on a full disk leaves such a frame."""
        self.make_frame(b"", self.frame)
        empty = self.frame.read_bytes()
        self.frame.write_bytes(empty + bytes(3_000_000))
        self.assertIn("3.0 MB dead", self.framefs("check", "-v", self.frame).stdout.decode())
        self.framefs("compact", self.frame)
        self.assertEqual(self.frame.stat().st_size, len(empty))
        self.assert_holds(self.frame, b"")

    def test_targets_that_are_not_frames_are_refused(self):
        plain = self.folder / "plain"
        plain.write_bytes(b"no frame" * 100)
        for path, cause in ((plain, "plain: "), (self.folder / "none", "No such file"),
                            (self.source, "this directory is not a frame"),
                            (plain / "member", "Not a directory"),
                            (pathlib.Path("/dev/null"), "neither a file nor a directory")):
            with self.subTest(path):
                self.assert_fails("compact", path, cause=cause)
        self.assertEqual(plain.read_bytes(), b"no frame" * 100)
        self.assert_refused("compact", cause="FRAME is required")

    def test_a_sparse_frame_has_nothing_to_save(self):
        folder = self.source / "sparse.b2frame"
        frames.write_sparse_frame(folder, [memcpyed_chunk(b"abcd"), memcpyed_chunk(b"ef")], 6, 4)
        (folder / "00000007.chunk").write_bytes(b"nobody's")
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        result = self.framefs("compact", "--verbose", folder)
        self.assertEqual((result.stdout, result.stderr), (b"", b""))
        self.assertEqual({path.name: path.read_bytes() for path in folder.iterdir()}, before)

    def test_a_sparse_frame_that_others_refuse_is_renumbered(self):
        """Other readers compare the numbers with the number of bytes in the chunks."""
        folder = self.source / "sparse.b2frame"
        frames.write_sparse_frame(folder, [frames.ZERO, memcpyed_chunk(b"abcd")], 8, 4, numbers={1: 0x2A})
        os.utime(folder / "chunks.b2frame", ns=(ATIME_NS, MTIME_NS))
        self.framefs("compact", folder)
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["00000000.chunk", "chunks.b2frame"])
        self.assertEqual((folder / "chunks.b2frame").stat().st_mtime_ns, MTIME_NS)
        self.assert_holds(folder, bytes(4) + b"abcd")


if __name__ == "__main__":
    unittest.main()
