"""Lets framefs and the reference library decode the same damaged frames, and compares the results.

    decode.py make FOLDER COUNT SEED FIXTURES    writes COUNT mutants of the frames in FIXTURES
    decode.py compare OURS THEIRS                compares what the two sides printed

Both sides may refuse a frame or a chunk.  If only one of them refuses, the reason is counted.
Different bytes are a failure, and so is a reason that codec/ERRATA.md, "Damaged frames", does not
explain.
"""

import collections
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import mutation  # noqa: E402

MAX_ORIGINAL_BYTES = 128 << 10

# Reasons for which only framefs refuses, without their numbers.
EXPLAINED_HERE = {
    "bad field: frame magic at byte N",
    "bad field: typesize of the index (N) at byte N",
    "bad field: metalayer contents (N) at byte N",
    "bad field: nbytes (N) at byte N",
    "bad field: uncompressed_size (N) at byte N",
    "bad field: compressed_size (N) at byte N",
    # The header of the chunk of a vl-metalayer.
    "bad field: cbytes (N) at byte N",
    "bad field: typesize at byte N",
    "truncated: version at byte N",
    "unsupported: frame layout before N.N.N-beta.N at byte N",
    "bad field: nbytes of the chunk (N) at byte N",
    "bad field: block start (N) at byte N",
    "bad field: lz4 match distance at byte N",
    "bad field: cbytes of a special chunk (N) at byte N",
    "bad field: cbytes of a memcpyed chunk (N) at byte N",
    "bad field: lazy flag on a stored chunk at byte N",
    "bad field: variable-length blocks in a special or memcpyed chunk at byte N",
    "truncated: cbytes (N) at byte N",
    "truncated: stream at byte N",
    "truncated: stream size at byte N",
    "bad field: blocksize (N) at byte N",
}

# The same for the library.  Its numbers are codes of errors: -3 data, -5 read, -9 dictionary,
# -11 header.
EXPLAINED_THERE = {
    "cannot be opened",
    "get_chunk gives 32",
    "get_chunk gives -3",
    "decompress_chunk gives -3",
    "decompress_chunk gives -5",
    "decompress_chunk gives -9",
    "decompress_chunk gives -11",
}


def make(folder, count, seed, fixtures):
    rng = random.Random(seed)
    paths = [path for path in sorted(pathlib.Path(fixtures).rglob("*.b2frame"))
             if path.is_file() and path.parent.suffix != ".b2frame" and path.stat().st_size <= MAX_ORIGINAL_BYTES]
    originals = {path: path.read_bytes() for path in paths}
    mutator = mutation.Mutator(rng, [content for content in originals.values() if content])
    for number in range(count):
        path = rng.choice(paths)
        name = f"{number:06}-{path.parent.name}-{path.name}"
        (pathlib.Path(folder) / name).write_bytes(mutator.mutated(originals[path]))


def outcomes(path):
    """(frame, "frame" or chunk number): the rest of the line."""
    found = {}
    for line in pathlib.Path(path).read_text(errors="replace").splitlines():
        name, key, *rest = line.split(" ", 2)
        found[name, key] = rest[0] if rest else ""
    return found


def is_read(outcome):
    return outcome == "ok" or re.fullmatch(r"\d+ [0-9a-f]{16}", outcome) is not None


def reason(outcome):
    """The message without its numbers."""
    return re.sub(r"-?\b(0x[0-9a-f]+|\d+)\b", "N", outcome)


def compare(ours_path, theirs_path):
    ours, theirs = outcomes(ours_path), outcomes(theirs_path)
    crashed = {name for name, key in theirs if key == "crash"}
    counts = collections.Counter()
    refused_here = collections.Counter()
    refused_there = collections.Counter()
    examples = {}
    different = []
    for (name, key), here in ours.items():
        there = theirs.get((name, key))
        if here == "undefined":
            counts["undefined, see codec/ERRATA.md"] += 1
        elif name in crashed and there is None:
            counts["the library crashed"] += 1
        elif there is None:
            counts["the library did not get there"] += 1
        elif is_read(here) and is_read(there):
            counts["read alike" if here == there else "read differently"] += 1
            if here != there:
                different.append(f"{name} {key}: framefs {here}, library {there}")
        elif is_read(here):
            refused_there[there] += 1
            examples.setdefault(there, f"{name} {key}")
        elif is_read(there):
            refused_here[reason(here)] += 1
            examples.setdefault(reason(here), f"{name} {key}")
        else:
            counts["refused alike"] += 1
    for what, count in sorted(counts.items()):
        print(f"{count:8} {what}")
    for title, table in (("refused by framefs, read by the library", refused_here),
                         ("read by framefs, refused by the library", refused_there)):
        print(f"{sum(table.values()):8} {title}:")
        for text, count in table.most_common():
            print(f"{count:14} {text}   (such as {examples[text]})")
    unexplained = (refused_here.keys() - EXPLAINED_HERE) | (refused_there.keys() - EXPLAINED_THERE)
    for text in different:
        print(text)
    for text in sorted(unexplained):
        print(f"not explained in codec/ERRATA.md: {text}")
    return 1 if different or unexplained or not counts["read alike"] else 0


def main(arguments):
    if len(arguments) == 5 and arguments[0] == "make":
        make(arguments[1], int(arguments[2]), int(arguments[3]), arguments[4])
        return 0
    if len(arguments) == 3 and arguments[0] == "compare":
        return compare(arguments[1], arguments[2])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
