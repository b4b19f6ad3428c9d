"""The measurements of writing.

SOURCE is in memory, so that the disk does not matter.  Only new small files are on the filesystem
of the bench's folder, because that is the filesystem they are compared with.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

import disciplines as d
import mounts
from data import KINDS, LEVEL, MIB, run
from measure import Key, measure

WRITE = "write, sequential, 1 MiB, and fsync"
ENCODE = "encode, all threads"
CREATE = "create 600 bytes: open, write, close"
BY_FILES = (CREATE,)  # the figure is files per second

TIMES = 4  # copies of the data, one after the other
CHUNK = MIB
FILES, FILE_BYTES = 10_000, 600
OVERWRITES = 2000
FILTER_NUMBERS = {"none": 0, "shuffle": 1, "bitshuffle": 2}
DATA = "float"
NEVER_S = 3600  # a commit interval that never ends
CODECS = ("lz4", "zstd")


def rule(codec):
    kind = KINDS[DATA]
    return f"*:codec={codec},clevel={LEVEL},typesize={kind.typesize},filter={kind.filter},chunksize={CHUNK}"


@contextlib.contextmanager
def folder_in_memory(folder):
    folder.mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "tmpfs", folder)
    try:
        yield folder
    finally:
        mounts.unmount(folder)


def writable_mount(program, source, mountpoint, *options):
    return mounts.Daemon("framefs", mountpoint, [program, "-f", *options, source, mountpoint],
                         ready=lambda: mounts.reads_ahead(mountpoint))


def plan(all_data, programs, folder, reference):
    """Functions by Key; `reference` is as in Disciplines."""
    tasks = {}
    for codec in CODECS:
        shown = f"{DATA} {codec}"
        tasks[Key(WRITE, d.FRAMEFS, shown)] = _writes(all_data, programs, folder, codec)
        arguments = [os.cpu_count(), codec, LEVEL, KINDS[DATA].typesize, FILTER_NUMBERS[KINDS[DATA].filter], CHUNK,
                     TIMES, all_data.plain / DATA]
        encoders = {d.OURS: [programs["encode_rate"]]}
        if reference:
            encoders[d.REFERENCE] = [*reference, "encode"]
        for who, command in encoders.items():
            tasks[Key(ENCODE, who, shown)] = lambda command=[*command, *arguments]: measure(command)
    tasks[Key(CREATE, d.FRAMEFS, "")] = _creates(programs, folder, True)
    tasks[Key(CREATE, d.PLAIN, "")] = _creates(programs, folder, False)
    return tasks


def warm_memory(size):
    """Touches memory in advance: memory that a virtual machine has returned is slow to touch
    again."""
    run(sys.executable, "-c", f"b'x' * {size}")


def _writes(all_data, programs, folder, codec):
    def task():
        with folder_in_memory(folder / "written") as source:
            mount = writable_mount(programs["framefs"], source, folder / "mnt-written", "--rule", rule(codec))
            with mount.mounted() as pid:
                # Written data is in memory twice: in the mount, and in SOURCE.
                warm_memory(2 * TIMES * all_data.mib * MIB)
                return measure([programs["writer"], "sequential", MIB, TIMES, all_data.plain / DATA,
                                mount.mountpoint / "new"], pid)
    return task


def _creates(programs, folder, mounted):
    # Each run has its own folder, and all are removed at the end.  ext4 skips recently freed inodes
    # one by one, which would take many times as long as creating the files.
    def task():
        source = pathlib.Path(tempfile.mkdtemp(prefix="created-", dir=folder))
        mount = writable_mount(programs["framefs"], source, folder / "mnt-created") if mounted \
            else mounts.Plain(source)
        with mount.mounted() as pid:
            return measure([programs["writer"], "create", FILES, FILE_BYTES, mount.mountpoint], pid)
    return task


def written_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines():
        if line.startswith("wchar: "):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/{pid}/io does not tell what was written")


def overwrites(programs, all_data, folder, progress):
    """The bytes that the daemon writes for small writes all over a frame, divided by the size of
    the changed chunks.  1 means that each chunk is stored once."""
    progress("little writes")
    places = numpy.random.default_rng(11).integers(0, all_data.mib * MIB // 4096, OVERWRITES) * 4096
    listed = folder / f"overwrites-{all_data.mib}"
    listed.write_bytes(places.astype("<i8").tobytes())
    with folder_in_memory(folder / "written") as source:
        options = ("--rule", rule("lz4"), "--commit-interval", str(NEVER_S))
        mount = writable_mount(programs["framefs"], source, folder / "mnt-written", *options)
        with mount.mounted():
            run(programs["writer"], "sequential", MIB, 1, all_data.plain / DATA, mount.mountpoint / "new")
        with mount.mounted() as pid:
            before = written_bytes(pid)
            sample = measure([programs["writer"], "offsets", 4096, listed, mount.mountpoint / "new"], pid)
            written = written_bytes(pid) - before
        info = subprocess.run([programs["framefs"], "info", "--json", "--chunks", source / "new.b2frame"],
                              stdout=subprocess.PIPE, check=True)
    chunks = json.loads(info.stdout)[0]["chunk_list"]
    touched = {int(place) // CHUNK for place in places}
    stored = sum(chunks[index]["cbytes"] for index in touched)
    return {"writes": OVERWRITES, "chunks": len(touched), "stored_bytes": stored, "written_bytes": written,
            "times_stored": round(written / stored, 3), "seconds": round(sample.wall_s, 3)}
