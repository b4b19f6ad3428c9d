"""inotify(7) in a mount: watchers hear of changes made through the mount, as on any filesystem."""

import ctypes
import os
import struct
import unittest

from case import MountCase

LIBC = ctypes.CDLL(None, use_errno=True)
MODIFY, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x2, 0x8, 0x40, 0x80, 0x100, 0x200
EVENTS = MODIFY | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE


class Watch:
    """The events of a directory, for a `with` statement."""

    def __init__(self, folder):
        self._folder = folder

    def __enter__(self):
        self._fd = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if LIBC.inotify_add_watch(self._fd, os.fsencode(self._folder), EVENTS) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")
        return self

    def __exit__(self, *_):
        os.close(self._fd)

    def take(self):
        """The (event, name) pairs since the last call.  The kernel queues an event during the call
        that causes it."""
        try:
            raw = os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return set()
        events, at = set(), 0
        while at < len(raw):
            _, mask, _, length = struct.unpack_from("iIII", raw, at)
            events.add((mask & EVENTS, raw[at + 16:at + 16 + length].rstrip(b"\0").decode()))
            at += 16 + length
        return events


class Watchers(MountCase):
    def test_changes_in_the_mount(self):
        self.make_frame(b"content", self.source / "x.b2frame")
        with self.mount() as mount, Watch(mount.path()) as watch:
            mount.path("new").write_bytes(b"one")
            self.assertEqual(watch.take(), {(CREATE, "new"), (MODIFY, "new"), (CLOSE_WRITE, "new")})
            with open(mount.path("x"), "ab") as file:
                file.write(b"more")
            self.assertEqual(watch.take(), {(MODIFY, "x"), (CLOSE_WRITE, "x")})
            os.rename(mount.path("new"), mount.path("newer"))
            os.unlink(mount.path("x"))
            self.assertEqual(watch.take(), {(MOVED_FROM, "new"), (MOVED_TO, "newer"), (DELETE, "x")})

    def test_changes_in_source(self):
        """The kernel makes events of calls that it receives for the mount, and of no others."""
        with self.mount("--attr-timeout", "0") as mount, Watch(mount.path()) as watch:
            self.make_frame(b"content", self.source / "x.b2frame")
            self.assertEqual(mount.path("x").read_bytes(), b"content")
            os.unlink(self.source / "x.b2frame")
            self.assertFalse(mount.path("x").exists())
            self.assertEqual(watch.take(), set())


if __name__ == "__main__":
    unittest.main()
