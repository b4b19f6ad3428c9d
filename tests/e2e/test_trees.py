"""framefs pack and unpack of whole directories, and of arrays."""

import os
import socket
import stat
import subprocess
import unittest
import zipfile

import numpy

import daemon
import data
from command_case import CommandCase
from frame_writer import plain_frame


def snapshot(top):
    """Everything that a copy of a tree should keep, by relative path."""
    found = {}
    for parent, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            kind = stat.S_IFMT(status.st_mode)
            content = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            mode = None if content is None else stat.S_IMODE(status.st_mode)
            found[os.path.relpath(path, top)] = (kind, mode, status.st_uid, status.st_mtime_ns, content)
    return found


class Trees(CommandCase):
    def setUp(self):
        self.tree = self.folder / "tree"
        for name, content in (("a/log", data.text(3000)), ("a/b/walk", data.random_walk(50_000)), ("empty", b""),
                              ("notes.txt", b"notes"), ("a/holes", b"")):
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            os.utime(path, ns=(10**18, 10**18 + len(content)))
        os.truncate(self.tree / "a/holes", 30 << 20)
        os.utime(self.tree / "a/holes", ns=(10**18, 10**18 + 5))
        os.chmod(self.tree / "notes.txt", 0o640)
        os.link(self.tree / "a/log", self.tree / "a/b/same-log")
        os.symlink("a/log", self.tree / "link")
        os.symlink("nowhere", self.tree / "dangling")
        os.utime(self.tree / "a/b", ns=(10**18, 10**18 + 7))

    def frames(self, top):
        return sorted(os.path.relpath(os.path.join(parent, name), top)
                      for parent, _, files in os.walk(top) for name in files)

    def test_there_and_back(self):
        packed, again = self.folder / "packed", self.folder / "again"
        if os.geteuid() == 0:
            os.chown(self.tree / "notes.txt", 1234, 1234)
        os.setxattr(self.tree / "notes.txt", "user.origin", b"here")
        wanted = snapshot(self.tree)
        out = self.framefs("pack", self.tree, "-o", packed).stderr.decode()
        self.assertRegex(out, r"tree: 5 files packed, .* times smaller\); 3 copied or linked\n")
        self.assertEqual(self.frames(packed), ["a/b/same-log.b2frame", "a/b/walk.b2frame", "a/holes.b2frame",
                                               "a/log.b2frame", "dangling", "empty.b2frame", "link",
                                               "notes.txt.b2frame"])
        self.assertEqual((packed / "a/log.b2frame").stat().st_ino, (packed / "a/b/same-log.b2frame").stat().st_ino)
        self.assertEqual(os.readlink(packed / "link"), "a/log")
        self.assertEqual(os.getxattr(packed / "notes.txt.b2frame", "user.origin"), b"here")
        self.assertEqual((packed / "a/b").stat().st_mtime_ns, 10**18 + 7)
        # The link leads to the log in a mount, and in the tree that is unpacked.
        with self.mount(source=packed) as mount:
            self.assert_same_bytes((mount.path("link")).read_bytes(), data.text(3000), "link")
        self.framefs("unpack", packed, "-o", again)
        self.assertEqual(snapshot(again), wanted)
        self.assertEqual(os.getxattr(again / "notes.txt", "user.origin"), b"here")
        self.assertLess((again / "a/holes").stat().st_blocks * 512, 1 << 20)

    def test_in_place_and_existing_files_stay(self):
        out = self.framefs("pack", self.tree).stderr.decode()
        self.assertIn("5 files packed", out)
        before = {name: (self.tree / name).stat().st_ino for name in self.frames(self.tree) if name.endswith("2frame")}
        out = self.framefs("pack", self.tree).stderr.decode()
        self.assertRegex(out, r"tree: 0 files packed.*; 6 up to date\n")
        self.assertEqual(before, {name: (self.tree / name).stat().st_ino for name in before})
        # A changed file is not silently replaced.
        (self.tree / "notes.txt").write_bytes(b"other notes")
        self.assert_fails("pack", self.tree, cause="notes.txt.b2frame exists")
        self.framefs("pack", "--force", "--include", "notes*", self.tree)
        self.assertEqual(self.framefs("unpack", self.tree / "notes.txt.b2frame", "-o", "-").stdout, b"other notes")

    def test_hard_links_of_other_kinds_are_no_links(self):
        """The names of a file decide whether it is converted, and into what."""
        tree, packed, again = (self.folder / name for name in ("links", "packed", "again"))
        tree.mkdir()
        array = numpy.arange(60).reshape(6, 10)
        numpy.save(tree / "x.npy", array)
        for name in ("a.bin", "z.bin"):
            os.link(tree / "x.npy", tree / name)
        (tree / "s.b2frame").write_bytes(plain_frame(b"decoded"))
        for name in ("a-backup", "z-backup"):
            os.link(tree / "s.b2frame", tree / name)
        bare = (tree / "s.b2frame").read_bytes()
        self.framefs("pack", tree, "-o", packed)
        self.assertEqual(self.info(packed / "x.b2nd")[0]["shape"], [6, 10])
        self.assertEqual((packed / "a.bin.b2frame").stat().st_ino, (packed / "z.bin.b2frame").stat().st_ino)
        self.assertEqual((packed / "s.b2frame").read_bytes(), bare)
        self.framefs("unpack", packed, "-o", again)
        for name in ("a.bin", "z.bin", "x.npy"):
            self.assert_same_bytes((again / name).read_bytes(), (tree / name).read_bytes(), name)
        self.assertEqual({name: (again / name).read_bytes() for name in ("a-backup", "s", "z-backup")},
                         {"a-backup": bare, "s": b"decoded", "z-backup": bare})
        # Without pack, whose copies are no longer links.
        self.framefs("unpack", tree, "-o", self.folder / "direct")
        self.assertEqual((self.folder / "direct/s").read_bytes(), b"decoded")

    def test_hard_links_are_replaced_with_the_file_that_they_name(self):
        packed, again = self.folder / "packed", self.folder / "again"

        def inodes(top, suffix):
            return [(top / name).stat().st_ino for name in (f"a/log{suffix}", f"a/b/same-log{suffix}")]

        for command, source, out, suffix in (("pack", self.tree, packed, ".b2frame"), ("unpack", packed, again, "")):
            self.framefs(command, source, "-o", out)
            before = inodes(out, suffix)
            told = self.framefs(command, source, "-o", out).stderr.decode()
            self.assertIn("8 up to date", told)
            self.assertEqual(inodes(out, suffix), before)
            # The number of an inode that has a name is not given to a new file.
            os.link(out / f"a/log{suffix}", self.folder / f"before{suffix}")
            # A file of another state keeps its name without --force.
            os.unlink(out / f"a/b/same-log{suffix}")
            (out / f"a/b/same-log{suffix}").write_bytes(b"another file")
            os.unlink(out / f"a/log{suffix}")
            told = self.framefs(command, source, "-o", out, code=1).stderr.decode()
            self.assertIn("log" + suffix + " exists; --force replaces it", told)
            for _ in range(2):
                self.framefs(command, "--force", source, "-o", out)
                after = inodes(out, suffix)
                self.assertEqual(after[0], after[1])
                self.assertNotEqual(after, before)
                before = after
            self.assertEqual([name for name in self.frames(out) if "unfinished" in name], [])
        self.assertEqual((again / "a/b/same-log").read_bytes(), (self.tree / "a/log").read_bytes())

    def test_symbolic_links_replace_nothing(self):
        packed = self.folder / "packed"
        self.framefs("pack", self.tree, "-o", packed)
        (self.tree / "link").unlink()
        os.symlink("notes.txt", self.tree / "link")
        for options in ([], ["--force"]):
            told = self.framefs("pack", *options, self.tree, "-o", packed, code=1).stderr.decode()
            self.assertIn(f"{packed}/link: is there, and a symbolic link never replaces it", told)
            self.assertEqual(os.readlink(packed / "link"), "a/log")

    def test_a_hard_link_replaces_no_output_of_the_same_run(self):
        for top in "pq":
            (self.folder / top / "tree").mkdir(parents=True)
            (self.folder / top / "tree/y").write_bytes(top.encode())
        os.link(self.folder / "q/tree/y", self.folder / "q/tree/x")
        out = self.folder / "out"
        out.mkdir()
        told = self.framefs("pack", "-f", self.folder / "p/tree", self.folder / "q/tree", "-o", out, code=1)
        self.assertIn("y.b2frame: is the output for another input of this run", told.stderr.decode())
        self.assertEqual(self.framefs("unpack", out / "tree/y.b2frame", "-o", "-").stdout, b"p")

    def test_all_bits_of_modes_are_kept(self):
        """For files that have their original owner."""
        packed, again = self.folder / "packed", self.folder / "again"
        for name, mode in (("notes.txt", 0o4755), ("a/log", 0o2750), ("empty", 0o1644), ("a/b", 0o3777)):
            os.chmod(self.tree / name, mode)
        (self.tree / "s.b2frame").write_bytes(plain_frame(b"frame"))
        os.chmod(self.tree / "s.b2frame", 0o6755)
        wanted = snapshot(self.tree)
        self.framefs("pack", self.tree, "-o", packed)
        modes = {name: stat.S_IMODE((packed / name).stat().st_mode)
                 for name in ("notes.txt.b2frame", "a/log.b2frame", "empty.b2frame", "a/b", "s.b2frame")}
        self.assertEqual(list(modes.values()), [0o4755, 0o2750, 0o1644, 0o3777, 0o6755])
        (packed / "s.b2frame").rename(self.folder / "s.b2frame")
        self.framefs("unpack", packed, "-o", again)
        del wanted["s.b2frame"]
        self.assertEqual(snapshot(again), wanted)

    def test_access_control_lists(self):
        for options in (("-m", "u:7:r"), ("-d", "-m", "u:7:rx")):
            if self.tool("setfacl", *options, self.tree / "a", check=False).returncode != 0:
                self.skipTest("no access control lists here")
        self.tool("setfacl", "-m", "u:7:r", self.tree / "notes.txt")
        packed, again = self.folder / "packed", self.folder / "again"
        self.framefs("pack", self.tree, "-o", packed)
        self.framefs("unpack", packed, "-o", again)

        def lists(top, *names):
            return [self.tool("getfacl", "-n", "--omit-header", top / name).stdout for name in names]

        wanted = lists(self.tree, "a", "a/log", "notes.txt")
        self.assertIn(b"default:user:7:r-x", wanted[0])
        self.assertEqual(lists(packed, "a", "a/log.b2frame", "notes.txt.b2frame"), wanted)
        self.assertEqual(lists(again, "a", "a/log", "notes.txt"), wanted)

    def test_files_that_only_have_the_names_of_frames(self):
        packed, again = self.folder / "packed", self.folder / "again"
        for name, content in (("x.b2", b"r"), ("empty.b2nd", b""), ("notes.b2frame", b"no frame at all")):
            (self.tree / name).write_bytes(content)
        wanted = snapshot(self.tree)
        self.framefs("pack", self.tree, "-o", packed)
        self.framefs("unpack", packed, "-o", again)
        self.assertEqual(snapshot(again), wanted)
        # A damaged frame is still reported.
        (packed / "cut.b2frame").write_bytes(plain_frame(b"content")[:-20])
        self.assert_fails("unpack", packed, "-o", self.folder / "other", cause="cut.b2frame: ")

    def test_an_unpacked_tree_is_up_to_date(self):
        """Also sparse frames and containers."""
        packed, again = self.folder / "packed", self.folder / "again"
        self.framefs("pack", self.tree, "-o", packed)
        self.make_frame(data.text(50_000), packed / "sparse.b2frame", "--sparse", "--chunk", "16K")
        with zipfile.ZipFile(packed / "c.b2z", "w") as archive:
            archive.writestr("notes", b"stored")
        self.framefs("unpack", packed, "-o", again)
        told = self.framefs("unpack", packed, "-o", again).stderr.decode()
        self.assertRegex(told, r"packed: 0 files unpacked; 10 up to date\n")
        self.assertEqual((again / "sparse").read_bytes(), data.text(50_000))

    def test_copies_of_sparse_frames(self):
        packed = self.folder / "packed"
        frame, copy = self.tree / "sparse.b2frame", packed / "sparse.b2frame"
        self.make_frame(data.noise(50_000), frame, "--sparse", "--chunk", "10000")
        self.framefs("pack", self.tree, "-o", packed, "--include", "sparse*")
        content = {file.name: file.read_bytes() for file in frame.iterdir()}
        chunks = sorted(name for name in content if name != "chunks.b2frame")
        # The state after an interrupted run: some of the files, and one that is unfinished.
        for name in chunks[1:3]:
            (copy / name).unlink()
        (copy / ".framefs-unfinished.abcdef").write_bytes(b"a part")
        told = self.framefs("pack", self.tree, "-o", packed, "--include", "sparse*").stderr.decode()
        self.assertIn("; 1 copied or linked\n", told)
        self.assertEqual({name: (copy / name).read_bytes() for name in content}, content)
        self.assertIn("; 1 up to date\n",
                      self.framefs("pack", self.tree, "-o", packed, "--include", "sparse*").stderr.decode())
        # A change in place leaves the time of the directory as it is.
        with open(frame / chunks[0], "r+b") as file:
            file.write(content[chunks[0]][:1])
        self.assert_fails("pack", self.tree, "-o", packed, "--include", "sparse*", cause="sparse.b2frame exists; --force")
        self.framefs("pack", self.tree, "-o", packed, "--include", "sparse*", "-f")
        # Nothing is added to the directory of another frame.
        (copy / chunks[0]).rename(copy / "other")
        (copy / chunks[1]).unlink()
        self.assert_fails("pack", self.tree, "-o", packed, "--include", "sparse*", cause="sparse.b2frame exists; --force")
        self.assertFalse((copy / chunks[1]).exists())

    def test_include_and_exclude(self):
        packed = self.folder / "packed"
        self.framefs("pack", self.tree, "-o", packed, "--exclude", "b", "--include", "a/*")
        self.assertEqual(self.frames(packed), ["a/holes.b2frame", "a/log.b2frame"])
        self.framefs("pack", self.tree, "-o", self.folder / "other", "--include", "*.txt", "-q")
        self.assertEqual(self.frames(self.folder / "other"), ["notes.txt.b2frame"])

    def test_failures_and_excluded_files(self):
        packed = self.folder / "packed"
        os.mkfifo(self.tree / "fifo")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.fspath(self.tree / "socket"))
        (packed / "a").mkdir(parents=True)
        (packed / "a/log.b2frame").write_bytes(b"mine")
        result = self.assert_fails("pack", self.tree, "-o", packed, cause="a/log.b2frame exists")
        self.assertRegex(result.stderr.decode(), r"2 left out: devices, FIFOs or sockets; 1 FAILED")
        self.assertEqual((packed / "a/log.b2frame").read_bytes(), b"mine")
        self.assertTrue((packed / "notes.txt.b2frame").exists())
        self.assert_fails("pack", self.tree, "-o", packed, "--stop-on-error", cause="exists; --force")
        self.assert_refused("pack", self.tree, "-o", self.tree / "in", cause="lies in")
        for command in ("pack", "unpack"):
            self.assert_refused(command, ".", "-o", "in", cwd=self.tree, cause="in lies in .")
            self.assert_refused(command, "../" + self.tree.name, "-o", "in/deeper", cwd=self.tree, cause="lies in")
        self.assert_refused("unpack", self.tree, "-o", "-", cause="is a directory: -o needs")

    def test_lock_files_are_no_content(self):
        packed, again = self.folder / "packed", self.folder / "again"
        self.make_frame(data.noise(50_000), self.tree / "sparse.b2frame", "--sparse", "--chunk", "10000")
        wanted = set(self.frames(self.tree))
        for name in "a/log.b2frame.b2lock", "sparse.b2frame/.b2lock":
            (self.tree / name).touch()
        self.framefs("pack", self.tree, "-o", packed)
        self.assertFalse([name for name in self.frames(packed) if "b2lock" in name])
        for name in "a/log.b2frame.b2lock", "sparse.b2frame/.b2lock":
            (packed / name).touch()
        self.framefs("unpack", packed, "-o", again)
        self.assertEqual(set(self.frames(again)),
                         {name for name in wanted if not name.startswith("sparse.")} | {"sparse"})

    def test_sources_are_removed_when_their_frames_are_verified(self):
        contents = {name: (self.tree / name).read_bytes() for name in ("a/log", "a/b/walk", "notes.txt")}
        self.framefs("pack", "--remove-source", self.tree)
        self.assertEqual([name for name in self.frames(self.tree) if not name.endswith(".b2frame")],
                         ["dangling", "link"])
        for name, content in contents.items():
            self.assert_same_bytes(self.framefs("unpack", self.tree / f"{name}.b2frame", "-o", "-").stdout, content, name)
        single = self.folder / "single"
        single.write_bytes(data.noise(100_000))
        self.framefs("pack", "--remove-source", single)
        self.assertFalse(single.exists())
        self.assert_refused("pack", "--remove-source", "-", "-o", self.folder / "x", cause="--remove-source")

    def test_a_wrong_frame_removes_nothing(self):
        """A frame with the right time and the wrong bytes is detected."""
        frame = self.tree / "notes.txt.b2frame"
        frame.write_bytes(plain_frame(b"NOTES"))
        os.utime(frame, ns=(10**18, (self.tree / "notes.txt").stat().st_mtime_ns))
        self.assert_fails("pack", "--remove-source", self.tree, cause="does not hold the bytes of its original")
        self.assertEqual((self.tree / "notes.txt").read_bytes(), b"notes")

    def test_an_interrupted_run_is_resumed(self):
        for i in range(40):
            (self.tree / f"big{i}").write_bytes(data.noise(1 << 20))
        packed = self.folder / "packed"
        with subprocess.Popen([daemon.FRAMEFS, "pack", self.tree, "-o", packed, "--threads", "1"],
                              stderr=subprocess.PIPE) as process:
            daemon.wait_for(lambda: packed.exists() and any(name.startswith("big") for name in os.listdir(packed)) or
                            process.poll() is not None, "the first frames")
            process.terminate()
            process.wait(daemon.DEADLINE_S)
        self.assertEqual([name for name in self.frames(packed) if "/." in name or name.startswith(".")], [])
        self.framefs("pack", self.tree, "-o", packed)
        self.assertEqual(len(self.frames(packed)), 48)
        self.framefs("check", packed)


    def test_what_a_killed_run_leaves_is_no_file_of_the_user(self):
        (self.tree / "big").write_bytes(data.noise(16 << 20))
        with subprocess.Popen([daemon.FRAMEFS, "pack", self.tree, "--codec", "zlib", "--level", "9", "--threads", "1",
                               "--include", "big"], stderr=subprocess.PIPE) as process:
            daemon.wait_for(lambda: list(self.tree.glob(".framefs-unfinished.*")) or process.poll() is not None,
                            "a temporary file")
            process.kill()
        self.assertEqual(len(list(self.tree.glob(".framefs-unfinished.??????"))), 1, os.listdir(self.tree))
        packed = self.folder / "packed"
        told = self.framefs("pack", self.tree, "-o", packed).stderr.decode()
        self.assertIn("; 1 left out: unfinished files of killed runs", told)
        self.assertEqual([name for name in os.listdir(packed) if name.startswith(".")], [])
        self.assertIn("big.b2frame", os.listdir(packed))


