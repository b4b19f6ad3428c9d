"""Checksums: every damaged byte of a chunk is found, also where the chunk still decodes, and
checksums of a frame that another program changed do not count."""

import errno
import json
import os
import random
import shutil
import struct
import unittest

import numpy

import daemon
import data
from case import MountCase
from command_case import CommandCase
from frame_writer import memcpyed_chunk

SEAL = 17  # bytes at the end of a trailer
LAYER = b"framefs.checksums"


def header_len(stored):
    return struct.unpack_from(">i", stored, 11)[0]


def chunks_end(stored):
    return header_len(stored) + struct.unpack_from(">q", stored, 39)[0]


def without_seal(stored):
    """The frame as a program leaves it that writes the trailer and knows nothing of checksums."""
    return stored[:-SEAL] + bytes(SEAL)


def damage(path, at):
    """Changes one byte of a file to another value, and leaves its times as they are."""
    state = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(at)
        old = file.read(1)[0]
        file.seek(at)
        file.write(bytes([old ^ random.randrange(1, 256)]))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    return old


def restore(path, at, old):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(bytes([old]))


class Base(CommandCase):
    def packed(self, name, plain, *options):
        source = self.folder / name
        source.write_bytes(plain)
        target = self.source / f"{name}.b2frame"
        self.framefs("pack", "-f", "--chunk-size", "16K", *options, source, "-o", target)
        return target

    def check(self, path, *options, code=0):
        (entry,) = json.loads(self.framefs("check", "--json", *options, path, code=code).stdout)
        return entry


