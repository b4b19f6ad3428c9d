"""Listings of remote directories: pages are shown as they arrive, and take little memory."""

import ctypes
import errno
import os
import threading
import time
import unittest
import urllib.parse

import numpy

import daemon
import frame_writer
import memory
import object_server
from made_up_keys import MadeUpKeys
from remote_case import RemoteCase

MANY = 100_000
PAGE_KEYS = 1000


class FlatPages(MadeUpKeys):
    """One directory of keys.  Its pages are counted, held up and broken."""

    def __init__(self, count=MANY):
        super().__init__((count,))
        self.asked = 0  # pages
        self.held = {}  # by the number of a page: the event after which it is sent
        self.broken = {}  # by the number of a page: the fault instead of it

    def page(self, query):
        if "prefix" not in query and query["max-keys"] == str(PAGE_KEYS):
            self.asked += 1
            token = query.get("continuation-token")
            number = self.after(token) // PAGE_KEYS if token else 0
            if number in self.broken:
                return self.broken[number]
            if number in self.held:
                self.held[number].wait(daemon.DEADLINE_S)
        return super().page(query)


class Directory:
    """opendir(3) and its relatives."""

    class _Entry(ctypes.Structure):
        _fields_ = [("inode", ctypes.c_uint64), ("offset", ctypes.c_int64),
                    ("length", ctypes.c_uint16), ("type", ctypes.c_uint8),
                    ("name", ctypes.c_char * 256)]

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self._libc = libc
        libc.opendir.restype = ctypes.c_void_p
        libc.readdir.restype = ctypes.POINTER(self._Entry)
        libc.telldir.restype = ctypes.c_long
        libc.telldir.argtypes = libc.readdir.argtypes = libc.rewinddir.argtypes = [ctypes.c_void_p]
        libc.closedir.argtypes = [ctypes.c_void_p]
        libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
        self._stream = libc.opendir(os.fsencode(path))
        if not self._stream:
            raise OSError(ctypes.get_errno(), "opendir")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._libc.closedir(self._stream)

    def read(self):
        """The next name; None at the end."""
        ctypes.set_errno(0)
        entry = self._libc.readdir(self._stream)
        if not entry and ctypes.get_errno():
            raise OSError(ctypes.get_errno(), "readdir")
        return os.fsdecode(entry.contents.name) if entry else None

    def rest(self):
        return list(iter(self.read, None))

    def tell(self):
        return self._libc.telldir(self._stream)

    def seek(self, position):
        self._libc.seekdir(self._stream, position)

    def rewind(self):
        self._libc.rewinddir(self._stream)


