"""One key looked up among very many, and a walk through a tree of keys, in a bucket of S3."""

import contextlib
import http.client
import math
import pathlib
import subprocess
import sys
import time
import urllib.parse

import mounts
import remote_peers
from remote_peers import FRAMEFS, Contestant
from scale import resident_mib

# Behind the modules of this folder, which has a data.py, too.
sys.path += [str(pathlib.Path(__file__).resolve().parents[1] / name) for name in ("e2e", "support")]
from link_proxy import LinkProxy, round_trips  # noqa: E402
from made_up_keys import MadeUpKeys  # noqa: E402
from object_server import BUCKET  # noqa: E402

COUNTS = (100_000, 1_000_000)
TREE = (1000, 1000)  # folders, and keys in each
KEYS_OF_TREE = math.prod(TREE)
SUFFIX = ".b2frame"
FRAME, OTHER_FILE = "frame", "other file"


@contextlib.contextmanager
def bucket(bench, keys):
    """Serves keys behind a link of their own.  Yields the proxy."""
    with keys.serve(check_signatures=False) as server, \
            LinkProxy(bench.programs["link_proxy"], server.port) as proxy:
        proxy.set_latency(bench.latency_ms)
        yield proxy


def contestants(bench, url):
    """Mounts of the bucket."""
    own = mounts.remote(bench.programs["framefs"], f"s3://{BUCKET}", bench.folder / "mnt-remote", "--endpoint", url,
                        "--anonymous")
    point = bench.folder / "mnt-peer"
    return [Contestant(FRAMEFS, own.mounted, own.mountpoint), *(
        Contestant(who, lambda who=who: remote_peers.mounted(who, point, remote_peers.s3(url, BUCKET), (url, BUCKET)),
                   point)
        # To look a name up, rclone does not need a cache of bytes.
        for who in remote_peers.installed() if who != remote_peers.RCLONE_FULL)]


def lookups(bench):
    """The costs of one key among others.  To other programs, a frame is a file like any other."""
    frame = bench.parts[0].read_bytes()
    rows = []
    for count in COUNTS:
        for kind, keys in ((FRAME, MadeUpKeys((count,), frame, SUFFIX)), (OTHER_FILE, MadeUpKeys((count,)))):
            with bucket(bench, keys) as proxy:
                for contestant in contestants(bench, proxy.url):
                    if kind == FRAME or contestant.name == FRAMEFS:
                        bench.progress(f"{bench.latency_ms} ms, one key among {count:,}: {contestant.name}")
                        rows += [{"keys": count, "kind": kind} | row for row in lookup(contestant, keys, proxy)]
    return rows


def lookup(contestant, keys, proxy):
    """The costs of a first stat and of a first read of a key, and of a stat of another key.
    framefs shows the decoded frame, the others its stored bytes."""
    path, other = (contestant.mountpoint / (name.removesuffix(SUFFIX) if contestant.name == FRAMEFS else name)
                   for name in map(keys.key, (keys.count // 2, keys.count // 3)))
    rows = []
    with contestant.mounted() as pid:
        for what, body in (("stat", path.stat), ("read", path.read_bytes), ("next stat", other.stat)):
            proxy.requests()
            begin = time.perf_counter()
            body()
            seconds = time.perf_counter() - begin
            ledger = proxy.requests()
            rows.append({"what": what, "who": contestant.name, "requests": len(ledger),
                         "round_trips": round_trips(ledger), "ms": round(1000 * seconds, 1),
                         "kb": round(sum(r.bytes for r in ledger) / 1e3, 1),
                         "resident_mib": round(resident_mib(pid, "VmHWM"))})
    return rows


def seconds_of_lists(url, keys):
    """The time of a client that fetches all lists of a tree, one after another, as `find` needs
    them."""
    link = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
    folders = [f"{keys.key(folder * TREE[1]).partition('/')[0]}%2F" for folder in range(TREE[0])]
    begin = time.perf_counter()
    for prefix in ["", *folders]:
        link.request("GET", f"/{BUCKET}?list-type=2&delimiter=%2F&max-keys=1000&prefix={prefix}")
        link.getresponse().read()
    return time.perf_counter() - begin


def walk(bench):
    """`find` through a tree of plain keys."""
    keys = MadeUpKeys(TREE)
    rows = []
    with bucket(bench, keys) as proxy:
        client_s = seconds_of_lists(proxy.url, keys)
        for contestant in contestants(bench, proxy.url):
            # s3fs asks for each key by itself.
            if contestant.name == remote_peers.S3FS:
                continue
            bench.progress(f"{bench.latency_ms} ms, a tree of {keys.count:,} keys: {contestant.name}")
            with contestant.mounted() as pid:
                proxy.requests()
                begin = time.perf_counter()
                found = subprocess.run(["find", contestant.mountpoint], check=True, stdout=subprocess.PIPE).stdout
                seconds = time.perf_counter() - begin
                ledger = proxy.requests()
                rows.append({"who": contestant.name, "names": found.count(b"\n"), "s": round(seconds, 2),
                             "client_s": round(client_s, 2), "requests": len(ledger),
                             "mb": round(sum(r.bytes for r in ledger) / 1e6, 1),
                             "resident_mib": round(resident_mib(pid, "VmHWM"))})
    return rows


def as_text(found, walked):
    return [f"{'one key among':14}{'':34}{'requests':>10}{'round trips':>13}{'ms':>10}{'KB':>10}{'MiB':>6}",
            *(f"{row['keys']:<14,}{row['kind']:12}{row['what']:10}{row['who']:12}{row['requests']:>10}"
              f"{row['round_trips']:>13}{row['ms']:>10.1f}{row['kb']:>10.1f}{row['resident_mib']:>6}"
              for row in found), "",
            f"{f'find in {TREE[0]:,} x {TREE[1]:,} keys':36}{'names':>10}{'s':>8}{'client s':>10}{'requests':>10}"
            f"{'MB':>8}{'MiB':>6}",
            *(f"{row['who']:36}{row['names']:>10,}{row['s']:>8.1f}{row['client_s']:>10.1f}{row['requests']:>10}"
              f"{row['mb']:>8.1f}{row['resident_mib']:>6}" for row in walked)]
