"""The measurements: one task for each figure of the table.

Cold: the filesystem has just been mounted and has nothing decoded, but the stored bytes are in the
kernel's page cache, so that the disk does not matter.  Warm: the same bytes were just read.
"""

import data
from data import MIB, PEER_BLOCK, QUARTERS, Frame
from measure import Key, measure
from mounts import read_into_memory

SEQUENTIAL = "sequential, cold, 1 MiB"
SMALLER = "sequential, cold, 64 KiB"
SMALL_CHUNKS = "sequential, cold, small chunks"
WIDE_ARRAY = "sequential, cold, a wide array, 32 MiB of cache"
SAME_FILE = "4 readers of one file, cold"
FOUR_FILES = "4 readers of 4 files, cold"
WARM = "sequential, warm, 1 MiB"
BLOCKS_4K = "random 4 KiB, cold, each in another block"
UNIFORM_4K = "random 4 KiB, cold, uniform"
UNIFORM_64K = "random 64 KiB, cold, uniform"
HOT_4K = "random 4 KiB, cold, a hot set"
DENSE_4K = "random 4 KiB, cold, each block three times"
ZIPF_4K = "random 4 KiB, cold, zipfian"
MAP = "mmap, cold"
MAP_WARM = "mmap, warm"
DECODE = "decode, 1 thread"
DECODE_2 = "decode, 2 threads"
FILTER_DECODE = "decode by filter, 1 thread"

# The figure of these disciplines is reads per second; the others have MB/s.
BY_READS = (BLOCKS_4K, UNIFORM_4K, UNIFORM_64K, HOT_4K, DENSE_4K, ZIPF_4K)

FRAMEFS, NULL, PLAIN, OURS, REFERENCE = "framefs", "null server", "plain file", "our codec", "reference library"

# Frames for all disciplines, with the peers' block size.
DETAILED = [Frame("float", "lz4", PEER_BLOCK), Frame("float", "zstd", PEER_BLOCK), Frame("text", "zstd", PEER_BLOCK)]
# The frame for several concurrent readers.
SHARED = Frame("float", "lz4", PEER_BLOCK)


def label(frame):
    return f"{frame.data} {frame.codec} {data.size_text(frame.block)}"


