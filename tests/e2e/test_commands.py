"""Words of the command line that are commands, and words that are not."""

import os
import unittest

import daemon
from case import MountCase
from command_case import CommandCase
from frame_writer import plain_frame

COMMANDS = ["mount", "check", "compact", "completion", "demo", "index", "info", "list", "pack", "stats", "umount",
            "unpack", "warm"]


class Words(CommandCase):
    def test_help_lists_the_commands(self):
        for arguments in (["--help"], ["-h"], ["help"], ["help", "mount"], ["mount", "--help"]):
            text = self.framefs(*arguments).stdout.decode()
            for command in COMMANDS:
                self.assertRegex(text, rf"(?m)^  {command} ", arguments)
            self.assertIn("MOUNTPOINT", text)
        self.assert_refused("help", "frobnicate", cause="frobnicate")

    def test_no_word_is_a_usage_error(self):
        self.assert_refused(cause="SOURCE is required")
        self.assert_refused("mount", cause="SOURCE is required")
        self.assert_refused("frobnicate", cause="MOUNTPOINT is required")
        self.assert_refused("frobnicate", "mnt", "--help-me", cause="unknown option --help-me")
        self.assert_refused("--help-me", cause="unknown option --help-me")
        self.assert_refused("umount", "-x", "mnt", cause="unknown option -x\n")

    def test_help_of_help(self):
        self.assertEqual(self.framefs("help", "help").stdout, self.framefs("--help").stdout)
        self.assert_refused("help", "info", "pack", cause="unexpected argument pack")

    def test_no_value_is_empty(self):
        for command in (("", "mnt"), ("source", ""), ("info", ""), ("pack", "x", ""), ("unpack", ""), ("check", ""),
                        ("compact", ""), ("demo", ""), ("umount", ""), ("stats", ""), ("pack", "x", "-o", ""),
                        ("source", "mnt", "--log-file", "")):
            with self.subTest(command):
                self.assert_refused(*command, cause=": the value is empty")


class Messages(CommandCase):
    def test_a_file_that_is_no_frame(self):
        text = self.folder / "notes.txt"
        text.write_bytes(b"this is text\n" * 10)
        for command in ("info", "unpack", "compact"):
            self.assert_fails(command, text, cause=f"{text}: this is not a Blosc2 frame")

    def test_a_file_that_is_missing(self):
        for command in ("info", "unpack", "pack", "check"):
            self.assert_fails(command, "missing", cause="framefs: missing: No such file or directory\n")

    def test_a_rule_that_is_wrong(self):
        self.assert_refused("--rule", "nonsense", "a", "b", cause="not a rule such as *.log:codec=lz4")
        self.assert_refused("--rule", "*.log:", "a", "b", cause="not a rule such as *.log:codec=lz4")
        self.assert_refused("--plain", "", "a", "b", cause="--plain: the value is empty")
        self.assert_refused("--subtype", "", "a", "b", cause="--subtype: the value is empty")
        self.assert_refused("--rule", "*:codec=lz5", "a", "b", cause="codec=lz5: the value of codec is blosclz|lz4|lz4hc|zlib|zstd")

    def test_a_url_that_is_wrong(self):
        for url, cause in (("s3://", "the name of the bucket"), ("s3://ab/x", "the name of the bucket"),
                           ("http://", "the host"), ("https://:80/", "the host"), ("dav://h:0/", "the port"),
                           ("http://user:secret@h/", "use ~/.netrc"), ("ftp://x", "ftp:// is not supported"),
                           ("S3://bucket", "S3:// is not supported")):
            with self.subTest(url):
                self.assert_refused(url, "mnt", cause=f"framefs: SOURCE: {cause}" if "~" not in cause else cause)
                self.assert_refused("index", url, cause=cause)

    def test_an_option_that_does_not_suit_the_source(self):
        for option in (("--region", "r"), ("--endpoint", "http://h"), ("--profile", "p"), ("--anonymous",),
                       ("--requester-pays",), ("--cacert", "/dev/null"), ("--cache-dir", "d"), ("--cache-disk", "1G")):
            with self.subTest(option):
                self.assert_refused(*option, self.source, self.mountpoint,
                                    cause=f"{option[0]} needs a SOURCE that is a URL")
        for option in (("--offset", "1"), ("--acl",), ("--export",), ("--locking",), ("--writeback",),
                       ("--rule", "*:codec=lz4"), ("--checksums",), ("--plain", "*"), ("--overlay-size", "1M"),
                       ("--commit-interval", "1")):
            with self.subTest(option):
                self.assert_refused(*option, "http://h/", self.mountpoint,
                                    cause=f"{option[0]} needs a SOURCE that is not a URL")
        for command in (("http://h/", self.mountpoint), ("index", "http://h/")):
            self.assert_refused(*command, "--region", "r", cause="--region needs a URL of S3")
        self.assert_refused("s3://bucket", self.mountpoint, "--requester-pays", "--anonymous",
                            cause="--requester-pays")
        self.assert_refused("http://h/", self.mountpoint, "--cache-disk", "1G", cause="--cache-disk needs --cache-dir")
        self.assert_refused("-o", "cache_dir=d", self.source, self.mountpoint, cause="--cache-dir needs")
        self.assert_refused("s3://bucket", self.mountpoint, "--endpoint", "h", cause="--endpoint: the scheme")

    def test_the_path_at_fault_is_named(self):
        missing = self.folder / "missing"
        self.assert_fails("--offset", "4", self.source, self.mountpoint, cause=f"framefs: {self.source}: ")
        self.assert_fails(missing, self.mountpoint, cause=f"framefs: {missing}: SOURCE cannot be opened")
        self.assert_fails(self.source, missing, cause=f"create it with mkdir -p '{missing}'")


