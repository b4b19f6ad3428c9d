"""Compares framefs with the speed that FUSE and the codec allow, and with other filesystems.

Run it with scripts/bench, which installs packages and builds.  It needs root, because it mounts.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import re
import sys
import tempfile

import against
import data
import disciplines
import mounts
import peer_report
import peers
import reference
import remote
import remote_report
import report
import scale
import stalls
import writing
from data import MIB, Data
from goals import Goals
from measure import run_rounds, touch_memory

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("--size", type=int, default=256, metavar="MIB",
                        help="MiB of each kind of plain data, a multiple of 16 (256)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each measurement (5)")
    parser.add_argument("--writing", action="store_true", help="measure writing only")
    parser.add_argument("--stalls", action="store_true",
                        help="measure only how long calls take beside heavy work on other files")
    parser.add_argument("--remote", action="store_true",
                        help="measure only mounts of a web server, behind a link with latency")
    parser.add_argument("--latency", type=float, nargs="+", default=[0, 10, 50], metavar="MS",
                        help="with --remote: the round trips of the link (0 10 50)")
    parser.add_argument("--rate", type=float, default=0, metavar="MB/S",
                        help="with --remote: the bandwidth of the link; 0: as fast as this machine (0)")
    parser.add_argument("--seconds", type=int, default=15, help="with --stalls: the time beside each load (15)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER",
                        help="make the data here and keep it for the next run (default: a temporary folder)")
    parser.add_argument("--reference-chroot", type=pathlib.Path, metavar="DIR",
                        help="a system with gcc and libblosc2-dev, to also measure the reference library")
    parser.add_argument("--peers", action="store_true",
                        help="measure every kind of work beside other filesystems, and nothing else")
    parser.add_argument("--portion", type=float, default=1, metavar="NUMBER",
                        help="with --peers: multiplies the numbers of files, reads and appends (1)")
    parser.add_argument("--against", type=pathlib.Path, metavar="FRAMEFS",
                        help="compare the figures of framefs with those of another build of it, and nothing else")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="with --against: only the figures whose name and data contain this text; "
                             "with --peers: only the rows whose name does; with --remote: only these parts, with "
                             f"commas between them: {', '.join(remote.PARTS)}")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--readme", action="store_true",
                        help="put the figures into tests/bench/RESULTS.md; with --peers also into README.md and its chart")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.build = args.build.resolve()
    if args.size % 16 or args.size < 16:
        parser.error("--size must be a multiple of 16")
    if args.remote and not set(args.only.split(",")) <= {"", *remote.PARTS}:
        parser.error(f"with --remote, --only knows {', '.join(remote.PARTS)}")
    if args.writing and args.readme:
        parser.error("--readme needs the figures of reading, too")
    return args


def machine(build, chroot):
    processor = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    told = {"processors": os.cpu_count(), "processor": processor[1] if processor else platform.machine(),
            "memory_gib": round(memory / (1 << 30)), "Linux": re.match(r"\d+\.\d+", os.uname().release)[0],
            "load_before": round(os.getloadavg()[0], 1), **mounts.versions()}
    if chroot:
        told["reference"] = reference.version(chroot)
    return told


def say(text):
    print(f"bench: {text}", file=sys.stderr)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def programs_of(build):
    return {"framefs": build / "framefs", "make_frame": build / "tests/framefs_make_frame",
                "reader": build / "tests/bench/framefs_bench_reader",
                "writer": build / "tests/bench/framefs_bench_writer",
                "decode_rate": build / "tests/bench/framefs_decode_rate",
                "encode_rate": build / "tests/bench/framefs_encode_rate",
                "null_server": build / "tests/bench/framefs_null_server",
                "fetch_rate": build / "tests/bench/framefs_fetch_rate",
                "link_proxy": build / "tests/framefs_link_proxy"}


def plain_data(args, folder, programs):
    all_data = Data(folder, args.size, programs["make_frame"])
    progress("making the data")
    touch_memory(16 * args.size * MIB)
    all_data.make_plain()
    return all_data


def compare(args, folder):
    programs = programs_of(args.build)
    all_data = plain_data(args, folder, programs)
    all_data.make_frames([*data.quarters(disciplines.SHARED.data, disciplines.SHARED.codec), *data.small_chunks()])
    all_data.make_wide()
    against.run(all_data, folder, programs, args.against.resolve(), args.only, args.runs, progress)


def measure_stalls(args, folder):
    return stalls.measure(programs_of(args.build)["framefs"], folder, args.seconds, progress)


def measure_remote(args, folder):
    programs = programs_of(args.build)
    return remote.measure_all(programs, plain_data(args, folder, programs), folder, args.latency, args.rate, args.runs,
                              args.only.split(",") if args.only else [], progress)


def measure_all(args, folder):
    programs = programs_of(args.build)
    all_data = plain_data(args, folder, programs)
    library = reference.build(args.reference_chroot, say)
    tasks = {} if args.writing else reading_tasks(args, folder, programs, all_data, library)
    tasks |= writing.plan(all_data, programs, folder, library)
    told = machine(args.build, args.reference_chroot)
    results = run_rounds(tasks, args.runs, progress)
    sizes = {} if args.writing else reading_scale(args, programs, all_data)
    sizes["overwrites"] = writing.overwrites(programs, all_data, folder, progress)
    progress("")
    options = {"size_mib": args.size, "runs": args.runs}
    return report.as_document(told, options, results, sizes, Goals(results, sizes).judge())


def measure_beside_peers(args, folder):
    programs = programs_of(args.build)
    all_data = plain_data(args, folder, programs)
    library = reference.build(args.reference_chroot, say)
    told = machine(args.build, args.reference_chroot)
    document = peers.run(all_data, folder, programs, args, library, say, progress)
    progress("")
    return {"machine": told, "options": {"size_mib": args.size, "runs": args.runs, "portion": args.portion}} | document


def reading_tasks(args, folder, programs, all_data, library):
    all_data.make_frames([*data.quarters(disciplines.SHARED.data, disciplines.SHARED.codec), *data.small_chunks()])
    all_data.make_wide()
    peers = mounts.make_peers(all_data.plain, folder, args.size, say)
    size = args.size * MIB
    return disciplines.Disciplines(
        all_data, programs,
        framefs=mounts.framefs(programs["framefs"], all_data.frames, folder / "mnt"),
        small_cache=mounts.small_cache(programs["framefs"], all_data.frames, folder / "mnt"),
        null=mounts.null_server(programs["null_server"], size, folder / "mnt-null"),
        small_null=mounts.null_server(programs["null_server"], size // data.QUARTERS, folder / "mnt-small-null"),
        plain=mounts.Plain(all_data.plain), peers=peers, reference=library).plan()


def reading_scale(args, programs, all_data):
    virtual_gib = max(scale.VIRTUAL_GIB * min(args.size, 256) // 256, 1)
    return {"virtual_gib": virtual_gib,
            "many": scale.many_files(programs["framefs"], all_data, min(args.runs, 3), progress),
            "virtual": scale.virtual_frame(programs["framefs"], programs["reader"], all_data, virtual_gib, progress),
            "random": scale.random_reads(programs["framefs"], programs["reader"], all_data, data.all_frames(),
                                         progress)}


def main():
    args = parse_arguments()
    if os.geteuid() != 0:
        sys.exit("bench: needs root, for loop devices and the kernel's read-ahead")
    with contextlib.ExitStack() as stack:
        folder = args.keep or pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="framefs-bench-", dir="/var/tmp")))
        folder.mkdir(parents=True, exist_ok=True)
        if args.stalls or args.remote:
            mode, measure = (stalls, measure_stalls) if args.stalls else (remote_report, measure_remote)
            results = measure(args, folder.resolve())
            progress("")
            print(mode.as_text(results))
            if args.json:
                args.json.write_text(json.dumps(results, indent=1) + "\n")
            return
        if args.against:
            compare(args, folder.resolve())
            return
        measured, shown = (measure_beside_peers, peer_report) if args.peers else (measure_all, report)
        document = measured(args, folder.resolve())
    print(shown.as_text(document))
    if args.json:
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    if args.readme:
        shown.put_into_documents(ROOT, document)


if __name__ == "__main__":
    main()
