"""The sandbox of a daemon that serves the mount of a URL, and what reaches out of it."""

import contextlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest
import unittest.mock

import daemon
import data
import object_server
from daemon import is_running, mounts_at, wait_for, watchdog_of
from object_server import BUCKET
from remote_case import CachedMount, RemoteCase
from test_sandbox import PROBE, status_of, statuses_of_threads

SECRET = object_server.SECRET_KEY
# The daemon fetches credentials again five minutes before they expire, but not more often than
# every five seconds.
SOON_S = 60


def credentials(key, token=None):
    expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + SOON_S))
    return json.dumps({"Version": 1, "AccessKeyId": key, "SecretAccessKey": SECRET, "Expiration": expires,
                       **({"Token": token} if token else {})}).encode()


def host_name():
    """A name of this machine that needs the system's resolver; libcurl itself knows localhost."""
    with contextlib.suppress(OSError):
        if socket.gethostbyname(socket.gethostname()).startswith("127."):
            return socket.gethostname()
    return "localhost"


NEEDS_SANDBOX = unittest.skipIf(daemon.SANITIZED, "programs with a sanitizer have no sandbox")


class RemoteSandbox(RemoteCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve({"x": b"content", "y": b"more"})

    def mount_with(self, environment, *options):
        """A mount of the bucket with credentials that `environment` describes."""
        environment = {"HOME": str(self.folder), "AWS_EC2_METADATA_DISABLED": "true", **environment}
        return CachedMount(f"s3://{BUCKET}/", self.mountpoint, "--endpoint", self.server.url, *options,
                           environment=environment)

    def mount_by_program(self, script, *options):
        program = self.folder / "keys.sh"
        program.write_text(f"#!/bin/sh\ncd '{self.folder}'\n{script}\n")
        program.chmod(0o755)
        config = self.folder / "config"
        config.write_text(f"[default]\ncredential_process = '{program}'\n")
        return self.mount_with({"AWS_CONFIG_FILE": str(config)}, *options)

    def write_keys(self, key):
        """Replaces the file of keys, as programs do."""
        new = self.folder / "keys.new"
        new.write_bytes(credentials(key))
        new.rename(self.folder / "keys.json")

    def wait_for_key(self, mount, key):
        """The server accepts no other key any more; the daemon gets it in time."""
        self.server.access_key = key

        def is_readable():
            with contextlib.suppress(PermissionError):
                return mount.path("y").read_bytes() == b"more"
        wait_for(is_readable, f"the key {key}")

    def read_x(self, mount):
        self.assertEqual(mount.path("x").read_bytes(), b"content")

    @NEEDS_SANDBOX
    def test_every_thread_is_in_the_sandbox(self):
        local = self.tool(PROBE, self.source, "rw", self.folder / "none").stdout.decode().splitlines()[0]
        with self.mount_s3(self.server, "--cache-dir", str(self.folder / "cache")) as mount:
            self.read_x(mount)
            # As much is in force as for a local SOURCE, of which a URL has no mounts.
            self.assertIn(f"info: {local.replace(' few mounts,', '')}\n", mount.log())
            statuses = statuses_of_threads(mount.pid)
            self.assertGreater(len(statuses), 4)
            for status in statuses:
                for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                    self.assertEqual(int(status[name], 16), 0)
                self.assertEqual(status["NoNewPrivs"], "1")
                if "(seccomp)" not in local.partition("not in force")[2]:
                    self.assertEqual(status["Seccomp"], "2")

    def test_the_sandbox_can_be_left_out(self):
        with self.mount_s3(self.server, "--no-sandbox") as mount:
            self.read_x(mount)
            self.assertEqual(status_of(mount.pid)["NoNewPrivs"], "0")
            self.assertIn("sandbox: none", mount.log())

    def kill(self, mount):
        """Kills the daemon; returns when the watchdog has ended."""
        watchdog = watchdog_of(mount.pid)
        mount.process.kill()
        mount.process.wait(daemon.DEADLINE_S)
        wait_for(lambda: not is_running(watchdog), "the watchdog to end", deadline_s=30)
        self.assertEqual(mounts_at(self.mountpoint), [])

    def test_a_killed_daemon_leaves_no_mount(self):
        mount = self.mount_s3(self.server)
        self.addCleanup(mount.kill)
        mount.__enter__()
        with open(mount.path("x"), "rb"):
            self.kill(mount)

    def test_a_confined_daemon_unmounts_when_it_is_told_to_end(self):
        with self.mount_s3(self.server) as mount, open(mount.path("x"), "rb"):
            mount.process.send_signal(signal.SIGTERM)
            self.assertEqual(mount.process.wait(daemon.DEADLINE_S), 0)
            self.assertEqual(mounts_at(self.mountpoint), [])

    def start_unanswered(self):
        """A daemon whose first request is not answered, and the event that ends the wait."""
        go_on, asked = threading.Event(), threading.Event()

        def answer(request):
            asked.set()
            go_on.wait(daemon.DEADLINE_S)
            return object_server.status(404)
        server = self.serve({"x": b"content"}, fault=answer)
        self.addCleanup(go_on.set)
        process = subprocess.Popen([daemon.FRAMEFS, server.url, self.mountpoint, "-f"],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertTrue(asked.wait(daemon.DEADLINE_S))
        return process, go_on

    def test_nothing_is_mounted_before_the_server_has_answered(self):
        process, go_on = self.start_unanswered()
        self.assertEqual(mounts_at(self.mountpoint), [])
        go_on.set()
        output, _ = process.communicate(timeout=daemon.DEADLINE_S)
        self.assertEqual(process.returncode, 1, output)
        self.assertEqual(mounts_at(self.mountpoint), [])

    @NEEDS_SANDBOX
    def test_killed_before_the_mount_is_made(self):
        """A dead mount of another daemon stays."""
        self.leave_stale_mount()
        self.addCleanup(self.tool, "umount", "-l", self.mountpoint)
        process, _ = self.start_unanswered()
        watchdog = watchdog_of(process.pid)
        process.kill()
        process.wait(daemon.DEADLINE_S)
        wait_for(lambda: not is_running(watchdog), "the watchdog to end", deadline_s=30)
        self.assertEqual(mounts_at(self.mountpoint), ["fuse"])

    def test_a_server_that_cannot_be_reached_ends_the_mount_at_once(self):
        self.server.stop()
        for url, cause in ((f"http://127.0.0.1:{self.server.port}/", "the server refuses connections"),
                           ("http://none.invalid/", "resolve")):
            for command in ((url, self.mountpoint), ("index", url)):
                with self.subTest(command=command):
                    started = time.monotonic()
                    result = self.tool(daemon.FRAMEFS, *command, check=False)
                    # A call of a mount that has been served waits for a minute.
                    self.assertLess(time.monotonic() - started, 30)
                    self.assertEqual(result.returncode, 1)
                    self.assertRegex(result.stderr.decode(), f"^framefs: {url}: .*{cause}")
        self.assertEqual(mounts_at(self.mountpoint), [])

    def test_the_reason_of_a_refused_mount_is_shown(self):
        results = [self.tool(daemon.FRAMEFS, self.server.url, self.folder / "absent", *options, check=False)
                   for options in ((), ("--no-sandbox",))]
        self.assertEqual(results[0].returncode, 1)
        self.assertIn(b"absent: No such file or directory", results[0].stderr)
        self.assertEqual(results[0].stderr, results[1].stderr)

    def test_credential_process(self):
        self.write_keys(object_server.ACCESS_KEY)
        with self.mount_by_program("echo run >>runs; cat keys.json") as mount:
            self.read_x(mount)
            self.assertEqual((self.folder / "runs").read_text(), "run\n")
            self.write_keys("SECOND")
            self.wait_for_key(mount, "SECOND")
            self.assertIn("run\nrun\n", (self.folder / "runs").read_text())
            for pid in (mount.pid, watchdog_of(mount.pid)):
                for name in ("environ", "cmdline"):
                    self.assertNotIn(SECRET.encode(), pathlib.Path(f"/proc/{pid}/{name}").read_bytes())
            self.assertNotIn(SECRET, mount.messages())

    @unittest.skipUnless(os.geteuid() == 0, "users find programs by their own PATH")
    def test_path_decides_nothing_for_root(self):
        self.write_keys(object_server.ACCESS_KEY)
        programs = self.folder / "programs"
        programs.mkdir()
        for name in ("cat", "fusermount3"):
            (programs / name).write_text(f"#!/bin/sh\ntouch '{self.folder}/taken-over'\n")
            (programs / name).chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"PATH": f"{programs}:{os.environ['PATH']}"}):
            with self.mount_by_program("cat keys.json") as mount:
                self.read_x(mount)
                self.tool(daemon.FRAMEFS, "umount", self.mountpoint)
                mount.check_ended()
        self.assertFalse((self.folder / "taken-over").exists())

    def test_a_credential_process_that_fails(self):
        with self.assertRaises(AssertionError) as caught:
            with self.mount_by_program("echo 'no keys today' >&2; exit 3"):
                pass
        message = str(caught.exception)
        self.assertIn("exit code 1\n", message)
        self.assertIn("no keys today\n", message)
        self.assertIn("credential_process", message)
        self.assertEqual(mounts_at(self.mountpoint), [])

        # After the mount is made, it goes on with the old keys, and tries again.
        self.write_keys(object_server.ACCESS_KEY)
        with self.mount_by_program("echo run >>runs; cat keys.json || exit 3") as mount:
            (self.folder / "keys.json").unlink()
            wait_for(lambda: len((self.folder / "runs").read_text().splitlines()) >= 2, "another run")
            self.read_x(mount)
            self.write_keys("SECOND")
            self.wait_for_key(mount, "SECOND")

    def sleepers(self, group):
        """The processes of a process group."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == group and fields[0] not in "ZX":
                    found.append(int(entry.name))
        return found

    def start_hanging(self):
        """A mount whose program has been run again, and hangs; and the program's process group."""
        hangs, group = self.folder / "hangs", self.folder / "group"
        for path in (hangs, group):
            path.unlink(missing_ok=True)
        self.write_keys(object_server.ACCESS_KEY)
        mount = self.mount_by_program("[ -e hangs ] || exec cat keys.json\n"
                                      "cut -d' ' -f5 /proc/self/stat >group.new; mv group.new group\n"
                                      "sleep 1000 | cat")
        self.addCleanup(mount.kill)
        mount.__enter__()
        hangs.touch()
        wait_for(group.exists, "the program to hang")
        return mount, int(group.read_text())

    @NEEDS_SANDBOX
    def test_a_credential_process_that_hangs(self):
        mount, group = self.start_hanging()
        self.assertNotEqual(self.sleepers(group), [])
        self.read_x(mount)
        # The watchdog serves meanwhile.
        mount.log_path.rename(self.folder / "old.log")
        os.kill(mount.pid, signal.SIGHUP)
        wait_for(lambda: "was opened again" in mount.log(), "a new log", deadline_s=30)
        begin = time.monotonic()
        mount.close()
        self.assertLess(time.monotonic() - begin, 30)
        wait_for(lambda: not self.sleepers(group), "the end of the program")

        mount, group = self.start_hanging()
        self.kill(mount)
        wait_for(lambda: not self.sleepers(group), "the end of the program")

    def test_a_token_file_is_read_again(self):
        folder = self.folder / "tokens"
        folder.mkdir()
        token = {"now": "first"}
        seen = []

        def write(text):
            """As the platforms do: a new file behind the same name."""
            new = folder / text
            new.write_text(text + "\n")
            new.rename(folder / "token")

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.headers["Authorization"])
                right = seen[-1] == token["now"]
                body = credentials("KEY-" + token["now"], "session") if right else b""
                self.send_response(200 if right else 401)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        platform = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=platform.serve_forever, daemon=True).start()
        self.addCleanup(platform.server_close)
        self.addCleanup(platform.shutdown)
        write("first")
        self.server.access_key = "KEY-first"
        with self.mount_with({"AWS_CONTAINER_CREDENTIALS_FULL_URI":
                              f"http://127.0.0.1:{platform.server_port}/creds",
                              "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(folder / "token")}) as mount:
            self.read_x(mount)
            token["now"] = "second"
            write("second")
            self.wait_for_key(mount, "KEY-second")
        self.assertEqual(seen[0], "first")
        self.assertEqual(seen[-1], "second")

    def test_tls_and_names(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        name = host_name()
        certificate, key = self.folder / "cert.pem", self.folder / "key.pem"
        self.tool("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                  f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", certificate)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        content = data.noise(300_000)
        server = self.serve({"x": content, "y": b"more"}, tls=tls)
        url = f"https://{name}:{server.port}"
        # The certificates of the system do not have it, inside the sandbox and outside.
        refusals = {self.tool(daemon.FRAMEFS, url, self.mountpoint, *options, check=False).stderr
                    for options in ((), ("--no-sandbox",))}
        self.assertEqual(len(refusals), 1, refusals)
        self.assertIn(b"TLS certificate", refusals.pop())
        with self.mount_url(url, "--cacert", str(certificate)) as mount:
            self.assert_same_bytes(mount.path("x").read_bytes(), content, "x")
            # New connections need the certificates again.
            certificate.unlink()
            server.stop()
            server.start(server.port)
            self.assertEqual(mount.path("y").read_bytes(), b"more")
        missing = self.tool(daemon.FRAMEFS, url, self.mountpoint, "--cacert", certificate, check=False)
        self.assertEqual(missing.returncode, 2)
        self.assertIn(f"--cacert: {certificate}: No such file or directory".encode(), missing.stderr)
        certificate.write_text("no certificate")
        invalid = self.tool(daemon.FRAMEFS, url, self.mountpoint, "--cacert", certificate, check=False)
        self.assertEqual(invalid.returncode, 1)
        self.assertIn(f"{url}: the certificates of --cacert are invalid".encode(), invalid.stderr)

    def test_a_proxy(self):
        proxy = self.serve({"x": b"content"})
        environment = {"http_proxy": proxy.url}
        with CachedMount("http://far.invalid/", self.mountpoint, environment=environment) as mount:
            self.read_x(mount)
        self.assertEqual({request.headers["host"] for request in proxy.requests()}, {"far.invalid"})

    def test_a_disk_cache_behind_a_folder_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root has rights to lose")
        home = self.folder / "home"
        cache = home / "cache"
        cache.mkdir(parents=True)
        os.chown(home, 12345, 12345)
        home.chmod(0o700)
        content = data.noise(1_000_000)
        server = self.serve({"z": content})
        # Without capabilities, root could not pass the folder; it is open already.
        with self.mount_url(server.url, "--cache-dir", str(cache)) as mount:
            self.assert_same_bytes(mount.path("z").read_bytes(), content, "z")
            wait_for(lambda: sum(f.stat().st_size for f in cache.iterdir()) >= len(content), "the cache")
        os.chown(cache, 12345, 12345)
        with self.assertRaises(AssertionError) as caught:
            with self.mount_url(server.url, "--cache-dir", str(cache)):
                pass
        self.assertIn("cache directory belongs to another user", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
