"""Records or kills daemons while files change randomly, and checks the files that remain.

scripts/crash runs this at length, test_crash.py briefly.
"""

import contextlib
import dataclasses
import os
import pathlib
import random
import shlex
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
    """The mounts, their files, and the options of the workload."""

    name: str
    mount: tuple = ()  # options
    frames: tuple = ()  # options of framefs_make_frame for each existing frame
    workload: tuple = ()  # options
    replay: tuple = ()  # options
    verify: tuple = ()  # options
    mounts: int = 1  # of the same SOURCE
    compacts: bool = False  # whether `framefs compact` runs beside the mounts


def rule(**keys):
    return ("--rule", "*:" + ",".join(f"{key}={value}" for key, value in keys.items()))


SPARSE = ("--sparse", "--chunk", "20000", "--block", "5000", "--codec", "lz4")
ARRAY = ("--shape", "120,150,3", "--chunkshape", "50,64,3", "--blockshape", "25,16,3", "--dtype", "<i4",
         "--typesize", "4", "--codec", "zstd", "--filter", "shuffle")

# No mount trusts what it has seen of a file, because the other mount may have changed it.
TWO_MOUNTS = ("--attr-timeout", "0", "--commit-interval", "0.1")

PLANS = (
    Plan("new files", (*rule(chunksize="16K"), "--commit-interval", "0.1")),
    Plan("one file, synced often", rule(chunksize="8K", codec="lz4"),
         workload=("--threads", "1", "--files", "1", "--syncs", "30")),
    Plan("many small files", rule(chunksize="4K"),
         workload=("--files", "30", "--size", "20000", "--write", "8000", "--syncs", "3")),
    Plan("frames that were there", (),
         (("--chunk", "32K", "--codec", "lz4"), ("--chunk", "12345", "--block", "1000", "--codec", "zlib"),
          ("--chunk", "64K", "--codec", "blosclz", "--typesize", "8", "--filter", "shuffle"))),
    Plan("checksums", (*rule(chunksize="8K", checksums="yes"), "--commit-interval", "0.1", "--verify-checksums")),
    # More than 32,768 chunks: commits copy blocks of the stored index.
    Plan("a long index", (), (("--chunk", "4", "--codec", "lz4"),),
         ("--threads", "1", "--files", "1", "--size", "200000", "--write", "300", "--syncs", "30")),
    Plan("sparse frames", (), (SPARSE, SPARSE, (*SPARSE, "--chunk", "7000")),
         ("--files", "2", "--size", "200000")),
    Plan("a small overlay", (*rule(chunksize="16K"), "--overlay-size", "256K"),
         workload=("--syncs", "2")),
    Plan("a kernel that caches", (*rule(chunksize="16K"), "-o", "writeback"), workload=("--loose", "--no-xattrs")),
    # Plain files are only as safe as the disk: torn writes are not undone.
    Plan("plain files too", ("--plain", "*[02468]", *rule(chunksize="16K")), workload=("--no-xattrs",),
         replay=("--losses", "nothing,all,ends"), verify=("--plain",)),
    Plan("files renamed over others", (*rule(chunksize="16K"), "--commit-interval", "0.5"),
         (("--chunk", "32K", "--codec", "lz4"), SPARSE), ("--replaces", "30", "--write", "30000")),
    Plan("plain files and frames renamed over others", ("--plain", "*[02468]", *rule(chunksize="16K")),
         workload=("--no-xattrs", "--replaces", "30"), replay=("--losses", "nothing,all,ends"), verify=("--plain",)),
    Plan("two mounts", (*rule(chunksize="16K"), *TWO_MOUNTS), mounts=2,
         workload=("--replaces", "10", "--syncs", "20")),
    Plan("two mounts, frames that were there", TWO_MOUNTS,
         (("--chunk", "32K", "--codec", "lz4"), SPARSE, SPARSE), ("--syncs", "15"), mounts=2),
    Plan("compacted beside the mount", (*rule(chunksize="16K"), "--commit-interval", "0.1"),
         (("--chunk", "32K", "--codec", "lz4"), SPARSE), ("--syncs", "40"), compacts=True),
    Plan("two mounts and compactions", (*rule(chunksize="8K"), *TWO_MOUNTS), mounts=2, compacts=True,
         workload=("--threads", "1", "--files", "2", "--syncs", "20")),
)


def make_frames(plan, source, folder):
    for number, options in enumerate(plan.frames):
        plain = folder / f"frame-{number}.plain"
        plain.write_bytes(data.random_walk(40_000, seed=number) + data.text(500))
        subprocess.run([PROGRAMS / "framefs_make_frame", *options, plain,
                        source / f"there-{number}.b2frame"], check=True)


