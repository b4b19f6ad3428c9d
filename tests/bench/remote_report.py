"""The goals of mounts of a web server, and the figures as text."""

import remote_keys
import remote_peers
import remote_random
import remote_slices
from goals import MEMORY_BESIDE_CACHE_MIB, Goal
from remote_peers import FRAMEFS
from scale import CACHE_MIB

READERS = 64
LISTED = 10_000
STORED_MEMORY_MIB = 128  # the budget of a mount for stored bytes
SEQUENTIAL, TOGETHER = "sequential", f"{READERS} readers"
CLIENT, FRAMEFS_S3 = "client", "framefs, S3"
OVER_RCLONE, OVER_FULL, OVER_S3FS = map(remote_peers.over, (remote_peers.RCLONE, remote_peers.RCLONE_FULL,
                                                            remote_peers.S3FS))
CONTESTANTS = (FRAMEFS, CLIENT, FRAMEFS_S3, OVER_RCLONE, OVER_FULL, OVER_S3FS)
# The round trip from which on framefs is to be faster than rclone.
FAR_MS = 50


class RemoteGoals:
    """The goals of one latency, as far as their figures are there."""

    def __init__(self, figures):
        self.figures = figures
        self.list = []

    def judge(self):
        for name, judge in (("rates", self._rates), ("random", self._random), ("random_beside", self._random_beside),
                            ("slices", self._slices), ("listing", self._listing), ("lookups", self._lookups),
                            ("walk", self._walk), ("restart_bytes", self._restart)):
            if name in self.figures:
                judge(self.figures[name])
        return self.list

    def _rates(self, rates):
        sequential = [row for row in rates if row["what"] == SEQUENTIAL]
        together = [row for row in rates if row["what"] == TOGETHER]
        self._least("sequential: share of the bare client's rate", 0.9, self._ratios(sequential, CLIENT))
        self._most("sequential: bytes fetched, times those stored", 1.02,
                   {row["data"]: row["fetched"] for row in sequential})
        self._least(f"{READERS} readers: share of the bare client's rate", 0.8, self._ratios(together, CLIENT))
        for who in (OVER_RCLONE, OVER_FULL):
            self._beside_rclone(f"sequential: times the rate of {who}", self._ratios(sequential, who))
        self._most("memory: MiB", CACHE_MIB + STORED_MEMORY_MIB + MEMORY_BESIDE_CACHE_MIB,
                   {"": round(max(row["memory_mib"] for row in rates))})

    def _random(self, rows):
        def each(kind, field):
            return {row["data"]: row[kind][field] for row in rows}
        self._most("open: requests", 2, {row["data"]: row["open_requests"] for row in rows})
        self._most("4 KiB, first in a chunk: requests", 2, each("first", "requests"))
        self._least("4 KiB, first in a chunk: share in one round trip", 0.8, each("first", "one_round_trip"))
        self._most("4 KiB, first in a chunk: mean bytes, times block and table", 2.5, each("first", "bytes"))
        self._most("4 KiB, later in the chunk: requests", 1, each("later", "requests"))
        self._most("4 KiB, later in the chunk: mean bytes, times the block", 1.25, each("later", "bytes"))
        self._most("4 KiB, again: requests", 0, each("again", "requests"))

    def _random_beside(self, rows):
        self._beside_rclone(f"4 KiB, all: times as fast as {OVER_FULL}", self._speed_ups(rows, "data", "all_s"))

    def _slices(self, rows):
        own = [row for row in rows if row["who"] == FRAMEFS]
        self._most("slice: time, times that of a bare client", 1.2, {row["what"]: row["times"] for row in own})
        self._most("slice: bytes, times those needed", 1.5, {row["what"]: row["bytes"] for row in own})
        # rclone fetches while the file is opened.
        self._beside_rclone(f"open and slice: times as fast as {OVER_FULL}", self._speed_ups(rows, "what", "both_ms"))

    def _listing(self, listing):
        self._least(f"ls -l of {LISTED:,} frames: requests in flight", 64, {"": listing["in_flight"]})
        self._most("ls -l again: requests", 10, {"": listing["again"]})

    def _lookups(self, rows):
        for kind, trips in ((remote_keys.FRAME, 2), (remote_keys.OTHER_FILE, 1)):
            self._most(f"stat of one key, {kind}: round trips", trips, {
                f"{row['what']} among {row['keys']:,}": row["round_trips"] for row in rows
                if row["kind"] == kind and "stat" in row["what"] and row["who"] == FRAMEFS})

    def _walk(self, rows):
        self._most(f"find among {remote_keys.KEYS_OF_TREE:,} keys: memory, MiB", 250,
                   {"": row["resident_mib"] for row in rows if row["who"] == FRAMEFS})

    def _restart(self, restart_bytes):
        self._most("restart with a warm disk cache: bytes fetched", 0, {"": restart_bytes})

    @staticmethod
    def _ratios(rows, other):
        """Of the rates of framefs, to those of another one that was measured."""
        return {row["data"]: row["mb_s"][FRAMEFS] / row["mb_s"][other] for row in rows if other in row["mb_s"]}

    @staticmethod
    def _speed_ups(rows, name, field):
        """The times over rclone with a full cache, if they were measured, in times of framefs."""
        own, other = ({row[name]: row[field] for row in rows if row["who"] == who} for who in (FRAMEFS, OVER_FULL))
        return {key: value / own[key] for key, value in other.items()}

    def _beside_rclone(self, what, ratios):
        if self.figures["latency_ms"] >= FAR_MS and ratios:
            self._least(what, 1.2, ratios)

    def _least(self, what, least, values):
        worst = min(values, key=values.get)
        self._add(what, f">= {least:g}", worst, values[worst], values[worst] >= least)

    def _most(self, what, most, values):
        worst = max(values, key=values.get)
        self._add(what, f"<= {most:g}", worst, values[worst], values[worst] <= most)

    def _add(self, what, wanted, worst, value, met):
        self.list.append(Goal(what, wanted, f"{value:.3g}" + (f" ({worst})" if worst else ""), met))


