"""Starting a mount, failing to start it, and ending it."""

import configparser
import contextlib
import errno
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import unittest

import daemon
from case import MountCase
from daemon import FRAMEFS, daemons_with, is_running, mounts_at, unmount, wait_for, watchdog_of

CONTENT = b"some content\n" * 1000


def close_in_vain(fd):
    """Closes a descriptor, whose daemon may have ended."""
    with contextlib.suppress(OSError):
        os.close(fd)


class Lifecycle(MountCase):
    def setUp(self):
        self.frame = self.make_frame(CONTENT, self.source / "a.b2frame")
        self.addCleanup(self.clean_up_mounts)

    def clean_up_mounts(self):
        """Removes the mounts of a failed test, which would make later tests fail."""
        for pid in daemons_with(self.mountpoint):
            os.kill(pid, signal.SIGKILL)
        while mounts_at(self.mountpoint) and unmount(self.mountpoint, lazy=True).returncode == 0:
            pass

    def framefs(self, *arguments, **options):
        return self.tool(FRAMEFS, *arguments, **options)

    def expect_refusal(self, *arguments, mentions):
        """The message must contain one of the words in `mentions`."""
        result = self.framefs(*arguments, check=False)
        message = result.stderr.decode()
        try:
            self.assertNotEqual(result.returncode, 0, "mounted all the same")
        finally:
            self.clean_up_mounts()
        self.assertGreater(result.returncode, 0, f"died of a signal: {message}")
        self.assertTrue(any(os.fspath(word) in message for word in mentions), message)
        self.assertLess(len(message.splitlines()), 20, message)
        self.assertFalse(daemon.SUSPICIOUS.search(message), message)
        self.assertEqual(mounts_at(self.mountpoint), [])
        wait_for(lambda: not daemons_with(self.mountpoint), "the refused daemon to be gone")
        return message

    def start_background(self, *options, mountpoint=None):
        """Starts a daemon in the background; returns its pid when it serves requests."""
        mountpoint = mountpoint or self.mountpoint
        self.framefs(self.source, mountpoint, *options)
        self.assertEqual(len(mounts_at(mountpoint)), 1)
        self.assertEqual((mountpoint / "a").read_bytes(), CONTENT)
        (pid,) = daemons_with(mountpoint)
        return pid

    def expect_clean_end(self, pid):
        wait_for(lambda: not is_running(pid), "the daemon to end")
        self.assertIsNone(watchdog_of(pid))
        self.assertEqual(mounts_at(self.mountpoint), [])
        self.assertEqual(os.listdir(self.mountpoint), [])

    def test_background_is_ready_when_the_command_returns(self):
        pid = self.start_background()
        self.assertEqual(unmount(self.mountpoint).returncode, 0)
        self.expect_clean_end(pid)

    def test_background_lets_go_of_the_terminal(self):
        pid = self.start_background("--log-file", self.folder / "daemon.log")
        status = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        session, terminal = int(status[3]), int(status[4])
        self.assertNotEqual(session, os.getsid(0))
        self.assertEqual(terminal, 0)
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
        for fd in "012":
            self.assertNotIn("pipe:", os.readlink(f"/proc/{pid}/fd/{fd}"))
        self.assertEqual(unmount(self.mountpoint).returncode, 0)
        self.expect_clean_end(pid)

    def test_mount_is_an_optional_word(self):
        self.framefs("mount", self.source, self.mountpoint)
        (pid,) = daemons_with(self.mountpoint)
        self.assertEqual(os.listdir(self.mountpoint), ["a"])
        self.assertEqual(unmount(self.mountpoint).returncode, 0)
        self.expect_clean_end(pid)

    def test_relative_paths(self):
        folder = pathlib.Path(self.folder.name)
        self.framefs(folder / "source", folder / "mnt", cwd=self.folder.parent)
        (pid,) = daemons_with(folder / "mnt")
        self.assertEqual((self.mountpoint / "a").read_bytes(), CONTENT)
        # Files are found by later lookups too, although the daemon has changed its folder.
        self.make_frame(b"late\n", self.source / "late.b2frame")
        self.assertEqual((self.mountpoint / "late").read_bytes(), b"late\n")
        self.assertEqual(unmount(self.mountpoint).returncode, 0)
        self.expect_clean_end(pid)

    def test_options_as_mount_gives_them(self):
        self.framefs(self.source, self.mountpoint, "-o",
                     "ro,nosuid,nodev,noexec,async,dirsync,noatime,nodiratime,relatime")
        (pid,) = daemons_with(self.mountpoint)
        line = next(line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                    if str(self.mountpoint) in line)
        for option in ("ro", "nosuid", "nodev", "noexec"):
            self.assertIn(option, line.split()[5].split(","))
        self.assertEqual(unmount(self.mountpoint).returncode, 0)
        self.expect_clean_end(pid)

    def mount_options(self):
        """The per-mount options, and the type, source and options of the file system."""
        line = next(line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                    if str(self.mountpoint) in line)
        fields = line.split()
        at = fields.index("-")
        return fields[5].split(","), fields[at + 1], fields[at + 2]

    def test_mount_8_allows_devices_and_setuid_unless_told_otherwise(self):
        """mount(8) does not pass "dev" and "suid" on: it leaves "nodev" and "nosuid" out."""
        if os.geteuid() != 0:
            self.skipTest("fusermount3 allows users neither")
        for words, forbidden in (("rw", set()), ("rw,nodev", {"nodev"}), ("rw,nosuid,nodev", {"nosuid", "nodev"})):
            with self.subTest(words):
                self.tool(FRAMEFS.parent / "mount.framefs", self.source, self.mountpoint, "-o", words)
                (pid,) = daemons_with(self.mountpoint)
                self.assertEqual(set(self.mount_options()[0]) & {"nosuid", "nodev"}, forbidden)
                self.assertEqual(unmount(self.mountpoint).returncode, 0)
                self.expect_clean_end(pid)

    def test_a_mount_hides_no_files_unasked(self):
        (self.mountpoint / "mine").write_bytes(b"mine")
        message = self.expect_refusal(self.source, self.mountpoint, mentions=["is not empty"])
        self.assertIn("--nonempty", message)
        with self.mount("--nonempty") as mount:
            self.assertEqual(os.listdir(mount.path()), ["a"])
        with self.mount("-o", "nonempty"):
            pass
        (self.mountpoint / "mine").unlink()

    def test_a_stale_mount_is_replaced_when_asked(self):
        self.leave_stale_mount()
        pid = self.start_background("--replace-stale")
        self.assertEqual(unmount(self.mountpoint).returncode, 0)
        self.expect_clean_end(pid)

    def test_remounting(self):
        if os.geteuid() != 0:
            self.skipTest("remounting is root's")
        helper = FRAMEFS.parent / "mount.framefs"
        with self.mount("-o", "noexec") as mount:
            self.tool(helper, self.source, self.mountpoint, "-o", "remount,ro")
            with self.assertRaises(OSError) as caught:
                open(mount.path("a"), "ab")
            self.assertEqual(caught.exception.errno, errno.EROFS)
            self.tool(helper, self.source, self.mountpoint, "-o", "remount,rw")
            with open(mount.path("a"), "ab") as file:
                file.write(b"more")
            self.assertIn("noexec", self.mount_options()[0])
            self.assertEqual(mount.path("a").read_bytes(), CONTENT + b"more")
        with self.mount("--ro"):
            refused = self.tool(helper, self.source, self.mountpoint, "-o", "remount,rw", check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(b"was mounted read-only and stays so", refused.stderr)
        refused = self.tool(helper, self.source, self.mountpoint, "-o", "remount,ro", check=False)
        self.assertIn(b"is not a mount of framefs", refused.stderr)

    def test_a_source_that_is_renamed(self):
        with self.mount("--attr-timeout", "0") as mount:
            self.source.rename(self.folder / "elsewhere")
            self.assertEqual(mount.path("a").read_bytes(), CONTENT)
            mount.path("new").write_bytes(b"after the rename")
            self.assertEqual(sorted(os.listdir(mount.path())), ["a", "new"])
            self.assertTrue((self.folder / "elsewhere/new.b2frame").exists())
            self.assertNotIn("removed", mount.log())
            (self.folder / "elsewhere").rename(self.source)

    def test_a_source_that_is_removed(self):
        (self.source / "folder").mkdir()
        (self.source / "folder/file").write_bytes(b"content")
        with self.mount("--attr-timeout", "0") as mount:
            path = mount.path()
            self.assertEqual(mount.path("a").read_bytes(), CONTENT)
            self.assertEqual(mount.path("folder/file").read_bytes(), b"content")
            shutil.rmtree(self.source)
            calls = {
                "list": lambda: os.listdir(path),
                "stat": lambda: os.stat(path),
                "statfs": lambda: os.statvfs(path),
                "stat of a file": lambda: os.stat(path / "a"),
                "open": lambda: (path / "a").read_bytes(),
                "open below": lambda: (path / "folder/file").read_bytes(),
                "list below": lambda: os.listdir(path / "folder"),
                "create": lambda: (path / "new").write_bytes(b"new"),
                "mkdir": lambda: os.mkdir(path / "newfolder"),
                "chmod": lambda: os.chmod(path, 0o700),
                "again": lambda: os.listdir(path),
            }
            for what, call in calls.items():
                with self.subTest(what):
                    with self.assertRaises(OSError) as caught:
                        call()
                    self.assertEqual(caught.exception.errno, errno.ESTALE)
            listed = self.tool("ls", path, check=False)
            self.assertIn(b"Stale file handle", listed.stderr)
            lines = [line for line in mount.log().splitlines() if "SOURCE was removed" in line]
            self.assertEqual(len(lines), 1, mount.log())
            self.assertIn(f"{self.source}: SOURCE was removed; unmount the mount", lines[0])
            # The descriptors of a directory without a name are not those of the beginning.
            daemon.wait_for(lambda: daemon.unmount(self.mountpoint).returncode == 0, "the unmount")
            mount.process.wait(timeout=daemon.DEADLINE_S)

    def test_owners_and_modes_as_the_options_say(self):
        os.chmod(self.frame, 0o666)
        with self.mount("-o", "uid=1234,gid=2345,umask=027") as mount:
            for status in (os.stat(mount.path("a")), next(os.scandir(mount.path())).stat()):
                self.assertEqual((status.st_uid, status.st_gid, status.st_mode & 0o777), (1234, 2345, 0o640))
            self.assertEqual(mount.path("a").read_bytes(), CONTENT)

    def test_lists_of_mounts(self):
        with self.mount("-o", "fsname=store,subtype=b2"):
            self.assertEqual(self.mount_options()[1:], ("fuse.b2", "store"))
        with self.mount("--fsname", "a,b"):
            self.assertEqual(self.mount_options()[1:], ("fuse.framefs", "a,b"))

    def test_the_unit_waits_for_the_network_and_is_started_again_without_end(self):
        unit = configparser.ConfigParser(interpolation=None)
        unit.optionxform = str
        unit.read(daemon.ROOT / "packaging/framefs@.service")
        self.assertIn("network-online.target", unit["Unit"]["After"].split())
        self.assertIn("network-online.target", unit["Unit"]["Wants"].split())
        self.assertEqual(unit["Unit"]["StartLimitIntervalSec"], "0")
        self.assertEqual(unit["Service"]["Restart"], "on-failure")

    def test_a_service_manager_is_told(self):
        """As systemd is, with Type=notify."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(os.fspath(self.folder / "notify"))
            listener.settimeout(daemon.DEADLINE_S)
            with daemon.Mount(self.source, self.mountpoint,
                              environment={"NOTIFY_SOCKET": os.fspath(self.folder / "notify")}):
                self.assertEqual(listener.recv(100), b"READY=1")

    def test_signals_end_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number), self.mount() as mount:
                self.assertEqual(mount.path("a").read_bytes(), CONTENT)
                os.kill(mount.pid, number)
                mount.check_ended(exit_code=0)
        pid = self.start_background()
        os.kill(pid, signal.SIGTERM)
        self.expect_clean_end(pid)

    def test_only_the_first_thread_gets_the_signals_that_end_it(self):
        """Another thread would take the signal, and the first would go on waiting."""
        with self.mount() as mount:
            self.assertEqual(mount.path("a").read_bytes(), CONTENT)
            threads = [int(name) for name in os.listdir(f"/proc/{mount.pid}/task")]
            self.assertGreater(len(threads), 1)
            for thread in set(threads) - {mount.pid}:
                with contextlib.suppress(FileNotFoundError):  # a thread that has ended
                    status = pathlib.Path(f"/proc/{mount.pid}/task/{thread}/status").read_text(encoding="ascii")
                    blocked = int(re.search(r"^SigBlk:\s*(\w+)", status, re.MULTILINE).group(1), 16)
                    for number in (signal.SIGTERM, signal.SIGINT):
                        self.assertTrue(blocked >> (number - 1) & 1, f"thread {thread} takes {number.name}")

    def test_a_signal_ends_it_though_a_file_is_open(self):
        with self.mount() as mount:
            file = os.open(mount.path("a"), os.O_RDONLY)
            self.addCleanup(close_in_vain, file)
            folder = os.open(mount.path(), os.O_RDONLY | os.O_DIRECTORY)
            self.addCleanup(close_in_vain, folder)
            self.assertEqual(os.read(file, 4), CONTENT[:4])
            os.kill(mount.pid, signal.SIGTERM)
            mount.check_ended(exit_code=0)
            # No daemon answers any more, and nothing hangs.
            with self.assertRaises(OSError) as caught:
                os.stat("never looked up", dir_fd=folder)
            self.assertIn(caught.exception.errno, (errno.ENOTCONN, errno.ECONNABORTED))

    def test_unmounting_while_a_file_is_open(self):
        with self.mount() as mount:
            with open(mount.path("a"), "rb", buffering=0) as file:
                busy = unmount(self.mountpoint)
                self.assertNotEqual(busy.returncode, 0)
                self.assertIn("busy", busy.stderr)
                self.assertEqual(file.read(), CONTENT)
                # A lazy unmount works, and the reader keeps its file.
                self.assertEqual(unmount(self.mountpoint, lazy=True).returncode, 0)
                self.assertEqual(os.listdir(self.mountpoint), [])
                self.assertEqual(os.pread(file.fileno(), 100, 50), CONTENT[50:150])
                self.assertTrue(is_running(mount.pid))
            mount.check_ended(exit_code=0)

    def test_umount(self):
        if os.geteuid() != 0:
            self.skipTest("umount is root's")
        with self.mount() as mount:
            # Until it is ready, the daemon looks at its own mountpoint, which is then busy.
            wait_for(lambda: "is mounted on" in mount.log(), "the daemon to be ready")
            self.tool("umount", self.mountpoint)
            mount.check_ended(exit_code=0)

    def test_root_needs_no_fusermount(self):
        if os.geteuid() != 0:
            self.skipTest("only root mounts without fusermount3")
        hidden = """
            fusermount=$(command -v fusermount3) || fusermount=
            if test -n "$fusermount"; then mount --bind /dev/null "$fusermount"; fi
            "$1" "$2" "$3"
            cat "$3/a"
            "$1" umount "$3"
            "$1" "$2" "$3"
            exec 9<"$3/a"
            ! "$1" umount "$3" 2>"$4"
            "$1" umount --lazy "$3"
            ! grep -q " $3 " /proc/mounts"""
        said = self.folder / "said"
        done = self.tool("unshare", "--mount", "sh", "-euc", hidden, "sh", FRAMEFS, self.source, self.mountpoint, said)
        self.assertEqual(done.stdout, CONTENT)
        self.assertIn("umount: Device or resource busy", said.read_text())

    def test_a_killed_daemon_leaves_no_zombie_mount(self):
        pid = self.start_background()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not mounts_at(self.mountpoint), "the mount of the dead daemon to go")
        self.assertEqual(os.listdir(self.mountpoint), [])
        wait_for(lambda: not watchdog_of(pid), "its watchdog to end")
        # The mountpoint can be used again.
        self.expect_clean_end_after_unmount(self.start_background())

    def expect_clean_end_after_unmount(self, pid):
        self.assertEqual(unmount(self.mountpoint).returncode, 0)
        self.expect_clean_end(pid)

    def test_a_stale_mount_is_named_or_replaced(self):
        """A mountpoint whose daemon has ended: a clear message, or it is unmounted and used
        again."""
        self.leave_stale_mount()
        result = self.framefs(self.source, self.mountpoint, check=False)
        if result.returncode == 0:
            self.assertEqual((self.mountpoint / "a").read_bytes(), CONTENT)
            (pid,) = daemons_with(self.mountpoint)
            self.assertEqual(unmount(self.mountpoint).returncode, 0)
            wait_for(lambda: not is_running(pid), "the daemon to end")
        else:
            self.assertIn("--replace-stale removes it", result.stderr.decode())

    def test_one_frame_on_a_file(self):
        target = self.folder / "data.bin"
        target.write_bytes(b"underneath")
        with self.mount(source=self.frame, mountpoint=target):
            self.assertEqual(target.read_bytes(), CONTENT)
            self.assertEqual(target.stat().st_size, len(CONTENT))
            self.tool("cmp", "-n", "100", target, target)
            with open(target, "ab") as file:
                file.write(b"and more")
        self.assertEqual(target.read_bytes(), b"underneath")
        with self.mount("-o", "ro", source=self.frame, mountpoint=target):
            self.assertEqual(target.read_bytes(), CONTENT + b"and more")
            with self.assertRaises(OSError) as caught:
                open(target, "ab")
            self.assertEqual(caught.exception.errno, errno.EROFS)

    def test_two_mounts_at_once(self):
        other = self.folder / "other"
        other.mkdir()
        with self.mount() as one, self.mount(mountpoint=other) as two:
            self.assertNotEqual(one.pid, two.pid)
            self.assertEqual(one.path("a").read_bytes(), CONTENT)
            self.assertEqual(two.path("a").read_bytes(), CONTENT)

    def test_a_source_inside_the_mounted_folder(self):
        """Mounting a folder over itself shows the frames of the covered folder."""
        with self.mount(source=self.source, mountpoint=self.source) as mount:
            self.assertEqual(os.listdir(mount.path()), ["a"])
            self.assertEqual(mount.path("a").read_bytes(), CONTENT)
        self.assertEqual(os.listdir(self.source), ["a.b2frame"])

    def test_sources_that_cannot_be_mounted(self):
        for options in ((), ("-f",)):
            with self.subTest(options=options):
                missing = self.folder / "no-such-source"
                message = self.expect_refusal(missing, self.mountpoint, *options, mentions=(missing,))
                self.assertIn("SOURCE cannot be opened: No such file or directory", message)
                text = self.folder / "text.b2frame"
                text.write_bytes(b"not a frame at all")
                target = self.folder / "target"
                target.write_bytes(b"")
                self.expect_refusal(text, target, *options, mentions=(text, "SOURCE"))
                # One frame goes onto a file or a folder; a folder only onto a folder.
                self.expect_refusal(text, self.mountpoint, *options, mentions=(text, "SOURCE"))
                self.expect_refusal(self.source, target, *options, mentions=(target, "MOUNTPOINT"))
                # An offset requires a file.
                self.expect_refusal(self.source, self.mountpoint, "--offset", "5", *options,
                                    mentions=("offset",))
                self.expect_refusal(self.frame, self.mountpoint, "--offset", "5", *options,
                                    mentions=(self.frame, "SOURCE"))

    def test_mountpoints_that_cannot_be_used(self):
        missing = self.folder / "no-such-mountpoint"
        message = self.expect_refusal(self.source, missing, mentions=(f"mkdir -p '{missing}'",))
        self.assertIn("MOUNTPOINT cannot be used: No such file or directory", message)
        (self.mountpoint / "something").write_bytes(b"in the way")
        result = self.framefs(self.source, self.mountpoint, check=False)
        if result.returncode == 0:  # shown while mounted, and unchanged afterwards
            self.assertEqual(os.listdir(self.mountpoint), ["a"])
            self.assertEqual(unmount(self.mountpoint).returncode, 0)
        else:
            self.assertIn("not empty", result.stderr.decode())
        self.assertEqual(os.listdir(self.mountpoint), ["something"])

    def test_arguments_that_make_no_sense(self):
        for arguments, word in (((), "SOURCE"),
                                ((self.source,), "MOUNTPOINT"),
                                ((self.source, self.mountpoint, "third"), "third"),
                                ((self.source, self.mountpoint, "--no-such-option"), "no-such-option"),
                                ((self.source, self.mountpoint, "--cache-size", "lots"), "lots"),
                                ((self.source, self.mountpoint, "--cache-size", "-1"), "-1"),
                                ((self.source, self.mountpoint, "--cache-size", "99999999T"), "99999999"),
                                ((self.source, self.mountpoint, "--threads", "-1"), "threads"),
                                ((self.source, self.mountpoint, "--threads", "many"), "many"),
                                ((self.source, self.mountpoint, "--arrays", "pictures"), "pictures"),
                                ((self.source, self.mountpoint, "--offset", "-1"), "-1"),
                                ((self.source, self.mountpoint, "-o", "no_such_option"), "no_such_option"),
                                ((self.source, self.mountpoint, "--log-file", self.frame / "log"),
                                 "a.b2frame/log")):
            with self.subTest(arguments=shlex.join(map(str, arguments))):
                self.expect_refusal(*arguments, mentions=(word,))

    def test_help_and_version(self):
        usage = self.framefs("--help").stdout.decode()
        for word in ("SOURCE", "MOUNTPOINT", "--keep-suffix", "--arrays", "--offset",
                     "--cache-size", "--threads", "--allow-other", "--log-file", "--foreground"):
            self.assertIn(word, usage)
        self.assertRegex(self.framefs("--version").stdout.decode(), r"^framefs \d+\.\d+\.\d+\n")

    def test_output_is_not_needed(self):
        """Starts framefs with closed standard descriptors, as init systems do."""
        self._commands.append(f"{shlex.join(map(str, (FRAMEFS, self.source, self.mountpoint)))} <&- >&- 2>&-")
        subprocess.run(["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', FRAMEFS, self.source, self.mountpoint],
                       check=True, timeout=daemon.DEADLINE_S)
        (pid,) = daemons_with(self.mountpoint)
        self.assertEqual((self.mountpoint / "a").read_bytes(), CONTENT)
        self.assertEqual(unmount(self.mountpoint).returncode, 0)
        self.expect_clean_end(pid)


if __name__ == "__main__":
    unittest.main()
