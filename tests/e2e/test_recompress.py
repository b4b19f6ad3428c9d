"""framefs pack --recompress: the same content and attributes, compressed in another way."""

import os
import shutil
import signal
import stat
import subprocess
import unittest

import numpy

import daemon
import data
import fixtures
import frames
from command_case import CommandCase
from frame_writer import frame, memcpyed_chunk, plain_frame

ATIME_NS, MTIME_NS = 1_600_000_000_123_456_789, 1_500_000_000_987_654_321


class Recompress(CommandCase):
    @classmethod
    def setUpClass(cls):
        super(CommandCase, cls).setUpClass()

    def recompress(self, *arguments, **options):
        return self.framefs("pack", "--recompress", *arguments, **options)

    def unpacked(self, path):
        return self.framefs("unpack", path, "-o", "-").stdout

    def names(self):
        return sorted(os.listdir(self.source))

    def test_everything_but_the_compression_stays(self):
        content = data.random_walk(300_000)
        path = self.source / "walk.b2frame"
        chunks = [memcpyed_chunk(content[at:at + 100_000], typesize=4) for at in range(0, len(content), 100_000)]
        path.write_bytes(frame(chunks, 100_000, typesize=4, meta={"origin": b"here", "unit": b"\x01\x02"},
                               vlmeta={"note": b"a note" * 1000}))
        os.chmod(path, 0o640)
        if os.geteuid() == 0:
            os.chown(path, 1234, 2345)
        os.setxattr(path, "user.note", b"mine")
        os.utime(path, ns=(ATIME_NS, MTIME_NS))
        before = path.stat()
        result = self.recompress("--codec", "lz4", "--level", "9", "--checksums", path)
        self.assertEqual((result.stdout, result.stderr), (b"", b""))
        after = path.stat()
        self.assertNotEqual(after.st_ino, before.st_ino)
        self.assertLess(after.st_size, before.st_size)
        for field in ("st_mode", "st_uid", "st_gid", "st_atime_ns", "st_mtime_ns"):
            self.assertEqual(getattr(after, field), getattr(before, field), field)
        self.assertEqual(os.getxattr(path, "user.note"), b"mine")
        (info,) = self.info(path)
        self.assertEqual((info["codec"], info["typesize"], info["chunksize"], info["checksums"]),
                         ("lz4", 4, 100_000, True))
        self.assert_same_bytes(self.unpacked(path), content, "recompressed")
        with self.mount() as mount:
            for name, wanted in (("meta.origin", b"here"), ("meta.unit", b"\x01\x02"), ("vlmeta.note", b"a note" * 1000)):
                self.assertEqual(os.getxattr(mount.path("walk"), f"user.framefs.{name}"), wanted, name)
        # Checksums stay, and another size of chunks and blocks is one of the ways.
        self.recompress("--chunk-size", "256K", "--block-size", "16K", path)
        (info,) = self.info(path)
        self.assertEqual((info["codec"], info["chunksize"], info["blocksize"], info["checksums"]),
                         ("zstd", 256 << 10, 16 << 10, True))
        self.assert_same_bytes(self.unpacked(path), content, "with other chunks")
        self.framefs("check", path)
        self.assertEqual(self.names(), ["walk.b2frame"])

    def test_arrays_of_the_library(self):
        count = 0
        for entry in fixtures.sample():
            if entry["kind"] != "cframe" or "b2nd" not in entry or not fixtures.is_sound(entry) or fixtures.is_huge(entry) or \
                    fixtures.needs_plugin(entry) or fixtures.offset_options(entry):
                continue
            original = fixtures.FIXTURES / entry["path"]
            if not original.is_file():
                continue
            path = self.source / original.name
            for options in (("--codec", "lz4"), ("--chunk-size", "2K", "--block-size", "512", "--level", "1")):
                shutil.copy(original, path)
                (before,) = self.info(path)
                with self.subTest(entry["path"], options=options):
                    result = self.tool(daemon.FRAMEFS, "pack", "--recompress", *options, path, check=False)
                    if result.returncode != 0:
                        refused = b"is an array of Caterva" if "caterva" in entry["meta"] else b"without a type of NumPy"
                        self.assertIn(refused, result.stderr)
                        self.assertEqual(path.read_bytes(), original.read_bytes())
                        continue
                    (after,) = self.info(path)
                    for key in ("shape", "dtype"):
                        self.assertEqual(after["array"][key], before["array"][key], key)
                    for key in ("metalayers", "vlmetalayers"):
                        self.assertEqual([layer["name"] for layer in after[key]],
                                         [layer["name"] for layer in before[key]])
                    self.assertEqual(self.unpacked(path), self.unpacked(original))
                    count += 1
        self.assertGreater(count, 4)

    def test_a_large_array_with_other_chunks(self):
        array = numpy.frombuffer(data.random_walk(900 * 1100), dtype=numpy.float32).reshape(900, 1100)
        plain = self.folder / "plane.npy"
        numpy.save(plain, array)
        path = self.source / "plane.b2nd"
        self.framefs("pack", plain, "-o", path, "--chunk-size", "300K", "--block-size", "20K")
        before = self.info(path)[0]["array"]
        self.recompress("--codec", "lz4", path)
        self.assertEqual(self.info(path)[0]["array"], before)
        self.recompress("--chunk-size", "1M", path)
        self.assertNotEqual(self.info(path)[0]["array"]["chunkshape"], before["chunkshape"])
        self.assert_same_bytes(self.unpacked(path), plain.read_bytes(), "array")

    def test_a_frame_with_the_suffix_of_another_content(self):
        """The content decides, as everywhere."""
        array = numpy.arange(40_000, dtype="<u4").reshape(200, 200)
        plain = self.folder / "plane.npy"
        numpy.save(plain, array)
        self.framefs("pack", plain, "-o", self.source / "plane.b2nd", "--chunk-size", "20K")
        path = self.source / "other.b2frame"
        shutil.copy(self.source / "plane.b2nd", path)
        self.recompress("--codec", "lz4", path)
        self.assertEqual(self.info(path)[0]["array"], self.info(self.source / "plane.b2nd")[0]["array"])
        path.rename(self.source / "again.b2nd")
        self.assert_same_bytes(self.unpacked(self.source / "again.b2nd"), plain.read_bytes(), "array")

    def test_holes_stay_holes(self):
        plain = self.folder / "holes"
        plain.write_bytes(b"an island")
        os.truncate(plain, 1 << 32)
        path = self.source / "holes.b2frame"
        self.framefs("pack", plain, "-o", path)
        self.recompress("--codec", "lz4", "--chunk-size", "1M", path)
        self.assertLess(path.stat().st_size, 1 << 20)
        self.assertEqual(self.info(path)[0]["nbytes"], 1 << 32)

    def test_a_directory(self):
        contents = {f"{folder}/{number}": data.text(500 + number) for folder in ("a", "b") for number in range(3)}
        for name, content in contents.items():
            path = self.source / f"{name}.b2frame"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(plain_frame(content, 10_000))
        (self.source / "notes.txt").write_bytes(b"no frame")
        (self.source / "left.b2frame").write_bytes(plain_frame(b"left as it is"))
        left = (self.source / "left.b2frame").read_bytes()
        said = self.recompress("--exclude", "left*", self.source).stderr.decode()
        self.assertRegex(said, r"source: 6 files recompressed, [\d.]+ kB to [\d.]+ kB \([\d.]+ times smaller\)\n$")
        self.assertEqual((self.source / "left.b2frame").read_bytes(), left)
        for name, content in contents.items():
            self.assertEqual(self.unpacked(self.source / f"{name}.b2frame"), content)
        # One that cannot be done does not keep the others from it.
        (self.source / "a/1.b2frame").write_bytes(b"no frame at all" * 10)
        result = self.recompress(self.source, code=1)
        self.assertIn("a/1.b2frame: ", result.stderr.decode())
        self.assertIn("6 files recompressed", result.stderr.decode())
        self.assertIn("; 1 FAILED", result.stderr.decode())

    def test_what_cannot_be_kept_is_refused(self):
        path = self.source / "x.b2frame"
        path.write_bytes(plain_frame(b"content"))
        os.link(path, self.source / "y.b2frame")
        self.assert_fails("pack", "--recompress", path, cause=f"{path}: has several hard links")
        sparse = self.source / "sparse.b2frame"
        frames.write_sparse_frame(sparse, [memcpyed_chunk(b"abcd"), memcpyed_chunk(b"ef")], 6, 4)
        self.assert_fails("pack", "--recompress", sparse, cause="sparse.b2frame: is a directory: a sparse frame")
        (self.source / "plain").write_bytes(b"no frame" * 100)
        self.assert_fails("pack", "--recompress", self.source / "plain", cause="plain: ")
        self.assert_fails("pack", "--recompress", self.source / "none", cause="none: No such file")
        self.assertEqual(path.read_bytes(), plain_frame(b"content"))
        for options, cause in ((("-o", "out"), "--output"), (("--estimate",), "--recompress"),
                               (("--force",), "--force"), (("--nest",), "--nest"), (("--json",), "--json is for")):
            self.assert_refused("pack", "--recompress", path, *options, cause=cause)
        self.assert_refused("pack", "--recompress", "-", cause="not standard input")

    def test_damage_never_gets_a_new_checksum(self):
        plain = self.folder / "noise"
        plain.write_bytes(data.noise(300_000))
        path = self.source / "noise.b2frame"
        self.framefs("pack", plain, "--checksums", "--chunk-size", "64K", "-o", path)
        stored = bytearray(path.read_bytes())
        chunk = self.info("--chunks", path)[0]["chunk_list"][2]
        # Noise is stored as it is, so that the chunk decodes to other bytes without an error.
        stored[chunk["offset"] + 1000] ^= 1
        path.write_bytes(stored)
        self.assert_fails("pack", "--recompress", path, cause="chunk 2")
        self.assertEqual(path.read_bytes(), stored)
        self.assertEqual(self.names(), ["noise.b2frame"])

    def test_a_link_leads_to_the_frame(self):
        path, link = self.folder / "real.b2frame", self.source / "link.b2frame"
        path.write_bytes(plain_frame(data.text(1000), 10_000))
        link.symlink_to(path)
        before = path.stat().st_size
        self.recompress(link)
        self.assertTrue(link.is_symlink())
        self.assertLess(path.stat().st_size, before)

    def test_a_frame_that_a_mount_changes_meanwhile_is_kept(self):
        self.make_frame(data.noise(1 << 20), self.source / "file.b2frame")
        with self.mount() as mount:
            fd = os.open(mount.path("file"), os.O_RDWR)
            os.pwrite(fd, b"written through the mount", 0)
            command = [daemon.FRAMEFS, "pack", "--recompress", "--codec", "lz4", self.source / "file.b2frame"]
            with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
                daemon.wait_for(lambda: any(name.startswith(".framefs-unfinished") for name in self.names()),
                                "the new frame")
                os.close(fd)
                _, told = process.communicate(timeout=4 * daemon.DEADLINE_S)
            self.assertEqual(process.returncode, 1, told)
            self.assertIn(b"file.b2frame: changed while it was read, and is kept", told)
            self.assertEqual(mount.path("file").read_bytes()[:25], b"written through the mount")
            # When the mount has committed, the frame is replaced under its readers.
            self.recompress("--codec", "lz4", self.source / "file.b2frame")
            self.assertEqual(mount.path("file").read_bytes()[:25], b"written through the mount")
        self.assertEqual(self.info(self.source / "file.b2frame")[0]["codec"], "lz4")
        self.assertEqual(self.names(), ["file.b2frame"])

    def test_a_signal_leaves_the_old_frame(self):
        path = self.source / "file.b2frame"
        self.make_frame(data.noise(1 << 20), path)
        with self.mount() as mount:
            # The open frame makes the command wait.
            fd = os.open(mount.path("file"), os.O_RDWR)
            os.pwrite(fd, b"written", 0)
            command = [daemon.FRAMEFS, "pack", "--recompress", path]
            with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
                daemon.wait_for(lambda: len(self.names()) == 2, "the new frame")
                process.send_signal(signal.SIGTERM)
                os.close(fd)
                _, told = process.communicate(timeout=4 * daemon.DEADLINE_S)
            self.assertEqual(process.returncode, -signal.SIGTERM, told)
        self.assertEqual(self.names(), ["file.b2frame"])
        self.assertEqual(self.unpacked(path)[:7], b"written")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to give a file away")
    def test_the_owner_is_kept_or_the_frame_is(self):
        path = self.source / "x.b2frame"
        path.write_bytes(plain_frame(b"content" * 1000))
        before = path.read_bytes()
        os.chmod(path, 0o666)
        for folder in (self.folder, self.source):
            os.chmod(folder, 0o777)
        result = subprocess.run([daemon.FRAMEFS, "pack", "--recompress", path], user=65534, group=65534,
                                extra_groups=[], capture_output=True, check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(b"has an owner or a group that this user cannot give", result.stderr)
        self.assertEqual(path.read_bytes(), before)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o666)


if __name__ == "__main__":
    unittest.main()