class RemoteListings(RemoteCase):
    def serve_pages(self, *args):
        pages = FlatPages(*args)
        return self.serve(fault=pages), pages

    @unittest.skipIf(daemon.SANITIZED, "what a sanitizer keeps is not the daemon's")
    def test_many_keys_take_little_memory(self):
        server, pages = self.serve_pages()
        with self.mount_s3(server) as mount:
            before = memory.peak_mib(mount.pid)
            self.assertEqual(len(os.listdir(mount.path())), MANY)
            self.assertLess(memory.peak_mib(mount.pid) - before, 32)
            self.assertEqual(pages.asked, MANY // PAGE_KEYS)
            # The listing is kept.
            self.assertEqual(len(os.listdir(mount.path())), MANY)
            self.assertEqual(pages.asked, MANY // PAGE_KEYS)

    @unittest.skipIf(daemon.SANITIZED, "what a sanitizer keeps is not the daemon's")
    def test_many_names_of_a_page_take_little_memory(self):
        names = "".join('{"name":"%09d%s","size":5,"mtime":""},' % (i, "x" * 40) for i in range(MANY))
        listing = object_server.answer(f"[{names[:-1]}]".encode(), "application/json")
        directories = object_server.answer(
            b'[{"name":"0","type":"directory"},{"name":"1","type":"directory"}]', "application/json")
        server = self.serve(fault=lambda request: directories if request.target == "/" else listing)
        with self.mount_url(server.url) as mount:
            before = memory.peak_mib(mount.pid)
            for name in ("0", "1"):
                self.assertEqual(len(os.listdir(mount.path(name))), MANY)
            # The text of a listing is 8.5 MB, and its table 7.3 MB.
            self.assertLess(memory.peak_mib(mount.pid) - before, 64)

    def test_the_log_says_what_came_instead_of_a_listing(self):
        for content_type, cause in (("text/xml", "XML"), ("text/plain", "plain text")):
            answers = {"/": object_server.answer(b"<list/>", content_type)}
            server = self.serve(fault=lambda request, known=answers: known.get(request.target))
            with self.subTest(content_type), self.mount_url(server.url) as mount:
                self.assert_errno(errno.ENOTDIR, lambda: os.listdir(mount.path()))
                self.assertIn(f"the server sends {cause} instead of a listing", mount.log())
            started = self.tool(daemon.FRAMEFS, server.url, self.mountpoint)
            daemon.unmount(self.mountpoint)
            self.assertIn(f"the server sends {cause} instead of a listing", started.stderr.decode())

    def test_the_first_names_come_with_the_second_page(self):
        server, pages = self.serve_pages(10 * PAGE_KEYS)
        pages.held[2] = threading.Event()
        self.addCleanup(pages.held[2].set)
        with self.mount_s3(server) as mount, Directory(mount.path()) as directory:
            names = [directory.read() for _ in range(500)]
            self.assertEqual(names[:4], [".", "..", "k000000", "k000001"])
            pages.held[2].set()
            self.assertEqual(len(names + directory.rest()), 2 + 10 * PAGE_KEYS)
            self.assertEqual(pages.asked, 10)

    def test_positions_stay(self):
        server, pages = self.serve_pages(5 * PAGE_KEYS + 7)
        with self.mount_s3(server) as mount, Directory(mount.path()) as one, \
                Directory(mount.path()) as other:
            begin = [one.read() for _ in range(1500)]
            position = one.tell()
            rest = one.rest()
            self.assertEqual(sorted(begin + rest),
                             sorted([".", "..", *(pages.key(i) for i in range(pages.count))]))
            one.seek(position)
            self.assertEqual(one.rest(), rest)
            one.rewind()
            self.assertEqual(one.rest(), begin + rest)
            self.assertEqual(other.rest(), begin + rest)
            self.assertEqual(pages.asked, 6)

    def test_readers_of_one_directory_share_its_pages(self):
        server, pages = self.serve_pages(20 * PAGE_KEYS)
        with self.mount_s3(server) as mount:
            found = []
            readers = [threading.Thread(target=lambda: found.append(os.listdir(mount.path())))
                       for _ in range(4)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join(daemon.DEADLINE_S)
            self.assertEqual([len(names) for names in found], [20 * PAGE_KEYS] * 4)
            self.assertEqual(len(set(map(tuple, found))), 1)
            self.assertEqual(pages.asked, 20)

    def test_a_failure_comes_at_its_place(self):
        server, pages = self.serve_pages(6 * PAGE_KEYS)
        pages.broken[4] = object_server.status(403, "AccessDenied")
        with self.mount_s3(server) as mount:
            with Directory(mount.path()) as directory:
                names = []
                with self.assertRaises(OSError) as caught:
                    while True:
                        names.append(directory.read())
                self.assertEqual(caught.exception.errno, errno.EACCES)
                # The last page that came may still change.
                self.assertEqual(len(names), 2 + 3 * PAGE_KEYS)
            self.assertEqual(mount.log().count(f"s3://{object_server.BUCKET}/: "), 1, mount.log())
            pages.broken.clear()
            self.assertEqual(len(os.listdir(mount.path())), 6 * PAGE_KEYS)

    def test_lookups_use_the_pages_that_are_here(self):
        server, pages = self.serve_pages(10 * PAGE_KEYS)
        with self.mount_s3(server, "--list-timeout", "3600") as mount, \
                Directory(mount.path()) as directory:
            for _ in range(10):
                directory.read()
            asked = len(server.requests())
            self.assertEqual(os.stat(mount.path(pages.key(5))).st_size, 5)
            self.assertFalse(mount.path("k0000055").exists())
            self.assertLessEqual(len(server.requests()), asked + 1)  # the page ahead

    def test_names_of_all_pages_are_those_of_a_local_mount(self):
        """x beside x.b2frame, x.npy beside x.b2nd, x/ beside x, in all ways of pages."""
        frame = frame_writer.plain_frame(self.text)
        array = frame_writer.array_frame(numpy.arange(6, dtype="<f4"))
        for name in ("a", "a.b2frame", "a-1", "b.b2frame", "b.b2f", "c.b2frame", "c-x", "d.b2nd",
                     "d.npy", "d.npy.b2frame", "e.b2frame", "e.npy", "f", "g.b2"):
            content = array if name.endswith(".b2nd") else frame if ".b2" in name else name.encode()
            (self.source / name).write_bytes(content)
        for name in ("c", "h.x", "i"):
            (self.source / name).mkdir()
            (self.source / name / "below").write_bytes(b"x")
        with self.mount() as mount:
            wanted = self.tree(mount.path())
        for page_keys in (1, 2, 3, 5, 1000):
            with self.subTest(page_keys=page_keys):
                server = self.serve_source(page_keys=page_keys)
                with self.mount_s3(server) as mount:
                    self.assertEqual(self.tree(mount.path()), wanted)

    def test_a_listing_that_is_not_sorted_has_the_same_names(self):
        keys = [f"{i * 7919 % 3001:04}" for i in range(3001)]

        def listing(request):
            query = dict(urllib.parse.parse_qsl(request.target.partition("?")[2]))
            if query.get("max-keys") != "1000":
                return None
            begin = int(query.get("continuation-token", "0"))
            page = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>"
                           for key in keys[begin:begin + 1000])
            end = begin + 1000
            more = (f"<IsTruncated>true</IsTruncated><NextContinuationToken>{end}"
                    "</NextContinuationToken>" if end < len(keys) else "")
            return object_server.answer(f"<ListBucketResult>{more}{page}</ListBucketResult>".encode(),
                                        "application/xml")

        server = self.serve({"x": b"x"}, fault=listing)
        with self.mount_s3(server) as mount:
            self.assertEqual(sorted(os.listdir(mount.path())), sorted(keys))

    def test_an_immutable_mount_lists_once(self):
        server, pages = self.serve_pages(5 * PAGE_KEYS)
        with self.mount_s3(server, "--immutable") as mount:
            for _ in range(2):
                with Directory(mount.path()) as directory:
                    self.assertEqual(len(directory.rest()), 2 + 5 * PAGE_KEYS)
            self.assertEqual(pages.asked, 5)

    def test_a_reader_that_stops_asks_for_no_more(self):
        server, pages = self.serve_pages()
        with self.mount_s3(server) as mount:
            with Directory(mount.path()) as directory:
                self.assertEqual(directory.read(), ".")
                directory.read()
                self.assertEqual(directory.read(), "k000000")
            server.ended_requests()
            self.assertLessEqual(pages.asked, 3)

    def test_names_without_sizes_cost_one_request(self):
        """Links may lead to servers that do not answer; their names show all the same."""
        links = "".join(f'<a href="{i}">{i}</a>' for i in range(50))
        page = object_server.answer(links.encode(), "text/html")
        elsewhere = {"/1": "file:///etc/passwd", "/2": "/2", "/3": "http://127.0.0.1:1/x"}

        def answer(request):
            target = request.target
            if target == "/":
                return page
            if target in elsewhere:
                return object_server.status(302, headers={"Location": elsewhere[target]})
            return None

        server = self.serve({str(i): b"content" for i in range(50)}, fault=answer)
        with self.mount_url(server.url) as mount:
            server.clear_ledger()
            self.assertEqual(sorted(os.listdir(mount.path())), sorted(str(i) for i in range(50)))
            self.assertLessEqual(len(server.requests()), 1)
            self.assertEqual(mount.path("0").stat().st_size, len(b"content"))
            for name, reason in (("1", "redirected to an invalid URL"), ("2", "redirected too often")):
                self.assert_errno(errno.EIO, lambda name=name: os.stat(mount.path(name)))
                self.assertIn(reason, mount.log())

    def test_a_listing_that_stalls_does_not_hold_up_the_mount(self):
        answered = threading.Event()
        self.addCleanup(answered.set)
        is_stalled = lambda request: request.method == "GET" and request.target == "/"
        server = self.serve({"x": b"content"}, fault=lambda request: (
            object_server.stall(answered) if is_stalled(request) else None))
        begin = time.monotonic()
        with self.mount_url(server.url) as mount:
            self.assertLess(time.monotonic() - begin, 40)  # a listing is tried for 60 seconds
            answered.set()
            self.assertEqual(os.listdir(mount.path()), ["x"])
