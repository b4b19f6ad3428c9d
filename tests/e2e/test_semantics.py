"""Promises of fs/SEMANTICS.md that no other test states: when a commit happens, which properties a
frame keeps when it is written, and which changes are refused."""

import ctypes
import errno
import functools
import json
import mmap
import os
import signal
import stat
import threading
import unittest

import numpy

import daemon
import data
import fixtures
import frame_writer
import frames
from case import MountCase
from test_namespace import EXCHANGE, renameat2

OLD, NEW = b"before\n" * 3000, b"after!\n" * 3000
NEVER = ("--commit-interval", "3600")
LIBC = ctypes.CDLL(None, use_errno=True)
KEEP_SIZE, PUNCH_HOLE, COLLAPSE_RANGE, ZERO_RANGE, INSERT_RANGE = 1, 2, 8, 16, 32


def fallocate(fd, mode, offset, size):
    if LIBC.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(size)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def write_through_map(path):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"x"
        mapped.flush()


def errno_of(call):
    try:
        call()
    except OSError as error:
        return error.errno
    return 0


def as_user(user, group, groups, calls):
    """The errno of each call, in a process of that user."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
            os.write(writer, json.dumps([errno_of(call) for call in calls]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as results:
        errors = json.loads(results.read())
    os.waitpid(child, 0)
    return errors


class SemanticsCase(MountCase):
    def assert_errno(self, number, call, *arguments):
        with self.assertRaises(OSError) as caught:
            call(*arguments)
        self.assertEqual(errno.errorcode[caught.exception.errno], errno.errorcode[number])

    @staticmethod
    def read_or_errno(path):
        try:
            return path.read_bytes()
        except OSError as error:
            return error.errno

    def stored(self, name="x.b2frame"):
        """The content of a frame in SOURCE, decoded without the mount."""
        return self.tool(daemon.FRAMEFS, "unpack", self.source / name, "-o", "-").stdout

    def is_stored(self, content, name="x.b2frame"):
        """Whether the frame has this content.  False if a commit interrupts the decoding
        (ESTALE)."""
        unpacked = self.tool(daemon.FRAMEFS, "unpack", self.source / name, "-o", "-", check=False)
        return unpacked.returncode == 0 and unpacked.stdout == content

    def info(self, name="x.b2frame"):
        (described,) = json.loads(self.tool(daemon.FRAMEFS, "info", "--json", self.source / name).stdout)
        return described


class Commits(SemanticsCase):
    def setUp(self):
        self.make_frame(OLD, self.source / "x.b2frame", "--chunk", "4096")

    def test_readers_of_the_mount_see_a_write_at_once_and_readers_of_source_the_commit(self):
        with self.mount(*NEVER) as mount, open(mount.path("x"), "r+b", buffering=0) as writer, \
                open(mount.path("x"), "rb", buffering=0) as reader:
            writer.write(NEW)
            self.assert_same_bytes(reader.read(), NEW, "another descriptor")
            self.assert_same_bytes(mount.path("x").read_bytes(), NEW, "a new descriptor")
            self.assert_same_bytes(self.stored(), OLD, "SOURCE before the commit")
            os.fsync(writer.fileno())
            self.assert_same_bytes(self.stored(), NEW, "SOURCE after the sync")

    def test_an_open_frame_is_committed_at_the_interval(self):
        with self.mount("--commit-interval", "0.1") as mount, open(mount.path("x"), "r+b", buffering=0) as writer:
            writer.write(NEW)
            daemon.wait_for(lambda: self.is_stored(NEW), "a commit")

    def test_a_closed_frame_is_committed(self):
        with self.mount(*NEVER) as mount:
            with open(mount.path("x"), "r+b") as writer:
                writer.write(NEW)
            daemon.wait_for(lambda: self.is_stored(NEW), "a commit")

    def test_sigterm_commits_open_frames(self):
        with self.mount(*NEVER) as mount:
            fd = os.open(mount.path("x"), os.O_RDWR)
            os.write(fd, NEW)
            os.kill(mount.pid, signal.SIGTERM)
            mount.check_ended(exit_code=0)
            self.assert_errno(errno.ENOTCONN, os.close, fd)
        self.assert_same_bytes(self.stored(), NEW, "SOURCE")

    def test_unmounting_commits(self):
        with self.mount(*NEVER) as mount:
            mount.path("x").write_bytes(NEW)
            mount.path("y").write_bytes(NEW)
        for name in ("x.b2frame", "y.b2frame"):
            self.assert_same_bytes(self.stored(name), NEW, name)

    def test_a_frame_that_another_program_changes_is_not_written_any_more(self):
        frame = self.source / "x.b2frame"
        with self.mount(*NEVER) as mount:
            mount.exit_codes = (1,)
            fd = os.open(mount.path("x"), os.O_RDWR)
            os.pwrite(fd, NEW, 0)
            os.fsync(fd)
            os.pwrite(fd, OLD, 0)  # uncommitted when the other program comes
            others = self.make_frame(b"others' bytes", self.folder / "other.b2frame").read_bytes()
            with open(frame, "r+b") as file:
                file.write(others)
                file.truncate()
            self.assert_errno(errno.EIO, os.fsync, fd)
            self.assert_errno(errno.EIO, os.fsync, fd)
            self.assert_errno(errno.EIO, os.pwrite, fd, OLD, 0)
            self.assert_errno(errno.EIO, os.close, fd)
            self.assertEqual(self.stored(), b"others' bytes")
            # The kernel reports the last close with a delay.
            daemon.wait_for(lambda: self.read_or_errno(mount.path("x")) == b"others' bytes", "the other bytes")


class WrittenFrames(SemanticsCase):
    def test_a_written_frame_is_the_same_file(self):
        frame = self.make_frame(OLD, self.source / "x.b2frame", "--chunk", "4096")
        os.link(frame, self.source / "y.b2frame")
        os.chmod(frame, 0o640)
        os.setxattr(frame, "user.note", b"kept")
        before = frame.stat()
        with self.mount() as mount:
            mount.path("x").write_bytes(NEW)
            self.assert_same_bytes(mount.path("y").read_bytes(), NEW, "the other link")
        after = frame.stat()
        for field in ("st_ino", "st_nlink", "st_mode", "st_uid", "st_gid"):
            self.assertEqual(getattr(after, field), getattr(before, field), field)
        self.assertEqual(os.getxattr(frame, "user.note"), b"kept")
        self.assertGreater(after.st_mtime_ns, before.st_mtime_ns)
        self.assert_same_bytes(self.stored("y.b2frame"), NEW, "the other link in SOURCE")

    def test_a_written_frame_keeps_its_format(self):
        walk = data.random_walk(20_000)
        for codec, filter_name in (("lz4", "shuffle"), ("zlib", "bitshuffle"), ("blosclz", "none")):
            with self.subTest(codec):
                self.make_frame(walk, self.source / "x.b2frame", "--codec", codec, "--filter", filter_name,
                                "--chunk", "20000", "--block", "5000", "--typesize", "4")
                before = self.info()
                with self.mount() as mount, open(mount.path("x"), "r+b") as file:
                    file.write(walk[::-1])
                after = self.info()
                for key in ("codec", "level", "filters", "chunksize", "blocksize", "typesize", "nbytes"):
                    self.assertEqual(after[key], before[key], key)
                self.assert_same_bytes(self.stored(), walk[::-1], codec)

    def test_written_bytes_come_back_although_the_frame_has_a_filter_that_rounds(self):
        frame = bytearray(frame_writer.plain_frame(OLD, chunksize=4096, typesize=4))
        # The filter slots for new chunks: their number, ids and parameters.  Source:
        # codec/FORMAT.md, "Header" of the frame format.
        frame[70], frame[71:77], frame[79:85] = 6, bytes([4, 0, 0, 0, 0, 1]), bytes([10, 0, 0, 0, 0, 0])
        (self.source / "x.b2frame").write_bytes(frame)
        walk = data.random_walk(len(OLD) // 4)
        with self.mount() as mount:
            mount.path("x").write_bytes(walk)
        with self.mount() as mount:
            self.assert_same_bytes(mount.path("x").read_bytes(), walk, "written by way of a frame that rounds")

    def test_a_write_beyond_the_end_leaves_a_hole(self):
        with self.mount() as mount:
            with open(mount.path("x"), "wb") as file:
                file.seek(1 << 30)
                file.write(b"end")
            fd = os.open(mount.path("x"), os.O_RDONLY)
            self.assertEqual(os.lseek(fd, 0, os.SEEK_DATA), 1 << 30)
            self.assertEqual(os.pread(fd, 10, (1 << 30) - 7), bytes(7) + b"end")
            os.close(fd)
        self.assertLess((self.source / "x.b2frame").stat().st_size, 20_000)

    def test_fallocate(self):
        with self.mount("--rule", "*:chunksize=4096") as mount:
            path = mount.path("x")
            path.write_bytes(OLD)
            fd = os.open(path, os.O_RDWR)
            wanted = bytearray(OLD)
            fallocate(fd, 0, 0, len(OLD) + 5000)
            wanted += bytes(5000)
            fallocate(fd, KEEP_SIZE, 0, len(OLD) + 90_000)
            fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 1000, 9000)
            wanted[1000:10_000] = bytes(9000)
            fallocate(fd, ZERO_RANGE, 12_000, 100)
            wanted[12_000:12_100] = bytes(100)
            for mode in (COLLAPSE_RANGE, INSERT_RANGE):
                self.assert_errno(errno.EOPNOTSUPP, fallocate, fd, mode, 0, 4096)
            self.assert_same_bytes(os.pread(fd, 1 << 20, 0), bytes(wanted), "while it is open")
            self.assertEqual(os.lseek(fd, 4096, os.SEEK_HOLE), 4096)  # a whole chunk is a hole
            os.close(fd)
            self.assert_same_bytes(path.read_bytes(), bytes(wanted), "afterwards")

    def test_an_exchange_commits_both_files(self):
        with self.mount("--commit-interval", "3600") as mount:
            files = {name: open(mount.path(name), "w+b", buffering=0) for name in "ab"}
            for name, file in files.items():
                file.write(name.encode() * 1000)
            renameat2(mount.path("a"), mount.path("b"), EXCHANGE)
            for name, other in ("ab", "ba"):
                frame = self.source / f"{name}.b2frame"
                self.assertEqual(self.tool(daemon.FRAMEFS, "unpack", frame, "-o", "-").stdout, other.encode() * 1000)
            for file in files.values():
                file.close()

    def test_fallocate_of_more_than_there_is(self):
        with self.mount() as mount, open(mount.path("x"), "w+b", buffering=0) as file:
            free = os.statvfs(mount.path())
            size = free.f_bavail * free.f_frsize + (1 << 30)
            for mode in (0, KEEP_SIZE, ZERO_RANGE, ZERO_RANGE | KEEP_SIZE):
                self.assert_errno(errno.ENOSPC, fallocate, file.fileno(), mode, 0, size)
            self.assertEqual(os.fstat(file.fileno()).st_size, 0)
            fallocate(file.fileno(), 0, 0, 5000)
            self.assertEqual(os.fstat(file.fileno()).st_size, 5000)

    def test_the_header_and_size_of_a_npy_file_are_fixed(self):
        array = numpy.arange(600, dtype="<i4").reshape(20, 30)
        (self.source / "a.b2nd").write_bytes(frame_writer.array_frame(array))
        with self.mount() as mount:
            path = mount.path("a.npy")
            whole = path.read_bytes()
            fd = os.open(path, os.O_RDWR)
            os.pwrite(fd, whole, 0)  # the unchanged header
            self.assert_errno(errno.EPERM, os.pwrite, fd, b"x", 0)
            self.assert_errno(errno.EPERM, os.pwrite, fd, b"x", len(whole))
            for size in (0, len(whole) - 1, len(whole) + 1):
                self.assert_errno(errno.EPERM, os.ftruncate, fd, size)
            self.assert_errno(errno.EPERM, fallocate, fd, 0, 0, len(whole) + 1)
            os.close(fd)
            self.assert_same_bytes(path.read_bytes(), whole, "the array")

    def test_vl_metalayers_are_set_and_removed(self):
        self.make_frame(OLD, self.source / "x.b2frame")
        with self.mount() as mount:
            path = mount.path("x")
            for number in range(16):
                os.setxattr(path, f"user.framefs.vlmeta.layer{number}", b"%d" % number)
            self.assert_errno(errno.ENOSPC, os.setxattr, path, "user.framefs.vlmeta.one-more", b"x")
            os.setxattr(path, "user.framefs.vlmeta.layer3", b"replaced")
            os.removexattr(path, "user.framefs.vlmeta.layer4")
            self.assert_errno(errno.ENODATA, os.removexattr, path, "user.framefs.vlmeta.layer4")
        with self.mount() as mount:
            path = mount.path("x")
            names = [name for name in os.listxattr(path) if "vlmeta" in name]
            self.assertEqual(len(names), 15)
            self.assertEqual(os.getxattr(path, "user.framefs.vlmeta.layer3"), b"replaced")
            self.assert_same_bytes(path.read_bytes(), OLD, "the frame's bytes")

    def test_frames_that_can_only_be_read(self):
        self.make_frame(OLD, self.source / "varying.b2frame", "--variable", "--chunk", "4096")
        beta = next(entry for entry in fixtures.entries() if entry["kind"] == "cframe"
                    and entry["path"].startswith("old/v2.0.0-beta.2/cframe_lz4_shuffle"))
        (self.source / "beta.b2frame").write_bytes((fixtures.FIXTURES / beta["path"]).read_bytes())
        before = {path: path.read_bytes() for path in self.source.iterdir()}
        with self.mount() as mount:
            for name in ("varying", "beta"):
                self.assertGreater(len(mount.path(name).read_bytes()), 0, name)
                self.assert_errno(errno.EOPNOTSUPP, os.open, mount.path(name), os.O_RDWR)
                self.assert_errno(errno.EOPNOTSUPP, os.truncate, mount.path(name), 5)
        self.assertEqual({path: path.read_bytes() for path in self.source.iterdir()}, before)

    def test_a_file_has_2_to_the_24_chunks_at_most(self):
        with self.mount("--rule", "*:chunksize=16") as mount:
            path = mount.path("x")
            path.write_bytes(b"x" * 100)
            self.assert_errno(errno.EFBIG, os.truncate, path, (1 << 28) + 1)
            fd = os.open(path, os.O_RDWR)
            self.assert_errno(errno.EFBIG, os.pwrite, fd, b"x", 1 << 28)
            os.close(fd)
            self.assertEqual(path.read_bytes(), b"x" * 100)


    def test_bytes_that_are_refused_are_not_shown(self):
        header, size = b"\x93NUMPY", 8 * 1000 + 128
        (self.source / "x.b2nd").write_bytes(frame_writer.array_frame(numpy.arange(1000)))
        for options in ((), ("--writeback",)):
            with self.subTest(options=options), self.mount(*options) as mount:
                path = mount.path("x.npy")
                before = path.read_bytes()
                self.assertEqual((len(before), before[:6]), (size, header))
                with open(path, "r+b", buffering=0) as file, mmap.mmap(file.fileno(), 0) as mapped:
                    mapped[0] = 1
                    with self.assertRaises(OSError):
                        mapped.flush()
                    daemon.wait_for(lambda: mapped[:6] == header, "the header in the mapping")
                    mapped[200:208] = b"a change"
                    mapped.flush()
                    self.assertEqual(mapped[:6], header)
                    for write in (lambda: file.write(b"x"), lambda: os.fsync(file.fileno())):
                        error = errno_of(write)
                        if error:
                            break
                    self.assertEqual(error, errno.EPERM)
                    daemon.wait_for(lambda: path.read_bytes()[:6] == header, "the header")
                    self.assertEqual(path.read_bytes(), before[:200] + b"a change" + before[208:])
                    mapped[200:208] = before[200:208]
                    mapped.flush()


class NamesWhileWriting(SemanticsCase):
    def test_a_frame_gets_the_short_name_when_the_plain_file_is_removed(self):
        self.make_frame(OLD, self.source / "x.b2frame")
        (self.source / "x").write_bytes(b"plain")
        with self.mount() as mount:
            self.assertEqual(sorted(os.listdir(mount.path())), ["x", "x.b2frame"])
            os.unlink(mount.path("x"))
            self.assertEqual(os.listdir(mount.path()), ["x"])
            self.assert_same_bytes(mount.path("x").read_bytes(), OLD, "the frame")

    def test_a_name_that_is_replaced_leads_to_one_file_or_the_other(self):
        frame, plain = self.folder / "frame", self.folder / "plain"
        self.make_frame(OLD, frame)
        plain.write_bytes(NEW)
        self.make_frame(OLD, self.source / "x.b2frame")
        with self.mount("--attr-timeout", "0") as mount:
            ended, seen, failed = threading.Event(), set(), []

            def read():
                while not ended.is_set():
                    try:
                        seen.add(mount.path("x").read_bytes())
                    except OSError as error:
                        failed.append(error)

            reader = threading.Thread(target=read)
            reader.start()
            try:
                for number in range(100):
                    name = "y.b2frame" if number % 2 else "y"
                    (self.source / name).write_bytes((frame if number % 2 else plain).read_bytes())
                    os.rename(mount.path("y"), mount.path("x"))
            finally:
                ended.set()
                reader.join()
            self.assertEqual(failed, [])
            self.assertLessEqual(seen, {OLD, NEW})


class Access(SemanticsCase):
    def test_lists_and_labels_are_not_supported(self):
        self.make_frame(OLD, self.source / "x.b2frame")
        (self.source / "plain").write_bytes(NEW)
        with self.mount() as mount:
            for name in ("x", "plain"):
                for attribute in ("system.posix_acl_access", "security.selinux", "security.capability"):
                    self.assert_errno(errno.EOPNOTSUPP, os.getxattr, mount.path(name), attribute)
                self.assertFalse([a for a in os.listxattr(mount.path(name)) if a.startswith(("system.", "security."))])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_others_are_kept_out_unless_allowed(self):
        os.chmod(self.folder, 0o755)
        os.chmod(self.source, 0o755)
        frame = self.make_frame(OLD, self.source / "x.b2frame")
        os.chmod(frame, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        with self.mount() as mount:
            denied = self.tool("cat", mount.path("x"), check=False, **nobody)
            self.assertIn(b"Permission denied", denied.stderr)
        with self.mount("--allow-other") as mount:
            self.assertEqual(self.tool("cat", mount.path("x"), **nobody).stdout, OLD)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_writing_to_a_frame_clears_setuid(self):
        os.chmod(self.folder, 0o755)
        os.chmod(self.source, 0o755)
        names = ("write", "append", "truncate", "cut", "direct", "allocate")
        for name in names:
            os.chmod(self.make_frame(OLD, self.source / f"{name}.b2frame"), 0o6777)
        script = "dd if=/dev/zero of=write bs=1 count=1 conv=notrunc; echo x >> append; : > truncate; " \
                 "truncate -s 3 cut; dd if=/dev/zero of=direct bs=4096 count=1 conv=notrunc oflag=direct; " \
                 "fallocate -l 1000000 allocate"
        with self.mount("--allow-other") as mount:
            self.tool("sh", "-e", "-c", script, cwd=mount.path(), user=65534, group=65534, extra_groups=[])
            for name in names:
                for path in (mount.path(name), self.source / f"{name}.b2frame"):
                    self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o777, path)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_setuid_bits_that_are_cleared_are_not_shown_any_more(self):
        os.chmod(self.folder, 0o755)
        os.chmod(self.source, 0o755)
        os.chmod(self.make_frame(OLD, self.source / "x.b2frame"), 0o6777)
        with self.mount("--allow-other", "--attr-timeout", "1000") as mount:
            self.assertEqual(stat.S_IMODE(mount.path("x").stat().st_mode), 0o6777)
            script = "printf x | dd of=x conv=notrunc; stat -c %a x"
            shown = self.tool("sh", "-c", script, cwd=mount.path(), user=65534, group=65534, extra_groups=[])
            self.assertEqual(shown.stdout, b"777\n")
            # Root may keep the bits.
            os.chmod(mount.path("x"), 0o6777)
            with open(mount.path("x"), "r+b") as file:
                file.write(b"y")
            self.assertEqual(stat.S_IMODE(mount.path("x").stat().st_mode), 0o6777)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become somebody else")
    def test_setid_bits_are_those_of_a_plain_file_whoever_changes_it(self):
        """Oracle: the filesystem of the test folder."""
        changes = {
            "write": lambda path: path.open("r+b", buffering=0).write(b"x"),
            "append": lambda path: path.open("ab", buffering=0).write(b"x"),
            "open": lambda path: os.close(os.open(path, os.O_WRONLY | os.O_TRUNC)),
            "truncate": lambda path: os.truncate(path, 3),
            "allocate": lambda path: os.posix_fallocate(path.open("r+b").fileno(), 0, 10_000),
            "map": lambda path: write_through_map(path),
            "chown": lambda path: os.chown(path, -1, -1),
            "chown to the owner": lambda path: os.chown(path, 1000, -1),
            "chgrp": lambda path: os.chown(path, -1, os.getgid()),
            "chmod": lambda path: os.chmod(path, stat.S_IMODE(path.stat().st_mode)),
        }
        callers = {"root": (0, 0, []), "the owner": (1000, 1000, []), "the owner, outside the group": (1000, 7, []),
                   "the group": (7, 1000, []), "a group of many": (7, 7, [8, 1000]), "another": (7, 7, [])}
        modes = [special | mode for special in (0o2000, 0o4000, 0o6000) for mode in (0o666, 0o676, 0o766, 0o777)]

        def outcomes(root):
            """The mode, and the errno, after each change."""
            def prepared(number, mode):
                path = root / f"file-{number}"
                path.write_bytes(OLD)
                os.chown(path, 1000, 1000)
                os.chmod(path, mode)
                return path
            seen = {}
            for caller, (user, group, groups) in callers.items():
                cases = [(name, mode) for name in changes for mode in modes]
                paths = [prepared(number, mode) for number, (_, mode) in enumerate(cases)]
                errors = as_user(user, group, groups,
                                 [functools.partial(changes[name], path) for (name, _), path in zip(cases, paths)])
                for (name, mode), path, error in zip(cases, paths, errors):
                    if name == "chown":
                        error = None  # the kernel does not tell the mount who must be refused
                    seen[caller, name, oct(mode)] = oct(stat.S_IMODE(path.stat().st_mode)), error
                    path.unlink()
            return seen

        os.chmod(self.folder, 0o755)
        plain = self.folder / "plain"
        plain.mkdir()
        os.chmod(self.source, 0o755)
        wanted = outcomes(plain)
        for options in ((), ("--plain", "*"), ("--writeback",)):
            with self.subTest(options=options), self.mount("--allow-other", *options) as mount:
                found = outcomes(mount.path())
                self.assertEqual({case: (found[case], wanted[case]) for case in wanted
                                  if found[case] != wanted[case]}, {})

    @unittest.skipUnless(os.geteuid() == 0, "needs root to change owners")
    def test_chown_clears_setuid_like_linux(self):
        plain = self.folder / "plain"
        plain.write_bytes(OLD)
        self.make_frame(OLD, self.source / "x.b2frame")
        (self.source / "y").write_bytes(OLD)
        with self.mount() as mount:
            for mode in (0o6777, 0o6755, 0o2745, 0o4711):
                for owner in ((-1, -1), (-1, 7), (7, -1), (7, 7), (8, 8)):
                    for path in (plain, mount.path("x"), mount.path("y")):
                        os.chown(path, 7, 7)
                        os.chmod(path, mode)
                        os.chown(path, *owner)
                    wanted = plain.stat().st_mode
                    self.assertEqual(mount.path("x").stat().st_mode, wanted, (oct(mode), owner))
                    self.assertEqual(mount.path("y").stat().st_mode, wanted, (oct(mode), owner))

    def test_a_write_needs_no_second_request(self):
        with self.mount() as mount, open(mount.path("log"), "ab", buffering=0) as log:
            def requests():
                counts = mount.stats()["requests"]
                return {kind: count["count"] for kind, count in counts.items()}
            log.write(b"a line\n")
            before = requests()
            for _ in range(100):
                log.write(b"a line\n")
            after = requests()
            # A request is counted after its answer; one is the question for the statistics.
            self.assertGreater(after["write"] - before["write"], 90)
            self.assertLess(after["other"] - before["other"], 10)

    def test_a_link_out_of_source_is_followed_by_the_reader_not_by_the_daemon(self):
        secret = self.folder / "secret.b2frame"
        self.make_frame(OLD, secret)
        (self.source / "out.b2frame").symlink_to(secret)
        (self.source / "folder").symlink_to(self.folder)
        with self.mount() as mount:
            self.assertEqual(sorted(os.listdir(mount.path())), ["folder", "out.b2frame"])
            # The reader follows the link outside of the mount, and finds the stored frame.
            self.assertEqual(mount.path("out.b2frame").read_bytes(), secret.read_bytes())
            self.assertEqual(os.readlink(mount.path("folder")), str(self.folder))


class Damage(SemanticsCase):
    def test_o_direct_reads_up_to_the_first_damaged_byte(self):
        chunk = 10_000
        good = frames.stored(OLD[:chunk])
        bad = bytearray(frames.stored(OLD[chunk:2 * chunk]))
        bad[4:8] = (-1).to_bytes(4, "little", signed=True)  # its decoded size
        (self.source / "x.b2frame").write_bytes(frames.frame([good, bytes(bad)], 2 * chunk, chunk))
        with self.mount() as mount:
            fd = os.open(mount.path("x"), os.O_RDONLY | os.O_DIRECT)
            self.assertEqual(os.pread(fd, 5000, chunk - 5000), OLD[chunk - 5000:chunk])
            self.assert_errno(errno.EIO, os.pread, fd, 10, chunk)
            os.close(fd)


if __name__ == "__main__":
    unittest.main()
