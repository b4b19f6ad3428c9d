"""The mount namespace of a root daemon, and the mounts of the system."""

import contextlib
import os
import pathlib
import unittest

import daemon
from case import MountCase
from daemon import mounts_at, wait_for


@unittest.skipIf(daemon.SANITIZED, "programs with a sanitizer have no sandbox")
@unittest.skipUnless(os.geteuid() == 0, "only root has a mount namespace of its own")
class OwnMounts(MountCase):
    """`self.shared` is a filesystem whose mount is shared, as all are on a system with systemd."""

    def setUp(self):
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        self.make_tmpfs(self.shared)
        self.tool("mount", "--make-rshared", self.shared)
        (self.shared / "s").mkdir()
        self.make_frame(b"content", self.shared / "s/f.b2frame")

    def make_tmpfs(self, path):
        self.tool("mount", "-t", "tmpfs", "-o", "size=16m", "none", path)
        self.addCleanup(self.tool, "umount", "-l", path, check=False)

    def mounts_of(self, mount):
        """The mounts that the daemon sees, as lines of the kernel's table."""
        text = pathlib.Path(f"/proc/{mount.pid}/mountinfo").read_text()
        if os.readlink(f"/proc/{mount.pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt"):
            self.skipTest(f"no mount namespace here: {mount.log()}")
        return text.splitlines()

    def test_it_holds_source_and_little_of_the_system(self):
        source = self.shared / "s"
        for options in ((), ("--ro",)):
            with self.subTest(options), self.mount(*options, source=source) as mount:
                lines = [line.split() for line in self.mounts_of(mount)]
                places = {line[4] for line in lines}
                self.assertIn(os.fspath(source), places)
                system = ("/proc", "/sys/devices/system/", "/usr/lib", "/usr/share/zoneinfo", "/dev/null", "/dev/log")
                others = {place for place in places if not place.startswith(system)}
                self.assertEqual(others, {"/", os.fspath(source)})
                for line in lines:
                    is_source = line[4] == os.fspath(source)
                    self.assertEqual("rw" in line[5].split(","), is_source and not options, line)
                    if is_source:
                        self.assertLessEqual({"nosuid", "nodev", "noexec"}, set(line[5].split(",")))
                        self.assertEqual("noatime" in line[5].split(","), bool(options))

    def test_a_mount_onto_its_source(self):
        source = self.shared / "s"
        with self.mount(source=source, mountpoint=source) as mount:
            self.assertFalse([line for line in self.mounts_of(mount) if "fuse.framefs" in line])
            self.assertEqual(mount.path("f").read_bytes(), b"content")
            mount.path("new").write_bytes(b"written")
        self.assertEqual(sorted(os.listdir(source)), ["f.b2frame", "new.b2frame"])
        self.assertEqual(mounts_at(source), [])

    def test_a_mount_beside_a_source_that_is_a_file(self):
        (self.shared / "s/here").mkdir()
        with self.mount(source=self.shared / "s/f.b2frame", mountpoint=self.shared / "s/here") as mount:
            self.assertFalse([line for line in self.mounts_of(mount) if "fuse.framefs" in line])
            self.assertEqual(mount.path("f").read_bytes(), b"content")

    def test_mounts_below_source(self):
        source = self.shared / "s"
        for name in ("before", "later"):
            (source / name).mkdir()
        self.make_tmpfs(source / "before")
        (source / "before/file").write_bytes(b"before")
        with self.mount("--attr-timeout", "0", source=source) as mount:
            self.mounts_of(mount)
            self.assertEqual(mount.path("before/file").read_bytes(), b"before")
            self.make_tmpfs(source / "later")
            self.make_frame(b"later", source / "later/g.b2frame")
            self.assertEqual(mount.path("later/g").read_bytes(), b"later")
            mount.path("later/h").write_bytes(b"new")
            self.assertTrue((source / "later/h.b2frame").exists())
            # The frame is committed and closed soon.
            unmounted = lambda: self.tool("umount", source / "later", check=False).returncode == 0
            wait_for(unmounted, "the filesystem to be unused")
            self.assertEqual(os.listdir(mount.path("later")), [])
            with open(mount.path("before/file"), "rb"):
                self.assertNotEqual(self.tool("umount", source / "before", check=False).returncode, 0)

    def test_the_filesystem_of_source_is_busy_while_it_is_used(self):
        with self.mount(source=self.shared / "s") as mount:
            self.mounts_of(mount)
            self.assertNotEqual(self.tool("umount", self.shared, check=False).returncode, 0)
            pid = mount.pid
        wait_for(lambda: not daemon.is_running(pid), "the end of the daemon")
        self.tool("umount", self.shared)

    def test_a_killed_daemon_leaves_nothing_behind(self):
        for mountpoint in (self.mountpoint, self.shared / "s"):
            with self.subTest(mountpoint=mountpoint), contextlib.ExitStack() as stack:
                mount = self.mount(source=self.shared / "s", mountpoint=mountpoint)
                mount.__enter__()
                stack.callback(mount.kill)
                self.mounts_of(mount)
                mount.process.kill()
                mount.process.wait()
                wait_for(lambda path=mountpoint: mounts_at(path) == [], "the watchdog to unmount")
                with self.mount(source=self.shared / "s", mountpoint=mountpoint) as again:
                    self.assertEqual(again.path("f").read_bytes(), b"content")

    def test_access_times_of_a_read_only_mount(self):
        path = self.shared / "s/plain"
        path.write_bytes(b"content")
        os.chown(path, 1000, 1000)
        os.utime(path, (1, 10))
        with self.mount("--ro", source=self.shared / "s") as mount:
            self.assertEqual(mount.path("plain").read_bytes(), b"content")
        self.assertEqual(path.stat().st_atime, 1)

    def test_remounted_read_only(self):
        with self.mount(source=self.shared / "s") as mount:
            self.mounts_of(mount)
            self.tool("mount", "-i", "-o", "remount,ro", self.mountpoint)
            with self.assertRaises(OSError):
                mount.path("new").touch()
            self.assertEqual(mount.path("f").read_bytes(), b"content")


if __name__ == "__main__":
    unittest.main()
