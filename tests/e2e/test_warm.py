"""framefs warm: it fills the disk cache of a mount, or of a URL for later mounts."""

import os
import subprocess
import unittest
import unittest.mock

import numpy

import daemon
import data
import object_server
from command_case import open_terminal
from object_server import BUCKET
from remote_case import ENVIRONMENT, RemoteCase

# An open asks for the version of its object and may get the end of it, 64 KiB.
REVALIDATION_BYTES = 70_000


class Warm(RemoteCase):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(5)
        self.noise = data.noise(3_000_000)
        self.array = rng.standard_normal((60, 1_000)).astype("<f4")
        (self.source / "sub" / "deep").mkdir(parents=True)
        self.make_frame(self.noise, self.source / "noise.b2frame")
        self.make_frame(self.array.tobytes(), self.source / "sub" / "array.b2nd", "--shape", "60,1000",
                        "--chunkshape", "25,400", "--blockshape", "10,200", "--typesize", "4", "--dtype", "<f4")
        (self.source / "sub" / "deep" / "plain.bin").write_bytes(self.noise[:500_000])
        (self.source / "left.bin").write_bytes(self.noise[:400_000])
        self.server = self.serve_source()
        self.cache = self.folder / "cache"
        self.options = ("--cache-dir", self.cache, "--cache-disk", "64M")
        self.url = (f"s3://{BUCKET}", "--endpoint", self.server.url)

    def warm(self, *arguments, code=0):
        with unittest.mock.patch.dict(os.environ, ENVIRONMENT):
            result = self.tool(daemon.FRAMEFS, "warm", *arguments, check=False)
        self.assertEqual(result.returncode, code, f"{arguments}: {result.stderr.decode(errors='replace')}")
        self.assertIsNone(daemon.SUSPICIOUS.search(result.stderr.decode(errors="replace")), result.stderr)
        return result

    def assert_warm(self, mount, *paths):
        """Reading the files fetches no data."""
        for path in paths:
            mount.path(path).stat()
            self.server.ended_requests()
            self.server.clear_ledger()
            content = mount.path(path).read_bytes()
            self.server.ended_requests()
            self.assertGreater(len(content), REVALIDATION_BYTES)
            self.assertLess(self.server.bytes_sent, REVALIDATION_BYTES, (path, self.server.requests()))
        self.assert_same_bytes(mount.path("noise").read_bytes(), self.noise, "noise")

    def test_files_and_folders_of_a_url(self):
        result = self.warm(*self.url, *self.options, "noise", "sub")
        self.assertEqual(result.stdout + result.stderr, b"")  # no progress without a terminal
        self.assertNotIn("/left.bin", "".join(r.target for r in self.server.requests("GET")))
        with self.mount_s3(self.server, *map(str, self.options)) as mount:
            self.assert_warm(mount, "noise", "sub/array.npy", "sub/deep/plain.bin")
        self.server.clear_ledger()
        self.warm(*self.url, *self.options, "noise", "sub")
        self.assertLess(self.server.bytes_sent, 4 * REVALIDATION_BYTES)

    def test_all_of_a_url(self):
        self.warm(*self.url, *self.options)
        with self.mount_s3(self.server, *map(str, self.options)) as mount:
            self.assert_warm(mount, "noise", "left.bin")

    def test_files_of_a_mount(self):
        with self.mount_s3(self.server, *map(str, self.options)) as mount:
            self.warm(self.mountpoint, "noise", "sub")
            stored = len(self.server.objects["noise.b2frame"].content)
            daemon.wait_for(lambda: sum(f.stat().st_size for f in self.cache.iterdir()) > stored,
                            "the cache to be written")
        with self.mount_s3(self.server, *map(str, self.options)) as mount:
            self.assert_warm(mount, "noise", "sub/deep/plain.bin")

    def test_a_mountpoint_is_named_as_shells_name_it(self):
        link = self.folder / "link"
        link.symlink_to(self.mountpoint)
        with self.mount_s3(self.server, *map(str, self.options)):
            for path in ("mnt", "mnt/", "./mnt", link):
                self.warm(path, "sub/deep")
            self.assertIn("neither a URL nor a mountpoint", self.warm("mnt/sub", code=1).stderr.decode())

    def test_failures_have_paths_and_the_rest_is_warmed(self):
        for source, options in ((self.url, self.options), ((self.mountpoint,), ())):
            mount = self.mount_s3(self.server, *map(str, self.options)) if not options else None
            with self.subTest(source), mount or unittest.mock.MagicMock():
                result = self.warm(*source, *options, "missing", "noise", code=1)
                self.assertRegex(result.stderr.decode(), r"^framefs: [^\n]*missing: (lookup: )?No such file or directory\n$")
        with self.mount_s3(self.server, *map(str, self.options)) as mount:
            self.assert_warm(mount, "noise")

    def test_a_damaged_frame_fails(self):
        frame = bytearray(self.server.objects["noise.b2frame"].content)
        frame[1_000:2_000_000] = bytes(1_999_000)
        self.server.put("noise.b2frame", bytes(frame))
        result = self.warm(*self.url, *self.options, "noise", "left.bin", code=1)
        self.assertRegex(result.stderr.decode(), r"^framefs: noise: ")

    def test_a_directory_in_itself_ends(self):
        """A server may show one; the name is short, so that a path has many of them."""
        server = self.serve({"x": b"x"})
        listing = b'[{"name": "d", "type": "directory"}]'
        server.fault = lambda request: object_server.answer(listing, "application/json")
        result = self.warm(server.url, *self.options, code=1)
        self.assertIn(b"File name too long", result.stderr)

    def test_progress_on_a_terminal(self):
        self.server.latency = 0.2
        ours, theirs = open_terminal()
        try:
            result = subprocess.run([daemon.FRAMEFS, "warm", *self.url, *self.options], stderr=theirs,
                                    stdout=subprocess.PIPE, timeout=daemon.DEADLINE_S, check=True,
                                    env={**os.environ, **ENVIRONMENT})
            self.assertEqual(result.stdout, b"")
            self.assertRegex(os.read(ours, 1 << 16), rb"read .*/s")
        finally:
            os.close(ours)
            os.close(theirs)

    def test_wrong_words(self):
        for arguments, cause in (((*self.url, "noise"), "--cache-dir"),
                                 ((self.source, "--cache-dir", self.cache), "needs a SOURCE that is a URL")):
            result = self.warm(*arguments, code=2)
            self.assertIn(cause, result.stderr.decode())
        result = self.warm(self.source, "noise", code=1)
        self.assertIn("neither a URL nor a mountpoint of framefs", result.stderr.decode())


if __name__ == "__main__":
    unittest.main()
