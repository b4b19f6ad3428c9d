"""The sandbox of a daemon that serves a mount, and the rights that a mount shows."""

import contextlib
import errno
import os
import pathlib
import signal
import stat
import subprocess
import unittest

import daemon
from case import MountCase
from daemon import wait_for

PROBE = daemon.FRAMEFS.parent / "tests/framefs_sandbox_probe"

CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID = 0, 1, 2, 3, 4
KEPT = sum(1 << bit for bit in (CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID))


def status_of(task):
    """The fields of /proc/PID/status, or of a thread's."""
    lines = pathlib.Path(f"/proc/{task}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def statuses_of_threads(pid):
    """The fields of all threads.  Some threads end soon after the mount is made."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.append(status_of(f"{pid}/task/{task}"))
    return found


@unittest.skipIf(daemon.SANITIZED, "programs with a sanitizer have no sandbox")
class Sandbox(MountCase):
    def probe(self, mode):
        outside = self.folder / "outside"
        outside.write_bytes(b"secret")
        (self.source / "file").write_bytes(b"content")
        (self.source / "below").mkdir(exist_ok=True)
        lines = self.tool(PROBE, self.source, mode, outside).stdout.decode().splitlines()
        self.in_force = lines[0]
        self.assertEqual(outside.read_bytes(), b"secret")
        self.assertEqual(outside.stat().st_mode & 0o7777, 0o644)
        self.assertEqual(outside.stat().st_uid, os.geteuid())
        return dict(line.split(": ") if line.count(": ") == 1 else line.rsplit(": ", 1)
                    for line in lines[1:])

    def has(self, part):
        return f"({part})" not in self.in_force.partition("not in force")[2]

    def check_forbidden(self, deeds):
        is_apart = "few mounts" in self.in_force.partition("; not in force")[0]
        if self.has("Landlock"):
            for deed in ("read outside", "write outside", "create outside", "thread: read outside",
                         "write a setting of the kernel", "read a secret of the system"):
                self.assertIn(deeds[deed], ("ENOENT", "EROFS", "EACCES") if is_apart else ("EACCES",), deed)
        if self.has("seccomp"):
            for deed in ("run a program", "fork", "mount", "unmount", "namespace", "trace",
                         "talk to a local service", "send packets", "use another protocol",
                         "wait for connections", "become another user",
                         "load a program into the kernel", "signal another process", "signal a group",
                         "signal a thread of another process", "have another process signalled",
                         "see the limits of another process"):
                self.assertEqual(deeds[deed], "ENOSYS", deed)
        for deed in ("read inside", "read own state", "thread: read own state", "write to syslog",
                     "signal itself", "signal a thread of its own", "end the watchdog", "see its own limits"):
            self.assertEqual(deeds[deed], "done", deed)
        # The watchdog does only what was announced before the sandbox was entered.
        for deed in ("have a file opened", "have a program run"):
            self.assertEqual(deeds[deed], "done", deed)
        for deed in ("have another file opened", "have another log opened", "have a mount made",
                     "have another program run"):
            self.assertEqual(deeds[deed], "refused", deed)

    def check_escapes(self, deeds):
        if "few mounts" not in self.in_force.partition("; not in force")[0]:
            self.skipTest(f"no mount namespace here: {self.in_force}")
        escapes = {deed: result for deed, result in deeds.items() if deed.startswith("escape: ")}
        self.assertGreaterEqual(len(escapes), 43)
        self.assertEqual({deed for deed, result in escapes.items() if result == "done"}, set())

    @unittest.skipUnless(os.geteuid() == 0, "only root has a mount namespace of its own")
    def test_a_taken_over_daemon_reaches_nothing_outside_source(self):
        deeds = self.probe("rw")
        self.check_escapes(deeds)
        for deed in ("chmod", "fchmod", "fchown", "futimens"):
            self.assertEqual(deeds[f"inside: {deed}"], "done", deed)

    @unittest.skipUnless(os.geteuid() == 0, "only root has a mount namespace of its own")
    def test_a_taken_over_daemon_with_ro_changes_no_attribute(self):
        deeds = self.probe("ro")
        self.check_escapes(deeds)
        for deed in ("chmod", "fchmod", "fchown", "fsetxattr", "futimens"):
            self.assertEqual(deeds[f"inside: {deed}"], "EROFS", deed)

    def test_forbidden_calls_fail(self):
        deeds = self.probe("rw")
        self.check_forbidden(deeds)
        for deed in ("create inside", "rename inside", "truncate inside", "link inside", "remove inside"):
            self.assertEqual(deeds[deed], "done", deed)
        if self.has("seccomp"):
            self.assertEqual(deeds["reach the network"], "ENOSYS")

    def test_forbidden_calls_of_a_mount_of_a_url_fail(self):
        deeds = self.probe("remote")
        self.check_forbidden(deeds)
        for deed in ("create inside", "remove inside", "reach the network"):
            self.assertEqual(deeds[deed], "done", deed)
        # A bare chroot has no names of hosts.
        self.assertEqual(deeds["read the names of hosts"], "done" if os.path.exists("/etc/hosts") else "ENOENT")
        if self.has("Landlock"):
            self.assertEqual(deeds["link inside"], "ENOSYS" if self.has("seccomp") else "EACCES")
        if self.has("seccomp"):
            for deed in ("change a mode outside", "truncate inside", "rename inside"):
                self.assertEqual(deeds[deed], "ENOSYS", deed)

    def test_a_read_only_mount_changes_nothing_in_source(self):
        deeds = self.probe("ro")
        self.check_forbidden(deeds)
        if self.has("Landlock"):
            self.assertIn(deeds["create inside"], ("EACCES", "EROFS"))
            self.assertIn(deeds["truncate inside"], ("EACCES", "EROFS"))

    def test_every_thread_of_a_daemon_is_in_the_sandbox(self):
        self.make_frame(os.urandom(3 << 20), self.source / "f.b2frame", "--chunk", "65536")
        with self.mount() as mount:
            self.assertEqual(len(mount.path("f").read_bytes()), 3 << 20)
            mount.path("new").write_bytes(b"written")
            self.assertIn("sandbox: no new privileges", mount.log())
            statuses = statuses_of_threads(mount.pid)
            self.assertGreater(len(statuses), 2)
            for status in statuses:
                self.assertEqual(int(status["CapPrm"], 16) & ~KEPT, 0)
                self.assertEqual(int(status["CapEff"], 16) & ~KEPT, 0)
                self.assertEqual(status["NoNewPrivs"], "1")

    @unittest.skipUnless(os.geteuid() == 0, "only root has capabilities")
    def test_a_read_only_daemon_can_only_read(self):
        (self.source / "file").write_bytes(b"content")
        with self.mount("--ro") as mount:
            self.assertEqual(mount.path("file").read_bytes(), b"content")
            for status in statuses_of_threads(mount.pid):
                self.assertEqual(int(status["CapPrm"], 16) & ~(1 << CAP_DAC_READ_SEARCH | 1 << CAP_FOWNER), 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root may create devices")
    def test_devices_need_an_option(self):
        for options, wanted in (((), errno.EPERM), (("--devices",), 0)):
            with self.mount(*options) as mount:
                got = 0
                try:
                    os.mknod(mount.path("device"), stat.S_IFCHR | 0o600, os.makedev(1, 3))
                except OSError as error:
                    got = error.errno
                self.assertEqual(got, wanted)
                self.assertEqual((self.source / "device").exists(), not wanted)
                # A whiteout of overlayfs.
                whiteout = f"whiteout-{len(options)}"
                os.mknod(mount.path(whiteout), stat.S_IFCHR | 0o600, os.makedev(0, 0))
                self.assertTrue(stat.S_ISCHR((self.source / whiteout).stat().st_mode))

    def test_the_sandbox_can_be_left_out(self):
        with self.mount("--no-sandbox") as mount:
            self.assertEqual(status_of(mount.pid)["NoNewPrivs"], "0")
            self.assertIn("sandbox: none", mount.log())

    def test_a_confined_daemon_unmounts_when_it_is_told_to_end(self):
        (self.source / "file").write_bytes(b"content")
        with self.mount() as mount, open(mount.path("file"), "rb"):
            mount.process.send_signal(signal.SIGTERM)
            self.assertEqual(mount.process.wait(daemon.DEADLINE_S), 0)
            self.assertEqual(daemon.mounts_at(self.mountpoint), [])

    def test_the_kernel_reads_ahead_by_way_of_the_watchdog(self):
        if os.geteuid() != 0:
            self.skipTest("only root may set it")
        with self.mount() as mount:
            control = mount.read_ahead_control()
            if not os.access(control, os.W_OK):
                self.skipTest("/sys is read-only here")
            wait_for(lambda: control.read_text().strip() == "512", "read-ahead")


class Rights(MountCase):
    """The mount shows no more rights than SOURCE grants."""

    def test_a_sparse_frame_shows_the_rights_of_its_directory_too(self):
        frame = self.make_frame(os.urandom(100_000), self.source / "s.b2frame", "--sparse",
                                "--chunk", "10000")
        with self.mount("--attr-timeout", "0") as mount:
            shown = mount.path("s")
            os.chmod(frame / "chunks.b2frame", 0o644)
            for folder, wanted in ((0o755, 0o644), (0o700, 0o600), (0o710, 0o640), (0o750, 0o640), (0o740, 0o600)):
                os.chmod(frame, folder)
                self.assertEqual(os.stat(shown).st_mode & 0o777, wanted, oct(folder))

    def test_a_chunk_file_that_grants_less_is_not_read(self):
        data = os.urandom(100_000)
        frame = self.make_frame(data, self.source / "s.b2frame", "--sparse", "--chunk", "10000")
        os.chmod(sorted(frame.glob("*.chunk"))[9], 0o600)
        with self.mount() as mount, open(mount.path("s"), "rb", buffering=0) as file:
            self.assertEqual(os.pread(file.fileno(), 10, 0), data[:10])
            with self.assertRaises(PermissionError):
                os.pread(file.fileno(), 10, 98_304)

    def stranger_frame(self, owner, mode, data, name="s.b2frame"):
        """A sparse frame of one chunk, whose directory all users may write to."""
        frame = self.make_frame(data, self.source / name, "--sparse", "--chunk", str(len(data)))
        for path in frame.iterdir():
            os.chown(path, owner, owner)
            os.chmod(path, mode)
        os.chmod(frame, 0o777)
        return frame

    @contextlib.contextmanager
    def acting_as(self, user):
        """This thread has the rights of that user alone."""
        os.setegid(user)
        os.seteuid(user)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    @unittest.skipUnless(os.geteuid() == 0, "needs several users")
    def test_rights_are_those_at_the_opening(self):
        """A user moves files of another user into an open frame and changes its index."""
        private, public = os.urandom(10_000), os.urandom(10_000)
        os.chmod(self.folder, 0o755)
        frame = self.stranger_frame(2001, 0o644, public)
        others = self.stranger_frame(2002, 0o600, private, "others.b2frame")
        chunk, index = frame / "00000000.chunk", frame / "chunks.b2frame"
        with self.mount("--allow-other") as mount:
            with self.acting_as(2001), open(mount.path("s"), "rb", buffering=0) as file:
                os.rename(others / "00000000.chunk", chunk)
                os.chmod(index, 0)
                with self.assertRaises(PermissionError):
                    os.pread(file.fileno(), 100, 0)
                os.chmod(index, 0o644)
                os.rename(others / "chunks.b2frame", index)
                with self.assertRaises(PermissionError):
                    os.pread(file.fileno(), 100, 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs several users")
    def test_an_open_frame_stays_readable_after_its_owner_takes_rights_away(self):
        data = os.urandom(20_000)
        os.chmod(self.folder, 0o755)
        frame = self.make_frame(data, self.source / "s.b2frame", "--sparse", "--chunk", "10000")
        with self.mount("--allow-other") as mount:
            with self.acting_as(2001):
                reader = open(mount.path("s"), "rb", buffering=0)
            with reader, open(mount.path("s"), "r+b", buffering=0) as writer:
                os.pwrite(writer.fileno(), b"new", 0)
                os.fsync(writer.fileno())
                os.fchmod(writer.fileno(), 0o600)
                self.assertEqual(os.pread(reader.fileno(), 10, 0), b"new" + data[3:10])
                os.pwrite(writer.fileno(), b"new", 15_000)
                os.fsync(writer.fileno())
                self.assertEqual(os.pread(writer.fileno(), 10, 14_995), data[14_995:15_000] + b"new" + data[15_003:15_005])
            self.assertEqual((frame / "chunks.b2frame").stat().st_mode & 0o777, 0o600)

    def test_a_mask_shows_no_rights_that_no_entry_has(self):
        if os.geteuid() != 0:
            self.skipTest("--allow-other needs root, or leave in /etc/fuse.conf")
        path = self.source / "file"
        path.write_bytes(b"content")
        entries = ((1, 6, -1), (2, 4, 7), (4, 0, -1), (16, 4, -1), (32, 0, -1))
        acl = b"\2\0\0\0" + b"".join(tag.to_bytes(2, "little") + rights.to_bytes(2, "little") +
                                     (who & 0xffffffff).to_bytes(4, "little")
                                     for tag, rights, who in entries)
        try:
            os.setxattr(path, "system.posix_acl_access", acl)
        except OSError as error:
            self.skipTest(f"no access control lists here: {error.strerror}")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        with self.mount("--allow-other") as mount:
            shown = mount.path("file")
            self.assertEqual(os.stat(shown).st_mode & 0o777, 0o600)
            with open(shown, "rb") as file:
                self.assertEqual(os.fstat(file.fileno()).st_mode & 0o777, 0o600)
            with self.assertRaises(OSError):
                os.setxattr(shown, "system.posix_acl_access", acl)
            self.assertEqual(subprocess.run(["cat", shown], capture_output=True, check=False,
                                            preexec_fn=lambda: (os.setgid(12345), os.setuid(7))
                                            ).returncode, 1)


if __name__ == "__main__":
    unittest.main()
