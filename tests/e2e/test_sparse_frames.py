"""Frames that are directories, shown as files."""

import errno
import os
import stat
import unittest

import daemon
import data
from case import MountCase

CHUNK = 50_000
CHUNKS = 20


class SparseFrames(MountCase):
    def setUp(self):
        self.plain = data.random_walk(CHUNK * CHUNKS // 4)
        self.frame = self.make_sparse(self.plain, "d.b2frame")

    def make_sparse(self, content, name, *options):
        return self.make_frame(content, self.source / name, "--sparse", "--chunk", str(CHUNK),
                               "--block", "7000", "--typesize", "4", "--filter", "shuffle", *options)

    def disk_bytes(self):
        return sum(path.stat().st_size for path in self.frame.iterdir())

    def test_it_is_a_file(self):
        for name in ("e.b2f", "f.b2", "g.b2b", "h.b2nd"):
            self.make_sparse(self.plain[:1000], name)
        with self.mount() as mount:
            self.assertEqual(sorted(os.listdir(mount.path())), ["d", "e", "f", "g", "h"])
            for name in "defgh":
                self.assertTrue(stat.S_ISREG(mount.path(name).lstat().st_mode), name)
            self.assert_same_bytes(mount.path("d").read_bytes(), self.plain, "d")
            self.assert_same_bytes(mount.path("h").read_bytes(), self.plain[:1000], "h")
            with self.assertRaises(NotADirectoryError):
                os.listdir(mount.path("d"))
            self.assertFalse(os.path.lexists(mount.path("d", "chunks.b2frame")))
            self.assertTrue(mount.path("d.b2frame").samefile(mount.path("d")))  # not listed

    def test_keep_suffix(self):
        with self.mount("--keep-suffix") as mount:
            self.assertEqual(os.listdir(mount.path()), ["d.b2frame"])
            self.assert_same_bytes(mount.path("d.b2frame").read_bytes(), self.plain, "d.b2frame")

    def test_attributes(self):
        index = self.frame / "chunks.b2frame"
        os.chmod(index, 0o640)
        os.utime(index, ns=(1_111_111_111_123_456_789, 1_222_222_222_987_654_321))
        with self.mount() as mount:
            shown, real = mount.path("d").stat(), index.stat()
            self.assertEqual(shown.st_size, len(self.plain))
            self.assertEqual(shown.st_blocks, (self.disk_bytes() + 511) // 512)
            for field in ("st_mode", "st_uid", "st_gid", "st_mtime_ns", "st_ctime_ns"):
                self.assertEqual(getattr(shown, field), getattr(real, field), field)
            self.assertEqual(shown.st_ino, self.frame.stat().st_ino)
            for entry in os.scandir(mount.path()):
                self.assertEqual(entry.inode(), entry.stat().st_ino)
                self.assertTrue(entry.is_file())

    def test_new_chunks_have_the_owner_and_the_rights_of_the_frame(self):
        is_root = os.geteuid() == 0
        owner = (1000, 1001) if is_root else (os.getuid(), os.getgid())
        for part in (self.frame, *self.frame.iterdir()):
            os.chown(part, *owner)
            os.chmod(part, 0o750 if part == self.frame else 0o640)
        known = set(self.frame.iterdir())
        with self.mount("--attr-timeout", "0") as mount:
            with open(mount.path("d"), "r+b", buffering=0) as file:
                file.write(b"new")
                os.fsync(file.fileno())
                self.assertTrue(set(self.frame.iterdir()) - known)
                for part in self.frame.iterdir():
                    st = part.stat()
                    self.assertEqual((st.st_uid, st.st_gid), owner, part)
                    self.assertEqual(stat.S_IMODE(st.st_mode), 0o640, part)
            os.chmod(mount.path("d"), 0o600)
            self.assert_same_bytes(mount.path("d").read_bytes(), b"new" + self.plain[3:], "d")

    def test_listing_tools(self):
        with self.mount() as mount:
            listing = self.tool("ls", "-ls", mount.path()).stdout.decode().splitlines()[1].split()
            self.assertEqual(listing[1][0], "-")
            self.assertEqual(listing[5], str(len(self.plain)))
            blocks_kib = (self.disk_bytes() + 511) // 512 / 2
            self.assertAlmostEqual(float(listing[0]), blocks_kib, delta=1)
            self.assertEqual(self.tool("stat", "-c", "%s %F", mount.path("d")).stdout.decode(),
                             f"{len(self.plain)} regular file\n")
            used = int(self.tool("du", "-k", mount.path("d")).stdout.split()[0])
            self.assertAlmostEqual(used, blocks_kib, delta=1)
            size = int(self.tool("du", "-b", mount.path("d")).stdout.split()[0])
            self.assertEqual(size, len(self.plain))
            self.assertEqual(self.tool("find", mount.path(), "-type", "d").stdout.decode(),
                             f"{mount.path()}\n")

    def test_tools(self):
        plain = self.folder / "plain"
        plain.mkdir()
        (plain / "d").write_bytes(self.plain)
        with self.mount() as mount:
            for command in (("md5sum", "d"), ("wc", "d"), ("tail", "-c", "70001", "d"),
                            ("dd", "if=d", "bs=7777", "skip=11", "count=9", "status=none")):
                self.assert_same_output(command, plain, mount.path())
            self.tool("diff", "-r", plain, mount.path())
            self.tool("cp", "-r", mount.path(), self.folder / "copy")
        self.tool("cmp", plain / "d", self.folder / "copy/d")

    def test_varying_chunks(self):
        self.make_sparse(self.plain, "v.b2frame", "--variable")
        with self.mount() as mount:
            self.assert_same_bytes(mount.path("v").read_bytes(), self.plain, "v")

    def test_many_chunks(self):
        """The frame has more files than a process may have open."""
        content = data.noise(3_000 * 64)
        self.make_frame(content, self.source / "m.b2frame", "--sparse", "--chunk", "64",
                        "--block", "64")
        self.assertEqual(len(os.listdir(self.source / "m.b2frame")), 3_001)
        with self.mount() as mount:
            with open(mount.path("m"), "rb") as file:
                self.assert_same_bytes(file.read(), content, "m")
                self.assertLess(len(daemon.open_files(mount.pid)), 100)

    def test_a_directory_of_that_name_without_an_index(self):
        folder = self.source / "folder.b2frame"
        folder.mkdir()
        (folder / "inside").write_bytes(b"plain")
        other = self.make_sparse(self.plain, "other.b2frame")
        (other / "chunks.b2frame").write_bytes(b"no index")
        with self.mount() as mount:
            self.assertEqual(sorted(os.listdir(mount.path())), ["d", "folder.b2frame", "other.b2frame"])
            self.assertEqual(mount.path("folder.b2frame", "inside").read_bytes(), b"plain")
            # The files in it are not frames on their own.
            self.assertEqual(sorted(os.listdir(mount.path("other.b2frame"))),
                             sorted(os.listdir(other)))

    def test_a_sparse_frame_of_another_name_is_a_directory(self):
        self.make_sparse(self.plain, "whatever")
        with self.mount() as mount:
            self.assertIn("whatever", os.listdir(mount.path()))
            self.assertTrue(mount.path("whatever").is_dir())
            index = mount.path("whatever", "chunks.b2frame")
            self.assertEqual(index.read_bytes(), (self.source / "whatever/chunks.b2frame").read_bytes())

    def test_a_link_to_one_is_a_link(self):
        (self.source / "alias.b2frame").symlink_to("d.b2frame")
        with self.mount() as mount:
            self.assertEqual(os.readlink(mount.path("alias.b2frame")), "d.b2frame")

    def test_damaged_chunk_files(self):
        """Each damaged file affects only its own range, and the log names it once."""
        def chunk_file(number):
            return self.frame / f"{number:08X}.chunk"

        damages = {2: lambda path: path.unlink(), 4: lambda path: path.write_bytes(b""),
                   6: lambda path: path.write_bytes(path.read_bytes()[:20]),
                   8: lambda path: os.truncate(path, path.stat().st_size // 2),
                   10: lambda path: (path.unlink(), os.mkfifo(path)),
                   12: lambda path: (path.unlink(), path.mkdir()),
                   14: lambda path: (path.unlink(), path.symlink_to(chunk_file(15).name)),
                   16: lambda path: path.write_bytes(chunk_file(15).read_bytes()[:8] + bytes(50)),
                   # With lower-case letters, the file has another name.
                   11: lambda path: path.rename(path.with_name("0000000b.chunk"))}
        for number, damage in damages.items():
            damage(chunk_file(number))
        with self.mount() as mount:
            for _ in range(2):
                for chunk in range(CHUNKS):
                    # Whole pages inside the chunk.
                    offset = chunk * CHUNK + 8192
                    fd = os.open(mount.path("d"), os.O_RDONLY)
                    try:
                        got = os.pread(fd, 4096, offset)
                    except OSError as error:
                        got = error.errno
                    finally:
                        os.close(fd)
                    wanted = errno.EIO if chunk in damages else self.plain[offset:offset + 4096]
                    self.assertEqual(got, wanted, f"chunk {chunk}")
            for chunk in damages:
                lines = [line for line in mount.log().splitlines() if f"chunk {chunk}:" in line]
                self.assertEqual(len(lines), 1, mount.log())

    def test_grown_while_mounted(self):
        """Grows as with a real writer: new chunk files, then a new index over the old one."""
        with self.mount() as mount:
            with open(mount.path("d"), "rb", buffering=0) as file:
                self.assert_same_bytes(file.read(1000), self.plain[:1000], "before")
                longer = self.plain + data.random_walk(30_000, seed=9)
                other = self.make_frame(longer, self.folder / "new.b2frame", "--sparse", "--chunk",
                                        str(CHUNK), "--block", "7000", "--typesize", "4",
                                        "--filter", "shuffle")
                for path in other.iterdir():
                    if path.suffix == ".chunk":
                        os.replace(path, self.frame / path.name)
                os.replace(other / "chunks.b2frame", self.frame / "chunks.b2frame")
                daemon.wait_for(lambda: mount.path("d").stat().st_size == len(longer), "the new size")
                self.assert_same_bytes(mount.path("d").read_bytes(), longer, "after")
                self.assert_same_bytes(os.pread(file.fileno(), 5000, len(longer) - 5000),
                                       longer[-5000:], "the open file")

    def test_removed_while_mounted(self):
        with self.mount() as mount:
            self.assertEqual(os.listdir(mount.path()), ["d"])
            for path in self.frame.iterdir():
                path.unlink()
            self.frame.rmdir()
            daemon.wait_for(lambda: not mount.path("d").exists(), "the frame to go")
            self.assertEqual(os.listdir(mount.path()), [])


if __name__ == "__main__":
    unittest.main()
