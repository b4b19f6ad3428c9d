"""A new program beside an older one: on the same mounts, in the same SOURCE, with the same frames.

scripts/upgrade runs these tests.  FRAMEFS_OLD names the older program.
"""

import json
import os
import pathlib
import shutil
import unittest

import numpy

import daemon
import data
from case import MountCase
from command_case import CommandCase

OLD = pathlib.Path(os.environ["FRAMEFS_OLD"]).resolve()
PACKED = ("--chunk-size", "64K", "--block-size", "16K")
# Both mounts ask for sizes and names at each access, so that they see each other's commits.
PROMPT = ("--attr-timeout", "0", "--commit-interval", "0")


class Upgrade(CommandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        MountCase.setUpClass.__func__(cls)

    def old_mount(self, *options, **more):
        return self.mount(*options, program=OLD, **more)

    def packed(self, name, plain, *options):
        source = self.folder / name
        source.write_bytes(plain)
        self.framefs("pack", "-f", *PACKED, *options, source, "-o", self.source / f"{name}.b2frame")

    def other_mountpoint(self):
        mountpoint = self.folder / "other"
        mountpoint.mkdir(exist_ok=True)
        return mountpoint

    def append(self, path, record):
        with open(path, "ab", buffering=0) as file:
            file.write(record)
            os.fsync(file.fileno())

    def check_whole(self):
        """Checks that every frame in SOURCE is sound."""
        self.framefs("check", self.source)

    def test_commands_reach_an_older_mount(self):
        with self.old_mount() as mount:
            listed = {entry["mountpoint"]: entry for entry in json.loads(self.framefs("list", "--json").stdout)}
            self.assertIn(str(self.mountpoint), listed)
            # The older mount may have no counters, and the message then says so.
            stats = self.tool(daemon.FRAMEFS, "stats", "--json", self.mountpoint, check=False)
            if stats.returncode == 0:
                self.assertEqual(json.loads(stats.stdout)["pid"], mount.pid)
            else:
                self.assertIn(str(self.mountpoint).encode(), stats.stderr)
                self.assertEqual(len(stats.stderr.splitlines()), 1, stats.stderr)
            self.framefs("umount", self.mountpoint)
            self.assertEqual(daemon.mounts_at(self.mountpoint), [])

    def test_the_program_is_replaced_below_a_mount(self):
        """A package manager renames the new program over the old one while the old one runs."""
        installed = self.folder / "framefs"
        shutil.copy(OLD, installed)
        text = data.text(5000)
        self.packed("log", text)
        with self.mount(program=installed) as mount:
            self.assertEqual(mount.path("log").read_bytes(), text)
            shutil.copy(daemon.FRAMEFS, self.folder / "framefs.new")
            os.rename(self.folder / "framefs.new", installed)
            self.append(mount.path("log"), b"after the upgrade\n")
            self.append(mount.path("new"), b"a new file\n")
            self.tool(installed, "umount", mount.mountpoint)
            daemon.wait_for(lambda: mount.process.poll() is not None, "the old daemon to end")
        with self.mount(program=installed) as mount:
            self.assertEqual(mount.path("log").read_bytes(), text + b"after the upgrade\n")
            self.assertEqual(mount.path("new").read_bytes(), b"a new file\n")
        self.check_whole()

    def test_both_write_in_one_source_in_turn(self):
        wanted = {"shared": b"", "moved": b""}
        with self.old_mount(*PROMPT) as old, \
                self.mount(*PROMPT, mountpoint=self.other_mountpoint()) as new:
            for turn in range(40):
                writer, reader = (old, new) if turn % 2 == 0 else (new, old)
                for name in wanted:
                    record = f"{turn} {name} ".encode() * (1 + turn * 50)
                    self.append(writer.path(name), record)
                    wanted[name] += record
                    self.assert_same_bytes(reader.path(name).read_bytes(), wanted[name], f"{name}, turn {turn}")
                if turn % 5 == 4:
                    os.rename(writer.path("moved"), writer.path("moving"))
                    os.rename(reader.path("moving"), reader.path("moved"))
                if turn % 7 == 6:
                    size = len(wanted["shared"]) // 2
                    os.truncate(reader.path("shared"), size)
                    wanted["shared"] = wanted["shared"][:size]
                    with open(reader.path("shared"), "rb") as file:
                        os.fsync(file.fileno())
        for name, content in wanted.items():
            self.framefs("unpack", "-f", self.source / f"{name}.b2frame", "-o", self.folder / name)
            self.assert_same_bytes((self.folder / name).read_bytes(), content, name)
        self.check_whole()

    def test_frames_of_the_new_program_in_an_older_mount(self):
        """The older program reads and changes frames with all that the newer one puts into them."""
        text, walk = data.text(20_000), data.random_walk(100_000)
        self.packed("plain", text)
        self.packed("sums", text, "--checksums")
        self.packed("floats", walk, "--typesize", "4", "--filter", "shuffle", "--checksums")
        array = numpy.arange(60_000, dtype="<f4").reshape(200, 300)
        numpy.save(self.folder / "array.npy", array)
        self.framefs("pack", self.folder / "array.npy", "-o", self.source / "array.b2nd")
        wanted = {"plain": text, "sums": text, "floats": walk, "array.npy": (self.folder / "array.npy").read_bytes()}
        with self.old_mount() as old:
            for name, content in wanted.items():
                self.assert_same_bytes(old.path(name).read_bytes(), content, name)
            for name, content in wanted.items():
                changed = bytearray(content)
                with open(old.path(name), "r+b") as file:
                    for at in (len(content) // 3, len(content) - 50):
                        file.seek(at)
                        file.write(b"changed by the older one"[:at % 20 + 4])
                        changed[at:at + at % 20 + 4] = b"changed by the older one"[:at % 20 + 4]
                wanted[name] = bytes(changed)
            self.append(old.path("sums"), b"appended")
            wanted["sums"] += b"appended"
        self.check_whole()
        with self.mount("--checksums", "--verify-checksums") as new:
            for name, content in wanted.items():
                self.assert_same_bytes(new.path(name).read_bytes(), content, name)

    def test_frames_of_the_older_program_in_a_new_mount(self):
        text = data.text(20_000)
        with self.old_mount() as old:
            for name in ("log", "removed", "emptied"):
                old.path(name).write_bytes(text)
            old.path("directory").mkdir()
            old.path("directory/small").write_bytes(b"small")
            with open(old.path("holes"), "wb") as file:
                file.truncate(10_000_000)
        with self.mount("--checksums", "--verify-checksums") as new:
            self.assertEqual(sorted(os.listdir(new.path())), ["directory", "emptied", "holes", "log", "removed"])
            self.assert_same_bytes(new.path("log").read_bytes(), text, "log")
            self.assertEqual(new.path("directory/small").read_bytes(), b"small")
            self.assertLess(new.path("holes").stat().st_blocks, 100)
            self.assertEqual(new.path("holes").read_bytes(), bytes(10_000_000))
            self.append(new.path("log"), b"appended")
            os.unlink(new.path("removed"))
            os.truncate(new.path("emptied"), 0)
        self.check_whole()
        with self.old_mount() as old:
            self.assert_same_bytes(old.path("log").read_bytes(), text + b"appended", "log")
            self.assertEqual(old.path("emptied").read_bytes(), b"")
            self.assertFalse(old.path("removed").exists())

    def test_compaction_beside_an_older_mount(self):
        """The older mount has the frame open, but has nothing of it that is not committed."""
        text = data.text(20_000)
        self.packed("log", text)
        with self.old_mount(*PROMPT) as old, open(old.path("log"), "rb") as reader:
            self.append(old.path("log"), b"x" * 300_000)
            self.framefs("compact", self.source / "log.b2frame")
            self.append(old.path("log"), b"y")
            self.assert_same_bytes(reader.read(), text + b"x" * 300_000 + b"y", "the open file")
        self.check_whole()


if __name__ == "__main__":
    unittest.main()
