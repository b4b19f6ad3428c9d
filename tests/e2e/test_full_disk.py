"""SOURCE on a full disk: the writer gets an error, no frame is damaged, and with room writing works
again."""

import contextlib
import errno
import json
import os
import unittest

import daemon
import data
from case import MountCase

DISK_BYTES = 8 << 20
NOISE = data.noise(6 << 20)
RULE = ("--rule", "*:chunksize=64K")


@unittest.skipIf(os.geteuid() != 0, "only root can mount a disk")
class FullDisk(MountCase):
    def setUp(self):
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        self.tool("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self.disk)
        self.addCleanup(self.tool, "umount", self.disk)
        self.ballast = self.disk / "ballast"

    def mount(self, *options):
        return super().mount(*RULE, *options, source=self.disk)

    def open(self, name, flags=os.O_RDWR | os.O_CREAT):
        return os.open(self.mountpoint / name, flags, 0o644)

    def fill(self, leave=0):
        """Fills the disk except for `leave` bytes."""
        self.ballast.write_bytes(b"")
        left = os.statvfs(self.disk).f_bavail * 4096 - leave
        with open(self.ballast, "ab") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, left)

    def make_room(self):
        self.ballast.unlink()

    @contextlib.contextmanager
    def open_closing(self, name):
        """A descriptor whose close may fail."""
        fd = self.open(name, os.O_RDWR)
        try:
            yield fd
        finally:
            with contextlib.suppress(OSError):
                os.close(fd)

    def write_and_die(self, name, content, before_writing):
        """A program writes and ends without a close: nobody gets the error of its last close."""
        fd = self.open(name)
        before_writing()
        with contextlib.suppress(OSError):
            self.write_all(fd, content)
        with contextlib.suppress(OSError):
            os.close(fd)

    def assert_no_space(self, call, *arguments):
        with self.assertRaises(OSError) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.errno, errno.ENOSPC)

    def stored(self, name):
        """The content of the frame in SOURCE, decoded without the mount."""
        return self.tool(daemon.FRAMEFS, "unpack", self.disk / f"{name}.b2frame", "-o", "-").stdout

    def write_all(self, fd, content, offset=0):
        while content:
            done = os.pwrite(fd, content, offset)
            content, offset = content[done:], offset + done

    def write_what_fits(self, fd, content):
        """Writes until a write fails, as it may after a store in the background has failed.
        Returns the size of what was written."""
        done = 0
        try:
            while done < len(content):
                done += os.pwrite(fd, content[done:], done)
        except OSError as error:
            self.assertEqual(error.errno, errno.ENOSPC)
        return done

    def test_a_sync_fails_and_another_succeeds_when_there_is_room(self):
        old, new = NOISE[:1 << 20], NOISE[1 << 20:3 << 20]
        with self.mount():
            fd = self.open("file")
            self.write_all(fd, old)
            os.fsync(fd)
            self.fill(leave=100_000)
            done = self.write_what_fits(fd, new)
            self.assert_no_space(os.fsync, fd)
            self.assert_same_bytes(self.stored("file"), old, "the frame after the failure")
            self.assert_same_bytes(os.pread(fd, done, 0), new[:done], "what was written, for readers of the mount")
            self.assert_no_space(os.fsync, fd)
            self.make_room()
            self.write_all(fd, new[done:], done)
            os.fsync(fd)
            self.assert_same_bytes(self.stored("file"), new, "the frame after the sync")
            os.close(fd)
        with self.mount():
            self.assert_same_bytes((self.mountpoint / "file").read_bytes(), new, "after a new mount")

    def test_a_write_fails_when_the_overlay_is_full(self):
        old = NOISE[:1 << 20]
        with self.mount("--overlay-size", "512K"):
            fd = self.open("file")
            self.write_all(fd, old)
            os.fsync(fd)
            self.fill(leave=200_000)
            self.assert_no_space(self.write_all, fd, NOISE, len(old))
            self.assert_same_bytes(self.stored("file")[:len(old)], old, "the frame after the failure")
            self.make_room()
            self.write_all(fd, NOISE[:1 << 20], len(old))
            os.fsync(fd)
            self.assert_same_bytes(self.stored("file")[:2 << 20], old + NOISE[:1 << 20], "the frame")
            os.close(fd)

    def test_a_close_fails(self):
        with self.mount():
            self.fill(leave=100_000)
            fd = self.open("file")
            done = self.write_what_fits(fd, NOISE[:2 << 20])
            self.assert_no_space(os.close, fd)
            self.make_room()
            # The data that could not be stored is not lost: a new descriptor can still save it.
            fd = self.open("file", os.O_RDWR)
            os.fsync(fd)
            self.assert_same_bytes(self.stored("file"), NOISE[:done], "the frame")
            os.close(fd)

    def test_each_handle_gets_the_error(self):
        with self.mount():
            first, second = self.open("file"), self.open("file")
            self.write_all(first, NOISE[:1 << 20])
            os.fsync(second)
            self.fill(leave=100_000)
            self.write_what_fits(second, NOISE[1 << 20:3 << 20])
            self.assert_no_space(os.fsync, first)
            self.assert_no_space(os.fsync, second)
            self.make_room()
            os.fsync(first)
            os.fsync(second)
            os.close(first)
            os.close(second)

    def test_a_writer_that_stays_open_hears_of_a_failed_commit(self):
        """The commit at the interval fails: the next calls say so."""
        with self.mount("--commit-interval", "0.2") as mount:
            fd = self.open("file")
            self.write_all(fd, NOISE[:1 << 20])
            os.fsync(fd)
            self.fill()
            self.write_all(fd, NOISE[:100_000], 1 << 20)
            daemon.wait_for(lambda: "no space" in mount.log(), "a failed commit")
            self.assert_no_space(os.pwrite, fd, b"again", 0)
            self.assert_no_space(os.fsync, fd)
            with self.open_closing("file") as other:
                self.assert_no_space(os.pwrite, other, b"again", 0)
            self.make_room()
            os.pwrite(fd, b"again", 0)
            os.close(fd)
            self.assert_same_bytes((self.mountpoint / "file").read_bytes(),
                                   b"again" + NOISE[5:1 << 20] + NOISE[:100_000], "the file")

    def test_what_was_written_before_the_disk_was_full_is_kept(self):
        """A program appends until the disk is full.  The frame has all bytes up to there."""
        content = NOISE + NOISE[::-1]
        with self.mount("--commit-interval", "0.2").with_any_exit_code() as mount:
            fd = self.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with self.assertRaises(OSError) as caught:
                for at in range(0, len(content), 1 << 16):
                    os.write(fd, content[at:at + (1 << 16)])
                os.fsync(fd)
            self.assertEqual(caught.exception.errno, errno.ENOSPC)
            with contextlib.suppress(OSError):
                os.close(fd)
        self.assertEqual(mount.process.returncode, 1)
        kept = self.stored("log")
        self.assertGreater(len(kept), DISK_BYTES * 8 // 10)
        self.assert_same_bytes(kept, content[:len(kept)], "the bytes that are kept")
        self.assertLess(self.dead_bytes(self.disk / "log.b2frame"), 2 << 20)

    def dead_bytes(self, frame):
        checked, = json.loads(self.tool(daemon.FRAMEFS, "check", "--json", frame).stdout)
        return checked["dead_bytes"]

    def test_dead_space_of_an_empty_frame_is_used_by_the_next_write(self):
        """A commit has failed on a full disk, and has left its chunks behind an empty frame."""
        frame = self.make_frame(b"", self.disk / "file.b2frame")
        with open(frame, "ab") as file:
            file.write(NOISE[:4 << 20])
        self.assertEqual(self.dead_bytes(frame), 4 << 20)
        self.fill()
        with self.mount():
            fd = self.open("file", os.O_RDWR)
            self.write_all(fd, NOISE[:3 << 20])
            os.fsync(fd)
            os.close(fd)
        self.assert_same_bytes(self.stored("file"), NOISE[:3 << 20], "the frame")

    def test_an_unmount_names_the_lost_files(self):
        with self.mount("--commit-interval", "3600").with_any_exit_code() as mount:
            fd = self.open("good")
            self.write_all(fd, b"good")
            os.fsync(fd)
            os.close(fd)
            self.write_and_die("lost", NOISE[:2 << 20], before_writing=lambda: self.fill(leave=100_000))
            unmounted = self.tool(daemon.FRAMEFS, "umount", self.mountpoint, check=False)
        self.assertEqual(unmounted.returncode, 1)
        self.assertRegex(unmounted.stderr.decode(), r"^framefs: .*lost.*: written bytes are lost\n$")
        self.assertEqual(mount.process.returncode, 1)
        self.assertRegex(mount.stderr_path.read_text(), r"lost.*: written bytes are lost")
        self.assertEqual(self.stored("good"), b"good")

    def test_sigterm_names_the_lost_files(self):
        with self.mount("--commit-interval", "3600").with_any_exit_code() as mount:
            self.write_and_die("lost", NOISE[:2 << 20], before_writing=lambda: self.fill(leave=100_000))
            mount.process.terminate()
        self.assertEqual(mount.process.returncode, 1)
        self.assertRegex(mount.stderr_path.read_text(), r"lost.*: written bytes are lost")

    def test_creating_fails(self):
        with self.mount():
            (self.mountpoint / "there").write_bytes(b"x" * 1000)
            self.fill()
            self.assert_no_space(self.open, "new")
            self.assertEqual(sorted(os.listdir(self.mountpoint)), ["ballast", "there"])
            self.assertEqual(sorted(os.listdir(self.disk)), ["ballast", "there.b2frame"])
            self.make_room()
            os.close(self.open("new"))

    def test_removing_and_emptying_files_makes_room(self):
        with self.mount():
            for name in ("first", "second"):
                (self.mountpoint / name).write_bytes(NOISE[:2 << 20])
            fd = self.open("first", os.O_RDWR)
            os.fsync(fd)
            self.fill()
            os.ftruncate(fd, 0)
            os.fsync(fd)
            self.assertEqual(self.stored("first"), b"")
            self.write_all(fd, NOISE[:1 << 20])
            os.fsync(fd)
            os.close(fd)
            (self.mountpoint / "second").unlink()
            (self.mountpoint / "third").write_bytes(NOISE[:1 << 20])
            fd = self.open("third", os.O_RDWR)
            os.fsync(fd)
            os.close(fd)
            self.assert_same_bytes(self.stored("third"), NOISE[:1 << 20], "third")

    def test_other_files_go_on(self):
        with self.mount():
            full, small = self.open("full"), self.open("small")
            self.write_all(small, b"a" * 10_000)
            os.fsync(small)
            self.fill(leave=150_000)
            self.write_what_fits(full, NOISE[:2 << 20])
            self.assert_no_space(os.fsync, full)
            self.write_all(small, b"b" * 10_000)
            os.fsync(small)
            self.assert_same_bytes(self.stored("small"), b"b" * 10_000, "small")
            self.make_room()
            os.close(full)
            os.close(small)

    def test_a_full_directory_of_temporary_files_is_named(self):
        """A frame for a stream is first made in a file there."""
        plain = self.folder / "plain"
        plain.write_bytes(NOISE)
        self.fill(leave=100_000)
        command = ["env", f"TMPDIR={self.disk}", daemon.FRAMEFS, "pack", plain, "-o", "-"]
        result = self.tool(*command, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertRegex(result.stderr.decode(), rf"^framefs: {plain}: no space: the temporary file in TMPDIR")

    def test_a_mount_that_ends_on_a_full_disk_leaves_whole_frames(self):
        old = NOISE[:1 << 20]
        mount = self.mount()
        with contextlib.suppress(AssertionError), mount:  # its exit code may report a loss
            fd = self.open("file")
            self.write_all(fd, old)
            os.fsync(fd)
            self.fill(leave=100_000)
            self.write_what_fits(fd, NOISE[1 << 20:3 << 20])
            with contextlib.suppress(OSError):
                os.close(fd)
        self.assertIsNone(daemon.SUSPICIOUS.search(mount.messages()), mount.messages())
        self.assertIn("no space", mount.messages())
        self.assert_same_bytes(self.stored("file"), old, "the frame")


if __name__ == "__main__":
    unittest.main()
