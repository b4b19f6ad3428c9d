"""Extended attributes: those that a mount adds to its frames, and those of the files in SOURCE."""

import errno
import json
import os

import numpy

import frame_writer
from case import MountCase

TEXT = b"what the frame holds\n" * 500


class Attributes(MountCase):
    def info(self, path):
        return json.loads(os.getxattr(path, "user.framefs.info"))

    def test_an_attribute_describes_the_frame(self):
        self.make_frame(TEXT, self.source / "x.b2frame", "--codec", "zstd", "--chunk", "4096")
        with self.mount() as mount:
            info = self.info(mount.path("x"))
            self.assertEqual((info["kind"], info["codec"], info["nbytes"], info["chunksize"]),
                             ("contiguous", "zstd", len(TEXT), 4096))
            self.assertEqual(info["chunks"], -(-len(TEXT) // 4096))
            self.assertEqual(info["stored_bytes"], (self.source / "x.b2frame").stat().st_size)
            self.assertAlmostEqual(info["ratio"], info["nbytes"] / info["cbytes"])

    def test_an_array_tells_its_shape(self):
        array = numpy.zeros((5, 7), ">f4")
        (self.source / "a.b2nd").write_bytes(frame_writer.array_frame(array, (6, 8)))
        with self.mount("--arrays", "both") as mount:
            for name in ("a", "a.npy"):
                info = self.info(mount.path(name))
                self.assertEqual((info["shape"], info["dtype"]), ([5, 7], ">f4"), name)
                self.assertEqual(info["array"]["blockshape"], [6, 8], name)

    def test_metalayers_are_attributes(self):
        meta = {"first": b"\x93\x01\x02\x03", "with space": b""}
        vlmeta = {"note": b"any \0 bytes", "long": bytes(range(256)) * 100}
        (self.source / "x.b2frame").write_bytes(frame_writer.plain_frame(TEXT, meta=meta, vlmeta=vlmeta))
        with self.mount() as mount:
            self.assertEqual(set(os.listxattr(mount.path("x"))), {f"user.framefs.vlmeta.{name}" for name in vlmeta})
        with self.mount("--list-info") as mount:
            path = mount.path("x")
            wanted = {"user.framefs.info"} | {f"user.framefs.meta.{name}" for name in meta}
            wanted |= {f"user.framefs.vlmeta.{name}" for name in vlmeta}
            self.assertEqual(set(os.listxattr(path)), wanted)
            for prefix, layers in (("meta", meta), ("vlmeta", vlmeta)):
                for name, content in layers.items():
                    self.assertEqual(os.getxattr(path, f"user.framefs.{prefix}.{name}"), content, name)
            for name in ("user.framefs.meta.none", "user.framefs.vlmeta.first", "user.framefs.other"):
                with self.assertRaises(OSError) as caught:
                    os.getxattr(path, name)
                self.assertEqual(caught.exception.errno, errno.ENODATA, name)

    def test_tools_copy_files_with_their_attributes(self):
        """Out of a mount and between mounts, without a warning."""
        self.make_frame(TEXT, self.source / "x.b2frame")
        other, second = self.folder / "other", self.folder / "mnt2"
        other.mkdir()
        second.mkdir()
        with self.mount() as mount, self.mount(source=other, mountpoint=second) as to:
            os.setxattr(mount.path("x"), "user.colour", b"green")
            os.setxattr(mount.path("x"), "user.framefs.vlmeta.note", b"kept")
            for command in (["rsync", "-aX", mount.path("x"), to.path("rsynced")],
                            ["cp", "-a", mount.path("x"), to.path("copied")],
                            ["sh", "-c", f"tar -C '{mount.path()}' --xattrs --xattrs-include='*' -cf - x | "
                                         f"tar -C '{to.path()}' --xattrs --xattrs-include='*' -xf -"],
                            ["mv", mount.path("x"), to.path("moved")]):
                result = self.tool(*command)
                self.assertEqual((result.stdout, result.stderr), (b"", b""), command)
            for name in ("rsynced", "copied", "x", "moved"):
                self.assertEqual(to.path(name).read_bytes(), TEXT, name)
                self.assertEqual(os.getxattr(to.path(name), "user.colour"), b"green", name)
                self.assertEqual(os.getxattr(to.path(name), "user.framefs.vlmeta.note"), b"kept", name)
            self.assertEqual(os.listdir(self.source), [])

    def test_the_attributes_of_files_pass_through(self):
        self.make_frame(TEXT, self.source / "x.b2frame")
        (self.source / "plain").write_bytes(TEXT)
        (self.source / "folder").mkdir()
        for name in ("x.b2frame", "plain", "folder"):
            try:
                os.setxattr(self.source / name, "user.colour", name.encode())
            except OSError as error:
                self.skipTest(f"no attributes here: {error.strerror}")
        with self.mount() as mount:
            for shown, name in (("x", "x.b2frame"), ("plain", "plain"), ("folder", "folder")):
                self.assertIn("user.colour", os.listxattr(mount.path(shown)))
                self.assertEqual(os.getxattr(mount.path(shown), "user.colour"), name.encode())
            self.assertEqual(os.listxattr(mount.path("plain")), ["user.colour"])
            # An attribute of the same name in SOURCE cannot hide the mount's own.
            os.setxattr(self.source / "x.b2frame", "user.framefs.info", b"a lie")
            self.assertEqual(self.info(mount.path("x"))["nbytes"], len(TEXT))
            self.assertNotIn("user.framefs.info", os.listxattr(mount.path("x")))

    def test_a_damaged_frame_has_none_to_show(self):
        frame = self.make_frame(TEXT, self.source / "x.b2frame")
        with open(frame, "r+b") as file:
            file.truncate(frame.stat().st_size - 1)
        with self.mount() as mount:
            self.assertNotIn("user.framefs.info", os.listxattr(mount.path("x")))
            with self.assertRaises(OSError) as caught:
                os.getxattr(mount.path("x"), "user.framefs.info")
            self.assertEqual(caught.exception.errno, errno.EIO)

    def test_getfattr_shows_them(self):
        (self.source / "x.b2frame").write_bytes(frame_writer.plain_frame(TEXT, vlmeta={"note": b"read me"}))
        with self.mount("--list-info") as mount:
            shown = self.tool("getfattr", "-d", "--absolute-names", mount.path("x")).stdout
            self.assertIn(b'user.framefs.vlmeta.note="read me"', shown)
            self.assertIn(b"user.framefs.info=", shown)
