"""Runs outside suites on frames and on a mount with --plain, beside ext4 and passthrough_hp, and
prints where the mounts differ from ext4.

Run it with scripts/suites, which installs and builds what it needs.
"""

import argparse
import collections
import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import outside
import places

HERE = pathlib.Path(__file__).resolve().parent
OURS = tuple(places.OPTIONS)


def known_differences():
    """[(suite, place, test, reason)], the first three as globs."""
    lines = (HERE / "known.tsv").read_text().splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/suites", description=__doc__.split("\n\n")[0])
    parser.add_argument("folders", metavar="FOLDER", nargs="+",
                        help=f"a checkout of {', '.join(kind.name for kind in outside.SUITES)}; Debian's libpython3.11-testsuite "
                             "is in /usr/lib/python3.11")
    parser.add_argument("--only", metavar="GLOB", action="append", default=[],
                        help="run the test programs (or modules) of these names")
    parser.add_argument("--on", metavar="PLACE", action="append", choices=places.NAMES,
                        help=f"where to run: {', '.join(places.NAMES)} (all)")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="the folder of what is built")
    return parser.parse_args()


def run_everywhere(suite, names, wanted):
    """{place: {test: outcome}}"""
    results = {}
    for name in names:
        if suite.places and name not in suite.places:
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="framefs-suites-"))
        folder.chmod(0o755)
        try:
            with places.mounted(name, os.environ["FRAMEFS"], folder) as place:
                results[name] = suite.run(place, wanted)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{suite.name} on {name}: {error}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if name not in results:
            continue
        counts = collections.Counter(results[name].values())
        print(f"{suite.name} on {name}: " + ", ".join(
            f"{counts[outcome]} {outcome}" for outcome in (outside.OK, outside.FAILED, outside.SKIPPED)), flush=True)
    return results


def differences(results, ours):
    """The tests that fail on one of our mounts, and not on ext4."""
    baseline = results.get(places.BASELINE, {})
    return [test for test, outcome in results[ours].items()
            if outcome == outside.FAILED and baseline.get(test) != outside.FAILED]


def report(suite, results, known, seen):
    """Prints the differences; returns how many are not known.  Adds the rows of `known` that
    apply to `seen`."""
    unknown = 0
    for ours in (name for name in OURS if name in results):
        reasons = collections.Counter()
        for test in differences(results, ours):
            row = next((row for row in known if fnmatch.fnmatch(suite.name, row[0]) and fnmatch.fnmatch(ours, row[1]) and
                        fnmatch.fnmatch(test, row[2])), None)
            if row:
                seen.add(row)
                reasons[row[3]] += 1
                continue
            unknown += 1
            beside = results.get(places.passthrough.NAME, {}).get(test, "not run")
            print(f"  {ours}: {test} failed; ext4: {results.get(places.BASELINE, {}).get(test, 'not run')}, "
                  f"passthrough_hp: {beside}")
        for reason, count in reasons.items():
            print(f"  {ours}: {count} known: {reason}")
    return unknown


def main():
    args = parse_arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    suites = [outside.suite_in(folder, args.work) for folder in args.folders]
    known, seen, unknown = known_differences(), set(), 0
    for suite in suites:
        suite.build()
        results = run_everywhere(suite, args.on or places.NAMES, args.only)
        unknown += report(suite, results, known, seen)
    if not args.only and not args.on:
        for row in known:
            if row not in seen and any(fnmatch.fnmatch(suite.name, row[0]) for suite in suites):
                print(f"  known, but not seen: {' '.join(row)}")
    print(f"{unknown} differences that are not known")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
