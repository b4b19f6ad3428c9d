"""Mounts of a web server behind a link with latency: rates, requests and bytes.

The server is nginx on this machine, behind framefs_link_proxy, whose ledger counts all requests.
framefs is compared with a bare client (framefs_fetch_rate), and with local mounts of framefs over
rclone and over s3fs, which do the same work with another network part.  For s3fs, nginx answers the
requests of S3 that need no signature; framefs reads from that server, too.
"""

import contextlib
import json
import mmap
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import numpy

import mounts
from data import MIB, PEER_BLOCK, Frame, make, run
from goals import MEMORY_BESIDE_CACHE_MIB, Goal
from measure import Key, measure, run_rounds
from remote_slices import KEYS, Grid, bucket_url, many_keys, one_key, slice_beside_client
from scale import CACHE_MIB, resident_mib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from link_proxy import LinkProxy, most_in_flight, round_trips  # noqa: E402

FRAMES = (Frame("float", "lz4", PEER_BLOCK), Frame("float", "zstd", PEER_BLOCK), Frame("text", "zstd", PEER_BLOCK))
ARRAY, ARRAY_CHUNK, ARRAY_BLOCK = (64, 512, 512), (64, 128, 128), (16, 32, 64)
# One slice of each kind that the benchmark of local arrays has.
SLICES = {"cube": (64, 64, 64), "corner": (64, 64, 4), "row": (1, 1, 512), "plane": (1, 512, 512),
          "plane across the rows": (64, 512, 1)}
CONNECTIONS = 16
READERS = 64
LISTED = 10_000
STORED_MEMORY_MIB = 128  # the budget of a mount for stored bytes
SEQUENTIAL, TOGETHER = "sequential", f"{READERS} readers"
FRAMEFS, CLIENT, RCLONE = "framefs", "client", "framefs over rclone"
FRAMEFS_S3, S3FS = "framefs, S3", "framefs over s3fs"
CONTESTANTS = (FRAMEFS, CLIENT, RCLONE, FRAMEFS_S3, S3FS)
PAGE = mmap.mmap(-1, 4096)  # aligned, as O_DIRECT demands


# ------------------------------------------------------------------------------- server and data

