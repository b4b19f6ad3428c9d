"""Tests of scripts/install-deps, with replacements for dpkg-query, apt and sudo that keep their
state in a folder."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Each of `installed`, `lists` (the packages that apt knows) and `mirror` (the packages that apt
# knows after an update) has one package name per line.  `calls` has all calls of apt-get.
STAND_INS = {
    "dpkg-query": r"""
status=0
for name in "${@:4}"; do
  if grep -qx "$name" "$state/installed"; then echo "installed $name"; else status=1; fi
done
exit "$status"
""",
    "apt-cache": r"""
if grep -qx "$2" "$state/lists"; then printf '%s:\n  Candidate: 1.0\n' "$2"; fi
""",
    "apt-get": r"""
echo "$*" >>"$state/calls"
for word in "$@"; do
  shift
  if [[ $word == update ]]; then cp "$state/mirror" "$state/lists"; exit; fi
  if [[ $word == install ]]; then break; fi
done
for name in "$@"; do
  if ! grep -qx "$name" "$state/mirror"; then echo "E: 404 for $name" >&2; exit 100; fi
done
printf '%s\n' "$@" >>"$state/installed"
""",
    "sudo": r"""
if [[ -e $state/sudo-asks ]]; then echo "a password is required" >&2; exit 1; fi
if [[ $1 == -n ]]; then shift; fi
exec "$@"
""",
}


class InstallDeps(unittest.TestCase):
    def setUp(self):
        self.state = pathlib.Path(tempfile.mkdtemp(prefix="framefs-deps-"))
        self.addCleanup(shutil.rmtree, self.state)
        for name, body in STAND_INS.items():
            program = self.state / name
            program.write_text(f"#!/bin/bash\nset -euo pipefail\nstate={self.state}\n{body}")
            program.chmod(0o755)
        (self.state / "calls").touch()
        self.names = self.names_asked_for()
        self.give("mirror", self.names)
        self.give("lists", self.names)
        self.give("installed", [])

    def give(self, what, names):
        (self.state / what).write_text("".join(f"{name}\n" for name in names))

    def read(self, what):
        return (self.state / what).read_text().splitlines()

    def run_script(self, *groups):
        return subprocess.run(
            [ROOT / "scripts/install-deps", *groups], capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL, env={"PATH": f"{self.state}:/usr/bin:/bin"})

    def names_asked_for(self):
        """The packages of two groups, as apt-get is called for them when none is installed."""
        self.give("mirror", [])
        self.give("lists", [])
        self.give("installed", [])
        words = self.run_script("build", "run").stderr.splitlines()[0].split()
        self.give("calls", [])
        return words[words.index("installing") + 1:]

    def test_the_packages_are_those_that_build_and_run(self):
        self.assertIn("g++", self.names)
        self.assertIn("libfuse3-dev", self.names)
        self.assertIn("fuse3", self.names)
        self.assertNotIn("catch2", self.names)

    def test_nothing_is_said_or_done_when_nothing_is_missing(self):
        self.give("installed", self.names)
        got = self.run_script("build", "run")
        self.assertEqual((got.returncode, got.stdout, got.stderr), (0, "", ""))
        self.assertEqual(self.read("calls"), [])

    def test_only_missing_packages_are_installed(self):
        self.give("installed", self.names[2:])
        got = self.run_script("build", "run")
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertEqual(sorted(self.read("installed")), sorted(self.names))
        (call,) = self.read("calls")
        self.assertTrue(call.endswith(" install " + " ".join(self.names[:2])), call)

    def test_the_lists_are_fetched_when_they_are_empty(self):
        self.give("lists", [])
        self.assertEqual(self.run_script("build", "run").returncode, 0)
        self.assertIn(" update", self.read("calls")[0])
        self.assertEqual(sorted(self.read("installed")), sorted(self.names))

    def test_the_lists_are_fetched_when_they_are_stale(self):
        renamed = [name for name in self.names if name != "fuse3"]
        self.give("mirror", renamed)
        got = self.run_script("build", "run")
        self.assertEqual(sum(" update" in call for call in self.read("calls")), 1)
        # Available packages are installed; the message names each missing package and a remedy.
        self.assertEqual(sorted(self.read("installed")), sorted(renamed))
        self.assertEqual(got.returncode, 1)
        self.assertIn("could not install: fuse3\n", got.stderr)
        self.assertIn("apt-get install fuse3", got.stderr)

    def test_without_rights_it_names_the_command_and_asks_nothing(self):
        (self.state / "sudo-asks").touch()
        # bash does not allow setting EUID, so the test uses a copy of the script with another
        # number instead, which acts like a user without root permissions.
        text = (ROOT / "scripts/install-deps").read_text().replace("EUID", "1000")
        (self.state / "scripts").mkdir()
        shutil.copytree(ROOT / "scripts/lib", self.state / "scripts/lib")
        program = self.state / "scripts/install-deps"
        program.write_text(text)
        program.chmod(0o755)
        got = subprocess.run(
            [program, "run"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
            env={"PATH": f"{self.state}:/usr/bin:/bin"})
        self.assertEqual(got.returncode, 1)
        self.assertIn("as root:\n      apt-get install fuse3\n", got.stderr)
        self.assertEqual(self.read("calls"), [])


if __name__ == "__main__":
    unittest.main()
