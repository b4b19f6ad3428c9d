"""Runs the unittest cases below a folder and ends with counts that a script can read.

    run_unittest.py FOLDER [PATTERN...]      PATTERN: as for `python3 -m unittest -k`

The last line is `counts: PASSED FAILED SKIPPED`.  A test that fails in several ways or subtests
counts once; what goes wrong outside any test (a module that does not import, setUpClass) counts as
one failure.  Exit code: 0, 1 where anything failed or nothing was found, 77 where all was skipped.
"""

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


def main():
    folder, *patterns = sys.argv[1:]
    loader = unittest.TestLoader()
    if patterns:
        loader.testNamePatterns = [p if "*" in p else f"*{p}*" for p in patterns]
    suite = loader.discover(folder)
    result = unittest.TextTestRunner(verbosity=2, resultclass=CountingResult).run(suite)
    passed, failed, skipped = result.passed, len(result.failed_ids), len(result.skipped)
    print(f"counts: {passed} {failed} {skipped}", file=sys.stderr)
    if failed or passed + skipped == 0:
        return 1
    return 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
