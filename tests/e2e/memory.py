"""The memory of a daemon, and what fs/SEMANTICS.md promises of it."""

import os
import pathlib
import re

THREADS = os.cpu_count()


def _status_mib(pid, field):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1024


def resident_mib(pid):
    return _status_mib(pid, "VmRSS")


def peak_mib(pid):
    return _status_mib(pid, "VmHWM")


def promised_mib(cache_mib, overlay_mib, chunk_mib, threads=THREADS):
    """`chunk_mib`: the size of the largest chunk that is being stored."""
    return cache_mib + overlay_mib + 64 + 4 * threads + 2 * chunk_mib
