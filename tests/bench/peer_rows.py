"""The parts of scripts/bench --peers: a row is one kind of work, which framefs and its peers do in
turn."""

import os
import pathlib
import subprocess
from typing import NamedTuple

import measure
from measure import Key
from peer_mounts import Contestant, hold_in_memory

MAX_SHOWN_WORDS = 8
MOUNT = "MOUNT"  # stands for the mountpoint in the words of a job


class Job(NamedTuple):
    """A command.  The programs of this folder print their own figures; any other command counts as
    `counts` things of `size` bytes in all."""
    words: list
    counts: int | None = None
    size: int = 0
    is_warm: bool = False  # done once before, without being measured

    def shown(self):
        """The command with short names; of many words, only the last one after the first ones."""
        shown = [word.name if isinstance(word, pathlib.Path) else str(word) for word in self.words]
        if len(shown) > MAX_SHOWN_WORDS:
            shown[MAX_SHOWN_WORDS - 2:-1] = ["..."]
        return " ".join(shown)

    def run(self, mountpoint, pid):
        words = [word.replace(MOUNT, os.fspath(mountpoint)) if isinstance(word, str) else word for word in self.words]
        if self.is_warm:
            self._measure(words, pid)
        return self._measure(words, pid)

    def _measure(self, words, pid):
        if self.counts is None:
            return measure.measure(words, pid)
        return measure.measure_command(words, self.counts, self.size, pid)


class Task(NamedTuple):
    contestant: Contestant
    job: Job

    def __call__(self):
        mount = self.contestant.mount
        with mount.mounted() as pid:
            hold_in_memory(self.contestant.stored())
            return self.job.run(mount.mountpoint, pid)


class Row(NamedTuple):
    counted: str | None  # its figures are the number of these per second; None: MB
    command: str


class Plan:
    """Tasks by Key, and rows by name."""

    def __init__(self):
        self.tasks = {}
        self.rows = {}

    def add(self, what, counted, data, job, contestants):
        """`data` names the data without the codec, which each contestant adds."""
        self.rows.setdefault(what, Row(counted, job.shown()))
        for contestant in contestants:
            self.tasks[Key(what, contestant.who, f"{data} {contestant.codec}".strip())] = Task(contestant, job)

    def select(self, only, skip):
        """The tasks of the rows whose names contain the text.  Makes their data, and leaves out the
        tasks for which that is impossible on this machine."""
        chosen, reasons = {}, set()
        for key, task in self.tasks.items():
            if only in key.what:
                try:
                    task.contestant.prepare()
                    chosen[key] = task
                except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
                    reasons.add(f"without {key.who}: {error}")
        for reason in sorted(reasons):
            skip(reason)
        return chosen
