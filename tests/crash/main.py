"""Crashes daemons in thousands of ways, and checks the files that remain.

Run it with scripts/crash, which installs and builds what it needs.
"""

import argparse
import pathlib
import random
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import crash_runs  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/crash", description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="recordings of each plan (5)")
    parser.add_argument("--operations", type=int, default=1500, help="operations in each recording (1500)")
    parser.add_argument("--cuts", type=int, default=1000, help="crash points in each recording; 0: every record (1000)")
    parser.add_argument("--kills", type=int, default=25, help="killed daemons for each plan (25)")
    parser.add_argument("--plan", help="run only plans with this text in their name")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--any-names", action="store_true",
                        help="changes of names are lost in any order, unlike on any journalling filesystem")
    return parser.parse_args()


def attempt(title, work):
    """Returns False after a failure, and keeps the folder then."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="framefs-crash-"))
    try:
        print(f"{title}: {work(folder).strip().splitlines()[-1]}", flush=True)
    except AssertionError as error:
        print(f"{title}: FAILED, see {folder}\n{error}", flush=True)
        return False
    shutil.rmtree(folder)
    return True


def kill_often(plan, folder, seed, count):
    kills = crash_runs.Kills(plan, folder, seed)
    for _ in range(count):
        last = kills.kill_once()
    return f"{count} kills; after the last, {last}"


def main():
    args = parse_arguments()
    print(f"seed {args.seed}")
    options = ("--any-names",) if args.any_names else ()
    good = True
    for plan in crash_runs.PLANS:
        if args.plan and args.plan not in plan.name:
            continue
        for seed in range(args.seed, args.seed + args.runs):
            good &= attempt(f"{plan.name}, seed {seed}", lambda folder, plan=plan, seed=seed: crash_runs.replay(
                plan, folder, seed, args.operations, args.cuts, options))
        if args.kills:
            good &= attempt(f"{plan.name}, killed", lambda folder, plan=plan: kill_often(
                plan, folder, args.seed, args.kills))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
