"""scripts/bench --peers: every kind of work, done by framefs and by other filesystems in turn."""

import measure
import peer_mounts
import peer_reading
import peer_report
import peer_writing
import report
from goals import Goal
from peer_rows import Plan

LISTED_FILES = 20_000
OURS = (peer_mounts.FRAMEFS, peer_mounts.IMMUTABLE, peer_mounts.MANIFEST, peer_writing.WRITEBACK)


def run(all_data, folder, programs, options, reference, skip, progress):
    """The results, the ratios and the goals as parts of a document.  `options` has runs, only and
    portion."""
    plan = Plan()
    library = peer_mounts.Library(all_data, folder, programs, max(int(LISTED_FILES * options.portion), 10))
    stores = peer_mounts.Stores(folder, programs)
    peer_reading.Reading(plan, library, programs, options.portion, reference).add_all()
    peer_writing.Writing(plan, stores, all_data, folder, programs, options.portion).add_all()
    progress("making the files, the frames and the images")
    tasks = plan.select(options.only, skip)
    if not tasks:
        raise SystemExit(f"bench: no row's name contains {options.only!r}")
    with stores.in_memory():
        results = measure.run_rounds(tasks, options.runs, progress,
                                     lambda key, error: skip(f"{key.what}: {key.who} failed: {error}"))
    rows = [report.row_of(results, key, plan.rows[key.what].counted) | {"command": plan.rows[key.what].command}
            for key in results]
    add_ratios(rows)
    return {"results": rows, "scale": {}, "goals": [goal._asdict() for goal in goals(rows)]}


def add_ratios(rows):
    """Adds `ratios` to the rows of framefs: its median divided by that of each peer."""
    for ours in rows:
        if ours["who"] in OURS:
            ours["ratios"] = {peer["who"]: round(ours["median"] / peer["median"], 3) for peer in rows
                              if peer_report.is_beside(ours, peer) and peer["median"]}


def goals(rows):
    """Many readers read as fast as two."""
    medians = {row["what"]: row["median"] for row in rows if row["who"] == peer_mounts.FRAMEFS}
    for named in (peer_reading.one_file, peer_reading.many_files):
        few, *more = (medians.get(named(readers)) for readers in peer_reading.READERS)
        for readers, many in zip(peer_reading.READERS[1:], more):
            if few and many:
                yield Goal(f"{named(readers)}: times the speed of 2", ">= 1", f"{many / few:.2f}", many >= few)
