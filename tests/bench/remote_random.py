"""Random reads of 4 KiB: what each of them costs framefs, and how long it takes others."""

import mmap
import os
import random
import statistics
import sys
import pathlib
import time
from typing import NamedTuple

from data import PEER_BLOCK
from remote_layout import Layout

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from link_proxy import round_trips  # noqa: E402

KINDS = ("first", "later", "again")
PAGE = mmap.mmap(-1, 4096)  # aligned, as O_DIRECT demands


class Touch(NamedTuple):
    kind: str
    offset: int
    needed: int  # the stored bytes of the block, and for a first touch of the chunk's table


def touches(layout):
    """In each chunk a first read, a later one in another block, and the first one again."""
    order = random.Random(5)
    for number in order.sample(range(len(layout.chunks)), len(layout.chunks)):
        chunk = layout.chunks[number]
        block, other = order.sample(range(len(chunk.blocks)), 2)
        page = order.randrange(PEER_BLOCK // 4096)
        for kind, of in zip(KINDS, (block, other, block)):
            needed = chunk.blocks[of][1] + (chunk.table_bytes if kind == "first" else 0)
            yield Touch(kind, number * layout.chunk_bytes + of * PEER_BLOCK + page * 4096, needed)


class Cost(NamedTuple):
    requests: int
    round_trips: int
    bytes_share: float  # the bytes fetched, for each byte that the read needs
    seconds: float


def timed_read(fd, offset):
    """Without help from the kernel's cache."""
    begin = time.perf_counter()
    os.preadv(fd, [PAGE], offset)
    return time.perf_counter() - begin


def opened(path):
    os.stat(path)
    return os.open(path, os.O_RDONLY | os.O_DIRECT)


def costs(bench, frame, contestant):
    """The requests and the bytes of each read.  They are awaited, so that a later read does not
    share them."""
    path = bench.all_data.frame_path(frame)
    layout = Layout.of(bench.programs["framefs"], path)
    found = {kind: [] for kind in KINDS}
    with contestant.mounted():
        os.stat(contestant.mountpoint / path.stem)
        looking = bench.proxy.requests()
        fd = opened(contestant.mountpoint / path.stem)
        opening = bench.proxy.requests()
        for touch in touches(layout):
            seconds = timed_read(fd, touch.offset)
            # Without a listing that has become old.
            ledger = [request for request in bench.proxy.requests() if request.range]
            found[touch.kind].append(Cost(len(ledger), round_trips(ledger),
                                          sum(r.bytes for r in ledger) / touch.needed, seconds))
        os.close(fd)
    return {"who": contestant.name, "data": f"{frame.data} {frame.codec}", "open_requests": len(opening),
            "bytes_before": sum(r.bytes for r in looking + opening),
            **{kind: summary(of_kind) for kind, of_kind in found.items()}}


def summary(of_kind):
    return {"requests": max(cost.requests for cost in of_kind),
            "mean_requests": round(statistics.mean(cost.requests for cost in of_kind), 2),
            "one_round_trip": round(sum(cost.round_trips <= 1 for cost in of_kind) / len(of_kind), 3),
            "at_most_two": round(sum(cost.requests <= 2 for cost in of_kind) / len(of_kind), 3),
            "bytes": round(statistics.mean(cost.bytes_share for cost in of_kind), 2),
            "most_bytes": round(max(cost.bytes_share for cost in of_kind), 2),
            "median_ms": round(1000 * statistics.median(cost.seconds for cost in of_kind), 2)}


def times(bench, frame, contestant):
    """The time of the same reads one after another, and what all of them and the open fetch.
    rclone and s3fs also fetch what they expect to be read."""
    path = bench.all_data.frame_path(frame)
    layout = Layout.of(bench.programs["framefs"], path)
    found = {kind: [] for kind in KINDS}
    needed = 0
    with contestant.counted(bench.proxy) as ledger:
        begin = time.perf_counter()
        fd = opened(contestant.mountpoint / path.stem)
        open_s = time.perf_counter() - begin
        for touch in touches(layout):
            found[touch.kind].append(timed_read(fd, touch.offset))
            needed += touch.needed if touch.kind != "again" else 0
        os.close(fd)
    return {"who": contestant.name, "data": f"{frame.data} {frame.codec}", "open_ms": round(1000 * open_s, 1),
            **{f"{kind}_ms": round(1000 * statistics.median(seconds), 2) for kind, seconds in found.items()},
            "all_s": round(sum(sum(seconds) for seconds in found.values()), 2), "requests": len(ledger),
            "mb": round(sum(r.bytes for r in ledger) / 1e6, 2), "needed_mb": round(needed / 1e6, 2)}


def as_text(rows, beside):
    lines = [f"{'4 KiB':14}{'data':14}{'':20}{'ms':>8}{'requests':>10}{'most':>6}{'at most 2':>11}"
             f"{'one round trip':>16}{'bytes':>8}{'most':>8}{'MB until open':>15}"]
    for row in rows:
        for kind in KINDS:
            of = row[kind]
            lines.append(f"{kind:14}{row['data']:14}{row['who']:20}{of['median_ms']:>8.1f}{of['mean_requests']:>10.2f}"
                         f"{of['requests']:>6}{of['at_most_two']:>11.0%}{of['one_round_trip']:>16.0%}"
                         f"{of['bytes']:>8.2f}{of['most_bytes']:>8.2f}{row['bytes_before'] / 1e6:>15.2f}")
    lines += ["", f"{'4 KiB, in turn':14}{'':32}{'open ms':>9}" + "".join(f"{kind + ' ms':>10}" for kind in KINDS)
              + f"{'all s':>8}{'requests':>10}{'MB':>9}{'needed MB':>11}"]
    for row in beside:
        lines.append(f"{row['data']:14}{row['who']:32}{row['open_ms']:>9.1f}"
                     + "".join(f"{row[kind + '_ms']:>10.2f}" for kind in KINDS)
                     + f"{row['all_s']:>8.2f}{row['requests']:>10}{row['mb']:>9.2f}{row['needed_mb']:>11.2f}")
    return lines