class SameOutput(CommandCase):
    """Inputs whose outputs would have one name."""

    REFUSED = "is the output for another input of this run"

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, ns=(10**18, 10**18))
        return path

    def content(self, frame):
        return self.framefs("unpack", frame, "-o", "-").stdout

    def test_of_two_files_the_second_is_kept(self):
        first, second = self.file("a/x", b"first"), self.file("b/x", b"second")
        out = self.folder / "out"
        out.mkdir()
        self.assert_fails("pack", first, second, "-o", out, "-f", "--remove-source",
                          cause=f"framefs: {out}/x.b2frame: {self.REFUSED}")
        self.assertEqual(self.content(out / "x.b2frame"), b"first")
        self.assertEqual((first.exists(), second.read_bytes()), (False, b"second"))
        # A file that was there before the run is replaced.
        self.framefs("pack", second, "-o", out, "-f")
        self.assertEqual(self.content(out / "x.b2frame"), b"second")

    def test_of_a_file_and_a_frame_in_a_tree_the_second_is_kept(self):
        self.file("tree/x", b"original")
        self.framefs("pack", self.file("other", b"other"), "-o", self.folder / "tree/x.b2frame")
        out = self.folder / "out"
        self.assert_fails("pack", self.folder / "tree", "-o", out, "-f", "--remove-source",
                          cause=f"{out}/x.b2frame: {self.REFUSED}")
        self.assertEqual(self.content(out / "x.b2frame"), b"original")
        self.assertEqual(self.content(self.folder / "tree/x.b2frame"), b"other")

    def test_trees_of_one_name_share_a_directory(self):
        for top, name in (("p", "x"), ("p", "y"), ("q", "x"), ("q", "z")):
            self.file(f"{top}/tree/{name}", f"{top}/{name}".encode())
        out = self.folder / "out"
        out.mkdir()
        told = self.framefs("pack", self.folder / "p/tree", self.folder / "q/tree", "-o", out, "-f", code=1).stderr
        self.assertIn(f"{out}/tree/x.b2frame: {self.REFUSED}", told.decode())
        self.assertEqual({name: self.content(out / "tree" / name) for name in os.listdir(out / "tree")},
                         {"x.b2frame": b"p/x", "y.b2frame": b"p/y", "z.b2frame": b"q/z"})

    def test_unpack(self):
        for top in "ab":
            self.framefs("pack", self.file(f"{top}/x", top.encode()))
        out = self.folder / "out"
        out.mkdir()
        frames = [self.folder / top / "x.b2frame" for top in "ab"]
        self.assert_fails("unpack", *frames, "-o", out, "-f", cause=f"{out}/x: {self.REFUSED}")
        self.assertEqual((out / "x").read_bytes(), b"a")

    def test_unpack_of_frames_of_one_time(self):
        """The result of the first does not count as an up-to-date result of the second."""
        tree, out = self.folder / "tree", self.folder / "out"
        self.framefs("pack", self.file("tree/one", b"one"), "-o", tree / "x.b2")
        self.framefs("pack", self.file("tree/two", b"two"), "-o", tree / "x.b2frame")
        for _ in range(2):
            self.assert_fails("unpack", tree, "-o", out, "--include", "x*", cause=f"{out}/x: {self.REFUSED}")
            self.assertEqual((out / "x").read_bytes(), b"one")

    def test_a_container_and_a_directory(self):
        tree, out = self.folder / "tree", self.folder / "out"
        self.file("tree/c/notes", b"of the directory")
        with zipfile.ZipFile(tree / "c.b2z", "w") as archive:
            archive.writestr("notes", b"of the container")
        self.assert_fails("unpack", tree, "-o", out, "-f", cause=f"{out}/c: {self.REFUSED}")
        self.assertEqual((out / "c/notes").read_bytes(), b"of the directory")


