"""The figures as text, as JSON, and as the measured part of RESULTS.md."""

import disciplines as d
from writing import BY_FILES

COLUMNS = "{:54s}{:18s}{:18s}{:>8s}{:>17s}{:>8s}{:>8s}"


def counted_by(what):
    """The things of which a discipline's figures are the number per second; None: MB."""
    return "file" if what in BY_FILES else "read" if what in d.BY_READS else None


def row_of(results, key, counted):
    """The JSON object of one figure."""
    figure = results.rate(key) if counted else results.speed(key)
    # CPU seconds are per gigabyte, or per million reads, which is microseconds per read.
    units = results[key][0].reads / 1e6 if counted else results[key][0].bytes / 1e9
    return {"what": key.what, "who": key.who, "data": key.data, "unit": f"{counted}s/s" if counted else "MB/s",
            "median": round(figure.median, 1), "least": round(figure.least, 1), "most": round(figure.most, 1),
            "cpu_unit": f"us/{counted}" if counted else "s/GB", "cpu": round(results.cpu_s(key) / units, 3),
            "system_cpu": round(results.system_cpu_s(key) / units, 3)}


def as_document(machine, options, results, scale, goals):
    return {"machine": machine, "options": options, "results": [row_of(results, key, counted_by(key.what)) for key in results],
            "scale": scale, "goals": [goal._asdict() for goal in goals]}


def as_text(document):
    lines = [", ".join(f"{name} {value}" for name, value in document["machine"].items()), "",
             COLUMNS.format("what", "who", "data", "median", "least - most", "CPU", "system")]
    last = None
    order = list(dict.fromkeys(row["what"] for row in document["results"]))
    for row in sorted(document["results"], key=lambda row: order.index(row["what"])):
        what = f"{row['what']} ({row['unit']})"
        lines.append(COLUMNS.format(what if what != last else "", row["who"], row["data"], f"{row['median']:.0f}",
                                    f"{row['least']:.0f} - {row['most']:.0f}", short(row["cpu"]),
                                    short(row["system_cpu"])))
        last = what
    lines += ["", "CPU: of reader and daemon, in s/GB, or us/read or us/file where those are counted; system: of the "
              "whole machine meanwhile.", "", *goal_lines(document["goals"])]
    return "\n".join(lines)


def goal_lines(goals):
    lines = [f"{'goal':62s}{'wanted':>12s}  measured"]
    for goal in goals:
        verdict = {True: "met", False: "NOT MET", None: ""}[goal["met"]]
        lines.append(f"{goal['what']:62s}{goal['wanted']:>12s}  {goal['measured']}  {verdict}".rstrip())
    return lines


def short(value):
    """Three digits, or the integer part."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def figures(document):
    """Rows by (what, who, data)."""
    return {(row["what"], row["who"], row["data"]): row for row in document["results"]}


# ------------------------------------------------------------------------------ RESULTS.md

COMPARED = (("cold, sequential", d.SEQUENTIAL, "MB/s"), ("cold, 4 KiB at random", d.BLOCKS_4K, "reads/s"))
PEERS = ("squashfs", "EROFS (lz4hc)", "squashfuse", "dwarfs")
DATA = ("float lz4", "float zstd", "text zstd")
MARK = "measured"


def conditions(document):
    machine, options = document["machine"], document["options"]
    return (f"Medians of {options['runs']} runs on {machine['processors']} x {machine['processor']}, "
            f"Linux {machine['Linux']}, {options['size_mib']} MiB of each kind of data.")


def median(rows, what, who, data):
    row = rows.get((what, who, data))
    return f"{row['median']:.0f}" if row else "-"


def table(head, rows):
    """Lines of Markdown."""
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *("| " + " | ".join(row) + " |" for row in rows)]


def comparison(document, all_data):
    """framefs beside the other filesystems, as a table."""
    rows = figures(document)
    peers = [who for who in PEERS if any(key[1] == who for key in rows)]
    lines = [[f"{name} ({unit})", data, median(rows, what, d.FRAMEFS, f"{data} 128K"),
              *(median(rows, what, who, data) for who in peers)]
             for name, what, unit in COMPARED for data in all_data]
    return table(["", "data", "framefs", *peers], lines)


def as_full_markdown(document):
    """The measured part of tests/bench/RESULTS.md about the disciplines."""
    rows = figures(document)
    warm = [[data, median(rows, d.WARM, d.FRAMEFS, f"{data} 128K"), median(rows, d.WARM, d.PLAIN, data.split()[0])]
            for data in DATA]
    every = [[f"{row['what']} ({row['unit']})", row["who"], row["data"], f"{row['median']:.0f}",
              f"{row['least']:.0f} - {row['most']:.0f}", f"{short(row['cpu'])} {row['cpu_unit']}",
              f"{short(row['system_cpu'])}"] for row in document["results"]]
    goals = [[goal["what"], goal["wanted"], goal["measured"], {True: "yes", False: "no", None: ""}[goal["met"]]]
             for goal in document["goals"]]
    parts = [[conditions(document)], comparison(document, DATA),
             table(["read again, warm (MB/s)", "framefs", "the plain file"], warm)]
    if every:
        parts += [["All figures, with the CPU time of reader and daemon, and that of the whole machine:"],
                  table(["what", "who", "data", "median", "least - most", "CPU", "machine"], every)]
    if goals:
        parts += [["The goals:"], table(["what", "wanted", "measured", "met"], goals)]
    return "\n\n".join("\n".join(part) for part in parts)


def replace_measured(path, mark, markdown):
    """Replaces the text between the two marks of a document."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    before, _, rest = path.read_text().partition(begin)
    _, _, after = rest.partition(end)
    if not after:
        raise RuntimeError(f"{path} lacks {begin} and {end}")
    path.write_text(f"{before}{begin}\n{markdown}\n{end}{after}")


def put_into_documents(root, document):
    replace_measured(root / "tests/bench/RESULTS.md", MARK, as_full_markdown(document))
