"""Runs the unittest cases below a folder and prints counts for scripts.

    run_unittest.py [--jobs N] FOLDER [PATTERN...]    PATTERN: as for `python3 -m unittest -k`

With --jobs, up to N modules run at a time, each in a process of its own whose output is printed when it ends.

The last line is `counts: PASSED FAILED SKIPPED`.  A test with several failed subtests counts once.  An
error outside of any test (an import, setUpClass) counts as one failure, and so does a process that ended before
its tests.  Exit code: 0; 1 if a test failed, none was found, or none matches one of the patterns; 77 if all
tests were skipped.
"""

import argparse
import fnmatch
import os
import pickle
import shutil
import signal
import sys
import tempfile
import traceback
import unittest


class CountingResult(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.passed = 0
        self.failed_ids = set()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.failed_ids.add(test.id())

    def addError(self, test, err):
        super().addError(test, err)
        self.failed_ids.add(test.id())

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.failed_ids.add(test.id())

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.passed += 1

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.failed_ids.add(test.id())


def tests_in(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_in(item)
        else:
            yield item


def run(suite):
    """The numbers of tests that passed, failed and were skipped."""
    result = unittest.TextTestRunner(verbosity=2, resultclass=CountingResult).run(suite)
    return result.passed, len(result.failed_ids), len(result.skipped)


class Process:
    """Runs a suite in a process of its own."""

    def __init__(self, suite):
        self._output = tempfile.TemporaryFile()
        self._counts = tempfile.TemporaryFile()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.dup2(self._output.fileno(), 1)
            os.dup2(self._output.fileno(), 2)
            status = 1
            try:
                pickle.dump(run(suite), self._counts)
                self._counts.flush()
                status = 0
            except BaseException:
                # The caller's handlers are for the parent: they would end the other suites.
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def print_output(self):
        self._output.seek(0)
        shutil.copyfileobj(self._output, sys.stderr.buffer)

    def counts(self, status):
        """After its end with a status of wait(2)."""
        if status != 0:
            print(f"\nended before its tests: {os.waitstatus_to_exitcode(status)}", file=sys.stderr)
            return 0, 1, 0
        self._counts.seek(0)
        return pickle.load(self._counts)


def run_in_processes(suites, jobs):
    total = (0, 0, 0)
    running = {}
    # The deadline of a caller: what the tests printed tells which of them hang.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        while suites or running:
            while suites and len(running) < jobs:
                process = Process(suites.pop(0))
                running[process.pid] = process
            pid, status = os.wait()
            process = running.pop(pid)
            process.print_output()
            total = tuple(map(sum, zip(total, process.counts(status))))
    finally:
        for process in running.values():
            os.kill(process.pid, signal.SIGKILL)
            process.print_output()
    return total


def modules_of(tests):
    """A suite for each module."""
    modules = {}
    for test in tests:
        modules.setdefault(type(test).__module__, unittest.TestSuite()).addTest(test)
    return list(modules.values())


def main():
    # A shell starts background commands with these signals ignored, and the tested programs would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("folder")
    parser.add_argument("patterns", nargs="*")
    arguments = parser.parse_args()
    loader = unittest.TestLoader()
    patterns = [p if "*" in p else f"*{p}*" for p in arguments.patterns]
    if patterns:
        loader.testNamePatterns = patterns
    suite = loader.discover(arguments.folder)
    tests = list(tests_in(suite))
    for pattern in patterns:
        if not fnmatch.filter((test.id() for test in tests), pattern):
            sys.exit(f"no test matches {pattern}")
    passed, failed, skipped = run_in_processes(modules_of(tests), arguments.jobs) if arguments.jobs > 1 else run(suite)
    print(f"counts: {passed} {failed} {skipped}", file=sys.stderr)
    if failed or passed + skipped == 0:
        return 1
    return 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
