"""The commands of README.md and of the man page's EXAMPLES, extracted from the documents and run.

Each command runs in a new home folder with sample data.  Some things differ from a reader's
machine: paths in /srv lie in that folder, s3://bucket is a server of the test, and the helper of
mount(8) is called directly, because mount(8) runs only an installed one.  Users other than root
need a line in /etc/fuse.conf for --allow-other.
"""

import os
import re
import subprocess
import unittest

import numpy
from daemon import DEADLINE_S, FRAMEFS, ROOT, mounts_at, unmount, wait_for
from object_server import BUCKET
from remote_case import ENVIRONMENT, RemoteCase

README = (ROOT / "README.md").read_text()
MAN_PAGE = (ROOT / "src/man/framefs.1").read_text()

# Commands that no test runs here, and why.
LEFT_OUT = {
    "scripts/framefs SOURCE MOUNTPOINT": "it builds the program; tests/scripts/test_framefs.py",
    "scripts/test": "it runs this test, and scripts/test --in runs it in a bare chroot",
}


def blocks(section):
    """The indented blocks of a section of README.md, as lists of lines."""
    text = README.partition(f"\n## {section}\n")[2].partition("\n## ")[0] if section else \
        README.partition("\n## ")[0]
    found = re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
    return [[line[4:] for line in block.splitlines()] for block in found]


def without_comment(line):
    return re.sub(r"\s{2,}#.*|\s#\s.*", "", line).strip()


def recipes():
    """The commands of README.md's recipes, in their order."""
    # An empty line separates the commands for mounts from the others.
    return [without_comment(line) for block in blocks("Recipes")[:2] for line in block]


def examples():
    """The commands of the man page's EXAMPLES."""
    text = MAN_PAGE.partition(".SH EXAMPLES\n.nf\n")[2].partition(".fi")[0]
    return text.replace("\\-", "-").splitlines()


def runnable(command):
    """The command as it runs here."""
    # mount(8) calls its helper with the options last.
    helper = re.sub(r"^mount -t framefs -o (\S+) (\S+) (\S+)$", r"mount.framefs \2 \3 -o \1", command)
    if os.geteuid() != 0:
        helper = helper.replace(" --allow-other", "").replace("allow_other,", "")
    return helper.replace("/srv/", "~/srv/")


