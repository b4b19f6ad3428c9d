"""fsync(2) reaches the files in SOURCE, as the recorder of crashes sees them."""

import os
import unittest

import crash_runs
import daemon
import data
from case import MountCase


@unittest.skipIf(daemon.SANITIZED, "a sanitizer wants to be the first library of a process")
class Syncs(MountCase):
    def setUp(self):
        self.log = self.folder / "record.log"
        self.content = data.noise(100_000)

    def recorded_mount(self):
        environment = {"LD_PRELOAD": str(crash_runs.RECORDER),
                       "FRAMEFS_RECORD_SOURCE": os.path.realpath(self.source),
                       "FRAMEFS_RECORD_LOG": str(self.log)}
        # The daemon writes the log of the recorder, which lies outside SOURCE.
        return daemon.Mount(self.source, self.mountpoint, "--no-sandbox", environment=environment)

    def recorded_while(self, action):
        """Returns the records of the action, with the paths of files in SOURCE."""
        before = self.log.stat().st_size if self.log.exists() else 0
        action()
        return self.log.read_bytes()[before:]

    def sync(self, name, flags=os.O_RDONLY):
        fd = os.open(self.mountpoint / name, flags)
        os.fsync(fd)
        os.close(fd)

    def write_and_close(self, mount, name):
        with open(self.mountpoint / name, "r+b", buffering=0) as file:
            file.write(b"changed")
        frame = str(self.source / f"{name}.b2frame")
        daemon.wait_for(lambda: not any(path.startswith(frame) for path in daemon.open_files(mount.pid)),
                        "the end of the commit")

    def test_a_read_only_descriptor(self):
        """The last commit of a closed file is not durable.  A sync makes it so."""
        self.make_frame(self.content, self.source / "x.b2frame")
        self.make_frame(self.content, self.source / "sparse.b2frame", "--sparse")
        with self.recorded_mount() as mount:
            for name in ("x", "sparse"):
                self.write_and_close(mount, name)
                records = self.recorded_while(lambda: self.sync(name))
                content = b"x.b2frame" if name == "x" else b"sparse.b2frame/chunks.b2frame"
                self.assertIn(content, records, f"fsync of {name} syncs nothing")

    def test_a_read_only_descriptor_beside_a_writer(self):
        """All bytes that were written through any descriptor are in SOURCE after a sync."""
        frame = self.make_frame(self.content, self.source / "x.b2frame")
        with self.recorded_mount():
            with open(self.mountpoint / "x", "r+b", buffering=0) as file:
                file.write(b"changed")
                before = frame.read_bytes()
                records = self.recorded_while(lambda: self.sync("x"))
                self.assertIn(b"x.b2frame", records)
                self.assertNotEqual(frame.read_bytes(), before)

    def test_a_directory(self):
        (self.source / "folder").mkdir()
        with self.recorded_mount():
            (self.mountpoint / "folder/new").mkdir()
            records = self.recorded_while(lambda: self.sync("folder", os.O_RDONLY | os.O_DIRECTORY))
            self.assertIn(b"folder", records, "fsync of a directory syncs nothing")


if __name__ == "__main__":
    unittest.main()
