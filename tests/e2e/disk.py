"""Filesystems in files, for tests that run as root."""

import fcntl
import os
import shutil
import struct
import subprocess

import daemon
from daemon import wait_for

FILESYSTEMS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"],
               "btrfs": ["mkfs.btrfs", "-q", "-f"]}
DISK_BYTES = 512 << 20  # the least that mkfs.xfs accepts is 300 MiB; the file is sparse


class Disk:
    """A filesystem in a file, mounted at `path`, as a context manager."""

    def __init__(self, test, kind, *options):
        self._test, self.kind, self._options = test, kind, options
        self._image = test.folder / f"{kind}.img"
        self.path = test.folder / kind

    def __enter__(self):
        make = FILESYSTEMS[self.kind]
        if not shutil.which(make[0]):
            self._test.skipTest(f"{make[0]} is not installed")
        with open(self._image, "wb") as image:
            image.truncate(DISK_BYTES)
        self._test.tool(*make, *self._options, self._image)
        self.path.mkdir()
        self._mount()
        return self

    def __exit__(self, *error):
        self._unmount()
        self._image.unlink()
        self.path.rmdir()

    def restart(self):
        """Does to the kernel's memory of the filesystem what a restart of the machine does."""
        self._unmount()
        self._mount()

    def _mount(self):
        done = self._test.tool("mount", "-o", "loop", self._image, self.path, check=False)
        if done.returncode != 0:
            self._test.skipTest(f"no {self.kind} here: {done.stderr.decode(errors='replace')}")

    def _unmount(self):
        # The watchdog of a killed daemon may still be there for a moment.
        wait_for(lambda: self._test.tool("umount", self.path, check=False).returncode == 0,
                 f"unmounting {self.path}")


class FailingDisk:
    """A filesystem on a disk that fails on command, mounted at `path`, as a context manager."""

    PATTERN = b"POISON!POISON!PO"
    _PROGRAM = daemon.FRAMEFS.parent / "tests/framefs_failing_disk"

    def __init__(self, test, kind):
        self._test, self._kind = test, kind
        self._server = test.folder / f"failing-{kind}"
        self.path = test.folder / f"{kind}-on-a-failing-disk"
        self._process = None
        self._loop = None

    def __enter__(self):
        make = FILESYSTEMS[self._kind]
        if not shutil.which(make[0]):
            self._test.skipTest(f"{make[0]} is not installed")
        self._server.mkdir()
        self.path.mkdir()
        self._process = subprocess.Popen([self._PROGRAM, str(DISK_BYTES >> 20), self._server],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            wait_for((self._server / "disk").exists, "the disk")
            found = self._test.tool("losetup", "--show", "-f", self._server / "disk", check=False)
            if found.returncode != 0:
                self._test.skipTest(f"no loop device: {found.stderr.decode(errors='replace')}")
            self._loop = found.stdout.decode().strip()
            self._test.tool(*make, self._loop)
            self._mount()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *error):
        self.obey("none")
        self._unmount()
        self._end()

    def obey(self, command):
        """A command of tests/crash/failing_disk.cc."""
        (self._server / "control").write_bytes(command.encode())

    def failed_writes(self):
        return int((self._server / "control").read_bytes())

    def restart(self):
        """Ends all failures, and does what a restart of the machine does."""
        self.obey("none")
        self._unmount()
        self._mount()

    def _mount(self):
        done = self._test.tool("mount", self._loop, self.path, check=False)
        if done.returncode != 0:
            self._test.skipTest(f"no {self._kind} here: {done.stderr.decode(errors='replace')}")

    def _unmount(self):
        wait_for(lambda: self._test.tool("umount", self.path, check=False).returncode == 0,
                 f"unmounting {self.path}")

    def _end(self):
        if self._loop:
            self._test.tool("losetup", "-d", self._loop)
        wait_for(lambda: self._test.tool("umount", self._server, check=False).returncode == 0,
                 f"unmounting {self._server}")
        self._process.wait()
        self._server.rmdir()
        self.path.rmdir()


class EncryptionKey:
    """A key of fscrypt in the kernel's memory, for directories of one filesystem.

    The structures are those of linux/fscrypt.h.
    """

    _SET_POLICY, _ADD_KEY, _REMOVE_KEY = 0x800C6613, 0xC0506617, 0xC0406618
    _KIND = 2  # by identifier
    _BYTES = 64
    _AES_XTS, _AES_CTS = 1, 4

    def __init__(self, root):
        self._root = root
        key = bytearray(struct.pack("=II32xII32x", self._KIND, 0, self._BYTES, 0) + os.urandom(self._BYTES))
        self._call(root, self._ADD_KEY, key)
        self._identifier = bytes(key[8:24])

    def encrypt(self, directory):
        """The directory must be empty."""
        policy = struct.pack("=BBBB4x16s", 2, self._AES_XTS, self._AES_CTS, 0, self._identifier)
        self._call(directory, self._SET_POLICY, bytearray(policy))

    def remove(self):
        self._call(self._root, self._REMOVE_KEY,
                   bytearray(struct.pack("=II16s16x24x", self._KIND, 0, self._identifier)))

    @staticmethod
    def _call(path, request, argument):
        fd = os.open(path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, request, argument)
        finally:
            os.close(fd)
