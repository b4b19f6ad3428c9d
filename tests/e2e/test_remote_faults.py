"""Mounts of URLs whose link breaks, whose daemon is killed, and whose disk cache has no room."""

import os
import random
import sys
import threading
import time
import unittest

import daemon
import data
from remote_case import RemoteCase

sys.path.insert(0, str(daemon.ROOT / "tests/support"))
from link_proxy import LinkProxy  # noqa: E402

LINK_PROXY = daemon.FRAMEFS.parent / "tests/framefs_link_proxy"
KILLS = int(os.environ.get("FRAMEFS_REMOTE_KILLS", "12"))
GONE_S = float(os.environ.get("FRAMEFS_GONE_SECONDS", "2"))
CHUNK = 256 << 10


class RemoteFaults(RemoteCase):
    def setUp(self):
        super().setUp()
        self.content = data.noise(12_000_000)

    def serve_by_link(self, **options):
        """A server of the frame x, and a link to it."""
        self.make_frame(self.content, self.source / "x.b2frame", "--chunk", str(CHUNK), "--block", "64K")
        server = self.serve_source(**options)
        link = LinkProxy(LINK_PROXY, server.port)
        self.addCleanup(link.stop)
        return link

    def broken_answers_of_a_read(self, link, fault):
        """Reads x in a new mount."""
        with self.mount_s3(link) as mount:
            self.assert_same_bytes(mount.path("x").read_bytes(), self.content, f"x, {fault}")
        return [r for r in link.requests() if r.range and (r.status != 206 or r.bytes < size_of(r.range))]

    def test_broken_answers(self):
        link = self.serve_by_link()
        link.set_latency(2)
        for fault in (("reset", 4, 0), ("reset", 3, 100_000), ("status", 3, 503), ("stall", 9, 50_000)):
            with self.subTest(fault):
                link.set_fault(*fault)
                broken, reads = [], 0
                while len(broken) < 2:  # how many requests merge is a matter of time
                    broken += self.broken_answers_of_a_read(link, fault)
                    reads += 1
                    self.assertLess(reads, 10, f"{len(broken)} broken answers")
                link.set_fault()

    def test_server_that_is_gone_for_a_while(self):
        """FRAMEFS_GONE_SECONDS=60 is as long as a request is tried again."""
        link = self.serve_by_link()
        link.set_rate(10_000_000)
        got = []
        with self.mount_s3(link) as mount:
            reader = threading.Thread(target=lambda: got.append(mount.path("x").read_bytes()))
            reader.start()
            middle = len(self.content) // 2  # which no request of an open reaches
            daemon.wait_for(lambda: [r for r in link.requests() if r.range and begin_of(r.range) in range(1, middle)],
                            "the middle of a read")
            link.disconnect()
            back = threading.Timer(GONE_S, link.reconnect)
            back.start()
            reader.join(daemon.DEADLINE_S)
            back.join()
            self.assertEqual(got == [self.content], True)

    def read_at_random(self, path, seed, ended, problems):
        """Reads until the mount is gone; the bytes are right as long as there are any."""
        order = random.Random(seed)
        while not ended.is_set():
            at = order.randrange(len(self.content))
            size = order.choice((4096, 100_000, 1_000_000))
            try:
                with open(path, "rb", buffering=0) as file:
                    got = os.pread(file.fileno(), size, at)
            except OSError:
                if not ended.is_set():
                    raise
                return
            wanted = self.content[at:at + size]
            # The kill may end a read in the middle.
            is_right = wanted.startswith(got) if ended.is_set() else got == wanted
            if not is_right:
                problems.append(f"wrong bytes at {at}, {size}")

    def kill_while_reading(self, link, options, seed):
        problems, ended = [], threading.Event()
        mount = self.mount_s3(link, *options)
        mount.__enter__()
        readers = [threading.Thread(target=self.read_at_random,
                                    args=(mount.path("x"), 10 * seed + i, ended, problems)) for i in range(3)]
        for reader in readers:
            reader.start()
        time.sleep(random.Random(seed).uniform(0, 0.3))  # the moment of the kill is the point
        ended.set()
        mount.kill()
        for reader in readers:
            reader.join(daemon.DEADLINE_S)
        daemon.wait_for(lambda: not daemon.mounts_at(self.mountpoint), "the mount to go")
        self.assertEqual(problems, [], f"seed {seed}")

    def test_kills_while_the_disk_cache_is_written(self):
        """FRAMEFS_REMOTE_KILLS=500 kills more often."""
        link = self.serve_by_link()
        cache = self.folder / "cache"
        options = ("--cache-dir", cache, "--cache-disk", "8M", "--cache-size", "1M")
        first = random.randrange(1 << 30)
        print(f"seed {first}", file=sys.stderr)
        for seed in range(first, first + KILLS):
            self.kill_while_reading(link, options, seed)
            self.assertLessEqual(sum(file.stat().st_size for file in cache.iterdir()), 8 << 20)
        with self.mount_s3(link, *options) as mount:
            self.assert_same_bytes(mount.path("x").read_bytes(), self.content, "x, after the kills")
        self.assertGreater(sum(file.stat().st_size for file in cache.iterdir()), 1 << 20)

    @unittest.skipIf(os.geteuid() != 0, "only root can mount a disk")
    def test_disk_cache_on_a_full_disk(self):
        link = self.serve_by_link()
        disk = self.folder / "disk"
        disk.mkdir()
        self.tool("mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", disk)
        self.addCleanup(self.tool, "umount", disk)
        for _ in range(2):
            with self.mount_s3(link, "--cache-dir", disk / "cache", "--cache-disk", "64M") as mount:
                self.assert_same_bytes(mount.path("x").read_bytes(), self.content, "x")
        self.assertGreater(sum(file.stat().st_size for file in (disk / "cache").iterdir()), 1 << 20)


def begin_of(range_header):
    return int(range_header.removeprefix("bytes=").split("-")[0])


def size_of(range_header):
    begin, end = range_header.removeprefix("bytes=").split("-")
    return int(end) - int(begin) + 1


if __name__ == "__main__":
    unittest.main()
