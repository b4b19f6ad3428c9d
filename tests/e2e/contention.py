"""Writers that contend for the same frames, and the check that none of them loses a synced byte.

scripts/contend runs this for minutes, test_two_mounts.py for a moment.

Each writer appends records to frames that all writers share: through one of two mounts of the same
SOURCE, while other threads compact the frames, read them through both mounts and unpack them.  A
record that was synced must be found from then on, whatever happens.
"""

import collections
import contextlib
import errno
import os
import pathlib
import random
import subprocess
import threading
import time

import daemon

RECORD = 512
MAX_RECORDS = 6  # of one write
UNPACK_ATTEMPTS = 50
PATIENCE = 10.0  # seconds
# These errors say that another writer has the frame for too long, or replaced the state that was
# read.
CONTENDED = (errno.EBUSY, errno.ESTALE, errno.EAGAIN)
BUSY = os.strerror(errno.EBUSY)


def record(writer, serial):
    text = f"{writer} {serial} ".encode()
    return text + bytes([33 + (writer * 31 + serial) % 90]) * (RECORD - len(text))


def records_in(content, where):
    """The (writer, serial) of each record, in order."""
    if len(content) % RECORD:
        raise AssertionError(f"{where}: {len(content)} bytes are no whole records")
    found = []
    for at in range(0, len(content), RECORD):
        stored = content[at:at + RECORD]
        parts = stored.split(b" ", 2)
        if len(parts) != 3 or not parts[0].isdigit() or not parts[1].isdigit() \
                or stored != record(int(parts[0]), int(parts[1])):
            raise AssertionError(f"{where}: no record at {at}: {stored[:40]}")
        found.append((int(parts[0]), int(parts[1])))
    return found


def whole_records(content):
    return content[:len(content) - len(content) % RECORD]


