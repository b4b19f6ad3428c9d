"""Hot blocks: the daemon stores them in the kernel's page cache, and never the wrong bytes."""

import mmap
import os
import random
import struct
import threading
import time
import unittest

import daemon
import data
from case import MountCase

PAGE = 4096
BLOCK = 64 << 10
TOUCHED = (1, 3, 6, 9, 12, 14)  # reads of these pages of a block make it hot


def pushed_bytes(mount):
    return mount.stats()["cache"]["pushed_bytes"]


def counted_reads(mount):
    """The READ requests so far.  The daemon counts a request after its answer."""
    counts = []

    def is_steady():
        counts.append(mount.stats()["requests"]["read"]["count"])
        return counts[-3:].count(counts[-1]) == 3
    daemon.wait_for(is_steady, "a steady number of reads")
    return counts[-1]


class HotBlocks(MountCase):
    # A file is settled soon after its last change.
    OPTIONS = ("--attr-timeout", "0")

    def setUp(self):
        self.content = data.text(40_000)[:1 << 20]
        self.frame = self.make_frame(self.content, self.source / "x.b2frame", "--codec", "lz4", "--block", str(BLOCK))

    def read_pages(self, file, block, pages):
        for page in pages:
            at = block * BLOCK + page * PAGE
            self.assert_same_bytes(os.pread(file.fileno(), PAGE, at), self.content[at:at + PAGE], at)

    def push(self, mount, file, block):
        """Reads parts of a block until the daemon has stored it in the page cache."""
        def is_pushed():
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            before = pushed_bytes(mount)
            self.read_pages(file, block, TOUCHED)
            try:
                return daemon.wait_for(lambda: pushed_bytes(mount) > before, "one push", deadline_s=0.5)
            except AssertionError:
                return False  # the file was not settled yet
        daemon.wait_for(is_pushed, "a push")

    def test_a_hot_block_is_read_from_the_page_cache(self):
        with self.mount(*self.OPTIONS) as mount, open(mount.path("x"), "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            self.push(mount, file, 5)
            # The block is in memory once.
            daemon.wait_for(lambda: mount.stats()["cache"]["held_bytes"] < BLOCK, "the block to leave the cache")
            before = counted_reads(mount)
            self.read_pages(file, 5, range(BLOCK // PAGE))
            self.assertEqual(counted_reads(mount), before)
            # Blocks that are touched once are not pushed.
            pushed = pushed_bytes(mount)
            self.read_pages(file, 7, (0,))
            self.read_pages(file, 9, (0,))
            self.read_pages(file, 11, (0,))
            self.assertEqual(counted_reads(mount), before + 3)
            self.assertEqual(pushed_bytes(mount), pushed)

    def test_nothing_is_pushed_with_writeback_or_past_the_page_cache(self):
        with self.mount(*self.OPTIONS, "--writeback") as mount, open(mount.path("x"), "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            for _ in range(20):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                self.read_pages(file, 5, TOUCHED)
            self.assertEqual(pushed_bytes(mount), 0)
        with self.mount(*self.OPTIONS) as mount, open(mount.path("x"), "rb", buffering=0) as file:
            self.push(mount, file, 5)
            pushed = pushed_bytes(mount)
            direct = os.open(mount.path("x"), os.O_RDONLY | os.O_DIRECT)
            buffer = mmap.mmap(-1, PAGE)
            for page in range(20):
                os.preadv(direct, [buffer], 7 * BLOCK + page % 8 * PAGE)
            os.close(direct)
            self.assertEqual(pushed_bytes(mount), pushed)

    def test_the_size_does_not_change(self):
        # Only whole pages are stored: the last block has some.
        content = self.content[:9 * BLOCK + 3 * mmap.PAGESIZE + 100]
        self.make_frame(content, self.source / "odd.b2frame", "--codec", "lz4", "--block", str(BLOCK))
        with self.mount(*self.OPTIONS) as mount, open(mount.path("odd"), "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            before = pushed_bytes(mount)

            def is_pushed():
                for _ in range(2):
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                    self.read_pages(file, 9, (0, 1))
                return pushed_bytes(mount) > before
            daemon.wait_for(is_pushed, "a push")
            self.assertEqual(os.fstat(file.fileno()).st_size, len(content))
            self.assertEqual(os.lseek(file.fileno(), 0, os.SEEK_END), len(content))
            self.assert_same_bytes(mount.path("odd").read_bytes(), content, "odd")


class BesideChanges(MountCase):
    """Every page of the file holds its number and the number of the round that wrote it."""

    BLOCKS = 8
    PAGES = BLOCKS * BLOCK // PAGE
    ROUNDS = 6
    SEED = 11

    def content(self, round_number, pages=PAGES):
        return b"".join(struct.pack("<II", page + 1, round_number) * (PAGE // 8) for page in range(pages))

    def setUp(self):
        self.frame = self.source / "x.b2frame"
        self.make_frame(self.content(0), self.frame, "--codec", "lz4", "--block", str(BLOCK))
        self.done = 0      # every page has bytes of this round at least
        self.begun = 0     # and of this one at most
        self.cut = self.PAGES  # pages from here on may be truncated at any time
        self.is_over = False
        self.problems = []

    def check_page(self, got, page, at_least):
        """`got` is the beginning of the page, or nothing if the file was shorter."""
        if len(got) < 8:
            return
        number, round_number = struct.unpack_from("<II", got)
        # A read beside a truncation may begin before it and find the end of the file after it.
        if page >= self.cut and not any(got):
            return
        if number != page + 1 or not at_least <= round_number <= self.begun:
            self.problems.append(f"page {page}: page {number - 1} of round {round_number}, "
                                 f"rounds {at_least} to {self.begun} were right")

    def read_all_the_time(self, mount, seed):
        chance = random.Random(seed)
        with open(mount.path("x"), "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            while not self.is_over:
                if chance.random() < 0.02:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                page = chance.randrange(self.PAGES)
                at_least = self.done
                try:
                    got = os.pread(file.fileno(), PAGE, page * PAGE)
                except OSError:
                    continue  # the frame was being changed in SOURCE
                self.check_page(got, page, at_least)

    def check_all(self, mount, round_number, pages=PAGES):
        """Everything that the file shows now is of this round."""
        wanted = self.content(round_number, pages)
        path = mount.path("x")
        self.assertEqual(path.stat().st_size, len(wanted))
        with open(path, "rb", buffering=0) as file:
            self.assertEqual(os.fstat(file.fileno()).st_size, len(wanted))
            self.assert_same_bytes(os.pread(file.fileno(), len(wanted) + 1, 0), wanted, f"round {round_number}")
            with mmap.mmap(file.fileno(), len(wanted), prot=mmap.PROT_READ) as view:
                self.assert_same_bytes(view[:], wanted, f"round {round_number}, mapped")

    def run_beside_readers(self, change):
        """Calls change(mount, round) after pushes, in each round, beside readers."""
        with self.mount("--attr-timeout", "0", "--commit-interval", "0.1") as mount:
            readers = [threading.Thread(target=self.read_all_the_time, args=(mount, self.SEED + i)) for i in range(2)]
            for reader in readers:
                reader.start()
            try:
                for round_number in range(1, self.ROUNDS + 1):
                    pushed = pushed_bytes(mount)
                    daemon.wait_for(lambda pushed=pushed: pushed_bytes(mount) > pushed, "pushes beside readers")
                    change(mount, round_number)
            finally:
                self.is_over = True
                for reader in readers:
                    reader.join()
            self.check_all(mount, self.ROUNDS)
        self.assertEqual(self.problems, [])

    def test_writers(self):
        def change(mount, round_number):
            self.begun = round_number
            with open(mount.path("x"), "r+b", buffering=0) as file:
                wanted = self.content(round_number)
                for at in range(0, len(wanted), BLOCK // 2):
                    os.pwrite(file.fileno(), wanted[at:at + BLOCK // 2], at)
                self.done = round_number
                self.check_all(mount, round_number)
            self.check_all(mount, round_number)
        self.run_beside_readers(change)

    def test_mapped_writers(self):
        def change(mount, round_number):
            self.begun = round_number
            with open(mount.path("x"), "r+b", buffering=0) as file, mmap.mmap(file.fileno(), self.PAGES * PAGE) as view:
                view[:] = self.content(round_number)
                self.done = round_number
                self.check_all(mount, round_number)
            self.check_all(mount, round_number)
        self.run_beside_readers(change)

    def test_truncation(self):
        def change(mount, round_number):
            self.begun = round_number
            path = mount.path("x")
            half = self.cut
            os.truncate(path, half * PAGE)
            self.assertEqual(path.stat().st_size, half * PAGE)
            self.assertEqual(len(path.read_bytes()), half * PAGE)
            with open(path, "r+b", buffering=0) as file:
                wanted = self.content(round_number)
                self.assertEqual(os.lseek(file.fileno(), 0, os.SEEK_END), half * PAGE)
                for at in range(0, len(wanted), BLOCK // 2):
                    os.pwrite(file.fileno(), wanted[at:at + BLOCK // 2], at)
            self.done = round_number
            self.check_all(mount, round_number)
        self.cut = self.PAGES // 2 + 1
        self.run_beside_readers(change)

    def test_outside_changes(self):
        def change(mount, round_number):
            self.begun = round_number
            pages = self.PAGES - round_number % 3
            other = self.folder / "other.b2frame"
            self.make_frame(self.content(round_number, pages), other, "--codec", "lz4", "--block", str(BLOCK))
            # In place: readers have the file open.
            self.frame.write_bytes(other.read_bytes())
            self.check_all(mount, round_number, pages)
        self.run_beside_readers(change)


if __name__ == "__main__":
    unittest.main()
