"""Runs framefs and observes it from outside: mounts, processes, descriptors, logs."""

import collections
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAMEFS = pathlib.Path(os.environ.get("FRAMEFS", ROOT / "build/dev/framefs")).resolve()

# Whether the program has a sanitizer, which makes it large and slow.
SANITIZED = FRAMEFS.parent.name in ("asan", "tsan")

# The time limit for everything.  It allows for a sanitizer on a busy machine.
DEADLINE_S = 120

# A correct daemon never logs these.
SUSPICIOUS = re.compile(r"BUG|Sanitizer|ERROR: |runtime error:|Assertion|terminate called")


def wait_for(condition, what, deadline_s=DEADLINE_S):
    """Returns the first true value of condition(); fails if the deadline passes first."""
    end = time.monotonic() + deadline_s
    pause = 0.001
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline_s} s in vain for {what}")
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def mounts_at(path):
    """The filesystem types mounted at a path, the topmost last; does not access the filesystems."""
    wanted = os.fsencode(os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)))
    types = []
    for line in pathlib.Path("/proc/self/mountinfo").read_bytes().split(b"\n"):
        fields = line.split(b" ")
        if len(fields) < 5:
            continue
        place = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), fields[4])
        if place == wanted:
            types.append(fields[fields.index(b"-") + 1].decode())
    return types


def is_running(pid):
    """False also for a process that has ended and waits to be collected."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def daemons_with(argument):
    """Ids of the framefs processes that have this argument."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
            if os.fsencode(argument) in arguments and b"framefs" in arguments[0] \
                    and is_running(int(entry.name)):
                found.append(int(entry.name))
    return found


def watchdog_of(pid):
    """The process that unmounts if this daemon dies; None if there is none, or none any more.

    On a busy machine the daemon can be ready before the kernel has set the command line of its
    child.
    """
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes()
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                if command == b"fuse-watchdog\0%d\0" % pid or (not command and parent == str(pid)):
                    return int(entry.name)
    return None


def open_files(pid):
    """The paths of a process's open files.

    Excludes channels to the kernel and pipes for splicing: every serving thread has some, and
    threads are created on demand.  Excludes the control of the kernel's read-ahead, which is opened
    soon after the mount is ready.
    """
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return sorted(link for link in links
                  if not link.startswith(("/dev/fuse", "pipe:", "socket:", "anon_inode:"))
                  and not link.endswith("/read_ahead_kb"))


def unmount(mountpoint, lazy=False):
    command = ["fusermount3", "-u"] + (["-z"] if lazy else []) + ["--", os.fspath(mountpoint)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)