@contextlib.contextmanager
def nginx(folder, root):
    """Yields the port.  /json has listings for programs, /html pages of links.  Each folder with a
    list (write_bucket_lists) is a public bucket of S3, too."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "nginx.conf"
    paths = "".join(f"{name}_temp_path {folder}/nginx-temp; "
                    for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config.write_text(f"""
        daemon off; user root; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
        events {{ worker_connections 4096; }}
        http {{
          access_log off; sendfile on; keepalive_requests 1000000; {paths}
          server {{
            listen 127.0.0.1:{port}; autoindex on;
            location ^~ /json/ {{ alias {root}/; autoindex_format json; }}
            location ^~ /html/ {{ alias {root}/; }}
            location / {{ root {root}; types {{}} default_type application/octet-stream; }}
            location ~ ^/[^/]+/?$ {{
              if ($arg_prefix) {{ rewrite ^ /lists/nothing.xml last; }}
              rewrite ^/([^/]+) /lists/$1.xml last;
            }}
            location /lists/ {{ internal; root {folder}; types {{}} default_type application/xml; }}
          }}
        }}""")
    server = subprocess.Popen([program, "-c", config, "-p", folder, "-e", folder / "nginx.log"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
    try:
        mounts.wait_for(answers, "nginx")
        yield port
    finally:
        server.terminate()
        server.wait(mounts.DEADLINE_S)


def write_bucket_lists(folder, root, buckets):
    """Writes the answers of S3 to requests for the list of a bucket.  The ETags are those of
    nginx."""
    (folder / "lists").mkdir(exist_ok=True)

    def write(name, objects):
        (folder / "lists" / f"{name}.xml").write_text(
            f'<?xml version="1.0"?><ListBucketResult><Name>{name}</Name><IsTruncated>false</IsTruncated>'
            f'{"".join(objects)}</ListBucketResult>')
    write("nothing", [])  # below any folder of a bucket
    for bucket in buckets:
        objects = []
        for path in sorted((root / bucket).iterdir()):
            found = path.stat()
            time_text = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(found.st_mtime))
            objects.append(f"<Contents><Key>{path.name}</Key><LastModified>{time_text}</LastModified>"
                           f"<ETag>&quot;{int(found.st_mtime):x}-{found.st_size:x}&quot;</ETag>"
                           f"<Size>{found.st_size}</Size></Contents>")
        write(bucket, objects)


def make_parts(all_data):
    """Frames of one reader each.  Returns their paths."""
    folder = all_data.folder / f"parts-{all_data.mib}"
    plain = all_data.folder / f"parts-plain-{all_data.mib}"
    folder.mkdir(exist_ok=True)
    plain.mkdir(exist_ok=True)
    size = all_data.mib * MIB // READERS
    paths = [folder / f"{part:02}.b2frame" for part in range(READERS)]
    with open(all_data.plain / "float", "rb") as whole:
        for path in paths:
            (plain / path.stem).write_bytes(whole.read(size))
            make(path, lambda to, path=path: run(
                all_data.make_frame, "--codec", "zstd", "--typesize", 4, "--filter", "shuffle", "--split", "--chunk",
                MIB, "--block", PEER_BLOCK, plain / path.stem, to))
    return paths


def make_array(all_data):
    """The first part of the floats as an array.  Returns the path of its frame."""
    folder = all_data.folder / "array"
    folder.mkdir(exist_ok=True)
    make(folder / "plain", lambda path: path.write_bytes(
        (all_data.plain / "float").open("rb").read(4 * int(numpy.prod(ARRAY)))))
    make(folder / "cube.b2nd", lambda path: run(
        all_data.make_frame, "--codec", "lz4", "--typesize", 4, "--filter", "shuffle", "--split", "--dtype", "<f4",
        *(word for option, dims in (("--shape", ARRAY), ("--chunkshape", ARRAY_CHUNK), ("--blockshape", ARRAY_BLOCK))
          for word in (option, ",".join(map(str, dims)))), folder / "plain", path))
    return folder / "cube.b2nd"


class Layout(NamedTuple):
    """The places of a frame's chunks and blocks in its file."""
    chunk_bytes: int
    chunks: list  # for each chunk: the size of its header and table, and the sizes of its blocks

    @staticmethod
    def of(program, path):
        told = json.loads(subprocess.run([program, "info", "--json", "--chunks", path], check=True,
                                         capture_output=True).stdout)[0]
        content = path.read_bytes()
        return Layout(told["chunksize"], [
            (table, [size for _, size in places])
            for _, table, places in map(lambda chunk: blocks_of(content, chunk), told["chunk_list"])])


