"""Mounts and programs with the reference library that change the same frames.

scripts/contend runs this with the library of a chroot.  There are two kinds of runs:

locked    Two mounts and several programs that use the lock file (.b2lock) change the frames at
          any time, next to `framefs compact` and readers of all kinds.  No acknowledged change
          is ever lost, no frame is ever unreadable, and no writer is refused, except after a wait
          that takes too long.
turns     The programs do not use lock files, so nothing protects a change that overlaps with
          another.  A mount and a program change a frame in turn, while the mount has it open.
          The bytes that the mount had synced stay, its other bytes fail with EIO, and every
          change of the program stays.

A frame has one chunk for each program, which the program updates, one chunk for the mount's
writers, and behind them the chunks that are appended.
"""

import collections
import contextlib
import errno
import mmap
import os
import pathlib
import random
import resource
import subprocess
import threading
import time

import daemon
from contention import CONTENDED, RECORD, record, records_in, run_threads

CHUNK = 16 * RECORD
APPENDED_BY_LIBRARY = 100  # added to the number of a program in the records that it appends
LAYER = "user.framefs.vlmeta.writer"


class Library:
    """A program of tests/contend/library_writer.c; `inside` translates a path for it."""

    def __init__(self, command, inside, locking):
        self.inside = inside
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {"BLOSC_LOCKING": "1" if locking else "0"})

    def ask(self, command, frame, writer=0, serial=0):
        self.process.stdin.write(f"{command} {self.inside(frame)} {writer} {serial}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def read_past_the_page_cache(path):
    """All bytes.  The pages of an append whose place the kernel got wrong are dropped a moment
    after the append; a reader past the page cache does not see them."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 1 << 20) as buffer:
            content = bytearray()
            while size := os.preadv(fd, [buffer], len(content)):
                content += buffer[:size]
            return bytes(content)
    finally:
        os.close(fd)


class Known:
    """The changes of one frame that were acknowledged, and those that may be there besides."""

    def __init__(self, name, programs):
        self.name = name
        self.programs = programs
        self.lock = threading.Lock()
        self.turn = threading.Lock()
        self.changes = 0  # by the programs
        self.synced = set()
        self.slots = collections.Counter()  # the least serial that each slot can have
        self.layers = collections.Counter()
        self.most = collections.Counter()  # the greatest, by slot or layer

    def state(self):
        with self.lock:
            return set(self.synced), dict(self.slots), dict(self.layers)

    def check(self, content, state, where):
        synced, slots, _ = state
        where = f"{where}: {self.name}"
        found = records_in(content, where)
        per_chunk = CHUNK // RECORD
        for program in range(self.programs):
            chunk = found[program * per_chunk:(program + 1) * per_chunk]
            self.check_slot(where, ("program", program), set(chunk), program, slots)
        shared = found[self.programs * per_chunk:(self.programs + 1) * per_chunk]
        for writer, stored in enumerate(shared):
            self.check_slot(where, ("mount", writer), {stored}, writer, slots)
        log = found[(self.programs + 1) * per_chunk:]
        if lost := synced - set(log):
            raise AssertionError(f"{where} lost {len(lost)} synced records, such as {min(lost)}")
        if len(set(log)) != len(log):
            raise AssertionError(f"{where} has records twice")

    def check_slot(self, where, slot, stored, writer, least):
        if len(stored) != 1:
            raise AssertionError(f"{where}: {slot} is a mixture: {sorted(stored)}")
        found_writer, serial = stored.pop()
        with self.lock:
            most = self.most[slot]
        if found_writer != writer or not least.get(slot, 0) <= serial <= most:
            raise AssertionError(f"{where}: {slot} has {found_writer} {serial}, acknowledged is {least.get(slot, 0)}")


class LibraryContention:
    """`command` runs a program of library_writer.c."""

    def __init__(self, folder, seed, command, inside, locking, frames=3, writers=2, programs=2):
        self.folder = pathlib.Path(folder)
        self.source = self.folder / "source"
        self.seed = seed
        self.locking = locking
        self.known = [Known(f"log{number}", programs) for number in range(frames)]
        self.writers = writers
        self.programs = programs
        self.start = lambda: Library(command, inside, locking)
        self.counts = collections.Counter()
        self.next_serial = collections.Counter()
        self.errors = []
        self.failed = []  # descriptors to close at the end
        self.end = 0.0

    def path(self, known):
        return self.source / f"{known.name}.b2frame"

    def run(self, seconds):
        """Returns a summary; raises AssertionError when a rule is broken."""
        self.source.mkdir()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        mountpoints = [self.folder / "one"] + ([self.folder / "other"] if self.locking else [])
        options = ["--rule", f"*:chunksize={CHUNK}", "--attr-timeout", "0"] + (["--locking"] if self.locking else ["--commit-interval", "3600"])
        with contextlib.ExitStack() as stack:
            mounts = []
            for mountpoint in mountpoints:
                mountpoint.mkdir()
                mounts.append(stack.enter_context(daemon.Mount(
                    self.source, mountpoint, *options, lifetime_s=seconds + 4 * daemon.DEADLINE_S)))
                if not self.locking:
                    mounts[-1].exit_codes = (0, 1)  # it has lost the bytes that were not synced
            for known in self.known:
                content = b"".join(record(program, 0) * (CHUNK // RECORD) for program in range(self.programs))
                content += b"".join(record(writer, 0) for writer in range(CHUNK // RECORD))
                self.write_and_sync(mountpoints[0] / known.name, content)
            self.end = time.monotonic() + seconds
            tasks = [(self.program, None, number) for number in range(self.programs)]
            if self.locking:
                tasks += [(self.append, mountpoint, number * self.writers + writer)
                          for number, mountpoint in enumerate(mountpoints) for writer in range(self.writers)]
                tasks += [(self.read, mountpoint, 0) for mountpoint in mountpoints]
                tasks += [(self.compact, None, 0)]
            else:
                tasks += [(self.overwrite, mountpoints[0], writer) for writer in range(self.writers)]
            run_threads(self.guarded, tasks)
            for fd in self.failed:
                with contextlib.suppress(OSError):
                    os.close(fd)
        if not self.errors:
            self.check_all()
        if self.errors:
            raise AssertionError(f"seed {self.seed}: {self.errors[0]}")
        return ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))

    def write_and_sync(self, path, content):
        with open(path, "wb", buffering=0) as file:
            file.write(content)
            os.fsync(file.fileno())

    def guarded(self, task, mountpoint, number):
        draw = random.Random(f"{self.seed} {task.__name__} {number}")
        try:
            task(mountpoint, number, draw)
        except Exception as error:  # the other threads have to end, too
            self.errors.append(f"{task.__name__}: {type(error).__name__}: {error}")

    def goes_on(self):
        return time.monotonic() < self.end and not self.errors

    def serials(self, writer, count=1):
        first = self.next_serial[writer] + 1
        self.next_serial[writer] += count
        return first

    # A program with the library.

    def program(self, _mountpoint, number, draw):
        library = self.start()
        try:
            while self.goes_on():
                known = draw.choice(self.known)
                with contextlib.nullcontext() if self.locking else known.turn:
                    draw.choice((self.library_append, self.library_update, self.library_vlmeta,
                                 self.library_read))(library, known, number)
                time.sleep(draw.random() / 20)
        finally:
            library.end()

    def demand(self, library, command, known, writer=0, serial=0):
        answer = library.ask(command, self.path(known), writer, serial)
        if answer != "ok":
            raise AssertionError(f"{command} {known.name}: {answer or 'the program has ended'}")
        self.counts[f"of the library: {command}"] += 1

    def library_append(self, library, known, number):
        writer = APPENDED_BY_LIBRARY + number
        first = self.serials(writer, CHUNK // RECORD)
        self.demand(library, "append", known, writer, first)
        with known.lock:
            known.changes += 1
            known.synced.update((writer, first + i) for i in range(CHUNK // RECORD))

    def library_update(self, library, known, number):
        slot, serial = ("program", number), self.serials(f"slot {number}")
        with known.lock:
            known.most[slot] = serial
        self.demand(library, "update", known, number, serial)
        with known.lock:
            known.changes += 1
            known.slots[slot] = serial

    def library_vlmeta(self, library, known, number):
        serial = self.serials(f"layer {number}")
        with known.lock:
            known.most["layer", number] = serial
        self.demand(library, "vlmeta", known, number, serial)
        with known.lock:
            known.changes += 1
            known.layers[number] = serial

    def library_read(self, library, known, _number):
        self.demand(library, "read", known)

    # Mounts beside programs that respect the lock file.

    def append(self, mountpoint, number, draw):
        while self.goes_on():
            known = draw.choice(self.known)
            count = CHUNK // RECORD * draw.randrange(1, 3)
            first = self.serials(number, count)
            serials = [(number, first + i) for i in range(count)]
            step = "open"
            try:
                fd = os.open(mountpoint / known.name, os.O_WRONLY | os.O_APPEND)
                try:
                    step = "write"
                    os.write(fd, b"".join(record(*each) for each in serials))
                    step = "fsync"
                    os.fsync(fd)
                finally:
                    os.close(fd)
                with known.lock:
                    known.synced.update(serials)
                self.counts["records synced"] += count
            except OSError as error:
                if error.errno not in CONTENDED:
                    raise AssertionError(f"{step} of {known.name}: {error}") from error
                self.counts[f"{step} refused: {errno.errorcode[error.errno]}"] += 1
            time.sleep(draw.random() / 20)

    def read(self, mountpoint, _number, draw):
        while self.goes_on():
            known = draw.choice(self.known)
            state = known.state()
            try:
                content = read_past_the_page_cache(mountpoint / known.name)
            except OSError as error:
                if error.errno not in CONTENDED:
                    raise AssertionError(f"read of {known.name}: {error}") from error
                self.counts["reads refused"] += 1
                continue
            # A reader may see the size of one moment and the bytes of a later one.
            known.check(content[:len(content) - len(content) % RECORD], state, mountpoint.name)
            self.counts["reads"] += 1
            time.sleep(draw.random() / 10)

    def compact(self, _mountpoint, _number, draw):
        while self.goes_on():
            done = subprocess.run([daemon.FRAMEFS, "compact", self.path(draw.choice(self.known))],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0 and "has locked" not in done.stderr and "is writing" not in done.stderr:
                raise AssertionError(f"compact: {done.stderr}")
            self.counts["compactions" if done.returncode == 0 else "compactions refused"] += 1
            time.sleep(draw.random() / 2)

    # A mount in turn with programs that know no lock file.

    def overwrite(self, mountpoint, number, draw):
        mine = self.known[number::self.writers]  # no other writer of the mount syncs these frames
        handles = {known.name: os.open(mountpoint / known.name, os.O_RDWR) for known in mine}
        pending = {}  # by frame, if not synced: the serial, and the changes by programs before
        try:
            while self.goes_on():
                known = draw.choice(mine)
                with known.turn:
                    if known.name in pending:
                        self.sync_pending(mountpoint, known, number, handles, pending.pop(known.name))
                    else:
                        self.write_slot(known, number, handles[known.name], pending, draw)
                time.sleep(draw.random() / 20)
        finally:
            self.failed.extend(handles.values())

    def write_slot(self, known, number, fd, pending, draw):
        slot, serial = ("mount", number), self.serials(number)
        with known.lock:
            known.most[slot] = serial
            changes = known.changes
        # Less than a chunk: it is stored by the sync and not before.
        os.pwrite(fd, record(number, serial), self.programs * CHUNK + number * RECORD)
        if draw.randrange(3) == 0:
            pending[known.name] = (serial, changes)
            return
        os.fsync(fd)
        self.note_slot(known, slot, serial)

    def sync_pending(self, mountpoint, known, number, handles, written):
        serial, changes = written
        try:
            os.fsync(handles[known.name])
            is_synced = True
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            is_synced = False
        may_fail = known.changes != changes
        if not is_synced and not may_fail:
            raise AssertionError(f"{known.name}: fsync fails without a change by others")
        if is_synced:
            # The bytes were committed before the change, or the change was an update of a chunk
            # that the commit has not touched.
            self.note_slot(known, ("mount", number), serial)
            if may_fail:
                known.check(self.unpacked(known), known.state(), "after a change by others")
                self.counts["fsync after a change by others: done"] += 1
            return
        self.counts["fsync after a change by others: EIO"] += 1
        # Closing a file commits it a moment later, which would overlap with another's turn.
        self.failed.append(handles[known.name])
        handles[known.name] = os.open(mountpoint / known.name, os.O_RDWR)

    def unpacked(self, known):
        out = self.folder / f"{known.name}.plain"
        subprocess.run([daemon.FRAMEFS, "unpack", "-q", "-f", self.path(known), "-o", out], check=True)
        return out.read_bytes()

    def note_slot(self, known, slot, serial):
        with known.lock:
            known.slots[slot] = serial
        self.counts["slots synced"] += 1

    # The end.

    def check_all(self):
        mountpoint = self.folder / "end"
        mountpoint.mkdir()
        library = self.start()
        with daemon.Mount(self.source, mountpoint, "--ro"):
            for known in self.known:
                self.demand(library, "read", known)
                state = known.state()
                known.check((mountpoint / known.name).read_bytes(), state, "at the end")
                for number, serial in state[2].items():
                    stored = os.getxattr(mountpoint / known.name, f"{LAYER}{number}")
                    if int(stored) != serial:
                        raise AssertionError(f"{known.name}: writer{number} is {stored}, acknowledged is {serial}")
        library.end()
