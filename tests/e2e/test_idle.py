"""A mount that ends by itself when it is not used."""

import os
import subprocess
import unittest

import daemon
from case import MountCase
from daemon import FRAMEFS, daemons_with, mounts_at, unmount, wait_for

CONTENT = b"some content\n" * 1000
SHORT = ("--idle", "0.2")


class Idle(MountCase):
    def setUp(self):
        self.frame = self.make_frame(CONTENT, self.source / "a.b2frame")

    def wait_for_end(self, mount):
        mount.process.wait()
        mount.check_ended(exit_code=0)
        self.assertIn("without use", mount.log())

    def wait_longer(self):
        """Returns after several idle times of the tested mounts: when a mount with a longer idle
        time has ended."""
        other = self.folder / "other"
        other.mkdir(exist_ok=True)
        with self.mount("--idle", "1.5", mountpoint=other) as clock:
            self.wait_for_end(clock)

    def check_that_it_stays(self, mount):
        self.wait_longer()
        self.assertEqual(mounts_at(self.mountpoint), ["fuse.framefs"])
        self.assertIsNone(mount.process.poll())

    def test_a_mount_without_use_ends(self):
        with self.mount(*SHORT) as mount:
            self.wait_for_end(mount)
        self.assertEqual(os.listdir(self.mountpoint), [])

    def test_without_the_sandbox(self):
        with self.mount(*SHORT, "--no-sandbox") as mount:
            self.wait_for_end(mount)

    def test_the_mountpoint_may_be_a_link(self):
        link = self.folder / "link"
        link.symlink_to("mnt")
        self.tool(FRAMEFS, self.source, link, "--idle", "0.2")
        wait_for(lambda: not mounts_at(self.mountpoint), "the mount to end")
        wait_for(lambda: not daemons_with(link), "the daemon to end")

    def test_an_open_file_keeps_it(self):
        with self.mount(*SHORT) as mount:
            with open(mount.path("a"), "rb") as file:
                self.check_that_it_stays(mount)
                self.assertEqual(file.read(), CONTENT)
            self.wait_for_end(mount)

    def test_a_working_directory_keeps_it(self):
        with self.mount(*SHORT) as mount:
            with subprocess.Popen(["cat"], cwd=mount.path(), stdin=subprocess.PIPE) as process:
                self.check_that_it_stays(mount)
                process.stdin.close()
            self.wait_for_end(mount)

    def test_written_data_is_stored_first(self):
        with self.mount(*SHORT, "--commit-interval", "3600") as mount:
            mount.path("new").write_bytes(CONTENT)
            self.wait_for_end(mount)
        with self.mount("--ro") as mount:
            self.assertEqual(mount.path("new").read_bytes(), CONTENT)

    def test_in_the_background_as_an_automount_mounts_it(self):
        for _ in range(2):
            self.tool(FRAMEFS, self.source, self.mountpoint, "-o", "noauto,x-systemd.automount,idle=0.2")
            wait_for(lambda: not mounts_at(self.mountpoint), "the mount to end")
            wait_for(lambda: not daemons_with(self.mountpoint), "the daemon to end")

    def test_a_mount_over_it_is_left_alone(self):
        both = ["fuse.framefs"] * 2
        with self.mount(*SHORT) as mount:
            over = daemon.Mount(self.source, self.mountpoint, "--nonempty", log=self.folder / "over.log")
            with open(mount.path("a"), "rb"):  # keeps the mount until the other one is there
                over.__enter__()
                self.addCleanup(over.kill)
                wait_for(lambda: mounts_at(self.mountpoint) == both, "the mount over it")
            self.wait_longer()
            self.assertEqual(mounts_at(self.mountpoint), both)
            self.assertEqual(over.path("a").read_bytes(), CONTENT)
            wait_for(lambda: unmount(self.mountpoint).returncode == 0, "the mount over it to end")
            self.wait_for_end(mount)


if __name__ == "__main__":
    unittest.main()
