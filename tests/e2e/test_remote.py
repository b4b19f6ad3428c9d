"""Remote sources: S3, HTTP and WebDAV, by a server that counts requests and breaks rules."""

import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import daemon
import data
import object_server
from object_server import BUCKET
from remote_case import RemoteCase

sys.path.insert(0, str(daemon.ROOT / "tests/support"))
import link_proxy  # noqa: E402

NAMES = ("a=b", "a+b", "100%", "a%20b", "two  blanks", "~home", "caf\u00e9", "\U0001f600", "...",
         "quote'\"", "semi;colon&amp", "hash#mark?", "[brackets]")
REPLACEMENTS = int(os.environ.get("FRAMEFS_REPLACEMENTS", "400"))
# The first versions of that object that readers certainly meet.
WAITED_FOR = 3


class Remote(RemoteCase):
    def check_tree(self, url, *options):
        with self.mount_url(url, *options) as mount:
            found = self.tree(mount.path())
            self.assertEqual(sorted(found), sorted(self.wanted))
            for name, content in self.wanted.items():
                self.assertEqual(found[name] == content, True, f"{name} in {url}")

    def test_same_as_local(self):
        self.make_source()
        with self.mount("-o", "ro") as mount:
            self.wanted = self.tree(mount.path())
        server = self.serve_source()
        self.check_tree(f"s3://{BUCKET}", "--endpoint", server.url)
        self.check_tree(server.url + "/")
        self.check_tree(server.url.replace("http", "dav"))
        server.listing = "html"
        self.check_tree(server.url)

    @contextlib.contextmanager
    def nginx(self):
        """A real web server for the source folder; yields its URL."""
        program = shutil.which("nginx", path="/usr/sbin:/usr/bin")
        if not program:
            self.skipTest("nginx is not installed")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.folder.chmod(0o755)  # its workers run as another user
        config = self.folder / "nginx.conf"
        config.write_text(f"""
            daemon off; pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log;
            events {{}}
            http {{
              access_log off; client_body_temp_path {self.folder}; proxy_temp_path {self.folder};
              fastcgi_temp_path {self.folder}; uwsgi_temp_path {self.folder};
              scgi_temp_path {self.folder};
              server {{
                listen 127.0.0.1:{port}; root {self.source};
                autoindex on; autoindex_format json;
              }}
            }}""")
        server = subprocess.Popen([program, "-c", config, "-p", self.folder,
                                   "-e", self.folder / "nginx.log"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            def answers():
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    return True
            daemon.wait_for(answers, "nginx")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(daemon.DEADLINE_S)

    def test_nginx(self):
        self.make_source()
        with self.mount("-o", "ro") as mount:
            self.wanted = self.tree(mount.path())
        with self.nginx() as url:
            self.check_tree(url)

    def test_prefix_and_single_object(self):
        self.make_source()
        server = self.serve_source()
        with self.mount_s3(server, prefix="sub") as mount:
            self.assertEqual(sorted(os.listdir(mount.path())), ["deep", "noise", "small"])
        with self.mount_s3(server, prefix="text.b2frame") as mount:
            self.assertEqual(os.listdir(mount.path()), ["text"])
            self.assert_same_bytes(mount.path("text").read_bytes(), self.text, "text")
        target = self.folder / "target"
        target.write_bytes(b"underneath")
        with self.mount_url(server.url + "/text.b2frame", mountpoint=target):
            self.assert_same_bytes(target.read_bytes(), self.text, "text")

    def test_names(self):
        server = self.serve({name: name.encode() for name in NAMES})
        for name in NAMES:
            server.put(f"folder/{name}/x", name.encode())
        server.put("marker/", b"")
        server.put("both", b"hidden")
        server.put("both/below", b"shown")
        server.put("../up", b"x")
        server.put("a//b", b"x")
        server.put("a/" + "n" * 256, b"x")
        with self.mount_s3(server, "--list-timeout", "0") as mount:
            self.assertEqual(sorted(os.listdir(mount.path())),
                             sorted([*NAMES, "folder", "marker", "both", "a"]))
            for name in NAMES:
                self.assertEqual(mount.path(name).read_bytes(), name.encode())
                self.assertEqual(mount.path("folder", name, "x").read_bytes(), name.encode())
            self.assertEqual(os.listdir(mount.path("marker")), [])
            self.assertEqual(mount.path("both", "below").read_bytes(), b"shown")
            self.assertFalse(mount.path("none").exists())
            for _ in range(2):  # each of these asks the server
                self.assertEqual(os.listdir(mount.path("a")), [])
                self.assertIn("both", os.listdir(mount.path()))
            counters = json.loads(os.getxattr(mount.path(), "user.framefs.remote"))
            self.assertGreaterEqual(counters["repeated_listings"], 2)
            self.assertEqual(counters["hidden_entries"], 4)
            for line in ("bucket/: 1 entry is not shown: no file can have such a name, as \"..\"",
                         "bucket/: 1 entry is not shown: a directory has the same name, as \"both\"",
                         "bucket/a: 2 entries are not shown: no file can have such a name, as \"nnn"):
                self.assertEqual(mount.log().count(line), 1, f"{line}\n{mount.log()}")

    def test_list_timeout_is_how_long_a_listing_is_used(self):
        server = self.serve({"x": b"content"})
        for seconds, listings in (("0", 2), ("3600", 1)):
            with self.subTest(seconds), self.mount_s3(server, "--list-timeout", seconds) as mount:
                os.listdir(mount.path())
                server.clear_ledger()
                for _ in range(2):
                    os.listdir(mount.path())
                self.assertEqual(len(server.ended_requests()), listings if seconds == "0" else 0)

    def test_many_keys(self):
        server = self.serve({f"{i:05}": b"%d" % i for i in range(2_500)})
        with self.mount_s3(server) as mount:
            server.clear_ledger()
            self.assertEqual(len(os.listdir(mount.path())), 2_500)
            self.assertLessEqual(len(server.requests()), 3)
            self.assertEqual(mount.path("02499").read_bytes(), b"2499")

    def test_read_only(self):
        server = self.serve({"x": b"content"})
        with self.mount_s3(server) as mount:
            self.assert_errno(errno.EROFS, lambda: open(mount.path("x"), "r+b"))
            self.assert_errno(errno.EROFS, lambda: open(mount.path("new"), "wb"))
            self.assert_errno(errno.EROFS, lambda: os.unlink(mount.path("x")))
            self.assertEqual(mount.path("x").read_bytes(), b"content")

    def counted(self, server, body):
        """The result of body(), and the requests that it made."""
        server.clear_ledger()
        result = body()
        return result, server.ended_requests()

    def test_requests_and_bytes(self):
        content = data.noise(40_000_000)
        self.make_frame(content, self.source / "x.b2frame")
        server = self.serve_source()
        stored = len(server.objects["x.b2frame"].content)
        with self.mount_s3(server) as mount:
            os.stat(mount.path("x"))
            fd, requests = self.counted(server, lambda: os.open(mount.path("x"), os.O_RDONLY))
            self.assertLessEqual(len(requests), 2, requests)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            for _ in range(2):
                got, requests = self.counted(server, lambda: os.pread(fd, 4096, 20_000_000))
                self.assertEqual(got, content[20_000_000:20_004_096])
            self.assertEqual(requests, [])
            os.close(fd)
        with self.mount_s3(server) as mount:
            server.clear_ledger()
            self.assert_same_bytes(mount.path("x").read_bytes(), content, "x")
            self.assertLessEqual(server.bytes_sent, 1.02 * stored + 100_000, server.requests())

    def test_an_open_asks_for_the_end_of_the_version_that_was_probed(self):
        contents = [data.noise(3_000_000, seed=seed) for seed in range(4)]
        stored = [self.make_frame(content, self.folder / f"{number}.b2frame").read_bytes()
                  for number, content in enumerate(contents)]
        server = self.serve()

        def check(path):
            os.stat(path)
            fd, requests = self.counted(server, lambda: os.open(path, os.O_RDONLY))
            self.assertEqual([(r.range, r.headers.get("if-match")) for r in requests],
                             [(f"bytes={len(stored[0]) - 65536}-{len(stored[0]) - 1}",
                               server.objects["x.b2frame"].etag)])
            self.assertEqual(os.pread(fd, 10, 0), contents[0][:10])
            os.close(fd)
            # The end is in memory: the request only asks for the version.
            fd, requests = self.counted(server, lambda: os.open(path, os.O_RDONLY))
            self.assertEqual([r.range for r in requests], ["bytes=0-4095"])
            os.close(fd)
            # The object changes between the lookup and the open.
            for number in (1, 2, 3):
                server.ignore_if_match = number == 2
                server.put("x.b2frame", stored[number])
                self.assert_same_bytes(path.read_bytes(), contents[number], f"x, version {number}")
        for url, *options in ((f"s3://{BUCKET}", "--endpoint", server.url), (server.url,),
                              (server.url.replace("http", "dav"),)):
            server.put("x.b2frame", stored[0])
            with self.subTest(url), self.mount_url(url, *options) as mount:
                check(mount.path("x"))

    def test_random_reads_take_few_round_trips(self):
        """4 KiB at random: the first read in a chunk takes two requests, mostly sent
        together; a later read in the chunk takes one; a repeated read takes none."""
        chunk, block = 2 << 20, 128 << 10
        content = data.text(850_000)[:16 * chunk]
        self.assertEqual(len(content), 16 * chunk)
        self.make_frame(content, self.source / "x.b2frame", "--chunk", str(chunk), "--block", str(block))
        server = self.serve_source(latency=0.02)

        def wait_for_the_window(request):
            """The answer with a table of blocks waits for the request for blocks.  So requests that
            were sent together are seen together, however busy the machine is.  A request that
            depends on the table comes after the wait, and counts as a round trip."""
            first, _, last = request.range.removeprefix("bytes=").partition("-")
            if last and int(last) - int(first) < 2048:
                deadline = time.monotonic() + 10
                while ({r.range for r in server.requests()} <= {request.range}
                       and time.monotonic() < deadline):
                    time.sleep(0.001)
        # The attributes do not become old meanwhile, which would cost a listing.
        with self.mount_s3(server, "--threads", "1", "--attr-timeout", "600") as mount:
            fd = os.open(mount.path("x"), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            server.fault = wait_for_the_window

            def read(at):
                got, requests = self.counted(server, lambda: os.pread(fd, 4096, at))
                self.assertEqual(got, content[at:at + 4096])
                return requests
            # The frame's header has the size of the blocks.
            self.assertEqual(link_proxy.round_trips(read(5 * chunk + 3 * block)), 1)
            chunks = [0, 12, 3, 9, 14, 1, 7, 10, 2, 15]  # in no order that a reader would follow
            places = [(number, (5 * number + 11) % 16) for number in chunks]
            first = [read(number * chunk + part * block + 8192) for number, part in places]
            self.assertLessEqual(max(map(len, first)), 3, first)
            self.assertGreaterEqual(sum(len(requests) <= 2 for requests in first), 8, first)
            self.assertGreaterEqual(sum(link_proxy.round_trips(requests) == 1 for requests in first), 8, first)
            for number, part in places:
                self.assertLessEqual(len(read(number * chunk + (part + 5) % 16 * block)), 1)
                self.assertEqual(read(number * chunk + part * block + 8192), [])
            os.close(fd)

    def test_a_large_read_at_the_beginning_also_asks_for_what_follows(self):
        """However few stored bytes it needs: the reader does not wait a round trip for them."""
        content = data.text(300_000)
        frame = self.make_frame(content, self.source / "x.b2frame", "--codec", "zstd", "--block", str(128 << 10))
        last = frame.stat().st_size - (128 << 10)
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def begin_of(request):
            return int(request.range.removeprefix("bytes=").partition("-")[0]) if request.range else 0
        # Neither the head nor the end of the frame, which are needed first.
        is_data = lambda request: 4096 <= begin_of(request) < last
        server = self.serve_source(fault=lambda request: object_server.stall(go_on) if is_data(request) else None)
        with self.mount_s3(server) as mount, open(mount.path("x"), "rb", buffering=0) as file:
            found = []
            reader = threading.Thread(target=lambda: found.append(file.read(128 << 10)))
            reader.start()
            # The first block has less than 64 KiB.
            daemon.wait_for(lambda: any(begin_of(request) > 64 << 10 for request in filter(is_data, server.requests())),
                            "a request behind the first block")
            go_on.set()
            reader.join(daemon.DEADLINE_S)
            self.assertEqual(found, [content[:128 << 10]])

    def test_attributes_and_counters(self):
        self.make_source()
        with self.mount("-o", "ro", "--list-info") as mount:
            local = os.getxattr(mount.path("array.npy"), "user.framefs.info")
            names = os.listxattr(mount.path("array.npy"))
        server = self.serve_source()
        with self.mount_s3(server, "--list-info") as mount:
            array = mount.path("array.npy")
            self.assertEqual(os.getxattr(array, "user.framefs.info"), local)
            self.assertLessEqual({"user.framefs.info", "user.framefs.meta.b2nd"}, set(names))
            self.assertEqual({name for name in names if name.startswith("user.framefs.")},
                             set(os.listxattr(array)))
            self.assertEqual(os.listxattr(mount.path("plain.txt")), [])
            self.assert_errno(errno.ENODATA, lambda: os.getxattr(array, "user.other"))
            self.assert_errno(errno.ENODATA, lambda: os.getxattr(mount.path("sub"), "user.framefs.remote"))
            before = json.loads(os.getxattr(mount.path(), "user.framefs.remote"))
            content = mount.path("sub/noise").read_bytes()
            after = json.loads(os.getxattr(mount.path(), "user.framefs.remote"))
            self.assertGreaterEqual(after["bytes_served"] - before["bytes_served"], len(content))
            self.assertGreater(after["get_2xx"], before["get_2xx"])
            self.assertEqual(after["get_5xx"], 0)
            self.assertGreater(sum(after["latency_ms"]), sum(before["latency_ms"]))

    def test_statistics_and_signals(self):
        self.make_source()
        server = self.serve_source()
        with self.mount_s3(server) as mount:
            content = mount.path("sub/noise").read_bytes()
            text = mount.path("text").read_bytes()
            stats = json.loads(self.tool(daemon.FRAMEFS, "stats", "--json", self.mountpoint).stdout)
            self.assertEqual((stats["pid"], stats["source"], stats["mountpoint"], stats["read_only"]),
                             (mount.pid, f"s3://{BUCKET}/", str(self.mountpoint), True))
            self.assertGreaterEqual(stats["bytes_read"], len(content))
            self.assertGreaterEqual(stats["cache"]["made_bytes"], len(text))
            self.assertGreaterEqual(stats["network"]["bytes_served"], len(content))
            self.assertNotIn("writes", stats)
            self.assertRegex(self.tool(daemon.FRAMEFS, "stats", self.mountpoint).stdout.decode(), r"network +2xx \d+.*; \d+ retries")
            self.assertIn('status="2xx"', self.tool(daemon.FRAMEFS, "stats", "--prometheus", self.mountpoint).stdout.decode())
            self.assertIn(str(mount.pid), self.tool(daemon.FRAMEFS, "list").stdout.decode())
            os.kill(mount.pid, signal.SIGUSR1)
            line = daemon.wait_for(lambda: re.search(r"statistics: (\{.*\})", mount.log()), "statistics in the log")
            self.assertEqual(json.loads(line[1])["pid"], mount.pid)
            mount.log_path.rename(self.folder / "old.log")
            os.kill(mount.pid, signal.SIGHUP)
            daemon.wait_for(lambda: "was opened again" in mount.log(), "a new log")
            self.assertEqual(mount.path("sub/noise").read_bytes(), content)

    def test_replaced_objects(self):
        # Large enough that reading the beginning does not fetch the end.
        contents = [data.noise(12_000_000, seed=seed) for seed in (7, 8, 9)]
        stored = []
        for number, content in enumerate(contents):
            frame = self.make_frame(content, self.folder / f"{number}.b2frame")
            stored.append(frame.read_bytes())
        server = self.serve({"x.b2frame": stored[0]})
        with self.mount_s3(server) as mount:
            with open(mount.path("x"), "rb", buffering=0) as file:
                self.assertEqual(file.read(10), contents[0][:10])
                server.put("x.b2frame", stored[1])
                self.assert_errno(errno.ESTALE, lambda: os.pread(file.fileno(), 4096, 11_000_000))
            with open(mount.path("x"), "rb", buffering=0) as file:
                self.assertEqual(file.read(10), contents[1][:10])
                server.ignore_if_match = True
                server.put("x.b2frame", stored[2])
                self.assert_errno(errno.ESTALE, lambda: os.pread(file.fileno(), 4096, 11_000_000))
            self.assert_same_bytes(mount.path("x").read_bytes(), contents[2], "x")
            server.put("x.b2frame", self.make_frame(self.text, self.folder / "t").read_bytes())
            self.assert_same_bytes(mount.path("x").read_bytes(), self.text, "x, shorter")

    def test_no_handle_sees_the_bytes_of_another_version(self):
        """The kernel's pages are those of the file, not of the handle that read them."""
        contents = [bytes([version]) * 3_000_000 for version in (1, 2)]
        server = self.serve({"x": contents[0]})
        with self.mount_s3(server) as mount:
            with open(mount.path("x"), "rb", buffering=0) as old:
                self.assertEqual(old.read(10), contents[0][:10])
                server.put("x", contents[1])
                with open(mount.path("x"), "rb", buffering=0) as new:
                    self.assert_same_bytes(new.read(3_000_000), contents[1], "x, the new version")
                    self.assert_errno(errno.ESTALE, lambda: os.pread(old.fileno(), 4096, 2_900_000))
                    self.assertEqual(os.pread(new.fileno(), 10, 0), contents[1][:10])
            self.assert_same_bytes(mount.path("x").read_bytes(), contents[1], "x, after all")

    def test_readers_of_an_object_that_is_replaced_all_the_time(self):
        """Each handle returns bytes of one version, or ESTALE."""
        size, piece = 1 << 20, 1 << 16
        versions = []
        for number in range(1, 9):
            frame = self.make_frame(bytes([number]) * size, self.folder / f"{number}.b2frame", "--codec",
                                    "memcpy")
            versions.append(frame.read_bytes())
        server = self.serve({"x.b2frame": versions[0]})
        seen, problems, is_over = set(), [], threading.Event()

        def read(path):
            while not is_over.is_set():
                with open(path, "rb", buffering=0) as file:
                    got = b""
                    try:
                        for at in range(0, size, piece):
                            got += os.pread(file.fileno(), piece, at)
                    except OSError as error:
                        if error.errno != errno.ESTALE:
                            problems.append(error)
                    if len(set(got)) > 1:
                        problems.append(f"a mixture of {set(got)}")
                    seen.update(got[:1])
        with self.mount_s3(server) as mount:
            readers = [threading.Thread(target=read, args=(mount.path("x"),)) for _ in range(4)]
            for reader in readers:
                reader.start()
            for round_number in range(REPLACEMENTS):
                version = round_number % len(versions)
                server.put("x.b2frame", versions[version])
                # The readers of a slow machine meet at least these versions.
                if round_number < WAITED_FOR:
                    daemon.wait_for(lambda version=version: version + 1 in seen, f"a read of version {version + 1}")
                elif round_number % 8 == 0:
                    count = len(server.requests())
                    daemon.wait_for(lambda: len(server.requests()) > count, "a request")
            is_over.set()
            for reader in readers:
                reader.join(daemon.DEADLINE_S)
        self.assertEqual(problems, [])
        self.assertGreaterEqual(len(seen), WAITED_FOR)

    def test_an_answer_of_another_version(self):
        content = data.noise(3_000_000)
        for fault in (object_server.wrong_etag(), object_server.status(416, "InvalidRange"),
                      object_server.status(412, "PreconditionFailed"), object_server.status(404, "NoSuchKey")):
            with self.subTest(fault.changes):
                breaks = threading.Event()

                def answer(request, fault=fault, breaks=breaks):
                    is_open = request.range.startswith("bytes=0-")
                    return fault if breaks.is_set() and request.range and not is_open else None
                server = self.serve({"x": content}, fault=answer)
                with self.mount_s3(server) as mount:
                    with open(mount.path("x"), "rb", buffering=0) as file:
                        self.assertEqual(file.read(10), content[:10])
                        breaks.set()
                        self.assert_errno(errno.ESTALE, lambda: os.pread(file.fileno(), 4096, 2_000_000))
                    breaks.clear()
                    self.assert_same_bytes(mount.path("x").read_bytes(), content, "x")

    def test_a_stalled_request_is_raced_by_another(self):
        content = data.noise(3_000_000)
        go_on, stalls = threading.Event(), threading.Event()

        def answer(request):
            if request.range.startswith("bytes=0-") or not request.range or stalls.is_set():
                return None
            stalls.set()
            return object_server.stall(go_on)
        server = self.serve({"x": content}, fault=answer)
        with self.mount_s3(server) as mount:
            self.assert_same_bytes(mount.path("x").read_bytes(), content, "x")
            self.assertTrue(stalls.is_set())
            counters = json.loads(os.getxattr(mount.path(), "user.framefs.remote"))
            self.assertGreaterEqual(counters["hedges"] + counters["retries"], 1)
            go_on.set()

    def check_fault(self, fault, times, wanted=None):
        """Faults in the first requests for ranges; the reader gets the right bytes all the same."""
        left = [times]

        def answer(request):
            if request.method != "GET" or not request.range or left[0] == 0:
                return None
            left[0] -= 1
            return fault
        server = self.serve_source(fault=answer)
        with self.mount_s3(server) as mount:
            if wanted is None:
                self.assert_same_bytes(mount.path("x").read_bytes(), self.content, repr(fault.changes))
            else:
                self.assert_errno(wanted, lambda: mount.path("x").read_bytes())
            self.assertLess(left[0], times)

    def test_faults_in_passing(self):
        self.content = data.noise(500_000)
        (self.source / "x").write_bytes(self.content)
        for fault in (object_server.status(503, "SlowDown"), object_server.status(500),
                      object_server.status(429), object_server.reset(0),
                      object_server.reset(1_000), object_server.short_body(),
                      object_server.whole_for_range(), object_server.wrong_range(),
                      object_server.encoded_whole()):
            with self.subTest(fault.changes):
                self.check_fault(fault, 2)

    def test_faults_that_stay(self):
        self.content = data.noise(500_000)
        (self.source / "x").write_bytes(self.content)
        for fault, wanted in ((object_server.whole_for_range(), errno.EIO),
                              (object_server.wrong_range(), errno.EIO),
                              (object_server.encoded_whole(), errno.EIO),
                              (object_server.status(403, "AccessDenied"), errno.EACCES)):
            with self.subTest(fault.changes):
                self.check_fault(fault, 1_000, wanted)

    def test_interrupted_reader(self):
        (self.source / "x").write_bytes(b"content")
        go_on = threading.Event()
        stalls = threading.Event()

        def answer(request):
            if request.range:
                stalls.set()
                return object_server.stall(go_on)
            return None
        server = self.serve_source(fault=answer)
        with self.mount_s3(server) as mount:
            reader = subprocess.Popen(["cat", mount.path("x")], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            stalls.wait(daemon.DEADLINE_S)
            reader.send_signal(signal.SIGTERM)
            self.assertEqual(reader.wait(daemon.DEADLINE_S), -signal.SIGTERM)
            go_on.set()

    def test_server_gone_and_back(self):
        self.content = data.noise(500_000)
        (self.source / "x").write_bytes(self.content)
        server = self.serve_source()
        with self.mount_s3(server) as mount:
            os.listdir(mount.path())
            server.stop()
            got = []
            reader = threading.Thread(target=lambda: got.append(mount.path("x").read_bytes()))
            reader.start()
            server.start(server.port)
            reader.join(daemon.DEADLINE_S)
            self.assertEqual(got == [self.content], True)

    def test_clock_and_keys(self):
        server = self.serve({"x": b"content"}, clock_offset=-86_400)
        with self.mount_s3(server) as mount:
            self.assertEqual(mount.path("x").read_bytes(), b"content")
            server.access_key = "ROTATED"
            self.assert_errno(errno.EACCES, lambda: mount.path("x").read_bytes())
        with self.assertRaises(AssertionError) as caught:
            with self.mount_s3(server, key="WRONG"):
                pass
        self.assertIn("credentials", str(caught.exception))
        server.check_signatures = False
        with self.mount_s3(server, "--anonymous") as mount:
            self.assertEqual(mount.path("x").read_bytes(), b"content")
        self.assertFalse(any("authorization" in r.headers for r in server.requests()[-3:]))

    def test_requester_pays(self):
        server = self.serve({"sub/x": b"content"}, requester_pays=True)
        with self.assertRaises(AssertionError):
            with self.mount_s3(server):
                pass
        with self.mount_s3(server, "--requester-pays") as mount:
            self.assertEqual(os.listdir(mount.path()), ["sub"])
            self.assertEqual(mount.path("sub/x").read_bytes(), b"content")

    def test_secrets_stay_secret(self):
        server = self.serve({"x": b"content"})
        with self.mount_s3(server) as mount:
            self.assertEqual(mount.path("x").read_bytes(), b"content")
            for name in ("environ", "cmdline"):
                shown = pathlib.Path(f"/proc/{mount.pid}/{name}").read_bytes()
                self.assertNotIn(object_server.SECRET_KEY.encode(), shown)
            self.assertNotIn(object_server.SECRET_KEY, mount.messages())

    def test_disk_cache(self):
        self.content = data.noise(3_000_000)
        self.make_frame(self.content, self.source / "x.b2frame")
        server = self.serve_source()
        cache = self.folder / "cache"
        options = ("--cache-dir", str(cache), "--cache-disk", "64M")
        with self.mount_s3(server, *options) as mount:
            self.assert_same_bytes(mount.path("x").read_bytes(), self.content, "x")
            self.assertEqual(cache.stat().st_mode & 0o7777, 0o700)
            other = self.folder / "other"
            other.mkdir()
            with self.assertRaises(AssertionError) as caught:
                with self.mount_s3(server, *options, mountpoint=other):
                    pass
            self.assertIn("another mount", str(caught.exception))
            stored = len(server.objects["x.b2frame"].content)
            daemon.wait_for(lambda: sum(f.stat().st_size for f in cache.iterdir()) > stored * 0.97,
                            "the cache to be written")
        server.clear_ledger()
        with self.mount_s3(server, *options) as mount:
            self.assert_same_bytes(mount.path("x").read_bytes(), self.content, "x")
        # The heads of the object, which tell its version; no data.
        self.assertLess(server.bytes_sent, 200_000, server.requests())
        for segment in cache.glob("segment-*"):
            stored = bytearray(segment.read_bytes())
            for at in range(1_000, len(stored), 50_000):
                stored[at] ^= 1
            segment.write_bytes(stored)
        with self.mount_s3(server, *options) as mount:
            self.assert_same_bytes(mount.path("x").read_bytes(), self.content, "x")

    def test_redirects(self):
        content = data.noise(300_000)
        far = self.serve({"real": content})

        def lead(request):
            if request.target.startswith("/x"):
                return object_server.status(302, "", {"Location": far.url + "/real"})
            if request.target.startswith("/loop"):
                return object_server.status(302, "", {"Location": "/loop"})
            return None
        server = self.serve({"x": content, "loop": b"x"}, fault=lead)
        with self.mount_url(server.url) as mount:
            self.assert_same_bytes(mount.path("x").read_bytes(), content, "x")
            self.assert_errno(errno.EIO, lambda: mount.path("loop").read_bytes())
        self.assertFalse(any("authorization" in r.headers for r in far.requests()))

    def test_invalid_sources(self):
        server = self.serve({"x": b"content"})
        for url in (server.url + "/none", "http://user:secret@127.0.0.1/", "s3://a"):
            with self.subTest(url), self.assertRaises(AssertionError):
                with self.mount_url(url):
                    pass
        with self.assertRaises(AssertionError):
            with self.mount_s3(server, prefix="none"):
                pass


if __name__ == "__main__":
    unittest.main()
