"""Work that programs do in Python: slices of mapped arrays, and commits of SQLite.

   workloads.py boxes LIST FILE.npy        each of LIST's boxes of an array of three dimensions
   workloads.py commits COUNT ROWS FILE    COUNT commits of ROWS rows to a new database with a
                                           write-ahead log

LIST holds 64-bit offsets in the machine's byte order; a box is its start and its end.  Prints
{"bytes", "reads", "wall_s", "cpu_s"} as JSON, like the programs of this folder; each box, or each
commit, counts as a read.
"""

import contextlib
import json
import sqlite3
import sys
import time

import numpy

TEXT = "a line of text, " * 4


def boxes(listed, path):
    places = numpy.fromfile(listed, "<i8").reshape(-1, 2, 3).tolist()
    array = numpy.load(path, mmap_mode="r")
    size = 0
    for begin, end in places:
        size += numpy.array(array[tuple(map(slice, begin, end))]).nbytes
    return size, len(places)


def commits(count, rows, path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        if database.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
            raise RuntimeError(f"SQLite refuses a write-ahead log for {path}")
        database.execute("CREATE TABLE line (number INTEGER PRIMARY KEY, text TEXT)")
        for commit in range(count):
            database.execute("BEGIN")
            database.executemany("INSERT INTO line VALUES (?, ?)",
                                 ((commit * rows + row, TEXT) for row in range(rows)))
            database.execute("COMMIT")
    return count * rows * len(TEXT), count


def main():
    command, *arguments = sys.argv[1:]
    begin, begin_cpu = time.monotonic(), time.process_time()
    if command == "boxes":
        size, reads = boxes(*arguments)
    else:
        size, reads = commits(int(arguments[0]), int(arguments[1]), arguments[2])
    print(json.dumps({"bytes": size, "reads": reads, "wall_s": time.monotonic() - begin,
                      "cpu_s": time.process_time() - begin_cpu}))


if __name__ == "__main__":
    main()
