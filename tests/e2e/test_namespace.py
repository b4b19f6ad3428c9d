"""Names and attributes change in a mount, and in SOURCE, as they do in a plain folder."""

import contextlib
import ctypes
import errno
import multiprocessing
import os
import pathlib
import random
import shutil
import stat
import struct
import time
import unittest

from case import MountCase
from test_names import FRAME_DATA, PLAIN_DATA, listing

NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
AT_FDCWD = -100
LIBC = ctypes.CDLL(None, use_errno=True)


def renameat2(old, new, flags):
    if LIBC.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Namespace(MountCase):
    """Each test does the same in a mount and in a plain folder beside it."""

    def setUp(self):
        self.twin = self.folder / "twin"
        self.twin.mkdir()

    def both(self, attempt):
        """Runs attempt(root) in the twin, then in the mount; expects the same result or the same
        errno."""
        outcomes = []
        for root in (self.twin, self.mountpoint):
            try:
                outcomes.append(("returned", attempt(pathlib.Path(root))))
            except OSError as error:
                outcomes.append(("failed", errno.errorcode[error.errno]))
        self.assertEqual(outcomes[1], outcomes[0])
        return outcomes[0]

    def same_tree(self):
        """Compares names, kinds, modes, owners, link counts and contents."""
        self.assertEqual(self.tree(self.mountpoint), self.tree(self.twin))

    @staticmethod
    def tree(root):
        found = {}
        for parent, folders, files in os.walk(root):
            for name in sorted(folders + files):
                path = pathlib.Path(parent, name)
                st = path.lstat()
                kind = stat.S_IFMT(st.st_mode)
                content = None
                if kind == stat.S_IFREG:
                    content = path.read_bytes()
                elif kind == stat.S_IFLNK:
                    content = os.readlink(path)
                links = st.st_nlink if kind != stat.S_IFDIR else None
                found[str(path.relative_to(root))] = (kind, stat.S_IMODE(st.st_mode), st.st_uid,
                                                      st.st_gid, links, content)
        return found

    def frame(self, name, content=FRAME_DATA, suffix=".b2frame"):
        self.make_frame(content, self.source / (name + suffix))
        os.chmod(self.source / (name + suffix), 0o644)
        self.plain_twin(name, content)

    def sparse(self, name, content=FRAME_DATA):
        self.make_frame(content, self.source / (name + ".b2frame"), "--sparse")
        for part in (self.source / (name + ".b2frame")).iterdir():
            os.chmod(part, 0o644)
        self.plain_twin(name, content)

    def plain(self, name, content=PLAIN_DATA):
        (self.source / name).write_bytes(content)
        self.plain_twin(name, content)

    def plain_twin(self, name, content):
        (self.twin / name).write_bytes(content)

    def directory(self, name):
        for root in (self.source, self.twin):
            (root / name).mkdir()

    def test_directories(self):
        with self.mount():
            self.both(lambda root: os.mkdir(root / "a", 0o750))
            self.both(lambda root: os.mkdir(root / "a"))
            self.both(lambda root: os.mkdir(root / "a" / "b"))
            self.both(lambda root: os.mkdir(root / "nowhere" / "b"))
            self.both(lambda root: os.rmdir(root / "a"))
            self.both(lambda root: os.rmdir(root / "a" / "b"))
            self.both(lambda root: os.rmdir(root / "absent"))
            self.both(lambda root: os.unlink(root / "a"))
            self.same_tree()
            self.both(lambda root: os.rmdir(root / "a"))
            self.same_tree()
        self.assertEqual(listing(self.source), [])

    def test_special_files(self):
        with self.mount():
            self.both(lambda root: os.mkfifo(root / "fifo", 0o640))
            self.both(lambda root: os.mkfifo(root / "fifo"))
            self.both(lambda root: os.mknod(root / "socket", stat.S_IFSOCK | 0o600))
            self.both(lambda root: os.symlink("anywhere/at all", root / "link"))
            self.both(lambda root: os.symlink("again", root / "link"))
            self.both(lambda root: os.readlink(root / "link"))
            self.same_tree()
            for name in ("fifo", "socket", "link"):
                self.both(lambda root, name=name: os.unlink(root / name))
            self.same_tree()

    def test_unlink_takes_the_frame(self):
        self.frame("a")
        self.sparse("s")
        self.plain("p")
        (self.source / "a.b2frame.b2lock").write_bytes(b"")
        (self.source / "s.b2frame" / ".b2lock").write_bytes(b"")
        with self.mount():
            self.same_tree()
            self.both(lambda root: os.rmdir(root / "a"))
            for name in ("a", "s", "p", "absent"):
                self.both(lambda root, name=name: os.unlink(root / name))
            self.same_tree()
        self.assertEqual(listing(self.source), [])

    def test_a_folder_of_strangers_is_not_removed_as_a_frame(self):
        self.sparse("s")
        (self.source / "s.b2frame" / "notes.txt").write_bytes(b"mine")
        with self.mount() as mount:
            with self.assertRaises(OSError) as caught:
                os.unlink(mount.path("s"))
            self.assertEqual(caught.exception.errno, errno.ENOTEMPTY)
            self.assertEqual(mount.path("s").read_bytes(), FRAME_DATA)

    def test_a_folder_of_lock_files_alone_is_empty(self):
        self.directory("d")
        (self.source / "d" / "old.b2frame.b2lock").write_bytes(b"")
        with self.mount():
            self.both(lambda root: os.rmdir(root / "d"))
            self.same_tree()

    def test_rename_to_a_new_name(self):
        self.frame("f")
        self.frame("g", suffix=".b2f")
        self.sparse("s")
        self.plain("p")
        self.directory("d")
        self.directory("e")
        (self.source / "f.b2frame.b2lock").write_bytes(bytes(16))
        with self.mount() as mount:
            inodes = {name: mount.path(name).stat().st_ino for name in "fgspd"}
            for name in "fgspd":
                self.both(lambda root, name=name: os.rename(root / name, root / (name + "2")))
            self.same_tree()
            for name in "fgspd":
                self.assertEqual(mount.path(name + "2").stat().st_ino, inodes[name])
                self.both(lambda root, name=name: os.rename(root / (name + "2"), root / "e" / name))
            self.same_tree()
            self.both(lambda root: os.rename(root / "absent", root / "x"))
            self.both(lambda root: os.rename(root / "e", root / "e" / "d" / "e"))
            self.both(lambda root: os.rename(root / "e" / "f", root / "nowhere" / "f"))
            self.same_tree()
        self.assertEqual(listing(self.source / "e"),
                         ["d", "f.b2frame", "f.b2frame.b2lock", "g.b2f", "p", "s.b2frame"])
        self.assertEqual(listing(self.source), ["e"])

    def test_rename_replaces_every_kind_by_every_kind(self):
        kinds = {
            "plain": self.plain,
            "frame": self.frame,
            "b2f": lambda name, content: self.frame(name, content, ".b2f"),
            "sparse": self.sparse,
        }
        for old, make_old in kinds.items():
            for new, make_new in kinds.items():
                make_old(f"{old}-over-{new}", f"the {old}\n".encode())
                make_new(f"target-{old}-over-{new}", f"replaced {new}\n".encode())
        with self.mount():
            for old in kinds:
                for new in kinds:
                    pair = f"{old}-over-{new}"
                    self.both(lambda root, pair=pair: os.rename(root / pair, root / f"target-{pair}"))
                    self.same_tree()
        # As before in each place, except that frames take the suffix of the frames that they
        # replace.
        self.assertEqual(len(listing(self.source)), len(kinds) ** 2)

    def test_rename_of_directories_and_files_over_each_other(self):
        self.frame("f")
        self.plain("p")
        for name in ("empty", "full", "other"):
            self.directory(name)
        for root in (self.source, self.twin):
            (root / "full" / "x").write_bytes(b"x")
        with self.mount():
            self.both(lambda root: os.rename(root / "f", root / "empty"))
            self.both(lambda root: os.rename(root / "empty", root / "f"))
            self.both(lambda root: os.rename(root / "empty", root / "p"))
            self.both(lambda root: os.rename(root / "empty", root / "full"))
            self.same_tree()
            self.both(lambda root: os.rename(root / "full", root / "empty"))
            self.same_tree()

    def test_rename_noreplace(self):
        self.frame("f")
        self.plain("p")
        with self.mount():
            self.both(lambda root: renameat2(root / "f", root / "p", NOREPLACE))
            self.both(lambda root: renameat2(root / "p", root / "f", NOREPLACE))
            self.both(lambda root: renameat2(root / "f", root / "f", NOREPLACE))
            self.both(lambda root: renameat2(root / "f", root / "new", NOREPLACE))
            self.both(lambda root: renameat2(root / "absent", root / "new", NOREPLACE))
            self.both(lambda root: renameat2(root / "new", root / "p", NOREPLACE | EXCHANGE))
            self.same_tree()

    def test_rename_exchange(self):
        self.frame("f", b"one\n")
        self.frame("g", b"two\n", ".b2f")
        self.frame("h", b"three\n")
        self.sparse("s", b"four\n")
        self.plain("p", b"five\n")
        self.plain("q", b"six\n")
        self.directory("d")
        for root in (self.source, self.twin):
            (root / "d" / "x").write_bytes(b"x")
        names = ["f", "g", "h", "s", "p", "q", "d"]
        with self.mount() as mount:
            for i, one in enumerate(names):
                for other in names[i + 1:]:
                    inodes = {name: mount.path(name).stat().st_ino for name in (one, other)}
                    self.both(lambda root, a=one, b=other: renameat2(root / a, root / b, EXCHANGE))
                    self.same_tree()
                    self.assertEqual(mount.path(one).stat().st_ino, inodes[other])
                    self.assertEqual(mount.path(other).stat().st_ino, inodes[one])
            self.both(lambda root: renameat2(root / "f", root / "d" / "x", EXCHANGE))
            self.both(lambda root: renameat2(root / "f", root / "absent", EXCHANGE))
            self.both(lambda root: renameat2(root / "d", root / "d" / "x", EXCHANGE))
            self.same_tree()

    def test_a_removed_file_stays_open(self):
        self.frame("f", FRAME_DATA * 1000)
        self.plain("p")
        self.frame("g")
        self.frame("over", b"new\n")
        self.directory("d")
        with self.mount():
            def attempt(root):
                seen = []
                f, p, g = (os.open(root / name, os.O_RDONLY) for name in "fpg")
                d = os.open(root / "d", os.O_RDONLY | os.O_DIRECTORY)
                path_only = os.open(root / "f", os.O_PATH)
                os.unlink(root / "f")
                os.unlink(root / "p")
                os.rename(root / "over", root / "g")
                os.rmdir(root / "d")
                for fd in (f, p, g):
                    st = os.fstat(fd)
                    seen.append((os.read(fd, 100_000), st.st_size, st.st_nlink, st.st_mode))
                    os.fchmod(fd, 0o600)
                    os.utime(fd, ns=(1_000_000_001, 2_000_000_002))
                    st = os.fstat(fd)
                    seen.append((st.st_mode, st.st_mtime_ns))
                seen.append(os.fstat(path_only).st_size)
                seen.append(stat.S_ISDIR(os.fstat(d).st_mode))
                for fd in (f, p, g, d, path_only):
                    os.close(fd)
                return seen, (root / "g").read_bytes()
            self.both(attempt)
            self.same_tree()

    def test_hard_links(self):
        self.frame("f")
        self.plain("p")
        self.sparse("s")
        self.directory("d")
        with self.mount() as mount:
            self.both(lambda root: os.link(root / "f", root / "f2"))
            self.both(lambda root: os.link(root / "f", root / "p"))
            self.both(lambda root: os.link(root / "p", root / "d" / "p2"))
            self.both(lambda root: os.link(root / "d", root / "d2"))
            self.same_tree()
            self.both(lambda root: os.path.samefile(root / "f", root / "f2"))
            self.both(lambda root: os.stat(root / "f2").st_nlink)
            # If one name is removed, the other stays.
            self.both(lambda root: os.unlink(root / "f"))
            self.both(lambda root: (root / "f2").read_bytes())
            self.both(lambda root: os.link(root / "f2", root / "f3"))
            self.both(lambda root: os.unlink(root / "f3"))
            self.both(lambda root: os.stat(root / "f2").st_nlink)
            self.both(lambda root: os.rename(root / "f2", root / "d" / "f"))
            self.same_tree()
            with self.assertRaises(OSError) as caught:  # a directory in SOURCE
                os.link(mount.path("s"), mount.path("s2"))
            self.assertEqual(caught.exception.errno, errno.EPERM)
        self.assertEqual(listing(self.source / "d"), ["f.b2frame", "p2"])

    def test_an_open_file_works_while_its_other_names_come_and_go(self):
        self.directory("d")

        def churn(root, seed, end):
            rng = random.Random(seed)
            names = [root / "keep", *(root / f"{place}{i}" for place in ("", "d/") for i in range(3))]
            while time.monotonic() < end:
                with contextlib.suppress(OSError):
                    if rng.random() < 0.5:
                        os.link(rng.choice(names), rng.choice(names[1:]))
                    elif rng.random() < 0.7:
                        os.unlink(rng.choice(names[1:]))
                    else:
                        os.rename(rng.choice(names[1:]), rng.choice(names[1:]))

        for options in ((), ("--locking",), ("--plain", "*")):
            with self.subTest(options=options), self.mount("--attr-timeout", "0", *options) as mount:
                keep = mount.path("keep")
                fd = os.open(keep, os.O_CREAT | os.O_RDWR, 0o600)
                calls = (lambda: os.fstat(fd), lambda: os.pwrite(fd, b"y", 0), lambda: os.fchmod(fd, 0o600),
                         lambda: os.listxattr(fd), lambda: os.ftruncate(fd, 1000), lambda: os.fsync(fd),
                         lambda: os.stat(keep), lambda: os.close(os.open(keep, os.O_RDWR)))
                end = time.monotonic() + 3
                start = multiprocessing.get_context("fork").Process
                others = [start(target=churn, args=(mount.path(), seed, end)) for seed in range(3)]
                for other in others:
                    other.start()
                while time.monotonic() < end:
                    for call in calls:
                        call()
                for other in others:
                    other.join()
                os.close(fd)
                self.assertEqual(keep.read_bytes(), b"y".ljust(1000, b"\0"))
                keep.unlink()

    def test_arrays_move_as_npy_files(self):
        import numpy
        array = numpy.arange(12, dtype="<f4").reshape(3, 4)
        from frame_writer import array_frame
        (self.source / "x.b2nd").write_bytes(array_frame(array))
        with self.mount() as mount:
            content = mount.path("x.npy").read_bytes()
            os.rename(mount.path("x.npy"), mount.path("y.npy"))
            self.assertEqual(listing(self.source), ["y.b2nd"])
            self.assertEqual(mount.path("y.npy").read_bytes(), content)
            with self.assertRaises(OSError) as caught:
                os.rename(mount.path("y.npy"), mount.path("y.dat"))
            self.assertEqual(caught.exception.errno, errno.EPERM)
            os.link(mount.path("y.npy"), mount.path("z.npy"))
            os.unlink(mount.path("y.npy"))
            self.assertEqual(listing(mount.path()), ["z.npy"])
            self.assertEqual(listing(self.source), ["z.b2nd"])
            numpy.testing.assert_array_equal(numpy.load(mount.path("z.npy")), array)

    def test_modes_and_owners(self):
        self.frame("f")
        self.sparse("s")
        self.plain("p")
        self.directory("d")
        for root in (self.source, self.twin):
            (root / "link").symlink_to("p")
        with self.mount():
            for name in ("f", "s", "p", "d"):
                for mode in (0o600, 0o4751, 0o2777, 0o1644, 0):
                    self.both(lambda root, name=name, mode=mode: os.chmod(root / name, mode))
                self.both(lambda root, name=name: os.chmod(root / name, 0o644))
                self.same_tree_of_attributes()
            if os.geteuid() == 0:
                for name in ("f", "s", "p", "d", "link"):
                    self.both(lambda root, n=name: os.chown(root / n, 1000, 1001, follow_symlinks=False))
                    self.both(lambda root, n=name: os.chown(root / n, -1, 1002, follow_symlinks=False))
                    self.both(lambda root, n=name: os.chown(root / n, 1003, -1, follow_symlinks=False))
                self.both(lambda root: os.chmod(root / "f", 0o6755))
                self.both(lambda root: os.chown(root / "f", 0, 0))
                self.same_tree_of_attributes()
            self.both(lambda root: os.chmod(root / "absent", 0o600))
        # A user who may not read the frame may not read its parts.
        os.chmod(self.source / "s.b2frame", 0o755)
        with self.mount() as mount:
            os.chmod(mount.path("s"), 0o640)
        for part in (self.source / "s.b2frame").iterdir():
            self.assertEqual(stat.S_IMODE(part.stat().st_mode), 0o640, part)
        self.assertEqual(stat.S_IMODE((self.source / "s.b2frame").stat().st_mode), 0o750)

    def same_tree_of_attributes(self):
        def attributes(root):
            found = {}
            for path in pathlib.Path(root).iterdir():
                st = path.lstat()
                found[path.name] = (st.st_mode, st.st_uid, st.st_gid)
            return found
        self.assertEqual(attributes(self.mountpoint), attributes(self.twin))

    def test_times(self):
        self.frame("f")
        self.sparse("s")
        self.plain("p")
        self.directory("d")
        for root in (self.source, self.twin):
            (root / "link").symlink_to("nowhere")

        def times(root, name):
            st = (root / name).lstat()
            return st.st_atime_ns, st.st_mtime_ns

        with self.mount():
            for name in ("f", "s", "p", "d", "link"):
                for pair in ((1, 2), (1_111_111_111_123_456_789, 1_222_222_222_987_654_321), (-5, 4 << 30)):
                    self.both(lambda root, n=name, pair=pair: os.utime(root / n, ns=pair, follow_symlinks=False))
                    self.both(lambda root, n=name: times(root, n))
            before = os.stat(self.mountpoint / "f").st_mtime_ns
            os.utime(self.mountpoint / "f")
            self.assertGreater(os.stat(self.mountpoint / "f").st_mtime_ns, before)
            self.tool("touch", "-a", "-d", "2001-01-01T00:00:00Z", self.mountpoint / "f")
            self.assertEqual(os.stat(self.mountpoint / "f").st_atime, 978307200)
            self.assertNotEqual(os.stat(self.mountpoint / "f").st_mtime, 978307200)

    def test_attributes_of_others(self):
        self.frame("f")
        self.sparse("s")
        self.plain("p")
        self.directory("d")
        with self.mount():
            for name in ("f", "s", "p", "d"):
                def attempt(root, name=name):
                    path = root / name
                    os.setxattr(path, "user.note", b"one")
                    os.setxattr(path, "user.empty", b"")
                    os.setxattr(path, "user.note", b"two", os.XATTR_REPLACE)
                    return (os.getxattr(path, "user.note"),
                            [n for n in sorted(os.listxattr(path)) if not n.startswith("user.framefs")])
                self.both(attempt)
                self.both(lambda root, n=name: os.setxattr(root / n, "user.note", b"3", os.XATTR_CREATE))
                self.both(lambda root, n=name: os.setxattr(root / n, "user.new", b"3", os.XATTR_REPLACE))
                self.both(lambda root, n=name: os.setxattr(root / n, "user.long", b"x" * 2000))
                self.both(lambda root, n=name: os.removexattr(root / n, "user.note"))
                self.both(lambda root, n=name: os.removexattr(root / n, "user.note"))
                self.both(lambda root, n=name: os.getxattr(root / n, "user.note"))
        self.assertEqual(os.getxattr(self.source / "s.b2frame" / "chunks.b2frame", "user.empty"), b"")

    def test_attributes_that_are_not_honoured_are_refused(self):
        acl = struct.pack("<I" + 3 * "HHI", 2, 1, 6, 0xffffffff, 4, 4, 0xffffffff,
                          0x20, 0, 0xffffffff)
        (self.source / "text").write_text("text")
        self.make_frame(b"bytes", self.source / "frame.b2frame")
        with self.mount() as mount:
            for name in ("text", "frame"):
                path = mount.path(name)
                for attribute, value in (("system.posix_acl_access", acl), ("security.framefs", b"x")):
                    for call in (lambda: os.setxattr(path, attribute, value),
                                 lambda: os.removexattr(path, attribute)):
                        with self.assertRaises(OSError) as caught:
                            call()
                        self.assertEqual(caught.exception.errno, errno.EOPNOTSUPP, attribute)
                self.assertEqual(os.listxattr(self.source / "text"), [])

    def test_attributes_of_the_mount_cannot_be_set(self):
        self.frame("f")
        self.plain("p")
        with self.mount() as mount:
            for path in (mount.path("f"), mount.path("p")):
                for name in ("user.framefs.info", "user.framefs.meta.x", "user.framefs.other"):
                    with self.assertRaises(OSError) as caught:
                        os.setxattr(path, name, b"x")
                    self.assertEqual(caught.exception.errno, errno.EPERM, name)
            with self.assertRaises(OSError) as caught:
                os.removexattr(mount.path("f"), "user.framefs.info")
            self.assertEqual(caught.exception.errno, errno.EPERM)
            with self.assertRaises(OSError) as caught:
                os.removexattr(mount.path("p"), "user.framefs.info")
            self.assertEqual(caught.exception.errno, errno.ENODATA)

    def test_names_that_promise_something_else(self):
        self.frame("f")
        self.plain("p")
        with self.mount() as mount:
            attempts = {
                "create": lambda path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY)),
                "mknod": lambda path: os.mknod(path, stat.S_IFREG | 0o644),
                "mkdir": os.mkdir,
                "symlink": lambda path: os.symlink("p", path),
                "link": lambda path: os.link(mount.path("p"), path),
                "rename a plain file": lambda path: os.rename(mount.path("p"), path),
                "rename a frame": lambda path: os.rename(mount.path("f"), path),
            }
            names = ["x.b2frame", "x.b2f", "x.b2", "x.b2b", "x.b2nd", "x.b2z", "x.b2e", "x.b2lock", ".b2lock"]
            for what, attempt in attempts.items():
                for name in names:
                    with self.subTest(f"{what} {name}"):
                        with self.assertRaises(OSError) as caught:
                            attempt(mount.path(name))
                        self.assertEqual(caught.exception.errno, errno.EPERM)
            self.assertRegex(mount.messages(), r"x\.b2frame: .* copy frames into SOURCE")
            os.mkdir(mount.path(".b2frame"))  # a name may consist of just a suffix
            self.assertEqual(listing(mount.path()), [".b2frame", "f", "p"])

    def test_the_full_name_of_a_frame_is_no_name_to_change(self):
        self.frame("x")
        self.plain("p")
        before = listing(self.source)
        with self.mount() as mount:
            full, other = mount.path("x.b2frame"), mount.path("p")
            refused = {
                "unlink": (errno.EPERM, lambda: os.unlink(full)),
                "rename": (errno.EPERM, lambda: os.rename(full, mount.path("y"))),
                "rename over it": (errno.EPERM, lambda: os.rename(other, full)),
                "rmdir": (errno.ENOTDIR, lambda: os.rmdir(full)),
                "create": (errno.EEXIST, lambda: os.open(full, os.O_CREAT | os.O_EXCL | os.O_WRONLY)),
                "mkdir": (errno.EEXIST, lambda: os.mkdir(full)),
                "symlink": (errno.EEXIST, lambda: os.symlink("p", full)),
                "link": (errno.EEXIST, lambda: os.link(other, full)),
            }
            for what, (error, attempt) in refused.items():
                with self.subTest(what):
                    with self.assertRaises(OSError) as caught:
                        attempt()
                    self.assertEqual(caught.exception.errno, error)
            self.assertRegex(mount.messages(), r"x\.b2frame: .* use the listed name")
            self.assertEqual(listing(mount.path()), ["p", "x"])
            self.assertEqual(listing(self.source), before)
            os.rename(mount.path("x"), mount.path("y"))
            self.assertFalse(full.exists())

    def test_a_frame_that_is_copied_into_the_mount_replaces_no_bytes(self):
        self.frame("x")
        stored = (self.source / "x.b2frame").read_bytes()
        with self.mount() as mount:
            full = mount.path("x.b2frame")
            for what, attempt in {
                "open": lambda: os.open(full, os.O_WRONLY),
                "replace": lambda: os.open(full, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
                "truncate": lambda: os.truncate(full, 0),
                "chmod": lambda: os.chmod(full, 0o600),
                "setxattr": lambda: os.setxattr(full, "user.a", b"1"),
                "link": lambda: os.link(full, mount.path("y")),
                "copy": lambda: shutil.copyfile(self.source / "x.b2frame", full),
            }.items():
                with self.subTest(what):
                    with self.assertRaises(PermissionError):
                        attempt()
            self.assertRegex(mount.messages(), r"x\.b2frame: .* copy frames into SOURCE")
            self.assertEqual(mount.path("x").read_bytes(), FRAME_DATA)
        self.assertEqual((self.source / "x.b2frame").read_bytes(), stored)

    def test_readers_by_the_full_name_see_writes(self):
        self.frame("x")
        with self.mount() as mount:
            with open(mount.path("x.b2frame"), "rb", buffering=0) as reader:
                self.assertEqual(reader.read(8), FRAME_DATA[:8])
                with open(mount.path("x"), "r+b", buffering=0) as writer:
                    writer.write(b"written!")
                    self.assertEqual(mount.path("x.b2frame").read_bytes()[:8], b"written!")
                self.assertEqual(mount.path("x.b2frame").read_bytes()[:8], b"written!")

    def test_a_frame_under_its_full_name(self):
        self.frame("x")
        (self.source / "x").write_bytes(PLAIN_DATA)
        with self.mount() as mount:
            self.assertEqual(listing(mount.path()), ["x", "x.b2frame"])
            os.rename(mount.path("x.b2frame"), mount.path("y"))
            self.assertEqual(listing(self.source), ["x", "y.b2frame"])
            self.assertEqual(mount.path("y").read_bytes(), FRAME_DATA)

    def test_access_and_statfs(self):
        self.frame("f")
        with self.mount() as mount:
            self.assertTrue(os.access(mount.path("f"), os.W_OK))
            self.assertFalse(os.statvfs(mount.path()).f_flag & os.ST_RDONLY)
            fd = os.open(mount.path(), os.O_RDONLY | os.O_DIRECTORY)
            os.fsync(fd)
            os.close(fd)

    def test_long_names(self):
        with self.mount():
            for length in (240, 247, 248, 252, 255, 256):
                name = "n" * length
                self.both(lambda root, n=name: os.mkdir(root / n))
                self.both(lambda root, n=name: os.rmdir(root / n))

    def test_entries_of_a_moved_folder_are_still_known(self):
        self.directory("d")
        self.directory("d/e")
        self.frame("d/e/f", FRAME_DATA * 1000)
        with self.mount() as mount:
            fd = os.open(mount.path("d/e/f"), os.O_RDONLY)
            path_only = os.open(mount.path("d/e/f"), os.O_PATH)
            self.both(lambda root: os.rename(root / "d", root / "moved"))
            self.assertEqual(os.fstat(path_only).st_size, len(FRAME_DATA) * 1000)
            self.assertEqual(os.pread(fd, 21, 21 * 500), FRAME_DATA)
            os.fchmod(fd, 0o600)
            os.close(fd)
            os.close(path_only)
            self.assertEqual(stat.S_IMODE(os.stat(self.source / "moved/e/f.b2frame").st_mode), 0o600)

    def test_tools_move_trees(self):
        for name in ("one", "two"):
            self.directory(name)
            self.frame(f"{name}/f", f"{name}\n".encode())
            self.sparse(f"{name}/s")
            self.plain(f"{name}/p")
        with self.mount():
            for root in (self.twin, self.mountpoint):
                self.tool("mv", root / "one", root / "two" / "inner")
                self.tool("mv", root / "two" / "f", root / "two" / "inner" / "f")
                self.tool("cp", "-al", root / "two" / "inner" / "f", root / "linked")
            self.same_tree()
            for root in (self.twin, self.mountpoint):
                self.tool("rm", "-r", root / "two", root / "linked")
            self.same_tree()
        self.assertEqual(listing(self.source), [])


@unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
class OtherUsers(MountCase):
    """In root's mount, other users have the same rights as in a folder."""

    NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}

    def setUp(self):
        os.chmod(self.folder, 0o755)
        self.twin = self.folder / "twin"
        self.twin.mkdir()
        for root in (self.source, self.twin):
            os.chmod(root, 0o755)
            (root / "open").mkdir()
            os.chmod(root / "open", 0o777)
            (root / "sticky").mkdir()
            os.chmod(root / "sticky", 0o1777)
            (root / "group").mkdir()
            os.chown(root / "group", 0, 1234)
            os.chmod(root / "group", 0o2777)
            (root / "closed").mkdir(0o755)
        self.make_frame(FRAME_DATA, self.source / "sticky" / "f.b2frame")
        (self.twin / "sticky" / "f").write_bytes(FRAME_DATA)
        for path in (self.source / "sticky" / "f.b2frame", self.twin / "sticky" / "f"):
            os.chmod(path, 0o644)

    def test_new_files_belong_to_their_creators(self):
        script = """
            umask 027
            for d in open sticky group; do
              mkdir $d/d && mkfifo $d/p && ln -s x $d/l && touch $d/new && mknod $d/m p
              stat -c '%n %A %u %g' $d/d $d/p $d/l $d/new
            done
            for d in closed; do
              mkdir $d/d || echo refused; touch $d/new || echo refused
            done 2> /dev/null
            rm -f sticky/f 2> /dev/null || echo refused
            mv sticky/f sticky/g 2> /dev/null || echo refused
            chmod 777 sticky/f 2> /dev/null || echo refused
            chown 0 open/new 2> /dev/null || echo refused
            chmod 4755 open/new && stat -c %A open/new
            chmod g+s group/new && stat -c %A group/new
        """
        with self.mount("--allow-other"):
            plain = self.tool("sh", "-c", script, cwd=self.twin, **self.NOBODY).stdout
            mounted = self.tool("sh", "-c", script, cwd=self.mountpoint, **self.NOBODY).stdout
            self.assertEqual(mounted.decode(), plain.decode())


if __name__ == "__main__":
    unittest.main()