def rates_as_text(rows):
    lines = [f"{'MB/s':14}{'data':14}" + "".join(f"{who:>{len(who) + 2}}" for who in CONTESTANTS)
             + f"{'requests':>10}{'fetched':>9}{'CPU s':>8}{'client':>8}"]
    for row in rows:
        shown = {who: f"{speed:.0f}" for who, speed in row["mb_s"].items()}
        speeds = "".join(f"{shown.get(who, '-'):>{len(who) + 2}}" for who in CONTESTANTS)
        cpu = "".join(f"{row['cpu_s'][who]:>8.2f}" for who in (FRAMEFS, CLIENT))
        lines.append(f"{row['what']:14}{row['data']:14}{speeds}{row['requests']:>10}{row['fetched']:>9.3f}{cpu}")
    return lines


def as_text(document):
    lines = []
    for figures in document["latencies"]:
        rate = f", {document['rate_mb_s']:g} MB/s" if document["rate_mb_s"] else ""
        lines += [f"A round trip of {figures['latency_ms']:g} ms{rate}", ""]
        if "rates" in figures:
            lines += [*rates_as_text(figures["rates"]), ""]
        if "random" in figures:
            lines += [*remote_random.as_text(figures["random"], figures["random_beside"]), ""]
        if "slices" in figures:
            lines += [*remote_slices.as_text(figures["slices"]), ""]
        if "lookups" in figures:
            lines += [*remote_keys.as_text(figures["lookups"], figures["walk"]), ""]
        if listing := figures.get("listing"):
            lines += [f"ls -l of {LISTED:,} frames: {listing['cold_s']:.1f} s, {listing['requests']:,} requests; "
                      f"again: {listing['warm_s']:.1f} s, {listing['again']} requests", ""]
        lines.append(f"{'goal':66s}{'wanted':>12s}  measured")
        lines += [f"{goal['what']:66s}{goal['wanted']:>12s}  {goal['measured']}  {'met' if goal['met'] else 'NOT MET'}"
                  for goal in figures["goals"]]
        lines.append("")
    return "\n".join(lines)
