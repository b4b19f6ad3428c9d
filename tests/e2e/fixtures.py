"""The entries of the fixtures' manifest.  Source: README.md beside it."""

import json
import os
import pathlib

import daemon

FIXTURES = pathlib.Path(os.environ.get("FRAMEFS_FIXTURES") or daemon.ROOT / "tests/fixtures")


def entries():
    """One entry per frame.  Commands do not open loose chunks."""
    manifest = json.loads((FIXTURES / "manifest.json").read_text())
    return [entry for entry in manifest if entry["kind"] != "chunk"]


def sample():
    """Entries for tests that start a program per entry: all, or every N-th with
    FRAMEFS_FIXTURE_STRIDE=N, for builds that take a second to start."""
    return entries()[::int(os.environ.get("FRAMEFS_FIXTURE_STRIDE", "1"))]


def is_sound(entry):
    return entry["expect"] == "ok" and not entry.get("may_refuse")


def needs_plugin(entry):
    """Whether a build without plugin codecs and filters may refuse the entry."""
    built_in = {None, "blosclz", "lz4", "lz4hc", "zlib", "zstd"}
    return entry.get("codec") not in built_in or \
        any(32 <= f < 160 and f != 35 for f in entry.get("filters", []))


def is_huge(entry):
    return "do-not-decode-whole" in entry["features"]


def offset_options(entry):
    return ["--offset", str(entry["offset"])] if entry.get("offset") else []
