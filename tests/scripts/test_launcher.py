"""Tests of the launcher of the tarball (packaging/bundle), which starts a small program here."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "packaging/bundle"

# Prints its name, its C library, and its executable; "again" starts the latter once more, as the
# daemon does with its watchdog.
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char zeros[100000];
static int value = 7;
_Thread_local int of_thread = 5;

int main(int argc, char** argv) {
  Dl_info library;
  char executable[4096] = {0};
  dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &library);
  if (readlink("/proc/self/exe", executable, sizeof(executable) - 1) < 0) return 1;
  printf("%s|%s|%s|%d\n", argv[0], realpath(library.dli_fname, NULL), executable, argc);
  fflush(stdout);
  for (size_t i = 0; i < sizeof(zeros); ++i) if (zeros[i] != 0) return 2;
  if (value != 7 || of_thread != 5 || getenv("LD_LIBRARY_PATH")) return 3;
  if (argc == 2 && strcmp(argv[1], "again") == 0) {
    execl("/proc/self/exe", "another-name", (char*)NULL);
    return 4;
  }
  return argc == 2 && strcmp(argv[1], "fail") == 0 ? 42 : 0;
}
"""


def compile_options():
    """The options of the launcher in its CMakeLists.txt."""
    text = re.sub(r"#.*", "", (BUNDLE / "CMakeLists.txt").read_text())
    options = re.search(r"target_compile_options\(\s*framefs_launcher\s+PRIVATE([^)]*)\)", text)[1].split()
    return options + re.search(r"target_link_options\(\s*framefs_launcher PRIVATE([^)]*)\)", text)[1].split()


class Launcher(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="framefs-launcher-")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.bundle = cls.folder / "a bundle"
        cls.launcher = cls.bundle / "bin/framefs"
        cls.libraries = cls.bundle / "lib/framefs"
        cls.launcher.parent.mkdir(parents=True)
        cls.libraries.mkdir(parents=True)
        cls.run_quietly("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", *compile_options(),
                        BUNDLE / "launcher.cc", "-o", cls.launcher)
        source = cls.folder / "program.c"
        source.write_text(PROGRAM)
        program = cls.libraries / "framefs"
        cls.run_quietly("gcc", "-pie", "-fPIE", source, "-Wl,--disable-new-dtags",
                        "-Wl,-rpath,$ORIGIN/../lib/framefs", "-o", program)
        listing = cls.run_quietly("ldd", program)
        for path in re.findall(r"(/\S+) \(0x", listing):
            shutil.copy(path, cls.libraries)

    @staticmethod
    def run_quietly(*command):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def shown(self, *command, name, count=1, code=0, **where):
        done = subprocess.run(command, capture_output=True, text=True, check=False, **where)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        self.assertEqual(done.stdout.splitlines()[0],
                         f"{name}|{self.libraries}/libc.so.6|{self.launcher}|{count}")
        return done.stdout.splitlines()

    def test_it_has_no_loader_and_no_relocations(self):
        self.assertNotIn("INTERP", self.run_quietly("readelf", "-lW", self.launcher))
        self.assertIn("no relocations", self.run_quietly("readelf", "-rW", self.launcher))

    def test_paths_that_lead_to_it(self):
        self.shown(self.launcher, name=self.launcher)
        self.shown("bin/framefs", name="bin/framefs", cwd=self.bundle)
        self.shown("./framefs", "x", name="./framefs", count=2, cwd=self.launcher.parent)
        self.shown("framefs", name="framefs", env={"PATH": str(self.launcher.parent)})
        second = self.folder / "links"
        second.mkdir()
        (second / "first").symlink_to(self.launcher)
        (second / "mount.framefs").symlink_to("first")
        self.shown("mount.framefs", name="mount.framefs", env={"PATH": str(second)})

    def test_arguments_exit_codes_and_another_start(self):
        self.shown(self.launcher, "fail", name=self.launcher, count=2, code=42)
        lines = self.shown(self.launcher, "again", name=self.launcher, count=2)
        self.assertEqual(lines[1:], [f"another-name|{self.libraries}/libc.so.6|{self.launcher}|1"])

    def test_a_moved_folder(self):
        moved = self.folder / "elsewhere/in/depth"
        moved.parent.mkdir(parents=True)
        shutil.copytree(self.bundle, moved, symlinks=True)
        line = self.run_quietly(moved / "bin/framefs")
        self.assertEqual(line, f"{moved}/bin/framefs|{moved}/lib/framefs/libc.so.6|{moved}/bin/framefs|1\n")

    def failure(self, launcher, **options):
        done = subprocess.run([launcher], capture_output=True, text=True, check=False, **options)
        self.assertEqual((done.returncode, done.stdout), (126, ""))
        return done.stderr

    def test_messages(self):
        alone = self.folder / "bin/framefs"
        alone.parent.mkdir()
        shutil.copy(self.launcher, alone)
        program = self.folder / "lib/framefs/framefs"
        self.assertEqual(self.failure(alone),
                         f"framefs: the folders bin and lib belong together: cannot open {program}\n")
        program.parent.mkdir(parents=True)
        program.write_bytes(b"")
        self.assertEqual(self.failure(alone), f"framefs: cannot read {program}\n")
        program.write_bytes(bytes(1000))
        self.assertEqual(self.failure(alone), f"framefs: not a program for this machine: {program}\n")
        content = (self.libraries / "framefs").read_bytes()
        program.write_bytes(content[:100])
        self.assertEqual(self.failure(alone), f"framefs: cannot read {program}\n")
        program.write_bytes(content)
        loader = next(self.libraries.glob("ld-linux*")).name
        self.assertIn(f"cannot open {program.parent / loader}", self.failure(alone))

    @unittest.skipIf(os.geteuid() != 0, "only root can change its root")
    def test_without_proc(self):
        def enter():
            os.chroot(self.bundle)
            os.chdir("/")
        self.assertEqual(self.failure("/bin/framefs", preexec_fn=enter),
                         "framefs: cannot read /proc/self/exe: /proc must be mounted\n")


if __name__ == "__main__":
    unittest.main()
