"""How long calls for some files take beside heavy work on others.

Each call is made on a mount and on the SOURCE behind it, beside the same load.  Both figures
contain the waits for the disk and the scheduler; framefs causes the difference.
"""

import ctypes
import mmap
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

import mounts
from data import MIB

LIMIT_S = 0.25  # the goal: no maximum lies further above that of SOURCE
PAUSE_S = 0.004  # between two calls of one kind
CHUNK = MIB
WRITERS = 12
OPTIONS = ("--overlay-size", "64M", "--rule", "level9-*:codec=zstd,clevel=9,typesize=1",
           "--rule", f"*:codec=zstd,clevel=2,typesize=1,chunksize={CHUNK}")
PIECE = 256 << 10


# ------------------------------------------------------------------------------------ the loads

def text(size):
    words = [b"%d" % (i * i) for i in range(5000)]
    chosen = random.Random(1).choices(words, k=size // 5)
    return b" ".join(chosen)[:size]


def write_all(fd, content, size):
    for at in range(0, size, PIECE):
        os.pwrite(fd, content[at % len(content):][:PIECE], at)


def write_with_level_9(mountpoint, _):
    content = text(8 * MIB)
    with open(mountpoint / "level9-large", "wb", buffering=0) as file:
        write_all(file.fileno(), content, 64 * MIB)


def write_over_budget(mountpoint, _):
    noise = os.urandom(4 * MIB)

    def write(name):
        with open(mountpoint / name, "wb", buffering=0) as file:
            write_all(file.fileno(), noise, 32 * MIB)

    writers = [threading.Thread(target=write, args=(f"noise-{i}",)) for i in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()


def compact(mountpoint, _):
    """The last close of a file of which most chunks have become holes compacts the frame."""
    keep_size, punch_hole = 1, 2
    size = 192 * MIB
    with open(mountpoint / "hollow", "wb", buffering=0) as file:
        write_all(file.fileno(), os.urandom(4 * MIB), size)
        os.fsync(file.fileno())
        libc = ctypes.CDLL(None, use_errno=True)
        for begin in range(0, size, 4 * CHUNK):
            libc.fallocate(file.fileno(), keep_size | punch_hole, ctypes.c_long(begin),
                           ctypes.c_long(3 * CHUNK))
    time.sleep(1)


def sync_filesystem(_, source):
    with open(source / "unrelated", "wb", buffering=0) as file:
        write_all(file.fileno(), os.urandom(4 * MIB), 128 * MIB)
        ctypes.CDLL(None).syncfs(file.fileno())


def sync_large_file(mountpoint, _):
    with open(mountpoint / "synced", "wb", buffering=0) as file:
        write_all(file.fileno(), os.urandom(4 * MIB), 64 * MIB)
        os.fsync(file.fileno())


def rename_over(mountpoint, _):
    folder = mountpoint / "renames"
    with open(folder / "next", "wb", buffering=0) as file:
        write_all(file.fileno(), os.urandom(4 * MIB), 8 * MIB)
    os.rename(folder / "next", folder / "name")


LOADS = {
    "no load": None,
    "a writer with zstd level 9": write_with_level_9,
    f"{WRITERS} writers over the budget": write_over_budget,
    "compaction": compact,
    "syncfs of 128 MiB": sync_filesystem,
    "fsync of 64 MiB": sync_large_file,
    "renames over a file": rename_over,
}


def run_load(name, mountpoint, source):
    """The body of the process that makes the load; ends when its standard input does."""
    ended = threading.Event()

    def wait_for_end():
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    print("begins", flush=True)
    while not ended.is_set():
        LOADS[name](mountpoint, source)


# ------------------------------------------------------------------------------------ the calls

PIECES = os.urandom(MIB // 2) + bytes(MIB // 2)
PAGE = mmap.mmap(-1, 4096)  # aligned, as O_DIRECT demands; nobody looks at its bytes


def read_directly(fd, _):
    os.preadv(fd, [PAGE], random.randrange(200) * 4096)


def stat_file(_, path):
    os.stat(path)


def look_up(_, path):
    try:
        os.stat(path.parent / "renames" / f"missing-{random.randrange(1 << 40)}")
    except FileNotFoundError:
        pass


def write_little(fd, _):
    os.pwrite(fd, b"some bytes", random.randrange(1000))


def write_and_sync(fd, _):
    os.pwrite(fd, b"some bytes", random.randrange(1000))
    os.fsync(fd)


def write_much(fd, _):
    os.pwrite(fd, PIECES, 0)


def start_program(fd, _):
    os.pwrite(fd, b"some bytes", random.randrange(1000))
    subprocess.run(["/bin/true"], check=True)  # closes its copy of the descriptor


CALLS = {
    "read 4 KiB, O_DIRECT": (read_directly, "read", os.O_RDONLY | os.O_DIRECT),
    "stat": (stat_file, "read", os.O_RDONLY),
    "look-up in a directory of renames": (look_up, "read", os.O_RDONLY),
    "write 10 bytes": (write_little, "written", os.O_RDWR),
    "write 10 bytes and fsync": (write_and_sync, "synced-file", os.O_RDWR),
    "write 1 MiB of level 9": (write_much, "level9-written", os.O_RDWR),
    "fork and exec by a writer": (start_program, "level9-written", os.O_RDWR),
}


def measure_call(call, path, flags, ended, times):
    fd = os.open(path, flags)
    while not ended.is_set():
        begin = time.perf_counter()
        call(fd, path)
        times.append(time.perf_counter() - begin)
        time.sleep(PAUSE_S)
    os.close(fd)


def figures(times):
    ordered = sorted(times)
    return {"calls": len(ordered), "p50": ordered[len(ordered) // 2],
            "p99": ordered[len(ordered) * 99 // 100], "max": ordered[-1]}


def measure_beside(name, mountpoint, source, seconds):
    """The figures of all calls beside one load, for the mount and for SOURCE."""
    load = None
    if LOADS[name]:
        load = subprocess.Popen([sys.executable, __file__, name, mountpoint, source],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        load.stdout.readline()
    ended = threading.Event()
    times = {}
    threads = []
    for call_name, (call, file_name, flags) in CALLS.items():
        for place, folder in (("framefs", mountpoint), ("SOURCE", source)):
            times[call_name, place] = taken = []
            path = folder / (file_name if place == "framefs" else f"plain-{file_name}")
            threads.append(threading.Thread(target=measure_call,
                                            args=(call, path, flags, ended, taken)))
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    ended.set()
    for thread in threads:
        thread.join()
    if load:
        load.stdin.close()
        load.wait()
    return {call_name: {place: figures(times[call_name, place]) for place in ("framefs", "SOURCE")}
            for call_name in CALLS}


def measure(program, folder, seconds, progress):
    """Figures by load, call and place."""
    results = {}
    for name in LOADS:
        progress(f"calls beside: {name}")
        source = folder / "stalls-source"
        subprocess.run(["rm", "-rf", source], check=True)
        (source / "renames").mkdir(parents=True)
        content = text(MIB)
        daemon = mounts.Daemon("framefs", folder / "mnt-stalls",
                               [program, "-f", *OPTIONS, source, folder / "mnt-stalls"])
        with daemon.mounted():
            for file_name in ("read", "written", "synced-file", "level9-written"):
                (daemon.mountpoint / file_name).write_bytes(content)
                (source / f"plain-{file_name}").write_bytes(content)
            results[name] = measure_beside(name, daemon.mountpoint, source, seconds)
        subprocess.run(["rm", "-rf", source], check=True)
    return results


def as_text(results):
    lines = [f"{'beside':30} {'call':34} {'framefs p50':>11} {'p99':>8} {'max':>8}   "
             f"{'SOURCE p50':>10} {'p99':>8} {'max':>8}   [ms]"]
    for load, calls in results.items():
        for call, places in calls.items():
            ours, theirs = places["framefs"], places["SOURCE"]
            row = [f"{1000 * place[key]:{width}.1f}" for place, widths in
                   ((ours, (11, 8, 8)), (theirs, (10, 8, 8)))
                   for key, width in zip(("p50", "p99", "max"), widths)]
            is_missed = ours["max"] > theirs["max"] + LIMIT_S
            lines.append(f"{load:30} {call:34} {row[0]} {row[1]} {row[2]}   "
                         f"{row[3]} {row[4]} {row[5]}" + ("   above the limit" if is_missed else ""))
    return "\n".join(lines)


if __name__ == "__main__":
    run_load(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
