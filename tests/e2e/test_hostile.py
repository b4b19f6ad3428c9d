"""Frames that would take very much work: requests have a bounded cost, and can be killed."""

import concurrent.futures
import contextlib
import errno
import os
import signal
import subprocess
import sys
import unittest

import container_writer
import hostile_frames
import memory
from case import MountCase
from daemon import SANITIZED, wait_for

READER = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print(flush=True)
while True:
    try:
        os.pread(fd, 4096, int(sys.argv[2]))
    except OSError:
        pass
"""


def outcome(call):
    """The result of a call, or its errno."""
    try:
        return call()
    except OSError as error:
        return error.errno


def read_at(path, size, offset):
    fd = os.open(path, os.O_RDONLY)
    try:
        return outcome(lambda: os.pread(fd, size, offset))
    finally:
        os.close(fd)


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[11])


# A sanitizer makes decoding several times slower: these tests would take minutes.
decodes_much = unittest.skipIf(SANITIZED, "decodes gigabytes")


class Hostile(MountCase):
    def add(self, name, content):
        (self.source / name).write_bytes(content)

    def start_reader(self, path, offset):
        reader = subprocess.Popen([sys.executable, "-c", READER, path, str(offset)],
                                  stdout=subprocess.PIPE)
        self.addCleanup(self.end, reader)
        reader.stdout.readline()
        return reader

    def end(self, process):
        process.kill()
        process.wait()
        process.stdout.close()

    def test_an_index_of_large_blocks_is_refused(self):
        self.add("f.b2frame", hostile_frames.many_chunks())
        with self.mount() as mount:
            self.assertEqual(read_at(mount.path("f"), 4096, 0), errno.EFBIG)
            self.assertIn("blocksize", mount.log())

    def test_a_seek_looks_at_a_part_of_a_very_long_index(self):
        # The rest is reported as data, which is always allowed.
        self.add("f.b2frame", hostile_frames.many_chunks(16 << 20))
        with self.mount() as mount, open(mount.path("f"), "rb") as file:
            self.assertEqual(os.lseek(file.fileno(), 0, os.SEEK_HOLE), hostile_frames.MAX_CHUNKS)
            self.assertEqual(os.lseek(file.fileno(), 5, os.SEEK_DATA), 5)

    @decodes_much
    def test_a_read_that_needs_gigabytes_of_decoded_blocks_is_refused(self):
        self.add("f.b2nd", hostile_frames.wide_array())
        with self.mount() as mount:
            self.assertEqual(read_at(mount.path("f.npy"), 4096, 8192), errno.EFBIG)
            self.assertIn("decoded bytes that one request may cost", mount.log())

    @decodes_much
    def test_a_listing_of_a_container_is_refused_that_needs_gigabytes(self):
        nodes = {f"/node{i}": (i * 1000, 500) for i in range(8)}
        self.add("s.b2e", container_writer.embed_container_on(hostile_frames.wide_array, nodes))
        self.add("plain.txt", b"text")
        with self.mount() as mount:
            self.assertEqual(outcome(lambda: os.listdir(mount.path("s.b2e"))), errno.EFBIG)
            self.assertEqual(sorted(os.listdir(mount.mountpoint)), ["plain.txt", "s.b2e"])

    @decodes_much
    def test_killed_readers_end_and_others_are_served_meanwhile(self):
        self.add("f.b2nd", hostile_frames.wide_array())
        self.add("plain.txt", b"text")
        with self.mount("--threads", "1") as mount:
            # More readers than there are threads for operations.
            readers = [self.start_reader(mount.path("f.npy"), i << 20) for i in range(12)]
            for reader in readers:
                reader.kill()
            for reader in readers:
                reader.wait(60)
            self.assertEqual(mount.path("plain.txt").read_bytes(), b"text")

    @decodes_much
    def test_a_signal_that_is_handled_interrupts_no_read(self):
        data = bytes(range(256)) * 4096
        self.make_frame(data, self.source / "f.b2frame", "--chunk", "65536", "--block", "4096")
        ticks = []
        before = signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with self.mount() as mount:
            signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
            self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
            wait_for(lambda: self.read_past_the_pages(mount.path("f")) == data and len(ticks) > 20,
                     "signals")
            signal.setitimer(signal.ITIMER_REAL, 0)

    def read_past_the_pages(self, path):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            return b"".join(os.pread(fd, 1 << 16, at) for at in range(0, 1 << 20, 1 << 16))
        finally:
            os.close(fd)

    @decodes_much
    def test_the_daemon_ends_while_it_decodes(self):
        self.add("f.b2nd", hostile_frames.wide_array())
        with self.mount("--threads", "1") as mount:
            self.start_reader(mount.path("f.npy"), 8192)
            begin = cpu_ticks(mount.pid)
            wait_for(lambda: cpu_ticks(mount.pid) > begin + 5, "decoding")
            mount.process.send_signal(signal.SIGTERM)
            self.assertEqual(mount.process.wait(60), 0)

    @decodes_much
    def test_blocks_of_one_byte_are_read(self):
        size = 1 << 20
        self.add("f.b2frame", hostile_frames.tiny_blocks(size))
        with self.mount("--cache-size", "8M") as mount:
            self.assert_same_bytes(mount.path("f").read_bytes(), b"\x07" * size, "one-byte blocks")

    def cpu_of(self, mount, call):
        """The result of a call, and the processor time that the daemon took for it, in seconds."""
        begin = cpu_ticks(mount.pid)
        result = outcome(call)
        return result, (cpu_ticks(mount.pid) - begin) / os.sysconf("SC_CLK_TCK")

    @decodes_much
    def test_dictionaries_of_tiny_chunks_cost_little(self):
        size = 1 << 20
        self.add("f.b2frame", hostile_frames.dictionary_for_each_byte(size))
        with self.mount("--cache-size", "16M") as mount:
            before = memory.peak_mib(mount.pid)
            content, seconds = self.cpu_of(mount, mount.path("f").read_bytes)
            self.assertEqual(content, bytes(size))
            self.assertLess(seconds, 4)
            # A request holds at most 4 MiB of them.
            self.assertLess(memory.peak_mib(mount.pid) - before, 16 + 10 * 4 + 60)

    @decodes_much
    def test_a_table_of_unordered_block_starts_costs_little(self):
        self.add("f.b2frame", hostile_frames.unordered_starts(1 << 20))
        with self.mount() as mount:
            before = memory.peak_mib(mount.pid)
            result, seconds = self.cpu_of(mount, lambda: read_at(mount.path("f"), 4096, 0))
            self.assertEqual(result, errno.EIO)
            self.assertLess(seconds, 2)
            self.assertLess(memory.peak_mib(mount.pid) - before, 60)

    def read_at_once(self, mount, names):
        """The outcomes of reads of these files, which all stay open until the last has been read,
        and the memory that the daemon has taken: at the most, and in the end."""
        before = memory.resident_mib(mount.pid)
        with contextlib.ExitStack() as files, concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            def read(name):
                file = files.enter_context(open(mount.path(name), "rb", buffering=0))
                return outcome(lambda: file.read(64))
            outcomes = list(pool.map(read, names))
            return outcomes, memory.peak_mib(mount.pid) - before, memory.resident_mib(mount.pid) - before

    @unittest.skipIf(SANITIZED, "what a sanitizer keeps is not the daemon's")
    def test_small_files_that_claim_large_trailers(self):
        names = [f"f{i}" for i in range(40)]
        for name in names:
            hostile_frames.write_hollow_trailer(self.source / f"{name}.b2frame")
        with self.mount() as mount:
            outcomes, peak, _ = self.read_at_once(mount, names)
            self.assertEqual(outcomes, [b"data"] * len(names))
            self.assertLess(peak, 60)

    @unittest.skipIf(SANITIZED, "what a sanitizer keeps is not the daemon's")
    def test_small_files_that_claim_large_records_of_fetched_blocks(self):
        names = [f"f{i}" for i in range(40)]
        for record_mib, wanted in ((7, bytes(64)), (60, errno.EIO)):
            content = hostile_frames.cache_with_record(record_mib << 20)
            self.assertLess(len(content), 300 << 10)
            for name in names:
                self.add(f"{name}.b2frame", content)
            with self.mount("--cache-size", "16M") as mount:
                outcomes, peak, kept = self.read_at_once(mount, names)
                self.assertEqual(outcomes, [wanted] * len(names))
                # Ten requests at a time, each with one record, beside the cache.
                self.assertLess(peak, 16 + 10 * 16 + 40)
                self.assertLess(kept, 16 + 60)

    @unittest.skipIf(SANITIZED, "what a sanitizer keeps is not the daemon's")
    def test_readers_of_large_tables(self):
        names = [f"f{i}" for i in range(16)]
        # The longest tables that are read, and longer ones.
        for table_mib, wanted in ((4, errno.EIO), (32, errno.EFBIG)):
            for name in names:
                hostile_frames.write_hollow_starts(self.source / f"{name}.b2frame", table_mib << 18)
            with self.mount("--cache-size", "16M") as mount:
                outcomes, peak, kept = self.read_at_once(mount, names)
                self.assertEqual(outcomes, [wanted] * len(names))
                # Ten requests at a time, each with the starts and the ends of the blocks.
                self.assertLess(peak, 16 + 10 * 8 + 40)
                self.assertLess(kept, 16 + 60)

    def test_one_file_writes_few_lines_to_the_log(self):
        count = 300
        self.add("f.b2frame", hostile_frames.damaged_chunks(count))
        self.add("a\nline b\x1b[2J.b2frame", hostile_frames.damaged_chunks(1))
        with self.mount() as mount:
            for at in range(0, count * hostile_frames.PAGE, hostile_frames.PAGE):
                self.assertEqual(read_at(mount.path("f"), 8, at), errno.EIO)
            self.assertEqual(read_at(mount.path("a\nline b\x1b[2J"), 8, 0), errno.EIO)
            lines = mount.log().splitlines()
            self.assertLess(len(lines), 100)
            self.assertTrue(any("a\\x0aline" in line and "b\\x1b[2J" in line for line in lines), lines)
            self.assertNotIn("\x1b", mount.log())


if __name__ == "__main__":
    unittest.main()
