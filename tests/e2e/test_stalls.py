"""No request waits for the work on another file."""

import fcntl
import os
import struct
import subprocess
import sys
import threading
import time
import unittest

import daemon
import data
from case import MountCase

F_OFD_GETLK, F_OFD_SETLK = 36, 37
OWNER_AT = 1 << 62  # the owner of a frame locks this byte, and the next owner the byte behind it
WRITERS = 12  # more than the daemon has threads for operations


def one_byte(kind, at):
    return struct.pack("hh4xqqi4x", kind, os.SEEK_SET, at, 1, 0)


def is_locked(fd, at):
    """Whether another open file description has the byte locked."""
    found = fcntl.fcntl(fd, F_OFD_GETLK, one_byte(fcntl.F_WRLCK, at))
    return struct.unpack("hh4xqqi4x", found)[0] != fcntl.F_UNLCK


class Stalls(MountCase):
    def wait_for(self, is_done, what):
        end = time.monotonic() + daemon.DEADLINE_S
        while not is_done():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.001)

    def test_writers_that_wait_for_a_lock(self):
        """All writers wait while the test owns their frames. Requests for other files do not."""
        content = data.noise(100_000)
        names = [f"waiting-{i}" for i in range(WRITERS)]
        for name in (*names, "other", "small"):
            self.make_frame(content, self.source / f"{name}.b2frame")
        ended = []

        def write(name):
            with open(self.mountpoint / name, "r+b", buffering=0) as file:
                os.pwrite(file.fileno(), b"changed", 50)
            ended.append(name)

        with self.mount():
            locks = [os.open(self.source / f"{name}.b2frame", os.O_RDWR) for name in names]
            for fd in locks:
                fcntl.fcntl(fd, F_OFD_SETLK, one_byte(fcntl.F_WRLCK, OWNER_AT))
            writers = [threading.Thread(target=write, args=(name,)) for name in names]
            for writer in writers:
                writer.start()
            for name, fd in zip(names, locks):
                self.wait_for(lambda: is_locked(fd, OWNER_AT + 1), f"{name} has no waiting writer")

            self.assertEqual(os.stat(self.mountpoint / "other").st_size, len(content))
            fd = os.open(self.mountpoint / "other", os.O_RDONLY | os.O_DIRECT)
            self.assertEqual(os.preadv(fd, [page := bytearray(4096)], 8192), 4096)
            self.assertEqual(bytes(page), content[8192:8192 + 4096])
            os.close(fd)
            with open(self.mountpoint / "small", "r+b", buffering=0) as file:
                os.pwrite(file.fileno(), b"small", 10)
                os.fsync(file.fileno())
            os.rename(self.mountpoint / "small", self.mountpoint / "renamed")
            self.assertEqual(ended, [], "the writers did not wait, or the requests waited for them")

            for fd in locks:
                os.close(fd)
            for writer in writers:
                writer.join()
            self.assertEqual(sorted(ended), sorted(names))
            changed = content[:50] + b"changed" + content[57:]
            for name in names:
                self.assert_same_bytes((self.mountpoint / name).read_bytes(), changed, name)

    def test_a_killed_writer(self):
        """A writer that waits for the owner of a frame ends when it is killed."""
        content = data.noise(100_000)
        frame = self.make_frame(content, self.source / "x.b2frame")
        script = "import os, sys; os.pwrite(os.open(sys.argv[1], os.O_RDWR), b'changed', 50)"
        with self.mount() as mount:
            owner = os.open(frame, os.O_RDWR)
            fcntl.fcntl(owner, F_OFD_SETLK, one_byte(fcntl.F_WRLCK, OWNER_AT))
            writer = subprocess.Popen([sys.executable, "-c", script, self.mountpoint / "x"])
            self.wait_for(lambda: is_locked(owner, OWNER_AT + 1), "the writer does not wait")
            writer.kill()
            writer.wait(timeout=daemon.DEADLINE_S)
            # The daemon logs it if the wait ends because it has lasted too long.
            self.assertNotIn("another framefs process", mount.log())
            os.close(owner)
            self.assert_same_bytes((self.mountpoint / "x").read_bytes(), content, "x")

    def test_many_writers_over_budget(self):
        """Twelve writers of incompressible data fill a small overlay, beside small files."""
        noise = data.noise(4 << 20)

        def write(name):
            with open(self.mountpoint / name, "wb", buffering=0) as file:
                for at in range(0, len(noise), 1 << 18):
                    file.write(noise[at:at + (1 << 18)])

        with self.mount("--overlay-size", "2M", "--rule", "*:chunksize=256K"):
            names = [f"large-{i}" for i in range(WRITERS)]
            writers = [threading.Thread(target=write, args=(name,)) for name in names]
            for writer in writers:
                writer.start()
            for i in range(20):
                path = self.mountpoint / f"small-{i}"
                path.write_bytes(b"small" * i)
                self.assertEqual(path.read_bytes(), b"small" * i)
            for writer in writers:
                writer.join()
            for name in names:
                self.assert_same_bytes((self.mountpoint / name).read_bytes(), noise, name)


if __name__ == "__main__":
    unittest.main()
