"""The base class of tests of commands that do not mount."""

import json
import pty
import unittest

import daemon
from case import MountCase


def open_terminal():
    """Both ends of a pseudo-terminal."""
    try:
        return pty.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no terminals here, as in a chroot without /dev/pts: {error}") from error


class CommandCase(MountCase):
    @classmethod
    def setUpClass(cls):
        if not daemon.FRAMEFS.is_file():
            raise AssertionError(f"no program at {daemon.FRAMEFS}; FRAMEFS names another")

    def framefs(self, *arguments, code=0, **options):
        """Runs framefs, which must end with this exit code."""
        result = self.tool(daemon.FRAMEFS, *arguments, check=False, **options)
        told = b"".join(text[-2000:] for text in (result.stdout, result.stderr) if text).decode(errors="replace")
        self.assertEqual(result.returncode, code, f"{arguments}: {told}")
        self.assertIsNone(daemon.SUSPICIOUS.search(result.stderr.decode(errors="replace")), result.stderr)
        return result

    def info(self, *arguments, code=0, **options):
        """The output of `framefs info --json`, which is always JSON."""
        return json.loads(self.framefs("info", "--json", *arguments, code=code, **options).stdout)

    def assert_refused(self, *arguments, cause, **options):
        """Checks for a usage error: exit code 2, and the cause on standard error."""
        result = self.framefs(*arguments, code=2, **options)
        self.assertEqual(result.stdout, b"")
        self.assertIn(cause, result.stderr.decode())
        self.assertTrue(result.stderr.startswith(b"framefs: "), result.stderr)

    def assert_fails(self, *arguments, cause, **options):
        """Checks for a failure: exit code 1, and the cause on standard error."""
        result = self.framefs(*arguments, code=1, **options)
        self.assertIn(cause, result.stderr.decode())
        self.assertTrue(result.stderr.startswith(b"framefs: "), result.stderr)
        return result
