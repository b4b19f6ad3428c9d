"""The names and attributes that a mount shows; and that a read-only mount refuses all writes."""

import errno
import os
import socket
import stat
import unittest

from case import MountCase

FRAME_DATA = b"what the frame holds\n"
PLAIN_DATA = b"what the plain file holds\n"


def kernel_block_size(size):
    """st_blksize if a FUSE daemon answers `size`: the kernel rounds it down to a power of two."""
    return 1 << (size.bit_length() - 1)


def listing(path):
    return sorted(os.listdir(path))


class Names(MountCase):
    def frame(self, name, content=FRAME_DATA):
        return self.make_frame(content, self.source / name)

    def plain(self, name, content=PLAIN_DATA):
        (self.source / name).write_bytes(content)

    def test_suffixes_are_taken_off(self):
        self.frame("a.b2frame")
        self.frame("b.b2f")
        self.frame("c.b2")
        self.frame("d.txt.b2frame")
        self.frame("e.b2frame.b2frame")
        self.frame("f.B2FRAME")
        self.frame("frame-without-suffix")
        self.plain("g.txt")
        with self.mount() as mount:
            shown = ["a", "b", "c", "d.txt", "e.b2frame", "f.B2FRAME", "frame-without-suffix", "g.txt"]
            self.assertEqual(listing(mount.path()), shown)
            for name in ("a", "b", "c", "d.txt", "e.b2frame"):
                self.assertEqual(mount.path(name).read_bytes(), FRAME_DATA, name)
            for name in ("f.B2FRAME", "frame-without-suffix"):
                self.assertEqual(mount.path(name).read_bytes(), (self.source / name).read_bytes(), name)
            for name in ("e", "a.b2", "a.b2frame.b2frame", "nothing"):
                self.assertFalse(os.path.lexists(mount.path(name)), name)

    def test_only_a_suffix_is_no_name(self):
        for name in (".b2frame", ".b2f", ".b2"):
            self.frame(name)
        self.frame(".hidden.b2frame")
        with self.mount() as mount:
            self.assertEqual(listing(mount.path()), [".b2", ".b2f", ".b2frame", ".hidden"])
            self.assertEqual(mount.path(".hidden").read_bytes(), FRAME_DATA)

    def test_a_real_entry_keeps_its_name(self):
        self.frame("x.b2frame")
        self.plain("x")
        self.frame("folder.b2frame")
        (self.source / "folder").mkdir()
        self.frame("link.b2frame")
        (self.source / "link").symlink_to("nowhere")
        with self.mount() as mount:
            self.assertEqual(listing(mount.path()), ["folder", "folder.b2frame", "link",
                                                     "link.b2frame", "x", "x.b2frame"])
            self.assertEqual(mount.path("x").read_bytes(), PLAIN_DATA)
            self.assertEqual(mount.path("x.b2frame").read_bytes(), FRAME_DATA)
            self.assertTrue(mount.path("folder").is_dir())
            self.assertEqual(mount.path("folder.b2frame").read_bytes(), FRAME_DATA)
            self.assertEqual(os.readlink(mount.path("link")), "nowhere")
            self.assertEqual(mount.path("link.b2frame").read_bytes(), FRAME_DATA)

    def test_two_frames_of_one_name_both_keep_their_suffix(self):
        self.frame("y.b2frame", b"one\n")
        self.frame("y.b2f", b"two\n")
        with self.mount() as mount:
            self.assertEqual(listing(mount.path()), ["y.b2f", "y.b2frame"])
            self.assertEqual(mount.path("y.b2frame").read_bytes(), b"one\n")
            self.assertEqual(mount.path("y.b2f").read_bytes(), b"two\n")
            self.assertFalse(mount.path("y").exists())

    def test_a_name_frees_and_takes_itself(self):
        """Collisions depend on the current content of the folder."""
        self.frame("z.b2frame")
        with self.mount() as mount:
            self.assertEqual(listing(mount.path()), ["z"])
            self.plain("z")
            self.assertEqual(listing(mount.path()), ["z", "z.b2frame"])
            os.unlink(self.source / "z")
            self.assertEqual(listing(mount.path()), ["z"])

    def test_a_file_that_is_not_a_frame_keeps_its_name(self):
        self.plain("text.b2frame")
        self.plain("short.b2f", b"\x9e\xa8b2fra")
        self.plain("empty.b2nd", b"")
        (self.source / "folder.b2frame").mkdir()
        with self.mount() as mount:
            self.assertEqual(listing(mount.path()),
                             ["empty.b2nd", "folder.b2frame", "short.b2f", "text.b2frame"])
            self.assertEqual(mount.path("text.b2frame").read_bytes(), PLAIN_DATA)
            self.assertEqual(mount.path("short.b2f").read_bytes(), b"\x9e\xa8b2fra")
            self.assertEqual(mount.path("empty.b2nd").stat().st_size, 0)
            self.assertFalse(mount.path("text").exists())

    def test_a_damaged_frame_is_listed_under_its_short_name(self):
        frame = self.frame("broken.b2frame", FRAME_DATA * 100)
        whole = frame.read_bytes()
        frame.write_bytes(whole[:60])
        with self.mount() as mount:
            self.assertEqual(listing(mount.path()), ["broken"])
            self.assertTrue(stat.S_ISREG(mount.path("broken").stat().st_mode))
            with self.assertRaises(OSError) as caught:
                mount.path("broken").read_bytes()
            self.assertEqual(caught.exception.errno, errno.EIO)

    def test_lock_files_are_hidden(self):
        self.frame("data.b2frame")
        self.plain("data.b2frame.b2lock")
        self.plain(".b2lock")
        self.plain("b2lock")
        with self.mount() as mount:
            self.assertEqual(listing(mount.path()), ["b2lock", "data"])
            self.assertFalse(mount.path("data.b2frame.b2lock").exists())
            self.assertFalse(mount.path(".b2lock").exists())

    def test_keep_suffix(self):
        self.frame("a.b2frame")
        self.plain("a")
        self.frame("b.b2f")
        with self.mount("--keep-suffix") as mount:
            self.assertEqual(listing(mount.path()), ["a", "a.b2frame", "b.b2f"])
            self.assertEqual(mount.path("a.b2frame").read_bytes(), FRAME_DATA)
            self.assertEqual(mount.path("b.b2f").read_bytes(), FRAME_DATA)
            self.assertEqual(mount.path("a").read_bytes(), PLAIN_DATA)
            self.assertFalse(mount.path("b").exists())

    def test_everything_else_is_itself(self):
        self.plain("file")
        (self.source / "good-link").symlink_to("file")
        (self.source / "link-to-shown-name").symlink_to("data")
        (self.source / "dangling").symlink_to("/nonexistent/" + "x" * 200)
        self.frame("data.b2frame")
        os.mkfifo(self.source / "fifo")
        os.link(self.source / "file", self.source / "second-name")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.fspath(self.source / "socket"))
        with self.mount() as mount:
            self.assertEqual(mount.path("good-link").read_bytes(), PLAIN_DATA)
            self.assertEqual(mount.path("link-to-shown-name").read_bytes(), FRAME_DATA)
            self.assertEqual(os.readlink(mount.path("dangling")), "/nonexistent/" + "x" * 200)
            self.assertTrue(stat.S_ISFIFO(mount.path("fifo").lstat().st_mode))
            self.assertTrue(stat.S_ISSOCK(mount.path("socket").lstat().st_mode))
            self.assertEqual(mount.path("file").stat().st_nlink, 2)
            self.assertTrue(os.path.samefile(mount.path("file"), mount.path("second-name")))
            self.assertFalse(os.path.samefile(mount.path("file"), mount.path("data")))
            types = {e.name: e.is_symlink() for e in os.scandir(mount.path())}
            self.assertTrue(types["dangling"] and not types["file"])

    def test_a_link_to_a_frame_is_a_link(self):
        self.frame("real.b2frame")
        (self.source / "alias.b2frame").symlink_to("real.b2frame")
        with self.mount() as mount:
            self.assertIn("alias.b2frame", listing(mount.path()))
            self.assertEqual(os.readlink(mount.path("alias.b2frame")), "real.b2frame")

    def test_links_lead_to_frames_by_their_full_names(self):
        self.frame("run42.csv.b2frame")
        self.frame("run43.csv.b2f", FRAME_DATA * 2)
        (self.source / "folder").mkdir()
        (self.source / "latest").symlink_to("run42.csv.b2frame")
        (self.source / "folder" / "up").symlink_to("../latest")
        (self.source / "wrong").symlink_to("run42.csv.b2f")
        with self.mount("--attr-timeout", "3600") as mount:
            self.assertEqual(listing(mount.path()), ["folder", "latest", "run42.csv", "run43.csv", "wrong"])
            self.assertEqual(os.readlink(mount.path("latest")), "run42.csv.b2frame")
            for path in (mount.path("latest"), mount.path("folder/up"), mount.path("run42.csv.b2frame")):
                self.assertEqual(path.read_bytes(), FRAME_DATA, path)
                self.assertTrue(path.samefile(mount.path("run42.csv")), path)
            self.assertFalse(mount.path("wrong").exists())
            # A link in the mount may be changed to lead to another frame.
            os.unlink(mount.path("latest"))
            os.symlink("run43.csv.b2f", mount.path("latest"))
            self.assertEqual(mount.path("latest").read_bytes(), FRAME_DATA * 2)
            # The kernel does not keep a full name beyond its frame, however long it keeps others.
            os.unlink(mount.path("run43.csv"))
            self.assertFalse(mount.path("latest").exists())
            self.assertEqual(listing(mount.path()), ["folder", "latest", "run42.csv", "wrong"])

    def test_deep_folders(self):
        path = self.source
        for i in range(60):
            path = path / f"level-{i}"
        path.mkdir(parents=True)
        self.make_frame(FRAME_DATA, path / "deep.b2frame")
        with self.mount() as mount:
            shown = mount.path() / path.relative_to(self.source)
            self.assertEqual(shown.joinpath("deep").read_bytes(), FRAME_DATA)
            self.assertEqual(shown.joinpath("../" * 60, "level-0").resolve(), mount.path("level-0"))
            self.assertEqual(sum(len(files) for _, _, files in os.walk(mount.path())), 1)

    def test_long_and_unusual_names(self):
        names = ["n" * (255 - len(".b2frame")), "spa ce", "new\nline", "tab\t", "quote'\"", "back\\slash",
                 "-rf", "$HOME", "üñïçødé", "日本語", "dot.", "..dots", " ", "*", "%s%n", "\x01\x7f"]
        names = [n.encode() for n in names] + [b"latin1-\xe9", b"\xff\xfe", b"overlong-\xc0\xaf"]
        source, shown_in = os.fsencode(self.source), os.fsencode(self.mountpoint)
        self.frame("template.b2frame")
        content = (self.source / "template.b2frame").read_bytes()
        os.unlink(self.source / "template.b2frame")
        for name in names:
            with open(os.path.join(source, name + b".b2frame"), "wb") as file:
                file.write(content)
        with self.mount():
            self.assertEqual(sorted(os.listdir(shown_in)), sorted(names))
            for name in names:
                with open(os.path.join(shown_in, name), "rb") as file:
                    self.assertEqual(file.read(), FRAME_DATA, name)
            with self.assertRaises(OSError) as caught:
                os.stat(os.path.join(shown_in, b"n" * 256))
            self.assertEqual(caught.exception.errno, errno.ENAMETOOLONG)

    def test_source_may_have_an_unusual_name(self):
        odd = self.folder / "so u\nrce, with=commas"
        odd.mkdir()
        target = self.folder / "mount, point"
        target.mkdir()
        self.make_frame(FRAME_DATA, odd / "a.b2frame")
        with self.mount(source=odd, mountpoint=target) as mount:
            self.assertEqual(mount.path("a").read_bytes(), FRAME_DATA)