class Documents(RemoteCase):
    def setUp(self):
        super().setUp()
        self.text = b"2024-01-01 ERROR needle\n2024-01-02 INFO line\n" * 5000
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        for name in ("framefs", "mount.framefs"):
            (self.programs / name).symlink_to(FRAMEFS)
        # The other host is this one.
        ssh = self.programs / "ssh"
        ssh.write_text('#!/bin/sh\nshift\nexec "$@"\n', encoding="utf-8")
        ssh.chmod(0o755)
        self.homes = 0
        self.addCleanup(self.unmount_all)

    def make_home(self):
        """A folder with the files that the documents name."""
        self.unmount_all()
        self.homes += 1
        home = self.home = self.folder / f"home{self.homes}"
        for folder in ("data", "plain", "srv/frames", "srv/plain"):
            (home / folder).mkdir(parents=True)
        array = numpy.arange(4000 * 8, dtype="<f4").reshape(4000, 8)
        for folder in (home / "data", home / "srv/frames"):
            self.make_frame(self.text, folder / "app.log.b2frame")
            self.make_array(array, folder / "field.b2nd")
        frame = self.make_frame(self.text, home / "run1.b2frame")
        self.make_frame(self.text, home / "app.log.b2frame")
        self.make_array(array, home / "field.b2nd")
        (home / "run1.bin").write_bytes(self.text)
        (home / "image.bin").write_bytes(bytes(4096) + frame.read_bytes())

    def make_array(self, array, path):
        numpy.save(self.folder / "array.npy", array)
        self.tool(FRAMEFS, "pack", self.folder / "array.npy", "-o", path)

    def mounts(self):
        prefix = f"{self.folder}/home"
        lines = (line.split() for line in open("/proc/self/mountinfo", encoding="utf-8"))
        return [line[4] for line in lines if line[4].startswith(prefix)]

    def unmount_all(self):
        for mount in self.mounts():
            wait_for(lambda: not mounts_at(mount) or unmount(mount).returncode == 0, f"unmounting {mount}")

    def shell(self, script, **variables):
        path = f"{self.programs}:/usr/sbin:/usr/bin:/sbin:/bin"
        environment = {"HOME": str(self.home), "PATH": path, "LC_ALL": "C", **variables}
        self._commands.append(script)
        return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.home, env=environment,
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                              stdin=subprocess.DEVNULL)

    def files(self):
        return {path: path.stat().st_size for path in self.home.rglob("*") if path.is_file()}

    def server_variables(self):
        self.assertEqual(BUCKET, "bucket")  # as in the documents
        server = self.serve({"prefix/app.log.b2frame": (self.home / "app.log.b2frame").read_bytes()})
        return {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": server.url, "AWS_REGION": "us-east-1"}

    def check(self, command):
        """Runs one command, which must make a mount that shows files, make a file, or print."""
        self.make_home()
        variables = self.server_variables() if "s3://" in command else {}
        if command.startswith("framefs pack ~/plain"):
            (self.home / "plain/notes.txt").write_bytes(self.text)
        if command.startswith("framefs list"):
            self.assertEqual(self.shell("framefs data plain").returncode, 0)
        before = self.files()
        done = self.shell(runnable(command), **variables)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        for place in self.mounts():
            self.assertTrue(os.path.isfile(place) or os.listdir(place), command)
            if os.path.isfile(place):
                with open(place, "rb") as file:
                    self.assertEqual(file.read(), self.text)
        effects = self.mounts() or before != self.files() or done.stdout or done.stderr
        self.assertTrue(effects, f"{command} did nothing")

    def test_the_recipes(self):
        commands = recipes()
        self.assertGreater(len(commands), 15)
        for command in commands:
            with self.subTest(command):
                self.check(command)

    def test_the_examples_of_the_man_page(self):
        commands = examples()
        self.assertGreater(len(commands), 8)
        for command in commands:
            with self.subTest(command):
                self.check(command)

    def test_the_transcript(self):
        """Its commands, in order; the names and the sizes in it depend on the data."""
        self.make_home()
        (transcript,) = blocks(None)
        commands = [line[2:] for line in transcript if line.startswith("$ ")]
        self.assertEqual(commands[-1], "framefs umount plain")
        done = self.shell("\n".join(commands))
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("app.log.b2frame", "field.b2nd", "app.log", "field.npy", "5000"):
            self.assertRegex(done.stdout, rf"(?m)\b{re.escape(name)}$")
        self.assertEqual(self.mounts(), [])

    def test_the_line_of_fstab(self):
        (line,) = next(block for block in blocks("Recipes") if " framefs " in block[0] and "/srv" == block[0][:4])
        source, mountpoint, kind, options, _, _ = line.split()
        self.assertEqual(kind, "framefs")
        options = options.replace(",nofail", "")  # mount(8) keeps this word to itself
        self.check(f"mount -t framefs -o {options} {source} {mountpoint}")

    def test_the_lines_of_python(self):
        lines = next(block for block in blocks("Recipes") if block[0].startswith("array = "))
        self.make_home()
        self.assertEqual(self.shell("framefs data plain").returncode, 0)
        python = [line for line in lines if not line.startswith("sqlite3")]
        (query,) = [line for line in lines if line.startswith("sqlite3")]
        done = self.shell("/usr/bin/python3 - <<'END'\nimport h5py, numpy\n" + "\n".join(python) + "\nEND")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.shell("sqlite3 plain/log.db 'CREATE TABLE line(x); INSERT INTO line VALUES(1)'; " + query)
        self.assertEqual((done.stdout.strip(), done.stderr), ("1", ""))
        self.assertEqual(sorted(os.listdir(self.home / "plain")),
                         ["app.log", "field.npy", "log.db", "new.f64", "run.h5"])

    def test_every_command_is_run_or_left_out_for_a_reason(self):
        commands = [without_comment(line) for block in blocks("The two commands") for line in block]
        self.assertEqual(set(commands), set(LEFT_OUT))


if __name__ == "__main__":
    unittest.main()
