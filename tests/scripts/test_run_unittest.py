"""Tests of scripts/lib/run_unittest.py: what it counts, in one process and in several."""

import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

RUNNER = pathlib.Path(__file__).resolve().parents[2] / "scripts/lib/run_unittest.py"

MODULES = {
    "test_good": """
        def test_one(self): pass
        def test_two(self): print("a word of test_two")
        """,
    "test_skipped": """
        def test_one(self): self.skipTest("why not")
        """,
    "test_bad": """
        def test_failing(self):
            for number in range(3):
                with self.subTest(number): self.fail("a word of test_failing")
        def test_passing(self): pass
        """,
    "test_killed": """
        def test_one(self): pass
        def test_two(self): os.kill(os.getpid(), signal.SIGKILL)
        """,
    "test_hanging": """
        def test_slow(self):
            print("a word of test_slow", flush=True)
            open("started", "w").close()
            time.sleep(600)
        """,
}


class RunUnittest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="framefs-scripts-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, modules, *options):
        for old in self.folder.glob("*.py"):
            old.unlink()
        for module in modules:
            (self.folder / f"{module}.py").write_text(
                "import os, signal, time, unittest\nclass Tests(unittest.TestCase):\n"
                + textwrap.indent(textwrap.dedent(MODULES[module]), "    "))
        return subprocess.Popen([sys.executable, RUNNER, *options, self.folder], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run_modules(self, modules, *options):
        """The exit code and the output."""
        process = self.start(modules, *options)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output

    def test_processes_count_what_one_process_counts(self):
        for modules, code, counts in ((["test_good"], 0, "2 0 0"), (["test_skipped"], 77, "0 0 1"),
                                      (["test_good", "test_skipped"], 0, "2 0 1"),
                                      (["test_good", "test_skipped", "test_bad"], 1, "3 1 1")):
            for options in ((), ("--jobs", "2")):
                with self.subTest(modules=modules, options=options):
                    got, output = self.run_modules(modules, *options)
                    self.assertEqual((got, output.splitlines()[-1]), (code, f"counts: {counts}"))
                    if "test_bad" in modules:
                        self.assertIn("a word of test_failing", output)

    def test_a_process_that_is_killed_has_failed(self):
        code, output = self.run_modules(["test_good", "test_killed"], "--jobs", "2")
        self.assertEqual((code, output.splitlines()[-1]), (1, "counts: 2 1 0"))

    def test_a_deadline_shows_the_test_that_hangs(self):
        process = self.start(["test_hanging"], "--jobs", "2")
        deadline = time.monotonic() + 60
        while not (self.folder / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.terminate()
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("a word of test_slow", output)


if __name__ == "__main__":
    unittest.main()
