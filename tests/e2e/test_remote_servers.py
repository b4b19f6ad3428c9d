"""Mounts of URLs whose server refuses a part, has no versions, or answers without end."""

import errno
import os
import time
import unittest

import daemon
import object_server
from remote_case import RemoteCase

LISTING_S = 2  # how long a listing is kept


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
