"""framefs index, and mounts that use its manifest."""

import base64
import json
import os
import re
import shutil
import time
import unittest
import unittest.mock

import daemon
import data
import object_server
from daemon import FRAMEFS
from object_server import BUCKET
from remote_case import ENVIRONMENT, RemoteCase

MANIFEST = "framefs-manifest.json"
MANY = 300
LISTING_S = 2  # the maximum age of a listing
ALONE = 7  # lookups whose entries are probed one by one before the manifest is loaded


class Index(RemoteCase):
    def index(self, url, *options, code=0):
        """The manifest of a URL, and the messages."""
        with unittest.mock.patch.dict(os.environ, ENVIRONMENT):
            result = self.tool(FRAMEFS, "index", url, *options, check=False)
        self.assertEqual(result.returncode, code, result.stderr.decode())
        return result.stdout, result.stderr.decode()

    def index_s3(self, server, *options, prefix="", **named):
        return self.index(f"s3://{BUCKET}/{prefix}", "--endpoint", server.url, *options, **named)

    def make_many(self):
        """Frames of a few sizes under many names."""
        for i in range(MANY):
            if i < 3:
                self.make_frame(b"%d" % i * (i + 100), self.source / f"{i}.b2frame")
            else:
                shutil.copy(self.source / f"{i % 3}.b2frame", self.source / f"{i}.b2frame")

    def sizes(self, folder):
        return {entry.name: entry.stat().st_size for entry in os.scandir(folder) if entry.is_file()}

    def check_listings(self, server, mount, most):
        """All listings are right.  `most` limits the requests for the root and those for `sub`."""
        server.clear_ledger()
        self.assertEqual(self.sizes(mount.path()), self.wanted[0])
        self.assertLessEqual(len(server.requests()), most[0], server.requests())
        server.clear_ledger()
        self.assertEqual(self.sizes(mount.path("sub")), self.wanted[1])
        self.assertLessEqual(len(server.requests()), most[1], server.requests())

    def make_tree(self):
        self.make_source()
        shutil.rmtree(self.source / "sparse.b2frame")  # each is one more request
        self.make_many()
        for i in range(20):
            shutil.copy(self.source / "1.b2frame", self.source / "sub" / f"{i}.b2frame")
        (self.source / MANIFEST).write_bytes(b"an earlier one, which lists itself no more")
        with self.mount("-o", "ro") as mount:
            self.wanted = [self.sizes(mount.path()), self.sizes(mount.path("sub"))]

    def put_manifest(self, server, text):
        server.put(MANIFEST, text)
        self.wanted[0][MANIFEST] = len(text)

    def test_an_output_that_is_full_is_named(self):
        server = self.serve_source()
        file = self.source / "manifest.json"
        for names in (1, MANY):  # the output is buffered
            for i in range(names):
                server.put(f"{i}", b"x")
            for options, target in ((), "standard output"), (("-o", file), str(file)):
                with self.subTest(names=names, target=target), \
                        unittest.mock.patch.dict(os.environ, ENVIRONMENT):
                    # The shell limits the size of files to nothing.
                    result = self.tool(
                        "bash", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@" >/dev/full', "bash", FRAMEFS,
                        "index", f"s3://{BUCKET}/", "--endpoint", server.url, *options, check=False)
                    self.assertEqual(result.returncode, 1)
                    self.assertRegex(result.stderr.decode(),
                                     rf"\Aframefs: {re.escape(target)}: [^\n]*\n\Z")

    def test_a_listing_takes_a_handful_of_requests(self):
        self.make_tree()
        server = self.serve_source()
        with self.mount_s3(server) as mount:
            server.clear_ledger()
            self.assertEqual(self.sizes(mount.path()), self.wanted[0])
            self.assertGreater(len(server.requests()), MANY)
        self.put_manifest(server, self.index_s3(server)[0])
        with self.mount_s3(server) as mount:
            # The manifest, in parts, and the listing; then the listing of the folder.
            self.check_listings(server, mount, (5, 2))
            self.assertEqual(mount.path("sub", "noise").read_bytes(), data.noise(3_000_000))

    def test_of_a_web_server(self):
        """Its listing has no ETags: time and size tell versions apart."""
        self.make_tree()
        server = self.serve_source()
        self.put_manifest(server, self.index(server.url)[0])
        with self.mount_url(server.url) as mount:
            self.check_listings(server, mount, (5, 2))

    def test_of_a_web_server_that_lists_nothing(self):
        self.make_tree()
        server = self.serve_source(listing="none")
        text, _ = self.index(server.url.replace("http", "dav"))
        del self.wanted[0][MANIFEST]
        server.put(MANIFEST, text)
        with self.mount_url(server.url) as mount:
            # The server refuses to list the root; the manifest then lists all.
            self.check_listings(server, mount, (3, 0))
            self.assertEqual(mount.path("sub", "noise").read_bytes(), data.noise(3_000_000))

    def test_entries_count_for_one_version_only(self):
        self.make_many()
        server = self.serve_source()
        self.make_frame(b"x" * 5000, self.folder / "other.b2frame")
        text, _ = self.index_s3(server)
        server.put(MANIFEST, text)
        server.put("7.b2frame", (self.folder / "other.b2frame").read_bytes())
        same_size = bytearray(server.objects["8.b2frame"].content)
        same_size[:12] = bytes(12)  # not a frame any more
        server.put("8.b2frame", same_size)
        # Copied in the store: another time, the same ETag.
        server.put("9.b2frame", object_server.Object(server.objects["9.b2frame"].content, mtime=1))
        with self.mount_s3(server) as mount:
            server.clear_ledger()
            sizes = self.sizes(mount.path())
            self.assertLessEqual(len(server.requests()), 7, server.requests())
            self.assertEqual(sizes["7"], 5000)
            self.assertEqual(sizes["8.b2frame"], len(same_size))
            self.assertEqual(sizes["9"], 100)
            self.assertEqual(len(sizes), MANY + 1)

    def test_a_new_manifest_is_loaded(self):
        self.make_many()
        server = self.serve_source()
        server.put(MANIFEST, b"{}")
        with self.mount_s3(server, "--attr-timeout", "0") as mount:
            self.assertEqual(self.sizes(mount.path())["1"], 101)
            self.assertEqual(mount.log().count(f"{MANIFEST} is not used"), 1, mount.log())
            for i in range(MANY):  # new versions, whose heads the mount does not know
                server.put(f"{i}.b2frame", (self.source / f"{(i + 1) % 3}.b2frame").read_bytes())
            server.put(MANIFEST, self.index_s3(server)[0])

            # A walk that begins with the last listing and ends with the next one probes more.
            time.sleep(LISTING_S + 0.5)

            def is_new():
                server.clear_ledger()
                return self.sizes(mount.path())["1"] == 102
            daemon.wait_for(is_new, "the next listing")
            self.assertLessEqual(len(server.requests()), 5, server.requests())

    def test_lookups_without_a_listing_use_the_manifest(self):
        self.make_many()
        server = self.serve_source()
        server.put(MANIFEST, self.index_s3(server)[0])
        with self.mount_s3(server) as mount:
            server.clear_ledger()
            for i in range(MANY):
                self.assertEqual(os.stat(mount.path(str(i))).st_size, 100 + i % 3)
            # The first two lookups ask for their names.
            self.assertLessEqual(len(server.requests()), 2 * 3 + 5 + ALONE, server.requests())

    def test_hostile_manifests_change_nothing(self):
        self.make_many()
        server = self.serve_source()
        good = json.loads(self.index_s3(server)[0])
        wanted = None
        paths = [f"../{i}.b2frame" for i in range(20)] + ["/etc/passwd", "a//b", "..", ".", ""]
        hostile = {
            "no JSON": b"\x00\xff" * 1000,
            "nested": b'{"framefs-manifest": 1, "files": [' + b"[" * 1_000_000,
            "of another kind": b'{"framefs-manifest": 2, "files": []}',
            "cut": json.dumps(good).encode()[:-1000],
            "paths": json.dumps({**good, "files": [{"path": path, "size": 1, "head": "AA=="}
                                                   for path in paths]}).encode(),
            "heads": json.dumps({**good, "files": [{**file, "head": "*" * 100} for file in good["files"]]}).encode(),
            "short heads": json.dumps({**good, "files": [{**file, "head": file["head"][:40]}
                                                         for file in good["files"]]}).encode()}
        for name, text in hostile.items():
            with self.subTest(name):
                server.put(MANIFEST, text)
                with self.mount_s3(server) as mount:
                    sizes = self.sizes(mount.path())
                    self.assertEqual(sizes.pop(MANIFEST), len(text))
                    wanted = wanted or sizes
                    self.assertEqual(sizes, wanted)
                    self.assertEqual(mount.path("1").read_bytes(), b"1" * 101)

    def test_a_head_that_lies_spoils_no_content(self):
        """It can be wrong about the size that is shown.  Reading uses the frame itself."""
        self.make_many()
        server = self.serve_source()
        manifest = json.loads(self.index_s3(server)[0])
        heads = {file["path"]: file["head"] for file in manifest["files"]}
        for file in manifest["files"]:
            file["head"] = heads["2.b2frame"] if file["path"] != "2.b2frame" else heads["1.b2frame"]
            file["head"] = file["head"][:len(heads[file["path"]])]
        server.put(MANIFEST, json.dumps(manifest).encode())
        with self.mount_s3(server) as mount:
            self.sizes(mount.path())
            for i in range(3):
                content = b"%d" % i * (i + 100)
                self.assertTrue(content.startswith(mount.path(str(i)).read_bytes()[:100]))

    def test_the_manifest(self):
        self.make_source()
        server = self.serve_source(page_keys=4)
        out = self.folder / "manifest"
        text, messages = self.index_s3(server)
        self.assertEqual(messages, "")
        self.index_s3(server, "-o", out)
        self.assertEqual(out.read_bytes(), text)
        manifest = json.loads(text)
        self.assertEqual(manifest["framefs-manifest"], 1)
        files = {file["path"]: file for file in manifest["files"]}
        self.assertEqual(set(files), set(server.objects))
        for path, file in files.items():
            self.assertEqual(file["size"], len(server.objects[path].content))
            self.assertEqual(file["etag"], server.objects[path].etag)
            self.assertEqual("head" in file, path.endswith((".b2frame", ".b2nd")), path)
        self.assertEqual(files["empty.b2frame"]["head"], "")
        text, _ = self.index_s3(server, prefix="sub")
        self.assertIn("deep/empty", {file["path"] for file in json.loads(text)["files"]})

    def test_failures(self):
        self.make_source()
        out = self.folder / "manifest"
        out.write_bytes(b"precious")
        denied = "sub/small.b2frame"
        server = self.serve_source(fault=lambda request: object_server.status(403, "AccessDenied")
                                   if denied in request.target else None)
        _, messages = self.index_s3(server, "-o", out, code=1)
        self.assertIn("--force replaces it", messages)
        self.assertEqual(out.read_bytes(), b"precious")
        _, messages = self.index_s3(server, "-o", out, "--force", code=1)
        self.assertIn(f"s3://{BUCKET}/{denied}: ", messages)
        files = {file["path"]: file for file in json.loads(out.read_bytes())["files"]}
        self.assertEqual(set(files), set(server.objects))
        self.assertNotIn("head", files[denied])
        self.assertIn("head", files["sub/noise.b2frame"])
        _, messages = self.index_s3(server, prefix="text.b2frame", code=1)
        self.assertIn("an index needs a directory", messages)
        absent = self.folder / "absent"
        _, messages = self.index(server.url + "/none", "-o", absent, code=1)
        self.assertEqual(len(messages.splitlines()), 1, messages)
        self.assertFalse(absent.exists())

    def test_of_a_directory(self):
        self.make_tree()
        (self.source / "link.b2frame").symlink_to("1.b2frame")
        outside = self.folder / "outside"
        outside.mkdir()
        shutil.copy(self.source / "1.b2frame", outside)
        (self.source / "directory").symlink_to(outside)
        os.mkfifo(self.source / "fifo.b2frame")
        text, messages = self.index(self.source)
        self.assertEqual(messages, "")
        files = {file["path"]: file for file in json.loads(text)["files"]}
        wanted = {os.path.relpath(path, self.source): path for path in self.source.rglob("*.b2*")
                  if path.is_file() and not path.is_symlink()}
        # The directory of a ZIP archive is at its end.
        self.assertEqual(set(files), {path for path in wanted if not path.endswith(".b2z")})
        for path, file in files.items():
            self.assertEqual(file["size"], wanted[path].stat().st_size)
            head = base64.b64decode(file["head"])
            self.assertEqual(head, wanted[path].read_bytes()[:len(head)])


if __name__ == "__main__":
    unittest.main()
