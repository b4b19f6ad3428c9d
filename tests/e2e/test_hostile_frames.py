"""Crafted frames that try to show bytes of other files, which the daemon decoded before."""

import errno
import mmap
import os
import struct
import unittest

import frames
from case import MountCase

BLOCK = 64 << 10
BLOCKS = 8
SECRET = 0xC5  # no byte of a crafted frame
PAGE = 4096

LZ4_FLAGS = 0x15 | 1 << 5  # an extended header, blocks that are not split, LZ4
SHUFFLE = 1


def sequence(literals, distance=None, length=None):
    """One sequence of an LZ4 stream; without a match, the last one."""

    def half(count):
        return min(count, 15)

    def rest(count):
        if count < 15:
            return b""
        return b"\xff" * ((count - 15) // 255) + bytes([(count - 15) % 255])

    token = half(len(literals)) << 4 | (half(length - 4) if length else 0)
    out = bytes([token]) + rest(len(literals)) + literals
    if length:
        out += struct.pack("<H", distance) + rest(length - 4)
    return out


def lz4_chunk(stream, typesize, shuffled):
    """A chunk whose blocks are all this one stream."""
    starts_end = frames.HEADER_BYTES + 4 * BLOCKS
    block = struct.pack("<i", len(stream)) + stream
    starts = b"".join(struct.pack("<i", starts_end + i * len(block)) for i in range(BLOCKS))
    head = struct.pack("<BBBBiii", 5, 1, LZ4_FLAGS, typesize, BLOCK * BLOCKS, BLOCK,
                       starts_end + BLOCKS * len(block))
    filters = bytes(5) + bytes([SHUFFLE if shuffled else 0])
    head = (head + filters).ljust(frames.HEADER_BYTES, b"\0")
    return head + starts + block * BLOCKS


def crafted(distance, typesize, shuffled):
    """A frame of blocks that are one literal, a match at `distance`, and literals."""
    tail = b"z" * 64
    stream = sequence(b"a", distance, BLOCK - 1 - len(tail)) + sequence(tail)
    chunk = lz4_chunk(stream, typesize, shuffled)
    return frames.frame([chunk], BLOCK * BLOCKS, BLOCK * BLOCKS, typesize, blocksize=BLOCK)


class HostileFrames(MountCase):
    def make_secret(self):
        """A frame that leaves its one byte in the memory of the thread that decodes it."""
        plain = bytes([SECRET]) * (BLOCK * BLOCKS)
        self.make_frame(plain, self.source / "secret.b2frame", "--codec", "lz4", "--typesize", "4",
                        "--filter", "shuffle", "--chunk", str(len(plain)), "--block", str(BLOCK))
        return plain

    def read_directly(self, path, offset):
        """A page past the kernel's cache, or the errno."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            with mmap.mmap(-1, PAGE) as page:
                got = os.preadv(fd, [page], offset)
                return page[:got]
        except OSError as error:
            return error.errno
        finally:
            os.close(fd)

    def check_shows_nothing(self, mount, name, secret):
        """Each read follows a read of the secret, whose memory it may get to use."""
        for offset in range(0, BLOCK * BLOCKS, BLOCK // 2):
            self.assertEqual(self.read_directly(mount.path("secret"), offset), secret[:PAGE])
            got = self.read_directly(mount.path(name), offset)
            self.assertEqual(got, errno.EIO, f"{name} at {offset}")
        self.assertEqual(mount.path("secret").read_bytes(), secret)
        with self.assertRaises(OSError) as caught, open(mount.path(name), "rb") as file:
            file.read()
        self.assertEqual(caught.exception.errno, errno.EIO)

    def test_lz4_matches_without_a_source(self):
        secret = self.make_secret()
        kinds = {f"at{distance}_{typesize}_{'shuffled' if shuffled else 'plain'}":
                 (distance, typesize, shuffled)
                 for distance in (0, 2, 60_000) for typesize, shuffled in ((1, False), (4, True))}
        for name, kind in kinds.items():
            (self.source / f"{name}.b2frame").write_bytes(crafted(*kind))
        with self.mount("--threads", "1") as mount:
            for name in kinds:
                self.assertEqual(mount.path(name).stat().st_size, BLOCK * BLOCKS)
                self.check_shows_nothing(mount, name, secret)

    def test_the_same_frames_decode_with_a_distance_of_1(self):
        """The frames above are sound except for the distance, which alone makes a read fail."""
        for typesize, shuffled in ((1, False), (4, True)):
            (self.source / f"good{typesize}.b2frame").write_bytes(crafted(1, typesize, shuffled))
        block = b"a" * (BLOCK - 64) + b"z" * 64
        planes = [block[i * BLOCK // 4:(i + 1) * BLOCK // 4] for i in range(4)]
        shuffled = b"".join(bytes(item) for item in zip(*planes))
        with self.mount() as mount:
            self.assert_same_bytes(mount.path("good1").read_bytes(), block * BLOCKS, "plain")
            self.assert_same_bytes(mount.path("good4").read_bytes(), shuffled * BLOCKS, "shuffled")
            self.assertEqual(self.read_directly(mount.path("good4"), BLOCK), shuffled[:PAGE])


if __name__ == "__main__":
    unittest.main()
