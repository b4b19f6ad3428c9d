"""Makes the same random changes to files in mounts and to plain files, and compares them.

Run it with scripts/model, which installs and builds what it needs.
"""

import argparse
import pathlib
import random
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import model_runs  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/model", description=__doc__.split("\n\n")[0])
    parser.add_argument("--operations", type=int, default=20_000, help="operations in each mount (20000)")
    parser.add_argument("--mounts", type=int, default=4, help="mounts of each setting, one after the other (4)")
    parser.add_argument("--threads", type=int, default=2, help="threads, each with files of its own (2)")
    parser.add_argument("--setting", help="run only settings with this text in their name")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    return parser.parse_args()


def run_setting(setting, args):
    """Returns False after a failure, and keeps the folder then."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="framefs-model-"))
    run = model_runs.ModelRun(setting, folder, args.threads)
    for number in range(args.mounts):
        try:
            run.one_mount(args.seed + number, args.operations)
        except AssertionError as error:
            print(f"{setting.name}: FAILED in mount {number}, see {folder}\n{error}", flush=True)
            return False
    shutil.rmtree(folder)
    print(f"{setting.name}: {args.mounts * args.operations} operations", flush=True)
    return True


def main():
    args = parse_arguments()
    print(f"seed {args.seed}")
    chosen = [s for s in model_runs.SETTINGS if not args.setting or args.setting in s.name]
    results = [run_setting(setting, args) for setting in chosen]
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
