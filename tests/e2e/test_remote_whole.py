"""Web servers without ranges, such as Python's own, and servers that come later than the mount."""

import errno
import functools
import http.server
import os
import threading
import unittest

import daemon
import data
from remote_case import RemoteCase


class PlainServer:
    """Python's http.server for a folder, with the paths of all requests."""

    def __init__(self, folder):
        self.gets = []
        gets = self.gets

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                gets.append(self.path)
                super().do_GET()

            def log_message(self, *_):
                pass

            def copyfile(self, source, outputfile):
                try:
                    super().copyfile(source, outputfile)
                except OSError:
                    pass  # the client has the bytes that it wants
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                       functools.partial(Handler, directory=os.fspath(folder)))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class RemoteWhole(RemoteCase):
    def setUp(self):
        super().setUp()
        self.noise = data.noise(3_000_000)
        self.make_frame(self.noise, self.source / "noise.b2frame")
        self.make_frame(self.text, self.source / "text.b2frame")
        (self.source / "plain").write_bytes(self.noise[:200_000])
        self.server = PlainServer(self.source)
        self.addCleanup(self.server.stop)

    def check_files(self, mount):
        self.assertEqual(sorted(os.listdir(mount.path())), ["noise", "plain", "text"])
        self.assertEqual(mount.path("noise").stat().st_size, len(self.noise))
        self.assert_same_bytes(mount.path("plain").read_bytes(), self.noise[:200_000], "plain")
        self.assert_same_bytes(mount.path("text").read_bytes(), self.text, "text")
        self.assert_same_bytes(mount.path("noise").read_bytes(), self.noise, "noise")
        with open(mount.path("noise"), "rb", buffering=0) as file:
            self.assertEqual(os.pread(file.fileno(), 100, 2_000_000), self.noise[2_000_000:2_000_100])

    def test_objects_are_fetched_whole(self):
        for options in (("--whole-objects", "8M"), ("--cache-dir", self.folder / "cache")):
            self.server.gets.clear()
            with self.subTest(options), self.mount_url(self.server.url, *options) as mount:
                self.assertIn("does not support ranges: files up to", mount.log())
                self.check_files(mount)
                # One for the probe, one for each open, and one for all bytes.
                self.assertLessEqual(self.server.gets.count("/noise.b2frame"), 5, self.server.gets)

    def test_larger_objects_fail_at_once(self):
        with self.mount_url(self.server.url, "--whole-objects", "1M") as mount:
            self.assertEqual(mount.path("noise").stat().st_size, len(self.noise))
            self.assert_same_bytes(mount.path("text").read_bytes(), self.text, "text")
            self.server.gets.clear()
            self.assert_errno(errno.EIO, lambda: mount.path("noise").read_bytes())
            self.assertEqual(self.server.gets, ["/noise.b2frame"])
            self.assertIn("--whole-objects", mount.log())

    def test_the_command_names_the_lack_on_the_terminal(self):
        started = self.tool(daemon.FRAMEFS, self.server.url, self.mountpoint)
        self.addCleanup(daemon.unmount, self.mountpoint)
        self.assertIn(b"does not support ranges: files up to 64 KiB", started.stderr)

    def test_wait_for_server(self):
        server = self.serve({"x": b"content"})
        port = server.port
        server.stop()
        mount = self.mount_s3(server, "--wait-for-server", "10m")
        back = threading.Thread(target=lambda: (
            daemon.wait_for(lambda: "waiting for the server" in mount.log(), "the mount to wait"), server.start(port)))
        back.start()
        with mount:
            back.join()
            self.assertEqual(mount.path("x").read_bytes(), b"content")
            self.assertEqual(mount.log().count("waiting for the server"), 1)

    def test_a_wait_for_the_server_ends(self):
        server = self.serve({"x": b"content"})
        server.stop()
        failed = self.tool(daemon.FRAMEFS, server.url, self.mountpoint, "--wait-for-server", "2", check=False)
        self.assertEqual(failed.returncode, 1)
        self.assertIn(b"waiting for the server for up to 2 s", failed.stderr)
        self.assertIn(b"refuses connections", failed.stderr.splitlines()[-1])
        # Waiting is for servers that do not answer.
        absent = self.serve({"x": b"content"})
        failed = self.tool(daemon.FRAMEFS, absent.url + "/none", self.mountpoint, "--wait-for-server", "10m", check=False)
        self.assertEqual(failed.returncode, 1)


if __name__ == "__main__":
    unittest.main()
