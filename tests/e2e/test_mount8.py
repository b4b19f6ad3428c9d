"""A mount helper as mount(8) and fstab(5) expect it: remounts, repeated options, nofail."""

import os
import pathlib
import unittest

import daemon
from case import MountCase
from daemon import FRAMEFS, mounts_at

HELPER = FRAMEFS.parent / "mount.framefs"


class Mount8(MountCase):
    def setUp(self):
        self.make_frame(b"some content\n" * 1000, self.source / "a.b2frame")
        self.addCleanup(self.clean_up_mounts)

    def clean_up_mounts(self):
        while mounts_at(self.mountpoint) and daemon.unmount(self.mountpoint, lazy=True).returncode == 0:
            pass

    def options(self):
        """The options of the mount, and those of its file system."""
        line = next(line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                    if f" {self.mountpoint} " in line)
        fields = line.split()
        return set(fields[5].split(",")), set(fields[-1].split(","))

    def remount(self, words, code=0):
        """Runs the helper; returns its messages."""
        result = self.tool(HELPER, self.source, self.mountpoint, "-o", words, check=False)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, code, message)
        if code == 0:
            self.assertEqual(message, "")
        return message

    def mount8_words(self, words):
        """The words that mount(8) passes to the helper: those of the table, and more."""
        flags, of_filesystem = self.options()
        access = "ro" if "ro" in flags else "rw"
        given = words.split(",")
        for word in given:
            access = word if word in ("ro", "rw") else access
            flags.discard("no" + word)  # "exec" takes "noexec" away
        kept = [word for word in sorted(flags) if word not in ("ro", "rw")]
        own = [word for word in given if word not in ("ro", "rw", "exec", "suid", "dev", "atime")]
        return ",".join([access, *kept, "remount", *sorted(of_filesystem - {"ro", "rw"}), *own])

    def test_mount_8_passes_what_the_table_of_mounts_shows(self):
        if os.geteuid() != 0:
            self.skipTest("remounting is root's")
        with self.mount("--allow-other", "-o", "noexec,nosuid"):
            self.assertIn("user_id=0", self.mount8_words("ro"))
            self.remount(self.mount8_words("ro"))
            self.assertLessEqual({"ro", "noexec", "nosuid"}, self.options()[0])
            self.remount(self.mount8_words("rw"))
            self.assertLessEqual({"rw", "noexec", "nosuid"}, self.options()[0])

    def test_the_real_mount_8(self):
        """In a mount namespace of its own, where mount.fuse3 finds the program."""
        if os.geteuid() != 0 or not pathlib.Path("/sbin/mount.fuse3").exists():
            self.skipTest("needs root and mount.fuse3")
        script = f"""
            set -e
            mount -t tmpfs none /usr/local/sbin
            ln -s {FRAMEFS} /usr/local/sbin/framefs
            framefs {self.source} {self.mountpoint} --acl -o noexec
            for word in ro rw nosuid exec; do
                mount -o remount,$word {self.mountpoint}
                echo $word $(findmnt -no VFS-OPTIONS {self.mountpoint})
            done
            if mount -o remount,threads=3 {self.mountpoint}; then echo taken; fi
            framefs umount {self.mountpoint}"""
        result = self.tool("unshare", "-m", "sh", "-c", script)
        lines = [line.split() for line in result.stdout.decode().splitlines()]
        flags = {word: set(options.split(",")) for word, options in lines}
        self.assertEqual(list(flags), ["ro", "rw", "nosuid", "exec"])
        self.assertLessEqual({"ro", "noexec"}, flags["ro"])
        self.assertLessEqual({"rw", "noexec"}, flags["rw"])
        self.assertLessEqual({"rw", "noexec", "nosuid"}, flags["nosuid"])
        self.assertIn("nosuid", flags["exec"])
        self.assertNotIn("noexec", flags["exec"])
        self.assertIn(b"a remount cannot change threads", result.stderr)

    def test_flags_are_changed(self):
        if os.geteuid() != 0:
            self.skipTest("remounting is root's")
        with self.mount("-o", "noatime"):
            self.remount("remount,noexec,nosuid")
            self.assertLessEqual({"rw", "noexec", "nosuid", "noatime"}, self.options()[0])
            self.remount("remount,exec")
            flags = self.options()[0]
            self.assertNotIn("noexec", flags)
            self.assertIn("nosuid", flags)
            self.remount(self.mount8_words("suid,atime"))
            self.assertFalse(self.options()[0] & {"nosuid", "noatime", "noexec"})

    def test_what_a_remount_cannot_change_is_refused(self):
        if os.geteuid() != 0:
            self.skipTest("remounting is root's")
        with self.mount("--threads", "3", "--cache-size", "64M"):
            before = self.options()
            for words, cause in (("threads=4", "threads"), ("cache_size=65M", "cache_size"), ("writeback", "writeback"),
                                 ("plain=*.txt", "plain"), ("sync", "sync"), ("keep_suffix", "keep_suffix"),
                                 ("noexec,idle=1h", "idle")):
                message = self.remount("remount," + words, code=1)
                self.assertIn(f"a remount cannot change {cause}", message)
                self.assertEqual(self.options(), before)
            # Those of fstab(5), which mount(8) passes again.
            self.remount("ro,remount,threads=3,cache_size=65536K")
            self.assertIn("ro", self.options()[0])

    def test_an_option_given_twice_counts_the_last_time(self):
        for words, flag in (("rw,cache_size=1G,cache_size=64M,attr_timeout=1,attr_timeout=2,ro,rw", "rw"), ("rw,ro", "ro")):
            self.tool(HELPER, self.source, self.mountpoint, "-o", words)
            self.assertIn(flag, self.options()[0])
            stats = self.tool(FRAMEFS, "stats", "--json", self.mountpoint).stdout.decode()
            if flag == "rw":
                self.assertIn('"budget_bytes":67108864', stats)
                self.assertIn('"attr_timeout=2"', stats)
                self.assertNotIn('"attr_timeout=1"', stats)
            self.tool(FRAMEFS, "umount", self.mountpoint)

    def test_nofail_is_about_a_missing_source(self):
        missing = self.folder / "missing"
        for words, code in (("rw", 1), ("rw,nofail", 0)):
            result = self.tool(HELPER, missing, self.mountpoint, "-o", words, check=False)
            self.assertEqual(result.returncode, code)
            self.assertIn(b"No such file or directory", result.stderr)
            self.assertEqual(mounts_at(self.mountpoint), [])
        result = self.tool(HELPER, self.source, missing, "-o", "nofail", check=False)
        self.assertEqual(result.returncode, 1)

    def test_rw_of_a_read_only_source_says_so(self):
        self.tool("sh", "-c", "head -c 100 /dev/zero >b && cat source/a.b2frame >>b")
        for arguments, cause in ((("b", self.mountpoint, "--offset", "100", "--rw"), b"--offset is given"),
                                 (("b", self.mountpoint, "--offset", "100"), None)):
            result = self.tool(FRAMEFS, *arguments)
            if cause is None:
                self.assertEqual(result.stderr, b"")
            else:
                self.assertRegex(result.stderr, b"^framefs: .*/b: the mount is read-only, because " + cause)
            self.tool(FRAMEFS, "umount", self.mountpoint)


if __name__ == "__main__":
    unittest.main()
