"""Writes to frames whose few bytes stand for very much: bounded in memory, harmless to others."""

import errno
import os
import signal
import struct
import subprocess
import sys
import unittest

import daemon
import frame_writer
import frames
import hostile_frames
from case import MountCase
from memory import peak_mib, promised_mib
from test_hostile import outcome

MIB = 1 << 20
MOST_CHUNKS = 1 << 24  # that a frame may have to be written
WRITER = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
print(flush=True)
while True:
    os.pwrite(fd, os.urandom(1 << 20), 0)
"""


def frame_of_many_chunks(entry_byte=1):
    """Each byte of each index entry is `entry_byte`; with 0, all chunks are stored at one place."""
    index = hostile_frames.run_chunk(MOST_CHUNKS * 8, MIB, value=entry_byte, typesize=8)
    return frame_writer.frame([frame_writer.memcpyed_chunk(bytes(1))], 1, nbytes=MOST_CHUNKS, index=index)


class HostileWrites(MountCase):
    def add(self, name, content):
        (self.source / name).write_bytes(content)

    def test_a_killed_writer_of_chunks_of_a_byte(self):
        """Each request of a mebibyte touches a million chunks."""
        self.add("f.b2frame", frame_writer.plain_frame(b"x", 1))
        with self.mount("--cache-size", "8M", "--overlay-size", "8M") as mount:
            writer = subprocess.Popen([sys.executable, "-c", WRITER, mount.path("f")], stdout=subprocess.PIPE)
            writer.stdout.readline()
            daemon.wait_for(lambda: mount.path("f").stat().st_size > 1, "the first bytes")
            writer.send_signal(signal.SIGKILL)
            writer.wait(daemon.DEADLINE_S)
            writer.stdout.close()

            # No other frame can be opened for writing until the daemon has closed this one.
            def other_is_written():
                try:
                    mount.path("other").write_bytes(b"text")
                except OSError as error:
                    self.assertEqual(error.errno, errno.ENOMEM)
                    return False
                return True
            daemon.wait_for(other_is_written, "the end of the killed writer")
            self.assertEqual(mount.path("other").read_bytes(), b"text")
            if not daemon.SANITIZED:
                self.assertLess(peak_mib(mount.pid), promised_mib(8, 8, 0))

    def test_chunks_of_a_byte_hold_what_is_written(self):
        self.add("f.b2frame", frame_writer.plain_frame(b"x", 1))
        content = os.urandom(20_000)
        with self.mount("--overlay-size", "1M") as mount:
            with open(mount.path("f"), "r+b", buffering=0) as file:
                self.assertEqual(os.pwrite(file.fileno(), content, 3), len(content))
            with open(mount.path("f"), "ab", buffering=0) as file:
                self.assertEqual(file.write(content), len(content))
            self.assertEqual(mount.path("f").read_bytes(), b"x\0\0" + 2 * content)
        with self.mount() as mount:
            self.assertEqual(mount.path("f").read_bytes(), b"x\0\0" + 2 * content)

    def test_long_indexes_are_open_for_writing_one_at_a_time(self):
        names = [f"f{number}" for number in range(4)]
        for name in names:
            self.add(f"{name}.b2frame", frame_of_many_chunks())
        with self.mount("--cache-size", "16M", "--overlay-size", "16M", "--rule", "*:chunksize=8K") as mount:
            first = os.open(mount.path(names[0]), os.O_RDWR)
            for name in names[1:]:
                with self.assertRaises(OSError) as refused:
                    os.open(mount.path(name), os.O_RDWR)
                self.assertEqual(refused.exception.errno, errno.ENOMEM)
            self.assertIn("the indexes of frames that are open for writing", mount.log())
            (mount.path("small")).write_bytes(b"text")
            with self.assertRaises(OSError) as refused:
                os.truncate(mount.path("small"), 8192 * MOST_CHUNKS)
            self.assertEqual(refused.exception.errno, errno.ENOMEM)
            os.close(first)
            daemon.wait_for(lambda: self.opens(mount.path(names[1])), "room for another index")
            if not daemon.SANITIZED:
                index_mib = 16 * MOST_CHUNKS // MIB
                self.assertLess(peak_mib(mount.pid), promised_mib(16, 16, 0) + index_mib)

    def opens(self, path):
        try:
            os.close(os.open(path, os.O_RDWR))
        except OSError as error:
            self.assertEqual(error.errno, errno.ENOMEM)
            return False
        return True

    def test_bytes_beside_damage_are_dropped(self):
        """They can never be stored: they must not fill the memory of all writers."""
        size = 4096
        damaged = bytearray(frame_writer.memcpyed_chunk(bytes(size)))
        struct.pack_into("<i", damaged, 12, 1_000_000_000)  # cbytes
        content = frame_writer.frame([frame_writer.memcpyed_chunk(b"a" * size), bytes(damaged)], size)
        self.add("f.b2frame", content)
        with self.mount("--overlay-size", "8M", "--commit-interval", "1") as mount:
            file = os.open(mount.path("f"), os.O_RDWR)
            os.pwrite(file, b"y", 0)
            os.pwrite(file, b"x", size + 10)
            daemon.wait_for(lambda: "truncated: cbytes" in mount.log(), "the commit")
            # The commit at intervals has told nobody yet.
            with self.assertRaises(OSError) as dropped:
                os.fsync(file)
            self.assertEqual(dropped.exception.errno, errno.EIO)
            os.fsync(file)
            os.pwrite(file, b"x", size + 20)
            with self.assertRaises(OSError) as dropped:
                os.fsync(file)
            self.assertEqual(dropped.exception.errno, errno.EIO)
            os.pwrite(file, b"z", 1)
            os.fsync(file)
            os.close(file)
        with self.mount() as mount, open(mount.path("f"), "rb", buffering=0) as file:
            self.assertEqual(file.read(size), b"yz" + b"a" * (size - 2))
            self.assertEqual(outcome(lambda: os.pread(file.fileno(), 1, size + 10)), errno.EIO)

    def test_files_with_the_names_of_next_chunk_files(self):
        """A user may put anything into the directory of a sparse frame; the daemon may be root."""
        folder = self.source / "s.b2frame"
        frames.write_sparse_frame(folder, [frame_writer.memcpyed_chunk(os.urandom(4096))], 4096, 4096)
        others = self.folder / "others"
        others.write_bytes(b"a file of another user")
        for number in range(1, 9):
            os.mkfifo(folder / f"{number:08X}.chunk")
        for number in range(9, 17):
            os.link(others, folder / f"{number:08X}.chunk")
        with self.mount("--commit-interval", "1") as mount:
            with open(mount.path("s"), "r+b", buffering=0) as file:
                for _ in range(6):
                    data = os.urandom(4096)
                    os.pwrite(file.fileno(), data, 0)
                    os.fsync(file.fileno())
            self.assertEqual(mount.path("s").read_bytes(), data)
        self.assertEqual(others.read_bytes(), b"a file of another user")
        with self.mount() as mount:
            self.assertEqual(mount.path("s").read_bytes(), data)

    def test_an_empty_frame_without_a_chunk_size(self):
        """The first writer chooses the size of its chunks."""
        (self.source / "x.b2frame").write_bytes(frame_writer.frame([], 0))
        with self.mount() as mount, open(mount.path("x"), "r+b", buffering=0) as file:
            for _ in range(2):
                os.pwrite(file.fileno(), b"x", 5 << 20)
                self.assertEqual(os.lseek(file.fileno(), 0, os.SEEK_HOLE), 0)
                self.assertGreater(os.lseek(file.fileno(), 0, os.SEEK_DATA), 0)
                self.assertEqual(os.pread(file.fileno(), 2, (5 << 20) - 1), b"\0x")
                os.fsync(file.fileno())

    def test_a_frame_of_very_large_chunks_is_only_read(self):
        """A byte that is written takes the memory of its chunk: 2 GiB for a frame of 200 bytes."""
        size = (256 << 20) + 1
        self.add("f.b2frame", hostile_frames.large_zeros(size))
        self.add("g.b2frame", hostile_frames.large_zeros(256 << 20))
        with self.mount() as mount:
            self.assertEqual(outcome(lambda: os.open(mount.path("f"), os.O_RDWR)), errno.EFBIG)
            self.assertEqual(outcome(lambda: os.truncate(mount.path("f"), 5)), errno.EFBIG)
            self.assertTrue(self.opens(mount.path("g")))
            with open(mount.path("f"), "rb") as file:
                file.seek(size - 10)
                self.assertEqual(file.read(), bytes(10))
            self.assertLess(peak_mib(mount.pid), 200)
        with self.mount("--overlay-size", "300M") as mount:
            self.assertTrue(self.opens(mount.path("f")))

    def test_a_damaged_chunk_keeps_its_length(self):
        """A truncation or an append would leave a chunk of the wrong length."""
        plain = os.urandom(12_000)
        path = self.folder / "plain"
        path.write_bytes(plain)
        self.make_frame(path, self.source / "f.b2frame", "--codec", "memcpy", "--chunk", "8192", "--block", "512")
        content = bytearray((self.source / "f.b2frame").read_bytes())
        at = content.index(plain[8192:8292]) - 32  # the last chunk's header
        struct.pack_into("<i", content, at + 12, 1_000_000_000)  # cbytes
        (self.source / "f.b2frame").write_bytes(content)
        for change in (lambda fd: os.truncate(fd, 10_000), lambda fd: os.pwrite(fd, b"x" * 100, 12_000)):
            with self.mount() as mount:
                mount.exit_codes = (1,)
                file = os.open(mount.path("f"), os.O_RDWR)
                change(file)
                self.assertEqual(outcome(lambda: os.fsync(file)), errno.EIO)
                outcome(lambda: os.close(file))
            self.assertEqual((self.source / "f.b2frame").read_bytes()[:len(content)], content)
            with self.mount() as mount:
                self.assertEqual(mount.path("f").stat().st_size, 12_000)
                with open(mount.path("f"), "rb", buffering=0) as file:
                    self.assertEqual(file.read(4096), plain[:4096])

    def test_a_frame_whose_index_names_no_chunk_is_given_up(self):
        """No commit can succeed, and the session ends with the last close."""
        self.add("f.b2frame", frame_of_many_chunks())
        with self.mount() as mount:
            mount.exit_codes = (1,)
            file = os.open(mount.path("f"), os.O_RDWR)
            os.pwrite(file, b"x", 5)
            self.assertEqual(outcome(lambda: os.fsync(file)), errno.EIO)
            self.assertEqual(outcome(lambda: os.pwrite(file, b"x", 7)), errno.EIO)
            outcome(lambda: os.close(file))
            # Leaving the mount checks that the daemon has closed the frame.

    def test_a_long_frame_of_shared_chunks_is_truncated(self):
        """Nothing is stored once for each of its chunks, not even on the way."""
        self.add("f.b2frame", frame_of_many_chunks(entry_byte=0))
        with self.mount() as mount:
            os.truncate(mount.path("f"), 0)
            fd = os.open(mount.path("f"), os.O_RDWR)
            os.fsync(fd)
            os.close(fd)
            stored = (self.source / "f.b2frame").stat()
            self.assertLess(stored.st_size, 4096)
            self.assertLess(stored.st_blocks * 512, MIB)
            self.assertEqual(mount.path("f").stat().st_size, 0)

    def test_chunks_at_one_place(self):
        """A change of one of them leaves the others, whose bytes are not free."""
        size, count = 4096, 8
        data = os.urandom(size)
        index = frame_writer.memcpyed_chunk(bytes(8 * count), typesize=8)
        self.add("f.b2frame", frame_writer.frame([frame_writer.memcpyed_chunk(data)], size,
                                                 nbytes=size * count, index=index))
        wanted = bytearray(data * count)
        with self.mount() as mount:
            with open(mount.path("f"), "r+b", buffering=0) as file:
                for number in range(30):
                    place = (1 + number % (count - 2)) * size
                    wanted[place:place + size] = os.urandom(size)
                    os.pwrite(file.fileno(), wanted[place:place + size], place)
                    os.fsync(file.fileno())
        with self.mount() as mount:
            self.assert_same_bytes(mount.path("f").read_bytes(), bytes(wanted), "f")


if __name__ == "__main__":
    unittest.main()
