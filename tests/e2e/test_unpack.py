"""framefs unpack: files with the same bytes as a mount shows, or no file after an error."""

import contextlib
import hashlib
import io
import os
import select
import signal
import stat
import struct
import subprocess
import time
import unittest
import zipfile

import numpy

import daemon
import data
import fixtures
import memory
from command_case import CommandCase, open_terminal
from frame_writer import array_frame, frame, memcpyed_chunk, plain_frame
from container_writer import archive, embed_container


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def broken_frame():
    """Four chunks, the third of which has a wrong size; and the offset of that size."""
    chunks = [memcpyed_chunk(bytes([i]) * 100_000) for i in range(4)]
    stored = bytearray(frame(chunks, 100_000))
    third = stored.index(chunks[2])
    struct.pack_into("<i", stored, third + 12, 5)
    return bytes(stored), third + 12


class Fixtures(CommandCase):
    def check_bytes(self, entry, target, made):
        lossy = entry.get("lossy") or "filter-truncshuffle" in entry["features"]
        if made and not (lossy and entry["expect"] != "ok"):  # the hash is of the input
            allowed = {entry.get("sha256_if_accepted"), entry["sha256"] if entry["expect"] == "ok" else None}
            self.assertIn(sha256(target), allowed - {None}, entry.get("what"))
        elif not made:
            self.assertTrue(not fixtures.is_sound(entry) or fixtures.needs_plugin(entry))
        self.assertEqual(os.listdir(target.parent), [target.name] if made else [])

    def check_array(self, entry, path, target):
        """As a NumPy file: the items after its header equal the raw bytes."""
        wanted = entry["b2nd"].get("npy_sha256")
        self.framefs("unpack", "--arrays", "raw", path, "-o", target, "--force")
        raw = target.read_bytes()
        if wanted:
            self.assertEqual(hashlib.sha256(raw).hexdigest(), wanted)
        self.framefs("unpack", path, "-o", target, "--force")
        npy = target.read_bytes()
        self.assertTrue(npy.endswith(raw))
        if npy != raw:
            array = numpy.lib.format.read_array(io.BytesIO(npy))
            self.assertEqual(list(array.shape), entry["b2nd"]["shape"])

    def is_array(self, entry):
        return "b2nd" in entry and entry.get("b2nd_reference") != "error"

    def test_each_frame_unpacks_as_the_manifest_says(self):
        counts = {"file": 0, "none": 0, "array": 0}
        target = self.folder / "out/plain"
        target.parent.mkdir()
        for entry in fixtures.sample():
            if fixtures.is_huge(entry):
                continue
            target.unlink(missing_ok=True)
            with self.subTest(entry["path"], offset=entry.get("offset", 0)):
                path = fixtures.FIXTURES / entry["path"]
                if path.is_file() and path.stat().st_size == 0:
                    continue  # an empty frame: see test_empty_frames
                if "b2nd" in entry and path.suffix == ".b2nd":
                    if self.is_array(entry) and fixtures.is_sound(entry) and not fixtures.needs_plugin(entry):
                        self.check_array(entry, path, target)
                        counts["array"] += 1
                    continue
                result = self.tool(daemon.FRAMEFS, "unpack", *fixtures.offset_options(entry), path, "-o",
                                   target, check=False)
                made = result.returncode == 0
                self.assertEqual(result.returncode, 0 if made else 1)
                self.assertEqual(bool(result.stderr), not made, result.stderr)
                self.check_bytes(entry, target, made)
                counts["file" if made else "none"] += 1
        self.assertGreater(min(counts.values()), 0)
        print(f"\nfixtures unpacked: {counts}", flush=True)

    def test_terabytes_of_nothing_take_no_time_and_no_space(self):
        target = self.folder / "plain"
        huge = [entry for entry in fixtures.entries() if fixtures.is_huge(entry)]
        for entry in huge:
            with self.subTest(entry["path"]):
                result = self.tool(daemon.FRAMEFS, "unpack", fixtures.FIXTURES / entry["path"], "-o", target,
                                   check=False)
                if entry["nbytes"] >= 1 << 40:  # more than some filesystems allow
                    self.assertIn(result.returncode, (0, 1), result.stderr)
                else:
                    self.assertEqual(result.returncode, 0, result.stderr)
                if result.returncode == 0:
                    self.assertEqual(target.stat().st_size, entry["nbytes"])
                    target.unlink()
        self.assertGreater(len(huge), 0)


