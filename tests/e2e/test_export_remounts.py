"""File handles that outlive the mount: --export on filesystems whose own handles can be rebuilt."""

import contextlib
import errno
import os
import subprocess
import unittest

import container_writer
import frame_writer
import numpy
from case import MountCase
from daemon import DEADLINE_S, FRAMEFS, SANITIZED, drop_kernel_references, mounts_at, wait_for
from disk import FILESYSTEMS, Disk
from file_handles import assert_is_directory, assert_stale, handle_of, opened, read_all


class KilledDaemon(Exception):
    """Raised inside a Mount, makes it kill its daemon."""


class ExportRemounts(MountCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root opens files by their handles")

    @contextlib.contextmanager
    def disk(self, kind):
        with Disk(self, kind) as disk:
            self.source = disk.path
            yield disk

    def on_each_filesystem(self, check):
        for kind in FILESYSTEMS:
            with self.subTest(kind), self.disk(kind) as disk:
                check(disk)

    def export(self, *options):
        return self.mount("--export", *options)

    def make_tree(self):
        """Fifty files in directories; the content of each by its path."""
        files = {}
        for i in range(50):
            folder = self.source / f"d{i % 5}" / f"e{i % 3}"
            folder.mkdir(parents=True, exist_ok=True)
            name = folder.relative_to(self.source) / f"f{i}"
            files[name] = b"content %04d\n" % i * 100
            if i % 10 == 0:
                (self.source / name).write_bytes(files[name])
            else:
                self.make_frame(files[name], f"{self.source / name}.b2frame")
        return files

    def assert_found(self, mount, files, handles, inodes):
        for name, content in files.items():
            with self.subTest(name), opened(mount.mountpoint, handles[name]) as fd:
                self.assertEqual(os.fstat(fd).st_ino, inodes[name])
                self.assertEqual(read_all(fd), content)

    def check_remounts(self, disk, *options):
        files = self.make_tree()
        with self.export(*options) as mount:
            handles = {name: handle_of(mount.path(name)) for name in files}
            inodes = {name: os.stat(mount.path(name)).st_ino for name in files}
            drop_kernel_references()
            self.assert_found(mount, files, handles, inodes)
        mount = self.export(*options)
        with contextlib.suppress(KilledDaemon), mount:
            self.assert_found(mount, files, handles, inodes)
            drop_kernel_references()
            self.assert_found(mount, files, handles, inodes)
            raise KilledDaemon
        disk.restart()
        with self.export(*options) as mount:
            self.assert_found(mount, files, handles, inodes)
            for name in files:  # the name leads to the same node
                self.assertEqual(bytes(handle_of(mount.path(name))), bytes(handles[name]), name)

    def test_handles_outlive_remounts(self):
        self.on_each_filesystem(self.check_remounts)

    @unittest.skipIf(SANITIZED, "programs with a sanitizer have no sandbox")
    def test_without_the_sandbox(self):
        with self.disk("ext4") as disk:
            self.check_remounts(disk, "--no-sandbox")

    def test_directories(self):
        def check_on(disk):
            self.make_tree()
            with self.export() as mount:
                handle = handle_of(mount.path("d1/e1"))
            disk.restart()
            with self.export() as mount:
                with opened(self.mountpoint, handle, os.O_RDONLY | os.O_DIRECTORY) as fd:
                    assert_is_directory(self, fd, mount.path("d1/e1"))
                    new = os.open("new", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=fd)
                    os.write(new, b"new content")
                    os.close(new)
                self.assertEqual(mount.path("d1/e1/new").read_bytes(), b"new content")
                os.rename(mount.path("d1"), mount.path("moved"))
                self.assertEqual(mount.path("moved/e1/new").read_bytes(), b"new content")

        self.on_each_filesystem(check_on)

    def test_changes(self):
        def check_on(disk):
            self.make_frame(b"old content", self.source / "x.b2frame")
            (self.source / "plain").write_bytes(b"old content")
            with self.export() as mount:
                handles = {name: handle_of(mount.path(name)) for name in ("x", "plain")}
            disk.restart()
            with self.export() as mount:
                for name, handle in handles.items():
                    with self.subTest(name), opened(self.mountpoint, handle, os.O_RDWR) as fd:
                        os.write(fd, b"NEW")
                        os.fsync(fd)
                        os.ftruncate(fd, 7)
                        os.fchmod(fd, 0o640)
                        os.setxattr(f"/proc/self/fd/{fd}", "user.note", b"kept")
                drop_kernel_references()
                for name in handles:
                    self.assertEqual(mount.path(name).read_bytes(), b"NEW con", name)
                    self.assertEqual(os.stat(mount.path(name)).st_mode & 0o777, 0o640)
                    self.assertEqual(os.getxattr(mount.path(name), "user.note"), b"kept")
            self.assertEqual(self.tool(FRAMEFS, "unpack", self.source / "x.b2frame", "-o", "-").stdout,
                             b"NEW con")

        self.on_each_filesystem(check_on)

    def test_a_file_is_removed_that_was_found_by_its_handle(self):
        with self.disk("ext4") as disk:
            self.make_frame(b"content", self.source / "x.b2frame")
            with self.export() as mount:
                handle = handle_of(mount.path("x"))
            disk.restart()
            with self.export() as mount:
                with opened(self.mountpoint, handle) as fd:
                    os.unlink(mount.path("x"))
                    self.assertEqual(read_all(fd), b"content")
                    self.assertEqual(os.fstat(fd).st_nlink, 0)
                drop_kernel_references()
                assert_stale(self, self.mountpoint, handle)

    def test_a_readonly_mount(self):
        with self.disk("ext4") as disk:
            self.make_frame(b"content", self.source / "x.b2frame")
            with self.export("--ro") as mount:
                handle = handle_of(mount.path("x"))
            disk.restart()
            with self.export("--ro"):
                with opened(self.mountpoint, handle) as fd:
                    self.assertEqual(read_all(fd), b"content")
                with self.assertRaises(OSError) as caught, opened(self.mountpoint, handle, os.O_RDWR):
                    pass
                self.assertEqual(caught.exception.errno, errno.EROFS)

    def test_arrays_and_sparse_frames(self):
        array = numpy.arange(1000, dtype="<f8")
        numpy.save(self.folder / "a.npy", array)
        def check_on(disk):
            self.tool(FRAMEFS, "pack", self.folder / "a.npy", "-o", self.source / "a.b2nd")
            self.make_frame(b"sparse " * 1000, self.source / "s.b2frame", "--sparse")
            with self.export("--arrays", "both") as mount:
                names = ("a", "a.npy", "s")
                handles = {name: handle_of(mount.path(name)) for name in names}
                contents = {name: mount.path(name).read_bytes() for name in names}
            self.assertEqual(len({bytes(handle) for handle in handles.values()}), 3)
            disk.restart()
            with self.export("--arrays", "both") as mount:
                for name in names:
                    with self.subTest(name), opened(self.mountpoint, handles[name]) as fd:
                        self.assertEqual(read_all(fd), contents[name])

        self.on_each_filesystem(check_on)

    def test_other_kinds_of_files(self):
        with self.disk("ext4") as disk:
            os.symlink("nowhere", self.source / "link")
            os.mkfifo(self.source / "fifo")
            with self.export() as mount:
                handles = {name: handle_of(mount.path(name)) for name in ("link", "fifo")}
            disk.restart()
            with self.export():
                for name, handle in handles.items():
                    with self.subTest(name), opened(self.mountpoint, handle, os.O_PATH) as fd:
                        self.assertEqual(os.fstat(fd).st_ino, os.lstat(self.source / name).st_ino)
                with opened(self.mountpoint, handles["link"], os.O_PATH) as fd:
                    self.assertEqual(os.readlink("", dir_fd=fd), "nowhere")

    def test_a_handle_follows_its_file(self):
        def check_on(disk):
            self.make_frame(b"content", self.source / "x.b2frame")
            (self.source / "folder/below").mkdir(parents=True)
            self.make_frame(b"below", self.source / "folder/below/y.b2frame")
            with self.export() as mount:
                handles = [handle_of(mount.path(name)) for name in ("x", "folder/below/y", "folder/below")]

                def check():
                    drop_kernel_references()
                    for handle, content in zip(handles, (b"content", b"below")):
                        with opened(self.mountpoint, handle) as fd:
                            self.assertEqual(read_all(fd), content)
                    with opened(self.mountpoint, handles[2], os.O_RDONLY | os.O_DIRECTORY) as fd:
                        self.assertEqual(os.listdir(fd), ["y"])

                os.rename(mount.path("x"), mount.path("folder/z"))
                os.rename(mount.path("folder"), mount.path("moved"))
                check()
                os.rename(self.source / "moved/z.b2frame", self.source / "outside.b2frame")
                os.rename(self.source / "moved", self.source / "again")
                check()
            os.rename(self.source / "again", self.source / "once-more")
            disk.restart()
            with self.export() as mount:
                check()

        self.on_each_filesystem(check_on)

    def test_the_handle_of_another_file_is_stale(self):
        def check_on(disk):
            for name in ("removed", "reused", "known", "other"):
                self.make_frame(name.encode(), self.source / f"{name}.b2frame")
            with self.export() as mount:
                handles = {name: handle_of(mount.path(name)) for name in ("removed", "reused", "known")}
                inodes = {name: os.stat(mount.path(name)).st_ino for name in handles}
                os.unlink(mount.path("removed"))
                os.stat(mount.path("known"))
                os.unlink(self.source / "known.b2frame")  # the kernel does not learn of it
                self.fill_inode(inodes["known"])
                assert_stale(self, self.mountpoint, handles["known"])
                drop_kernel_references()
                for name in ("removed", "known"):
                    assert_stale(self, self.mountpoint, handles[name])
            os.unlink(self.source / "reused.b2frame")
            self.fill_inode(inodes["reused"])
            disk.restart()
            with self.export() as mount:
                other = handle_of(mount.path("other"))
                for handle in handles.values():
                    assert_stale(self, self.mountpoint, handle)
                for at in (0, 7, 8):  # inode, form, generation
                    changed = type(other).from_buffer_copy(other)
                    changed.content[at] ^= 0x55
                    assert_stale(self, self.mountpoint, changed)
                for _ in range(200):
                    random = type(other).from_buffer_copy(other)
                    random.content[:12] = os.urandom(12)
                    assert_stale(self, self.mountpoint, random)

        self.on_each_filesystem(check_on)

    def fill_inode(self, inode):
        """Makes frames until one has the inode; Btrfs gives no number to a second file."""
        for i in range(200):
            path = self.source / f"filler-{inode}-{i}.b2frame"
            self.make_frame(b"another file", path)
            if os.stat(path).st_ino == inode:
                return path
        if os.stat(self.source).st_ino != 256:
            self.fail(f"no new file has the inode {inode}")
        return None

    def test_a_reused_inode_is_a_new_file(self):
        with self.disk("ext4"), self.export("--attr-timeout", "0") as mount:
            for i in range(5):
                path = self.source / "x.b2frame"
                self.make_frame(b"file %d" % i, path)
                inode = os.stat(mount.path("x")).st_ino
                handle = handle_of(mount.path("x"))
                self.assertEqual(mount.path("x").read_bytes(), b"file %d" % i)
                os.unlink(path)
                os.rename(self.fill_inode(inode), path)
                # The kernel still knows the inode of the handle, and so opens it without a lookup.
                assert_stale(self, self.mountpoint, handle)
                self.assertEqual(mount.path("x").read_bytes(), b"another file")
                assert_stale(self, self.mountpoint, handle)
                os.unlink(mount.path("x"))
                for filler in self.source.glob("filler-*"):
                    filler.unlink()

    def test_members_of_containers_last_as_long_as_the_mount(self):
        with self.disk("ext4"):
            (self.source / "s.b2e").write_bytes(container_writer.embed_container(
                {"/group/text": frame_writer.plain_frame(b"text " * 400)}))
            with self.export() as mount:
                handles = [handle_of(mount.path(name)) for name in ("s.b2e", "s.b2e/group/text")]
                drop_kernel_references()
                for handle in handles:
                    with opened(self.mountpoint, handle):
                        pass
            with self.export() as mount:
                os.stat(mount.path("s.b2e/group/text"))
                for handle in handles:
                    assert_stale(self, self.mountpoint, handle)

    def test_new_files(self):
        with self.disk("ext4") as disk:
            with self.export("--rule", "*.npy:arrays=yes") as mount:
                mount.path("x").write_bytes(b"content")
                (mount.path("d")).mkdir()
                mount.path("d/y").write_bytes(b"more content")
                with open(mount.path("x"), "r+b") as file:
                    file.write(b"CON")
                handles = {name: handle_of(mount.path(name)) for name in ("x", "d/y")}
                # The array is another file of SOURCE: its own handle is the one that lasts.
                numpy.save(mount.path("a.npy"), numpy.arange(1000))
                wait_for(lambda: (self.source / "a.b2nd").exists(), "the array")
                drop_kernel_references()
                self.assertTrue((numpy.load(mount.path("a.npy")) == numpy.arange(1000)).all())
                handles["a.npy"] = handle_of(mount.path("a.npy"))
                contents = {name: mount.path(name).read_bytes() for name in handles}
            disk.restart()
            with self.export():
                for name, handle in handles.items():
                    with self.subTest(name), opened(self.mountpoint, handle) as fd:
                        self.assertEqual(read_all(fd), contents[name])

    def refusal(self, source, *options, **more):
        done = self.tool(FRAMEFS, source, self.mountpoint, "-f", "--export", *options, check=False, **more)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(mounts_at(self.mountpoint), [])
        return done.stderr.decode()

    def test_it_is_refused_where_handles_cannot_be_rebuilt(self):
        self.tool("mount", "-t", "tmpfs", "none", self.source)
        try:
            self.assertIn("needs ext2, ext3, ext4, XFS or Btrfs", self.refusal(self.source))
        finally:
            self.tool("umount", self.source)
        with self.disk("ext4"):
            (self.source / "folder").mkdir()
            self.assertIn("not the root of its filesystem", self.refusal(self.source / "folder"))
            frame = self.make_frame(b"content", self.source / "x.b2frame")
            self.assertIn("needs a directory", self.refusal(frame))
            self.assertIn("excludes --locking", self.refusal(self.source, "--locking"))
            if os.access("/usr/bin/setpriv", os.X_OK):
                done = subprocess.run(["setpriv", "--bounding-set", "-dac_read_search",
                                       "--inh-caps", "-dac_read_search", FRAMEFS, self.source,
                                       self.mountpoint, "-f", "--export"], capture_output=True,
                                      text=True, timeout=DEADLINE_S, check=False)
                self.assertIn("needs root", done.stderr)
                self.assertEqual(mounts_at(self.mountpoint), [])
        self.assertIn("is not a URL", self.refusal("http://127.0.0.1:1/x/"))


if __name__ == "__main__":
    unittest.main()
