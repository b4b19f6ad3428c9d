"""Commands that show SOURCE without a mount, whether it is local or a URL."""

import json
import os
import unittest
import unittest.mock

import numpy

import container_writer
import daemon
from object_server import BUCKET
from remote_case import ENVIRONMENT, RemoteCase


class WithoutMount(RemoteCase):
    def run_framefs(self, *arguments, code=0):
        with unittest.mock.patch.dict(os.environ, ENVIRONMENT):
            result = self.tool(daemon.FRAMEFS, *arguments, check=False)
        self.assertEqual(result.returncode, code, f"{arguments}: {result.stderr.decode(errors='replace')}")
        return result

    def sources(self, prefix=""):
        """The source folder and its copies on servers, each as the arguments that name it."""
        server = self.serve_source()
        dav = server.url.replace("http", "dav")
        return ([self.source / prefix], [f"s3://{BUCKET}/{prefix}", "--endpoint", server.url],
                [f"{server.url}/{prefix}"], [f"{dav}/{prefix}"])

    def show_tree(self, source, options, path=""):
        """Names, sizes and contents of all that ls and cat show."""
        found = {}
        below = [path] if path else []
        for line in self.run_framefs("ls", source, *below, *options).stdout.decode().splitlines():
            name = os.path.join(path, line.rstrip("/"))
            if line.endswith("/"):
                found[name] = "folder"
                found.update(self.show_tree(source, options, name))
            else:
                content = self.run_framefs("cat", source, name, *options).stdout
                found[name] = (len(content), content)
        return found

    def test_ls_and_cat_show_what_a_mount_shows(self):
        self.make_source()
        (self.source / "broken.b2frame").unlink()
        with self.mount("-o", "ro") as mount:
            wanted = self.tree(mount.path())
        for source, *options in self.sources():
            with self.subTest(source):
                found = self.show_tree(source, options)
                self.assertEqual(sorted(found), sorted(wanted))
                for name, content in wanted.items():
                    self.assertEqual(found[name] == content, True, name)

    def test_a_source_of_one_file(self):
        self.make_frame(self.text, self.source / "text.b2frame")
        for source, *options in self.sources("text.b2frame"):
            with self.subTest(source):
                self.assertEqual(self.run_framefs("ls", source, *options).stdout, b"text\n")
                self.assert_same_bytes(self.run_framefs("cat", source, *options).stdout, self.text, "text")
                self.assert_same_bytes(self.run_framefs("cat", source, "text", *options).stdout, self.text, "text")

    def test_long_lines_have_sizes_and_times(self):
        self.make_frame(self.text, self.source / "text.b2frame")
        os.utime(self.source / "text.b2frame", (10**9, 10**9))
        (self.source / "sub").mkdir()
        (self.source / "sub" / "x").write_bytes(b"x")
        with unittest.mock.patch.dict(os.environ, {"TZ": "UTC"}):
            listed = self.run_framefs("ls", "-l", self.source).stdout.decode().splitlines()
        self.assertEqual(listed[1], f"{len(self.text):>15} 2001-09-09 01:46:40 text")
        self.assertRegex(listed[0], r"^ +- [0-9: -]+ sub/$")

    def described(self, command, source, options, code=0):
        """The objects that info and check print for the frames of SOURCE, by their paths in it."""
        text = self.run_framefs(command, "--json", source, *options, code=code).stdout
        found = {}
        for frame in json.loads(text):
            path = frame.pop("path")
            frame.pop("out", None)
            self.assertTrue(path.startswith(str(source).rstrip("/")), path)
            found[path.removeprefix(str(source)).lstrip("/")] = frame
        return found

    def test_info_and_check_take_urls(self):
        self.make_source()
        container_writer.archive(self.source / "sub" / "box.b2z", {"member.b2nd": (self.source / "array.b2nd").read_bytes()})
        noise = (self.source / "sub" / "noise.b2frame").read_bytes()
        (self.source / "sub" / "short.b2frame").write_bytes(noise[:len(noise) // 2])
        for command in ("info", "check"):
            (wanted_source, *_), *urls = self.sources()
            wanted = self.described(command, wanted_source, [], code=1)
            self.assertGreater(len(wanted), 7)
            for source, *options in urls:
                with self.subTest(command, source=source):
                    self.assertEqual(self.described(command, source, options, code=1), wanted)
                    one = self.described(command, source.rstrip("/") + "/sub/small.b2frame", options)
                    self.assertEqual(list(one.values()), [wanted["sub/small.b2frame"]])
        self.assertIn("needs a FRAME that is not a URL",
                      self.run_framefs("info", "--offset", "1", source, *options, code=2).stderr.decode())
        self.assertIn("need a FRAME that is not a URL",
                      self.run_framefs("check", "--rehash", source, *options, code=2).stderr.decode())

    def test_members_and_sparse_frames_by_their_urls(self):
        self.make_source()
        container_writer.archive(self.source / "sub" / "box.b2z", {"in/member.b2nd": (self.source / "array.b2nd").read_bytes()})
        (wanted_source, *_), *urls = self.sources()
        with self.mount("-o", "ro") as mount:
            shown = mount.path("array.npy").read_bytes()
        for source, *options in urls:
            source = source.rstrip("/")
            box = source + "/sub/box.b2z"
            for command in ("info", "check"):
                for name in ("sub/box.b2z/in/member.b2nd", "sparse.b2frame", "sparse.b2frame/"):
                    with self.subTest(command, source=source, name=name):
                        wanted = self.described(command, wanted_source / name, [])
                        got = self.described(command, f"{source}/{name}", options)
                        self.assertEqual(list(got.values()), list(wanted.values()))
                result = self.run_framefs(command, box + "/in/none.b2nd", *options, code=1)
                self.assertIn(f"{box}/in/none.b2nd: ", result.stderr.decode())
            with self.subTest("cat and ls", source=source):
                self.assertEqual(self.run_framefs("cat", box + "/in/member.npy", *options).stdout, shown)
                self.assertEqual(self.run_framefs("cat", box + "/in", "member.npy", *options).stdout, shown)
                self.assertEqual(self.run_framefs("ls", box + "/in", *options).stdout, b"member.npy\n")
                for command in ("ls", "cat"):
                    result = self.run_framefs(command, source + "/sparse.b2frame", *options, code=1)
                    self.assertIn("SOURCE is the prefix that holds it", result.stderr.decode())
                self.assertEqual(self.run_framefs("cat", source, "sparse", *options).stdout, self.text[:100_000])

    def test_unpack_takes_urls(self):
        self.make_source()
        with self.mount("-o", "ro") as mount:
            wanted = self.tree(mount.path())
        _, *urls = self.sources()
        for number, (source, *options) in enumerate(urls):
            out = self.folder / f"out-{number}"
            with self.subTest(source):
                self.run_framefs("unpack", "-q", source, "-o", out, *options)
                self.assertEqual(self.tree(out) == wanted, True, sorted(self.tree(out)))
                # Complete files stay, and the run makes the rest.
                before = (out / "text").stat()
                (out / "sub" / "small").unlink()
                (out / "plain.txt").write_bytes(b"a part")
                self.run_framefs("unpack", "-q", source, "-o", out, *options, code=1)
                self.assertEqual((out / "text").stat().st_ino, before.st_ino)
                self.assertEqual((out / "sub" / "small").read_bytes(), self.text[:100])
                self.assertEqual((out / "plain.txt").read_bytes(), b"a part")
                self.run_framefs("unpack", "-q", "-f", source, "-o", out, *options)
                self.assertEqual(self.tree(out) == wanted, True, sorted(self.tree(out)))
                some = self.folder / f"some-{number}"
                self.run_framefs("unpack", "-q", source, "-o", some, "--include", "*.npy", "--exclude", "sub", *options)
                self.assertEqual(os.listdir(some), ["array.npy"])

    def test_unpack_of_one_object(self):
        self.make_source()
        container_writer.archive(self.source / "box.b2z", {"in/member.b2nd": (self.source / "array.b2nd").read_bytes()})
        _, *urls = self.sources()
        for number, (source, *options) in enumerate(urls):
            source = source.rstrip("/")
            out = self.folder / f"one-{number}"
            out.mkdir()
            with self.subTest(source):
                self.run_framefs("unpack", "-q", source + "/text.b2frame", source + "/box.b2z", "-o", out, *options)
                self.assert_same_bytes((out / "text").read_bytes(), self.text, "text")
                self.assertEqual(numpy.load(out / "box" / "in" / "member.npy").tolist(), self.array.tolist())
                got = self.run_framefs("unpack", source + "/text.b2frame", "-o", "-", *options).stdout
                self.assert_same_bytes(got, self.text, "a stream")
                failed = self.run_framefs("unpack", source + "/broken.b2frame", "-o", out / "none", *options, code=1)
                self.assertIn("broken.b2frame: ", failed.stderr.decode())
                self.assertFalse((out / "none").exists())

    def test_filters_apply_below_a_url(self):
        self.make_source()
        (_, *_), (source, *options), *_ = self.sources()
        found = self.described("info", source, ["--include", "*.b2frame", "--exclude", "sub/deep", "--exclude", "no*",
                                                "--exclude", "broken*", *options])
        self.assertEqual(sorted(found), ["empty.b2frame", "sparse.b2frame", "sub/small.b2frame", "text.b2frame"])

    def test_failures_name_the_path(self):
        self.make_frame(self.text, self.source / "text.b2frame")
        for source, *options in self.sources():
            for arguments, cause in ((("ls", source, "none"), "none: "), (("cat", source, "none"), "none: "),
                                     (("cat", source), "is a directory"), (("cat", source, "../x"), '".."')):
                with self.subTest(arguments):
                    self.assertIn(cause, self.run_framefs(*arguments, *options, code=1).stderr.decode())
            got = self.run_framefs("cat", source, "none", "text", *options, code=1)
            self.assert_same_bytes(got.stdout, self.text, "the file after one that fails")


if __name__ == "__main__":
    unittest.main()
