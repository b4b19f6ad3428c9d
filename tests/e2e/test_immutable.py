"""Mounts whose SOURCE does not change (--immutable): the kernel keeps all that it learns."""

import collections
import concurrent.futures
import errno
import fcntl
import mmap
import os
import unittest

import daemon
import data
import test_arrays
import test_containers
import test_holes
import test_names
import test_one_frame
import test_readers
import test_sparse_frames
import test_xattrs
from case import MountCase

IMMUTABLE = ("--immutable",)
FILES = 300
MANY = 5000
QUESTIONS = 20
REQUESTS = 2  # of os.getxattr(), which tries a small buffer first
MOST_DESCRIPTORS = 300


class Immutable(MountCase):
    EVERY_MOUNT = IMMUTABLE

    def setUp(self):
        self.plain = self.folder / "plain"
        self.plain.mkdir()
        for number in range(FILES):
            (self.plain / f"f{number:03}").write_bytes(data.text(50 + number))
        self.make_frames([self.plain])
        (self.source / "sub").mkdir()
        (self.source / "sub/itself").write_bytes(b"not a frame")
        (self.source / "link").symlink_to("sub/itself")

    @staticmethod
    def requests(mount):
        """The number of requests by kind, before the QUESTIONS that this function asks.

        The daemon counts a question after its answer, at times after the next one has come.
        Hence the largest count among several is the right one.
        """
        counts = []
        for _ in range(QUESTIONS):
            counts.append({kind: counted["count"] for kind, counted in mount.stats()["requests"].items()})
        return counts[-1] | {"other": max(count["other"] - REQUESTS * asked for asked, count in enumerate(counts))}

    def asked(self, mount, work):
        """The requests that the work has caused, by kind."""
        before = self.requests(mount)
        work()
        # A count is too small if none of the questions was counted in time.
        for repetition in range(1, 50):
            caused = collections.Counter(self.requests(mount))
            caused.subtract(before)
            caused["other"] -= REQUESTS * QUESTIONS * repetition
            if caused["other"] >= 0:
                break
        return {kind: count for kind, count in caused.items() if count}

    def assert_remembered(self, work):
        """The kernel answers the work by itself, once it was done."""
        with self.mount() as mount, daemon.kernel_references_kept():
            work(mount)
            # A question before the work may be counted late, as one of the work, but not twice.
            caused = self.asked(mount, lambda: work(mount))
            self.assertEqual(caused and self.asked(mount, lambda: work(mount)), {})

    def test_a_second_open_read_and_close_ask_for_nothing(self):
        def work(mount):
            for plain in self.plain.iterdir():
                self.assertEqual(mount.path(plain.name).read_bytes(), plain.read_bytes())
            self.assertEqual(mount.path("sub/itself").read_bytes(), b"not a frame")
            self.assertEqual(mount.path("link").read_bytes(), b"not a frame")
        self.assert_remembered(work)

    def test_a_second_stat_asks_for_nothing(self):
        def work(mount):
            for plain in self.plain.iterdir():
                self.assertEqual(os.stat(mount.path(plain.name)).st_size, plain.stat().st_size)
                self.assertTrue(os.access(mount.path(plain.name), os.R_OK))
            self.assertEqual(os.readlink(mount.path("link")), "sub/itself")
        self.assert_remembered(work)

    def test_a_second_listing_asks_for_nothing(self):
        for number in range(MANY):
            (self.source / f"sub/{number:05}").touch()

        def work(mount):
            self.assertEqual(len(os.listdir(mount.path("sub"))), MANY + 1)
            self.assertEqual(sorted(os.listdir(mount.path())),
                             sorted(["link", "sub"] + [path.name for path in self.plain.iterdir()]))
        self.assert_remembered(work)

    def test_an_absent_name_is_asked_for_once(self):
        def work(mount):
            for name in ("absent", "sub/absent", "f000.b2frame.absent"):
                with self.assertRaises(FileNotFoundError):
                    os.stat(mount.path(name))
        self.assert_remembered(work)

    def test_two_listings_at_a_time(self):
        names = {f"{number:05}" for number in range(MANY)} | {"itself"}
        for name in names:
            (self.source / "sub" / name).touch()
        with self.mount() as mount:
            one, other = os.scandir(mount.path("sub")), os.scandir(mount.path("sub"))
            seen_by_one, seen_by_other = [next(one).name], []
            seen_by_other += [entry.name for entry in other]
            seen_by_one += [entry.name for entry in one]
            self.assertEqual(sorted(seen_by_one), sorted(names))
            self.assertEqual(sorted(seen_by_other), sorted(names))
            # Some of the kernel's own copy is gone.
            daemon.drop_kernel_references()
            self.assertEqual(set(os.listdir(mount.path("sub"))), names)

    def test_reads_past_the_page_cache(self):
        content = data.random_walk(100_000)
        self.make_frame(content, self.source / "x.b2frame", "--block", "16K")
        with self.mount() as mount:
            file = os.open(mount.path("x"), os.O_RDONLY | os.O_DIRECT)
            try:
                with mmap.mmap(-1, 1 << 16) as buffer:
                    self.assertEqual(os.preadv(file, [buffer], 1 << 16), 1 << 16)
                    self.assertEqual(buffer[:], content[1 << 16:1 << 17])
            finally:
                os.close(file)

    def test_it_is_read_only(self):
        with self.mount() as mount:
            for what in (lambda: mount.path("f000").write_bytes(b"x"), mount.path("sub").rmdir,
                         lambda: mount.path("new").touch(), mount.path("f000").unlink):
                with self.assertRaises(OSError) as caught:
                    what()
                self.assertEqual(caught.exception.errno, errno.EROFS)

    def test_a_file_of_another_user_cannot_be_opened(self):
        (self.source / "f000.b2frame").chmod(0)
        with self.mount() as mount:
            if os.geteuid() == 0:
                self.skipTest("root may open all files")
            with self.assertRaises(PermissionError):
                mount.path("f000").open("rb")

    def test_nothing_is_watched(self):
        with self.mount() as mount:
            for number in range(FILES):
                with self.assertRaises(FileNotFoundError):
                    os.stat(mount.path(f"absent{number}"))
            links = [os.readlink(f"/proc/{mount.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{mount.pid}/fd")]
            self.assertFalse([link for link in links if "inotify" in link])

    def test_a_new_mount_has_few_threads(self):
        """The main thread, and one for requests, or two if one has come."""
        with self.mount() as mount:
            daemon.wait_for(lambda: len(os.listdir(f"/proc/{mount.pid}/task")) <= 3, "at most three threads")

    def test_descriptors_are_bounded(self):
        for number in range(FILES, 2 * FILES):
            (self.source / f"g{number}").write_bytes(b"plain")
        with self.mount() as mount:
            def held_after_reads():
                for path in mount.path().iterdir():
                    if path.is_file():
                        path.read_bytes()
                held = [link for link in daemon.open_files(mount.pid) if link.startswith(os.fspath(self.source))]
                self.assertLess(len(held), MOST_DESCRIPTORS)
                return len(held) > FILES // 2
            # They go with the kernel's inodes, as Mount.close() checks.
            # Other tests make the kernel drop all inodes.
            daemon.wait_for(held_after_reads, "descriptors that stay open")

    def test_many_readers_of_more_files_than_are_kept_open(self):
        def read(number):
            name = f"f{number % FILES:03}"
            return (self.mountpoint / name).read_bytes() == (self.plain / name).read_bytes()
        with self.mount("--cache-size", "64K"), concurrent.futures.ThreadPoolExecutor(8) as pool:
            for _ in range(3):
                self.assertTrue(all(pool.map(read, range(2 * FILES))))
                daemon.drop_kernel_references()

    def test_no_lock_file_is_looked_at(self):
        lock = self.source / "f000.b2frame.b2lock"
        lock.touch()
        with open(lock, "rb+") as file, self.mount() as mount:
            fcntl.lockf(file, fcntl.LOCK_EX)
            self.assertEqual(mount.path("f000").read_bytes(), (self.plain / "f000").read_bytes())

    def test_options_for_changes_are_refused(self):
        for options in (("--rw",), ("--attr-timeout", "1"), ("--writeback",), ("--locking",)):
            result = self.tool(daemon.FRAMEFS, self.source, self.mountpoint, *IMMUTABLE, *options, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(b"--immutable", result.stderr)


class ChangedSource(MountCase):
    """SOURCE changes although the user has promised that it does not."""
    EVERY_MOUNT = IMMUTABLE

    def setUp(self):
        self.contents = (data.text(3000), data.text(5000)[::-1])
        self.frame = self.make_frame(self.contents[0], self.source / "x.b2frame")
        self.other = self.make_frame(self.contents[1], self.folder / "other.b2frame")
        (self.source / "plain").write_bytes(self.contents[0])

    def read(self, path):
        """The bytes, or the errno."""
        try:
            return path.read_bytes()
        except OSError as error:
            return error.errno

    def expect_change(self, mount, name, wanted):
        """The first reader gets an error, the next one the new bytes."""
        self.assertEqual(self.read(mount.path(name)), errno.ESTALE)
        self.assertEqual(self.read(mount.path(name)), wanted)
        self.assertEqual(mount.path(name).stat().st_size, len(wanted))
        self.assertEqual(mount.log().count("has changed under --immutable"), 1, mount.log())

    def test_replaced_before_the_first_read(self):
        with self.mount() as mount, daemon.kernel_references_kept():
            mount.path("x").stat()
            self.other.rename(self.frame)
            self.expect_change(mount, "x", self.contents[1])

    def test_rewritten_before_the_first_read(self):
        with self.mount() as mount, daemon.kernel_references_kept():
            mount.path("x").stat()
            self.frame.write_bytes(self.other.read_bytes())
            self.expect_change(mount, "x", self.contents[1])

    def test_a_plain_file_rewritten_before_the_first_read(self):
        with self.mount() as mount, daemon.kernel_references_kept():
            mount.path("plain").stat()
            (self.source / "plain").write_bytes(self.contents[1])
            self.expect_change(mount, "plain", self.contents[1])

    def test_what_was_read_stays(self):
        with self.mount() as mount, daemon.kernel_references_kept():
            self.assertEqual(self.read(mount.path("x")), self.contents[0])
            self.frame.write_bytes(self.other.read_bytes())
            self.assertEqual(self.read(mount.path("x")), self.contents[0])

    def test_removed_before_the_first_read(self):
        with self.mount() as mount, daemon.kernel_references_kept():
            mount.path("x").stat()
            self.frame.unlink()
            self.assertEqual(self.read(mount.path("x")), errno.ESTALE)
            self.assertEqual(self.read(mount.path("x")), errno.ENOENT)

    def test_rewritten_again_and_again_beside_readers(self):
        contents = [data.text(1000 + 777 * number) for number in range(4)]
        frames = [self.make_frame(content, self.folder / f"{number}.b2frame").read_bytes()
                  for number, content in enumerate(contents)]
        with self.mount() as mount:
            for number in range(100):
                self.frame.write_bytes(frames[number % len(frames)])
                daemon.drop_kernel_references()
                got = self.read(mount.path("x"))
                # The frame was complete whenever it was read.
                self.assertTrue(isinstance(got, int) or got in contents, f"round {number}")


class Manifest(MountCase):
    """A manifest in SOURCE, which framefs index has written."""
    EVERY_MOUNT = IMMUTABLE
    NAME = "framefs-manifest.json"

    def setUp(self):
        (self.source / "sub").mkdir()
        self.content = data.text(3000)
        self.make_frame(self.content, self.source / "x.b2frame")
        self.make_frame(self.content, self.source / "sub/y.b2frame")
        (self.source / "itself.b2frame").write_bytes(b"no frame")
        self.tool(daemon.FRAMEFS, "index", self.source, "-o", self.source / self.NAME)

    @staticmethod
    def sizes(root, *names):
        return {name: (root / name).stat().st_size for name in names}

    def overwrite_heads(self):
        """The frames are no frames any more, but have their sizes and times."""
        for name in "x.b2frame", "sub/y.b2frame":
            path = self.source / name
            before = path.stat()
            with path.open("r+b") as frame:
                frame.write(bytes(100))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def listed(self, mount):
        return sorted(os.listdir(mount.path())) + os.listdir(mount.path("sub"))

    def test_no_head_is_read(self):
        self.overwrite_heads()
        with self.mount() as mount:
            self.assertEqual(self.listed(mount), [self.NAME, "itself.b2frame", "sub", "x", "y"])
            size = len(self.content)
            self.assertEqual(self.sizes(mount.path(), "x", "sub/y", "itself.b2frame"),
                             {"x": size, "sub/y": size, "itself.b2frame": 8})

    def test_only_the_promise_makes_it_trusted(self):
        self.overwrite_heads()
        self.EVERY_MOUNT = ("--ro",)
        with self.mount() as mount:
            self.assertEqual(self.listed(mount), [self.NAME, "itself.b2frame", "sub", "x.b2frame", "y.b2frame"])

    def test_a_file_of_another_size_or_time_does_not_count(self):
        self.overwrite_heads()
        os.truncate(self.source / "x.b2frame", 101)
        os.utime(self.source / "sub/y.b2frame")
        with self.mount() as mount:
            self.assertEqual(self.listed(mount), [self.NAME, "itself.b2frame", "sub", "x.b2frame", "y.b2frame"])

    def test_files_are_read(self):
        with self.mount() as mount:
            self.assertEqual(mount.path("x").read_bytes(), self.content)
            self.assertEqual(mount.path("sub/y").read_bytes(), self.content)

    def test_a_damaged_manifest_is_named_and_not_used(self):
        (self.source / self.NAME).write_text('{"framefs-manifest": 1, "files": [')
        with self.mount() as mount:
            self.assertIn(f"{self.NAME} is not used", mount.log())
            self.assertEqual(mount.path("x").read_bytes(), self.content)

    def test_links_lead_to_no_manifest(self):
        (self.source / self.NAME).rename(self.folder / "elsewhere")
        (self.source / self.NAME).symlink_to(self.folder / "elsewhere")
        self.overwrite_heads()
        with self.mount() as mount:
            self.assertIn(f"{self.NAME} is not used", mount.log())
            self.assertIn("x.b2frame", self.listed(mount))


# The tests of reading, on immutable mounts.

class ReadersOfImmutable(test_readers.Readers):
    EVERY_MOUNT = IMMUTABLE


class NumpyFilesOfImmutable(test_arrays.NumpyFiles):
    EVERY_MOUNT = IMMUTABLE
    test_changed_while_mounted = None


class ArrayNamesOfImmutable(test_arrays.Names):
    EVERY_MOUNT = IMMUTABLE


class DtypesOfImmutable(test_arrays.Dtypes):
    EVERY_MOUNT = IMMUTABLE


class SparseFramesOfImmutable(test_sparse_frames.SparseFrames):
    EVERY_MOUNT = IMMUTABLE
    test_grown_while_mounted = None
    test_removed_while_mounted = None
    test_new_chunks_have_the_owner_and_the_rights_of_the_frame = None


class HolesOfImmutable(test_holes.Holes):
    EVERY_MOUNT = IMMUTABLE
    test_bytes_that_a_mapping_has_written_are_no_hole = None


class ContainersOfImmutable(test_containers.Containers):
    EVERY_MOUNT = IMMUTABLE
    test_a_replaced_archive_shows_its_new_members = None
    test_a_container_with_the_inode_of_another_one_shows_its_own_members = None


class OneFrameOfImmutable(test_one_frame.OneFrame):
    EVERY_MOUNT = IMMUTABLE
    test_replaced_while_mounted = None


class NamesOfImmutable(test_names.Names):
    EVERY_MOUNT = IMMUTABLE
    test_a_name_frees_and_takes_itself = None
    test_links_lead_to_frames_by_their_full_names = None


class AttributesOfImmutable(test_xattrs.Attributes):
    EVERY_MOUNT = IMMUTABLE
    test_tools_copy_files_with_their_attributes = None
    test_the_attributes_of_files_pass_through = None


if __name__ == "__main__":
    unittest.main()
