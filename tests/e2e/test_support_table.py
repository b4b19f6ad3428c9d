"""Checks two tables against the fixtures: what can be read (in fs/SEMANTICS.md) and what is refused
(in README.md).  Each row must describe how a mount shows its fixtures, and each fixture must have a
row."""

import errno
import json
import os
import pathlib
import re

import daemon
import frame_writer
from case import MountCase
from fixtures import FIXTURES

# Each table: its document, its heading, and whether it lists what works.
TABLES = ((daemon.ROOT / "fs/SEMANTICS.md", "## What can be read", True),
          (daemon.ROOT / "README.md", "## What is refused", False))


def has(*tags):
    return lambda entry: bool(set(tags) & set(entry.get("features", [])))


def tag_like(pattern):
    return lambda entry: any(re.fullmatch(pattern, tag) for tag in entry.get("features", []))


def codec_is(*names):
    return lambda entry: entry.get("codec") in names


def filters_are(*ids):
    return lambda entry: any(filter_id in ids for filter_id in entry.get("filters", []))


def is_beta(entry):
    return entry["kind"] == "cframe" and entry["path"].startswith(("old/v2.0.0-beta", "old/v2.0.0.beta"))


# The first words of a row, and the fixtures that it is about.
ROWS = {
    "contiguous frames of 2.0.0-rc1": lambda e: e["kind"] == "cframe" and not is_beta(e),
    "contiguous frames of 2.0.0-beta.2": is_beta,
    "sparse frames": lambda e: e["kind"] == "sframe",
    "frames from some byte of a file on": lambda e: "offset" in e or "trailing_bytes" in e,
    "frames without chunks": lambda e: (e.get("nchunks") or 0) in (0, 1) or e["nchunks"] > 1000,
    "chunks of any one size": has("variable-chunks", "chunk1", "big-block", "one-block-chunk"),
    "chunks with variable-length blocks": has("vl-blocks"),
    "zero, NaN, repeated-value": tag_like("special-.*"),
    "chunks of Blosc1": has("blosc1-header", "blosc1-in-frame", "old-writer"),
    "BloscLZ, LZ4": codec_is("blosclz", "lz4", "lz4hc", "zlib", "zstd"),
    "chunks with dictionaries": has("dict"),
    "NDLZ": codec_is("ndlz"),
    "ZFP in its three modes": codec_is("zfp_acc", "zfp_prec", "zfp_rate"),
    "shuffle, bitshuffle, delta": filters_are(1, 2, 3, 4, 34, 35, 36),
    "ndcell, ndmean": filters_are(32, 33),
    "arrays of any dimension count": lambda e: "b2nd" in e,
    "metalayers and vl-metalayers": has("metalayers", "vlmeta"),
    "Lizard, ": lambda e: has("user-codec", "codec-lizard")(e) or "sha256_if_supported" in e,
    "frames older than": lambda e: False,  # see the test of other formats
    "special chunks in frames whose chunks vary": lambda e: e["path"].startswith("refbug/var_special"),
    "an array whose shape does not fit": lambda e: "b2nd_reference" in e,
    "anything damaged": lambda e: e["expect"] == "error",
}

ERRNO = {"works": None, "EOPNOTSUPP": errno.EOPNOTSUPP, "EIO": errno.EIO}


def rows_below(document, heading):
    """The rows of the only table below a heading."""
    section = document.read_text().split(f"\n{heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in section.splitlines() if line.startswith("|")]
    return [(what, verdict) for what, verdict in rows[2:]]


def table_rows():
    """(what, verdict) of each row of both tables."""
    return [row for document, heading, _ in TABLES for row in rows_below(document, heading)]


def outcome(path):
    """The errno of the first failed read, or None."""
    fd = os.open(path, os.O_RDONLY)
    try:
        while os.read(fd, 1 << 20):
            pass
    except OSError as error:
        return error.errno
    finally:
        os.close(fd)
    return None


class SupportTable(MountCase):
    def setUp(self):
        manifest = json.loads((FIXTURES / "manifest.json").read_text())
        self.entries = [entry for entry in manifest if entry["kind"] != "chunk" and entry.get("offset", 0) == 0
                        and "do-not-decode-whole" not in entry.get("features", [])]

    def shown(self, mount, entry):
        """The path at which an entry is shown; None if only a SOURCE of its own would show it."""
        path = pathlib.PurePath(entry["path"])
        names = [path.stem + ".npy", path.stem] if path.suffix in (".b2nd", ".b2frame", ".b2f") else []
        for name in [*names, path.name]:
            if mount.path(path.parent, name).is_file():
                return mount.path(path.parent, name)
        return None

    def test_every_row_has_its_fixtures_and_its_test(self):
        found = {words: [row for row in table_rows() if row[0].startswith(words)] for words in ROWS}
        for words, rows in found.items():
            self.assertEqual(len(rows), 1, f"rows that begin with {words!r}")
        self.assertEqual(len(found), len(table_rows()), "a row without a test")
        for document, heading, works in TABLES:
            for what, verdict in rows_below(document, heading):
                self.assertIn(verdict, ERRNO, what)
                self.assertEqual(verdict == "works", works, f"{document}: {what}")
        for entry in self.entries:
            self.assertTrue(any(about(entry) for about in ROWS.values()), entry["path"])

    def test_other_formats_are_refused_by_name(self):
        good = frame_writer.plain_frame(b"data" * 1000)
        older, newer = bytearray(good), bytearray(good)
        older[0] = 0x9C  # a header of 12 items
        newer[25] = 0x14  # format version 4
        for name, frame in (("older", older), ("newer", newer)):
            (self.source / f"{name}.b2frame").write_bytes(frame)
        with self.mount() as mount:
            for name in ("older", "newer"):
                self.assertEqual(outcome(mount.path(name)), errno.EOPNOTSUPP, name)
            self.assertIn("frame layout before 2.0.0-beta.2", mount.log())
            self.assertIn("frame format version (4)", mount.log())

    def test_working_rows_read_and_refused_rows_fail(self):
        verdicts = {words: next(v for what, v in table_rows() if what.startswith(words)) for words in ROWS}
        refusing = {words for words, verdict in verdicts.items() if verdict != "works"}
        seen = {}
        with self.mount(source=FIXTURES) as mount:
            for entry in self.entries:
                path = self.shown(mount, entry)
                if path is None:
                    continue
                rows = {words for words, about in ROWS.items() if about(entry)}
                got = outcome(path)
                for words in rows:
                    seen.setdefault(words, set()).add(got)
                with self.subTest(entry["path"], rows=rows):
                    if got is not None:
                        # A row must announce the refusal.  Damage may change the codec, and with it
                        # the errno.
                        announced = {ERRNO[verdicts[words]] for words in rows & refusing}
                        tolerated = {errno.EIO, errno.EOPNOTSUPP} if entry["expect"] == "error" else set()
                        if entry.get("may_refuse"):
                            tolerated |= {errno.EIO, errno.EOPNOTSUPP}
                        self.assertIn(got, announced | tolerated)
                    elif "sha256_if_supported" in entry:
                        self.fail("it reads, and the table says that it does not")
        for words, verdict in verdicts.items():
            if not words.startswith("frames older"):
                self.assertIn(ERRNO[verdict], seen.get(words, set()), f"no fixture shows {words!r}")