def read_past_pages(path):
    """The content of a file without the kernel's page cache."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        parts = []
        while part := os.read(fd, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def run_threads(body, tasks):
    """Calls body(*task) for each task on a thread of its own, and waits for all of them."""
    threads = [threading.Thread(target=body, args=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Frame:
    """The records that writers have appended to one frame."""

    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        self.synced = set()
        self.unknown = set()  # the write or the sync failed

    def note(self, serials, is_synced):
        with self.lock:
            (self.synced if is_synced else self.unknown).update(serials)

    def synced_now(self):
        with self.lock:
            return set(self.synced)

    def check(self, content, synced, where):
        """`synced` are the records that were synced before `content` was read."""
        found = records_in(content, f"{where}: {self.name}")
        if lost := synced - set(found):
            raise AssertionError(f"{where}: {self.name} lost {len(lost)} synced records, such as {min(lost)}")
        twice = [each for each, count in collections.Counter(found).items() if count > 1]
        if twice:
            raise AssertionError(f"{where}: {self.name} has records twice, such as {twice[0]}")


class Contention:
    def __init__(self, folder, seed, frames, writers):
        self.folder = pathlib.Path(folder)
        self.seed = seed
        self.frames = [Frame(f"log{number}") for number in range(frames)]
        self.writers = writers
        self.source = self.folder / "source"
        self.counts = collections.Counter()
        self.next_serial = collections.Counter()
        self.errors = []
        self.end = 0.0

    def run(self, seconds):
        """Returns a summary; raises AssertionError when a rule is broken."""
        self.source.mkdir()
        mountpoints = [self.folder / "one", self.folder / "other"]
        for mountpoint in mountpoints:
            mountpoint.mkdir()
        with contextlib.ExitStack() as stack:
            mounts = [stack.enter_context(daemon.Mount(self.source, mountpoint, "--rule", "*:chunksize=8K",
                                                       lifetime_s=seconds + 4 * daemon.DEADLINE_S))
                      for mountpoint in mountpoints]
            for frame in self.frames:
                (mountpoints[0] / frame.name).write_bytes(b"")
            self.end = time.monotonic() + seconds
            tasks = [(self.write, mountpoints[number % 2], number) for number in range(2 * self.writers)]
            tasks += [(self.read, mountpoint, 0) for mountpoint in mountpoints]
            tasks += [(self.compact, None, 0), (self.unpack, None, 0)]
            run_threads(self.guarded, tasks)
            self.check_logs(mounts)
        for frame in self.frames:
            if not self.errors:
                frame.check(self.unpacked(frame), frame.synced, "at the end")
        if self.errors:
            raise AssertionError(f"seed {self.seed}: {self.errors[0]}")
        return ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))

    def check_logs(self, mounts):
        """The frames are sound at any moment: a mount must not report damage of one that another
        writer changed while it was read."""
        for mount in mounts:
            for line in mount.log().splitlines():
                if " error: " in line and BUSY not in line and not self.errors:
                    self.errors.append(f"the log of {mount.mountpoint.name} has: {line}")

    def guarded(self, task, mountpoint, number):
        draw = random.Random(f"{self.seed} {task.__name__} {mountpoint} {number}")
        try:
            while time.monotonic() < self.end and not self.errors:
                task(mountpoint, number, draw)
        except Exception as error:  # the other threads have to end, too
            self.errors.append(f"{task.__name__}: {error}")

    def write(self, mountpoint, number, draw):
        frame = draw.choice(self.frames)
        first = self.next_serial[number]
        serials = [(number, first + i) for i in range(draw.randrange(1, MAX_RECORDS))]
        self.next_serial[number] += len(serials)
        step = "open"
        try:
            fd = os.open(mountpoint / frame.name, os.O_WRONLY | os.O_APPEND)
            try:
                frame.note(serials, False)
                step = "write"
                os.write(fd, b"".join(record(*each) for each in serials))
                step = "fsync"
                os.fsync(fd)
            finally:
                os.close(fd)
            frame.note(serials, True)
            self.counts["records synced"] += len(serials)
        except OSError as error:
            if error.errno not in CONTENDED:
                raise
            self.counts[f"{step} refused: {errno.errorcode[error.errno]}"] += 1

    def read(self, mountpoint, _number, draw):
        frame = draw.choice(self.frames)
        # The other mount's syncs show within the time that attributes are trusted.
        synced = frame.synced_now()
        time.sleep(1.5)
        try:
            # A reader may see the size of one moment and the bytes of a later one.
            content = whole_records(read_past_pages(mountpoint / frame.name))
            frame.check(content, synced, f"{mountpoint.name}, without the page cache")
            self.read_pages(mountpoint / frame.name, frame, synced)
        except OSError as error:
            if error.errno not in CONTENDED:
                raise
            self.counts["reads refused"] += 1
            return
        self.counts["reads"] += 1

    def read_pages(self, path, frame, synced):
        """A write appends at the true end.  Until the daemon has corrected the kernel, a moment
        after the write, the kernel shows the bytes where it expected the end."""
        end = time.monotonic() + PATIENCE
        while True:
            content = whole_records(path.read_bytes())
            try:
                frame.check(content, synced, path.parent.name)
                return
            except AssertionError:
                if time.monotonic() > end:
                    raise
            self.counts["reads of pages repeated"] += 1

    def compact(self, _mountpoint, _number, draw):
        frame = draw.choice(self.frames)
        result = subprocess.run([daemon.FRAMEFS, "compact", self.source / f"{frame.name}.b2frame"],
                                capture_output=True, text=True, check=False)
        self.counts["compactions" if result.returncode == 0 else "compactions refused"] += 1
        time.sleep(draw.random() / 2)

    def unpacked(self, frame):
        out = self.folder / f"{frame.name}.plain"
        subprocess.run([daemon.FRAMEFS, "unpack", "-q", "-f", self.source / f"{frame.name}.b2frame", "-o", out],
                       check=True, stderr=subprocess.PIPE)
        return out.read_bytes()

    def unpack(self, _mountpoint, _number, draw):
        frame = draw.choice(self.frames)
        synced = frame.synced_now()
        attempts_alone = 0
        while attempts_alone < UNPACK_ATTEMPTS:
            # Other programs have ended by then, or soon will have.
            attempts_alone += time.monotonic() > self.end
            with contextlib.suppress(subprocess.CalledProcessError):
                content = self.unpacked(frame)
                break
            # Commits replaced the state while it was read.
            self.counts["unpacked while it changed"] += 1
        else:
            raise AssertionError(f"unpacked: {frame.name} cannot be read")
        frame.check(content, synced, "unpacked")
        self.counts["unpacked"] += 1
        time.sleep(draw.random() / 4)
