"""Many files and long files: the time of mounts and listings, and the memory of the daemon."""

import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from data import MIB
from measure import measure
from mounts import read_into_memory, wait_for, unmount

MANY = 100_000
VIRTUAL_GIB = 100
CACHE_MIB = 256  # the daemon's default


def daemon_of(mountpoint):
    """The process of a mount that was started in the background."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if os.fsencode(mountpoint) in (entry / "cmdline").read_bytes().split(b"\0"):
                    return int(entry.name)
    raise RuntimeError(f"no daemon serves {mountpoint}")


def resident_mib(pid, field="VmRSS"):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{field}:\s+(\d+) kB", status, re.M)[1]) / 1024


@contextlib.contextmanager
def mounted(program, source):
    """Yields the mountpoint, the process id and the seconds until the mount was ready."""
    mountpoint = tempfile.mkdtemp(prefix="framefs-bench-")
    begin = time.monotonic()
    subprocess.run([program, source, mountpoint], check=True)
    seconds = time.monotonic() - begin
    pid = daemon_of(mountpoint)
    try:
        yield pathlib.Path(mountpoint), pid, seconds
    finally:
        unmount(mountpoint)
        wait_for(lambda: not pathlib.Path(f"/proc/{pid}/fd/0").exists(), "the daemon to end")
        shutil.rmtree(mountpoint)


def seconds_of(*command):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    return time.monotonic() - begin


def many_files(program, all_data, runs, progress):
    """Medians of seconds, and the memory, for a folder of a hundred thousand frames."""
    folder = all_data.make_many(MANY)
    times = {"mount": [], "ls": [], "ls -l, cold": [], "ls -l, warm": []}
    for run in range(runs):
        progress(f"{MANY} files, {run + 1} of {runs}")
        with mounted(program, folder) as (mountpoint, pid, seconds):
            times["mount"].append(seconds)
            times["ls"].append(seconds_of("ls", mountpoint))
        with mounted(program, folder) as (mountpoint, pid, seconds):
            times["mount"].append(seconds)
            times["ls -l, cold"].append(seconds_of("ls", "-l", mountpoint))
            times["ls -l, warm"].append(seconds_of("ls", "-l", mountpoint))
            resident = resident_mib(pid)
    return {name: statistics.median(values) for name, values in times.items()} | {"resident_mib": resident}


def virtual_frame(program, reader, all_data, gib, progress):
    """The memory after reading all of a frame that stores none of its bytes, and the MB/s."""
    progress(f"a frame of {gib} GiB")
    folder = all_data.make_virtual(gib)
    with mounted(program, folder) as (mountpoint, pid, _):
        sample = measure([reader, "sequential", MIB, 1, mountpoint / "rules"], pid)
        return {"resident_mib": resident_mib(pid), "peak_mib": resident_mib(pid, "VmHWM"),
                "mb_s": sample.bytes / 1e6 / sample.wall_s}


def random_reads(program, reader, all_data, frames, progress):
    """The memory after random reads of several frames, most of whose blocks were not cached."""
    progress("memory after random reads")
    places = all_data.offsets("uniform", 65536)
    with mounted(program, all_data.frames) as (mountpoint, pid, _):
        for frame in frames:
            read_into_memory(all_data.frame_path(frame))
            measure([reader, "offsets", 65536, places, mountpoint / frame.name], pid)
        return {"resident_mib": resident_mib(pid), "peak_mib": resident_mib(pid, "VmHWM")}
