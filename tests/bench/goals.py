"""The goals for the figures, and whether they are met."""

import os
from typing import NamedTuple

import data
import disciplines as d
import writing
from measure import Key
from scale import CACHE_MIB

MEMORY_BESIDE_CACHE_MIB = 64


class Goal(NamedTuple):
    what: str
    wanted: str
    measured: str
    met: bool | None  # None: not measured


class Goals:
    def __init__(self, results, scale):
        self.results = results
        self.scale = scale
        self.list = []

    def judge(self):
        self._writing()
        if "many" not in self.scale:
            return self.list
        self._limits()
        self._peers()
        self._random()
        self._warm()
        self._decoding()
        self._scale()
        return self.list

    # ------------------------------------------------------------------------------------ helpers

    def _figure(self, what, who, shown):
        """MB/s or reads per second, or None."""
        key = Key(what, who, shown)
        if not self.results.get(key):
            return None
        return (self.results.rate(key) if what in d.BY_READS + writing.BY_FILES else self.results.speed(key)).median

    def _ratio(self, what, frame, who, shown):
        ours, theirs = self._figure(what, d.FRAMEFS, d.label(frame)), self._figure(what, who, shown)
        return ours / theirs if ours and theirs else None

    def _add_worst(self, what, least, ratios):
        """Checks the smallest of `ratios` (by name; None if not measured) against `least`."""
        known = {name: ratio for name, ratio in ratios.items() if ratio is not None}
        wanted = f">= {least:g}"
        if not known:
            self.list.append(Goal(what, wanted, "not measured", None))
            return
        worst = min(known, key=known.get)
        reached = sum(ratio >= least for ratio in known.values())
        of_all = f", worst of {len(known)}: {worst}; {reached} reach it" if len(known) > 1 else ""
        self.list.append(Goal(what, wanted, f"{known[worst]:.2f}{of_all}", known[worst] >= least))

    def _add_most(self, what, most, value, unit):
        if value is None:
            self.list.append(Goal(what, f"< {most:g} {unit}".strip(), "not measured", None))
        else:
            self.list.append(Goal(what, f"< {most:g} {unit}".strip(), f"{value:.3g} {unit}".strip(), value < most))

    # -------------------------------------------------------------------------------------- goals

    def limit_mb_s(self, frame, what):
        """The speed if decoding and FUSE cost no more than each does alone, with the work spread
        over all processors: bytes / ((CPU of decoding + CPU of the null server and its reader) /
        processors)."""
        decoding, passing = Key(d.DECODE, d.OURS, d.label(frame)), Key(what, d.NULL, "")
        if not self.results.get(decoding) or not self.results.get(passing):
            return None
        cpu_s = self.results.cpu_s(decoding) + self.results.cpu_s(passing)
        return self.results[decoding][0].bytes / 1e6 / (cpu_s / os.cpu_count())

    def _writing(self):
        def ratio(what, who, beside, other):
            return {shown: ours / theirs if ours and theirs else None
                    for shown in (f"{writing.DATA} {codec}" for codec in writing.CODECS)
                    for ours, theirs in [(self._figure(what, who, shown), self._figure(beside, other, shown))]}

        self._add_worst("writing: times encoding in process", 0.8,
                        ratio(writing.WRITE, d.FRAMEFS, writing.ENCODE, d.OURS))
        self._add_worst("encoding, all threads: times the reference library", 1,
                        ratio(writing.ENCODE, d.OURS, writing.ENCODE, d.REFERENCE))
        self._add_most("little writes: bytes stored, times those of the chunks", 1.1,
                       self.scale["overwrites"]["times_stored"], "")
        ours, plain = (self._figure(writing.CREATE, who, "") for who in (d.FRAMEFS, d.PLAIN))
        self._add_most("10,000 new files: time, times the plain filesystem's", 3,
                       plain / ours if ours and plain else None, "")

    def _limits(self):
        def share(frame, what):
            limit, speed = self.limit_mb_s(frame, what), self._figure(what, d.FRAMEFS, d.label(frame))
            return speed / limit if limit and speed else None

        self._add_worst("cold, one reader: share of the limit", 0.8,
                        {d.label(f): share(f, d.SEQUENTIAL) for f in data.all_frames()})
        # One reader is one thread, so no server can be faster than that thread, however many CPUs
        # are idle.
        self._add_worst("cold, one reader: share of the null server", 0.8,
                        {d.label(f): self._ratio(d.SEQUENTIAL, f, d.NULL, "") for f in data.all_frames()
                         if f.codec == "lz4"})
        self._add_worst("cold, 4 readers of 4 files: share of the limit", 0.85,
                        {d.label(d.SHARED): share(d.SHARED, d.FOUR_FILES)})

    def _peers(self):
        float_lz4, float_zstd, text_zstd = d.DETAILED
        for frame, who, least in ((float_lz4, "squashfs", 1.5), (float_lz4, "EROFS (lz4hc)", 0.9),
                                  (float_zstd, "squashfs", 2.5), (text_zstd, "squashfs", 1.4)):
            shown = f"{frame.data} {frame.codec}"
            self._add_worst(f"cold, {shown}: times {who}", least,
                            {shown: self._ratio(d.SEQUENTIAL, frame, who, shown)})
        for who in ("squashfuse", "dwarfs"):
            ratios = {}
            for key in self.results:
                if key.who == who:
                    kind, codec = key.data.split()
                    frame = data.Frame(kind, codec, data.PEER_BLOCK)
                    ratios[f"{key.what}, {key.data}"] = self._ratio(key.what, frame, who, key.data)
            self._add_worst(f"every figure: times {who}", 1.5, ratios)

    def _random(self):
        ratios = {d.label(f): self._ratio(d.BLOCKS_4K, f, "squashfs", f"{f.data} {f.codec}") for f in d.DETAILED}
        self._add_worst("random 4 KiB, cold, each in another block: times squashfs", 1, ratios)
        ratios = {d.label(f): self._ratio(d.DENSE_4K, f, "squashfs", f"{f.data} {f.codec}") for f in d.DETAILED}
        self._add_worst("random 4 KiB, cold, each block three times: times squashfs", 1, ratios)
        ratios = {d.label(f): self._ratio(d.BLOCKS_4K, f, d.REFERENCE, d.label(f)) for f in d.DETAILED}
        self._add_worst("the same: times the reference library's slice reads", 1, ratios)

    def _warm(self):
        self._add_worst("warm: share of reading the plain file", 0.9,
                        {d.label(f): self._ratio(d.WARM, f, d.PLAIN, f.data) for f in d.DETAILED})
        self._add_worst("warm: share of the null server", 0.9,
                        {d.label(f): self._ratio(d.WARM, f, d.NULL, "") for f in d.DETAILED})

    def _decoding(self):
        def ratio(codec, name):
            shown = f"{codec} {name}"
            ours = self._figure(d.FILTER_DECODE, d.OURS, shown)
            theirs = self._figure(d.FILTER_DECODE, d.REFERENCE, shown)
            return ours / theirs if ours and theirs else None

        self._add_worst("decoding, 1 thread: times the reference library", 1,
                        {f"{c} {n}": ratio(c, n) for c in data.CODECS for n in data.FILTERS if c != "zlib"})
        self._add_worst("decoding zlib, 1 thread: times the reference library", 1.3,
                        {f"zlib {n}": ratio("zlib", n) for n in data.FILTERS})

    def _scale(self):
        many = self.scale["many"]
        self._add_most("100,000 frames: mount", 0.05, many["mount"], "s")
        self._add_most("100,000 frames: ls", 1, many["ls"], "s")
        self._add_most("100,000 frames: ls -l, cold", 3, many["ls -l, cold"], "s")
        self._add_most("100,000 frames: ls -l, warm", 1, many["ls -l, warm"], "s")
        budget = CACHE_MIB + MEMORY_BESIDE_CACHE_MIB
        for what, name in (("100,000 frames", "many"), (f"a frame of {self.scale['virtual_gib']} GiB", "virtual"),
                           ("random reads", "random")):
            self._add_most(f"memory after {what}", budget, self.scale[name]["resident_mib"], "MiB")
