"""The base class of all end-to-end tests: a folder per test, tools, and traces after a failure."""

import errno
import glob
import os
import pathlib
import shlex
import shutil
import stat
import subprocess
import tempfile
import unittest

import daemon

MAKE_FRAME = pathlib.Path(os.environ.get("FRAMEFS_MAKE_FRAME",
                                         daemon.FRAMEFS.parent / "tests/framefs_make_frame"))
LOG_LINES = 20  # printed of each log after a failure
REQUIRE_FUSE = os.environ.get("FRAMEFS_REQUIRE_FUSE") == "1"


def why_no_mounts():
    """The reason why this machine cannot mount, or None."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse: {error.strerror}"
    return None if shutil.which("fusermount3") else "fusermount3 is not installed"


def read_at(path, offset, size, flags=0):
    """Bytes, or the errno, read through a new descriptor."""
    fd = os.open(path, os.O_RDONLY | flags)
    try:
        return os.pread(fd, size, offset)
    except OSError as error:
        return error.errno
    finally:
        os.close(fd)


class MountCase(unittest.TestCase):
    """Each test has a folder `self.folder` with `source` and `mnt` in it.

    After a failure, the folder is kept, and repro.sh in it repeats the commands of the test.
    """

    @classmethod
    def setUpClass(cls):
        reason = why_no_mounts()
        if reason and not REQUIRE_FUSE:
            raise unittest.SkipTest(f"no mounts here: {reason}")
        if reason:
            raise AssertionError(f"FRAMEFS_REQUIRE_FUSE=1, but {reason}")
        if not daemon.FRAMEFS.is_file():
            raise AssertionError(f"no program at {daemon.FRAMEFS}; FRAMEFS names another")

    def run(self, result=None):
        problems = len(result.errors) + len(result.failures)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="framefs-e2e-"))
        self.source = self.folder / "source"
        self.mountpoint = self.folder / "mnt"
        self.source.mkdir()
        self.mountpoint.mkdir()
        self._commands = []
        self._inputs = 0
        super().run(result)
        if len(result.errors) + len(result.failures) > problems:
            self._leave_traces()
        else:
            remove_tree(self.folder)
        return result

    EVERY_MOUNT = ()  # options of all mounts of the class

    def mount(self, *options, source=None, mountpoint=None, program=daemon.FRAMEFS):
        """A Mount of the test's source folder, or of another one, for a `with` statement."""
        mount = daemon.Mount(source or self.source, mountpoint or self.mountpoint, *self.EVERY_MOUNT, *options,
                             program=program)
        self._commands.append(shlex.join(mount.command) + " &")
        return mount

    def tool(self, *command, check=True, **options):
        """Runs a tool; its output is bytes."""
        command = [os.fspath(part) for part in command]
        self._commands.append(shlex.join(command))
        options.setdefault("cwd", self.folder)
        result = subprocess.run(command, capture_output=True, timeout=4 * daemon.DEADLINE_S,
                                env={**os.environ, "LC_ALL": "C"}, **options)
        if check and result.returncode != 0:
            self.fail(f"{shlex.join(command)}: exit code {result.returncode}\n"
                      f"{result.stderr.decode(errors='replace')}")
        return result

    def make_frame(self, plain, frame, *options):
        """Packs a plain file, or bytes, into a frame of exactly that name."""
        if isinstance(plain, bytes):
            self._inputs += 1
            target = self.folder / f"plain-input-{self._inputs}"
            target.write_bytes(plain)
            plain = target
        self.tool(MAKE_FRAME, *options, plain, frame)
        return frame

    def make_frames(self, inputs, *options):
        """Packs plain files, or all files in a folder, into frames in the source folder."""
        self.tool(MAKE_FRAME, *options, "--into", self.source, *inputs)

    def mount_by_hand(self, *options):
        """A mount without a daemon.  Returns the descriptor of /dev/fuse that belongs to it."""
        if os.geteuid() != 0:
            self.skipTest("only root can mount by hand")
        fd = os.open("/dev/fuse", os.O_RDWR)
        words = [f"fd={fd}", "rootmode=40000", "user_id=0", "group_id=0", *options]
        self.tool("mount", "-i", "-t", "fuse", "-o", ",".join(words), "framefs", self.mountpoint, pass_fds=(fd,))
        return fd

    def leave_stale_mount(self):
        """Leaves a mount without a daemon, as after the death of a daemon whose mount another
        namespace holds.

        The function mounts /dev/fuse by hand and closes the descriptor.
        """
        os.close(self.mount_by_hand())
        with self.assertRaises(OSError) as caught:
            os.stat(self.mountpoint)
        self.assertEqual(caught.exception.errno, errno.ENOTCONN)

    def assert_same_output(self, command, plain_cwd, mount_cwd):
        """Checks that a tool prints the same for the mount as for a plain copy."""
        plain = self.tool(*command, cwd=plain_cwd, check=False)
        mounted = self.tool(*command, cwd=mount_cwd, check=False)
        self.assert_same_bytes(mounted.stdout, plain.stdout, f"{command}: {mounted.stderr}")
        self.assertEqual(mounted.returncode, plain.returncode, f"{command}: {mounted.stderr}")
        return mounted

    def assert_same_bytes(self, got, wanted, what):
        """Like assertEqual, but does not spend minutes on the differences of long outputs."""
        if got == wanted:
            return
        at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        self.fail(f"{what}\n{len(got)} bytes, not {len(wanted)}; they differ from byte {at} on:\n"
                  f"{got[max(at - 40, 0):at + 80]}\n{wanted[max(at - 40, 0):at + 80]}")

    def _leave_traces(self):
        script = self.folder / "repro.sh"
        lines = ["#!/bin/sh", "# Repeats the commands of", f"#   {self.id()}",
                 "# in the order in which they ran; what Python did itself is not among them.",
                 f"cd {shlex.quote(str(self.folder))}", *self._commands,
                 f"fusermount3 -u {shlex.quote(str(self.mountpoint))}"]
        script.write_text("\n".join(lines) + "\n", errors="surrogateescape")
        script.chmod(0o755)
        print(f"\n{self.id()} failed; its files are in {self.folder}, see repro.sh there", flush=True)
        # Another machine may have run the test: its folder is gone by the time of reading.
        # A mount whose daemon is gone may be left in it, which glob() passes over.
        for log in sorted(glob.glob("**/*.log", root_dir=self.folder, recursive=True)):
            lines = (self.folder / log).read_text(errors="replace").splitlines()[-LOG_LINES:]
            print(f"the end of {log}:", *lines, sep="\n  ", flush=True)


def remove_tree(folder):
    """Removes a folder, even if a test removed permissions; never enters a mount."""
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(parent, name)
            if not os.path.islink(path) and stat.S_IMODE(os.lstat(path).st_mode) & 0o700 != 0o700:
                os.chmod(path, 0o700)
    shutil.rmtree(folder)
