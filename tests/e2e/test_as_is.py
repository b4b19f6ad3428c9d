"""--as-is: entries with a frame's suffix that are shown and stored as they are."""

import errno
import os
import shutil
import subprocess
import sys
import unittest

import daemon
from case import MountCase
from daemon import FRAMEFS

CONTENT = b"bytes of a file that is stored as a frame\n" * 1000


class AsIs(MountCase):
    def setUp(self):
        self.frame = self.make_frame(CONTENT, self.folder / "x.b2frame").read_bytes()
        (self.folder / "text").write_bytes(CONTENT)

    def assert_fails_with(self, error, call, *arguments):
        with self.assertRaises(OSError) as caught:
            call(*arguments)
        self.assertEqual(errno.errorcode[caught.exception.errno], errno.errorcode[error])

    def test_frames_are_shown_and_stored_as_they_are(self):
        (self.source / "old.b2frame").write_bytes(self.frame)
        with self.mount("--as-is", "*.b2frame") as mount:
            self.assertEqual(os.listdir(mount.path()), ["old.b2frame"])
            self.assertEqual(mount.path("old.b2frame").read_bytes(), self.frame)
            self.assertFalse(mount.path("old").exists())
            shutil.copy(self.folder / "x.b2frame", mount.path("new.b2frame"))
            self.assertEqual(mount.path("new.b2frame").read_bytes(), self.frame)
            with open(mount.path("new.b2frame"), "ab") as file:
                file.write(b"more")
            mount.path("plain").write_bytes(CONTENT)
            self.assertEqual(sorted(os.listdir(mount.path())), ["new.b2frame", "old.b2frame", "plain"])
        self.assertEqual((self.source / "new.b2frame").read_bytes(), self.frame + b"more")
        # Another suffix stores the frame: x.b2frame would be shown as it is.
        self.assertEqual(sorted(os.listdir(self.source)), ["new.b2frame", "old.b2frame", "plain.b2f"])
        with self.mount("--as-is", "*.b2frame") as mount:
            self.assertEqual(mount.path("plain").read_bytes(), CONTENT)
            mount.path("old.b2frame").unlink()
        self.assertFalse((self.source / "old.b2frame").exists())

    def test_a_rule_has_the_same_effect(self):
        with self.mount("--rule", "*.b2z:as-is=yes") as mount:
            mount.path("a.b2z").write_bytes(b"no archive")
            with self.assertRaises(PermissionError):
                mount.path("a.b2frame").write_bytes(b"")
        self.assertEqual((self.source / "a.b2z").read_bytes(), b"no archive")

    def test_a_directory_with_its_contents(self):
        """A sparse frame that is copied keeps its files."""
        with self.mount("--as-is", "*.b2nd") as mount:
            mount.path("a.b2nd").mkdir()
            for name in ("chunks.b2frame", "00000000.chunk"):
                mount.path("a.b2nd", name).write_bytes(CONTENT)
            mount.path("a.b2nd", "below").mkdir()
            mount.path("a.b2nd", "below", "b.b2frame").write_bytes(self.frame)
            self.assertEqual(sorted(os.listdir(mount.path("a.b2nd"))), ["00000000.chunk", "below", "chunks.b2frame"])
            os.rename(mount.path("a.b2nd"), mount.path("b.b2nd"))
            os.rename(mount.path("b.b2nd", "below"), mount.path("b.b2nd", "beside"))
        self.assertEqual((self.source / "b.b2nd/00000000.chunk").read_bytes(), CONTENT)
        self.assertEqual((self.source / "b.b2nd/beside/b.b2frame").read_bytes(), self.frame)

    def test_a_glob_with_a_slash_is_about_the_path(self):
        with self.mount("--as-is", "*/fixtures/*") as mount:
            mount.path("tests/fixtures/deep").mkdir(parents=True)
            mount.path("tests/fixtures/deep/a.b2frame").write_bytes(self.frame)
            mount.path("tests/fixtures/text").write_bytes(CONTENT)
            with self.assertRaises(PermissionError):
                mount.path("tests/a.b2frame").write_bytes(self.frame)
        self.assertEqual((self.source / "tests/fixtures/deep/a.b2frame").read_bytes(), self.frame)
        # Names without the suffix of a frame are compressed as elsewhere.
        self.assertTrue((self.source / "tests/fixtures/text.b2frame").exists() or
                        (self.source / "tests/fixtures/text.b2f").exists() or
                        (self.source / "tests/fixtures/text").exists())
        with self.mount("--as-is", "*/fixtures/*") as mount:
            self.assertEqual(mount.path("tests/fixtures/text").read_bytes(), CONTENT)

    def test_names_that_change_what_is_shown_give_exdev(self):
        with self.mount("--as-is", "*.b2frame", "--as-is", "data/*.b2nd") as mount:
            mount.path("a.b2frame").write_bytes(self.frame)
            mount.path("b").write_bytes(CONTENT)
            for call in (os.rename, os.link):
                self.assert_fails_with(errno.EXDEV, call, mount.path("a.b2frame"), mount.path("c"))
                self.assert_fails_with(errno.EXDEV, call, mount.path("b"), mount.path("c.b2frame"))
            os.link(mount.path("a.b2frame"), mount.path("d.b2frame"))
            os.rename(mount.path("d.b2frame"), mount.path("e.b2frame"))
            os.rename(mount.path("b"), mount.path("f"))
            os.replace(mount.path("e.b2frame"), mount.path("a.b2frame"))
            # mv(1) copies then.
            self.tool("mv", mount.path("a.b2frame"), mount.path("g"))
            self.assertEqual(mount.path("g").read_bytes(), self.frame)
            self.tool("mv", mount.path("f"), mount.path("h.b2frame"))
            self.assertEqual(mount.path("h.b2frame").read_bytes(), CONTENT)
            for name in ("data", "other", "data/below"):
                mount.path(name).mkdir()
            self.assert_fails_with(errno.EXDEV, os.rename, mount.path("data"), mount.path("new"))
            self.assert_fails_with(errno.EXDEV, os.rename, mount.path("data/below"), mount.path("below"))
            mount.path("data/below").rmdir()
            mount.path("data").rmdir()
            self.assert_fails_with(errno.EXDEV, os.rename, mount.path("other"), mount.path("data"))
            os.rename(mount.path("other"), mount.path("new"))

    def test_the_log_names_the_option_once_for_each_directory(self):
        with self.mount() as mount:
            mount.path("d").mkdir()
            for name in ("a.b2frame", "b.b2frame", "d/c.b2nd", "d/e.b2frame"):
                with self.assertRaises(PermissionError):
                    mount.path(name).write_bytes(b"")
            lines = [line for line in mount.log().splitlines() if "--as-is" in line]
            self.assertEqual(len(lines), 2, mount.log())
            self.assertIn("a.b2frame: refused", lines[0])
            self.assertIn("'*.b2frame'", lines[0])
            self.assertIn("d/c.b2nd: refused", lines[1])
            self.assertIn("'*.b2nd'", lines[1])

    def test_the_log_names_the_rule_for_arrays(self):
        self.tool(sys.executable, "-c", "import numpy; numpy.save('x.npy', numpy.arange(1000.0))")
        self.tool(FRAMEFS, "pack", "x.npy", "-o", self.source / "x.b2nd")
        with self.mount() as mount:
            self.assertEqual(os.listdir(mount.path()), ["x.npy"])
            result = self.tool("cp", "text", mount.path("x.npy"), check=False)
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(mount.log(), r"x\.b2nd: the header and the size of an array are fixed.*arrays=yes")

    def test_a_repository_with_frames_can_be_cloned(self):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
        repository = self.folder / "repository"
        if (daemon.ROOT / ".git").exists():
            self.tool("git", "clone", "-q", "--depth", "1", f"file://{daemon.ROOT}", repository)
        else:
            (repository / "tests/fixtures").mkdir(parents=True)
            (repository / "tests/fixtures/a.b2frame").write_bytes(self.frame)
            for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "frames"]):
                self.tool(*git, *arguments, cwd=repository)
        with self.mount("--as-is", "*/fixtures/*") as mount:
            self.tool(*git, "clone", "-q", f"file://{repository}", mount.path("clone"))
            for arguments in (["status", "--porcelain"], ["fsck", "--full"]):
                result = self.tool(*git, *arguments, cwd=mount.path("clone"))
                self.assertEqual(result.stdout, b"", arguments)
            listed = subprocess.run(["git", "ls-files", "-z", "*.b2*"], cwd=mount.path("clone"), capture_output=True,
                                    check=True, timeout=daemon.DEADLINE_S).stdout
            self.assertGreater(listed.count(b"\0"), 0)


if __name__ == "__main__":
    unittest.main()
