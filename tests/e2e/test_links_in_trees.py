"""Commands on trees change nothing outside OUT, whatever links the trees and OUT have."""

import io
import itertools
import os
import random
import stat
import zipfile

import daemon
import object_server
from command_case import CommandCase
from frame_writer import plain_frame

NAMES = ("a", "b", "c")
SEED = int(os.environ.get("FRAMEFS_SEED", random.randrange(1 << 32)))
CASES = 20


def state_of(top):
    """Everything that a command could change below a directory, and the directory itself."""
    found = {}
    for parent, folders, files in os.walk(top):
        for path in [parent, *(os.path.join(parent, name) for name in folders + files)]:
            status = os.lstat(path)
            content = None
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            found[path] = (status.st_mode, status.st_uid, status.st_nlink, status.st_mtime_ns, status.st_ctime_ns,
                           sorted(os.listxattr(path, follow_symlinks=False)), content)
    return found


def archive(names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        for name in names:
            container.writestr(name, b"member " + name.encode())
    return buffer.getvalue()


class LinksInTrees(CommandCase):
    def setUp(self):
        self.victim = self.folder / "victim"
        (self.victim / "a").mkdir(parents=True)
        for name in ("file", "a/b", "a.b2frame"):
            (self.victim / name).write_bytes(b"of the victim")
        os.chmod(self.victim, 0o755)
        self.out = self.folder / "out"

    def run_framefs(self, *arguments):
        """Runs a command that may succeed or fail, but not crash."""
        result = self.tool(daemon.FRAMEFS, *arguments, check=False)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return result.stderr.decode()

    def test_a_link_of_an_earlier_run_is_no_directory(self):
        for command, content in (("unpack", plain_frame(b"evil")), ("pack", b"evil")):
            before = state_of(self.victim)
            tree, out = self.folder / f"{command}-in", self.folder / f"{command}-out"
            tree.mkdir()
            (tree / "a").symlink_to(self.victim)
            self.framefs(command, tree, "-o", out)
            (tree / "a").unlink()
            (tree / "a").mkdir(mode=0o777)
            os.chmod(tree / "a", 0o777)
            (tree / "a/evil.b2frame" if command == "unpack" else tree / "a/evil").write_bytes(content)
            for options in ([], ["-f"]):
                told = self.framefs(command, *options, tree, "-o", out, code=1).stderr.decode()
                self.assertIn(f"{out}/a: is a symbolic link, through which nothing is written", told)
                self.assertEqual(state_of(self.victim), before)

    def test_a_link_that_was_made_is_an_output_of_the_run(self):
        before = state_of(self.victim)
        tree = self.folder / "in"
        tree.mkdir()
        (tree / "a").symlink_to(self.victim)
        (tree / "a.b2z").write_bytes(archive(["evil"]))
        (tree / "b").symlink_to(self.victim / "file")
        (tree / "b.b2frame").write_bytes(plain_frame(b"evil"))
        for _ in range(2):
            told = self.framefs("unpack", "-f", tree, "-o", self.out, code=1).stderr.decode()
            for name in "ab":
                self.assertIn(f"{self.out}/{name}: is the output for another input of this run", told)
            self.assertEqual(state_of(self.victim), before)

    def test_a_container_is_not_unpacked_through_links(self):
        before = state_of(self.victim)
        (self.folder / "c.b2z").write_bytes(archive(["a/evil", "b/evil"]))
        self.out.mkdir()
        (self.out / "c").symlink_to(self.victim)
        self.framefs("unpack", "-f", self.folder / "c.b2z", "-o", self.out, code=1)
        (self.out / "c").unlink()
        (self.out / "c").mkdir()
        (self.out / "c/a").symlink_to(self.victim)
        told = self.framefs("unpack", "-f", self.folder / "c.b2z", "-o", self.out, code=1).stderr.decode()
        self.assertIn("c/a: is a symbolic link", told)
        self.assertEqual((self.out / "c/b/evil").read_bytes(), b"member b/evil")
        self.assertEqual(state_of(self.victim), before)

    def test_the_paths_of_the_command_line_may_be_links(self):
        real = self.folder / "real"
        real.mkdir()
        (self.folder / "link").symlink_to(real)
        (real / "x").write_bytes(b"plain")
        self.framefs("pack", self.folder / "link", "-o", self.folder / "packed")
        (self.folder / "out-link").symlink_to(self.victim)
        self.framefs("unpack", self.folder / "packed", "-o", self.folder / "out-link")
        self.assertEqual((self.victim / "x").read_bytes(), b"plain")
        frame = self.folder / "frame-link.b2frame"
        frame.symlink_to(self.folder / "packed/x.b2frame")
        for command in (("unpack", frame, "-o", self.folder / "y"), ("check", "-q", frame), ("compact", frame)):
            self.framefs(*command)
        self.assertEqual((self.folder / "y").read_bytes(), b"plain")
        self.assertTrue(frame.is_symlink())

    def random_entry(self, draw, path, depth):
        kind = draw.choice(("link", "link", "directory", "directory", "container", "frame", "sparse", "file"))
        if path.is_symlink() or path.exists():
            return
        if kind == "link":
            goals = (self.victim, self.victim / "a", self.victim / "file", "../victim", "a", "b", "..")
            path.symlink_to(draw.choice(goals))
        elif kind == "directory":
            path.mkdir(mode=0o777)
            if depth < 2:
                self.random_tree(draw, path, depth + 1)
        elif kind == "container":
            members = draw.sample([f"{one}/{two}" for one, two in itertools.product(NAMES, NAMES)], 2)
            path.with_name(path.name + ".b2z").write_bytes(archive(members))
        elif kind == "frame" and not path.with_name(path.name + ".b2frame").exists():
            frame = bytearray(plain_frame(b"evil" * 3, chunksize=4))
            if draw.randrange(2):
                # In the header of a chunk, for check --repair.
                frame[frame.index(b"evil") - 20] ^= 0xFF
            path.with_name(path.name + ".b2frame").write_bytes(frame)
        elif kind == "sparse" and not path.with_name(path.name + ".b2frame").exists():
            # A directory that may be taken for a frame, with links in the places of its files.
            sparse = path.with_name(path.name + ".b2frame")
            sparse.mkdir()
            for name in ("chunks.b2frame", "00000000.chunk", "next.b2frame"):
                if draw.randrange(2):
                    (sparse / name).symlink_to(self.victim / "file")
        elif kind == "file":
            path.write_bytes(b"evil")

    def random_tree(self, draw, top, depth=0):
        for name in NAMES:
            for _ in range(2):  # a link beside a frame or container of its name
                self.random_entry(draw, top / name, depth)

    def state_but(self, *changed):
        """The state of everything in the test's folder, except for some paths and all below."""
        tops = [os.fspath(path) for path in changed]

        def is_changed(path):
            return path == os.fspath(self.folder) or any(path == top or path.startswith(top + "/") for top in tops)
        return {path: state for path, state in state_of(self.folder).items() if not is_changed(path)}

    def random_trees(self, case):
        draw = random.Random(f"{SEED} {case}")
        trees = [self.folder / f"tree-{case}-{part}" for part in range(2)]
        for tree in trees:
            tree.mkdir()
            self.random_tree(draw, tree)
        return draw, trees

    def test_random_trees_leave_everything_else_alone(self):
        """Two trees into one OUT, in each order, with and without --force."""
        print(f"FRAMEFS_SEED={SEED}", flush=True)
        made = 0
        for case in range(CASES):
            draw, trees = self.random_trees(case)
            commands = (["pack"], ["unpack"], ["check", "--repair"])
            for command, order in itertools.product(commands, (trees, trees[::-1])):
                before = self.state_but(self.out)
                self.out.mkdir()
                for tree in order:
                    told = self.run_framefs(*command, *draw.choice(((), ("-f",))), tree, "-o", self.out)
                    self.assertEqual(self.state_but(self.out), before, f"seed {SEED} case {case} {command} {told}")
                made += sum(len(files) for _, _, files in os.walk(self.out))
                self.tool("rm", "-rf", self.out)
            self.tool("rm", "-rf", *trees)
        self.assertGreater(made, CASES)  # the commands do something

    def test_random_trees_are_changed_in_place_within_their_frames(self):
        """compact, check --rehash, and unpack of a tree into itself."""
        print(f"FRAMEFS_SEED={SEED}", flush=True)
        for case in range(CASES):
            draw, trees = self.random_trees(case)
            frames = [os.path.join(parent, name) for parent, _, files in os.walk(trees[0]) for name in files
                      if name.endswith(".b2frame") and not os.path.islink(os.path.join(parent, name))]
            sparse = [os.path.join(parent, name) for parent, folders, _ in os.walk(trees[0]) for name in folders
                      if name.endswith(".b2frame")]
            # The directory of a frame gets a temporary file, and with it another time.
            before = self.state_but(trees[0])
            for path in (*frames, *sparse):
                self.run_framefs("compact", path)
            self.run_framefs("check", "-q", "--rehash", trees[0])
            self.assertEqual(self.state_but(trees[0]), before, f"seed {SEED} case {case} compact")
            before = self.state_but(trees[1])
            told = self.run_framefs(draw.choice(("pack", "unpack")), *draw.choice(((), ("-f",))), trees[1])
            self.assertEqual(self.state_but(trees[1]), before, f"seed {SEED} case {case} {told}")
            self.tool("rm", "-rf", *trees)

    def test_a_manifest_is_written_beside_links(self):
        _, trees = self.random_trees(0)
        out = trees[0] / "manifest.json"
        for name in ("manifest.json~", ".manifest.json", "manifest.json.tmp"):
            (trees[0] / name).symlink_to(self.victim / "file")
        with object_server.ObjectServer({"x.b2frame": plain_frame(b"content")}) as server:
            for options in ([], ["-f"]):
                before = self.state_but(trees[0])
                self.framefs("index", "-q", *options, server.url, "-o", out)
                self.assertEqual(self.state_but(trees[0]), before)
                self.assertIn(b"x.b2frame", out.read_bytes())

    def test_a_tree_deeper_than_a_path_can_be_long(self):
        tree, packed, again = (self.folder / name for name in ("deep", "packed", "again"))
        tree.mkdir()
        # Python's own removal of trees gives up at such paths.
        self.addCleanup(self.tool, "rm", "-rf", tree, packed, again, check=False)
        names = ["d" * 100] * 60
        at = os.open(tree, os.O_RDONLY)
        for name in names:
            os.mkdir(name, dir_fd=at)
            below = os.open(name, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = below
        content = b"x" * 5000
        with open(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=at), "wb") as file:
            file.write(content)
        os.close(at)

        def at_the_end(top, name):
            at = os.open(top, os.O_RDONLY)
            for part in names:
                below = os.open(part, os.O_RDONLY, dir_fd=at)
                os.close(at)
                at = below
            with open(os.open(name, os.O_RDONLY, dir_fd=at), "rb") as file:
                os.close(at)
                return file.read()

        self.framefs("pack", tree, "-o", packed)
        self.assertGreater(len(at_the_end(packed, "leaf.b2frame")), 100)
        self.assertIn(b"1 frame checked, 5.0 kB decoded: no damage", self.framefs("check", packed).stdout)
        self.assertIn(b"1 frame, ", self.framefs("info", packed).stdout)
        self.framefs("unpack", packed, "-o", again)
        self.assertEqual(at_the_end(again, "leaf"), content)
        self.framefs("pack", "--remove-source", tree)
        self.framefs("unpack", tree)
        self.assertEqual(at_the_end(tree, "leaf"), content)
