"""Every fixture, of every kind, through a mount: its bytes, or its errno."""

import errno
import hashlib
import io
import json
import os
import shutil
import struct
import unittest

import numpy

import daemon
import fixtures
import frame_writer
from case import MountCase

CORRUPT = {errno.EIO, errno.EFBIG}
NOT_SUPPORTED = {errno.EOPNOTSUPP}
PIECE = 1 << 20


def has_magic(path):
    """Whether a file, or the index of a directory, has a frame's magic."""
    index = path / "chunks.b2frame" if path.is_dir() else path
    if not index.is_file():
        return False
    with open(index, "rb") as file:
        head = file.read(27)
    is_sparse = head[26:27] == b"\x01"
    return head[2:10] == b"b2frame\0" and is_sparse == path.is_dir()


def read_all(path):
    """The bytes of a file, or the errno of the first failed read."""
    pieces = []
    fd = os.open(path, os.O_RDONLY)
    try:
        while piece := os.read(fd, PIECE):
            pieces.append(piece)
    except OSError as error:
        return error.errno
    finally:
        os.close(fd)
    return b"".join(pieces)


def digest(got):
    return hashlib.sha256(got).hexdigest() if isinstance(got, bytes) else got


class Fixtures(MountCase):
    """SOURCE has each fixture under a number and a frame's suffix; the mount shows the numbers."""

    def allowed(self, entry):
        """The allowed results of a read: hashes and errnos."""
        if entry["expect"] == "ok":
            verdict = {entry["sha256"]}
            if entry.get("may_refuse"):
                verdict |= CORRUPT | NOT_SUPPORTED
            return verdict
        verdict = NOT_SUPPORTED | {entry.get("sha256_if_accepted")}
        return verdict if entry["expect"] == "unsupported" else verdict | CORRUPT

    def is_undecidable(self, entry):
        """Whether the entry is lossy without a known hash, or follows one of two writers' rules:
        see codec/ERRATA.md."""
        return entry["expect"] == "unsupported" and \
            ("truncprec" in str(entry.get("features")) or "truncshuffle" in entry["path"]
             or entry.get("reference") == "ok-wrong-data")

    def check(self, entry, got):
        if self.is_undecidable(entry) and isinstance(got, bytes):
            return
        self.assertIn(digest(got), self.allowed(entry), f"{entry.get('what')}; {entry.get('reason')}")

    def check_array(self, entry, got):
        if isinstance(got, int):
            self.assertIn(got, CORRUPT | NOT_SUPPORTED)
            self.assertTrue(entry["expect"] != "ok" or "b2nd_reference" in entry or entry.get("may_refuse"), entry["path"])
            return
        if not entry.get("b2nd"):
            return
        wanted = entry["b2nd"]
        array = numpy.lib.format.read_array(io.BytesIO(got), allow_pickle=False)
        self.assertEqual(list(array.shape[:len(wanted["shape"])]), wanted["shape"])
        self.assertEqual(array.nbytes, wanted["arr_nbytes"])
        if wanted["npy_sha256"]:
            self.assertEqual(digest(got[len(got) - array.nbytes:]), wanted["npy_sha256"])

    def check_huge(self, path, entry):
        """Checks a valid frame of terabytes: reads are fast everywhere."""
        self.assertEqual(path.stat().st_size, entry["nbytes"])
        with open(path, "rb", buffering=0) as file:
            for offset in (0, entry["nbytes"] // 2 + 1, entry["nbytes"] - 4096):
                self.assertEqual(os.pread(file.fileno(), 4096, offset), bytes(4096))
            self.assertEqual(os.pread(file.fileno(), 4096, entry["nbytes"]), b"")

    def check_frame(self, mount, entry, name):
        frame = self.source / name
        if not has_magic(frame):
            if frame.is_file():
                self.assertEqual(mount.path(name).read_bytes(), frame.read_bytes())
            return
        shown = mount.path(frame.stem)
        if fixtures.is_huge(entry):
            self.check_huge(shown, entry)
            return
        if fixtures.is_sound(entry):
            self.assertEqual(shown.stat().st_size, entry["nbytes"])
        self.check(entry, read_all(shown))

    def test_frames_and_sparse_frames(self):
        entries = [entry for entry in fixtures.entries() if "offset" not in entry]
        names = [f"{i:05d}.b2frame" for i in range(len(entries))]
        for entry, name in zip(entries, names):
            path = fixtures.FIXTURES / entry["path"]
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, self.source / name)
        with self.mount() as mount:
            for entry, name in zip(entries, names):
                with self.subTest(entry["path"]):
                    self.check_frame(mount, entry, name)
        print(f"\nframes through a mount: {len(entries)}", flush=True)

    def change(self, path):
        """Overwrites the middle of a file and appends to it.  Returns the content, or the errno of
        the refusal."""
        content = bytearray(path.read_bytes())
        middle, line = len(content) // 2, b"0123456789"
        try:
            with open(path, "r+b", buffering=0) as file:
                for offset in (middle, max(middle + len(line), len(content))):
                    os.pwrite(file.fileno(), line, offset)
                    content[offset:offset + len(line)] = line
                os.fsync(file.fileno())
        except OSError as error:
            return error.errno
        return bytes(content)

    def test_sound_frames_can_be_changed(self):
        entries = [entry for entry in fixtures.entries()
                   if fixtures.is_sound(entry) and not entry.get("offset") and not fixtures.is_huge(entry)
                   and entry["path"].endswith(".b2frame")]
        for i, entry in enumerate(entries):
            path = fixtures.FIXTURES / entry["path"]
            target = self.source / f"{i:05d}.b2frame"
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, target)
            for file in [target, *target.rglob("*")]:
                file.chmod(0o755 if file.is_dir() else 0o644)
        shown = [self.mountpoint / f"{i:05d}" for i in range(len(entries))]
        with self.mount():
            changed = [self.change(path) for path in shown]
        with self.mount():
            for path, entry, content in zip(shown, entries, changed):
                with self.subTest(entry["path"]):
                    if isinstance(content, int):
                        self.assertIn(content, NOT_SUPPORTED)
                    else:
                        self.assert_same_bytes(path.read_bytes(), content, entry["path"])
        refused = sum(isinstance(content, int) for content in changed)
        self.assertLess(refused, len(entries) / 4)
        print(f"\nframes changed through a mount: {len(entries) - refused}, refused: {refused}", flush=True)

    def test_arrays(self):
        entries = [entry for entry in fixtures.entries() if entry["path"].endswith(".b2nd")]
        for i, entry in enumerate(entries):
            path = fixtures.FIXTURES / entry["path"]
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, self.source / f"{i:05d}.b2nd")
        with self.mount() as mount:
            names = set(os.listdir(mount.path()))
            for i, entry in enumerate(entries):
                # If the array cannot be shown, a read must give the reason.
                name = next(n for n in (f"{i:05d}.npy", f"{i:05d}", f"{i:05d}.b2nd") if n in names)
                with self.subTest(entry["path"]):
                    if name.endswith(".b2nd"):
                        self.assertFalse(has_magic(self.source / name))
                        continue
                    if entry.get("b2nd") and "b2nd_reference" not in entry and entry["expect"] == "ok":
                        self.assertTrue(name.endswith(".npy"))
                    self.check_array(entry, read_all(mount.path(name)))
        self.assertGreater(len(entries), 0)
        print(f"\narrays through a mount: {len(entries)}", flush=True)

    def test_frames_within_files(self):
        entries = [entry for entry in fixtures.entries() if entry.get("offset")]
        self.assertGreater(len(entries), 0)
        for entry in entries:
            with self.subTest(entry["path"], offset=entry["offset"]):
                path = fixtures.FIXTURES / entry["path"]
                with self.mount("--offset", str(entry["offset"]), source=path) as mount:
                    self.check(entry, read_all(mount.path(path.name)))

    def test_loose_chunks(self):
        """Each chunk as the only chunk of a frame."""
        manifest = json.loads((fixtures.FIXTURES / "manifest.json").read_text())
        entries = [entry for entry in manifest if entry["kind"] == "chunk"]
        kept = []
        for entry in entries:
            chunk = (fixtures.FIXTURES / entry["path"]).read_bytes()
            nbytes = struct.unpack_from("<i", chunk, 4)[0] if len(chunk) >= 16 else -1
            if nbytes <= 0 or fixtures.is_huge(entry):
                continue  # no frame can state this size
            name = f"{len(kept):05d}.b2frame"
            (self.source / name).write_bytes(frame_writer.frame([chunk], nbytes, typesize=max(chunk[3], 1)))
            kept.append((entry, name))
        with self.mount() as mount:
            for entry, name in kept:
                with self.subTest(entry["path"]):
                    self.check(entry, read_all(mount.path(name.removesuffix(".b2frame"))))
        self.assertGreater(len(kept), len(entries) * 3 // 4)
        print(f"\nchunks through a mount: {len(kept)} of {len(entries)}", flush=True)


if __name__ == "__main__":
    unittest.main()
