"""SOURCE becomes full at some points of all kinds of work; scripts/full-disks tries many more."""

import os
import unittest

import full_disks
from case import MountCase

POINTS = 4


@unittest.skipIf(os.geteuid() != 0, "only root can mount a disk")
class FullDiskPoints(MountCase):
    def test_all_kinds_of_work(self):
        with full_disks.Filesystem("tmpfs", self.folder) as filesystem:
            for title, cell in full_disks.cells(filesystem, self.folder, None):
                if "writeback" not in title:
                    with self.subTest(title):
                        _, failures = full_disks.try_cell(cell, POINTS)
                        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