class Mount:
    """A framefs in the foreground, as a context manager.

    Entering waits for the mount.  A daemon that runs for longer than `lifetime_s` is killed.
    Leaving unmounts, and checks that the daemon ended with one of `exit_codes`, left no mount, had
    no more files open than when it started, and logged nothing suspicious.
    """

    def __init__(self, source, mountpoint, *options, log=None, environment=None, program=FRAMEFS,
                 lifetime_s=4 * DEADLINE_S):
        self.mountpoint = pathlib.Path(mountpoint)
        self.log_path = pathlib.Path(log) if log else \
            self.mountpoint.with_name(self.mountpoint.name + ".log")
        self.stderr_path = self.log_path.with_suffix(".stderr")
        self.command = [os.fspath(program), os.fspath(source), os.fspath(mountpoint), "-f",
                        "--log-file", os.fspath(self.log_path), *options]
        self._environment = environment
        self._lifetime_s = lifetime_s
        self.exit_codes = (0,)  # 1: written bytes are lost
        self.process = None
        self._watchdog = None
        self._files = []

    def __enter__(self):
        with open(self.stderr_path, "wb") as stderr:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                            stdout=stderr, stderr=stderr,
                                            env={**os.environ, **(self._environment or {})})
        # A read from a hung daemon cannot be interrupted; killing the daemon ends it.
        self._watchdog = threading.Timer(self._lifetime_s, self.process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()
        try:
            wait_for(lambda: mounts_at(self.mountpoint) or self.process.poll() is not None,
                     f"a mount at {self.mountpoint}")
            if self.process.poll() is not None:
                raise AssertionError(f"{shlex.join(self.command)}: exit code "
                                     f"{self.process.returncode}\n{self.messages()}")
            os.stat(self.mountpoint)  # the daemon answers
        except BaseException:
            self.kill()
            raise
        self._files = open_files(self.process.pid)
        return self

    def __exit__(self, kind, error, traceback):
        try:
            if error is None:
                self.close()
        finally:
            self.kill()

    @contextlib.contextmanager
    def with_any_exit_code(self):
        """For a `with` statement: the daemon may report a loss by its exit code.

        If it still runs, it is unmounted at the end.
        """
        self.__enter__()
        try:
            yield self
            if mounts_at(self.mountpoint):
                subprocess.run([self.command[0], "umount", self.mountpoint], capture_output=True, check=False)
            self.check_ended(self.process.wait(timeout=DEADLINE_S))
        finally:
            self.kill()

    @property
    def pid(self):
        return self.process.pid

    def path(self, *names):
        return self.mountpoint.joinpath(*names)

    def read_ahead_control(self):
        """The file of the kernel that sets how much it reads ahead in this mount."""
        device = os.stat(self.mountpoint).st_dev
        return pathlib.Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")

    def log(self):
        """The log of the daemon so far."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def stats(self):
        """The statistics of the mount.  No program is started for them: it would close files."""
        return json.loads(os.getxattr(self.mountpoint, "user.framefs.stats"))

    def wait_for_commits(self):
        wait_for(lambda: self.stats()["writes"]["dirty_bytes"] == 0, "the commits")

    def messages(self):
        return self.log() + self.stderr_path.read_text(errors="replace")

    def check_open_files(self):
        """Checks that files opened for readers are closed again.  The kernel releases them with a
        delay."""
        try:
            wait_for(lambda: not self._more_open_files(), "files to be closed", deadline_s=60)
        except AssertionError:
            raise AssertionError(f"open at first: {self._files}, "
                                 f"at the end: {open_files(self.pid)}") from None

    def _more_open_files(self):
        # Fewer is fine: the first count may include files of the mounting itself.
        return collections.Counter(open_files(self.pid)) - collections.Counter(self._files)

    def close(self):
        if self.process.poll() is None:
            drop_kernel_references()
            # The kernel never forgets the root, which an immutable mount keeps open.
            if not ("--immutable" in self.command and os.path.isfile(self.mountpoint)):
                self.check_open_files()
            result = wait_for(lambda: self._try_unmount(), f"unmounting {self.mountpoint}")
            assert result.returncode == 0, result.stderr
        self.check_ended()

    def _try_unmount(self):
        """Tries to unmount.  A reader that has just ended may still keep the mount busy."""
        result = unmount(self.mountpoint)
        return None if "busy" in result.stderr else result

    def check_ended(self, exit_code=None):
        code = self.process.wait(timeout=DEADLINE_S)
        wanted = self.exit_codes if exit_code is None else (exit_code,)
        assert code in wanted, f"exit code {code}, not one of {wanted}\n{self.messages()}"
        assert not mounts_at(self.mountpoint), f"{self.mountpoint} is still mounted"
        assert not watchdog_of(self.pid), "its watchdog is still there"
        found = SUSPICIOUS.search(self.messages())
        assert not found, f"suspicious: {found[0]!r} in the daemon's messages:\n{self.messages()}"

    def kill(self):
        """Removes daemon and mount, whatever their state."""
        self._watchdog.cancel()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        while mounts_at(self.mountpoint) and unmount(self.mountpoint, lazy=True).returncode == 0:
            pass
        # It writes to the log, and keeps SOURCE from other mounts with --writeback, until it ends.
        wait_for(lambda: not watchdog_of(self.pid), "the watchdog to end")


@contextlib.contextmanager
def _lock_of_kernel_references(kind):
    """Tests that run at the same time share the kernel's caches."""
    with open(pathlib.Path(tempfile.gettempdir()) / f"framefs-e2e-{os.geteuid()}.lock", "w", encoding="ascii") as file:
        fcntl.flock(file, kind)
        yield


def drop_kernel_references():
    """Makes the kernel forget unused inodes, so that the daemon can release them too."""
    with contextlib.suppress(OSError), _lock_of_kernel_references(fcntl.LOCK_EX):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")


def kernel_references_kept():
    """A context in which no other test calls drop_kernel_references()."""
    return _lock_of_kernel_references(fcntl.LOCK_SH)
