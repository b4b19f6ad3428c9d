"""One user, or the system, leaves the daemon no descriptors or threads: the others go on."""

import concurrent.futures
import contextlib
import errno
import os
import resource
import shutil
import subprocess
import sys
import unittest

import daemon
from case import MountCase
from daemon import open_files, wait_for

DESCRIPTORS = 1024  # that the system allows the daemon
FILES = 10_000
NOBODY = 65534
THREADS = 200  # that the system allows a user

# Opens files of a folder, tells how many it could open and why no more, and waits.
OPENER = """
import errno, os, resource, sys
folder, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
flags = os.O_RDWR if sys.argv[4] == "write" else os.O_RDONLY
opened, errors = [], set()
for i in range(first, last):
    try:
        opened.append(os.open(f"{folder}/f{i}", flags))
    except OSError as error:
        errors.add(errno.errorcode[error.errno])
print(len(opened), *sorted(errors), flush=True)
sys.stdin.read()
print(all(os.pread(fd, 1, 0) == b"c" for fd in opened) if os.path.isfile(f"{folder}/f{first}") else True, flush=True)
"""


@unittest.skipIf(os.geteuid() != 0, "needs several users")
class Descriptors(MountCase):
    def setUp(self):
        os.chmod(self.folder, 0o755)
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if most < FILES + 100:
            self.skipTest(f"a process may open only {most} files")

    def mount_with_few(self, *options):
        mount = self.mount(*options)
        mount.command = ["prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}", *mount.command]
        return mount

    def add_files(self, count, suffix=""):
        """Names of one file, which takes the least time."""
        many, first = self.source / "many", self.source / "first"
        many.mkdir()
        if suffix:
            self.make_frame(b"content", first)
        else:
            first.write_bytes(b"content")
        first.chmod(0o666)
        for i in range(count):
            os.link(first, many / f"f{i}{suffix}")

    @contextlib.contextmanager
    def opener(self, mount, first, last, how="read", user=NOBODY):
        """Another user opens files and keeps them open; yields how many, and the errors."""
        most = FILES + 50
        process = subprocess.Popen(
            [sys.executable, "-c", OPENER, mount.path("many"), str(first), str(last), how],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=user, group=user, extra_groups=[],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
        try:
            count, *errors = process.stdout.readline().decode().split()
            yield int(count), errors
            rest = process.communicate(timeout=daemon.DEADLINE_S)[0]
            self.assertEqual(rest, b"True\n")
        finally:
            process.kill()
            process.communicate()

    def check_others_go_on(self, mount, number):
        """Names, attributes, listings, opens, reads and writes of a user that has nothing open."""
        folder = self.source / f"other{number}"
        folder.mkdir()
        self.make_frame(b"frame", folder / "x.b2frame")
        (folder / "plain").write_bytes(b"plain")
        shown = mount.path(folder.name)
        self.assertEqual(sorted(os.listdir(shown)), ["plain", "x"])
        self.assertEqual((shown / "x").stat().st_size, 5)
        self.assertEqual((shown / "x").read_bytes(), b"frame")
        self.assertEqual((shown / "plain").read_bytes(), b"plain")
        self.assertIn(b"contiguous", os.getxattr(shown / "x", "user.framefs.info"))
        (shown / "new").write_bytes(b"new")
        self.assertEqual((shown / "new").read_bytes(), b"new")
        os.rename(shown / "new", shown / "newer")
        os.remove(shown / "newer")

    def check_users(self, suffix, how):
        self.add_files(FILES, suffix)
        with self.mount_with_few("--allow-other") as mount:
            for number in range(2):
                # The second time shows that all has been given back.
                with self.opener(mount, 0, FILES, how) as (count, errors):
                    self.assertGreater(count, DESCRIPTORS // 16)
                    self.assertLess(count, DESCRIPTORS // 2)
                    self.assertEqual(errors, ["ENFILE"])
                    self.check_others_go_on(mount, f"{number}a")
                    # Another user with many files gets some, too.
                    with self.opener(mount, 0, 100, how, user=NOBODY - 1) as (others, _):
                        self.assertGreater(others, 10)
                        self.check_others_go_on(mount, f"{number}b")
                wait_for(lambda: len(open_files(mount.pid)) < 50, "files to be closed")

    def test_a_user_with_ten_thousand_open_frames(self):
        self.check_users(".b2frame", "read")

    def test_a_user_with_ten_thousand_open_files(self):
        self.check_users("", "read")

    def test_a_user_who_writes_to_ten_thousand_files(self):
        self.check_users("", "write")

    def test_a_user_with_ten_thousand_open_directories(self):
        many = self.source / "many"
        many.mkdir()
        for i in range(FILES // 4):
            (many / f"f{i}").mkdir()
        with self.mount_with_few("--allow-other") as mount:
            with self.opener(mount, 0, FILES // 4) as (count, errors):
                self.assertLess(count, DESCRIPTORS // 2)
                self.assertEqual(errors, ["ENFILE"])
                self.check_others_go_on(mount, "a")

    def test_one_user_may_use_all_but_the_reserve(self):
        self.add_files(FILES, ".b2frame")
        with self.mount_with_few() as mount:
            opened = []
            with self.assertRaises(OSError) as caught:
                for i in range(FILES):
                    opened.append(os.open(mount.path("many", f"f{i}"), os.O_RDONLY))
            self.addCleanup(lambda: [os.close(fd) for fd in opened])
            self.assertEqual(caught.exception.errno, errno.ENFILE)
            self.assertGreater(len(opened), DESCRIPTORS // 2)
            # Every name is still there, and what is open can be read.
            self.assertEqual(os.stat(mount.path("many", f"f{FILES - 1}")).st_size, 7)
            self.assertEqual(os.pread(opened[-1], 7, 0), b"content")
            while opened:
                os.close(opened.pop())
            wait_for(lambda: len(open_files(mount.pid)) < 50, "files to be closed")
            self.check_others_go_on(mount, "a")


@unittest.skipIf(os.geteuid() != 0, "only root can mount for another user")
class Threads(MountCase):
    def setUp(self):
        self.data = os.urandom(1 << 20) * 8
        for i in range(8):
            self.make_frame(self.data, self.source / f"f{i}.b2frame", "--chunk", "1M", "--block", "64K")
        for place in (self.folder, self.source, *self.source.iterdir()):
            os.chown(place, NOBODY, NOBODY)
        os.chmod(self.folder, 0o755)

    def as_nobody(self, *command):
        return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *command]

    @contextlib.contextmanager
    def no_more_threads(self):
        """Another process of the user has as many threads as the user may have."""
        script = f"""
import sys, threading
for _ in range({THREADS}):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print(flush=True)
sys.stdin.read()
"""
        process = subprocess.Popen(self.as_nobody(sys.executable, "-c", script), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        try:
            self.assertEqual(process.stdout.readline(), b"\n")
            yield
        finally:
            process.communicate()

    def start(self, fd):
        """The daemon of a user who may have few threads."""
        log = self.folder / "daemon.log"
        program = self.folder / "framefs"
        program.write_bytes(daemon.FRAMEFS.read_bytes())
        program.chmod(0o755)
        command = ["prlimit", f"--nproc={THREADS}:{THREADS}", *self.as_nobody(program), self.source,
                   f"/dev/fd/{fd}", "-f", "--allow-other", "--log-file", log]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(fd,))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(lambda: log.exists() and "is mounted on" in log.read_text() or process.poll() is not None,
                 "the daemon")
        self.assertIsNone(process.poll())
        return process, log

    def check_reads(self, number):
        self.assert_same_bytes((self.mountpoint / f"f{number}").read_bytes(), self.data, f"f{number}")
        self.assertGreaterEqual(len(os.listdir(self.mountpoint)), 8)

    def check_writes(self, number):
        new, content = self.mountpoint / f"new{number}", self.data[:3 << 20]
        with open(new, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self.assert_same_bytes(new.read_bytes(), content, new.name)
        os.remove(new)

    def at_once(self, check):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(check, range(8)))

    def test_no_more_threads_can_be_made(self):
        """The daemon goes on with those that it has.  A first writer needs some more."""
        fd = self.mount_by_hand("allow_other", "default_permissions")
        self.addCleanup(self.tool, "umount", "-l", self.mountpoint, check=False)
        process, log = self.start(fd)
        os.close(fd)
        with self.no_more_threads():
            self.at_once(self.check_reads)
            with self.assertRaises(OSError) as caught:
                self.check_writes(0)
            self.assertEqual(caught.exception.errno, errno.EAGAIN)
            self.at_once(self.check_reads)
        self.check_writes(0)
        with self.no_more_threads():
            self.at_once(self.check_writes)
            self.at_once(self.check_reads)
        wait_for(lambda: self.tool("umount", self.mountpoint, check=False).returncode == 0, "unmounting")
        self.assertEqual(process.wait(daemon.DEADLINE_S), 0, log.read_text())
        self.assertFalse(daemon.SUSPICIOUS.search(log.read_text()), log.read_text())


# Runs in a user namespace, which has a limit of its own.  Arguments: the limit's name and value,
# the program, SOURCE, MOUNTPOINT, the log.
WATCHER = """
echo "$2" >"/proc/sys/user/$1"
"$3" "$4" "$5" -f --log-file "$6" & daemon=$!
until mountpoint -q "$5"; do kill -0 $daemon; sleep 0.05; done
for i in 1 2 3 4 5 6 7 8; do ! test -e "$5/d$i/x" || exit 2; done
for i in 1 2 3 4 5 6 7 8; do echo content >"$4/d$i/x"; done
for i in 1 2 3 4 5 6 7 8; do test "$(cat "$5/d$i/x")" = content || exit 3; done
kill $daemon
wait $daemon
"""


class Watches(MountCase):
    def test_the_user_has_no_more_watches(self):
        """Names that were absent are found when another program creates them, watched or not."""
        own = ["unshare", "--user", "--map-root-user", "--mount"]
        if self.tool(*own, "true", check=False).returncode != 0:
            self.skipTest("no user namespaces here")
        for limit, value in (("max_inotify_watches", 3), ("max_inotify_instances", 0)):
            with self.subTest(limit):
                for number in range(1, 9):
                    shutil.rmtree(self.source / f"d{number}", ignore_errors=True)
                    (self.source / f"d{number}").mkdir()
                log = self.folder / f"{limit}.log"
                self.tool(*own, "bash", "-euc", WATCHER, "-", limit, str(value), daemon.FRAMEFS, self.source,
                          self.mountpoint, log)
                self.assertFalse(daemon.SUSPICIOUS.search(log.read_text()), log.read_text())


if __name__ == "__main__":
    unittest.main()
