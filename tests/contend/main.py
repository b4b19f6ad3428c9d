"""Lets several writers contend for the same frames; scripts/contend describes it."""

import argparse
import pathlib
import random
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import contention  # noqa: E402


def main():
    parser = argparse.ArgumentParser(prog="scripts/contend", description=contention.__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=5, help="how long (5)")
    parser.add_argument("--frames", type=int, default=4, help="frames that all writers share (4)")
    parser.add_argument("--writers", type=int, default=3, help="writers in each mount (3)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="framefs-contend-", dir="/var/tmp"))
    print(f"seed {args.seed}, in {folder}", flush=True)
    run = contention.Contention(folder, args.seed, frames=args.frames, writers=args.writers)
    print(run.run(seconds=60 * args.minutes), flush=True)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
