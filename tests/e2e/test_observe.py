"""Observing mounts: framefs list, stats and umount, and the daemon's signals."""

import contextlib
import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

import daemon
import data
from case import MountCase
from command_case import CommandCase

STRANGE_DAEMON = pathlib.Path(__file__).with_name("strange_daemon.py")


def tells_connections(pid):
    """Whether this kernel tells which mounts a daemon serves: older ones do not."""
    return any("fuse_connection" in info.read_text() for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir())


class Observe(CommandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        MountCase.setUpClass.__func__(cls)

    def setUp(self):
        self.content = data.text(20_000)
        self.frame = self.make_frame(self.content, self.source / "log.b2frame", "--chunk", "64K", "--block", "16K")

    def stats(self):
        return json.loads(self.framefs("stats", "--json", self.mountpoint).stdout)

    def test_list(self):
        with self.mount("-o", "ro") as mount:
            listed = {entry["mountpoint"]: entry for entry in json.loads(self.framefs("list", "--json").stdout)}
            self.assertEqual(listed[str(self.mountpoint)], {"mountpoint": str(self.mountpoint), "source": str(self.source),
                                                            "read_only": True, "pid": mount.pid, "state": "running",
                                                            "user": pwd.getpwuid(os.geteuid()).pw_name})
            self.assertRegex(self.framefs("list").stdout.decode(),
                             rf"(?m)^ *{mount.pid}  ro  {re.escape(str(self.mountpoint))} <- {re.escape(str(self.source))}$")
        self.assertNotIn(str(self.mountpoint), self.framefs("list").stdout.decode())

    def listed(self):
        """The object of this test's mount in `framefs list --json`, and its line in the table."""
        entries = [entry for entry in json.loads(self.framefs("list", "--json").stdout)
                   if entry["mountpoint"] == str(self.mountpoint)]
        lines = [line for line in self.framefs("list").stdout.decode().splitlines()
                 if f" {self.mountpoint} <- " in line]
        self.assertEqual((len(entries), len(lines)), (1, 1))
        return entries[0], lines[0]

    @staticmethod
    def stop(mount):
        os.kill(mount.pid, signal.SIGSTOP)
        daemon.wait_for(lambda: " T " in pathlib.Path(f"/proc/{mount.pid}/stat").read_text(), "the stop")

    def test_a_stopped_daemon(self):
        with self.mount() as mount:
            self.stop(mount)
            self.addCleanup(mount.kill)
            entry, line = self.listed()
            self.assertEqual((entry["pid"], entry["state"]), (mount.pid, "stopped"))
            self.assertRegex(line, "^ *stopped  rw  ")
            self.assert_fails("umount", self.mountpoint, cause=f"is stopped; kill -CONT {mount.pid}")
            self.assertTrue(daemon.mounts_at(self.mountpoint))
            self.assertRegex(self.framefs("top", "-n", "1", "--interval", "0.1").stdout.decode(),
                             rf"(?m)^ *- .*  {re.escape(str(self.mountpoint))}$")
            os.kill(mount.pid, signal.SIGCONT)

    def leave_gone_mount(self):
        """Leaves a mount of framefs without a daemon."""
        fd = os.open("/dev/fuse", os.O_RDWR)
        self.tool("mount", "-i", "-t", "fuse.framefs", "-o", f"fd={fd},rootmode=40000,user_id=0,group_id=0", "framefs",
                  self.mountpoint, pass_fds=(fd,))
        os.close(fd)
        self.addCleanup(self.tool, "umount", "-l", self.mountpoint, check=False)

    def test_a_mount_without_a_daemon(self):
        self.leave_gone_mount()
        entry, line = self.listed()
        self.assertEqual((entry["pid"], entry["state"]), (None, "gone"))
        self.assertRegex(line, "^ *gone  rw  ")
        self.framefs("umount", self.mountpoint)

    @unittest.skipUnless(os.geteuid() == 0, "root alone is told of each daemon's mounts")
    def test_a_daemon_of_another_mount_whose_path_ends_alike(self):
        other = self.folder / "elsewhere"
        (other / self.mountpoint.name).mkdir(parents=True)
        self.leave_gone_mount()
        self.tool(daemon.FRAMEFS, self.source, self.mountpoint.name, cwd=other)
        self.addCleanup(self.framefs, "umount", other / self.mountpoint.name)
        if not tells_connections(daemon.daemons_with(self.mountpoint.name)[0]):
            self.skipTest("this kernel does not tell which mounts a daemon serves")
        self.assertEqual((self.listed()[0]["pid"], self.listed()[0]["state"]), (None, "gone"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to mount by hand")
    def test_a_daemon_of_a_stranger_can_say_anything(self):
        for text in ('{"pid":"x","source":[],"requests":5,"cache":{"hits":-1}}', "no JSON"):
            with self.subTest(text), self.strange_mount(text):
                entry, line = self.listed()
                self.assertEqual((entry["pid"], entry["state"]), (None, "unknown"))
                self.assertRegex(line, "  rw  ")
                self.assertRegex(self.framefs("top", "-n", "1", "--interval", "0.1").stdout.decode(),
                                 rf"(?m)^ *- .*  {re.escape(str(self.mountpoint))}$")
                for option in ((), ("--json",), ("--prometheus",)):
                    if text.startswith("{"):
                        self.framefs("stats", *option, self.mountpoint)
                    else:
                        self.assert_fails("stats", *option, self.mountpoint, cause="the daemon gives no statistics")
                self.framefs("umount", self.mountpoint)
                self.assertFalse(daemon.mounts_at(self.mountpoint))

    def test_a_mount_over_another(self):
        other = self.folder / "other"
        other.mkdir()
        with self.mount() as mount:
            self.framefs("--ro", "--nonempty", other, self.mountpoint)
            states = [(entry["source"], entry["state"]) for entry in json.loads(self.framefs("list", "--json").stdout)
                      if entry["mountpoint"] == str(self.mountpoint)]
            of_covered = "running" if tells_connections(mount.pid) else "unknown"
            self.assertEqual(states, [(str(self.source), of_covered), (str(other), "running")])
            self.assert_fails("-o", "remount,rw", other, self.mountpoint, cause="it was mounted read-only and stays so")
            self.framefs("umount", self.mountpoint)
            self.assertEqual(mount.path("log").read_bytes(), self.content)

    @unittest.skipIf(os.geteuid() != 0, "only root can mount a tmpfs")
    def test_umount_leaves_a_mount_of_another_filesystem_over_it_alone(self):
        with self.mount() as mount:
            self.tool("mount", "-t", "tmpfs", "none", self.mountpoint)
            try:
                self.assert_fails("umount", self.mountpoint, cause="another filesystem is mounted over it")
                self.assertEqual(daemon.mounts_at(self.mountpoint), ["fuse.framefs", "tmpfs"])
            finally:
                self.tool("umount", self.mountpoint)
            self.framefs("umount", self.mountpoint)
            mount.check_ended()

    def test_mountpoints_with_white_space(self):
        for name in ("carriage\rreturn", "form\ffeed", "new\nline", "blank "):
            with self.subTest(name):
                place = self.folder / name
                place.mkdir()
                self.framefs(self.source, place)
                entries = json.loads(self.framefs("list", "--json").stdout)
                self.assertEqual([entry["state"] for entry in entries if entry["mountpoint"] == str(place)], ["running"])
                self.framefs("umount", place)
                self.assertEqual(daemon.mounts_at(place), [])

    @contextlib.contextmanager
    def strange_mount(self, text):
        """Mounts a FUSE server that is not of framefs, and that says `text` of itself."""
        device = os.open("/dev/fuse", os.O_RDWR)
        self.tool("mount", "-i", "-t", "fuse.framefs", "-o", f"fd={device},rootmode=40000,user_id=0,group_id=0",
                  "framefs", self.mountpoint, pass_fds=(device,))
        with subprocess.Popen([sys.executable, STRANGE_DAEMON, str(device), text], pass_fds=(device,)) as server:
            os.close(device)
            try:
                yield
            finally:
                self.tool("umount", "-l", self.mountpoint, check=False)
                server.wait(10)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_root_sees_the_mounts_of_users(self):
        self.folder.chmod(0o755)
        for path in (self.source, self.mountpoint):
            os.chown(path, 65534, 65534)
        user = {"user": 65534, "group": 65534, "extra_groups": []}
        program = shutil.copy(daemon.FRAMEFS, self.folder)
        if self.tool(program, self.source, self.mountpoint, check=False, **user).returncode != 0:
            self.skipTest("users cannot mount here")
        try:
            entry, line = self.listed()
            self.assertEqual((entry["user"], entry["state"]), (pwd.getpwuid(65534).pw_name, "running"))
            self.assertIn(str(entry["pid"]), line)
            self.assertEqual(self.stats()["pid"], entry["pid"])
            self.framefs("stats", self.mountpoint)
        finally:
            self.tool(program, "umount", self.mountpoint, **user)

    def test_a_healthy_mount_has_no_errors(self):
        """ls(1) and cp(1) ask for attributes that no filesystem has to have."""
        with self.mount() as mount:
            for name in ("security.selinux", "system.posix_acl_access"):
                with self.assertRaises(OSError):
                    os.getxattr(mount.path("log"), name)
            self.assertEqual(self.stats()["errors"]["EOPNOTSUPP"], 0)
            table = self.framefs("stats", self.mountpoint).stdout.decode()
            self.assertNotIn("EOPNOTSUPP", table)
            self.assertNotIn("commits", table)
            self.assertNotRegex(table, r"(?m)^ +fsync ")

    def test_sizes_are_shown_as_they_were_given(self):
        with self.mount("--cache-size", "64M", "--overlay-size", "3G"):
            table = self.framefs("stats", self.mountpoint).stdout.decode()
            self.assertIn(" of 64M in use", table)
            self.assertIn(" of 3G in use", table)

    def check_rows(self, text, mount):
        """A row of `framefs top`: numbers, and the mount."""
        self.assertRegex(text, r"REQ/S +MB/S READ +WRITTEN +HITS +DIRTY +MOUNTPOINT")
        self.assertRegex(text, rf"\d+ +\d+\.\d +\d+\.\d +(\d+%|-) +\d.* k?M?B  {re.escape(str(mount.mountpoint))}")

    def test_top(self):
        with self.mount() as mount:
            text = self.framefs("top", "--count", "2", "--interval", "0.2").stdout.decode()
            self.check_rows(text, mount)
            self.assertEqual(text.count(str(mount.mountpoint)), 2)
            self.assertNotIn("\033", text)

    def test_top_in_a_terminal(self):
        if not shutil.which("tmux"):
            self.skipTest("tmux is not installed")
        tmux = ("tmux", "-L", f"framefs-{os.getpid()}", "-f", "/dev/null")

        def screen():
            return self.tool(*tmux, "capture-pane", "-p").stdout.decode()

        with self.mount() as mount:
            self.tool(*tmux, "new-session", "-d", "-x", "200", "-y", "20", daemon.FRAMEFS, "top", "--interval", "0.1")
            try:
                daemon.wait_for(lambda: str(mount.mountpoint) in screen(), "the first table")
                self.check_rows(screen(), mount)
                # Each table takes the place of the last one.
                self.assertLessEqual(screen().count("MOUNTPOINT"), 1)
            finally:
                self.tool(*tmux, "kill-server")

    @contextlib.contextmanager
    def metrics_server(self):
        """Yields (process, get); get(path, method) returns (status, type of the content, text)."""
        process = subprocess.Popen([daemon.FRAMEFS, "stats", self.mountpoint, "--serve", "127.0.0.1:0"],
                                   stdout=subprocess.PIPE, text=True)
        try:
            url = re.fullmatch(r"the metrics are at http://127\.0\.0\.1:(\d+)/metrics\n", process.stdout.readline())

            def get(path="/metrics", method="GET"):
                connection = http.client.HTTPConnection("127.0.0.1", int(url[1]), timeout=daemon.DEADLINE_S)
                with contextlib.closing(connection):
                    connection.request(method, path)
                    answer = connection.getresponse()
                    return answer.status, answer.getheader("Content-Type"), answer.read().decode()

            yield process, get
        finally:
            process.terminate()
            with process.stdout:
                self.assertEqual(process.wait(daemon.DEADLINE_S), 0)

    def test_metrics_are_served(self):
        with self.mount() as mount, self.metrics_server() as (_, get):
            mount.path("log").read_bytes()
            status, kind, text = get()
            self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
            names = set(re.findall(r"^(framefs_\w+)", text, re.M))
            printed = self.framefs("stats", "--prometheus", self.mountpoint).stdout.decode()
            self.assertEqual(names, set(re.findall(r"^(framefs_\w+)", printed, re.M)))
            reads = re.compile(r'framefs_request_seconds_count\{.*kind="read"\} (\d+)')
            daemon.drop_kernel_references()
            mount.path("log").read_bytes()
            self.assertGreater(int(reads.search(get()[2])[1]), int(reads.search(text)[1]))
            self.assertEqual(get(method="HEAD")[::2], (200, ""))
            self.assertEqual(get("/")[0], 404)
            self.assertEqual(get(method="POST")[0], 405)
            self.framefs("umount", self.mountpoint)
            status, _, text = get()
            self.assertEqual(status, 503)
            self.assertIn("is not a mount of framefs", text)

    def test_a_daemon_that_hangs_gets_one_question(self):
        with self.mount() as mount, self.metrics_server() as (server, get):
            self.stop(mount)
            try:
                self.assertEqual(get()[0], 503)
                threads = os.listdir(f"/proc/{server.pid}/task")
                self.assertEqual(get()[0], 503)
                self.assertEqual(os.listdir(f"/proc/{server.pid}/task"), threads)
            finally:
                os.kill(mount.pid, signal.SIGCONT)
            self.assertEqual(get()[0], 200)

    def test_a_place_that_is_taken(self):
        with self.mount(), socket.create_server(("127.0.0.1", 0)) as taken:
            place = f"127.0.0.1:{taken.getsockname()[1]}"
            result = self.tool(daemon.FRAMEFS, "stats", self.mountpoint, "--serve", place, check=False)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr.decode(), f"framefs: {place}: listen: Address already in use\n")

    def test_histograms(self):
        with self.mount() as mount:
            mount.path("log").read_bytes()
            text = self.framefs("stats", "--prometheus", self.mountpoint).stdout.decode()
        buckets = re.findall(r'framefs_request_seconds_bucket\{.*kind="read",le="([^"]+)"\} (\d+)', text)
        counts = [int(count) for _, count in buckets]
        self.assertEqual(buckets[-1][0], "+Inf")
        self.assertGreater(counts[-1], 0)
        self.assertEqual(counts, sorted(counts))
        bounds = [float(bound) for bound, _ in buckets[:-1]]
        self.assertEqual(bounds, sorted(bounds))
        self.assertIn("# TYPE framefs_request_seconds histogram", text)
        self.assertRegex(text, rf'framefs_request_seconds_count\{{.*kind="read"\}} {counts[-1]}\n')

    def test_a_mount_with_a_type_of_its_own(self):
        self.framefs(self.source, self.mountpoint, "--subtype", "other")
        listed = {entry["mountpoint"]: entry for entry in json.loads(self.framefs("list", "--json").stdout)}
        self.assertEqual(listed[str(self.mountpoint)]["pid"], self.stats()["pid"])
        self.framefs("umount", self.mountpoint)
        self.assertEqual(daemon.mounts_at(self.mountpoint), [])

    def test_a_mount_is_ended_by_a_link_to_it(self):
        link = self.folder / "link"
        link.symlink_to(self.mountpoint)
        self.framefs(self.source, link)
        self.framefs("umount", link)
        self.assertEqual(daemon.mounts_at(self.mountpoint), [])
        self.assertTrue(link.is_symlink())

    def test_stats_count_activity(self):
        with self.mount() as mount:
            before = self.stats()
            self.assertEqual((before["pid"], before["bytes_read"]), (mount.pid, 0))
            self.assertEqual(mount.path("log").read_bytes(), self.content)
            with self.assertRaises(FileNotFoundError):
                os.stat(mount.path("missing"))
            with open(mount.path("new"), "wb") as file:
                file.write(bytes(range(256)) * 40)
                file.flush()
                os.fsync(file.fileno())
            after = self.stats()
            self.assertGreaterEqual(after["bytes_read"], len(self.content))
            self.assertEqual(after["bytes_written"], 256 * 40)
            self.assertGreater(after["requests"]["read"]["count"], 0)
            self.assertGreater(after["requests"]["write"]["count"], 0)
            self.assertLessEqual(after["requests"]["read"]["p50_us"], after["requests"]["read"]["p99_us"])
            self.assertGreater(after["errors"]["ENOENT"], before["errors"]["ENOENT"])
            self.assertGreater(after["cache"]["misses"], 0)
            self.assertGreaterEqual(after["cache"]["made_bytes"], len(self.content))
            self.assertEqual(after["requests"]["fsync"]["count"], 1)
            self.assertEqual((after["writes"]["commits"], after["writes"]["failed_commits"]), (1, 0))
            self.assertGreater(after["writes"]["stored_bytes"], 0)
            self.assertGreater(after["writes"]["budget_bytes"], 0)
            table = self.framefs("stats", self.mountpoint).stdout.decode()
            self.assertIn(f"pid {mount.pid}", table)
            self.assertRegex(table, r"look-ups hit")
            self.assertRegex(table, r"commits +1, 0 failed")
            # Not among the attributes that copying tools see.
            self.assertNotIn("user.framefs.stats", os.listxattr(mount.path()))

    def test_written_bytes_are_dirty_until_their_commit(self):
        with self.mount("--commit-interval", "60") as mount, open(mount.path("new"), "wb") as file:
            file.write(data.noise(100_000))
            file.flush()
            # A process started now would close its copy of the file, which stores the bytes.
            writes = mount.stats()["writes"]
            self.assertGreaterEqual(writes["dirty_bytes"], 100_000)
            self.assertEqual(writes["commits"], 0)
            os.fsync(file.fileno())
            writes = mount.stats()["writes"]
            self.assertLess(writes["dirty_bytes"], 100_000)
            self.assertEqual(writes["commits"], 1)

    def test_read_ahead_is_counted(self):
        content = data.noise(48 << 20)
        self.make_frame(content, self.source / "big.b2frame", "--chunk", "1M", "--codec", "lz4")
        with self.mount("-o", "ro") as mount:
            def decoded_after_a_read():
                with open(mount.path("big"), "rb") as file:
                    self.assertEqual(file.read(), content)
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                return self.stats()["read_ahead"]["decoded_bytes"]

            # The threads of read-ahead have a low priority.
            daemon.wait_for(decoded_after_a_read, "read-ahead")
            ahead = self.stats()["read_ahead"]
            self.assertLessEqual(ahead["used_bytes"] + ahead["wasted_bytes"], ahead["decoded_bytes"])
            self.assertNotIn("writes", self.stats())

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_other_users_get_no_statistics(self):
        self.folder.chmod(0o755)
        script = "import os, sys; os.getxattr(sys.argv[1], 'user.framefs.stats')"
        with self.mount("--allow-other") as mount:
            asked = self.tool("python3", "-c", script, mount.path(), check=False, user=65534, group=65534,
                              extra_groups=[])
            self.assertIn(b"Operation not permitted", asked.stderr)

    def test_the_log_without_syslog(self):
        """A background mount keeps its last lines, which only its user gets."""
        (self.source / "cut.b2frame").write_bytes(self.frame.read_bytes()[:1000])
        self.framefs(self.source, self.mountpoint)
        try:
            with self.assertRaises(OSError):
                (self.mountpoint / "cut").read_bytes()
            lines = self.framefs("log", self.mountpoint).stdout.decode().splitlines()
        finally:
            self.framefs("umount", self.mountpoint)
        for line in lines:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} (info|warning|error): .")
        self.assertTrue(any(line.endswith(f" info: {self.source} is mounted on {self.mountpoint}") for line in lines), lines)
        self.assertTrue(any("/cut.b2frame: truncated" in line for line in lines), lines)
        self.assert_fails("log", self.folder, cause="is not a mount of framefs; framefs list shows the mounts")
        self.assert_fails("log", self.folder / "missing", cause="No such file or directory")

    def test_a_log_of_many_lines_has_the_last_1000(self):
        """They need more than one answer, because an attribute has at most 64 KiB."""
        stored = self.frame.read_bytes()[:1000]
        names = [f"cut-{'x' * 150}-{number:04}" for number in range(990)]
        for name in names:
            (self.source / f"{name}.b2frame").write_bytes(stored)
        self.framefs(self.source, self.mountpoint)
        try:
            for name in names:
                with self.assertRaises(OSError):
                    (self.mountpoint / name).read_bytes()
            lines = self.framefs("log", self.mountpoint).stdout.decode().splitlines()
        finally:
            self.framefs("umount", self.mountpoint)
        found = [name for name in names if any(f"/{name}.b2frame: truncated" in line for line in lines)]
        self.assertEqual(found, names)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_strangers_get_no_log(self):
        self.folder.chmod(0o755)
        script = "import os, sys; os.getxattr(sys.argv[1], 'user.framefs.log.0')"
        with self.mount("--allow-other") as mount:
            asked = self.tool("python3", "-c", script, mount.path(), check=False, user=65534, group=65534,
                              extra_groups=[])
            self.assertIn(b"Operation not permitted", asked.stderr)
            self.assertIn(b'"lines":', os.getxattr(mount.path(), "user.framefs.log.0"))

    def test_metrics(self):
        with self.mount():
            text = self.framefs("stats", "--prometheus", self.mountpoint).stdout.decode()
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) framefs_[a-z_]+ .+'
                                   r'|framefs_[a-z_]+\{mountpoint="[^"]+"(,[a-z]+="[^"]+")*\} [0-9.e+-]+)$')
        self.assertIn(f'framefs_requests_total{{mountpoint="{self.mountpoint}",kind="read"}} 0', text)

    def test_a_path_that_is_missing(self):
        self.assert_fails("stats", self.folder / "missing", cause=f"framefs: {self.folder}/missing: No such file or dir")

    def test_a_path_that_is_not_a_mount(self):
        self.assert_fails("stats", self.folder, cause="is not a mount of framefs")
        self.assert_fails("stats", self.folder / "missing", cause="No such file")
        self.assert_fails("umount", self.folder, cause="is not a mount of framefs")

    def test_watching_ends_with_the_mount(self):
        with self.mount() as mount:
            with subprocess.Popen([daemon.FRAMEFS, "stats", "--json", "--watch", "0.05", self.mountpoint],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                lines = [json.loads(process.stdout.readline()) for _ in range(3)]
                self.assertLess(lines[0]["uptime_s"], lines[2]["uptime_s"])
                os.kill(mount.pid, signal.SIGTERM)
                mount.check_ended()
                process.stdout.read()
                process.stderr.read()
            self.assertEqual(process.returncode, 1)

    def test_umount_returns_when_all_is_committed(self):
        with self.mount() as mount:
            with open(mount.path("log"), "r+b") as file:
                file.write(b"changed")
                held = self.framefs("umount", self.mountpoint, code=1)
                self.assertIn("close the files in it", held.stderr.decode())
            daemon.wait_for(lambda: self.tool(daemon.FRAMEFS, "umount", f"{self.mountpoint}/", check=False).returncode == 0,
                            "unmounting")
            mount.check_ended()
        self.assertTrue(self.framefs("unpack", self.frame, "-o", "-").stdout.startswith(b"changed"))

    @unittest.skipIf(os.geteuid() != 0, "only root can make a mount namespace")
    def test_umount_does_not_wait_for_another_namespace(self):
        for kind in ("namespace", "bind mount"):
            with self.subTest(kind), self.mount() as mount:
                bound = self.folder / "bound"
                bound.mkdir(exist_ok=True)
                (mount.path("log")).write_bytes(kind.encode())
                holder = None
                if kind == "namespace":
                    holder = subprocess.Popen(["unshare", "-m", "--propagation", "private", "cat"],
                                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
                    own = os.readlink("/proc/self/ns/mnt")
                    daemon.wait_for(lambda: os.readlink(f"/proc/{holder.pid}/ns/mnt") != own, "a namespace")
                else:
                    self.tool("mount", "--bind", mount.path(), bound)
                told = self.framefs("umount", self.mountpoint).stderr.decode()
                self.assertIn("is unmounted and its data is committed", told)
                self.assertIn(str(holder.pid) if holder else str(bound), told)
                self.assertEqual(self.framefs("unpack", self.frame, "-o", "-").stdout, kind.encode())
                if holder:
                    holder.communicate()
                else:
                    self.tool("umount", bound)
                mount.check_ended()

    def test_signals(self):
        with self.mount() as mount:
            os.kill(mount.pid, signal.SIGUSR1)
            line = daemon.wait_for(lambda: re.search(r"statistics: (\{.*\})", mount.log()), "statistics in the log")
            self.assertEqual(json.loads(line[1])["pid"], mount.pid)
            old = self.folder / "old.log"
            mount.log_path.rename(old)
            os.kill(mount.pid, signal.SIGHUP)
            daemon.wait_for(lambda: "was opened again" in mount.log(), "a new log")
            self.assertNotIn("was opened again", old.read_text())
            self.assertEqual(mount.path("log").read_bytes(), self.content)


if __name__ == "__main__":
    unittest.main()
