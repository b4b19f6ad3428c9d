"""Reads and edits damaged frames through mounts.

Run it with scripts/mutants, which installs and builds what it needs.
"""

import argparse
import pathlib
import random
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import mutant_runs  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__.split("\n\n")[0])
    parser.add_argument("--mutants", type=int, default=100_000, help="how many to read (100000)")
    parser.add_argument("--fixtures", default=ROOT / "tests/fixtures", help="the folder of the originals")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    return parser.parse_args()


def main():
    args = parse_arguments()
    print(f"seed {args.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="framefs-mutants-"))
    try:
        with mutant_runs.MutantRun(args.fixtures, folder, random.Random(args.seed)) as run:
            run.run(args.mutants)
    except AssertionError as error:
        print(f"FAILED after {run.read} mutants, see {folder}\n{error}", flush=True)
        return 1
    print(f"{run.read} mutants read, {run.edited} of them edited: no failure; "
          f"the daemons that read took up to {run.peak_mib:.0f} MiB")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
