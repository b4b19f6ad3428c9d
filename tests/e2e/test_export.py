"""File handles, as NFS servers use them: open_by_handle_at(2) finds a file again that the kernel
has forgotten."""

import json
import os
import unittest

import container_writer
import frame_writer
from case import MountCase
from daemon import FRAMEFS, drop_kernel_references
from file_handles import assert_is_directory, assert_stale, handle_of, opened, read_all


class Export(MountCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root opens files by their handles")

    def make_tree(self):
        """Fifty files in directories, most of them frames; the content of each by its path."""
        template = self.make_frame(b"content 0000\n" * 100, self.folder / "template.b2frame")
        files = {}
        for i in range(50):
            folder = self.source / f"d{i % 5}" / f"e{i % 3}"
            folder.mkdir(parents=True, exist_ok=True)
            name = folder.relative_to(self.source) / f"f{i}"
            if i % 10 == 0:
                files[name] = f"plain {i}\n".encode()
                (self.source / name).write_bytes(files[name])
            else:
                files[name] = b"content %04d\n" % i * 100
                self.make_frame(files[name], f"{self.source / name}.b2frame")
        template.unlink()
        return files

    def lookups(self, mount):
        stats = self.tool(FRAMEFS, "stats", "--json", mount.path()).stdout
        return json.loads(stats)["requests"]["lookup"]["count"]

    def test_handles_outlive_forgetting(self):
        files = self.make_tree()
        with self.mount() as mount:
            handles = {name: handle_of(mount.path(name)) for name in files}
            inodes = {name: os.stat(mount.path(name)).st_ino for name in files}
            drop_kernel_references()
            before = self.lookups(mount)
            for name, content in files.items():
                with opened(self.mountpoint, handles[name]) as fd:
                    self.assertEqual(os.fstat(fd).st_ino, inodes[name])
                    self.assertEqual(read_all(fd), content)
            self.assertGreater(self.lookups(mount), before)  # the kernel had forgotten them
            drop_kernel_references()
            for name in files:
                self.assertEqual(bytes(handle_of(mount.path(name))), bytes(handles[name]), name)

    def test_directories(self):
        self.make_tree()
        with self.mount() as mount:
            handle = handle_of(mount.path("d1/e1"))
            drop_kernel_references()
            with opened(self.mountpoint, handle, os.O_RDONLY | os.O_DIRECTORY) as fd:
                assert_is_directory(self, fd, mount.path("d1/e1"))

    def test_members_of_a_container(self):
        text = b"every line of a log " * 400
        (self.source / "s.b2e").write_bytes(container_writer.embed_container(
            {"/group/deep/text": frame_writer.plain_frame(text)}))
        with self.mount() as mount:
            handle = handle_of(mount.path("s.b2e/group/deep/text"))
            drop_kernel_references()
            with opened(self.mountpoint, handle) as fd:
                self.assertEqual(read_all(fd), text)

    def test_writing(self):
        self.make_frame(b"old", self.source / "x.b2frame")
        with self.mount() as mount:
            handle = handle_of(mount.path("x"))
            drop_kernel_references()
            with opened(self.mountpoint, handle, os.O_RDWR) as fd:
                os.write(fd, b"new content")
            self.assertEqual(mount.path("x").read_bytes(), b"new content")

    def test_handles_follow_a_renamed_file(self):
        self.make_frame(b"content", self.source / "x.b2frame")
        (self.source / "folder").mkdir()
        with self.mount() as mount:
            handle = handle_of(mount.path("x"))
            drop_kernel_references()
            os.rename(mount.path("x"), mount.path("folder/y"))
            os.rename(mount.path("folder"), mount.path("moved"))
            drop_kernel_references()
            with opened(self.mountpoint, handle) as fd:
                self.assertEqual(read_all(fd), b"content")

    def test_the_handle_of_another_file_is_stale(self):
        for name in ("removed", "replaced", "gone", "other"):
            self.make_frame(name.encode(), self.source / f"{name}.b2frame")
        with self.mount() as mount:
            handles = {name: handle_of(mount.path(name)) for name in ("removed", "replaced", "gone")}
            os.unlink(mount.path("removed"))
            os.rename(mount.path("other"), mount.path("replaced"))
            with open(self.source / "gone.b2frame", "rb"):  # no other file gets its inode
                os.unlink(self.source / "gone.b2frame")
                for i in range(20):  # new files get the inodes of the other removed ones
                    mount.path(f"new{i}").write_bytes(b"new")
                    (self.source / f"new-in-source{i}").write_bytes(b"new")
                drop_kernel_references()
                for name, handle in handles.items():
                    with self.subTest(name):
                        assert_stale(self, self.mountpoint, handle)
            unknown = handle_of(mount.path("new1"))
            unknown.content[:8] = bytes(range(1, 9))
            assert_stale(self, self.mountpoint, unknown)

    def test_the_handle_of_an_earlier_mount_is_stale(self):
        files = self.make_tree()
        with self.mount() as mount:
            handles = [handle_of(mount.path(name)) for name in files]
            top = handle_of(mount.path())
        with self.mount() as mount:
            for name in files:
                os.stat(mount.path(name))
            for handle in handles:
                assert_stale(self, self.mountpoint, handle)
            drop_kernel_references()
            for handle in handles:
                assert_stale(self, self.mountpoint, handle)
            with opened(self.mountpoint, top, os.O_RDONLY | os.O_DIRECTORY) as fd:
                self.assertEqual(sorted(os.listdir(fd)), sorted(os.listdir(self.source)))


if __name__ == "__main__":
    unittest.main()
