"""The compared filesystems.  Each is mounted anew for a measurement, with only stored bytes
cached."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import time

from data import LEVEL, PEER_BLOCK, have, make, run

DEADLINE_S = 30
# The helpers of a daemon still start when it already serves.  A processor that they keep busy
# changes where the kernel wakes a daemon's threads: reads of 60 us take from 23 to 67 us.
SETTLE_S = 0.2


def wait_for(condition, what):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {DEADLINE_S} s in vain for {what}")
        time.sleep(0.002)


def read_into_memory(path):
    """Puts the stored bytes into the kernel's page cache, so that the disk is not measured."""
    buffer = memoryview(bytearray(1 << 20))
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def unmount(mountpoint):
    for _ in range(100):  # a reader that has just ended may still keep it busy
        if subprocess.run(["umount", mountpoint], capture_output=True).returncode == 0:
            return
        time.sleep(0.02)
    run("umount", mountpoint)


class Daemon:
    """A filesystem served by a process in the foreground."""

    def __init__(self, name, mountpoint, command, ready=None):
        self.name = name
        self.mountpoint = pathlib.Path(mountpoint)
        self.command = [os.fspath(part) for part in command]
        self.ready = ready or (lambda: True)
        self.mountpoint.mkdir(exist_ok=True)

    @contextlib.contextmanager
    def mounted(self):
        """Yields the process id."""
        before = self.mountpoint.stat().st_dev
        process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: self.mountpoint.stat().st_dev != before and self.ready(),
                     f"{' '.join(self.command)} to mount")
            time.sleep(SETTLE_S)
            yield process.pid
        finally:
            if self.mountpoint.is_mount():
                unmount(self.mountpoint)
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()


class Kernel:
    """A filesystem of the kernel, on a loop device."""

    def __init__(self, name, mountpoint, kind, image):
        self.name = name
        self.mountpoint = pathlib.Path(mountpoint)
        self.kind = kind
        self.image = image
        self.mountpoint.mkdir(exist_ok=True)

    @contextlib.contextmanager
    def mounted(self):
        run("mount", "-t", self.kind, "-o", "loop,ro", self.image, self.mountpoint)
        try:
            yield None
        finally:
            unmount(self.mountpoint)


class Plain:
    """The plain files, on the filesystem of the test data."""

    name = "plain file"

    def __init__(self, folder):
        self.mountpoint = pathlib.Path(folder)

    @contextlib.contextmanager
    def mounted(self):
        yield None


KERNEL_READ_AHEAD_KIB = 128


def reads_ahead(mountpoint):
    """Whether the kernel's read-ahead is raised, which a daemon does soon after it mounts."""
    device = os.stat(mountpoint).st_dev
    control = pathlib.Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
    return int(control.read_text()) > KERNEL_READ_AHEAD_KIB


def framefs(program, source, mountpoint, *options):
    return Daemon("framefs", mountpoint, [program, "-f", *options, source, mountpoint],
                  ready=lambda: reads_ahead(mountpoint))


def remote(program, url, mountpoint, *options):
    """A mount of a URL, whose read-ahead by the kernel stays small."""
    return Daemon("framefs", mountpoint, [program, "-f", *options, url, mountpoint])


def small_cache(program, source, mountpoint):
    return framefs(program, source, mountpoint, "--cache-size", "32M")


def null_server(program, size, mountpoint, *more):
    return Daemon("null server", mountpoint, [program, mountpoint, str(size), *map(str, more)],
                  ready=lambda: reads_ahead(mountpoint))


class Peer:
    """Another filesystem with the same data, and the codec of its image."""

    def __init__(self, mount, codec, image):
        self.mount = mount
        self.name = mount.name
        self.codec = codec  # as in frames; reading EROFS's LZ4HC means LZ4
        self.image = image


def write_squashfs(image, plain, codec, block):
    level = ["-Xcompression-level", LEVEL] if codec == "zstd" else []
    run("mksquashfs", plain, image, "-comp", codec, "-b", block, *level, "-noappend", "-quiet", "-no-progress")


def write_erofs(image, plain):
    run("mkfs.erofs", "-zlz4hc", f"-C{PEER_BLOCK}", image, plain)


def make_peers(plain, folder, mib, skip):
    """All peers that this machine has.  Calls `skip` with the reason for each one that is
    missing."""
    folder = pathlib.Path(folder)
    peers = []
    if have("mksquashfs"):
        for codec in ("lz4", "zstd"):
            image = folder / f"squashfs-{codec}-{mib}.img"
            make(image, lambda path: write_squashfs(path, plain, codec, PEER_BLOCK))
            peers.append(Peer(Kernel("squashfs", folder / f"mnt-squashfs-{codec}", "squashfs", image), codec, image))
            if program := shutil.which("squashfuse_ll") or shutil.which("squashfuse"):
                mountpoint = folder / f"mnt-squashfuse-{codec}"
                peers.append(Peer(Daemon("squashfuse", mountpoint, [program, "-f", image, mountpoint]), codec, image))
            else:
                skip("squashfuse is not installed")
    else:
        skip("mksquashfs is not installed: no squashfs, no squashfuse")
    if have("mkfs.erofs"):
        image = folder / f"erofs-lz4hc-{mib}.img"
        make(image, lambda path: write_erofs(path, plain))
        peers.append(Peer(Kernel("EROFS (lz4hc)", folder / "mnt-erofs", "erofs", image), "lz4", image))
    else:
        skip("mkfs.erofs is not installed")
    if have("mkdwarfs", "dwarfs"):
        for codec, compression in (("lz4", "lz4"), ("zstd", f"zstd:level={LEVEL}")):
            image, mountpoint = folder / f"dwarfs-{codec}-{mib}.img", folder / f"mnt-dwarfs-{codec}"
            make(image, lambda path: run("mkdwarfs", "-i", plain, "-o", path, "-C", compression))
            peers.append(Peer(Daemon("dwarfs", mountpoint, ["dwarfs", "-f", image, mountpoint]), codec, image))
    else:
        skip("dwarfs is not installed")
    return [peer for peer in peers if works(peer, plain, skip)]


def works(peer, plain, skip):
    """Checks a peer's bytes: fast but wrong reads do not count, and the kernel may lack a
    filesystem."""
    try:
        with peer.mount.mounted():
            run("cmp", plain / "text", peer.mount.mountpoint / "text")
        return True
    except (subprocess.CalledProcessError, RuntimeError) as error:
        skip(f"{peer.name} {peer.codec} does not work here: {error}")
        return False


def versions():
    """One line for each program that prints its version."""
    said = {}
    for name, command in (("squashfs", ["mksquashfs", "-version"]), ("EROFS", ["mkfs.erofs", "-V"]),
                          ("squashfuse", ["squashfuse", "--help"]), ("dwarfs", ["dwarfs", "--help"]),
                          ("libfuse", ["fusermount3", "-V"])):
        with contextlib.suppress(OSError):
            result = subprocess.run(command, capture_output=True, text=True)
            if found := re.search(r"\d+\.\d[\w.-]*", result.stdout + result.stderr):
                said[name] = found[0]
    return said
