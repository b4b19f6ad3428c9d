"""framefs pack: frames of plain files, which a mount shows as those files again."""

import fcntl
import os
import signal
import stat
import subprocess
import unittest

import daemon
import data
from command_case import CommandCase


class Pack(CommandCase):
    def plain(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_a_packed_file_is_shown_unchanged(self):
        contents = {"walk": data.random_walk(300_000), "log": data.text(20_000), "noise": data.noise(100_000),
                    "sparse": data.sparse(3_000_000), "empty": b"", "one": b"1"}
        for codec in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
            for name, content in contents.items():
                self.framefs("pack", "--codec", codec, "--chunk-size", "256K", self.plain(name, content),
                             "-o", self.source / f"{name}.{codec}.b2frame")
        with self.mount() as mount:
            self.assertEqual(len(os.listdir(mount.path())), 5 * len(contents))
            for shown in mount.path().iterdir():
                self.assert_same_bytes(shown.read_bytes(), contents[shown.stem], shown.name)

    def test_a_frame_has_the_mode_and_time_of_its_original(self):
        path = self.plain("log", data.text(1000))
        os.chmod(path, 0o640)
        os.utime(path, ns=(10**18, 10**18 + 5))
        self.framefs("pack", path)
        st = (self.folder / "log.b2frame").stat()
        self.assertEqual((stat.S_IMODE(st.st_mode), st.st_mtime_ns), (0o640, 10**18 + 5))
        self.assertLess(st.st_size, path.stat().st_size)

    def test_pack_and_unpack_are_inverse(self):
        path = self.plain("walk", data.random_walk(500_000))
        self.framefs("pack", path, "-o", self.folder / "w.b2frame")
        self.assert_same_bytes(self.framefs("unpack", self.folder / "w.b2frame", "-o", "-").stdout,
                               path.read_bytes(), "unpack")

    def test_holes_stay_holes(self):
        path = self.folder / "holes"
        with open(path, "wb") as file:
            file.truncate(1 << 34)
            file.seek(1 << 33)
            file.write(b"an island")
        self.framefs("pack", path, "-o", self.source / "holes.b2frame")
        self.assertLess((self.source / "holes.b2frame").stat().st_size, 1 << 20)
        with self.mount() as mount:
            with open(mount.path("holes"), "rb") as file:
                self.assertEqual(os.fstat(file.fileno()).st_size, 1 << 34)
                at = os.lseek(file.fileno(), 0, os.SEEK_DATA)
                self.assertLessEqual(at, 1 << 33)
                self.assertEqual(os.pread(file.fileno(), 9, 1 << 33), b"an island")

    def test_nothing_is_overwritten_unasked(self):
        path = self.plain("log", b"new")
        frame = self.folder / "log.b2frame"
        frame.write_bytes(b"old")
        self.assert_fails("pack", path, cause="log.b2frame")
        self.assertEqual(frame.read_bytes(), b"old")
        self.framefs("pack", "--force", path)
        self.assertEqual(self.info(frame)[0]["nbytes"], 3)
        self.assertEqual(sorted(os.listdir(self.folder)), ["log", "log.b2frame", "mnt", "source"])

    def test_a_file_is_not_replaced_by_its_own_frame(self):
        path = self.plain("log", b"content")
        self.assert_fails("pack", path, "-o", path, "--force", cause=f"{path}: is the file that is to be packed")
        self.assertEqual(path.read_bytes(), b"content")

    def test_names_of_any_length(self):
        """Up to 255 bytes, with the suffix of the frame."""
        longest = self.plain("a" * 247, b"content")
        self.framefs("pack", longest)
        frame = self.folder / f"{longest.name}.b2frame"
        longest.unlink()
        self.framefs("unpack", frame)
        self.assertEqual(longest.read_bytes(), b"content")
        longer = self.plain("b" * 248, b"content")
        self.assert_fails("pack", longer, cause=f"{longer}.b2frame: File name too long")

    def test_names_in_brackets_are_no_lists(self):
        for name in ("[x]", "[a,b]", "[]"):
            (self.source / name).write_bytes(name.encode())
        (self.source / "x").write_bytes(b"another file")
        self.framefs("pack", "--remove-source", "[x]", "-q", "[a,b]", "--", "[]", cwd=self.source)
        self.assertEqual(sorted(os.listdir(self.source)), ["[].b2frame", "[a,b].b2frame", "[x].b2frame", "x"])
        self.assertEqual(self.framefs("cat", ".", "[a,b]", "[x]", cwd=self.source).stdout, b"[a,b][x]")
        self.framefs("pack", "-o", "[out]", "--exclude", "[x]", ".", cwd=self.source, code=2)
        self.framefs("unpack", "--include", "[a,b]", ".", "-q", cwd=self.source)
        self.assertEqual(sorted(os.listdir(self.source)), ["[].b2frame", "[a,b].b2frame", "[x].b2frame", "x"])

    def test_streams(self):
        plain = os.urandom(300_000) + bytes(3_000_000)
        packed = self.framefs("pack", "-", input=plain).stdout
        frame = self.source / "piped.b2frame"
        frame.write_bytes(packed)
        self.assertEqual(self.framefs("unpack", frame, "-o", "-").stdout, plain)
        again = self.framefs("pack", self.plain("x", plain), "-o", "-").stdout
        self.assertEqual(again, packed)
        self.framefs("pack", "-", "-o", self.folder / "named.b2frame", input=plain)
        self.assertEqual((self.folder / "named.b2frame").read_bytes(), packed)
        self.assert_refused("pack", "-", "-", cause="once")
        self.assert_refused("pack", "-", "-o", self.folder, cause="-o NAME")

    def test_a_frame_is_packed_only_if_that_is_asked_for(self):
        path = self.plain("log", data.text(1000))
        self.framefs("pack", "--remove-source", path)
        frame = self.folder / "log.b2frame"
        for _ in range(2):
            self.assert_fails("pack", "--remove-source", frame,
                              cause="log.b2frame: is a frame or container already; --nest")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("log")], ["log.b2frame"])
        nested = self.folder / "log.b2frame.b2frame"
        self.framefs("pack", "--nest", frame)
        self.assertEqual(self.framefs("unpack", nested, "-o", "-").stdout, frame.read_bytes())
        # The name alone makes no frame.
        self.framefs("pack", self.plain("notes.b2frame", b"no frame"))
        tree = self.folder / "tree"
        tree.mkdir()
        frame.rename(tree / "x.b2frame")
        for options, wanted in (([], ["x.b2frame"]), (["--nest"], ["x.b2frame.b2frame"])):
            out = self.folder / f"out{len(options)}"
            self.framefs("pack", *options, tree, "-o", out)
            self.assertEqual(os.listdir(out), wanted)

    def test_devices_fifos_and_links_are_not_replaced(self):
        path = self.plain("x", b"content")
        link = self.folder / "link"
        link.symlink_to("elsewhere")
        self.framefs("pack", "--force", path, "-o", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.lstat("/dev/null").st_mode))
        refused = self.assert_fails("pack", "--force", path, "-o", link, cause=f"framefs: {link}: is a symbolic link")
        self.assertEqual(refused.stderr.decode(),
                         f"framefs: {link}: is a symbolic link, which is not replaced; name its target\n")
        self.assertEqual(os.readlink(link), "elsewhere")

    def test_an_output_at_fault_is_named(self):
        path = self.plain("x", b"content")
        frame = self.folder / "x.b2frame"
        self.framefs("pack", path)
        absent = self.folder / "absent/out"
        for command in (("pack", path), ("unpack", frame)):
            self.assert_fails(*command, "-o", absent, cause=f"framefs: {absent}: its directory: No such file")
            self.assert_fails(*command, "-o", "/dev/full", cause="framefs: /dev/full: write: No space left")
            full = self.tool("sh", "-c", '"$@" -o - >/dev/full', "sh", daemon.FRAMEFS, *command, check=False)
            self.assertEqual((full.returncode, full.stderr), (1, b"framefs: standard output: write: No space left on device\n"))
        for command in ("pack", "unpack"):
            self.assert_fails(command, self.source, "-o", path, cause=f"framefs: {path}: is not a directory")

    def test_a_directory_cannot_go_to_a_stream(self):
        for command in ("pack", "unpack"):
            for out in ("-", "/dev/null"):
                self.assert_refused(command, self.source, "-o", out, cause=f"{self.source} is a directory: -o needs")
        self.assertFalse((self.folder / "-").exists())

    def test_a_signal_leaves_nothing_behind(self):
        """Also while the command waits for its standard input."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Programs inherit that a signal is ignored, as nohup(1) has it.
            self.addCleanup(signal.signal, number, signal.signal(number, signal.SIG_DFL))
            target = self.folder / "made/out.b2frame"
            target.parent.mkdir(exist_ok=True)
            with subprocess.Popen([daemon.FRAMEFS, "pack", "-", "-o", target], stdin=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                process.stdin.write(bytes(1000))
                process.stdin.flush()
                daemon.wait_for(lambda: os.listdir(target.parent), "a temporary file")
                process.send_signal(number)
                process.wait(daemon.DEADLINE_S)
                self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.returncode, -number)
            self.assertEqual(os.listdir(target.parent), [])

    def test_a_leased_file_is_not_waited_for(self):
        """An open that waits gets the file when the kernel breaks the lease, and packs it."""
        tree, leased = self.folder / "tree", self.folder / "tree/leased"
        tree.mkdir()
        (tree / "plain").write_bytes(b"plain")
        leased.write_bytes(b"leased")
        before = signal.signal(signal.SIGIO, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGIO, before)
        with open(leased, "rb") as file:
            try:
                fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            except OSError as error:
                self.skipTest(f"no leases here: {error}")
            self.assert_fails("pack", tree, "-o", self.folder / "packed", cause="Resource temporarily unavailable")
        self.assertEqual(os.listdir(self.folder / "packed"), ["plain.b2frame"])

    def test_a_fifo_is_packed_and_the_wait_for_its_writer_can_be_ended(self):
        fifo, target = self.folder / "fifo", self.folder / "made/out.b2frame"
        target.parent.mkdir()
        os.mkfifo(fifo)
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([daemon.FRAMEFS, "pack", fifo, "-o", target], stderr=subprocess.PIPE) as process:
                daemon.wait_for(lambda: os.listdir(target.parent), "a temporary file")
                process.send_signal(number)
                try:
                    process.wait(daemon.DEADLINE_S)
                finally:
                    process.kill()
            self.assertEqual((process.returncode, os.listdir(target.parent)), (-number, []))
        content = data.text(300_000)
        for out in (target, "-"):
            with subprocess.Popen([daemon.FRAMEFS, "pack", fifo, "-o", out], stdout=subprocess.PIPE) as process:
                with open(fifo, "wb") as writer:
                    writer.write(content)
                stored = process.stdout.read()
        self.assertEqual(target.read_bytes(), stored)
        self.assertEqual(self.framefs("unpack", target, "-o", "-").stdout, content)

    def test_a_file_that_changes_while_it_is_read_gets_no_frame(self):
        path = self.plain("log", data.noise(8 << 20))
        target = self.folder / "made/out.b2frame"
        target.parent.mkdir()
        with subprocess.Popen([daemon.FRAMEFS, "pack", "--threads", "1", "--codec", "zlib", "--level", "9",
                               "--chunk-size", "64K", path, "-o", target], stderr=subprocess.PIPE) as process:
            daemon.wait_for(lambda: os.listdir(target.parent), "a temporary file")
            process.send_signal(signal.SIGSTOP)
            self.assertFalse(target.exists(), "the frame was complete before the file could be changed")
            with open(path, "r+b") as file:
                file.seek(7 << 20)
                file.write(b"changed")
            process.send_signal(signal.SIGCONT)
            process.wait(daemon.DEADLINE_S)
            self.assertEqual(process.stderr.read().decode(), f"framefs: {path}: the file changed while it was read\n")
        self.assertEqual((process.returncode, os.listdir(target.parent)), (1, []))

    def test_messages_are_safe_for_a_terminal(self):
        path = self.plain("x\x1b[31m\ny", b"content")
        frame = self.folder / f"{path.name}.b2frame"
        shown = "x\\x1b[31m\\x0ay"
        self.framefs("pack", path)
        self.assert_fails("pack", path, cause=f"framefs: {self.folder}/{shown}.b2frame exists; --force replaces it\n")
        self.assert_fails("unpack", frame, cause=f"framefs: {self.folder}/{shown} exists; --force replaces it\n")
        self.assertIn(f"{shown}.b2frame: ", self.framefs("compact", "-v", frame).stderr.decode())
        tree = self.folder / "t\ny"
        tree.mkdir()
        self.assertTrue(self.framefs("pack", tree).stderr.startswith(f"{self.folder}/t\\x0ay: ".encode()))
        self.assert_refused("pack", tree, "-o", "-", cause="t\\x0ay is a directory")

    def test_usage_errors_and_failures(self):
        self.assert_refused("pack", "--codec", "none-such", self.plain("x", b"x"), cause="none-such")
        self.assert_fails("pack", self.folder / "missing", cause="missing")


if __name__ == "__main__":
    unittest.main()