def start_workload(plan, mountpoints, log, seed, operations, compactor=None):
    direct = () if "--loose" in plan.workload else ("--direct",)
    also = [word for mountpoint in mountpoints[1:] for word in ("--also", mountpoint)]
    beside = ("--beside", compactor) if compactor else ()
    return subprocess.Popen([PROGRAMS / "framefs_crash_workload", mountpoints[0], log, *also, *beside, "--seed",
                             str(seed), "--operations", str(operations), *direct, *plan.workload],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def make_mountpoints(plan, folder):
    mountpoints = [folder / f"mnt{number}" for number in range(plan.mounts)]
    for mountpoint in mountpoints:
        mountpoint.mkdir()
    return mountpoints


def write_compactor(plan, source, folder, environment=None, killed=False):
    """A program that compacts the frame of a name; None if the plan has no compactions."""
    if not plan.compacts:
        return None
    settings = " ".join(shlex.quote(f"{name}={value}") for name, value in (environment or {}).items())
    limit = "timeout -s KILL 0.0$((RANDOM % 10))" if killed else ""
    program = folder / "compactor"
    program.write_text("#!/bin/bash\n"
                       f"exec 2>> {shlex.quote(str(folder / 'compactor.log'))}\n"
                       f"exec {limit} env {settings} {shlex.quote(str(daemon.FRAMEFS))} compact "
                       f"{shlex.quote(str(source))}/\"$1\".b2frame\n")
    program.chmod(0o755)
    return program


def check(command):
    """Runs a program that reports success by its exit code; returns its output."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        words = " ".join(str(word) for word in command)
        raise AssertionError(f"{words}\nexit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def record(plan, folder, seed, operations):
    """Records all writers of a SOURCE.

    Returns the arguments for framefs_crash_replay, and how many compactions succeeded.
    """
    source, initial = folder / "source", folder / "initial"
    log = folder / "record.log"
    source.mkdir()
    mountpoints = make_mountpoints(plan, folder)
    make_frames(plan, source, folder)
    shutil.copytree(source, initial)
    environment = {"LD_PRELOAD": str(RECORDER), "FRAMEFS_RECORD_SOURCE": os.path.realpath(source),
                   "FRAMEFS_RECORD_LOG": str(log)}
    compactor = write_compactor(plan, source, folder, environment)
    with contextlib.ExitStack() as stack:
        for mountpoint in mountpoints:
            # The recorder writes its log, which lies outside SOURCE, from within the daemon.
            stack.enter_context(daemon.Mount(source, mountpoint, "--no-sandbox", *plan.mount,
                                             environment=environment))
        workload = start_workload(plan, mountpoints, log, seed, operations, compactor)
        output, errors = workload.communicate(timeout=4 * daemon.DEADLINE_S)
        assert workload.returncode == 0, f"the workload, seed {seed}: {errors}"
    compactions = output.splitlines()[-1] if compactor else ""
    assert not compactions.startswith("0 of"), f"seed {seed}: {(folder / 'compactor.log').read_text()}"
    return [log, initial, "--final", source], compactions


def replay(plan, folder, seed, operations=600, cuts=150, options=()):
    """Records daemons, and checks crashes at `cuts` moments; returns a summary."""
    arguments, compactions = record(plan, folder, seed, operations)
    summary = check([PROGRAMS / "framefs_crash_replay", *arguments, "--cuts", str(cuts), "--seed", str(seed),
                     *plan.replay, *options]).strip()
    return f"{summary}; {compactions}" if compactions else summary


class Kills:
    """Daemons that are killed and mounted again repeatedly."""

    def __init__(self, plan, folder, seed):
        self.plan = plan
        self.random = random.Random(seed)
        self.folder = pathlib.Path(folder)
        self.source = self.folder / "source"
        self.source.mkdir()
        self.mountpoints = make_mountpoints(plan, self.folder)
        make_frames(plan, self.source, self.folder)

    def kill_once(self):
        """Kills the daemons once; returns a summary of the remaining files."""
        log = self.folder / "marks.log"
        log.unlink(missing_ok=True)
        seed = self.random.randrange(1 << 30)
        compactor = write_compactor(self.plan, self.source, self.folder, killed=True)
        with contextlib.ExitStack() as stack:
            mounts = [daemon.Mount(self.source, mountpoint, *self.plan.mount) for mountpoint in self.mountpoints]
            for mount in mounts:
                mount.__enter__()
                stack.callback(mount.kill)
            workload = start_workload(self.plan, self.mountpoints, log, seed, 1_000_000, compactor)
            # The log grows with every operation, so its size selects a moment of the work, not of
            # the clock.
            size = self.random.randrange(100, 60_000 if self.plan.mounts == 1 else 15_000)
            daemon.wait_for(lambda: workload.poll() is not None
                            or (log.exists() and log.stat().st_size > size), "the workload")
            # Between two kills, the second daemon could build on a state that the first has lost.
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for mount in mounts:
                    mount.process.send_signal(number)
            _, errors = workload.communicate(timeout=daemon.DEADLINE_S)
            assert workload.returncode == GONE, f"seed {seed}: {workload.returncode} {errors}"
            for mount in mounts:
                self.wait_for_end(mount)
        return f"seed {seed}: " + check([PROGRAMS / "framefs_crash_verify", log, self.source, *self.plan.verify])

    @staticmethod
    def wait_for_end(mount):
        daemon.wait_for(lambda: not daemon.mounts_at(mount.mountpoint), "the watchdog to unmount")
        daemon.wait_for(lambda: not daemon.watchdog_of(mount.pid), "the watchdog to end")
        mount.check_ended(exit_code=-signal.SIGKILL)