class Check(Base):
    def test_every_damaged_byte_is_found(self):
        """Chunks of random floats decode to other bytes after most damages."""
        plain = data.random_walk(40_000) + os.urandom(40_000) + bytes(16384)
        for options in (["--codec", "lz4"], ["--codec", "zstd"], ["--level", "0"]):
            with self.subTest(options=options):
                path = self.packed("walk", plain, "--checksums", *options)
                stored = path.read_bytes()
                begin, end = header_len(stored), chunks_end(stored)
                for at in random.sample(range(begin, end), 100):
                    old = damage(path, at)
                    entry = self.check(path, code=1)
                    self.assertEqual({found["part"] for found in entry["damages"]}, {"chunk"}, f"byte {at}")
                    restore(path, at, old)
                self.assertEqual(self.check(path)["checksums"], "valid")

    def test_damage_of_the_trailer(self):
        path = self.packed("text", data.text(20_000), "--checksums")
        stored = path.read_bytes()
        (length,) = struct.unpack_from(">I", stored, len(stored) - 22)
        for at in random.sample(range(len(stored) - length, len(stored) - SEAL), 60):
            old = damage(path, at)
            self.assertFalse(self.check(path, code=1)["sound"], f"byte {at}")
            restore(path, at, old)

    def test_frames_without_checksums(self):
        path = self.packed("text", data.text(2000))
        entry = self.check(path)
        self.assertEqual((entry["checksums"], entry["unhashed_chunks"]), ("none", 0))
        self.assertNotIn(LAYER, path.read_bytes())

    def test_arrays_and_streams(self):
        numpy.save(self.folder / "a.npy", numpy.frombuffer(data.random_walk(30_000), "f4").reshape(300, 100))
        self.framefs("pack", "--checksums", self.folder / "a.npy", "-o", self.source / "a.b2nd")
        self.assertEqual(self.check(self.source / "a.b2nd")["checksums"], "valid")
        frame = self.framefs("pack", "--checksums", "-", "-o", "-", input=data.text(2000)).stdout
        (self.source / "b.b2frame").write_bytes(frame)
        self.assertEqual(self.check(self.source / "b.b2frame")["checksums"], "valid")

    def test_checksums_of_a_changed_frame_do_not_count(self):
        """A program replaces a chunk in place by one of the same size."""
        plain = os.urandom(3 * 16384)
        path = self.packed("noise", plain, "--checksums", "--level", "0", "--typesize", "1", "--filter", "none")
        stored = bytearray(path.read_bytes())
        new = memcpyed_chunk(os.urandom(16384))
        at = header_len(stored) + len(new)
        stored[at:at + len(new)] = new
        path.write_bytes(without_seal(bytes(stored)))
        entry = self.check(path)
        self.assertEqual((entry["sound"], entry["checksums"]), (True, "stale"))
        self.assertIn("do not count", self.framefs("check", path).stdout.decode())
        self.framefs("unpack", path, "-o", self.folder / "out")
        self.assertEqual((self.folder / "out").read_bytes(), plain[:16384] + new[32:] + plain[32768:])

        before = os.stat(path)
        out = self.framefs("check", "--rehash", path).stdout.decode()
        self.assertIn("has new checksums", out)
        self.assertEqual(os.stat(path).st_mtime_ns, before.st_mtime_ns)
        self.assertEqual(self.check(path)["checksums"], "valid")
        damage(path, at + 100)
        (found,) = self.check(path, code=1)["damages"]
        self.assertEqual((found["part"], found["chunk"], found["offset"]), ("chunk", 1, at))
        self.assertIn("checksum", found["cause"])

    def test_rehash(self):
        """Sound frames get checksums, and keep their bytes; damaged frames do not get new ones."""
        plain = data.text(5000)
        path = self.packed("text", plain)
        self.make_frame(plain, self.source / "sparse.b2frame", "--sparse", "--chunk", "16K")
        self.framefs("check", "--rehash", self.source)
        for name in ("text.b2frame", "sparse.b2frame"):
            entry = self.check(self.source / name)
            self.assertEqual((entry["checksums"], entry["unhashed_chunks"]), ("valid", 0), name)
            self.framefs("unpack", "-f", self.source / name, "-o", self.folder / "out")
            self.assertEqual((self.folder / "out").read_bytes(), plain)
        same = path.read_bytes()
        self.framefs("check", "--rehash", path)
        self.assertEqual(path.read_bytes(), same)

        chunk = self.source / "sparse.b2frame/00000001.chunk"
        damage(chunk, 200)
        (found,) = self.check(self.source / "sparse.b2frame", code=1)["damages"]
        self.assertEqual((found["chunk"], found["file"], found["offset"] is not None), (1, "00000001.chunk", True))
        self.assert_fails("check", "--rehash", self.source / "sparse.b2frame", cause="no new checksums for a damaged")
        self.assertFalse(self.check(self.source / "sparse.b2frame", code=1)["sound"])

    def test_damaged_checksums_can_be_renewed(self):
        path = self.packed("text", data.text(5000), "--checksums")
        stored = path.read_bytes()
        damage(path, len(stored) - 100)
        self.assertEqual(self.check(path, code=1)["checksums"], "damaged")
        self.assertIn("--rehash", self.framefs("check", path, code=1).stdout.decode())
        self.assertTrue(self.check(path, "--rehash")["rehashed"])
        self.assertEqual(self.check(path)["checksums"], "valid")

    def test_repair_does_not_make_damaged_bytes_right(self):
        path = self.packed("noise", os.urandom(40_000), "--checksums", "--level", "0")
        stored = path.read_bytes()
        damage(path, header_len(stored) + 1000)
        out = self.framefs("check", "--repair", path, "-o", self.folder / "new.b2frame", code=1).stdout.decode()
        self.assertIn("1 chunks did not have their checksums", out)
        self.assertEqual(self.check(self.folder / "new.b2frame")["checksums"], "none")
        self.assert_refused("check", "--repair", "--rehash", path, "-o", self.folder / "x", cause="exclude")

    def test_unpack_never_writes_damaged_bytes(self):
        """Uncompressed noise, so that a damaged byte decodes to another byte."""
        plain = os.urandom(8 * 16384)
        path = self.packed("noise", plain, "--checksums", "--level", "0")
        out = self.folder / "out"
        self.framefs("unpack", path, "-o", out)
        self.assertEqual(out.read_bytes(), plain)
        out.unlink()
        damage(path, path.read_bytes().index(plain[3 * 16384:3 * 16384 + 100]) + 50)
        for arguments in ([path, "-o", out], [path, "-o", "-"], [self.source, "-o", self.folder / "tree"]):
            stderr = self.framefs("unpack", *arguments, code=1).stderr.decode()
            self.assertRegex(stderr, r"noise\.b2frame: chunk 3: checksum mismatch")
        self.assertEqual([out.exists(), (self.folder / "tree" / "noise").exists()], [False, False])

    def test_a_frame_of_too_many_chunks_is_refused(self):
        huge = self.folder / "huge"
        with open(huge, "wb") as file:
            file.truncate(((1 << 18) + 1) * 8)
        self.assert_fails("pack", "--checksums", "--chunk-size", "8", huge, "-o", self.folder / "huge.b2frame",
                          cause="a frame with checksums has at most 262144 chunks")
        self.assertFalse((self.folder / "huge.b2frame").exists())

    def test_the_layer_is_not_shown_as_user_data(self):
        path = self.packed("text", data.text(2000), "--checksums")
        (described,) = self.info(path)
        self.assertTrue(described["checksums"])
        self.assertEqual(described["vlmetalayers"], [])


