"""framefs doctor: what this machine and a path lack for mounts."""

import json
import os
import pathlib
import shutil
import signal
import unittest

import daemon
from command_case import CommandCase

TOPICS = ["kernel", "libraries", "/dev/fuse", "fusermount3", "--allow-other", "passthrough", "inotify", "CPU", "formats",
          "memory"]


class Doctor(CommandCase):
    def examine(self, *path, code=0, **options):
        """The findings about a path, as (topic, level, text)."""
        answer = json.loads(self.framefs("doctor", "--json", *path, code=code, **options).stdout)
        self.assertEqual(answer["can_mount"], code == 0)
        return [(finding["topic"], finding["level"], finding["text"]) for finding in answer["findings"]]

    def of_path(self, *path, **options):
        return [finding for finding in self.examine(*path, **options) if finding[0] not in (*TOPICS, "Landlock", "seccomp",
                                                                                       "sandbox")]

    def assert_found(self, findings, topic, level, text):
        self.assertTrue(any(found[:2] == (topic, level) and text in found[2] for found in findings), findings)

    def test_the_machine(self):
        found = self.examine()
        topics = [topic for topic, _, _ in found if topic in TOPICS]
        self.assertEqual(topics, TOPICS)
        self.assert_found(found, "kernel", "ok", os.uname().release)
        self.assert_found(found, "libraries", "ok", "libfuse 3.")
        lines = self.framefs("doctor").stdout.decode().splitlines()
        self.assertEqual(len(lines), len(found) + 1)
        self.assertLess(len(lines), 20)
        for line in lines:
            self.assertRegex(line, r"^(ok  |note)  \S.{13} \S")

    def test_a_source(self):
        found = self.of_path(self.source)
        self.assert_found(found, "SOURCE", "ok", "a directory on ")
        self.assert_found(found, "MOUNTPOINT", "ok", "an empty directory")
        self.make_frame(b"content", self.source / "x.b2frame")
        self.assert_found(self.of_path(self.source / "x.b2frame"), "SOURCE", "ok", "one frame on ")
        self.assert_found(self.of_path(self.source), "MOUNTPOINT", "note", "not empty; --nonempty")
        text = self.folder / "text"
        text.write_bytes(b"no frame")
        found = self.of_path(text)
        self.assert_found(found, "SOURCE", "note", "neither a directory nor a frame")
        self.assert_found(found, "MOUNTPOINT", "ok", "a file, for one frame")
        self.assert_found(self.of_path("https://example.org/x"), "SOURCE", "ok", "a URL")
        self.assert_found(self.of_path("/proc"), "SOURCE", "note", "no O_TMPFILE")

    def test_a_path_that_can_be_neither(self):
        self.assert_found(self.of_path(self.folder / "none", code=1), "path", "bad", "No such file or directory; mkdir -p")
        self.assert_found(self.of_path("/dev/null", code=1), "MOUNTPOINT", "bad", "neither a directory nor a file")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_another_user(self):
        self.folder.chmod(0o755)
        program = shutil.copy(daemon.FRAMEFS, self.folder)
        lock = self.source / "x.b2frame.b2lock"
        lock.touch(mode=0o600)
        self.source.chmod(0o777)
        user = {"user": 65534, "group": 65534, "extra_groups": []}

        def findings(path):
            answer = json.loads(self.tool(program, "doctor", "--json", path, check=False, **user).stdout)
            return [(found["topic"], found["level"], found["text"]) for found in answer["findings"]]

        self.assert_found(findings(self.source), "lock files", "note", "1 of 1 cannot be opened by this user")
        found = findings(self.mountpoint)
        self.assert_found(found, "SOURCE", "note", "this user may not write there")
        self.assert_found(found, "MOUNTPOINT", "note", "fusermount3 requires it")

    @unittest.skipIf(daemon.SANITIZED, "a sanitizer starts slowly")
    def test_mounts(self):
        with self.mount() as mount:
            self.assert_found(self.of_path(self.mountpoint), "MOUNTPOINT", "ok", f"the daemon is process {mount.pid}")
            os.kill(mount.pid, signal.SIGSTOP)
            self.addCleanup(mount.kill)
            daemon.wait_for(lambda: " T " in pathlib.Path(f"/proc/{mount.pid}/stat").read_text(), "the stop")
            self.assert_found(self.of_path(self.mountpoint, code=1), "MOUNTPOINT", "bad", f"kill -CONT {mount.pid}")
            os.kill(mount.pid, signal.SIGCONT)

    @unittest.skipIf(daemon.SANITIZED, "a sanitizer starts slowly")
    def test_a_stopped_daemon_is_not_asked(self):
        link = self.folder / "link"
        link.symlink_to("link-to-mnt")
        (self.folder / "link-to-mnt").symlink_to(self.mountpoint)
        with self.mount("--attr-timeout", "0") as mount:
            self.assert_found(self.of_path(link), "MOUNTPOINT", "ok", f"the daemon is process {mount.pid}")
            os.kill(mount.pid, signal.SIGSTOP)
            self.addCleanup(mount.kill)
            daemon.wait_for(lambda: " T " in pathlib.Path(f"/proc/{mount.pid}/stat").read_text(), "the stop")
            for path in (self.mountpoint, f"{self.mountpoint}/", link, "mnt"):
                self.assert_found(self.of_path(path, code=1), "MOUNTPOINT", "bad", f"kill -CONT {mount.pid}")
            os.kill(mount.pid, signal.SIGCONT)

    def test_a_stale_mount(self):
        self.leave_stale_mount()
        try:
            self.assert_found(self.of_path(self.mountpoint, code=1), "MOUNTPOINT", "bad", "--replace-stale")
        finally:
            self.tool("fusermount3", "-u", self.mountpoint)

    def test_the_version_names_libraries_and_features(self):
        lines = self.framefs("--version").stdout.decode().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[1], r"^libraries: libfuse \S+, zstd \S+, lz4 \S+, libdeflate \S+, libcurl ")
        self.assertRegex(lines[2], r"^features: .*ZFP, Snappy, .*; loops for ")


if __name__ == "__main__":
    unittest.main()
