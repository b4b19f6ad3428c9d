"""How much the kernel reads ahead of readers of a mount, and around their page faults."""

import mmap
import os
import pathlib
import unittest

import numpy

import daemon
from case import MountCase
from daemon import wait_for

MIB = 1 << 20


@unittest.skipIf(os.geteuid() != 0, "only root may set the kernel's read-ahead")
class ReadAhead(MountCase):
    def setUp(self):
        super().setUp()
        with self.mount() as mount, open(mount.path("zeros"), "wb") as file:
            file.truncate(400 * MIB)

    def wait_for_read_ahead(self, mount, kib, name="zeros"):
        """Opens the file again and again until the read-ahead is right: a close is noted late."""
        control = mount.read_ahead_control()
        if not os.access(control, os.W_OK):
            self.skipTest("/sys is read-only here")

        def is_right():
            with open(mount.path(name), "rb"):
                return control.read_text().strip() == str(kib)
        wait_for(is_right, f"a read-ahead of {kib} KiB, not of {control.read_text().strip()}")

    def jump(self, mount):
        with open(mount.path("zeros"), "rb") as file, \
                mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
            for place in range(1, 20):
                self.assertEqual(view[place * 7 % 20 * 20 * MIB], 0)

    def read_all(self, mount, name="zeros"):
        with open(mount.path(name), "rb") as file:
            while file.read(MIB):
                pass

    def test_the_last_reader_of_a_file_chooses(self):
        with self.mount() as mount:
            self.wait_for_read_ahead(mount, 512)
            self.jump(mount)
            self.wait_for_read_ahead(mount, 128)
            self.read_all(mount)
            self.wait_for_read_ahead(mount, 4096)

    def test_it_is_remembered_of_a_file_that_the_kernel_forgets(self):
        with self.mount() as mount:
            self.wait_for_read_ahead(mount, 512)
            self.read_all(mount)
            daemon.drop_kernel_references()
            self.wait_for_read_ahead(mount, 4096)

    def test_a_file_is_opened_without_regard_to_another(self):
        with self.mount() as mount:
            with open(mount.path("other"), "wb") as file:
                file.write(b"other")
            self.read_all(mount)
            self.wait_for_read_ahead(mount, 4096)
            with open(mount.path("other"), "rb"):
                self.assertEqual(mount.read_ahead_control().read_text().strip(), "512")

    def test_an_array_that_numpy_maps(self):
        """Its slices are jumps, which nobody has seen yet."""
        numpy.save(self.folder / "array.npy", numpy.zeros((64, 64, 64), "f4"))
        self.tool(daemon.FRAMEFS, "pack", self.folder / "array.npy", "-o", self.source / "array.b2nd")
        for mode, kib in ((None, 512), ("r", 128)):
            with self.subTest(mode), self.mount() as mount:
                self.wait_for_read_ahead(mount, 512)
                numpy.load(mount.path("array.npy"), mmap_mode=mode)
                self.assertEqual(mount.read_ahead_control().read_text().strip(), str(kib))

    def test_plain_files_have_read_ahead_too(self):
        (self.source / "plain").write_bytes(bytes(8 * MIB))
        with self.mount() as mount:
            self.wait_for_read_ahead(mount, 512, "plain")
            self.read_all(mount, "plain")
            self.wait_for_read_ahead(mount, 4096, "plain")


if __name__ == "__main__":
    unittest.main()
