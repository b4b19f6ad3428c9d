"""Containers of many frames: archives, frames embedded in frames, and how a mount shows them."""

import errno
import os
import pathlib
import stat

import numpy

import frame_writer
import container_writer
from case import MountCase

SMALL = numpy.arange(12, dtype="<i4").reshape(3, 4)
WIDE = numpy.linspace(0, 1, 5 * 60).reshape(5, 60)
TEXT = b"every line of a log " * 400


def embedded(**fields):
    return container_writer.embed_container({"/small": frame_writer.array_frame(SMALL),
                                     "/group/wide": frame_writer.array_frame(WIDE, (7, 64)),
                                     "/group/deep/text": frame_writer.plain_frame(TEXT)}, **fields)


def tree_of(folder):
    """Every path below a folder; directories have a slash at the end."""
    found = []
    for parent, folders, files in os.walk(folder):
        inside = pathlib.Path(parent).relative_to(folder)
        found += [f"{inside / name}/" for name in folders] + [f"{inside / name}" for name in files]
    return sorted(found)


class Containers(MountCase):
    def check_embedded(self, folder):
        numpy.testing.assert_array_equal(numpy.load(folder / "small.npy"), SMALL)
        numpy.testing.assert_array_equal(numpy.load(folder / "group/wide.npy", mmap_mode="r"), WIDE)
        self.assertEqual((folder / "group/deep/text").read_bytes(), TEXT)

    EMBEDDED_TREE = ["group/", "group/deep/", "group/deep/text", "group/wide.npy", "small.npy"]

    def test_an_embedded_container_is_a_directory_of_its_keys(self):
        (self.source / "s.b2e").write_bytes(embedded())
        with self.mount() as mount:
            self.assertEqual(os.listdir(mount.path()), ["s.b2e"])
            self.assertEqual(tree_of(mount.path("s.b2e")), self.EMBEDDED_TREE)
            self.check_embedded(mount.path("s.b2e"))

    def archive_bytes(self, members):
        path = self.folder / "archive"
        container_writer.archive(path, members)
        return path.read_bytes()

    def test_archives_in_archives_are_directories_of_their_members(self):
        inner = self.archive_bytes({"text.b2frame": frame_writer.plain_frame(TEXT), "e.b2e": embedded(), "notes": b"notes"})
        middle = self.archive_bytes({"in.b2z": inner, "folder/in.b2z": inner, "empty.b2z": self.archive_bytes({})})
        container_writer.archive(self.source / "out.b2z", {"mid.b2z": middle, "no.b2z": b"no archive"})
        whole = ["e.b2e/"] + [f"e.b2e/{path}" for path in self.EMBEDDED_TREE] + ["notes", "text"]
        with self.mount() as mount:
            self.assertEqual((mount.path("out.b2z/no.b2z")).read_bytes(), b"no archive")
            self.assertEqual(os.listdir(mount.path("out.b2z/mid.b2z/empty.b2z")), [])
            for inside in ("in.b2z", "folder/in.b2z"):
                folder = mount.path("out.b2z/mid.b2z") / inside
                self.assertEqual(tree_of(folder), whole)
                self.check_embedded(folder / "e.b2e")
                self.assertEqual(((folder / "text").read_bytes(), (folder / "notes").read_bytes()), (TEXT, b"notes"))

    def test_archives_in_archives_are_bounded(self):
        """An archive too deep in others is named in the log, and reading its directory fails."""
        nested = self.archive_bytes({"x.b2frame": frame_writer.plain_frame(TEXT)})
        for _ in range(5):
            nested = self.archive_bytes({"in.b2z": nested, "beside": b"beside"})
        (self.source / "deep.b2z").write_bytes(nested)
        with self.mount() as mount:
            at = mount.path("deep.b2z")
            for _ in range(3):
                at = at / "in.b2z"
                self.assertEqual((at / "beside").read_bytes(), b"beside")
            with self.assertRaises(OSError) as refused:
                os.listdir(at / "in.b2z")
            self.assertEqual(refused.exception.errno, errno.EFBIG)

    def test_an_archive_behind_other_bytes(self):
        """Its offsets count from its own begin, or from that of the file."""
        members = {"text.b2frame": frame_writer.plain_frame(TEXT), "notes": b"notes"}
        (self.source / "plain.b2z").write_bytes(b"#!/bin/sh\n" * 100 + self.archive_bytes(members))
        with open(self.source / "adjusted.b2z", "wb") as file:
            file.write(b"#!/bin/sh\n" * 100)
            container_writer.archive(file, members)
        (self.source / "none.b2z").write_bytes(b"#!/bin/sh\n" * 100)
        with self.mount() as mount:
            for name in ("plain.b2z", "adjusted.b2z"):
                self.assertEqual(tree_of(mount.path(name)), ["notes", "text"])
                self.assertEqual(mount.path(f"{name}/text").read_bytes(), TEXT)
                self.assertEqual(mount.path(f"{name}/notes").read_bytes(), b"notes")
            self.assertEqual(mount.path("none.b2z").read_bytes(), b"#!/bin/sh\n" * 100)

    def test_members_named_with_dots(self):
        """Some programs write ./a for a."""
        container_writer.archive(self.source / "dots.b2z", {"./a.b2frame": frame_writer.plain_frame(TEXT),
                                                            "././b/./c": b"notes", "../d": b"outside"})
        with self.mount() as mount:
            self.assertEqual(tree_of(mount.path("dots.b2z")), ["a", "b/", "b/c"])
            self.assertEqual(mount.path("dots.b2z/a").read_bytes(), TEXT)
            self.assertEqual(mount.path("dots.b2z/b/c").read_bytes(), b"notes")

    def test_a_container_directory_shows_leaves_and_embedded_frames(self):
        (self.source / "t.b2d/group").mkdir(parents=True)
        (self.source / "t.b2d/embed.b2e").write_bytes(embedded(kind="b2tree"))
        (self.source / "t.b2d/group/leaf.b2nd").write_bytes(frame_writer.array_frame(WIDE))
        (self.source / "t.b2d/embed.b2e.b2lock").write_bytes(b"")
        with self.mount() as mount:
            self.assertEqual(tree_of(mount.path("t.b2d")),
                             ["embed.b2e/"] + [f"embed.b2e/{path}" for path in self.EMBEDDED_TREE]
                             + ["group/", "group/leaf.npy"])
            self.check_embedded(mount.path("t.b2d/embed.b2e"))
            numpy.testing.assert_array_equal(numpy.load(mount.path("t.b2d/group/leaf.npy")), WIDE)

    def archive(self, name="z.b2z", **more):
        members = {"group/leaf.b2nd": frame_writer.array_frame(WIDE, (8, 61)),
                   "notes.txt": b"plain text",
                   "log.b2f": frame_writer.plain_frame(TEXT),
                   "embed.b2e": embedded(kind="b2dict"), **more}
        container_writer.archive(self.source / name, members)
        return members

    ARCHIVE_TREE = (["embed.b2e/"] + [f"embed.b2e/{path}" for path in EMBEDDED_TREE]
                    + ["group/", "group/leaf.npy", "log", "notes.txt"])

    def test_an_archive_is_a_directory_of_its_members(self):
        self.archive()
        with self.mount() as mount:
            self.assertEqual(tree_of(mount.path("z.b2z")), self.ARCHIVE_TREE)
            numpy.testing.assert_array_equal(numpy.load(mount.path("z.b2z/group/leaf.npy")), WIDE)
            self.assertEqual(mount.path("z.b2z/notes.txt").read_bytes(), b"plain text")
            self.assertEqual(mount.path("z.b2z/log").read_bytes(), TEXT)
            self.check_embedded(mount.path("z.b2z/embed.b2e"))

    def test_a_container_may_be_the_source(self):
        self.archive()
        with self.mount(source=self.source / "z.b2z") as mount:
            self.assertEqual(tree_of(mount.path()), self.ARCHIVE_TREE)
            self.check_embedded(mount.path("embed.b2e"))
        (self.source / "s.b2e").write_bytes(embedded())
        with self.mount(source=self.source / "s.b2e") as mount:
            self.check_embedded(mount.path())

    def test_members_keep_their_suffixes_where_frames_do(self):
        members = self.archive()
        with self.mount("--keep-suffix") as mount:
            self.assertEqual(sorted(os.listdir(mount.path("z.b2z"))),
                             ["embed.b2e", "group", "log.b2f", "notes.txt"])
            self.assertEqual(mount.path("z.b2z/log.b2f").read_bytes(), TEXT)
            self.assertEqual(sorted(os.listdir(mount.path("z.b2z/embed.b2e"))),
                             ["group", "small.b2nd"])
            self.assertEqual(mount.path("z.b2z/notes.txt").read_bytes(), members["notes.txt"])

    def test_members_have_the_owner_times_and_rights_of_the_container(self):
        self.archive()
        path = self.source / "z.b2z"
        os.chmod(path, 0o640)
        os.utime(path, ns=(10**18, 10**18 + 7))
        os.chown(path, 1, 2)
        with self.mount() as mount:
            for name in ("z.b2z", "z.b2z/group", "z.b2z/log", "z.b2z/embed.b2e/small.npy"):
                st = mount.path(name).stat()
                self.assertEqual((st.st_uid, st.st_gid, st.st_mtime_ns), (1, 2, 10**18 + 7), name)
                wanted = 0o440 if stat.S_ISREG(st.st_mode) else 0o550
                self.assertEqual(stat.S_IMODE(st.st_mode), wanted, name)
            inodes = [mount.path("z.b2z", path).lstat().st_ino for path in self.ARCHIVE_TREE]
            self.assertEqual(len(set(inodes)), len(inodes))
            names = {entry.name: entry.inode() for entry in os.scandir(mount.path("z.b2z"))}
            self.assertEqual(names, {name: mount.path("z.b2z", name).stat().st_ino for name in names})

    def test_a_replaced_archive_shows_its_new_members(self):
        self.archive()
        with self.mount("--attr-timeout", "0") as mount:
            self.assertEqual(tree_of(mount.path("z.b2z")), self.ARCHIVE_TREE)
            with open(mount.path("z.b2z/log"), "rb") as old:
                self.archive("new.b2z", other=b"new")
                os.replace(self.source / "new.b2z", self.source / "z.b2z")
                self.assertEqual(tree_of(mount.path("z.b2z")), sorted(self.ARCHIVE_TREE + ["other"]))
                self.assertEqual(mount.path("z.b2z/other").read_bytes(), b"new")
                # As with any replaced file, an open descriptor still reads the old content.
                self.assertEqual(old.read(), TEXT)

    def test_a_container_with_the_inode_of_another_one_shows_its_own_members(self):
        """The kernel may cache the names and attributes of the other one's members."""
        old, new = self.source / "old.b2e", self.source / "new.b2e"
        old.write_bytes(container_writer.embed_container({"/group/x": frame_writer.plain_frame(TEXT),
                                                          "/group/gone": frame_writer.plain_frame(TEXT)}))
        with self.mount("--attr-timeout", "60") as mount:
            self.assertEqual(tree_of(mount.path("old.b2e")), ["group/", "group/gone", "group/x"])
            self.assertEqual(mount.path("old.b2e/group/x").read_bytes(), TEXT)
            old.rename(new)
            new.write_bytes(container_writer.embed_container({"/group/x": frame_writer.plain_frame(TEXT[:100])}))
            self.assertEqual(mount.path("new.b2e/group/x").stat().st_size, 100)
            self.assertEqual(mount.path("new.b2e/group/x").read_bytes(), TEXT[:100])
            self.assertFalse(mount.path("new.b2e/group/gone").exists())

    def test_members_that_cannot_be_read_are_shown_and_give_the_reason(self):
        container_writer.archive(self.source / "packed.b2z", {"a.b2f": frame_writer.plain_frame(TEXT)}, packed=True)
        (self.source / "broken.b2z").write_bytes(b"PK\3\4 and nothing that belongs to it")
        (self.source / "no-map.b2e").write_bytes(
            frame_writer.plain_frame(TEXT, meta={"b2embed": b"\x81\xa7version\x01"}))
        (self.source / "far.b2e").write_bytes(embedded(remote=["/remote"]))
        with self.mount() as mount:
            self.assertEqual(sorted(os.listdir(mount.path())),
                             ["broken.b2z", "far.b2e", "no-map.b2e", "packed.b2z"])
            for name, code in (("broken.b2z", errno.EIO), ("no-map.b2e", errno.EIO)):
                with self.assertRaises(OSError, msg=name) as caught:
                    os.listdir(mount.path(name))
                self.assertEqual(caught.exception.errno, code, name)
            self.assertEqual(os.listdir(mount.path("packed.b2z")), ["a.b2f"])
            for name in ("packed.b2z/a.b2f", "far.b2e/remote"):
                with self.assertRaises(OSError, msg=name) as caught:
                    mount.path(name).read_bytes()
                self.assertEqual(caught.exception.errno, errno.EOPNOTSUPP, name)
            self.assertEqual(mount.path("far.b2e/group/deep/text").read_bytes(), TEXT)

    def test_nothing_can_be_written_in_a_container(self):
        self.archive()
        with self.mount() as mount:
            for what in (lambda: mount.path("z.b2z/new").write_bytes(b""),
                         lambda: mount.path("z.b2z/group/new").mkdir(),
                         lambda: mount.path("z.b2z/notes.txt").unlink()):
                with self.assertRaises(OSError) as caught:
                    what()
                self.assertEqual(caught.exception.errno, errno.EROFS)
