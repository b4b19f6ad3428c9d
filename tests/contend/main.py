"""Lets several writers contend for the same frames; scripts/contend describes it."""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import contention  # noqa: E402
import library_contention  # noqa: E402


def library_run(args, folder):
    """A run with programs of library_writer.c in the chroot `args.sid`, where `folder` is."""
    sid = str(pathlib.Path(args.sid).resolve())
    shutil.copy(ROOT / "tests/contend/library_writer.c", folder)

    def inside(path):
        return str(path).removeprefix(sid)

    program = inside(folder / "library_writer")
    subprocess.run(["chroot", sid, "gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-o", program,
                    inside(folder / "library_writer.c"), "-lblosc2"], check=True)
    return library_contention.LibraryContention(folder, args.seed, ["chroot", sid, program], inside,
                                                locking=args.library == "locked",
                                                frames=max(args.frames, args.writers), writers=args.writers)


def main():
    parser = argparse.ArgumentParser(prog="scripts/contend", description=contention.__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=5, help="how long (5)")
    parser.add_argument("--frames", type=int, default=4, help="frames that all writers share (4)")
    parser.add_argument("--writers", type=int, default=3, help="writers in each mount (3)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--library", choices=("locked", "turns"),
                        help="beside programs that use the reference library with lock files, or in turn with "
                             "programs that use it without them")
    parser.add_argument("--sid", help="the chroot that has the library")
    args = parser.parse_args()
    if args.library and not args.sid:
        parser.error("--library needs --sid")
    place = pathlib.Path(args.sid).resolve() / "tmp" if args.library else pathlib.Path("/var/tmp")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="framefs-contend-", dir=place))
    print(f"seed {args.seed}, in {folder}", flush=True)
    if args.library:
        run = library_run(args, folder)
    else:
        run = contention.Contention(folder, args.seed, frames=args.frames, writers=args.writers)
    print(run.run(seconds=60 * args.minutes), flush=True)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
