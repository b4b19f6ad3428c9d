"""MOUNTPOINT /dev/fd/N: the daemon serves a mount that another process has made."""

import contextlib
import ctypes
import errno
import json
import os
import signal
import subprocess
import unittest

import daemon
import object_server
from case import MountCase
from daemon import FRAMEFS, daemons_with, is_running, mounts_at, wait_for, watchdog_of

CONTENT = b"some content\n" * 1000
MNT_DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@unittest.skipIf(os.geteuid() != 0, "only root can mount by hand")
class InheritedMount(MountCase):
    def setUp(self):
        self.make_frame(CONTENT, self.source / "a.b2frame")
        self.log_path = self.folder / "daemon.log"
        self.addCleanup(self.clean_up)
        self.processes = []

    def clean_up(self):
        for process in self.processes:
            process.kill()
            process.wait()
        for pid in daemons_with(self.source):
            os.kill(pid, signal.SIGKILL)
        while mounts_at(self.mountpoint):
            checked(LIBC.umount2(os.fsencode(self.mountpoint), MNT_DETACH))

    @contextlib.contextmanager
    def mounted(self, options="default_permissions"):
        """A mount without a daemon; yields the descriptor of /dev/fuse that belongs to it."""
        fd = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK)
        try:
            words = f"fd={fd},rootmode=40000,user_id=0,group_id=0" + (options and "," + options)
            checked(LIBC.mount(b"by hand", os.fsencode(self.mountpoint), b"fuse.framefs", 0, words.encode()))
            yield fd
        finally:
            os.close(fd)

    def start(self, fd, *options, source=None, before=(), environment=None):
        """A daemon in the foreground that serves the mount."""
        command = [*before, os.fspath(FRAMEFS), os.fspath(source or self.source), f"/dev/fd/{fd}", "-f",
                   "--log-file", os.fspath(self.log_path), *options]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(fd,),
                                   env={**os.environ, **(environment or {})})
        self.processes.append(process)
        return process

    def unmount(self):
        def is_done():
            if LIBC.umount2(os.fsencode(self.mountpoint), 0) == 0:
                return True
            self.assertEqual(ctypes.get_errno(), errno.EBUSY)  # of a file that is just being closed
            return False
        wait_for(is_done, "unmounting")

    def expect_end(self, process):
        self.assertEqual(process.wait(daemon.DEADLINE_S), 0, self.log_path.read_text())
        self.assertFalse(daemon.SUSPICIOUS.search(self.log_path.read_text()))

    def test_it_is_served_and_never_unmounted(self):
        for options in ((), ("--no-sandbox",)):
            with self.subTest(options):
                with self.mounted() as fd:
                    process = self.start(fd, *options)
                self.assertEqual((self.mountpoint / "a").read_bytes(), CONTENT)
                (self.mountpoint / "new").write_bytes(b"written")
                self.unmount()
                self.expect_end(process)
                with self.mount() as mount:
                    self.assertEqual(mount.path("new").read_bytes(), b"written")

    def test_the_commands_know_it_by_its_path(self):
        with self.mounted() as fd:
            process = self.start(fd)
        stats = json.loads(self.tool(FRAMEFS, "stats", "--json", self.mountpoint).stdout)
        self.assertEqual(stats["mountpoint"], str(self.mountpoint))
        self.assertEqual(stats["pid"], process.pid)
        self.assertIn(os.fsencode(self.mountpoint), self.tool(FRAMEFS, "list").stdout)
        self.tool(FRAMEFS, "umount", self.mountpoint)
        self.expect_end(process)
        self.assertIn(f"mounted on {self.mountpoint}", self.log_path.read_text())

    def test_in_the_background(self):
        with self.mounted() as fd:
            self.tool(FRAMEFS, self.source, f"/dev/fd/{fd}", pass_fds=(fd,))
        self.assertEqual((self.mountpoint / "a").read_bytes(), CONTENT)
        (pid,) = daemons_with(self.source)
        self.unmount()
        wait_for(lambda: not is_running(pid), "the daemon to end")

    def test_the_mount_stays_after_the_daemon(self):
        for number, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
            for options in ((), ("--no-sandbox",)):
                with self.subTest(number, options=options):
                    with self.mounted() as fd:
                        process = self.start(fd, *options)
                    self.assertEqual((self.mountpoint / "a").read_bytes(), CONTENT)
                    watchdog = watchdog_of(process.pid)
                    process.send_signal(number)
                    self.assertEqual(process.wait(daemon.DEADLINE_S), code)
                    wait_for(lambda: not is_running(watchdog), "the watchdog to end")
                    with self.assertRaises(OSError) as caught:
                        os.listdir(self.mountpoint)
                    self.assertEqual(caught.exception.errno, errno.ENOTCONN)
                    self.unmount()

    def test_a_signal_ends_it_though_the_mounter_holds_the_descriptor(self):
        with self.mounted() as fd:
            process = self.start(fd)
            self.assertEqual((self.mountpoint / "a").read_bytes(), CONTENT)
            process.terminate()
            self.expect_end(process)

    def test_without_the_right_to_mount(self):
        unprivileged = ("setpriv", "--no-new-privs", "--bounding-set", "-sys_admin",
                        "--inh-caps", "-sys_admin")
        refused = self.tool(*unprivileged, FRAMEFS, self.source, self.mountpoint, check=False)
        self.assertNotEqual(refused.returncode, 0, "it had the right")
        with self.mounted("default_permissions,allow_other") as fd:
            process = self.start(fd, "--allow-other", before=unprivileged)
        self.assertEqual((self.mountpoint / "a").read_bytes(), CONTENT)
        self.unmount()
        self.expect_end(process)

    def test_a_mount_that_cannot_be_seen(self):
        """As in a container: the mount is in no table that the daemon can read."""
        with self.mounted() as fd:
            place = os.open(self.mountpoint, os.O_PATH)
            checked(LIBC.umount2(os.fsencode(self.mountpoint), MNT_DETACH))
            self.expect_refusal("cannot be seen", self.source, f"/dev/fd/{fd}", "--allow-other", pass_fds=(fd,))
            process = self.start(fd)
        file = os.open("a", os.O_RDONLY, dir_fd=place)
        self.assertEqual(os.read(file, len(CONTENT)), CONTENT)
        os.close(file)
        os.close(place)
        self.expect_end(process)

    def test_a_url(self):
        with object_server.ObjectServer({"x": b"content"}) as server:
            with self.mounted() as fd:
                process = self.start(fd, source=server.url)
            self.assertEqual((self.mountpoint / "x").read_bytes(), b"content")
            self.unmount()
            self.expect_end(process)
            with self.mounted() as fd:
                process = self.start(fd, source=server.url)
                self.assertEqual((self.mountpoint / "x").read_bytes(), b"content")
                process.terminate()
                self.expect_end(process)

    def expect_refusal(self, words, *arguments, pass_fds=()):
        result = self.tool(FRAMEFS, *arguments, check=False, pass_fds=pass_fds)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, 1, message)
        self.assertIn(words, message)
        self.assertEqual(len(message.splitlines()), 1, message)

    def test_descriptors_that_are_refused(self):
        reading, writing = os.pipe()
        fuse, fuse_to_read = os.open("/dev/fuse", os.O_RDWR), os.open("/dev/fuse", os.O_RDONLY)
        null = os.open("/dev/null", os.O_RDWR)
        for fd, words in ((977, "not a descriptor that framefs has inherited"), (0, "a standard stream"),
                          (reading, "not one of /dev/fuse"), (null, "not one of /dev/fuse"),
                          (fuse, "/dev/fuse without a mount"), (fuse_to_read, "not open for reading and writing")):
            with self.subTest(words):
                passed = () if fd in (0, 977) else (fd,)
                self.expect_refusal(words, self.source, f"/dev/fd/{fd}", pass_fds=passed)
        for fd in (reading, writing, fuse, fuse_to_read, null):
            os.close(fd)

    def test_mounts_that_are_refused(self):
        cases = (("allow_other", (), "mount it with default_permissions"),
                 ("", ("--allow-other",), "mount it with default_permissions"),
                 ("default_permissions", ("-o", "noexec"), "mounted already"),
                 ("default_permissions", ("--idle", "10m"), "--idle cannot unmount it"))
        for mount_options, options, words in cases:
            with self.subTest(words, options=options), self.mounted(mount_options) as fd:
                self.expect_refusal(words, self.source, f"/dev/fd/{fd}", *options, pass_fds=(fd,))
                self.unmount()
        with self.mounted() as fd:
            for source in (self.mountpoint, self.mountpoint / "below"):
                self.expect_refusal("SOURCE lies in the mount", source, f"/dev/fd/{fd}", pass_fds=(fd,))


if __name__ == "__main__":
    unittest.main()