class Attributes(MountCase):
    CHUNK = 40_000

    def setUp(self):
        self.size = 3 * self.CHUNK + 17
        self.frame = self.make_frame((bytes(range(251)) * 600)[:self.size], self.source / "d.b2frame",
                                     "--chunk", str(self.CHUNK))

    def test_stat_fields(self):
        os.chmod(self.frame, 0o2754)
        os.link(self.frame, self.folder / "other-name")
        os.utime(self.frame, ns=(1_111_111_111_123_456_789, 1_222_222_222_987_654_321))
        with self.mount() as mount:
            real, shown = os.stat(self.frame), mount.path("d").stat()
            self.assertEqual(shown.st_size, self.size)
            self.assertEqual(shown.st_blksize, kernel_block_size(self.CHUNK))
            for field in ("st_blocks", "st_mode", "st_uid", "st_gid", "st_nlink", "st_atime_ns",
                          "st_mtime_ns", "st_ctime_ns"):
                self.assertEqual(getattr(shown, field), getattr(real, field), field)
            self.assertTrue(os.access(mount.path("d"), os.R_OK))
            self.assertEqual(os.stat(mount.path()).st_mode, os.stat(self.source).st_mode)
            folder = os.stat(mount.path())
            self.assertEqual((folder.st_uid, folder.st_mtime_ns),
                             (os.stat(self.source).st_uid, os.stat(self.source).st_mtime_ns))

    def test_reading_is_no_access_in_source(self):
        chunks = self.source / "s.b2frame/chunks.b2frame"
        self.make_frame(bytes(range(256)) * 100, self.source / "s.b2frame", "--sparse")
        (self.source / "text").write_text("hello")
        (self.source / "sub").mkdir()
        files = [self.frame, chunks, *chunks.parent.glob("*.chunk"), self.source / "text",
                 self.source, self.source / "sub"]
        before = 1_000_000_000  # older than the change, so that a read would move it
        for path in files:
            os.utime(path, (before, before + 1))
        with self.mount() as mount:
            for name in ("d", "s", "text"):
                mount.path(name).stat()
                mount.path(name).read_bytes()
                os.listxattr(mount.path(name))
            for folder in (mount.path(), mount.path("sub")):
                list(os.scandir(folder))
            for path in files:
                self.assertEqual(os.stat(path).st_atime, before, path)

    def test_block_size_is_clamped(self):
        sizes = {"100": 4096, "4096": 4096, "64K": 65536, "1M": 1 << 20, "3M": 1 << 20}
        for chunk in sizes:
            self.make_frame(bytes(1_000), self.source / f"c{chunk}.b2frame", "--chunk", chunk)
        with self.mount() as mount:
            for chunk, shown in sizes.items():
                self.assertEqual(mount.path(f"c{chunk}").stat().st_blksize, shown, chunk)

    def test_inode_numbers_agree(self):
        with self.mount() as mount:
            for entry in os.scandir(mount.path()):
                self.assertEqual(entry.inode(), os.lstat(entry.path).st_ino, entry.name)
            with open(mount.path("d"), "rb") as file:
                self.assertEqual(os.fstat(file.fileno()).st_ino, mount.path("d").stat().st_ino)

    def test_statfs_is_the_source_filesystems(self):
        with self.mount() as mount:
            real, shown = os.statvfs(self.source), os.statvfs(mount.path())
            self.assertEqual((shown.f_frsize, shown.f_blocks, shown.f_files, shown.f_namemax),
                             (real.f_frsize, real.f_blocks, real.f_files, real.f_namemax))
            self.assertEqual(shown.f_flag & os.ST_RDONLY, real.f_flag & os.ST_RDONLY)
            self.tool("df", mount.path())

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_permissions_hold_for_other_users(self):
        for path in (self.folder, self.source):
            os.chmod(path, 0o755)
        os.chmod(self.frame, 0o600)
        self.make_frame(FRAME_DATA, self.source / "open.b2frame")
        os.chmod(self.source / "open.b2frame", 0o644)
        (self.source / "private").mkdir(mode=0o700)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        with self.mount("--allow-other") as mount:
            self.assertEqual(self.tool("cat", mount.path("open"), **nobody).stdout, FRAME_DATA)
            denied = self.tool("cat", mount.path("d"), check=False, **nobody)
            self.assertIn(b"Permission denied", denied.stderr)
            denied = self.tool("ls", mount.path("private"), check=False, **nobody)
            self.assertIn(b"Permission denied", denied.stderr)
            self.assertEqual(len(mount.path("d").read_bytes()), self.size)


