"""SOURCE becomes full at some points of all kinds of work; scripts/full-disks tries many more."""

import os
import unittest

import full_disks
from case import MountCase

POINTS = 4
POINTS_OF_A_QUOTA = 16


@unittest.skipIf(os.geteuid() != 0, "only root can mount a disk")
class FullDiskPoints(MountCase):
    def test_all_kinds_of_work(self):
        with full_disks.Filesystem("tmpfs", self.folder) as filesystem:
            for title, cell in full_disks.cells(filesystem, self.folder, None):
                if "writeback" not in title:
                    with self.subTest(title):
                        _, failures = full_disks.try_cell(cell, POINTS)
                        self.assertEqual(failures, [])

    def test_a_quota_with_writeback(self):
        """A rename takes space, and the kernel makes EIO of the EDQUOT of its pages."""
        try:
            with full_disks.BtrfsQuota("btrfs-quota", self.folder) as filesystem:
                for _, cell in full_disks.cells(filesystem, self.folder, {"sparse frame, writeback"}):
                    _, failures = full_disks.try_cell(cell, POINTS_OF_A_QUOTA)
                    self.assertEqual(failures, [])
        except full_disks.NotHere as reason:
            self.skipTest(f"no btrfs: {reason}")


if __name__ == "__main__":
    unittest.main()
