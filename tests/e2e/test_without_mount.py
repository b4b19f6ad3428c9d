"""Commands that show SOURCE without a mount, whether it is local or a URL."""

import os
import unittest
import unittest.mock

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