def blocks_of(content, chunk):
    """The offset of the chunk, the size of its header and table, and the places of its blocks.
    Source: chunk format, "Header" and "Offsets"."""
    offset, size = chunk["offset"], chunk["cbytes"]
    stored = content[offset:offset + size]
    nbytes, block = (int.from_bytes(stored[at:at + 4], "little") for at in (4, 8))
    count = -(-nbytes // block)
    starts = [int.from_bytes(stored[at:at + 4], "little") for at in range(32, 32 + 4 * count, 4)]
    ends = {start: end for start, end in zip(sorted(starts), [*sorted(starts)[1:], size])}
    return offset, 32 + 4 * count, [(start, ends[start] - start) for start in starts]


# ------------------------------------------------------------------------------------- contestants

class Bench:
    def __init__(self, programs, all_data, folder, proxy, latency_ms, progress):
        self.programs = programs
        self.all_data = all_data
        self.folder = folder
        self.proxy = proxy
        self.latency_ms = latency_ms
        self.progress = progress
        self.over = folder / "mnt-over"
        self.parts = make_parts(all_data)
        write_bucket_lists(folder, all_data.folder, [all_data.frames.name, self.parts[0].parent.name])

    def url(self, path, listing="json"):
        """The URL of a folder with data."""
        return f"{self.proxy.url}/{listing}/{path.relative_to(self.all_data.folder)}"

    def mount(self, folder, *options):
        return mounts.remote(self.programs["framefs"], self.url(folder), self.folder / "mnt-remote", *options)

    def mount_s3(self, folder):
        return mounts.remote(self.programs["framefs"], f"s3://{folder.name}", self.folder / "mnt-remote",
                             "--endpoint", self.proxy.url, "--anonymous")

    def rclone(self, folder):
        return mounts.Daemon("rclone", self.folder / "mnt-rclone", [
            "rclone", "mount", ":http:", self.folder / "mnt-rclone", "--http-url", self.url(folder, "html") + "/",
            "--read-only", "--config", "/dev/null"])

    def s3fs(self, folder):
        return mounts.Daemon("s3fs", self.folder / "mnt-s3fs", [
            "s3fs", folder.name, self.folder / "mnt-s3fs", "-f", "-o", "public_bucket=1", "-o", f"url={self.proxy.url}",
            "-o", "use_path_request_style"])

    @contextlib.contextmanager
    def mounted_over(self, raw):
        """A local mount of framefs over another mount.  Yields the process id of the other one."""
        with raw.mounted() as pid, mounts.framefs(self.programs["framefs"], raw.mountpoint, self.over).mounted():
            yield pid

    # --- Rates

    def client(self, paths):
        return lambda: measure([self.programs["fetch_rate"], CONNECTIONS, os.cpu_count(), self.url(paths[0].parent),
                                *paths])

    def framefs(self, paths, readers, ledgers, mount):
        def read():
            with mount.mounted() as pid:
                self.proxy.requests()
                sample = measure([self.programs["reader"], "sequential", MIB, readers,
                                  *(mount.mountpoint / path.stem for path in paths)], pid)
                ledgers.append((self.proxy.requests(), resident_mib(pid, "VmHWM")))
            return sample
        return read

    def framefs_over(self, raw, paths, readers):
        def read():
            with self.mounted_over(raw) as pid:
                sample = measure([self.programs["reader"], "sequential", MIB, readers,
                                  *(self.over / path.stem for path in paths)], pid)
                self.proxy.requests()
            return sample
        return read

    def rates(self, runs):
        """The samples, and for framefs the ledgers and the memory by data."""
        tasks, ledgers = {}, {}
        jobs = [(SEQUENTIAL, f"{frame.data} {frame.codec}", [self.all_data.frame_path(frame)], 1) for frame in FRAMES]
        jobs.append((TOGETHER, "float zstd", self.parts, READERS))
        for what, shown, paths, readers in jobs:
            ledgers[what, shown] = []
            tasks[Key(what, FRAMEFS, shown)] = self.framefs(paths, readers, ledgers[what, shown],
                                                            self.mount(paths[0].parent))
            tasks[Key(what, CLIENT, shown)] = self.client(paths)
            if shutil.which("rclone"):
                tasks[Key(what, RCLONE, shown)] = self.framefs_over(self.rclone(paths[0].parent), paths, readers)
            if shutil.which("s3fs"):
                tasks[Key(what, FRAMEFS_S3, shown)] = self.framefs(paths, readers, [], self.mount_s3(paths[0].parent))
                tasks[Key(what, S3FS, shown)] = self.framefs_over(self.s3fs(paths[0].parent), paths, readers)
        results = run_rounds(tasks, runs, lambda text: self.progress(f"{self.latency_ms} ms, {text}"))
        stored = {(what, shown): sum(path.stat().st_size for path in paths) for what, shown, paths, _ in jobs}
        return results, ledgers, stored

    # --- Random reads

    def random_reads(self, frame, mounted, mountpoint):
        """4 KiB each, without help from the kernel's cache: in each chunk a first one, a later one
        in another block, and the first one again."""
        path = self.all_data.frame_path(frame)
        layout = Layout.of(self.programs["framefs"], path)
        order = random.Random(5)
        chunks = order.sample(range(len(layout.chunks)), len(layout.chunks))
        found = {"first": [], "later": [], "again": []}
        with mounted:
            os.stat(mountpoint / path.stem)
            looking = self.proxy.requests()
            fd = os.open(mountpoint / path.stem, os.O_RDONLY | os.O_DIRECT)
            opening = self.proxy.requests()
            for chunk in chunks:
                table, blocks = layout.chunks[chunk]
                block, other = order.sample(range(len(blocks)), 2)
                page = order.randrange(PEER_BLOCK // 4096)
                for kind, number in (("first", block), ("later", other), ("again", block)):
                    begin = time.perf_counter()
                    os.preadv(fd, [PAGE], chunk * layout.chunk_bytes + number * PEER_BLOCK + page * 4096)
                    seconds = time.perf_counter() - begin
                    needed = blocks[number] + (table if kind == "first" else 0)
                    found[kind].append(Touch.of(self.proxy.requests(), seconds, needed))
            os.close(fd)
        return looking, opening, found

    # --- Slices of an array

    def slices(self, runs):
        """Slices of each kind, each through a new mount, and the medians of their figures.  The
        open of the file and the read of its header are timed apart, but their bytes count."""
        path = make_array(self.all_data)
        mount = self.mount(path.parent)
        told = json.loads(subprocess.run([self.programs["framefs"], "info", "--json", "--chunks", path], check=True,
                                         capture_output=True).stdout)[0]
        content = path.read_bytes()
        chunks = [blocks_of(content, chunk) for chunk in told["chunk_list"]]
        url = f"{self.url(path.parent)}/{path.name}"
        order = random.Random(7)
        rows = []
        for name, size in SLICES.items():
            taken = []
            for _ in range(runs):
                begin = [order.randrange(whole - part + 1) for whole, part in zip(ARRAY, size)]
                with mount.mounted():
                    self.proxy.requests()
                    times = [time.perf_counter()]
                    array = numpy.load(mount.mountpoint / "cube.npy", mmap_mode="r")
                    times.append(time.perf_counter())
                    numpy.array(array[tuple(slice(b, b + n) for b, n in zip(begin, size))])
                    times.append(time.perf_counter())
                    del array
                    ledger = self.proxy.requests()
                open_ms, ms = (1000 * float(step) for step in numpy.diff(times))
                row = {"open_ms": open_ms, "ms": ms, "requests": len(ledger), "round_trips": round_trips(ledger),
                       "mb": sum(r.bytes for r in ledger) / 1e6,
                       **slice_beside_client(url, chunks, Grid(ARRAY, ARRAY_CHUNK, ARRAY_BLOCK), begin, size)}
                taken.append(row | {"times": ms / row["client_ms"], "bytes": row["mb"] / row["needed_mb"]})
            rows.append({"what": name, "most_bytes": round(max(row["bytes"] for row in taken), 2),
                         **{field: round(statistics.median(row[field] for row in taken), 2) for field in taken[0]}})
        return rows

    def key_of_many(self):
        frame = self.parts[0].read_bytes()
        with many_keys(frame) as server:
            return one_key(server, mounts.remote(self.programs["framefs"], bucket_url(), self.folder / "mnt-remote",
                                                 "--endpoint", server.url, "--anonymous"))

    # --- Listings

    def listings(self):
        folder = self.all_data.make_many(LISTED)
        mount = self.mount(folder, "--attr-timeout", "0")
        seconds, ledgers = [], []
        with mount.mounted():
            self.proxy.requests()
            for _ in range(2):
                begin = time.perf_counter()
                subprocess.run(["ls", "-l", mount.mountpoint], check=True, stdout=subprocess.DEVNULL,
                               env={**os.environ, "LC_ALL": "C"})
                seconds.append(time.perf_counter() - begin)
                ledgers.append(self.proxy.requests())
        return {"cold_s": seconds[0], "warm_s": seconds[1], "requests": len(ledgers[0]),
                "in_flight": most_in_flight(ledgers[0]), "again": len(ledgers[1])}

    # --- Restart

    def restart(self):
        """The bytes that a second mount with the same disk cache fetches, beside the heads."""
        path = self.all_data.frame_path(FRAMES[1])
        cache = self.folder / "disk-cache"
        shutil.rmtree(cache, ignore_errors=True)
        mount = self.mount(path.parent, "--cache-dir", cache, "--cache-disk", "1G")
        for _ in range(2):
            with mount.mounted():
                self.proxy.requests()
                measure([self.programs["reader"], "sequential", MIB, 1, mount.mountpoint / path.stem])
                ledger = self.proxy.requests()
                mounts.wait_for(lambda: cached_bytes(cache) >= 0.97 * path.stat().st_size, "the disk cache")
        shutil.rmtree(cache)
        return sum(r.bytes for r in ledger if r.range and not r.range.startswith("bytes=0-"))


def cached_bytes(cache):
    return sum(segment.stat().st_size for segment in cache.glob("segment-*"))


class Touch(NamedTuple):
    requests: int
    round_trips: int
    bytes_share: float  # the bytes fetched, for each byte that the read needs
    seconds: float

    @staticmethod
    def of(ledger, seconds, needed):
        ledger = [request for request in ledger if request.range]  # no listing that has become old
        return Touch(len(ledger), round_trips(ledger), sum(r.bytes for r in ledger) / needed, seconds)


# -------------------------------------------------------------------------------------- the figures

def measure_latency(bench, runs):
    """All figures for one latency, as a JSON object."""
    results, ledgers, stored = bench.rates(runs)
    figures = {"latency_ms": bench.latency_ms, "rates": [], "random": [], "random_s3fs": [], "memory_mib": 0.0}
    for (what, shown), taken in ledgers.items():
        row = {"what": what, "data": shown, "requests": len(taken[-1][0]),
               "fetched": max(sum(r.bytes for r in ledger) for ledger, _ in taken) / stored[what, shown]}
        row |= {who: round(results.speed(Key(what, who, shown)).median, 1)
                for who in CONTESTANTS if results.get(Key(what, who, shown))}
        # Of all processes, also server and proxy, in seconds.
        row["cpu_s"] = {who: round(results.system_cpu_s(Key(what, who, shown)), 2) for who in (FRAMEFS, CLIENT)}
        figures["rates"].append(row)
        figures["memory_mib"] = max(figures["memory_mib"], *(memory for _, memory in taken))
    for frame in FRAMES:
        bench.progress(f"{bench.latency_ms} ms, random reads of {frame.name}")
        folder = bench.all_data.frame_path(frame).parent
        figures["random"].append(random_row(FRAMEFS, frame, *bench.random_reads(
            frame, bench.mount(folder).mounted(), bench.folder / "mnt-remote")))
        if shutil.which("s3fs"):
            figures["random_s3fs"].append(random_row(S3FS, frame, *bench.random_reads(
                frame, bench.mounted_over(bench.s3fs(folder)), bench.over)))
    bench.progress(f"{bench.latency_ms} ms, slices of an array")
    figures["slices"] = bench.slices(runs)
    bench.progress(f"{bench.latency_ms} ms, listings")
    figures["listing"] = bench.listings()
    bench.progress(f"{bench.latency_ms} ms, one key among {KEYS:,}")
    figures["key_of_many"] = bench.key_of_many()
    bench.progress(f"{bench.latency_ms} ms, restart")
    figures["restart_bytes"] = bench.restart()
    return figures


def random_row(who, frame, looking, opening, found):
    return {"who": who, "data": f"{frame.data} {frame.codec}", "open_requests": len(opening),
            "bytes_before": sum(r.bytes for r in looking + opening),
            **{kind: summary(touches) for kind, touches in found.items()}}


def summary(touches):
    return {"requests": max(t.requests for t in touches),
            "mean_requests": round(statistics.mean(t.requests for t in touches), 2),
            "one_round_trip": round(sum(t.round_trips <= 1 for t in touches) / len(touches), 3),
            "at_most_two": round(sum(t.requests <= 2 for t in touches) / len(touches), 3),
            "bytes": round(statistics.mean(t.bytes_share for t in touches), 2),
            "most_bytes": round(max(t.bytes_share for t in touches), 2),
            "median_ms": round(1000 * statistics.median(t.seconds for t in touches), 2)}


class RemoteGoals:
    """The goals of one latency."""

    def __init__(self, figures):
        self.figures = figures
        self.list = []

    def judge(self):
        rates, random_reads = self.figures["rates"], self.figures["random"]
        sequential = [row for row in rates if row["what"] == SEQUENTIAL]
        together = [row for row in rates if row["what"] == TOGETHER]
        self._least("sequential: share of the bare client's rate", 0.9, self._shares(sequential))
        self._most("sequential: bytes fetched, times those stored", 1.02,
                   {row["data"]: row["fetched"] for row in sequential})
        self._least(f"{READERS} readers: share of the bare client's rate", 0.8, self._shares(together))
        self._most("open: requests", 2, {row["data"]: row["open_requests"] for row in random_reads})

        def each(kind, field):
            return {row["data"]: row[kind][field] for row in random_reads}
        self._most("4 KiB, first in a chunk: requests", 2, each("first", "requests"))
        self._least("4 KiB, first in a chunk: share in one round trip", 0.8, each("first", "one_round_trip"))
        self._most("4 KiB, first in a chunk: mean bytes, times block and table", 2.5, each("first", "bytes"))
        self._most("4 KiB, later in the chunk: requests", 1, each("later", "requests"))
        self._most("4 KiB, later in the chunk: mean bytes, times the block", 1.25, each("later", "bytes"))
        self._most("4 KiB, again: requests", 0, each("again", "requests"))
        slices = self.figures["slices"]
        self._most("slice: time, times that of a bare client", 1.2, {row["what"]: row["times"] for row in slices})
        self._most("slice: bytes, times those needed", 1.5, {row["what"]: row["bytes"] for row in slices})
        listing = self.figures["listing"]
        self._least(f"ls -l of {LISTED:,} frames: requests in flight", 64, {"": listing["in_flight"]})
        self._most("ls -l again: requests", 10, {"": listing["again"]})
        self._most("restart with a warm disk cache: bytes fetched", 0, {"": self.figures["restart_bytes"]})
        self._most("memory: MiB", CACHE_MIB + STORED_MEMORY_MIB + MEMORY_BESIDE_CACHE_MIB,
                   {"": round(self.figures["memory_mib"])})
        return self.list

    @staticmethod
    def _shares(rows):
        return {row["data"]: row[FRAMEFS] / row[CLIENT] for row in rows}

    def _least(self, what, least, values):
        worst = min(values, key=values.get)
        self._add(what, f">= {least:g}", worst, values[worst], values[worst] >= least)

    def _most(self, what, most, values):
        worst = max(values, key=values.get)
        self._add(what, f"<= {most:g}", worst, values[worst], values[worst] <= most)

    def _add(self, what, wanted, worst, value, met):
        self.list.append(Goal(what, wanted, f"{value:.3g}" + (f" ({worst})" if worst else ""), met))


def measure_slices(bench, runs):
    """The figures of slices alone, for one latency."""
    bench.progress(f"{bench.latency_ms} ms, slices of an array")
    return {"latency_ms": bench.latency_ms, "slices": bench.slices(runs)}


def measure_all(programs, all_data, folder, latencies, rate_mb_s, runs, only, progress):
    """One object for each latency, with its goals, or with the figures of slices alone."""
    all_data.make_only(FRAMES)
    all_figures = []
    with nginx(folder, all_data.folder) as port, LinkProxy(programs["link_proxy"], port) as proxy:
        proxy.set_rate(rate_mb_s * 1_000_000)
        for latency in latencies:
            proxy.set_latency(latency)
            bench = Bench(programs, all_data, folder, proxy, latency, progress)
            if only:
                figures = measure_slices(bench, runs)
            else:
                figures = measure_latency(bench, runs)
                figures["goals"] = [goal._asdict() for goal in RemoteGoals(figures).judge()]
            all_figures.append(figures)
    return {"rate_mb_s": rate_mb_s, "latencies": all_figures}


# -------------------------------------------------------------------------------------------- text

def slices_as_text(slices):
    return [f"{'slice of an array':28}{'open ms':>9}{'ms':>8}{'client ms':>11}{'times':>7}{'requests':>10}"
            f"{'round trips':>13}{'MB':>8}{'needed MB':>11}{'bytes':>7}{'most':>6}",
            *(f"{row['what']:28}{row['open_ms']:>9.1f}{row['ms']:>8.1f}{row['client_ms']:>11.1f}{row['times']:>7.2f}"
              f"{row['requests']:>10.0f}{row['round_trips']:>13.0f}{row['mb']:>8.2f}{row['needed_mb']:>11.2f}"
              f"{row['bytes']:>7.2f}{row['most_bytes']:>6.2f}" for row in slices)]


def as_text(document):
    lines = []
    for figures in document["latencies"]:
        if "rates" not in figures:
            lines += [f"A round trip of {figures['latency_ms']:g} ms", "", *slices_as_text(figures["slices"]), ""]
            continue
        rate = f", {document['rate_mb_s']:g} MB/s" if document["rate_mb_s"] else ""
        lines += [f"A round trip of {figures['latency_ms']:g} ms{rate}", "",
                  f"{'MB/s':14}{'data':14}" + "".join(f"{who:>20}" for who in CONTESTANTS)
                  + f"{'requests':>10}{'fetched':>9}{'CPU s':>8}{'client':>8}"]
        for row in figures["rates"]:
            speeds = "".join(f"{f'{row[who]:.0f}' if who in row else '-':>20}" for who in CONTESTANTS)
            cpu = "".join(f"{row['cpu_s'][who]:>8.2f}" for who in (FRAMEFS, CLIENT))
            lines.append(f"{row['what']:14}{row['data']:14}{speeds}{row['requests']:>10}{row['fetched']:>9.3f}{cpu}")
        lines += ["", f"{'4 KiB':14}{'data':14}{'':20}{'ms':>8}{'requests':>10}{'most':>6}{'at most 2':>11}"
                      f"{'one round trip':>16}{'bytes':>8}{'most':>8}{'MB until open':>15}"]
        for row in figures["random"] + figures["random_s3fs"]:
            for kind in ("first", "later", "again"):
                of = row[kind]
                lines.append(f"{kind:14}{row['data']:14}{row['who']:20}{of['median_ms']:>8.1f}"
                             f"{of['mean_requests']:>10.2f}"
                             f"{of['requests']:>6}{of['at_most_two']:>11.0%}{of['one_round_trip']:>16.0%}"
                             f"{of['bytes']:>8.2f}{of['most_bytes']:>8.2f}{row['bytes_before'] / 1e6:>15.2f}")
        lines += ["", *slices_as_text(figures["slices"])]
        lines += ["", f"{f'one key among {KEYS:,}':28}{'requests':>10}{'round trips':>13}{'KB':>8}"]
        lines += [f"{row['what']:28}{row['requests']:>10}{row['round_trips']:>13}{row['kb']:>8.1f}"
                  for row in figures["key_of_many"]]
        listing = figures["listing"]
        lines += ["", f"ls -l of {LISTED:,} frames: {listing['cold_s']:.1f} s, {listing['requests']:,} requests; "
                      f"again: {listing['warm_s']:.1f} s, {listing['again']} requests", "",
                  f"{'goal':62s}{'wanted':>12s}  measured"]
        lines += [f"{goal['what']:62s}{goal['wanted']:>12s}  {goal['measured']}  {'met' if goal['met'] else 'NOT MET'}"
                  for goal in figures["goals"]]
        lines.append("")
    return "\n".join(lines)
