"""Mounts of a web server behind a link with latency: rates, requests and bytes.

The server is nginx on this machine, behind framefs_link_proxy, whose ledger counts all requests.
framefs is compared with a bare client (framefs_fetch_rate), and with local mounts of framefs over
rclone (without and with a full cache) and over s3fs, which do the same work with another network
part.  For s3fs, nginx answers the requests of S3 that need no signature; framefs reads from that
server, too.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

import mounts
import remote_keys
import remote_peers
import remote_random
import remote_slices
from data import MIB, PEER_BLOCK, Frame, make, run
from measure import Key, measure, run_rounds
from remote_peers import FRAMEFS, Contestant
from remote_report import CLIENT, FRAMEFS_S3, LISTED, READERS, SEQUENTIAL, TOGETHER, RemoteGoals
from scale import resident_mib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from link_proxy import LinkProxy, most_in_flight  # noqa: E402

FRAMES = (Frame("float", "lz4", PEER_BLOCK), Frame("float", "zstd", PEER_BLOCK), Frame("text", "zstd", PEER_BLOCK))
CONNECTIONS = 16


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


# ------------------------------------------------------------------------------------- contestants

class Bench:
    def __init__(self, programs, all_data, folder, proxy, latency_ms, progress):
        self.programs = programs
        self.all_data = all_data
        self.folder = folder
        self.proxy = proxy
        self.latency_ms = latency_ms
        self.progress = progress
        self.parts = make_parts(all_data)
        write_bucket_lists(folder, all_data.folder, [all_data.frames.name, self.parts[0].parent.name,
                                                     remote_slices.make_array(all_data).parent.name])

    def url(self, path, listing="json"):
        """The URL of a folder with data."""
        return f"{self.proxy.url}/{listing}/{path.relative_to(self.all_data.folder)}"

    def mount(self, folder, *options):
        return mounts.remote(self.programs["framefs"], self.url(folder), self.folder / "mnt-remote", *options)

    def mount_s3(self, folder):
        return mounts.remote(self.programs["framefs"], f"s3://{folder.name}", self.folder / "mnt-remote",
                             "--endpoint", self.proxy.url, "--anonymous")

    def framefs(self, folder):
        mount = self.mount(folder)
        return Contestant(FRAMEFS, mount.mounted, mount.mountpoint)

    def framefs_over(self, who, folder):
        """A local mount of framefs over that of a peer."""
        raw, point = self.folder / "mnt-peer", self.folder / "mnt-over"

        @contextlib.contextmanager
        def mounted():
            with remote_peers.mounted(who, raw, remote_peers.http(self.url(folder, "html")),
                                      (self.proxy.url, folder.name)) as pid, \
                    mounts.framefs(self.programs["framefs"], raw, point).mounted():
                yield pid
        return Contestant(remote_peers.over(who), mounted, point, ends_its_requests=who == remote_peers.S3FS)

    def contestants(self, folder):
        return [self.framefs(folder), *(self.framefs_over(who, folder) for who in remote_peers.installed())]

    # --- Rates

    def client(self, paths):
        return lambda: measure([self.programs["fetch_rate"], CONNECTIONS, os.cpu_count(), self.url(paths[0].parent),
                                *paths])

    def read_by_framefs(self, paths, readers, ledgers, mount):
        def read():
            with mount.mounted() as pid:
                self.proxy.requests()
                sample = measure([self.programs["reader"], "sequential", MIB, readers,
                                  *(mount.mountpoint / path.stem for path in paths)], pid)
                ledgers.append((self.proxy.requests(), resident_mib(pid, "VmHWM")))
            return sample
        return read

    def read_by_peer(self, contestant, paths, readers):
        def read():
            with contestant.mounted() as pid:
                sample = measure([self.programs["reader"], "sequential", MIB, readers,
                                  *(contestant.mountpoint / path.stem for path in paths)], pid)
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
            folder = paths[0].parent
            tasks[Key(what, FRAMEFS, shown)] = self.read_by_framefs(paths, readers, ledgers[what, shown],
                                                                    self.mount(folder))
            tasks[Key(what, CLIENT, shown)] = self.client(paths)
            tasks[Key(what, FRAMEFS_S3, shown)] = self.read_by_framefs(paths, readers, [], self.mount_s3(folder))
            for who in remote_peers.installed():
                peer = self.framefs_over(who, folder)
                tasks[Key(what, peer.name, shown)] = self.read_by_peer(peer, paths, readers)
        results = run_rounds(tasks, runs, lambda text: self.progress(f"{self.latency_ms} ms, {text}"))
        stored = {(what, shown): sum(path.stat().st_size for path in paths) for what, shown, paths, _ in jobs}
        return results, ledgers, stored

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


# -------------------------------------------------------------------------------------- the figures

def rates(bench, runs):
    results, ledgers, stored = bench.rates(runs)
    rows = []
    for (what, shown), taken in ledgers.items():
        row = {"what": what, "data": shown, "requests": len(taken[-1][0]),
               "fetched": max(sum(r.bytes for r in ledger) for ledger, _ in taken) / stored[what, shown],
               "memory_mib": max(memory for _, memory in taken)}
        row["mb_s"] = {key.who: round(results.speed(key).median, 1) for key in results if key[::2] == (what, shown)}
        # Of all processes, also server and proxy, in seconds.
        row["cpu_s"] = {who: round(results.system_cpu_s(Key(what, who, shown)), 2) for who in (FRAMEFS, CLIENT)}
        rows.append(row)
    return {"rates": rows}


def random_reads(bench, _):
    rows, beside = [], []
    for frame in FRAMES:
        folder = bench.all_data.frame_path(frame).parent
        rows.append(remote_random.costs(bench, frame, bench.framefs(folder)))
        for contestant in bench.contestants(folder):
            bench.progress(f"{bench.latency_ms} ms, random reads of {frame.name}: {contestant.name}")
            beside.append(remote_random.times(bench, frame, contestant))
    return {"random": rows, "random_beside": beside}


# By the names of their parts, as --only takes them: functions of the bench and the number of runs.
PARTS = {"rates": rates, "random": random_reads,
         "slices": lambda bench, runs: {"slices": remote_slices.measure(bench, runs)},
         "listings": lambda bench, _: {"listing": bench.listings()},
         "keys": lambda bench, _: {"lookups": remote_keys.lookups(bench), "walk": remote_keys.walk(bench)},
         "restart": lambda bench, _: {"restart_bytes": bench.restart()}}


def measure_all(programs, all_data, folder, latencies, rate_mb_s, runs, only, progress):
    """One object for each latency, with the figures of the chosen parts and their goals."""
    all_data.make_only(FRAMES)
    all_figures = []
    with nginx(folder, all_data.folder) as port, LinkProxy(programs["link_proxy"], port) as proxy:
        proxy.set_rate(rate_mb_s * 1_000_000)
        for latency in latencies:
            proxy.set_latency(latency)
            bench = Bench(programs, all_data, folder, proxy, latency, progress)
            figures = {"latency_ms": latency}
            for part, measure_part in PARTS.items():
                if not only or part in only:
                    progress(f"{latency} ms, {part}")
                    figures |= measure_part(bench, runs)
            figures["goals"] = [goal._asdict() for goal in RemoteGoals(figures).judge()]
            all_figures.append(figures)
    return {"rate_mb_s": rate_mb_s, "latencies": all_figures}
