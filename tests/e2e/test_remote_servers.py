"""Mounts of URLs whose server refuses a part, has no versions, or answers without end."""

import contextlib
import errno
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

import daemon
import data
import object_server
from object_server import BUCKET
from remote_case import ENVIRONMENT, RemoteCase

LISTING_S = 2  # how long a listing is kept
LONG_NAME = b"n" * 200


class RemoteServers(RemoteCase):
    def test_a_frame_that_fails_leaves_its_directory_listed(self):
        self.make_frame(self.text, self.source / "good.b2frame")
        self.make_frame(self.text, self.source / "bad.b2frame")
        (self.source / "plain").write_bytes(b"plain")

        def answer(request):
            is_bad = "bad.b2frame" in request.target and request.range
            return object_server.status(501) if is_bad else None
        server = self.serve_source(fault=answer)
        with self.mount_url(server.url) as mount:
            self.assertEqual(sorted(os.listdir(mount.path())), ["bad.b2frame", "good", "plain"])
            self.assertEqual(mount.path("good").read_bytes(), self.text)
            for name in ("bad", "bad.b2frame"):
                self.assert_errno(errno.EIO, lambda name=name: os.stat(mount.path(name)))
            self.assertIn("/bad.b2frame: ", mount.log())
            server.fault = lambda request: None
            daemon.wait_for(lambda: sorted(os.listdir(mount.path())) == ["bad", "good", "plain"],
                            "the next listing")
            self.assertEqual(mount.path("bad").read_bytes(), self.text)

    def test_the_log_says_why_an_open_or_a_listing_fails(self):
        (self.source / "sub").mkdir()
        for name in ("whole", "encoded", "sub/x"):
            (self.source / name).write_bytes(data.noise(200_000))
        server = self.serve_source()
        faults = {"/whole": object_server.whole_for_range(), "/encoded": object_server.encoded_whole(),
                  "/sub/": object_server.status(400)}
        server.fault = lambda request: faults.get(request.target)
        with self.mount_url(server.url) as mount:
            for name, cause in (("whole", "the server does not support ranges"), ("encoded", "Content-Encoding")):
                self.assert_errno(errno.EIO, mount.path(name).read_bytes)
                self.assertRegex(mount.log(), f"{server.url}/{name}: .*{cause}")
            self.assert_errno(errno.EIO, lambda: os.listdir(mount.path("sub")))
            self.assertRegex(mount.log(), f"{server.url}/sub: .*unexpected status")
            self.assert_errno(errno.ENOENT, lambda: os.stat(mount.path("none")))
            self.assertNotIn("/none", mount.log())

    def test_a_server_that_only_fails_refuses_the_mount(self):
        server = self.serve(fault=lambda request: object_server.status(503, "SlowDown", {"x-amz-request-id": "ID7"}))
        begin = time.monotonic()
        command = subprocess.run([daemon.FRAMEFS, f"s3://{BUCKET}", self.mountpoint, "--endpoint", server.url],
                                 env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=False)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(command.returncode, 1)
        self.assertRegex(command.stderr, f"LIST {BUCKET}/: 503 SlowDown: .*request id ID7, attempt ")
        self.assertFalse(daemon.mounts_at(self.mountpoint))

    def test_the_log_tells_of_an_outage_and_its_end(self):
        server = self.serve({"x": data.noise(200_000)})
        with self.mount_s3(server) as mount:
            os.listdir(mount.path())
            server.fault = lambda request: object_server.status(500, "InternalError")
            reader = threading.Thread(target=mount.path("x").read_bytes)
            reader.start()
            daemon.wait_for(lambda: "the server is gone since" in mount.log(), "the log of the outage")
            self.assertRegex(mount.log(), "the server is gone since .*500 InternalError: .*attempt ")
            server.fault = lambda request: None
            reader.join(daemon.DEADLINE_S)
            self.assertRegex(mount.log(), r"the server is back after \d+ s; \d+ requests failed")
            self.assertEqual(mount.log().count("the server is gone"), 1)
            server.fault = lambda request: object_server.status(400, "Odd") if request.range else None
            self.assert_errno(errno.EIO, mount.path("x").read_bytes)
            self.assertRegex(mount.log(), f"GET {BUCKET}/x: 400 Odd: .*attempt 1")

    def test_the_query_of_a_url_is_shown_to_nobody_else(self):
        server = self.serve({"x": self.text})
        server.fault = lambda request: object_server.status(403) if "?sig=secret" not in request.target else None
        with self.mount_url(f"{server.url}/x?sig=secret") as mount:
            shown = pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8")
            shown += self.tool(daemon.FRAMEFS, "list").stdout.decode()
            shown += self.tool(daemon.FRAMEFS, "stats", mount.path(), "--json").stdout.decode()
            self.assertIn(f"{server.url}/x?...", shown)
            self.assertNotIn("secret", shown + mount.log())

    def test_a_url_in_a_file_is_in_no_command_line(self):
        server = self.serve({"x": self.text})
        server.fault = lambda request: object_server.status(403) if "?sig=secret" not in request.target else None
        file = self.folder / "url"
        file.write_text(f"{server.url}/x?sig=secret\n", encoding="utf-8")
        with self.mount_url(f"@{file}") as mount:
            self.assertEqual(mount.path("x").read_bytes(), self.text)
            for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    self.assertNotIn(b"sig=secret", path.read_bytes())
            self.assertIn(f"{server.url}/x?...", pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8"))
        shown = self.tool(daemon.FRAMEFS, "cat", "@/dev/stdin", input=file.read_bytes())
        self.assertEqual(shown.stdout, self.text)
        for content, cause in ((b"", "is not a URL"), (b"/etc\n", "is not a URL"), (b"ftp://h/\n", "is not a URL")):
            file.write_bytes(content)
            result = self.tool(daemon.FRAMEFS, "ls", f"@{file}", check=False)
            self.assertEqual((result.returncode, cause in result.stderr.decode()), (2, True), result.stderr)

    def processes(self):
        """The processes of framefs that name the mountpoint."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(self.mountpoint) in words:
                found.append(int(path.parent.name))
        return found

    def test_a_command_that_is_ended_leaves_no_daemon(self):
        server = self.serve({"x": self.text})
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            with self.subTest(number):
                go_on = threading.Event()
                server.clear_ledger()
                server.fault = lambda request, go_on=go_on: object_server.stall(go_on)
                command = subprocess.Popen([daemon.FRAMEFS, server.url, self.mountpoint])
                daemon.wait_for(server.requests, "the first request")
                command.send_signal(number)
                self.assertEqual(command.wait(daemon.DEADLINE_S), -number)
                if number != signal.SIGKILL:
                    daemon.wait_for(lambda: not self.processes(), "the end of the daemon")
                go_on.set()
                daemon.wait_for(lambda: not self.processes(), "the end of the daemon")
                self.assertEqual(daemon.mounts_at(self.mountpoint), [])

    def test_an_index_that_is_ended_leaves_no_file(self):
        self.make_frame(self.text, self.source / "x.b2frame")
        server = self.serve_source()
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        server.fault = lambda request: object_server.stall(go_on) if request.range else None
        out = self.folder / "out"
        out.mkdir()
        command = subprocess.Popen([daemon.FRAMEFS, "index", server.url, "-o", out / "manifest", "-q"])
        daemon.wait_for(lambda: [r for r in server.requests() if r.range], "the read of the frame")
        command.send_signal(signal.SIGINT)
        self.assertEqual(command.wait(daemon.DEADLINE_S), -signal.SIGINT)
        self.assertEqual(list(out.iterdir()), [])

    def test_an_index_of_a_directory_in_itself_ends(self):
        server = self.serve({"x": b"x"})
        listing = b'[{"name": "%s", "type": "directory"}]' % LONG_NAME
        server.fault = lambda request: object_server.answer(listing, "application/json")
        result = self.tool(daemon.FRAMEFS, "index", server.url, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"File name too long", result.stderr)
        self.assertEqual(json.loads(result.stdout)["files"], [])

    def check_sizes_of_versions(self, url, server, mtime, *options):
        """Frames of the same stored size whose decoded sizes differ, within one second."""
        server.put("x.b2frame", object_server.Object(self.frame_of_size(30_000), mtime=mtime))
        with self.mount_url(url, *options) as mount:
            self.assertEqual(os.stat(mount.path("x")).st_size, 30_000)
            self.assertEqual(mount.path("x").read_bytes(), bytes(30_000))
            server.put("x.b2frame", object_server.Object(self.frame_of_size(90_000), mtime=mtime))
            time.sleep(LISTING_S + 0.2)
            self.assertEqual(mount.path("x").read_bytes(), bytes(90_000))
            self.assertEqual(os.stat(mount.path("x")).st_size, 90_000)

    def frame_of_size(self, size):
        return self.make_frame(bytes(size), self.folder / f"{size}.b2frame").read_bytes()

    def test_a_new_version_has_its_own_size(self):
        self.assertEqual(len(self.frame_of_size(30_000)), len(self.frame_of_size(90_000)))
        server = self.serve({"other": b"other"})
        for listing in ("json", "html"):
            server.listing = listing
            with self.subTest(listing):
                self.check_sizes_of_versions(server.url, server, 1_000_000_000)
        for scheme in ("dav", "s3"):
            with self.subTest(scheme):
                url = server.url.replace("http", "dav") if scheme == "dav" else f"s3://{object_server.BUCKET}"
                options = ("--endpoint", server.url) if scheme == "s3" else ()
                self.check_sizes_of_versions(url, server, 1_000_000_000, *options)


if __name__ == "__main__":
    unittest.main()
