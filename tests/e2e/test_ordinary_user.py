"""The daemon of an ordinary user, with --allow-other, for a tree of several users."""

import configparser
import contextlib
import os
import shutil
import stat
import subprocess
import unittest

import daemon
from case import MountCase
from daemon import wait_for

SERVER, READER = 65534, 1234  # the users of the daemon and of another program
CONTENT = b"some content\n" * 1000


def as_user(user, *command, capabilities=()):
    command = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", *command]
    if capabilities:
        words = ",".join(f"+{name}" for name in capabilities)
        command[1:1] = ["--inh-caps", words, "--ambient-caps", words]
    return command


@unittest.skipIf(os.geteuid() != 0, "needs several users")
class OrdinaryUser(MountCase):
    """The daemon is in a namespace whose fuse.conf allows --allow-other; `see` runs tools in it."""

    def setUp(self):
        os.chmod(self.folder, 0o755)
        os.chown(self.mountpoint, SERVER, SERVER)
        self.make_frame(CONTENT, self.source / "public.b2frame")
        self.make_frame(CONTENT, self.source / "private.b2frame")
        (self.source / "private").write_bytes(CONTENT)
        for name in ("private.b2frame", "private"):
            os.chown(self.source / name, READER, READER)
            os.chmod(self.source / name, 0o600)
        self.log = self.folder / "log" / "daemon.log"
        self.log.parent.mkdir()
        os.chown(self.log.parent, SERVER, SERVER)

    @contextlib.contextmanager
    def served(self, *options, capabilities=()):
        program, conf, device = (self.folder / name for name in ("framefs", "fuse.conf", "fuse"))
        shutil.copy(daemon.FRAMEFS, program)  # the user may not reach the folder of the build
        conf.write_text("user_allow_other\n", encoding="ascii")
        # As every distribution has it.
        os.mknod(device, stat.S_IFCHR | 0o666, os.stat("/dev/fuse").st_rdev)
        os.chmod(device, 0o666)
        command = as_user(SERVER, program, self.source, self.mountpoint, "-f", "--allow-other", "--log-file",
                          self.log, *options, capabilities=capabilities)
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount --bind "$1" /etc/fuse.conf && mount --bind "$2" /dev/fuse && shift 2 && exec "$@"',
             "sh", conf, device, *command], stdin=subprocess.DEVNULL)
        try:
            wait_for(lambda: process.poll() is not None or self.log.exists() and "is mounted on" in self.log.read_text(),
                     "the daemon")
            self.assertIsNone(process.poll())
            yield lambda user, *command, check=True: self.tool(
                "nsenter", "--target", str(process.pid), "--mount", *as_user(user, *command), check=check, cwd="/")
            process.terminate()
            self.assertEqual(process.wait(daemon.DEADLINE_S), 0, self.log.read_text())
            self.assertFalse(daemon.SUSPICIOUS.search(self.log.read_text()), self.log.read_text())
        finally:
            process.kill()
            process.wait()

    def expect_denied(self, done):
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"Permission denied", done.stderr)

    def test_other_users_read_what_the_daemon_can_read(self):
        with self.served() as see:
            for user in (READER, SERVER, 0):
                self.assertEqual(see(user, "cat", self.mountpoint / "public").stdout, CONTENT)
                names = see(user, "ls", self.mountpoint).stdout.split()
                self.assertEqual(names, sorted(os.fsencode(name) for name in ("private", "private.b2frame", "public")))
                done = see(user, "getfattr", "-n", "user.framefs.info", self.mountpoint / "public")
                self.assertIn(b"contiguous", done.stdout)

    def test_files_that_the_daemon_cannot_read(self):
        """Their owner and root may read them, but the daemon may not."""
        with self.served() as see:
            for name in ("private", "private.b2frame"):
                for user in (READER, 0):
                    self.expect_denied(see(user, "cat", self.mountpoint / name, check=False))
                self.assertEqual(see(READER, "stat", "-c", "%u %a", self.mountpoint / name).stdout, b"1234 600\n")

    def test_other_users_write_where_the_daemon_may_write(self):
        for name, user, mode in (("drop", SERVER, 0o777), ("own", READER, 0o777), ("closed", READER, 0o755)):
            folder = self.source / name
            folder.mkdir()
            os.chown(folder, user, user)
            os.chmod(folder, mode)
        self.make_frame(CONTENT, self.source / "own" / "shared.b2frame")
        os.chmod(self.source / "own" / "shared.b2frame", 0o666)
        self.make_frame(CONTENT, self.source / "own" / "mine.b2frame")
        os.chown(self.source / "own" / "mine.b2frame", READER, READER)
        os.chmod(self.source / "own" / "mine.b2frame", 0o644)

        def write(see, name, check=True):
            return see(READER, "sh", "-c", f'umask 022; printf new > "{self.mountpoint / name}"', check=check)

        with self.served() as see:
            for name in ("drop/x", "own/x", "own/shared"):
                write(see, name)
                self.assertEqual(see(READER, "cat", self.mountpoint / name).stdout, b"new")
            # The new file is the daemon's, for which the mode counts.
            self.assertEqual(see(0, "stat", "-c", "%u %a", self.mountpoint / "drop/x").stdout, b"65534 644\n")
            for name in ("drop/x", "own/mine", "closed/x"):
                self.expect_denied(write(see, name, check=False))
            refused = see(READER, "chown", str(READER), self.mountpoint / "drop/x", check=False)
            self.assertIn(b"Operation not permitted", refused.stderr)
        with self.mount() as mount:
            self.assertEqual(mount.path("drop/x").read_bytes(), b"new")

    def test_with_capabilities_all_users_write_as_with_root(self):
        """Those that the comments of the unit name."""
        folder = self.source / "closed"
        folder.mkdir()
        os.chown(folder, READER, READER)
        os.chmod(folder, 0o700)
        lines = (daemon.ROOT / "packaging/framefs@.service").read_text(encoding="ascii").splitlines()
        (words,) = [line.partition("=")[2].split() for line in lines if "AmbientCapabilities=" in line]
        capabilities = [word.removeprefix("CAP_").lower() for word in words]
        with self.served(capabilities=capabilities) as see:
            for _ in range(2):
                see(READER, "sh", "-c", f'umask 022; printf new > "{self.mountpoint / "closed/x"}"')
                shown = see(READER, "stat", "-c", "%u %g %a", self.mountpoint / "closed/x").stdout
                self.assertEqual(shown, b"1234 1234 644\n")
            self.assertEqual(see(READER, "cat", self.mountpoint / "private.b2frame").stdout, CONTENT)
            self.expect_denied(see(SERVER, "cat", self.mountpoint / "private", check=False))
        self.assertEqual((folder / "x.b2frame").stat().st_uid, READER)


class Unit(unittest.TestCase):
    def test_the_unit_has_a_user_that_the_package_makes(self):
        unit = configparser.ConfigParser(interpolation=None)
        unit.optionxform = str
        unit.read(daemon.ROOT / "packaging/framefs@.service")
        user = unit["Service"]["User"]
        self.assertEqual(unit["Service"]["Group"], user)
        # fusermount3 needs its setuid bit.
        self.assertNotIn("NoNewPrivileges", unit["Service"])
        lines = (daemon.ROOT / "packaging/framefs.sysusers").read_text(encoding="ascii").splitlines()
        self.assertEqual([line.split()[:2] for line in lines if not line.startswith("#")], [["u", user]])


if __name__ == "__main__":
    unittest.main()
