"""Compares two builds of framefs in one run: every figure is measured with both."""

import disciplines as d
import mounts
import writing
from measure import Key, run_rounds

BEFORE = "before"


def _tasks(all_data, folder, programs, who):
    """The tasks of framefs alone, under the name `who`."""
    size = all_data.mib * d.MIB
    null = mounts.null_server(programs["null_server"], size, folder / "mnt-null")
    reading = d.Disciplines(all_data, programs,
                            framefs=mounts.framefs(programs["framefs"], all_data.frames, folder / "mnt"),
                            small_cache=mounts.small_cache(programs["framefs"], all_data.frames, folder / "mnt"),
                            null=null, small_null=null, plain=mounts.Plain(all_data.plain), peers=[],
                            reference=None).plan()
    tasks = reading | writing.plan(all_data, programs, folder, None)
    return {Key(key.what, who, key.data): task for key, task in tasks.items() if key.who == d.FRAMEFS}


def _is_wanted(key, only):
    return only in f"{key.what} {key.data}"


def run(all_data, folder, programs, before, only, runs, progress):
    """Prints a row for each figure whose name and data contain the words `only`: both medians,
    their ratio, and the minimum and maximum of the old build, which show how much the figure varies
    by itself."""
    ours = _tasks(all_data, folder, programs, d.FRAMEFS)
    theirs = _tasks(all_data, folder, programs | {"framefs": before}, BEFORE)
    # The two programs take turns within a round.
    tasks = {}
    for ours_of, theirs_of in zip(ours.items(), theirs.items(), strict=True):
        if _is_wanted(ours_of[0], only):
            tasks |= dict((ours_of, theirs_of))
    results = run_rounds(tasks, runs, progress)
    progress("")
    print("| measured | data | before | now | now / before | before, least to most |")
    print("|---|---|---|---|---|---|")
    for key in filter(tasks.__contains__, ours):
        by_rate = key.what in d.BY_READS or key.what in writing.BY_FILES
        figure = results.rate if by_rate else results.speed
        now, then = figure(key), figure(Key(key.what, BEFORE, key.data))
        print(f"| {key.what} | {key.data} | {then.median:.0f} | {now.median:.0f} | {now.median / then.median:.2f} "
              f"| {then.least:.0f} to {then.most:.0f} |")
