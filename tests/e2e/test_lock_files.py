"""The lock files (.b2lock) by which programs with the Blosc2 library share frames."""

import contextlib
import errno
import fcntl
import os
import pathlib
import stat
import struct
import subprocess
import threading

import daemon
from case import MountCase

NEVER = ("--commit-interval", "3600")
CONTENT = b"the content of a frame" * 1000
CHANGE = b"a change"


class LockFile:
    """A program with the library that has the lock file of a frame open."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def try_lock(self, how):
        try:
            fcntl.flock(self.fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self):
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def counter(self):
        stored = os.pread(self.fd, 8, 8)
        return struct.unpack("=Q", stored)[0] if len(stored) == 8 else 0

    def waits(self, how):
        daemon.wait_for(lambda: self.try_lock(how), "the lock file")


def process(pid):
    """A process as error messages name it."""
    name = pathlib.Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    return f"process {pid} ({name})"


def may_inspect(pid):
    """Whether the system tells this user which locks the process has."""
    try:
        return bool(os.listdir(f"/proc/{pid}/fdinfo"))
    except PermissionError:
        return False


@contextlib.contextmanager
def opened(path, flags):
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


class LockFiles(MountCase):
    def setUp(self):
        self.frame = self.source / "x.b2frame"
        self.make_frame(CONTENT, self.frame)
        self.lock_path = self.source / "x.b2frame.b2lock"

    def test_a_file_that_is_no_lock_file_is_left_alone(self):
        """A user chooses which file has that name, and the daemon may be root."""
        others = self.folder / "others"
        others.write_bytes(b"a file of another user")
        os.link(others, self.lock_path)
        with self.mount(*NEVER) as mount:
            for refused in (lambda: mount.path("x").read_bytes(),
                            lambda: self.write_at_start(mount.path("x"))):
                with self.assertRaises(OSError) as error:
                    refused()
                self.assertEqual(error.exception.errno, errno.EIO)
            self.assertIn("(.b2lock) is no lock file", mount.log())
            os.unlink(self.lock_path)
            self.write_at_start(mount.path("x"))
        self.assertEqual(others.read_bytes(), b"a file of another user")

    def write_at_start(self, path):
        with opened(path, os.O_RDWR) as fd:
            os.pwrite(fd, CHANGE, 0)

    def stored(self, frame=None):
        return self.tool(daemon.FRAMEFS, "unpack", frame or self.frame, "-o", "-").stdout

    def test_a_writer_has_the_lock_from_its_first_change_to_the_commit(self):
        with LockFile(self.lock_path) as library, self.mount(*NEVER) as mount:
            with opened(mount.path("x"), os.O_RDWR) as fd:
                self.assertTrue(library.try_lock(fcntl.LOCK_EX))
                library.unlock()
                os.pwrite(fd, CHANGE, 0)
                self.assertFalse(library.try_lock(fcntl.LOCK_SH))
                self.assertEqual(library.counter(), 1)
                # The mount's own readers need no lock.
                self.assertEqual(mount.path("x").read_bytes(), CHANGE + CONTENT[len(CHANGE):])
                os.fsync(fd)
                library.waits(fcntl.LOCK_EX)
                self.assertEqual(library.counter(), 1)
                library.unlock()
            self.assertEqual(self.stored(), CHANGE + CONTENT[len(CHANGE):])

    def test_a_lock_file_that_appears_in_a_known_directory_is_found(self):
        with self.mount(*NEVER) as mount:
            # The daemon asks so often for names of the directory that it lists and watches it.
            for i in range(20):
                mount.path(f"new-{i}").write_bytes(CHANGE)
            with opened(mount.path("created"), os.O_RDWR | os.O_CREAT) as fd, \
                    opened(mount.path("x"), os.O_RDWR) as known:
                os.pwrite(fd, CHANGE, 0)
                for written, name in ((fd, "created"), (known, "x")):
                    with LockFile(self.source / f"{name}.b2frame.b2lock") as library:
                        os.pwrite(written, CHANGE, 0)
                        os.fsync(written)
                        library.waits(fcntl.LOCK_EX)
                        self.assertEqual(library.counter(), 1, name)
                        library.unlock()
            self.assertEqual(self.stored(), CHANGE + CONTENT[len(CHANGE):])

    def test_writers_and_readers_wait_for_a_program_that_changes_the_frame(self):
        with LockFile(self.lock_path) as library, self.mount(*NEVER) as mount:
            results = {}

            def write():
                with open(mount.path("x"), "r+b", buffering=0) as file:
                    file.write(CHANGE)
                    os.fsync(file.fileno())
                results["written"] = True

            def read():
                results["read"] = mount.path("x").read_bytes()

            for task in (read, write):
                self.assertTrue(library.try_lock(fcntl.LOCK_EX))
                thread = threading.Thread(target=task)
                thread.start()
                thread.join(0.3)
                self.assertTrue(thread.is_alive())
                library.unlock()
                thread.join(daemon.DEADLINE_S)
            self.assertEqual(results["read"], CONTENT)
            self.assertTrue(results["written"])

    def test_a_wait_has_an_end_and_the_log_names_the_reason(self):
        with LockFile(self.lock_path) as library, self.mount(*NEVER) as mount:
            self.assertTrue(library.try_lock(fcntl.LOCK_EX))
            with self.assertRaises(OSError) as refused:
                mount.path("x").read_bytes()
            self.assertEqual(refused.exception.errno, errno.EBUSY)
            self.assertIn("x.b2frame: a program with the Blosc2 library has locked the frame: "
                          f"Device or resource busy: {process(os.getpid())}", mount.log())
            library.unlock()
            self.assertEqual(mount.path("x").read_bytes(), CONTENT)

    def test_a_command_that_is_refused_names_the_process_that_owns_the_frame(self):
        plain = self.folder / "y"
        plain.write_bytes(CHANGE)
        commands = (("compact", self.frame), ("pack", "-f", plain, "-o", self.frame))
        with self.mount(*NEVER) as mount, opened(mount.path("x"), os.O_RDWR) as fd, \
                contextlib.ExitStack() as stack:
            os.pwrite(fd, CHANGE, 0)
            holder = f": {process(mount.pid)}\n" if may_inspect(mount.pid) else "\n"
            refused = [stack.enter_context(subprocess.Popen(
                [daemon.FRAMEFS, *map(os.fspath, command)], stderr=subprocess.PIPE, text=True,
                env={**os.environ, "LC_ALL": "C"})) for command in commands]
            for command in refused:
                said = command.communicate(timeout=4 * daemon.DEADLINE_S)[1]
                self.assertEqual(command.returncode, 1)
                self.assertIn("another framefs process is writing to the frame: Device or resource busy" + holder, said)
        self.assertEqual(self.stored(), CHANGE + CONTENT[len(CHANGE):])

    def test_a_waiting_reader_can_be_killed(self):
        with LockFile(self.lock_path) as library, self.mount() as mount:
            self.assertTrue(library.try_lock(fcntl.LOCK_EX))
            with subprocess.Popen(["cat", mount.path("x")], stdout=subprocess.DEVNULL) as reader:
                with self.assertRaises(subprocess.TimeoutExpired):
                    reader.wait(0.3)
                reader.kill()
                # Without the kill it would wait for 15 seconds and end with an error of its own.
                self.assertEqual(reader.wait(daemon.DEADLINE_S), -9)
            library.unlock()

    def test_only_the_option_creates_lock_files(self):
        sparse = self.source / "s.b2frame"
        self.make_frame(CONTENT, sparse, "--sparse")
        os.chmod(self.frame, 0o640)
        with self.mount() as mount:
            for name in ("x", "s"):
                with open(mount.path(name), "r+b") as file:
                    file.write(CHANGE)
        self.assertFalse(self.lock_path.exists())
        self.assertFalse((sparse / ".b2lock").exists())
        with self.mount("--locking") as mount:
            for name in ("x", "s"):
                self.assertEqual(mount.path(name).read_bytes(), CHANGE + CONTENT[len(CHANGE):])
            self.assertFalse(self.lock_path.exists())  # readers create none
            for name in ("x", "s", "new"):
                with open(mount.path(name), "r+b" if name != "new" else "wb") as file:
                    file.write(CHANGE)
            self.assertEqual(sorted(os.listdir(mount.path())), ["new", "s", "x"])
        self.assertEqual(stat.S_IMODE(self.lock_path.stat().st_mode), 0o640)
        for path in (self.lock_path, sparse / ".b2lock", self.source / "new.b2frame.b2lock"):
            self.assertEqual(len(path.read_bytes()), 16)

    def test_a_read_only_mount_locks_what_it_cannot_write(self):
        with LockFile(self.lock_path) as library:
            os.chmod(self.lock_path, 0o444)
            with self.mount("--ro") as mount:
                self.assertEqual(mount.path("x").read_bytes(), CONTENT)
                self.assertTrue(library.try_lock(fcntl.LOCK_EX))
                with subprocess.Popen(["cat", mount.path("x")], stdout=subprocess.PIPE) as reader:
                    with self.assertRaises(subprocess.TimeoutExpired):
                        reader.wait(0.3)
                    library.unlock()
                    self.assertEqual(reader.stdout.read(), CONTENT)
            self.assertEqual(library.counter(), 0)

    def test_commands_that_replace_a_frame_lock_it(self):
        plain = self.folder / "plain"
        plain.write_bytes(CHANGE)
        commands = {"compact": ("compact", self.frame), "pack": ("pack", "-f", plain, "-o", self.frame)}
        with LockFile(self.lock_path) as library:
            for number, command in enumerate(commands.values(), 1):
                self.assertTrue(library.try_lock(fcntl.LOCK_SH))
                with subprocess.Popen([daemon.FRAMEFS, *command]) as running:
                    with self.assertRaises(subprocess.TimeoutExpired):
                        running.wait(1)
                    library.unlock()
                    self.assertEqual(running.wait(daemon.DEADLINE_S), 0)
                self.assertEqual(library.counter(), number)
        self.assertEqual(self.stored(), CHANGE)

    def test_pack_waits_for_a_mount_and_a_mount_hears_of_pack(self):
        plain = self.folder / "plain"
        plain.write_bytes(CHANGE)
        with self.mount(*NEVER) as mount:
            with opened(mount.path("x"), os.O_RDWR) as fd:
                os.pwrite(fd, CHANGE, 100)
                with subprocess.Popen([daemon.FRAMEFS, "pack", "-f", plain, "-o", self.frame]) as pack:
                    with self.assertRaises(subprocess.TimeoutExpired):
                        pack.wait(1)
                    os.fsync(fd)
                    self.assertEqual(pack.wait(daemon.DEADLINE_S), 0)
                # The open file is no longer the one of that name.
                with self.assertRaises(OSError) as refused:
                    os.pwrite(fd, CHANGE, 0)
                self.assertEqual(refused.exception.errno, errno.EIO)
            daemon.wait_for(lambda: mount.path("x").read_bytes() == CHANGE, "the new frame")

    def test_a_frame_that_is_renamed_over_is_not_written_any_more(self):
        with self.mount(*NEVER) as mount:
            fd = os.open(mount.path("x"), os.O_RDWR)
            os.pwrite(fd, CHANGE, 0)
            self.make_frame(b"others' bytes", self.folder / "other.b2frame").rename(self.frame)
            for call in (lambda: os.fsync(fd), lambda: os.pwrite(fd, CHANGE, 0), lambda: os.close(fd)):
                with self.assertRaises(OSError) as refused:
                    call()
                self.assertEqual(refused.exception.errno, errno.EIO)
            daemon.wait_for(lambda: mount.path("x").read_bytes() == b"others' bytes", "the other frame")
        self.assertEqual(self.stored(), b"others' bytes")

    def test_a_file_removed_through_the_mount_is_written_to_the_end(self):
        with self.mount(*NEVER) as mount:
            for name in ("x", "new"):
                with open(mount.path(name), "r+b" if name == "x" else "w+b", buffering=0) as file:
                    file.write(CHANGE)
                    mount.path(name).unlink()
                    file.write(CHANGE)
                    os.fsync(file.fileno())
                    file.seek(0)
                    self.assertEqual(file.read(2 * len(CHANGE)), 2 * CHANGE)

    def test_a_removed_file_leaves_the_lock_file_of_its_successor_alone(self):
        with self.mount(*NEVER, "--locking") as mount, contextlib.ExitStack() as handles:
            def opened():
                return handles.enter_context(open(mount.path("y"), "w+b", buffering=0))

            def change(file):
                file.write(CHANGE)
                os.fsync(file.fileno())

            removed = opened()
            change(removed)
            mount.path("y").unlink()
            successor = opened()
            change(successor)
            for _ in range(3):
                change(removed)
                change(successor)
            for file in (removed, successor):
                file.seek(0)
                self.assertEqual(file.read(100), 4 * CHANGE)
            self.assertNotIn("failed", mount.log())

    def test_a_frame_with_two_names_has_the_lock_file_of_one_of_them(self):
        with self.mount(*NEVER, "--locking") as mount:
            with open(mount.path("y"), "w+b", buffering=0) as file:
                for number in range(1, 7):
                    file.write(CHANGE)
                    other = mount.path(f"name-{number}")
                    os.link(mount.path("y"), other)  # the name that was seen last
                    os.fsync(file.fileno())
                    file.write(CHANGE)
                    other.unlink()
                    self.assertEqual(mount.path("y").stat().st_nlink, 1)
                    os.fsync(file.fileno())
                self.assertEqual(mount.path("y").read_bytes(), 12 * CHANGE)

    def change(self, path, times):
        for _ in range(times):
            with opened(path, os.O_RDWR | os.O_CREAT) as fd:
                os.pwrite(fd, CHANGE, 0)
                os.fsync(fd)

    def test_each_name_of_a_frame_has_a_lock_file_of_its_own(self):
        with self.mount("--locking", "--attr-timeout", "0", *NEVER) as mount:
            x, y = mount.path("x"), mount.path("y")
            os.link(x, y)
            self.change(y, 3)
            self.change(x, 1)
            with opened(x, os.O_RDWR) as fd:
                for name in (x, y, x):
                    name.stat()  # the daemon looks for the frame by its latest name
                    os.pwrite(fd, CHANGE, 100)
                    os.fsync(fd)
                # The frame has no lock file until its other name is looked up.
                x.unlink()
                os.pwrite(fd, CHANGE, 200)
                y.stat()
                os.fsync(fd)
                os.pwrite(fd, CHANGE, 300)
                os.fsync(fd)
            self.assertEqual(mount.log().count("error"), 0)
        stored = bytearray(CONTENT)
        for offset in (0, 100, 200, 300):
            stored[offset:offset + len(CHANGE)] = CHANGE
        self.assertEqual(self.stored(self.source / "y.b2frame"), stored)

    def test_the_lock_file_of_a_new_frame_is_not_that_of_a_removed_one(self):
        with self.mount("--locking", *NEVER) as mount, opened(mount.path("x"), os.O_RDWR) as fd:
            mount.path("x").unlink()
            os.pwrite(fd, CHANGE, 0)
            self.change(mount.path("x"), 3)
            with LockFile(self.lock_path) as library:
                self.assertTrue(library.try_lock(fcntl.LOCK_EX))
                os.fsync(fd)
                os.pwrite(fd, CHANGE, 100)
                os.fsync(fd)
                self.assertEqual(library.counter(), 3)
            self.assertEqual(os.pread(fd, len(CHANGE), 100), CHANGE)
        self.assertEqual(self.stored(), CHANGE)
