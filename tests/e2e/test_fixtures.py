"""Every contiguous frame of the fixtures, through one mount: its bytes, or its errno."""

import errno
import hashlib
import json
import os
import pathlib
import shutil
import unittest

import daemon
from case import MountCase

FIXTURES = pathlib.Path(os.environ.get("FRAMEFS_FIXTURES") or daemon.ROOT / "tests/fixtures")

CORRUPT = {errno.EIO, errno.EFBIG}
NOT_SUPPORTED = {errno.EOPNOTSUPP}
PIECE = 1 << 20


def has_magic(path):
    with open(path, "rb") as file:
        return file.read(10)[2:] == b"b2frame\0"


def needs_plugin(entry):
    """Registered plugin codecs and filters may be refused by a build that lacks them."""
    built_in = {None, "blosclz", "lz4", "lz4hc", "zlib", "zstd"}
    return entry.get("codec") not in built_in or \
        any(32 <= f < 160 and f != 35 for f in entry.get("filters", []))


def read_hash(path):
    """The SHA-256 of a file, or the errno of the first read that failed."""
    digest = hashlib.sha256()
    fd = os.open(path, os.O_RDONLY)
    try:
        while piece := os.read(fd, PIECE):
            digest.update(piece)
    except OSError as error:
        return error.errno
    finally:
        os.close(fd)
    return digest.hexdigest()


class Fixtures(MountCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        manifest = json.loads((FIXTURES / "manifest.json").read_text())
        cls.entries = [e for e in manifest if e["kind"] == "cframe" and "offset" not in e]

    def setUp(self):
        for i, entry in enumerate(self.entries):
            shutil.copyfile(FIXTURES / entry["path"], self.source / f"{i:05d}.b2frame")

    def check_verdict(self, entry, got):
        if entry["expect"] == "ok":
            allowed = {entry["sha256"]}
            if entry.get("may_refuse"):
                allowed |= CORRUPT | NOT_SUPPORTED
        elif entry["expect"] == "unsupported":
            allowed = NOT_SUPPORTED | {entry.get("sha256_if_accepted")}
        else:
            allowed = CORRUPT | NOT_SUPPORTED | {entry.get("sha256_if_accepted")}
        if needs_plugin(entry):
            allowed |= NOT_SUPPORTED
        self.assertIn(got, allowed, f"{entry.get('what')}; {entry.get('reason')}")

    def check_huge(self, path, entry):
        """A legal frame of terabytes: any place reads at once."""
        self.assertEqual(path.stat().st_size, entry["nbytes"])
        with open(path, "rb", buffering=0) as file:
            for offset in (0, entry["nbytes"] // 2 + 1, entry["nbytes"] - 4096):
                self.assertEqual(os.pread(file.fileno(), 4096, offset), bytes(4096))
            self.assertEqual(os.pread(file.fileno(), 4096, entry["nbytes"]), b"")

    def test_each_frame_reads_as_the_manifest_says(self):
        counts = {"ok": 0, "unsupported": 0, "error": 0}
        with self.mount() as mount:
            names = set(os.listdir(mount.mountpoint))
            self.assertEqual(len(names), len(self.entries))
            last_good = None
            for i, entry in enumerate(self.entries):
                frame = self.source / f"{i:05d}.b2frame"
                is_frame = has_magic(frame)
                shown = mount.path(frame.stem if is_frame else frame.name)
                with self.subTest(entry["path"]):
                    counts[entry["expect"]] += 1
                    self.assertIn(shown.name, names)
                    if not is_frame:
                        self.assertEqual(shown.read_bytes(), frame.read_bytes())
                        continue
                    if "do-not-decode-whole" in entry["features"]:
                        self.check_huge(shown, entry)
                        continue
                    status = shown.stat()
                    self.assertEqual(status.st_blocks, frame.stat().st_blocks)
                    if entry["expect"] == "ok" and not entry.get("may_refuse"):
                        self.assertEqual(status.st_size, entry["nbytes"])
                    self.check_verdict(entry, read_hash(shown))
                    if entry["expect"] == "ok" and not needs_plugin(entry):
                        if not entry.get("may_refuse"):
                            last_good = (shown, entry["sha256"])
                    elif last_good:
                        # Whatever came of this one, its neighbour reads as before.
                        self.assertEqual(read_hash(last_good[0]), last_good[1])
        self.assertGreater(min(counts.values()), 0)
        print(f"\nfixtures through a mount: {counts}", flush=True)


if __name__ == "__main__":
    unittest.main()
