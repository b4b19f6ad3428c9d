"""Measures wall time, and the CPU time of the reader, of the daemon and of the whole machine."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    bytes: int
    reads: int
    wall_s: float
    reader_cpu_s: float
    daemon_cpu_s: float  # 0 if there is no daemon
    system_cpu_s: float  # of all processes during the measurement, in ticks


def process_cpu_s(pid):
    """User and system time of all threads, including those that have ended.  The clock of
    clock_getcpuclockid(3) is more precise than the ticks of /proc/PID/stat."""
    return time.clock_gettime((~pid << 3) | 2)


def system_cpu_s():
    user, nice, system, _idle, _iowait, irq, softirq = map(
        int, pathlib.Path("/proc/stat").read_text().split(maxsplit=8)[1:8])
    return (user + nice + system + irq + softirq) * TICK_S


class CpuMeter:
    """Measures the CPU time of the daemon and of the machine from its construction on."""

    def __init__(self, pid):
        self.pid = pid
        self.daemon_s = self._daemon_s()
        self.system_s = system_cpu_s()

    def _daemon_s(self):
        return process_cpu_s(self.pid) if self.pid else 0.0

    def read(self):
        """(daemon, system)"""
        system = system_cpu_s() - self.system_s
        return self._daemon_s() - self.daemon_s, system


def as_words(command):
    return [os.fspath(part) if isinstance(part, os.PathLike) else str(part) for part in command]


def measure(command, pid=None):
    """Runs one of the programs that print {"bytes", "reads", "wall_s", "cpu_s"}."""
    meter = CpuMeter(pid)
    result = subprocess.run(as_words(command), stdout=subprocess.PIPE, check=True)
    cpu = meter.read()
    told = json.loads(result.stdout)
    return Sample(told["bytes"], told["reads"], told["wall_s"], told["cpu_s"], *cpu)


def measure_command(command, reads, size, pid=None):
    """Runs any command.  It counts as `reads` reads of `size` bytes in all."""
    meter = CpuMeter(pid)
    begin = time.monotonic()
    process = subprocess.Popen(as_words(command), stdout=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    cpu = meter.read()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return Sample(size, reads, wall, used.ru_utime + used.ru_stime, *cpu)


class Key(NamedTuple):
    what: str  # the discipline
    who: str   # the contestant
    data: str  # "float lz4 128K"


class Spread(NamedTuple):
    median: float
    least: float
    most: float


def spread(values):
    values = list(values)
    return Spread(statistics.median(values), min(values), max(values))


class Results(dict):
    """Lists of samples by Key."""

    def speed(self, key):
        """MB/s."""
        return spread(s.bytes / 1e6 / s.wall_s for s in self[key])

    def rate(self, key):
        """Reads per second."""
        return spread(s.reads / s.wall_s for s in self[key])

    def cpu_s(self, key):
        """CPU time of reader and daemon together.  With a kernel filesystem, the reader's time
        includes the decompression."""
        return spread(s.reader_cpu_s + s.daemon_cpu_s for s in self[key]).median

    def system_cpu_s(self, key):
        return spread(s.system_cpu_s for s in self[key]).median


def run_rounds(tasks, runs, progress, drop=None):
    """`tasks` are functions by Key.  The tasks of a round alternate, so that slow minutes of the
    machine affect all of them.  The first round is not counted, because it is the first to touch
    the memory.  With `drop`, a task that fails is left out from then on, and `drop` gets its key
    and the error."""
    results = Results({key: [] for key in tasks})
    for round_ in range(runs + 1):
        for at, (key, task) in enumerate(tasks.items()):
            if key not in results:
                continue
            progress(f"round {round_} of {runs}, {at + 1} of {len(tasks)}: {' '.join(key)}")
            try:
                sample = task()
            except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
                if not drop:
                    raise
                drop(key, error)
                del results[key]
                continue
            if round_ > 0:
                results[key].append(sample)
    return results


def touch_memory(size):
    """Touches memory in advance: memory that is new to a virtual machine is slow to write first."""
    subprocess.run([sys.executable, "-c", f"bytearray(b'x') * {size}"], check=True)
