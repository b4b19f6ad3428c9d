"""What the manifest says of the fixtures.  Source: README.md beside it."""

import json
import os
import pathlib

import daemon

FIXTURES = pathlib.Path(os.environ.get("FRAMEFS_FIXTURES") or daemon.ROOT / "tests/fixtures")


def entries():
    """One for each frame; loose chunks are nothing that a command opens."""
    manifest = json.loads((FIXTURES / "manifest.json").read_text())
    return [entry for entry in manifest if entry["kind"] != "chunk"]


def sample():
    """Those for tests that start a program for each: all, or with FRAMEFS_FIXTURE_STRIDE=N each N-th, for
    builds in which a start takes a second."""
    return entries()[::int(os.environ.get("FRAMEFS_FIXTURE_STRIDE", "1"))]


def is_sound(entry):
    return entry["expect"] == "ok" and not entry.get("may_refuse")


def needs_plugin(entry):
    """Registered plugin codecs and filters may be refused by a build that lacks them."""
    built_in = {None, "blosclz", "lz4", "lz4hc", "zlib", "zstd"}
    return entry.get("codec") not in built_in or \
        any(32 <= f < 160 and f != 35 for f in entry.get("filters", []))


def is_huge(entry):
    return "do-not-decode-whole" in entry["features"]


def offset_options(entry):
    return ["--offset", str(entry["offset"])] if entry.get("offset") else []
