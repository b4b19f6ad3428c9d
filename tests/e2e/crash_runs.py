"""Records or kills daemons while files change randomly, and checks the files that remain.

scripts/crash runs this at length, test_crash.py briefly.
"""

import dataclasses
import os
import pathlib
import random
import shutil
import signal
import subprocess

import daemon
import data

PROGRAMS = daemon.FRAMEFS.parent / "tests"
RECORDER = PROGRAMS / "libframefs_crash_recorder.so"
GONE = 3  # exit code of the workload when the filesystem has gone


@dataclasses.dataclass(frozen=True)
class Plan:
    """The mount, its files, and the options of the workload."""

    name: str
    mount: tuple = ()  # options
    frames: tuple = ()  # options of framefs_make_frame for each existing frame
    workload: tuple = ()  # options
    replay: tuple = ()  # options
    verify: tuple = ()  # options


def rule(**keys):
    return ("--rule", "*:" + ",".join(f"{key}={value}" for key, value in keys.items()))


SPARSE = ("--sparse", "--chunk", "20000", "--block", "5000", "--codec", "lz4")
ARRAY = ("--shape", "120,150,3", "--chunkshape", "50,64,3", "--blockshape", "25,16,3", "--dtype", "<i4",
         "--typesize", "4", "--codec", "zstd", "--filter", "shuffle")

PLANS = (
    Plan("new files", (*rule(chunksize="16K"), "--commit-interval", "0.1")),
    Plan("one file, synced often", rule(chunksize="8K", codec="lz4"),
         workload=("--threads", "1", "--files", "1", "--syncs", "30")),
    Plan("many small files", rule(chunksize="4K"),
         workload=("--files", "30", "--size", "20000", "--write", "8000", "--syncs", "3")),
    Plan("frames that were there", (),
         (("--chunk", "32K", "--codec", "lz4"), ("--chunk", "12345", "--block", "1000", "--codec", "zlib"),
          ("--chunk", "64K", "--codec", "blosclz", "--typesize", "8", "--filter", "shuffle"))),
    Plan("sparse frames", (), (SPARSE, SPARSE, (*SPARSE, "--chunk", "7000")),
         ("--files", "2", "--size", "200000")),
    Plan("a small overlay", (*rule(chunksize="16K"), "--overlay-size", "256K"),
         workload=("--syncs", "2")),
    Plan("a kernel that caches", (*rule(chunksize="16K"), "-o", "writeback"), workload=("--loose", "--no-xattrs")),
    # Plain files are only as safe as the disk: torn writes are not undone.
    Plan("plain files too", ("--plain", "*[02468]", *rule(chunksize="16K")), workload=("--no-xattrs",),
         replay=("--losses", "nothing,all,ends"), verify=("--plain",)),
)


def make_frames(plan, source, folder):
    for number, options in enumerate(plan.frames):
        plain = folder / f"frame-{number}.plain"
        plain.write_bytes(data.random_walk(40_000, seed=number) + data.text(500))
        subprocess.run([PROGRAMS / "framefs_make_frame", *options, plain,
                        source / f"there-{number}.b2frame"], check=True)


def start_workload(plan, mountpoint, log, seed, operations):
    direct = () if "--loose" in plan.workload else ("--direct",)
    return subprocess.Popen([PROGRAMS / "framefs_crash_workload", mountpoint, log, "--seed", str(seed),
                             "--operations", str(operations), *direct, *plan.workload],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def check(command):
    """Runs a program that reports success by its exit code; returns its output."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        words = " ".join(str(word) for word in command)
        raise AssertionError(f"{words}\nexit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def record(plan, folder, seed, operations):
    """Records a daemon; returns the arguments for framefs_crash_replay."""
    source, initial = folder / "source", folder / "initial"
    mountpoint, log = folder / "mnt", folder / "record.log"
    source.mkdir()
    mountpoint.mkdir()
    make_frames(plan, source, folder)
    shutil.copytree(source, initial)
    environment = {"LD_PRELOAD": str(RECORDER), "FRAMEFS_RECORD_SOURCE": os.path.realpath(source),
                   "FRAMEFS_RECORD_LOG": str(log)}
    # The recorder writes its log, which lies outside SOURCE, from within the daemon.
    with daemon.Mount(source, mountpoint, "--no-sandbox", *plan.mount, environment=environment):
        workload = start_workload(plan, mountpoint, log, seed, operations)
        _, errors = workload.communicate(timeout=4 * daemon.DEADLINE_S)
        assert workload.returncode == 0, f"the workload, seed {seed}: {errors.decode()}"
    return [log, initial, "--final", source]


def replay(plan, folder, seed, operations=600, cuts=150, options=()):
    """Records a daemon, and checks crashes at `cuts` moments; returns a summary."""
    arguments = record(plan, folder, seed, operations)
    return check([PROGRAMS / "framefs_crash_replay", *arguments, "--cuts", str(cuts), "--seed", str(seed),
                  *plan.replay, *options])


class Kills:
    """A daemon that is killed and mounted again repeatedly."""

    def __init__(self, plan, folder, seed):
        self.plan = plan
        self.random = random.Random(seed)
        self.folder = pathlib.Path(folder)
        self.source = self.folder / "source"
        self.mountpoint = self.folder / "mnt"
        self.source.mkdir()
        self.mountpoint.mkdir()
        make_frames(plan, self.source, self.folder)

    def kill_once(self):
        """Kills the daemon once; returns a summary of the remaining files."""
        log = self.folder / "marks.log"
        log.unlink(missing_ok=True)
        seed = self.random.randrange(1 << 30)
        mount = daemon.Mount(self.source, self.mountpoint, *self.plan.mount)
        mount.__enter__()
        try:
            workload = start_workload(self.plan, self.mountpoint, log, seed, 1_000_000)
            # The log grows with every operation, so its size selects a moment of the work, not of
            # the clock.
            size = self.random.randrange(100, 60_000)
            daemon.wait_for(lambda: workload.poll() is not None
                            or (log.exists() and log.stat().st_size > size), "the workload")
            mount.process.send_signal(signal.SIGKILL)
            _, errors = workload.communicate(timeout=daemon.DEADLINE_S)
            assert workload.returncode == GONE, f"seed {seed}: {workload.returncode} {errors.decode()}"
            daemon.wait_for(lambda: not daemon.mounts_at(self.mountpoint), "the watchdog to unmount")
            daemon.wait_for(lambda: not daemon.watchdog_of(mount.pid), "the watchdog to end")
            mount.check_ended(exit_code=-signal.SIGKILL)
        finally:
            mount.kill()
        return f"seed {seed}: " + check([PROGRAMS / "framefs_crash_verify", log, self.source, *self.plan.verify])