class Unpack(CommandCase):
    def setUp(self):
        self.plain = data.text(60_000)
        self.frame = self.make_frame(self.plain, self.source / "app.log.b2frame", "--codec", "lz4",
                                     "--chunk", "300000", "--block", "16K")

    def left_over(self):
        return [name for name in os.listdir(self.source) if name.startswith(".")]

    def write(self, name, content):
        path = self.source / name
        path.write_bytes(content)
        return path

    def test_the_name_is_that_of_a_mount(self):
        self.write("walk.b2nd", array_frame(numpy.arange(1000, dtype="<f4")))
        sparse = self.write_sparse("dir.b2frame")
        self.framefs("unpack", self.frame, self.source / "walk.b2nd", sparse)
        self.assertEqual(set(os.listdir(self.source)),
                         {"app.log", "app.log.b2frame", "walk.npy", "walk.b2nd", "dir", "dir.b2frame"})
        self.assert_same_bytes((self.source / "app.log").read_bytes(), self.plain, "unpacked")
        numpy.testing.assert_array_equal(numpy.load(self.source / "walk.npy"), numpy.arange(1000))
        self.assertEqual((self.source / "dir").read_bytes(), b"abcdef")
        self.framefs("unpack", "--arrays", "raw", self.source / "walk.b2nd")
        self.assertEqual((self.source / "walk").stat().st_size, 4000)

    def test_a_slash_at_the_end_of_a_directory(self):
        self.write_sparse("dir.b2frame")
        self.framefs("unpack", "dir.b2frame/", cwd=self.source)
        self.assertEqual((self.source / "dir").read_bytes(), self.framefs("cat", "dir.b2frame//", cwd=self.source).stdout)
        self.assertEqual(sorted(os.listdir(self.source)), ["app.log.b2frame", "dir", "dir.b2frame"])
        self.assert_fails("pack", "dir.b2frame/", cwd=self.source, cause="is a frame or container already")
        self.assertIn(b"dir.b2frame: kind", self.framefs("info", "dir.b2frame/", cwd=self.source).stdout.replace(b"\n  ", b" "))

    def write_sparse(self, name):
        folder = self.source / name
        folder.mkdir()
        stored = [memcpyed_chunk(b"abcd"), memcpyed_chunk(b"ef")]
        index = bytearray(frame([], 4))
        entries = memcpyed_chunk(struct.pack("<2q", 0, 1), typesize=8)
        (header_len,) = struct.unpack_from(">i", index, 11)
        index = index[:header_len] + entries + index[header_len:]
        index[26] = 1
        struct.pack_into(">Q", index, 16, len(index))
        struct.pack_into(">q", index, 30, 6)
        struct.pack_into(">q", index, 39, sum(map(len, stored)))
        (folder / "chunks.b2frame").write_bytes(index)
        for i, chunk in enumerate(stored):
            (folder / f"{i:08X}.chunk").write_bytes(chunk)
        return folder

    def test_output_to_a_file_a_folder_and_a_stream(self):
        self.framefs("unpack", self.frame, "-o", self.folder / "other")
        self.assert_same_bytes((self.folder / "other").read_bytes(), self.plain, "-o FILE")
        folder = self.folder / "folder"
        folder.mkdir()
        self.framefs("unpack", self.frame, "-o", folder)
        self.assert_same_bytes((folder / "app.log").read_bytes(), self.plain, "-o FOLDER")
        result = self.framefs("unpack", self.frame, self.frame, "-o", "-")
        self.assert_same_bytes(result.stdout, self.plain + self.plain, "-o -")
        self.assertEqual(result.stderr, b"")

    def test_mode_and_time_are_taken_over(self):
        os.chmod(self.frame, 0o640)
        os.utime(self.frame, ns=(1_600_000_000_123_456_789, 1_500_000_000_987_654_321))
        self.framefs("unpack", self.frame)
        status = (self.source / "app.log").stat()
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o640)
        self.assertEqual(status.st_mtime_ns, 1_500_000_000_987_654_321)

    def test_nothing_is_replaced_unless_asked_for(self):
        target = self.write("app.log", b"mine")
        self.assert_fails("unpack", self.frame, cause="app.log exists; --force replaces it")
        self.assertEqual(target.read_bytes(), b"mine")
        # Neither is the frame itself, whatever the options.
        before = self.frame.read_bytes()
        self.assert_fails("unpack", "--force", self.frame, "-o", self.frame, cause="is the frame itself")
        self.assertEqual(self.frame.read_bytes(), before)
        self.framefs("unpack", "--force", self.frame)
        self.assert_same_bytes(target.read_bytes(), self.plain, "replaced")
        self.assertEqual(self.left_over(), [])

    def test_only_regular_files_are_ever_replaced(self):
        """A stream is written into; any other target that is not a regular file is refused."""
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        link, dangling, folder = (self.folder / name for name in ("link", "dangling", "folder"))
        link.symlink_to(self.write("theirs", b"theirs"))
        dangling.symlink_to("nowhere")
        folder.mkdir()
        for force in ([], ["--force"]):
            with open(self.folder / "read", "wb") as read, subprocess.Popen(["cat", fifo], stdout=read):
                self.framefs("unpack", *force, self.frame, "-o", fifo)
            self.assert_same_bytes((self.folder / "read").read_bytes(), self.plain, "FIFO")
            self.assertTrue(stat.S_ISFIFO(os.lstat(fifo).st_mode))
            self.framefs("unpack", *force, self.frame, "-o", "/dev/null")
            self.assertTrue(stat.S_ISCHR(os.lstat("/dev/null").st_mode))
            cause = "is a symbolic link" if force else "exists"
            for target in (link, dangling):
                self.assert_fails("unpack", *force, self.frame, "-o", target, cause=cause)
                self.assertTrue(target.is_symlink())
        self.assertEqual((self.source / "theirs").read_bytes(), b"theirs")
        (folder / "app.log").mkdir()
        self.assert_fails("unpack", "--force", self.frame, "-o", folder, cause="is a directory")
        self.assertEqual(self.left_over(), [])

    def test_damage_leaves_nothing_behind_and_names_the_chunk(self):
        stored, at = broken_frame()
        broken = self.write("broken.b2frame", stored)
        for force in ([], ["--force"]):
            result = self.assert_fails("unpack", *force, broken, self.frame, "-o", self.folder,
                                       cause=f"broken.b2frame: chunk 2: bad field: cbytes (5) at byte {at}")
            self.assertEqual(len(result.stderr.splitlines()), 1)
            self.assertFalse((self.folder / "broken").exists())
            self.assertTrue((self.folder / "app.log").exists())  # the next file is unpacked anyway
        kept = self.folder / "kept"
        kept.write_bytes(b"mine")
        self.assert_fails("unpack", "--force", broken, "-o", kept, cause="chunk 2")
        self.assertEqual(kept.read_bytes(), b"mine")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])
        # On a stream, the valid bytes before the damage may have been written, but nothing else.
        out = self.assert_fails("unpack", broken, "-o", "-", cause="chunk 2").stdout
        whole = b"".join(bytes([i]) * 100_000 for i in range(4))
        self.assertTrue(whole.startswith(out))

    def test_holes_stay_holes(self):
        zeros = bytes(4 << 20)
        plain = zeros + data.noise(1 << 20) + zeros + b"end" + bytes(100)
        target = self.folder / "sparse"
        frame_path = self.write_holes("sparse.b2frame", plain, 1 << 20)
        self.framefs("unpack", frame_path, "-o", target)
        self.assert_same_bytes(target.read_bytes(), plain, "with holes")
        self.assertLess(target.stat().st_blocks * 512, 3 << 20)
        # A stream has no holes.
        self.assert_same_bytes(self.framefs("unpack", frame_path, "-o", "-").stdout, plain, "stream")

    def write_holes(self, name, plain, chunk):
        """Writes a frame whose chunks of zeros are only in the index."""
        pieces = [plain[i:i + chunk] for i in range(0, len(plain), chunk)]
        chunks = [memcpyed_chunk(piece) for piece in pieces]
        stored = bytearray(frame(chunks, chunk))
        (header_len,) = struct.unpack_from(">i", stored, 11)
        index_at = header_len + sum(map(len, chunks)) + 32
        for i, piece in enumerate(pieces):
            if not any(piece):
                struct.pack_into("<Q", stored, index_at + 8 * i, 0x81 << 56)
        return self.write(name, stored)

    def test_an_interrupt_leaves_nothing_behind(self):
        plain = data.noise(64 << 20)
        big = self.make_frame(plain, self.source / "big.b2frame", "--codec", "zstd")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with subprocess.Popen([daemon.FRAMEFS, "unpack", big, "--threads", "1"],
                                  stderr=subprocess.PIPE) as process:
                daemon.wait_for(lambda: self.left_over() or process.poll() is not None, "a temporary file")
                process.send_signal(number)
                process.wait(daemon.DEADLINE_S)
                self.assertEqual(process.stderr.read(), b"")
            self.assertIn(process.returncode, (-number, 0))
            self.assertEqual(self.left_over(), [])
            # A signal that arrives after the file has its name ends the program all the same.
            if process.returncode == 0 or (self.source / "big").exists():
                self.assert_same_bytes((self.source / "big").read_bytes(), plain, "unpacked")
            (self.source / "big").unlink(missing_ok=True)

    def test_nohup(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with subprocess.Popen([daemon.FRAMEFS, "unpack", self.frame], stderr=subprocess.PIPE,
                              preexec_fn=ignore) as process:
            process.send_signal(signal.SIGHUP)
            self.assertEqual(process.wait(daemon.DEADLINE_S), 0)
        self.assert_same_bytes((self.source / "app.log").read_bytes(), self.plain, "unpacked")

    def test_a_reader_that_has_seen_enough(self):
        big = self.make_frame(data.noise(8 << 20), self.source / "big.b2frame")
        for restore, code in ((True, -signal.SIGPIPE), (False, 1)):
            with subprocess.Popen([daemon.FRAMEFS, "unpack", big, big, "-o", "-"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, restore_signals=restore) as process:
                process.stdout.read(10)
                process.stdout.close()
                self.assertEqual(process.stderr.read(), b"")
                self.assertEqual(process.wait(daemon.DEADLINE_S), code)

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([daemon.FRAMEFS, "unpack", self.frame, "-o", "-"], stdout=full,
                                    stderr=subprocess.PIPE, timeout=daemon.DEADLINE_S)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"No space left", result.stderr)

    def test_a_frame_within_a_file(self):
        path = self.write("x.bin", bytes(5000) + self.frame.read_bytes() + b"more")
        result = self.framefs("unpack", "--offset", "5000", path, "-o", "-")
        self.assert_same_bytes(result.stdout, self.plain, "--offset")
        self.assert_fails("unpack", "--offset", "5000", path, cause="-o NAME")
        self.assert_fails("unpack", path, "-o", "-", cause="x.bin: this is not a Blosc2 frame")

    def test_memory_is_bounded(self):
        plain = self.folder / "plain"
        with open(plain, "wb") as file:
            for seed in range(20):
                file.write(data.noise(16 << 20, seed=seed))
        big = self.make_frame(plain, self.source / "big.b2frame", "--chunk", "4M", "--codec", "lz4")
        with subprocess.Popen([daemon.FRAMEFS, "unpack", big, "-o", "-"], stdout=subprocess.PIPE) as process:
            digest = hashlib.sha256()
            for _ in range(300):
                digest.update(process.stdout.read(1 << 20))
            # The process waits for its reader; most of its work is done.
            peak_mib = memory.peak_mib(process.pid)
            digest.update(process.stdout.read())
        self.assertEqual(process.returncode, 0)
        self.assertEqual(digest.hexdigest(), sha256(plain))
        if not daemon.SANITIZED:
            self.assertLess(peak_mib, 100)

    def test_a_bar_on_a_terminal_alone(self):
        big = self.make_frame(data.noise(64 << 20), self.source / "big.b2frame")
        self.assertEqual(self.framefs("unpack", big, "-o", self.folder / "1").stderr, b"")
        # The reader of the output waits until there is a bar.
        self.assertIn(b"[", self.on_a_terminal(big, "-o", "-", read_after=b"["))
        self.assertEqual(self.on_a_terminal(big, "-o", "-", "--quiet"), b"")

    def on_a_terminal(self, *arguments, read_after=b""):
        """The standard error if that is a terminal; standard output is read piece by piece."""
        ours, theirs = open_terminal()
        with subprocess.Popen([daemon.FRAMEFS, "unpack", *arguments], stdout=subprocess.PIPE,
                              stderr=theirs) as process:
            os.close(theirs)
            said = b""
            while read_after not in said and process.stdout.read(1 << 20):
                time.sleep(0.02)
                while select.select([ours], [], [], 0)[0]:
                    said += os.read(ours, 4096)
            process.stdout.read()
            with contextlib.suppress(OSError):  # EIO: the other end is closed
                while piece := os.read(ours, 4096):
                    said += piece
        os.close(ours)
        self.assertEqual(process.returncode, 0, said)
        return said

    def test_standard_input(self):
        stored = self.frame.read_bytes()
        temporary = self.folder / "temporary"
        temporary.mkdir()
        for arguments, wanted in ((["-"], self.plain), (["-", "-o", "-"], self.plain)):
            self.assertEqual(self.unpack_input(temporary, stored, *arguments).stdout, wanted)
        self.unpack_input(temporary, stored, "-", "-o", self.folder / "named")
        self.assertEqual((self.folder / "named").read_bytes(), self.plain)
        archive(self.source / "s.b2z", {"x.b2frame": plain_frame(b"hello")})
        self.unpack_input(temporary, (self.source / "s.b2z").read_bytes(), "-", "-o", self.folder / "made")
        self.assertEqual((self.folder / "made/x").read_bytes(), b"hello")
        self.assertIn(b"framefs: standard input: this is not a Blosc2 frame", self.unpack_input(temporary, b"x" * 1000, "-", code=1).stderr)
        self.assertEqual(os.listdir(temporary), [])
        self.assert_refused("unpack", "-", "-", cause="once")
        self.assert_refused("unpack", "-", "-o", self.folder, cause="-o NAME")

    def unpack_input(self, temporary, stored, *arguments, code=0):
        command = ("env", f"TMPDIR={temporary}", daemon.FRAMEFS, "unpack", *arguments)
        result = self.tool(*command, check=False, input=stored)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def test_usage(self):
        self.assert_refused("unpack", cause="FRAME is required")
        self.assert_refused("unpack", self.frame, self.frame, "-o", self.folder / "x", cause="no directory")
        self.assert_refused("unpack", self.frame, "--arrays", "both", cause="both")
        self.assert_refused("unpack", self.frame, "--threads", "many", cause="many")
        self.assert_fails("unpack", self.folder / "nowhere", cause="No such file")
        self.assert_fails("unpack", self.frame, "-o", self.folder / "no/where", cause="No such file")
        for arguments in (["unpack", "--help"], ["help", "unpack"]):
            self.assertIn(b"--force", self.framefs(*arguments).stdout)


class Containers(CommandCase):
    def setUp(self):
        self.values = numpy.arange(100, dtype="<f8")
        embedded = embed_container({"/a": plain_frame(b"z" * 5000)})
        self.archive = self.source / "s.b2z"
        self.members = {"x.b2nd": array_frame(self.values), "deep/y.b2frame": plain_frame(b"hello"),
                        "readme.txt": b"text", "embed.b2e": embedded}
        archive(self.archive, self.members)

    def tree(self, folder):
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def test_a_container_becomes_the_folder_that_a_mount_shows(self):
        self.framefs("unpack", self.archive)
        made = self.tree(self.source / "s")
        self.assertEqual(set(made), {"x.npy", "deep/y", "readme.txt", "embed.b2e/a"})
        self.assertEqual(made["deep/y"], b"hello")
        self.assertEqual(made["embed.b2e/a"], b"z" * 5000)
        numpy.testing.assert_array_equal(numpy.load(self.source / "s/x.npy"), self.values)
        status = (self.source / "s/deep/y").stat()
        self.assertEqual(stat.S_IMODE(status.st_mode), stat.S_IMODE(self.archive.stat().st_mode) & 0o666)
        self.assertEqual(status.st_mtime_ns, self.archive.stat().st_mtime_ns)
        self.assert_fails("unpack", self.archive, cause="s exists; --force replaces it")
        (self.source / "s/readme.txt").write_bytes(b"changed")
        self.framefs("unpack", "--force", self.archive)
        self.assertEqual(self.tree(self.source / "s"), made)
        self.assert_fails("unpack", self.archive, "-o", "-", cause="unpacks to a directory")

    def test_damaged_members_are_left_out(self):
        self.members["bad.b2frame"] = broken_frame()[0]
        archive(self.archive, self.members)
        self.assert_fails("unpack", self.archive, "-o", self.folder / "out",
                          cause="s.b2z/bad.b2frame: chunk 2: bad field: cbytes")
        self.assertEqual(set(self.tree(self.folder / "out")), {"x.npy", "deep/y", "readme.txt", "embed.b2e/a"})

    def test_members_that_cannot_be_read_are_left_out(self):
        """A mount shows them without bytes."""
        archive(self.archive, {"deflated.txt": b"x" * 10_000}, packed=True)
        with zipfile.ZipFile(self.archive, "a") as more:
            more.writestr("stored.txt", b"stored")
            more.writestr("empty.txt", b"")
            more.writestr("secret.txt", b"encrypted")
        # Bit 0 of the flags of the last member says that it is encrypted.
        stored = bytearray(self.archive.read_bytes())
        stored[stored.rindex(b"PK\3\4") + 6] |= 1
        stored[stored.rindex(b"PK\1\2") + 8] |= 1
        self.archive.write_bytes(stored)
        result = self.assert_fails("unpack", self.archive, "-o", self.folder / "out", cause="deflated.txt: unsupported")
        self.assertIn(b"secret.txt: unsupported", result.stderr)
        self.assertEqual(self.tree(self.folder / "out"), {"stored.txt": b"stored", "empty.txt": b""})

    def test_members_by_their_paths(self):
        result = self.framefs("unpack", f"{self.archive}/deep/y.b2frame", f"{self.archive}/readme.txt", "-o", "-")
        self.assertEqual(result.stdout, b"hellotext")
        self.framefs("unpack", f"{self.archive}/x.b2nd")
        numpy.testing.assert_array_equal(numpy.load(self.source / "x.npy"), self.values)
        self.framefs("unpack", f"{self.archive}/deep", "-o", self.folder / "deep")
        self.assertEqual(self.tree(self.folder / "deep"), {"y": b"hello"})
        self.assert_fails("unpack", f"{self.archive}/nowhere", cause="nowhere: ")


if __name__ == "__main__":
    unittest.main()
