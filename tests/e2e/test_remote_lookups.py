"""Lookups and listings of remote directories: how many requests they take."""

import os
import shutil
import threading
import unittest

import numpy

import daemon
import frame_writer
from made_up_keys import MadeUpKeys
from remote_case import RemoteCase


class RemoteLookups(RemoteCase):
    def test_a_lookup_in_a_large_directory_takes_few_requests(self):
        array = numpy.arange(600, dtype="<f4").reshape(20, 30)
        self.make_frame(self.text, self.source / "frame.b2frame")
        self.make_frame(array.tobytes(), self.source / "array.b2nd", "--shape", "20,30", "--chunkshape", "20,30",
                        "--blockshape", "10,10", "--typesize", "4", "--dtype", "<f4")
        (self.source / "frame-b").write_bytes(b"between frame and frame.b2frame")
        server = self.serve_source(page_keys=10)
        for i in range(40):
            server.put(f"k{i:02}", b"x" * i)
        server.put("both", b"an object")
        server.put("both/below", b"in the directory of the same name")
        with self.mount_s3(server) as mount:
            for name in ("k39", "k38"):  # the second lookup sees that the directory is large
                os.stat(mount.path(name))
            for name, most in (("k07", 3), ("none", 3), ("none.npy", 4), ("both", 3), ("frame", 4), ("array.npy", 5)):
                with self.subTest(name):
                    server.clear_ledger()
                    for _ in range(2):
                        (os.stat if "none" not in name else os.path.exists)(mount.path(name))
                    self.assertLessEqual(len(server.requests()), most, server.requests())
            self.assertTrue(mount.path("both").is_dir())
            self.assertEqual(mount.path("both/below").read_bytes(), b"in the directory of the same name")
            self.assertEqual(mount.path("frame").read_bytes(), self.text)
            self.assertEqual(numpy.load(mount.path("array.npy")).tolist(), array.tolist())
            self.assertEqual(mount.path("k07").stat().st_size, 7)
            looked_up = {name: os.stat(mount.path(name)) for name in ("k07", "both", "frame", "array.npy")}
            names = os.listdir(mount.path())
            self.assertEqual(len(names), 44, names)
            for name, stat in looked_up.items():
                listed = os.stat(mount.path(name))
                self.assertEqual((listed.st_ino, listed.st_size, listed.st_mtime_ns, listed.st_mode),
                                 (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_mode), name)

    def test_the_first_lookup_in_a_directory_does_not_list_it(self):
        keys = MadeUpKeys((3, 5000), frame_writer.plain_frame(self.text), ".b2frame")
        server = keys.serve()
        self.addCleanup(server.stop)
        with self.mount_s3(server) as mount:
            for folder, name, most in (("k000000", "k004999", 4), ("k000001", "none", 3)):
                with self.subTest(folder):
                    os.stat(mount.path(folder))
                    server.clear_ledger()
                    mount.path(folder, name).exists()
                    asked = server.requests()
                    self.assertLessEqual(len(asked), most, asked)
                    self.assertFalse([one for one in asked if "max-keys=1000" in one.target], asked)
            # The second one does, and asks for its names at the same time.
            server.clear_ledger()
            for i in range(10):
                os.stat(mount.path("k000001", f"k{i:06}"))
            lists = [one for one in server.requests() if not one.range]
            self.assertEqual(len([one for one in lists if "max-keys=1000" in one.target]), 1, lists)
            self.assertLessEqual(len(lists), 4, lists)

    def test_lookups_in_one_directory_at_once(self):
        for i in range(16):
            self.make_frame(b"%d" % i * 100, self.source / f"{i}.b2frame")
        server = self.serve_source(latency=0.1)
        with self.mount_s3(server) as mount:
            server.clear_ledger()
            threads = [threading.Thread(target=os.stat, args=(mount.path(str(i)),)) for i in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(daemon.DEADLINE_S)
            self.assertGreaterEqual(server.most_in_flight, 8, server.requests())
            # The first one asks for its names.  One listing serves all others; a slow machine may
            # need a second one.
            lists = [request for request in server.requests() if "max-keys=1000" in request.target]
            self.assertIn(len(lists), (1, 2), server.requests())

    def test_listing_fetches_headers_at_once(self):
        for i in range(120):
            if i < 3:
                self.make_frame(b"%d" % i * 100, self.source / f"{i}.b2frame")
            else:
                shutil.copy(self.source / f"{i % 3}.b2frame", self.source / f"{i}.b2frame")
        server = self.serve_source(latency=0.05)
        with self.mount_s3(server) as mount:
            server.clear_ledger()
            sizes = [entry.stat().st_size for entry in os.scandir(mount.path())]
            self.assertEqual(len(sizes), 120)
            self.assertGreaterEqual(server.most_in_flight, 16)
            server.clear_ledger()
            os.stat(mount.path("5"))
            self.assertEqual(len([e.stat() for e in os.scandir(mount.path())]), 120)
            self.assertLessEqual(len(server.requests()), 10, server.requests())


if __name__ == "__main__":
    unittest.main()