class Arrays(CommandCase):
    def test_an_array_keeps_shape_and_items(self):
        rng = numpy.random.default_rng(7)
        arrays = {"line": numpy.arange(1000, dtype="<i8"), "cube": rng.random((40, 50, 60)),
                  "image": rng.integers(0, 255, (300, 400, 3)).astype("u1"), "wide": rng.random((3, 100_000)).astype("<f4"),
                  "text": numpy.array([["ab", "cde"], ["", "f"]]), "one": numpy.array([5.0]), "big-endian":
                  numpy.arange(12, dtype=">i2").reshape(3, 4), "times": numpy.arange(9).astype("<M8[ns]"),
                  "zeros": numpy.zeros((500, 700)), "scalar": numpy.array(3.5)}
        for name, array in arrays.items():
            with self.subTest(name):
                path = self.folder / f"{name}.npy"
                numpy.save(path, array)
                self.framefs("pack", "--verify", path, "-o", self.source, "--chunk-size", "64K")
                info = self.info(self.source / f"{name}.b2nd")[0]
                self.assertEqual(info["shape"], list(array.shape))
                self.assertEqual(info["dtype"], array.dtype.str)
                self.assertLessEqual(info["chunksize"], 64 << 10)
        with self.mount() as mount:
            for name, array in arrays.items():
                shown = numpy.load(mount.path(f"{name}.npy"))
                self.assertEqual(shown.dtype, array.dtype)
                numpy.testing.assert_array_equal(shown, array)
        self.framefs("check", self.source)

    def test_a_frame_that_is_not_named_as_an_array_has_the_bytes(self):
        """Its chunks would be shown in their own order, without a header."""
        path = self.folder / "x.npy"
        numpy.save(path, numpy.arange(90_000).reshape(300, 300))
        content = path.read_bytes()
        for name, is_array in (("y.b2frame", False), ("y.b2", False), ("y.b2nd", True), ("y", True)):
            with self.subTest(name):
                self.framefs("pack", "--verify", path, "-o", self.source / name, "--chunk-size", "100K")
                self.assertEqual("shape" in self.info(self.source / name)[0], is_array)
                self.assert_same_bytes(self.framefs("unpack", self.source / name, "-o", "-").stdout, content, name)
        self.framefs("pack", path, "-o", self.folder / "z.b2frame", "--chunk-size", "100K", "--remove-source")
        self.framefs("unpack", self.folder / "z.b2frame", "-o", path)
        self.assert_same_bytes(path.read_bytes(), content, "z")

    def test_files_that_an_array_cannot_give_back_are_packed_as_bytes(self):
        records = numpy.zeros(5, dtype=[("a", "<i4"), ("b", "<f8")])
        for name, array in (("fortran", numpy.asfortranarray(numpy.arange(6).reshape(2, 3))), ("records", records),
                            ("none", numpy.zeros((0, 3)))):
            with self.subTest(name):
                path = self.folder / f"{name}.npy"
                numpy.save(path, array)
                self.framefs("pack", "--verify", path, "-o", self.source)
                self.assertEqual(self.framefs("unpack", self.source / f"{name}.npy.b2frame", "-o", "-").stdout,
                                 path.read_bytes())
        noise = self.folder / "noise.npy"
        noise.write_bytes(data.noise(1000))
        self.framefs("pack", noise)
        self.assertEqual(self.framefs("unpack", self.folder / "noise.npy.b2frame", "-o", "-").stdout, noise.read_bytes())


if __name__ == "__main__":
    unittest.main()