class StandardStreams(CommandCase):
    def redirected(self, redirection, *arguments):
        """Runs framefs, which must fail, with a redirection of the shell; returns its messages."""
        command = ["sh", "-c", f'"$@" {redirection}', "sh", daemon.FRAMEFS, *arguments]
        result = self.tool(*command, check=False)
        self.assertEqual((result.returncode, result.stdout), (1, b""), arguments)
        return result.stderr.decode()

    def test_output_that_cannot_be_written(self):
        path = self.folder / "x.b2frame"
        path.write_bytes(plain_frame(b"content"))
        commands = (["--help"], ["--version"], ["help", "pack"], ["pack", "--help"], ["completion", "bash"],
                    ["list", "--json"], ["info", path], ["check", path], ["unpack", path, "-o", "-"],
                    ["pack", "--nest", path, "-o", "-"])
        for redirection, cause in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
            for command in commands:
                with self.subTest(redirection, command=command):
                    told = self.redirected(redirection, *command)
                    self.assertRegex(told, rf"^framefs: standard output: .*{cause}")

    def test_input_that_is_closed(self):
        told = self.redirected("<&-", "pack", "-", "-o", self.folder / "new.b2frame")
        self.assertIn("Bad file descriptor", told)
        self.assertFalse((self.folder / "new.b2frame").exists())


class Demo(CommandCase):
    def test_there_is_something_to_try(self):
        target = self.folder / "demo"
        self.framefs("demo", target)
        self.framefs("check", target)
        self.assertEqual(self.info(target / "arrays/image.b2nd")[0]["shape"], [256, 384, 3])
        with self.mount(source=target) as mount:
            self.assertIn(b" ERROR ", mount.path("logs/app.log").read_bytes())
            self.assertEqual(sorted(os.listdir(mount.path("arrays"))), ["image.npy", "walk.npy"])
        self.assert_fails("demo", target, cause="not empty")


class Sources(MountCase):
    """A SOURCE with the name of a command."""

    def check(self, program, *arguments):
        command = [os.fspath(program), *map(os.fspath, arguments)]
        self.tool(*command)
        try:
            self.assertEqual((self.mountpoint / "x").read_bytes(), b"shown")
        finally:
            daemon.wait_for(lambda: daemon.unmount(self.mountpoint).returncode == 0, "unmounting")

    def test_each_is_reached(self):
        for name in (*COMMANDS, "help"):
            (self.folder / name).mkdir()
            (self.folder / name / "x.b2frame").write_bytes(plain_frame(b"shown"))
            with self.subTest(name):
                self.check(daemon.FRAMEFS, "./" + name, "mnt")
                self.check(daemon.FRAMEFS, "mount", name, "mnt")
                self.check(daemon.FRAMEFS, "--threads", "1", name, "mnt")
                # mount(8) has no commands.
                self.check(daemon.FRAMEFS.parent / "mount.framefs", name, "mnt", "-o", "ro")

    def test_unpack_makes_the_file_that_a_mount_shows(self):
        (self.source / "a.b2frame").write_bytes(plain_frame(os.urandom(300_000), 70_000))
        with self.mount():
            self.tool(daemon.FRAMEFS, "unpack", self.source / "a.b2frame", "-o", self.folder)
            self.tool("cmp", self.mountpoint / "a", self.folder / "a")


if __name__ == "__main__":
    unittest.main()
