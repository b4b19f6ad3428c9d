"""File handles: name_to_handle_at(2) and open_by_handle_at(2)."""

import contextlib
import ctypes
import errno
import os

AT_FDCWD = -100
LIBC = ctypes.CDLL(None, use_errno=True)


class FileHandle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("content", ctypes.c_ubyte * 128)]


def handle_of(path):
    handle, mount_id = FileHandle(bytes=128), ctypes.c_int()
    if LIBC.name_to_handle_at(AT_FDCWD, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount_id), 0):
        raise OSError(ctypes.get_errno(), "name_to_handle_at", os.fspath(path))
    return handle


@contextlib.contextmanager
def opened(mountpoint, handle, flags=os.O_RDONLY):
    """A file that is opened by its handle."""
    top = os.open(mountpoint, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fd = LIBC.open_by_handle_at(top, ctypes.byref(handle), flags)
        error = ctypes.get_errno()
    finally:
        os.close(top)
    if fd < 0:
        raise OSError(error, "open_by_handle_at")
    try:
        yield fd
    finally:
        os.close(fd)


def read_all(fd):
    return b"".join(iter(lambda: os.read(fd, 1 << 20), b""))


def assert_stale(test, mountpoint, handle):
    """Checks that a handle leads to no file."""
    with test.assertRaises(OSError) as caught:
        with opened(mountpoint, handle):
            pass
    test.assertEqual(caught.exception.errno, errno.ESTALE)


def assert_is_directory(test, fd, path):
    """Checks that a directory, opened by its handle, is that of the path, and knows the way up."""
    test.assertEqual(sorted(os.listdir(fd)), sorted(os.listdir(path)))
    test.assertEqual(os.readlink(f"/proc/self/fd/{fd}"), str(path))
    up = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
    test.assertEqual(os.fstat(up).st_ino, os.stat(path.parent).st_ino)
    os.close(up)
