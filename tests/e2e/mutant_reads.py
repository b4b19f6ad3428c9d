"""Reads files of a mount in pieces, with a limit of time, and compares the results."""

import contextlib
import dataclasses
import errno
import os
import signal

PIECE = 4096
MAX_WHOLE_BYTES = 512 << 10
LIMIT_S = 30

# The answers that a damaged frame may get: it is damaged, this build lacks its codec, or it is
# beyond the limits of the mount.
FAIR_ERRORS = {errno.EIO, errno.EOPNOTSUPP, errno.EFBIG}


class Wrong(AssertionError):
    """A mount broke a promise."""


@dataclasses.dataclass(frozen=True)
class Failure:
    """The error that a system call gave."""

    errno: int

    def __str__(self):
        return errno.errorcode[self.errno]


@contextlib.contextmanager
def limited(task):
    """Interrupts a system call that takes longer than LIMIT_S."""

    def interrupt(_number, _frame):
        raise Wrong(f"{task}: no answer in {LIMIT_S} s")

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def attempt(call, *arguments, fair=FAIR_ERRORS):
    """The result of a system call, or a Failure for an error that is fair."""
    try:
        return call(*arguments)
    except OSError as error:
        if error.errno not in fair:
            raise Wrong(f"{call.__name__}{arguments}: {error}") from error
        return Failure(error.errno)


def open_uncached(path, flags=os.O_RDONLY):
    """The kernel keeps no pages of such a file: the daemon answers each read."""
    return os.open(path, flags | os.O_DIRECT | os.O_CLOEXEC)


def chosen_parts(rng, size):
    """Parts (offset, size) that together are the whole file, if it is small; otherwise both ends
    and parts between.  A few more lie across the others."""
    if size <= MAX_WHOLE_BYTES:
        parts = [(at, min(PIECE, size - at)) for at in range(0, size, PIECE)]
    else:
        places = [0, size - PIECE] + [rng.randrange(size - PIECE) for _ in range(4)]
        parts = [(at, PIECE) for at in places]
    for _ in range(3):
        if size > 1:
            at = rng.randrange(size - 1)
            parts.append((at, rng.randrange(1, min(size - at, 3 * PIECE) + 1)))
    return parts


@dataclasses.dataclass
class View:
    """A file as one mount shows it."""

    size: int = 0  # bytes
    open: Failure | None = None  # if it could not be opened
    parts: dict = dataclasses.field(default_factory=dict)  # (offset, size): bytes or Failure
    whole: bytes | Failure | None = None  # None if it is too large


def view(path, choose, whole_first=False):
    """Reads the parts that `choose` names for the size of the file, and the whole file."""
    seen = View()
    with limited(f"reading {path}"):
        fd = attempt(open_uncached, path)
        if isinstance(fd, Failure):
            seen.open = fd
            return seen
        try:
            seen.size = os.fstat(fd).st_size
            parts = choose(seen.size)

            def read_whole():
                if seen.size <= MAX_WHOLE_BYTES:
                    seen.whole = attempt(os.pread, fd, seen.size, 0)

            if whole_first:
                parts = parts[::-1]
                read_whole()
            for offset, size in parts:
                seen.parts[offset, size] = attempt(os.pread, fd, size, offset)
            if not whole_first:
                read_whole()
        finally:
            os.close(fd)
    return seen


def show_range(offset, size):
    return f"bytes {offset} to {offset + size}"


def check_parts_of_whole(seen):
    """A part that was read is what the whole has there.  The whole fails if and only if a part
    does."""
    if seen.whole is None:
        return
    failed = any(isinstance(data, Failure) for data in seen.parts.values())
    if isinstance(seen.whole, Failure):
        if not failed:
            raise Wrong(f"all parts can be read, but the whole gives {seen.whole}")
        return
    if failed and len(seen.whole) == seen.size:
        raise Wrong("the whole can be read, but a part cannot")
    for (offset, size), data in seen.parts.items():
        wanted = seen.whole[offset : offset + size]
        if not isinstance(data, Failure) and not data.startswith(wanted):
            raise Wrong(f"{show_range(offset, size)} differ from the whole")


def check_same(one, other, is_wavering=False):
    """Two mounts show the same.  Where the whole fails, a part may be read or not: a decoder that
    was asked for the begin of a block does not see damage behind it."""
    if one.open != other.open or one.size != other.size:
        raise Wrong(f"one mount shows {one.size} bytes ({one.open}), the other {other.size} ({other.open})")
    is_sound = isinstance(one.whole, bytes) and isinstance(other.whole, bytes)
    results = [((0, one.size), one.whole, other.whole)]
    results += [(place, data, other.parts[place]) for place, data in one.parts.items()]
    for place, here, there in results:
        if isinstance(here, bytes) and isinstance(there, bytes):
            if here != there:
                raise Wrong(f"{show_range(*place)}: the mounts show other bytes")
        elif type(here) is not type(there) and not is_wavering and (is_sound or place == (0, one.size)):
            raise Wrong(f"{show_range(*place)}: one mount can read them, the other cannot")