class ReadOnly(MountCase):
    def setUp(self):
        self.make_frame(FRAME_DATA, self.source / "a.b2frame")
        (self.source / "plain").write_bytes(PLAIN_DATA)
        (self.source / "folder").mkdir()

    def test_every_kind_of_write_is_refused(self):
        before = {p: p.read_bytes() for p in self.source.iterdir() if p.is_file()}
        with self.mount("-o", "ro") as mount:
            frame, plain, folder, new = (mount.path(n) for n in ("a", "plain", "folder", "new"))
            attempts = {
                "open for writing": lambda: os.open(frame, os.O_WRONLY),
                "open for both": lambda: os.open(plain, os.O_RDWR),
                "open to append": lambda: os.open(frame, os.O_WRONLY | os.O_APPEND),
                "open to truncate": lambda: os.open(frame, os.O_WRONLY | os.O_TRUNC),
                "create": lambda: os.open(new, os.O_WRONLY | os.O_CREAT, 0o644),
                "truncate": lambda: os.truncate(frame, 3),
                "mkdir": lambda: os.mkdir(new),
                "rmdir": lambda: os.rmdir(folder),
                "unlink": lambda: os.unlink(frame),
                "rename": lambda: os.rename(frame, new),
                "rename over": lambda: os.rename(plain, frame),
                "link": lambda: os.link(frame, new),
                "symlink": lambda: os.symlink("a", new),
                "mknod": lambda: os.mkfifo(new),
                "chmod": lambda: os.chmod(frame, 0o600),
                "chown": lambda: os.chown(plain, 0, 0),
                "utimens": lambda: os.utime(frame, (1, 1)),
                "setxattr": lambda: os.setxattr(frame, "user.x", b"1"),
                "removexattr": lambda: os.removexattr(plain, "user.x"),
            }
            for what, attempt in attempts.items():
                with self.subTest(what):
                    with self.assertRaises(OSError) as caught:
                        attempt()
                    self.assertEqual(caught.exception.errno, errno.EROFS)
            self.assertFalse(os.access(frame, os.W_OK))
            self.assertEqual(frame.read_bytes(), FRAME_DATA)
        self.assertEqual({p: p.read_bytes() for p in self.source.iterdir() if p.is_file()}, before)


if __name__ == "__main__":
    unittest.main()
