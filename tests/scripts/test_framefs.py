"""Tests of scripts/framefs, with a small replacement for the program that builds in a second."""

import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.25)
project(stand_in LANGUAGES CXX)
add_executable(framefs main.cc)
"""

# Prints its working directory, its arguments and its inherited descriptors.
MAIN = r"""
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
int main(int argc, char** argv) {
  char cwd[4096];
  std::printf("%s\n", getcwd(cwd, sizeof cwd));
  for (int i = 1; i < argc; ++i) std::printf("<%s>\n", argv[i]);
  for (int fd = 3; fd < 64; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) std::printf("inherited %d\n", fd);
  }
  return 7;
}
"""


class Launcher(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The real path: the program's arguments must not depend on links in the temporary folder.
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="framefs launcher ")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        cls.checkout = cls.make_checkout("checkout")
        cls.first = cls.run_framefs(cls.checkout)

    @classmethod
    def make_checkout(cls, name):
        checkout = cls.scratch / name
        checkout.mkdir()
        shutil.copytree(ROOT / "scripts", checkout / "scripts")
        shutil.copy(ROOT / "CMakePresets.json", checkout)
        (checkout / "CMakeLists.txt").write_text(CMAKE_LISTS)
        (checkout / "main.cc").write_text(MAIN)
        (checkout / "src").mkdir()
        shutil.copy(ROOT / "src/commands.cc", checkout / "src")
        return checkout

    @staticmethod
    def run_framefs(checkout, *arguments, cwd="/", script=None):
        script = script or checkout / "scripts/framefs"
        return subprocess.run(
            [script, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300,
            stdin=subprocess.DEVNULL)

    def edit(self, old, new):
        source = self.checkout / "main.cc"
        source.write_text(source.read_text().replace(old, new))

    def test_the_first_call_builds_and_runs(self):
        self.assertEqual(self.first.returncode, 7)
        self.assertEqual(self.first.stdout, "/\n")
        self.assertTrue((self.checkout / "build/framefs").is_file())

    def test_the_first_build_says_what_it_does_and_later_ones_are_silent(self):
        """Without a terminal, too: the first build takes minutes."""
        self.assertEqual(self.first.stderr, "framefs: building framefs; this happens once and takes a few minutes\n"
                                            "framefs: framefs is built\n")
        self.assertEqual(self.run_framefs(self.checkout).stderr, "")

    def test_commands_are_those_of_the_program(self):
        """A command has no SOURCE and MOUNTPOINT, nor has a misspelt command."""
        empty = self.scratch / "empty"
        (empty / "index").mkdir(parents=True)
        for command in ("index", "info", "completion", "help", "chek"):
            got = self.run_framefs(self.checkout, command, "no such path", cwd=empty)
            self.assertEqual((got.returncode, got.stdout), (7, f"{empty}\n<{command}>\n<no such path>\n"), got.stderr)

    def test_arguments_and_working_directory_reach_the_program_unchanged(self):
        cwd = self.scratch / "some where"
        cwd.mkdir()
        (cwd / "sou rce").mkdir()
        (self.scratch / "mount*").mkdir()
        arguments = ["sou rce", "../mount*", "", "-o", "a=b c"]
        got = self.run_framefs(self.checkout, *arguments, cwd=cwd)
        self.assertEqual(got.stdout.splitlines(), [str(cwd)] + [f"<{a}>" for a in arguments])

    def test_no_descriptor_is_left_to_the_program(self):
        self.assertNotIn("inherited", self.run_framefs(self.checkout).stdout)

    def test_paths_are_checked_before_anything_is_built(self):
        checkout = self.make_checkout("unbuilt")
        source = self.scratch / "here"
        source.mkdir(exist_ok=True)
        for arguments, wanted in (([self.scratch / "missing", source], "SOURCE does not exist"),
                                  ([source, self.scratch / "no such"], "this command with --mkdir"),
                                  (["mount", source, self.scratch / "no such"], "mkdir -p")):
            got = self.run_framefs(checkout, *arguments)
            self.assertEqual((got.returncode, got.stdout), (1, ""))
            self.assertIn(wanted, got.stderr)
        self.assertFalse((checkout / "build").exists())

    def test_mkdir_makes_the_mountpoint_and_is_not_passed_on(self):
        source, mountpoint = self.scratch / "here", self.scratch / "new/mount point"
        source.mkdir(exist_ok=True)
        got = self.run_framefs(self.checkout, source, mountpoint, "--mkdir", "-f")
        self.assertEqual((got.returncode, got.stdout), (7, f"/\n<{source}>\n<{mountpoint}>\n<-f>\n"))
        self.assertTrue(mountpoint.is_dir())

    def test_it_works_through_a_symbolic_link(self):
        link = self.scratch / "link to framefs"
        link.symlink_to(self.checkout / "scripts/framefs")
        got = self.run_framefs(self.checkout, "x", script=link)
        self.assertEqual((got.stdout, got.stderr, got.returncode), ("/\n<x>\n", "", 7))

    def test_a_call_with_nothing_to_build_starts_in_well_under_a_second(self):
        took = []
        for _ in range(5):
            begin = time.monotonic()
            self.run_framefs(self.checkout)
            took.append(time.monotonic() - begin)
        self.assertLess(min(took), 0.5, took)

    def test_a_changed_source_is_built_again(self):
        self.edit("return 7", "return 8")
        try:
            self.assertEqual(self.run_framefs(self.checkout).returncode, 8)
        finally:
            self.edit("return 8", "return 7")

    def test_a_build_that_fails_shows_why_and_runs_nothing(self):
        self.edit("return 7", "return seven")
        try:
            got = self.run_framefs(self.checkout)
        finally:
            self.edit("return seven", "return 7")
        self.assertNotEqual(got.returncode, 0)
        self.assertEqual(got.stdout, "")
        self.assertIn("seven", got.stderr)
        self.assertEqual(self.run_framefs(self.checkout).returncode, 7)

    def test_a_checkout_that_was_moved_is_configured_again(self):
        before = self.make_checkout("before")
        self.assertEqual(self.run_framefs(before).returncode, 7)
        after = before.rename(self.scratch / "after")
        got = self.run_framefs(after)
        self.assertEqual((got.returncode, got.stderr), (7, ""))

    def test_two_first_calls_at_once_both_succeed(self):
        checkout = self.make_checkout("twice")
        calls = [
            subprocess.Popen([checkout / "scripts/framefs"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd="/")
            for _ in range(2)
        ]
        for call in calls:
            output, _ = call.communicate(timeout=300)
            self.assertEqual((call.returncode, output.splitlines()[-1]), (7, b"/"))


if __name__ == "__main__":
    unittest.main()
