"""The figures of scripts/bench --peers as text, and as the measured parts of README.md and
RESULTS.md."""

import chart
import report
from peer_mounts import BTRFS, EROFS, EXT4, FRAMEFS, IMMUTABLE, PASSTHROUGH, SQUASHFS
from peer_reading import CUBES, MAPPED_BYTES, SEQUENTIAL, SMALL_READS, UNIFORM, slices
from peer_writing import OVERWRITES, SMALL_FILES

MARK = "peers"
LINE = "    {:16s}{:22s}{:>12s}{:>26s}{:>10s}"
COMPARED = (("read, sequential", SEQUENTIAL, ("float lz4", "float zstd")),
            ("read 4 KiB at random", UNIFORM, ("float lz4", "float zstd")),
            ("read mapped bytes at random", MAPPED_BYTES, ("float lz4",)),
            ("read slices of a mapped array, cubes of 64", slices(CUBES), ("float lz4",)),
            ("open, read and close small files again", SMALL_READS, ("",)),
            ("overwrite 4 KiB at random, one fsync", OVERWRITES, ("float lz4",)),
            ("create files of 600 bytes", SMALL_FILES, ("",)))
# A column shows the first of these that a row has.
COLUMNS = (("framefs", (FRAMEFS,)), ("framefs --immutable", (IMMUTABLE,)), ("squashfs", (SQUASHFS,)), ("EROFS", (EROFS,)),
           ("btrfs", tuple(BTRFS.values())), ("ext4", (EXT4,)), ("passthrough_hp", (PASSTHROUGH,)))
ALTERNATIVES = tuple(who for _, names in COLUMNS for who in names)


def groups(document):
    """(row of framefs, [row of a peer]) for each figure of framefs that has peers."""
    for ours in document["results"]:
        if "ratios" in ours:
            yield ours, [row for row in document["results"] if is_beside(ours, row)]


def is_beside(ours, peer):
    """Whether a peer did the same as framefs, with the same data, or with plain bytes, which are
    all the same."""
    return (peer is not ours and ours["what"] == peer["what"]
            and peer["data"] in ("", ours["data"], ours["data"].partition(" ")[0]))


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def spread(row):
    return f"{number(row['least'])} - {number(row['most'])}"


# ------------------------------------------------------------------------------------------ text

def as_text(document):
    lines = [", ".join(f"{name} {value}" for name, value in document["machine"].items()),
             "Each line: the median, the spread, and how many times as fast framefs is."]
    last = None
    for ours, peers in groups(document):
        if ours["what"] != last:
            lines += ["", f"{ours['what']} ({ours['unit']}): {ours['command']}"]
        last = ours["what"]
        lines.append(LINE.format(ours["data"], ours["who"], number(ours["median"]), spread(ours), ""))
        lines += [LINE.format("", peer["who"], number(peer["median"]), spread(peer), f"{ours['ratios'][peer['who']]:.2f}")
                  for peer in peers if peer["who"] in ours["ratios"]]
    if document["goals"]:
        lines += ["", *report.goal_lines(document["goals"])]
    return "\n".join(lines)


# ------------------------------------------------------------------------- README.md, RESULTS.md

def conditions(document):
    return f"{report.conditions(document)} `scripts/bench --peers --readme` repeats it."


def find(document, what, data):
    """The row of framefs and those of its peers, by name; empty if it was not measured."""
    for ours, peers in groups(document):
        if (ours["what"], ours["data"], ours["who"]) == (what, data, FRAMEFS):
            return {row["who"]: row for row in [ours, *peers]}
    return {}


def cell(rows, names):
    found = next((rows[who] for who in names if who in rows), None)
    return number(found["median"]) if found else "-"


def comparison(document):
    """The figures of the chart, and the same with other codecs, as a table."""
    lines = []
    for name, what, kinds in COMPARED:
        for data in kinds:
            if rows := find(document, what, data):
                lines.append([f"{name} ({rows[FRAMEFS]['unit']})", data, *(cell(rows, names) for _, names in COLUMNS)])
    return report.table(["", "data", *(head for head, _ in COLUMNS)], lines)


def chart_groups(document):
    """(heading, [row]) for the first data of each of COMPARED."""
    for name, what, kinds in COMPARED:
        if rows := find(document, what, kinds[0]):
            of_data = f", {kinds[0]}" if kinds[0] else ""
            yield (f"{name}{of_data} ({rows[FRAMEFS]['unit']})",
                   [rows[who] for who in ALTERNATIVES if who in rows])


def as_svg(document):
    return chart.as_svg(f"Medians of {document['options']['runs']} runs; the line is the spread; each scale is its own",
                        list(chart_groups(document)))


def as_short_markdown(document):
    return "\n".join([chart.link("tests/bench/"), "", *comparison(document), "", conditions(document)])


def as_full_markdown(document):
    def beside(ours, peers):
        return ", ".join(f"{peer['who']} {number(peer['median'])} ({spread(peer)}) {ours['ratios'][peer['who']]:.2f}"
                         for peer in peers if peer["who"] in ours["ratios"])

    every = [[f"{ours['what']} ({ours['unit']})", ours["data"], ours["who"], number(ours["median"]), spread(ours),
              beside(ours, peers)] for ours, peers in groups(document)]
    commands = {row["what"]: row["command"] for row in document["results"]}
    parts = [[conditions(document)], [chart.link("")], comparison(document),
             ["All rows: the median and the spread of framefs, and of each peer with the ratio of the medians (more than 1: "
              "framefs is faster):"],
             report.table(["what", "data", "", "median", "least - most", "beside it"], every),
             ["The commands:"], report.table(["what", "command"], [[what, f"`{command}`"] for what, command
                                                                   in commands.items()])]
    return "\n\n".join("\n".join(part) for part in parts)


def put_into_documents(root, document):
    report.replace_measured(root / "README.md", MARK, as_short_markdown(document))
    report.replace_measured(root / "tests/bench/RESULTS.md", MARK, as_full_markdown(document))
    (root / "tests/bench/speed.svg").write_text(as_svg(document))