class Mounts(MountCase):
    """Frames that are written and read through a mount."""

    def check(self, path, code=0):
        result = self.tool(daemon.FRAMEFS, "check", "--json", path, check=False)
        self.assertEqual(result.returncode, code, result.stdout)
        return json.loads(result.stdout)[0]

    def pack(self, name, plain, *options):
        source = self.folder / name
        source.write_bytes(plain)
        self.tool(daemon.FRAMEFS, "pack", "-f", "--checksums", *options, source, "-o", self.source / f"{name}.b2frame")
        return self.source / f"{name}.b2frame"

    def test_commits_keep_checksums(self):
        plain = bytearray(data.text(60_000))
        path = self.pack("log", bytes(plain), "--chunk-size", "64K")
        with self.mount() as mount:
            for _ in range(20):
                with open(mount.path("log"), "r+b") as file:
                    at = random.randrange(len(plain))
                    piece = os.urandom(random.randrange(1, 100_000))
                    file.seek(at)
                    file.write(piece)
                    os.fsync(file.fileno())
                plain[at:at + len(piece)] = piece
                entry = self.check(path)
                self.assertEqual((entry["checksums"], entry["unhashed_chunks"]), ("valid", 0))
            os.truncate(mount.path("log"), 100_001)
            os.setxattr(mount.path("log"), "user.framefs.vlmeta.note", b"text")
            self.assertEqual(os.listxattr(mount.path("log")), ["user.framefs.vlmeta.note"])
            name = "user.framefs.vlmeta." + LAYER.decode()
            for refused in (lambda: os.setxattr(mount.path("log"), name, b"x"),
                            lambda: os.removexattr(mount.path("log"), name),
                            lambda: os.getxattr(mount.path("log"), name)):
                with self.assertRaises(OSError) as caught:
                    refused()
                self.assertIn(caught.exception.errno, (errno.EPERM, errno.ENODATA))
        del plain[100_001:]
        self.assertEqual(self.check(path)["checksums"], "valid")
        self.tool(daemon.FRAMEFS, "compact", path)
        entry = self.check(path)
        self.assertEqual((entry["checksums"], entry["unhashed_chunks"]), ("valid", 0))
        with self.mount("--ro", "--verify-checksums") as mount:
            self.assertEqual(mount.path("log").read_bytes(), bytes(plain))
            self.assertEqual(os.getxattr(mount.path("log"), "user.framefs.vlmeta.note"), b"text")

    def test_new_files_and_rules(self):
        with self.mount("--checksums", "--rule", "*.raw:checksums=no") as mount:
            for name in ("a.txt", "b.raw", "empty"):
                mount.path(name).write_bytes(data.text(3000) if name != "empty" else b"")
            os.truncate(mount.path("a.txt"), 0)
            mount.path("a.txt").write_bytes(data.text(4000))
        self.assertEqual(self.check(self.source / "a.txt.b2frame")["checksums"], "valid")
        self.assertEqual(self.check(self.source / "empty.b2frame")["checksums"], "valid")
        self.assertEqual(self.check(self.source / "b.raw.b2frame")["checksums"], "none")
        with self.mount("-o", "rule=*.raw:checksums=yes") as mount:
            mount.path("c.raw").write_bytes(data.text(3000))
            mount.path("d").write_bytes(data.text(3000))
        self.assertEqual(self.check(self.source / "c.raw.b2frame")["checksums"], "valid")
        self.assertEqual(self.check(self.source / "d.b2frame")["checksums"], "none")

    def test_a_damaged_byte_cannot_be_read(self):
        """Uncompressed noise, so that a damaged byte decodes to another byte."""
        self.damage_noise("64K")

    def test_a_damaged_byte_of_a_small_chunk_cannot_be_read(self):
        """Small chunks are read in groups."""
        self.damage_noise("8K")

    def damage_noise(self, chunk_size):
        plain = os.urandom(5 * 65536)
        path = self.pack("noise", plain, "--chunk-size", chunk_size, "--level", "0")
        stored = path.read_bytes()
        damage(path, stored.index(plain[3 * 65536 - 8192:3 * 65536 - 8092]) + 50)
        with self.mount("--verify-checksums") as mount:
            with open(mount.path("noise"), "rb", buffering=0) as file:
                self.assertEqual(os.pread(file.fileno(), 65536, 0), plain[:65536])
                with self.assertRaises(OSError) as caught:
                    os.pread(file.fileno(), 4096, 3 * 65536 - 4096)  # another part of the chunk
                self.assertEqual(caught.exception.errno, errno.EIO)
                self.assertEqual(os.pread(file.fileno(), 65536, 4 * 65536), plain[4 * 65536:])
            self.assertIn("checksum mismatch: bytes of the chunk", mount.log())
        with self.mount() as mount:  # not asked to verify
            self.assertEqual(len(mount.path("noise").read_bytes()), len(plain))

    def test_a_damaged_chunk_gets_no_new_checksum(self):
        """A write into the chunk would store the damaged bytes with a checksum."""
        plain = os.urandom(4 * 65536)
        path = self.pack("noise", plain, "--chunk-size", "64K", "--level", "0")
        damage(path, path.read_bytes().index(plain[65536:65536 + 100]) + 50)
        with self.mount() as mount:
            fd = os.open(mount.path("noise"), os.O_WRONLY)
            try:
                os.pwrite(fd, b"new", 65536 + 30_000)
                with self.assertRaises(OSError) as caught:
                    os.fsync(fd)
                self.assertEqual(caught.exception.errno, errno.EIO)
                os.pwrite(fd, plain[65536:2 * 65536], 65536)  # all of it: the damage is gone
                os.fsync(fd)
            finally:
                os.close(fd)
            self.assertEqual(mount.path("noise").read_bytes(), plain)
        self.assertTrue(self.check(path)["sound"])

    def test_checksums_that_do_not_count(self):
        """Stale checksums never refuse a read, and a commit makes new ones for what it stores."""
        plain = os.urandom(4 * 65536)
        path = self.pack("noise", plain, "--chunk-size", "64K", "--level", "0")
        stored = path.read_bytes()
        at = stored.index(plain[65536:65536 + 100])
        path.write_bytes(without_seal(stored[:at] + b"other" + stored[at + 5:]))
        now = plain[:65536] + b"other" + plain[65536 + 5:]
        with self.mount("--verify-checksums") as mount:
            self.assertEqual(mount.path("noise").read_bytes(), now)
            with open(mount.path("noise"), "r+b") as file:
                file.write(b"new")
            self.assertEqual(mount.path("noise").read_bytes(), b"new" + now[3:])
        entry = self.check(path)
        self.assertEqual((entry["sound"], entry["checksums"], entry["unhashed_chunks"]), (True, "valid", 3))

    def test_damaged_checksums_refuse_reads_only_where_they_are_verified(self):
        plain = data.text(20_000)
        path = self.pack("text", plain, "--chunk-size", "64K")
        damage(path, path.stat().st_size - 100)
        with self.mount("--verify-checksums") as mount:
            with self.assertRaises(OSError) as caught:
                mount.path("text").read_bytes()
            self.assertEqual(caught.exception.errno, errno.EIO)
        with self.mount() as mount:
            self.assertEqual(mount.path("text").read_bytes(), plain)

    def test_the_size_is_limited(self):
        with self.mount("--rule", "*:checksums=yes,chunksize=8") as mount:
            with open(mount.path("sparse"), "wb") as file:
                file.truncate((1 << 18) * 8)
                with self.assertRaises(OSError) as caught:
                    file.truncate((1 << 18) * 8 + 1)
                self.assertEqual(caught.exception.errno, errno.EFBIG)
        self.assertEqual(self.check(self.source / "sparse.b2frame")["checksums"], "valid")

    def test_sparse_frames(self):
        plain = bytearray(data.text(20_000))
        frame = self.source / "s.b2frame"
        self.make_frame(bytes(plain), frame, "--sparse", "--chunk", "64K")
        self.tool(daemon.FRAMEFS, "check", "--rehash", frame)
        with self.mount("--verify-checksums") as mount:
            with open(mount.path("s"), "r+b") as file:
                file.seek(70_000)
                file.write(b"x" * 1000)
                os.fsync(file.fileno())
            plain[70_000:71_000] = b"x" * 1000
            self.assertEqual(mount.path("s").read_bytes(), bytes(plain))
        entry = self.check(frame)
        self.assertEqual((entry["checksums"], entry["unhashed_chunks"]), ("valid", 0))
        copy = self.folder / "copy"
        shutil.copytree(frame, copy)
        damage(next(copy.glob("*.chunk")), 60)
        self.assertFalse(self.check(copy, code=1)["sound"])


if __name__ == "__main__":
    unittest.main()