class Disciplines:
    """`programs` has the paths of reader and decode_rate.  `reference` runs its program, or is
    None."""

    def __init__(self, all_data, programs, framefs, small_cache, null, small_null, plain, peers, reference):
        self.data = all_data
        self.programs = programs
        self.framefs = framefs
        self.small_cache = small_cache  # framefs with 32 MiB of cache
        self.null = null
        self.small_null = small_null  # its files are quarters
        self.plain = plain
        self.peers = peers
        self.reference = reference
        self.tasks = {}

    def plan(self):
        """Functions by Key, in the order of a round."""
        self._sequential()
        self._several_readers()
        self._random()
        self._mapped_and_warm()
        self._decoding()
        return self.tasks

    # ------------------------------------------------------------------------- one measurement

    def _read(self, mount, stored, arguments, before=()):
        """Runs the reader with `arguments`; file names are relative to the mountpoint.  `before` is
        read first and not measured."""
        def place(argument):
            return mount.mountpoint / argument[1] if isinstance(argument, tuple) else argument

        with mount.mounted() as pid:
            for path in stored:
                read_into_memory(path)
            for path in before:
                read_into_memory(mount.mountpoint / path)
            return measure([self.programs["reader"], *map(place, arguments)], pid)

    def _add(self, what, who, shown, mount, stored, arguments, before=()):
        self.tasks[Key(what, who, shown)] = lambda: self._read(mount, stored, arguments, before)

    def _add_frame(self, what, frame, arguments, before=()):
        """`arguments` lack the file, which is the last argument."""
        self._add(what, FRAMEFS, label(frame), self.framefs, [self.data.frame_path(frame)],
                  [*arguments, ("file", frame.name)], before)

    def _add_peers(self, what, frame, arguments):
        """Adds the peers with the same codec."""
        for peer in self.peers:
            if peer.codec == frame.codec:
                self._add(what, peer.name, f"{frame.data} {frame.codec}", peer.mount, [peer.image],
                          [*arguments, ("file", frame.plain)])

    # ---------------------------------------------------------------------------------- disciplines

    def _sequential(self):
        whole = ["sequential", MIB, 1]
        self._add(SEQUENTIAL, NULL, "", self.null, [], [*whole, ("file", "data")])
        for frame in data.all_frames():
            self._add_frame(SEQUENTIAL, frame, whole)
        for kind in ("float", "text"):
            for codec in ("lz4", "zstd"):
                self._add_peers(SEQUENTIAL, Frame(kind, codec, PEER_BLOCK), whole)
        for frame in DETAILED:
            self._add_frame(SMALLER, frame, ["sequential", 64 << 10, 1])
        for frame in data.small_chunks():
            self._add_frame(SMALL_CHUNKS, frame, whole)
        self._add(WIDE_ARRAY, FRAMEFS, "float lz4", self.small_cache, [self.data.wide_path()],
                  [*whole, ("file", f"{data.WIDE}.npy")])

    def _several_readers(self):
        readers = ["sequential", MIB, QUARTERS]
        self._add_frame(SAME_FILE, SHARED, readers)
        self._add_peers(SAME_FILE, SHARED, readers)
        frames = data.quarters(SHARED.data, SHARED.codec)
        stored = [self.data.frame_path(frame) for frame in frames]
        self._add(FOUR_FILES, FRAMEFS, label(SHARED), self.framefs, stored,
                  [*readers, *(("file", frame.name) for frame in frames)])
        self._add(FOUR_FILES, NULL, "", self.small_null, [], [*readers, *(("file", frame.name) for frame in frames)])
        for peer in self.peers:
            if peer.codec == SHARED.codec:
                self._add(FOUR_FILES, peer.name, f"{SHARED.data} {SHARED.codec}", peer.mount, [peer.image],
                          [*readers, *(("file", frame.plain) for frame in frames)])

    def _random(self):
        for what, pattern, piece in ((BLOCKS_4K, "blocks", 4096), (UNIFORM_4K, "uniform", 4096),
                                     (UNIFORM_64K, "uniform", 65536), (HOT_4K, "hot", 4096),
                                     (DENSE_4K, "dense", 4096), (ZIPF_4K, "zipf", 4096)):
            places = self.data.offsets(pattern, piece)
            if what == BLOCKS_4K:
                self._add(what, NULL, "", self.null, [], ["offsets", piece, places, ("file", "data")])
            for frame in DETAILED:
                self._add_frame(what, frame, ["offsets", piece, places])
                if what in (BLOCKS_4K, DENSE_4K):
                    self._add_peers(what, frame, ["offsets", piece, places])
                if what == BLOCKS_4K and self.reference:
                    self.tasks[Key(what, REFERENCE, label(frame))] = self._slices(piece, places, frame)

    def _slices(self, piece, places, frame):
        path = self.data.frame_path(frame)

        def task():
            read_into_memory(path)
            return measure([*self.reference, "slices", piece, places, path])
        return task

    def _mapped_and_warm(self):
        whole = ["sequential", MIB, 1]
        self._add_frame(MAP, SHARED, ["map", 4096])
        self._add_frame(MAP_WARM, SHARED, ["map", 4096], before=[SHARED.name])
        self._add(MAP_WARM, PLAIN, SHARED.data, self.plain, [], ["map", 4096, ("file", SHARED.plain)],
                  before=[SHARED.plain])
        for frame in DETAILED:
            self._add_frame(WARM, frame, whole, before=[frame.name])
        self._add(WARM, NULL, "", self.null, [], [*whole, ("file", "data")], before=["data"])
        for kind in ("float", "text"):
            self._add(WARM, PLAIN, kind, self.plain, [], [*whole, ("file", kind)], before=[kind])

    def _decoding(self):
        for frame in data.all_frames():
            for what, threads in ((DECODE, 1), (DECODE_2, 2)):
                self._add_decode(what, label(frame), threads, self.data.frame_path(frame))
        for codec in data.CODECS:
            for name in data.FILTERS:
                path = self.data.filter_path(codec, name)
                self._add_decode(FILTER_DECODE, f"{codec} {name}", 1, path)
                if self.reference:
                    command = [*self.reference, "decode", path]
                    self.tasks[Key(FILTER_DECODE, REFERENCE, f"{codec} {name}")] = \
                        lambda command=command: measure(command)

    def _add_decode(self, what, shown, threads, path):
        command = [self.programs["decode_rate"], threads, path]
        self.tasks[Key(what, OURS, shown)] = lambda: measure(command)
