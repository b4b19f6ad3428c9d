"""SOURCE becomes full at some point of the work on a file: the frame that is left, and its state.

A cell is a filesystem, the options of a mount, and a kind of work.  It is tried at many points: a
point is the free space that the work finds.  Afterwards there is room again, and the frame must be
sound and hold a state that the file had, not older than the last one that a sync has acknowledged.
If it lacks bytes that were written, a call of the program or the end of the mount must have failed.
"""

import argparse
import collections
import contextlib
import errno
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import daemon
import data

MIB = 1 << 20
PIECE = 64 << 10
SIZE = 24 * PIECE
OLD, NEW = data.noise(SIZE), data.noise(2 * SIZE)[SIZE:]
BLOCK = 4096
RULE = ("--rule", "*:chunksize=64K,arrays=yes", "--commit-interval", "0.3")
SPACE = (errno.ENOSPC, errno.EDQUOT)


def run(*command, check=True):
    done = subprocess.run([os.fspath(part) for part in command], capture_output=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done


def framefs(*arguments):
    return run(daemon.FRAMEFS, *arguments, check=False)


# ----------------------------------------------------------------------------------- filesystems

class NotHere(Exception):
    """The kernel of this machine does not have the filesystem, or no quotas of it."""


class Filesystem:
    """A small filesystem at `path`, whose free space can be set, as a context manager."""

    MAKE = {"ext4": ["mkfs.ext4", "-q", "-F", "-m", "0"], "xfs": ["mkfs.xfs", "-q", "-f"], "btrfs": ["mkfs.btrfs", "-q", "-f"],
            "xfs-quota": ["mkfs.xfs", "-q", "-f"], "btrfs-quota": ["mkfs.btrfs", "-q", "-f"]}
    SIZES = {"tmpfs": 64 * MIB, "ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 128 * MIB, "xfs-quota": 320 * MIB,
             "btrfs-quota": 256 * MIB}
    OPTIONS = "loop"

    def __init__(self, kind, folder):
        self.kind = kind
        self.path = folder / f"disk-{kind}"
        self._image = folder / f"{kind}.img"
        self._ballast = self.path / "ballast"

    def __enter__(self):
        self.path.mkdir()
        if self.kind == "tmpfs":
            run("mount", "-t", "tmpfs", "-o", f"size={self.SIZES['tmpfs']}", "tmpfs", self.path)
        else:
            with open(self._image, "wb") as image:
                image.truncate(self.SIZES[self.kind])
            run(*self.MAKE[self.kind], self._image)
            mounted = run("mount", "-o", self.OPTIONS, self._image, self.path, check=False)
            if mounted.returncode != 0:
                self.path.rmdir()
                raise NotHere(mounted.stderr.decode(errors="replace").strip())
        self.source = self.path / "source"
        self._make_source()
        return self

    def _make_source(self):
        self.source.mkdir()

    def __exit__(self, *error):
        daemon.wait_for(lambda: run("umount", self.path, check=False).returncode == 0, f"unmounting {self.path}")
        with contextlib.suppress(FileNotFoundError):
            self._image.unlink()

    def free(self):
        status = os.statvfs(self.source)
        return status.f_bavail * status.f_frsize

    def used(self):
        status = os.statvfs(self.source)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def sync(self):
        run("sync", "-f", self.path)

    def make_room(self):
        with contextlib.suppress(FileNotFoundError):
            self._ballast.unlink()
        self.sync()

    def leave(self, room):
        """Leaves about this room for SOURCE."""
        with open(self._ballast, "ab") as ballast:
            # Metadata of the ballast takes room as well.
            most = self.free()
            while (more := min(most, self.free() - room) // BLOCK * BLOCK) > 0:
                try:
                    os.posix_fallocate(ballast.fileno(), os.fstat(ballast.fileno()).st_size, more)
                except OSError:
                    most = more // 2
        if self.kind == "btrfs":
            self.sync()


class XfsQuota(Filesystem):
    """XFS with the quota of a project; statfs(2) tells its free space."""

    OPTIONS = "loop,prjquota"
    PROJECT = 42

    def _quota(self, command):
        run("xfs_quota", "-x", "-D", "/dev/null", "-P", "/dev/null", "-c", command, self.path)

    def _make_source(self):
        super()._make_source()
        self._quota(f"project -s -p {self.source} {self.PROJECT}")

    def make_room(self):
        self._quota(f"limit -p bhard=0 {self.PROJECT}")
        super().make_room()

    def leave(self, room):
        self._quota(f"limit -p bhard={max(BLOCK, self.used() + room)} {self.PROJECT}")


class BtrfsQuota(Filesystem):
    """Btrfs with the quota of a subvolume, which statfs(2) does not tell."""

    def _make_source(self):
        run("btrfs", "quota", "enable", self.path)
        run("btrfs", "subvolume", "create", self.source)
        number = run("btrfs", "inspect-internal", "rootid", self.source).stdout.decode().strip()
        self._group = f"0/{number}"

    def _limit(self, value):
        # Asked for by way of the subvolume, the change itself could be above the quota.
        run("btrfs", "qgroup", "limit", value, self._group, self.path)

    def used(self):
        shown = run("btrfs", "qgroup", "show", "--raw", "-f", self.source).stdout.decode().splitlines()[-1]
        return int(shown.split()[1])

    def make_room(self):
        self._limit("none")
        super().make_room()

    def leave(self, room):
        self.sync()
        self._limit(str(self.used() + room))


# ------------------------------------------------------------------------------------------ works

class File:
    """A file in a mount, with the states that it had and what its program was told."""

    def __init__(self, path, before):
        self.path = path
        self.states = [before]
        self.synced = 0  # the number of the state that a sync has acknowledged
        self.was_told = False

    def tell(self, error):
        if error.errno not in SPACE:
            raise AssertionError(f"a call failed otherwise: {error}") from error
        self.was_told = True

    def change(self, fd, offset, content):
        now = self.states[-1]
        new = now[:offset].ljust(offset, b"\0") + content + now[offset + len(content):]
        try:
            done = os.pwrite(fd, content, offset)
        except OSError as error:
            return self.tell(error)
        if done < len(content):
            new = now[:offset] + content[:done] + now[offset + done:]
        self.states.append(new)
        return None

    def sync(self, fd):
        before = len(self.states) - 1
        try:
            os.fsync(fd)
            self.synced = before
        except OSError as error:
            self.tell(error)

    def write(self, pieces, flags, sync_at):
        try:
            fd = os.open(self.path, flags, 0o644)
        except OSError as error:
            return self.tell(error)
        for number, (offset, content) in enumerate(pieces):
            self.change(fd, offset, content)
            if number in sync_at:
                self.sync(fd)
        try:
            os.close(fd)
        except OSError as error:
            self.tell(error)
        return None


def is_between(content, before, after):
    """Whether the first part of one write is done.  The kernel makes two requests of a write that
    begins within a page, and a commit may come between them."""
    done = len(os.path.commonprefix([content, after]))
    return len(content) == len(before) == len(after) and content[done:] == before[done:]


def pieces_of(content, offset):
    return [(offset + at, content[at:at + PIECE]) for at in range(0, len(content), PIECE)]


def npy(content):
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % len(content)
    header = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


Work = collections.namedtuple("Work", "name shown prepare pieces flags")


def old_frame(*options):
    def prepare(source, make_frame):
        make_frame(OLD, source / "file.b2frame", *options)
        return OLD
    return prepare


def old_array(source, make_frame):
    make_frame(OLD, source / "file.b2nd", "--dtype", "|u1", "--typesize", "1", "--shape", str(SIZE), "--chunkshape",
               str(PIECE), "--blockshape", str(PIECE // 4))
    return npy(OLD)


WORKS = [
    Work("new file", "file", lambda *_: b"", pieces_of(NEW, 0), os.O_RDWR | os.O_CREAT),
    Work("append", "file", old_frame("--chunk", str(PIECE)), pieces_of(NEW, SIZE), os.O_WRONLY),
    Work("overwrite", "file", old_frame("--chunk", str(PIECE)), pieces_of(NEW, 0), os.O_RDWR),
    Work("sparse frame", "file", old_frame("--chunk", str(PIECE), "--sparse"), pieces_of(NEW, PIECE), os.O_RDWR),
    Work("array", "file.npy", old_array, pieces_of(NEW, len(npy(OLD)) - SIZE), os.O_RDWR),
    Work("new array", "file.npy", lambda *_: b"", pieces_of(npy(NEW), 0), os.O_RDWR | os.O_CREAT),
]
OPTIONS = {"default": (), "writeback": ("--writeback",)}
COMMANDS = ("pack", "compact")
FILESYSTEMS = {"tmpfs": Filesystem, "ext4": Filesystem, "xfs": Filesystem, "btrfs": Filesystem, "xfs-quota": XfsQuota,
               "btrfs-quota": BtrfsQuota}


class Cell:
    """One cell.  Its try_at() returns a word that says what is left, and raises AssertionError."""

    def __init__(self, filesystem, folder, work, options):
        self.filesystem, self.work, self._options = filesystem, work, options
        self._folder = folder
        self._mountpoint = folder / "mnt"
        self._mountpoint.mkdir(exist_ok=True)
        self._plain = folder / "plain"
        self._used_before = 0

    def _make_frame(self, content, path, *options):
        self._plain.write_bytes(content)
        run(daemon.FRAMEFS.parent / "tests/framefs_make_frame", *options, self._plain, path)

    def _begin(self):
        self.filesystem.make_room()
        for entry in self.filesystem.source.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        self.filesystem.sync()

    def needed(self):
        """The room that the work takes where there is enough."""
        self._begin()
        self._work_at(None)
        self.filesystem.sync()
        return max(SIZE, self.filesystem.used() - self._used_before) + 16 * BLOCK

    def try_at(self, room):
        self._begin()
        return self._work_at(room)

    def _work_at(self, room):
        source = self.filesystem.source
        before = self.work.prepare(source, self._make_frame)
        self._leave(room)
        file = File(self._mountpoint / self.work.shown, before)
        mount = daemon.Mount(source, self._mountpoint, *RULE, *self._options)
        with mount.with_any_exit_code():
            file.write(self.work.pieces, self.work.flags, sync_at=(7, 15))
        self.filesystem.make_room()
        was_told = file.was_told or mount.process.returncode != 0
        with daemon.Mount(source, self._mountpoint, *RULE, *self._options):
            content = file.path.read_bytes() if file.path.exists() else b""
        self._check_sound()
        return self._judge(file, content, was_told)

    def _leave(self, room):
        self.filesystem.sync()
        self._used_before = self.filesystem.used()
        if room is not None:
            self.filesystem.leave(room)

    def _check_sound(self):
        source = self.filesystem.source
        for frame in source.iterdir():
            checked = framefs("check", frame)
            assert checked.returncode == 0, f"{frame.name} is damaged: {checked.stdout}{checked.stderr}"

    @staticmethod
    def _judge(file, content, was_told):
        known = [number for number, state in enumerate(file.states) if state == content]
        if not known:
            known = [number for number, states in enumerate(itertools.pairwise(file.states))
                     if is_between(content, *states)]
        if not known:
            # On a full disk, a frame that only grows keeps the chunks that had room.
            longest = file.states[-1]
            assert longest.startswith(content) and len(content) >= len(file.states[file.synced]), \
                f"{len(content)} bytes of no state; {len(file.states)} states, {file.synced} synced"
        else:
            assert known[-1] >= file.synced, f"state {known[-1]}, and {file.synced} was synced"
        if content == file.states[-1]:
            return "all"
        assert was_told, f"{len(content)} of {len(file.states[-1])} bytes, and no call has failed"
        return "synced" if known and known[-1] == file.synced else "more"


class CommandCell(Cell):
    """A command that writes a frame."""

    def _work_at(self, room):
        source = self.filesystem.source
        frame = source / "file.b2frame"
        self._make_frame(OLD, frame, "--chunk", str(PIECE))
        wanted = OLD
        if self.work == "compact":
            with daemon.Mount(source, self._mountpoint, "--rule", "*:chunksize=64K"):
                for at in range(0, SIZE, 2 * PIECE):
                    with open(self._mountpoint / "file", "r+b") as file:
                        file.seek(at)
                        file.write(NEW[at:at + PIECE])
                        os.fsync(file.fileno())
                wanted = (self._mountpoint / "file").read_bytes()
        self._leave(room)
        if self.work == "pack":
            self._plain.write_bytes(NEW)
            done = framefs("pack", "-f", self._plain, "-o", frame)
            wanted = NEW if done.returncode == 0 else OLD
        else:
            done = framefs("compact", frame)
        self.filesystem.make_room()
        left = sorted(path.name for path in source.iterdir())
        assert left == ["file.b2frame"], left
        self._check_sound()
        content = framefs("unpack", frame, "-o", "-").stdout
        assert content == wanted, f"{len(content)} other bytes; exit code {done.returncode}"
        return "all" if done.returncode == 0 else "as before"


def points(needed, number):
    """Free spaces from none to more than enough: half of them near the end, where a commit is.

    A commit needs more than it leaves taken: the old state stays until the new one is there.
    """
    near = [needed - i * BLOCK for i in range(-1, number // 2)]
    far = [needed * 2 * i // (number // 2) for i in range(number // 2)]
    return sorted({max(0, point // BLOCK * BLOCK) for point in near + far})[-number:]


def cells(filesystem, folder, only):
    for work in WORKS:
        for name, options in OPTIONS.items():
            if not only or f"{work.name}, {name}" in only:
                yield f"{work.name}, {name}", Cell(filesystem, folder, work, options)
    for command in COMMANDS:
        if not only or command in only:
            yield command, CommandCell(filesystem, folder, command, ())


def try_cell(cell, number):
    """Returns how often which result was seen, and the failures."""
    results, failures = collections.Counter(), []
    for point in points(cell.needed(), number):
        try:
            results[cell.try_at(point)] += 1
        except AssertionError as error:
            failures.append(f"{point} bytes of room: {error}")
    return results, failures


def try_filesystem(kind, folder, options):
    """Returns whether anything has failed."""
    failed = False
    with FILESYSTEMS[kind](kind, folder) as filesystem:
        for title, cell in cells(filesystem, folder, options.cell):
            results, failures = try_cell(cell, options.points)
            told = ", ".join(f"{count} {what}" for what, count in sorted(results.items()))
            print(f"{kind:6} {title:26} {told}" + (f", {len(failures)} FAILED" if failures else ""), flush=True)
            for failure in failures:
                print(f"    {failure}", flush=True)
            failed = failed or bool(failures)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=64, help="of each cell")
    parser.add_argument("--filesystem", action="append", choices=FILESYSTEMS)
    parser.add_argument("--cell", action="append", help="such as 'append, writeback' or 'pack'")
    options = parser.parse_args()
    failed = False
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="framefs-full-disks-") as name:
        folder = pathlib.Path(name)
        for kind in options.filesystem or FILESYSTEMS:
            try:
                failed = try_filesystem(kind, folder, options) or failed
            except NotHere as reason:
                print(f"{kind:6} is not tried: {reason}")
    print(f"{time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
