"""Edits damaged frames through a mount: an edit never harms bytes that it does not touch."""

import errno
import os

import mutant_reads as reads
from mutant_reads import PIECE, Failure, Wrong

MAX_BYTES = 256 << 10

# A change of a damaged frame may also get the answer that the frame cannot be changed.
REFUSALS = reads.FAIR_ERRORS | {errno.EPERM, errno.EROFS, errno.EINVAL, errno.ESTALE, errno.ENOTSUP}


class Edit:
    """Random changes of one file, and what the file may hold after them."""

    def __init__(self, rng, path):
        self._rng = rng
        self._path = path
        self._log = []
        self._touched = []  # ranges (begin, end) that a change tried to write
        self._sizes = []  # to which a change tried to truncate the file

    def run(self, check_path):
        """Changes the file, and compares it with what `check_path`, on another mount, shows."""
        before = self._pieces(self._path)
        if before is None:
            return
        with reads.limited(f"changing {self._path}"):
            allowed = self._change(before)
        after = self._pieces(check_path)
        try:
            self._compare(allowed, after)
        except Wrong as wrong:
            raise Wrong(f"{wrong}\nafter: {', '.join(self._log)}") from None

    def _pieces(self, path):
        """The content by pieces, with a Failure for each that cannot be read; None for a file that
        is too large or cannot be opened.

        A decoder that is asked for the begin of a block does not see damage behind it.  The second
        read of a block decodes all of it, so the result is that of a second pass."""
        with reads.limited(f"reading {path}"):
            fd = reads.attempt(reads.open_uncached, path)
            if isinstance(fd, Failure):
                return None
            try:
                size = os.fstat(fd).st_size
                if size > MAX_BYTES:
                    return None
                for _ in range(2):
                    pieces = [reads.attempt(os.pread, fd, min(PIECE, size - at), at)
                              for at in range(0, size, PIECE)]
                return pieces
            finally:
                os.close(fd)

    def _change(self, before):
        """Makes some changes.  Returns the content, and which of its bytes are known."""
        content = bytearray()
        known = bytearray()
        for piece in before:
            is_read = not isinstance(piece, Failure)
            content += piece if is_read else bytes(PIECE)
            known += bytes([is_read]) * (len(piece) if is_read else PIECE)
        fd = reads.attempt(reads.open_uncached, self._path, os.O_RDWR, fair=REFUSALS | {errno.EACCES})
        if isinstance(fd, Failure):
            return content, known
        size = os.fstat(fd).st_size
        del content[size:], known[size:]
        has_failed = False
        try:
            for _ in range(self._rng.randrange(1, 5)):
                change = self._rng.choice((self._write, self._write, self._append, self._truncate, self._sync))
                has_failed |= isinstance(change(fd, content, known), Failure)
        finally:
            # The close of a damaged frame may report that the edit is lost.
            has_failed |= isinstance(reads.attempt(os.fsync, fd, fair=REFUSALS), Failure)
            reads.attempt(os.close, fd, fair=REFUSALS)
        if has_failed:
            # Some of the changes may be lost: what they touched is old or new, and so is the size.
            del content[min([size, *self._sizes]):], known[min([size, *self._sizes]):]
            for begin, end in self._touched:
                known[begin:end] = bytes(len(known[begin:end]))
        return content, known

    def _write_at(self, fd, offset, data, content, known):
        self._log.append(f"write {len(data)} at {offset}")
        self._touched.append((offset, offset + len(data)))
        written = reads.attempt(os.pwrite, fd, data, offset, fair=REFUSALS)
        if isinstance(written, Failure):
            return written
        end = offset + written
        content[len(content) : end] = bytes(max(0, end - len(content)))
        known[len(known) : end] = b"\1" * max(0, end - len(known))
        content[offset:end] = data[:written]
        known[offset:end] = b"\1" * written
        return written

    def _write(self, fd, content, known):
        offset = self._rng.randrange(len(content) + 1)
        return self._write_at(fd, offset, self._rng.randbytes(self._rng.randrange(1, 3 * PIECE)), content, known)

    def _append(self, fd, content, known):
        return self._write_at(fd, len(content), b"appended " * self._rng.randrange(1, 1000), content, known)

    def _truncate(self, fd, content, known):
        size = self._rng.randrange(len(content) + PIECE)
        self._log.append(f"truncate to {size}")
        self._sizes.append(size)
        self._touched.append((min(size, len(content)), max(size, len(content))))
        done = reads.attempt(os.ftruncate, fd, size, fair=REFUSALS)
        if not isinstance(done, Failure):
            del content[size:], known[size:]
            known += b"\1" * (size - len(known))
            content += bytes(size - len(content))
        return done

    def _sync(self, fd, content, known):
        self._log.append("fsync")
        return reads.attempt(os.fsync, fd, fair=REFUSALS)

    @staticmethod
    def _compare(allowed, after):
        content, known = allowed
        if after is None:
            if any(known):
                raise Wrong("the frame can no longer be opened")
            return
        for number, piece in enumerate(after):
            begin = number * PIECE
            wanted, mask = content[begin : begin + PIECE], known[begin : begin + PIECE]
            if not isinstance(piece, Failure) and piece.startswith(wanted):
                continue
            if isinstance(piece, Failure):
                if wanted and all(mask):
                    raise Wrong(f"{reads.show_range(begin, PIECE)} can no longer be read")
                continue
            for at, byte in enumerate(wanted):
                if mask[at] and (at >= len(piece) or piece[at] != byte):
                    raise Wrong(f"byte {begin + at} of {len(content)} has changed")
        shown = sum(PIECE if isinstance(piece, Failure) else len(piece) for piece in after)
        if all(known) and shown < len(content):
            raise Wrong(f"{shown} bytes are left of {len(content)}")
