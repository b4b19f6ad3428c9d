"""The kernel never gets an old size, and appended bytes go to the true end of a file."""

import ctypes
import mmap
import os
import struct
import unittest

import daemon
import data
from case import MountCase

SYS_GETDENTS64 = 217 if os.uname().machine == "x86_64" else 61


def list_some(folder, room):
    """The names that one getdents64(2) with so much room returns: none at the end."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(room)
    size = libc.syscall(SYS_GETDENTS64, folder, buffer, room)
    if size < 0:
        raise OSError(ctypes.get_errno(), "getdents64")
    names, at = [], 0
    while at < size:
        length, = struct.unpack_from("<H", buffer.raw, at + 16)
        names.append(buffer.raw[at + 19:at + length].split(b"\0")[0].decode())
        at += length
    return names


def frame_nbytes(path):
    """The number of bytes in a frame, by its header in SOURCE."""
    return struct.unpack_from(">q", path.read_bytes()[:87], 30)[0]


def read_by_mmap(path, size):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as view:
        return bytes(view)


class FreshSizes(MountCase):
    COUNT = 300
    # So long that an old size, once the kernel had it, would stay for the whole test.
    OPTIONS = ("--attr-timeout", "300", "--commit-interval", "0.2")

    def assert_content(self, path, wanted):
        self.assertEqual(path.stat().st_size, len(wanted), path)
        self.assert_same_bytes(path.read_bytes(), wanted, path)
        with open(path, "rb", buffering=0) as file:
            self.assert_same_bytes(os.pread(file.fileno(), len(wanted) + 1, 0), wanted, path)
        self.assert_same_bytes(read_by_mmap(path, len(wanted)), wanted, path)

    def check_listing(self, *options):
        first, more, last = data.text(1000)[:1000], data.noise(500), data.noise(100)
        with self.mount(*self.OPTIONS, *options) as mount:
            for number in range(self.COUNT):
                mount.path(f"{number}").write_bytes(first)
        with self.mount(*self.OPTIONS, *options) as mount:
            folder = os.open(mount.mountpoint, os.O_RDONLY | os.O_DIRECTORY)
            listed = set(list_some(folder, 1000)) - {".", ".."}
            self.assertGreater(len(listed), 0)
            others = {f"{number}" for number in range(self.COUNT)} - listed
            self.assertGreater(len(others), self.COUNT // 2)
            for name in others:
                with open(mount.path(name), "ab", buffering=0) as file:
                    file.write(more)
            # Once all is committed, no write session corrects the sizes of an old listing.
            for name in others:
                frame = self.source / f"{name}.b2frame"
                daemon.wait_for(lambda frame=frame: frame_nbytes(frame) == 1500, f"{frame} to grow")
            while names := list_some(folder, 1000):
                listed.update(names)
            os.close(folder)
            self.assertEqual(listed - {".", ".."}, {f"{number}" for number in range(self.COUNT)})
            for name in others:
                self.assert_content(mount.path(name), first + more)
                with open(mount.path(name), "ab", buffering=0) as file:
                    file.write(last)
                self.assert_content(mount.path(name), first + more + last)

    def test_listing_beside_writers(self):
        self.check_listing()

    def test_listing_beside_writers_with_writeback(self):
        self.check_listing("--writeback")

    def check_append(self, name, grow):
        """Appends where the kernel believes that the file ends elsewhere."""
        first, last = data.noise(5000), data.text(100)
        (self.source / "text").write_bytes(first)
        self.make_frame(first, self.source / "frame.b2frame")
        with self.mount("--attr-timeout", "300") as mount:
            path = mount.path(name)
            self.assert_content(path, first)
            with open(path, "rb"):  # so that the kernel remembers the size
                grown = grow(first)
                self.assertEqual(path.stat().st_size, len(first))
                with open(path, "ab", buffering=0) as file:
                    file.write(last[:60])
                    file.write(last[60:])
            wanted = grown + last
            # The daemon notifies the kernel right after the reply.
            daemon.wait_for(lambda: path.read_bytes() == wanted, "the kernel to drop its pages")
            self.assert_content(path, wanted)

    def test_append_to_a_plain_file_that_grew_in_source(self):
        def grow(first):
            with open(self.source / "text", "ab") as file:
                file.write(first[::-1])
            return first + first[::-1]
        self.check_append("text", grow)

    def test_append_to_a_frame_that_another_mount_has_grown(self):
        def grow(first):
            other = self.folder / "other"
            other.mkdir()
            with self.mount(mountpoint=other):
                with open(other / "frame", "ab") as file:
                    file.write(first[::-1])
            return first + first[::-1]
        self.check_append("frame", grow)

    def test_appending_and_mapping_through_one_descriptor(self):
        first = data.noise(8192)
        self.make_frame(first, self.source / "frame.b2frame")
        with self.mount() as mount:
            with open(mount.path("frame"), "r+b", buffering=0) as file:
                append = os.open(mount.path("frame"), os.O_RDWR | os.O_APPEND)
                with mmap.mmap(append, 8192) as view:
                    view[10:15] = b"paged"  # a page is written back to its place, despite O_APPEND
                    os.write(append, b"the end")
                    view.flush()
                os.close(append)
                wanted = bytearray(first + b"the end")
                wanted[10:15] = b"paged"
                self.assert_same_bytes(file.read(), bytes(wanted), "frame")
            self.assert_content(mount.path("frame"), bytes(wanted))


if __name__ == "__main__":
    unittest.main()
