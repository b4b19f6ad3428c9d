"""The filesystems that a suite runs on, each on an ext4 filesystem of its own in a file."""

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))

import mounts  # noqa: E402
import passthrough  # noqa: E402

DISK_BYTES = 8 << 30  # the image is sparse
BASELINE = "ext4"
OPTIONS = {"frames": ["--devices"], "plain": ["--devices", "--plain", "*"]}  # of framefs
NAMES = (*OPTIONS, BASELINE, passthrough.NAME)


@dataclasses.dataclass(frozen=True)
class Place:
    name: str
    path: pathlib.Path  # an empty folder in the filesystem, which all users may change
    disk: pathlib.Path  # the filesystem below it
    scratch: pathlib.Path  # for what does not belong into the filesystem


def end_users(path):
    """Kills the processes that a suite has left behind in the filesystem at `path`."""
    device = os.stat(path).st_dev
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        for used in (process / "cwd", *process.glob("fd/*")):
            with contextlib.suppress(OSError):
                if used.stat().st_dev == device and int(process.name) != os.getpid():
                    os.kill(int(process.name), signal.SIGKILL)
                    break


def run(*command, check=True):
    return subprocess.run([os.fspath(part) for part in command], check=check, capture_output=True)


@contextlib.contextmanager
def disk(folder, name):
    """Yields the path at which a new ext4 filesystem is mounted."""
    image, path = folder / f"{name}.img", folder / f"{name}.disk"
    path.mkdir(exist_ok=True)
    with open(image, "wb") as file:
        file.truncate(DISK_BYTES)
    run("mkfs.ext4", "-q", "-F", image)
    run("mount", "-o", "loop", image, path)
    try:
        # The folder of mkfs is in no other place.
        (path / "lost+found").rmdir()
        yield path
    finally:
        mounts.unmount(path)
        image.unlink()


class Framefs(mounts.Daemon):
    def __init__(self, program, name, source, mountpoint):
        super().__init__(name, mountpoint, [program, source, mountpoint, "-f", "--allow-other", "--log-file",
                                            mountpoint.with_suffix(".log"), *OPTIONS[name]])


@contextlib.contextmanager
def mounted(name, program, folder):
    """Yields a new Place in the filesystem `name`.
    Errors: RuntimeError if this machine has no such filesystem."""
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(disk(folder, name))
        mountpoint = folder / name
        if name == BASELINE:
            place = source
        else:
            if name == passthrough.NAME:
                daemon = passthrough.Passthrough(folder / "program", source, mountpoint)
                daemon.make_program()
            else:
                daemon = Framefs(program, name, source, mountpoint)
            stack.enter_context(daemon.mounted())
            place = mountpoint
        place.chmod(0o777)
        work = place / "work"
        work.mkdir()
        work.chmod(0o777)
        try:
            yield Place(name, work, source, folder)
        finally:
            end_users(place)
