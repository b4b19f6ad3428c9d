"""Runs the unittest cases below a folder and prints counts for scripts.

    run_unittest.py FOLDER [PATTERN...]      PATTERN: as for `python3 -m unittest -k`

The last line is `counts: PASSED FAILED SKIPPED`.  A test with several failed subtests counts once.  An
error outside of any test (an import, setUpClass) counts as one failure.  Exit code: 0; 1 if a test failed,
none was found, or none matches one of the patterns; 77 if all tests were skipped.
"""

import fnmatch
import signal
import sys
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


def main():
    # A shell starts background commands with these signals ignored, and the tested programs would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    folder, *patterns = sys.argv[1:]
    loader = unittest.TestLoader()
    patterns = [p if "*" in p else f"*{p}*" for p in patterns]
    if patterns:
        loader.testNamePatterns = patterns
    suite = loader.discover(folder)
    ids = [test.id() for test in tests_in(suite)]
    for pattern in patterns:
        if not fnmatch.filter(ids, pattern):
            sys.exit(f"no test matches {pattern}")
    result = unittest.TextTestRunner(verbosity=2, resultclass=CountingResult).run(suite)
    passed, failed, skipped = result.passed, len(result.failed_ids), len(result.skipped)
    print(f"counts: {passed} {failed} {skipped}", file=sys.stderr)
    if failed or passed + skipped == 0:
        return 1
    return 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
