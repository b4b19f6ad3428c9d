"""A daemon that dies leaves no mount: its watchdog unmounts, and touches nothing else."""

import contextlib
import os
import pathlib
import re
import signal
import unittest

from case import MountCase
from daemon import DEADLINE_S, FRAMEFS, SANITIZED, is_running, mounts_at, unmount, wait_for, watchdog_of

CONTENT = b"some content\n" * 1000


class Watchdog(MountCase):
    def setUp(self):
        self.frame = self.make_frame(CONTENT, self.source / "a.b2frame")

    def start(self, *options, **places):
        """A mount with a ready watchdog, which the test kills; removed at the end of the test."""
        mount = self.mount(*options, **places)
        mount.__enter__()
        self.addCleanup(mount.kill)
        self.watchdog = watchdog_of(mount.pid)
        wait_for(lambda: os.readlink(f"/proc/{self.watchdog}/cwd") == "/", "the watchdog to be ready")
        return mount

    def kill(self, mount):
        """Kills the daemon; returns when the watchdog has ended."""
        watchdog = watchdog_of(mount.pid)
        self.assertIsNotNone(watchdog)
        mount.process.kill()
        mount.process.wait()
        wait_for(lambda: not is_running(watchdog), "the watchdog to end")

    def test_killed_in_the_foreground(self):
        mount = self.start()
        self.assertEqual(mount.path("a").read_bytes(), CONTENT)
        self.kill(mount)
        self.assertEqual(mounts_at(self.mountpoint), [])

    def test_the_log_says_that_a_killed_daemon_is_gone(self):
        mount = self.start()
        self.kill(mount)
        self.assertIn(f"critical: the daemon of {self.mountpoint} is gone", mount.log())

    def test_an_orderly_end_is_none(self):
        with self.mount() as mount:
            pass
        self.assertNotIn("critical", mount.log())

    @unittest.skipIf(SANITIZED, "a sanitizer reports these signals itself")
    def test_the_log_names_the_signal_that_ends_the_daemon(self):
        version = self.tool(FRAMEFS, "--version").stdout.decode().split()[1]
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS):
            with self.subTest(number.name):
                mount = self.start()
                self.assertEqual(mount.path("a").read_bytes(), CONTENT)
                mount.process.send_signal(number)
                self.assertEqual(mount.process.wait(DEADLINE_S), -number)
                wait_for(lambda: not is_running(self.watchdog), "the watchdog to end")
                self.assertEqual(mounts_at(self.mountpoint), [])
                self.assertRegex(mount.log(), f"critical: the daemon ends by the signal {number.name} "
                                              f"\\(framefs {re.escape(version)}, build id [0-9a-f]{{8,}}\\)\n")
                self.assertIn(f"the daemon of {self.mountpoint} is gone", mount.log())

    def test_killed_while_both_still_start(self):
        for _ in range(10):
            mount = self.mount().__enter__()
            self.addCleanup(mount.kill)
            self.kill(mount)
            self.assertEqual(mounts_at(self.mountpoint), [])

    def test_killed_while_the_kernel_knows_the_attributes(self):
        """stat() of the mountpoint succeeds for a day, although the daemon has ended."""
        mount = self.start("--attr-timeout", "86400")
        os.stat(self.mountpoint)
        self.kill(mount)
        self.assertEqual(mounts_at(self.mountpoint), [])

    def test_killed_while_files_are_open(self):
        mount = self.start()
        file = os.open(mount.path("a"), os.O_RDONLY)
        try:
            self.assertEqual(os.read(file, 4), CONTENT[:4])
            self.kill(mount)
            self.assertEqual(mounts_at(self.mountpoint), [])
        finally:
            with contextlib.suppress(OSError):  # closing is sent to the daemon
                os.close(file)

    def test_killed_on_a_file(self):
        target = self.folder / "data.bin"
        target.write_bytes(b"underneath")
        mount = self.start(source=self.frame, mountpoint=target)
        self.assertEqual(target.read_bytes(), CONTENT)
        self.kill(mount)
        self.assertEqual(target.read_bytes(), b"underneath")

    def test_found_by_no_search_for_the_daemon(self):
        """`pkill -9 framefs` or `pkill -9 -f MOUNTPOINT` must not kill both processes."""
        self.start()
        for name in ("comm", "cmdline"):
            text = pathlib.Path(f"/proc/{self.watchdog}/{name}").read_bytes()
            for word in (b"framefs", os.fsencode(self.source), os.fsencode(self.mountpoint)):
                self.assertNotIn(word, text)

    def test_holds_on_to_nothing_but_source(self):
        self.start()
        process = pathlib.Path(f"/proc/{self.watchdog}")

        def holds_nothing_else():
            links = {os.readlink(process / "fd" / fd) for fd in os.listdir(process / "fd")
                     if int(fd) > 2}
            above = {os.fspath(path) for path in (self.source, *self.source.parents)}
            return links <= above
        # Soon after the start, it opens the control of the kernel's read-ahead for the daemon.
        wait_for(holds_nothing_else, "its files to be closed")
        self.assertTrue(os.readlink(process / "fd/0").startswith("socket:"))
        for fd in "12":
            self.assertEqual(os.readlink(process / "fd" / fd), "/dev/null")
        session = (process / "stat").read_text().rpartition(")")[2].split()[3]
        self.assertEqual(session, process.name)

    def test_outlives_the_signals_that_end_the_daemon(self):
        """A service manager sends its signal to all processes, and later SIGKILL to the daemon."""
        mount = self.start()
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            os.kill(self.watchdog, number)
        self.kill(mount)
        self.assertEqual(mounts_at(self.mountpoint), [])

    def test_not_needed_for_an_end_in_order(self):
        with self.mount() as mount:
            os.kill(watchdog_of(mount.pid), signal.SIGKILL)
            self.assertEqual(mount.path("a").read_bytes(), CONTENT)

    def test_a_mount_after_it_is_left_alone(self):
        """The new mount gets the number of the old one, whose daemon has not ended yet."""
        first = self.start()
        os.kill(first.pid, signal.SIGSTOP)
        self.assertEqual(unmount(self.mountpoint).returncode, 0)
        self.start()
        os.kill(first.pid, signal.SIGCONT)
        wait_for(lambda: not is_running(first.pid), "the first daemon to end")
        self.assertEqual(mounts_at(self.mountpoint), ["fuse.framefs"])

    def test_a_connection_that_is_aborted_leaves_no_mount(self):
        if os.geteuid() != 0:
            self.skipTest("only root mounts the filesystem of the connections")
        mount = self.start()
        number = os.minor(os.stat(self.mountpoint).st_dev)
        connections = self.folder / "connections"
        connections.mkdir()
        self.tool("mount", "-t", "fusectl", "none", connections)
        try:
            (connections / str(number) / "abort").write_bytes(b"1")
        finally:
            self.tool("umount", connections)
        wait_for(lambda: not is_running(mount.pid), "the daemon to end")
        wait_for(lambda: not mounts_at(self.mountpoint), "the watchdog to unmount")

    def test_a_mount_over_it_is_left_alone(self):
        if os.geteuid() != 0:
            self.skipTest("only root can mount by hand")
        for what, lay_over in (("tmpfs", self.mount_tmpfs), ("fuse", self.leave_stale_mount)):
            with self.subTest(what):
                mount = self.start()
                lay_over()
                self.kill(mount)
                self.assertEqual(mounts_at(self.mountpoint), ["fuse.framefs", what])
                mount.kill()

    def mount_tmpfs(self):
        self.tool("mount", "-t", "tmpfs", "none", self.mountpoint)

    def test_a_mount_in_its_place_is_left_alone(self):
        """If the watchdog is late, another mount may have replaced its own."""
        first = self.start()
        os.kill(self.watchdog, signal.SIGSTOP)
        first.process.kill()
        first.process.wait()
        self.assertEqual(unmount(self.mountpoint, lazy=True).returncode, 0)
        with self.mount() as second:
            os.kill(self.watchdog, signal.SIGCONT)
            wait_for(lambda: not watchdog_of(first.pid), "the first watchdog to end")
            self.assertEqual(mounts_at(self.mountpoint), ["fuse.framefs"])
            self.assertEqual(second.path("a").read_bytes(), CONTENT)


if __name__ == "__main__":
    unittest.main()
