"""Filesystems in files, for tests that run as root."""

import fcntl
import os
import shutil
import struct

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
