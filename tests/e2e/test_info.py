"""framefs info: its output for every fixture, for damage and for containers, as text and as
JSON."""

import json
import re
import signal
import struct
import subprocess
import unittest

import numpy

import daemon
import fixtures
import memory
from command_case import CommandCase
from frame_writer import array_frame, frame, memcpyed_chunk, plain_frame
from container_writer import archive, embed_container

SPECIAL = {None: 0, "zero": 1, "nan": 2, "value": 3, "uninit": 4}

# Keys in the manifest, and in the object that describes a frame.
SAME = {"nbytes": "nbytes", "nchunks": "chunks", "typesize": "typesize", "codec": "codec",
        "clevel": "level", "codec_meta": "codec_meta", "frame_len": "frame_len"}


def specials(entry):
    said = entry["chunk_special"]
    return [int(said[4:])] * entry["nchunks"] if isinstance(said, str) else said


class Fixtures(CommandCase):
    def check_frame(self, entry, said):
        for theirs, ours in SAME.items():
            if theirs in entry:
                self.assertEqual(said[ours], entry[theirs], ours)
        if "chunksize" in entry:
            self.assertEqual(said["chunksize"], max(entry["chunksize"], 0))
        if "filters" in entry:
            wanted = [(f, m) for f, m in zip(entry["filters"], entry["filters_meta"]) if f]
            self.assertEqual([(f["id"], f["meta"]) for f in said["filters"]], wanted)
        self.assertEqual(said["kind"], "sparse" if entry["kind"] == "sframe" else "contiguous")
        meta = [{"name": name, "stored_bytes": entry["meta"][name]["len"]}
                for name in entry.get("meta_order", [])]
        self.assertEqual(said["metalayers"], meta)
        self.assertEqual([layer["name"] for layer in said["vlmetalayers"]], entry.get("vlmeta_order", []))

    def check_array(self, entry, said):
        if "b2nd" not in entry or entry.get("b2nd_reference") == "error":
            return
        for key in ("shape", "chunkshape", "blockshape", "dtype", "dtype_format"):
            if key in entry["b2nd"]:
                self.assertEqual(said["array"][key], entry["b2nd"][key], key)
        self.assertEqual(said["shape"], entry["b2nd"]["shape"])

    def check_chunks(self, entry, said):
        chunks = said["chunk_list"]
        self.assertEqual([chunk["index"] for chunk in chunks], list(range(entry["nchunks"])))
        if any("error" in chunk for chunk in chunks):
            self.assertTrue(fixtures.needs_plugin(entry), chunks)
            return
        self.assertEqual(sum(chunk["nbytes"] for chunk in chunks), entry["nbytes"])
        if "chunk_nbytes" in entry:
            self.assertEqual([chunk["nbytes"] for chunk in chunks], entry["chunk_nbytes"])
        if "chunk_special" in entry:
            self.assertEqual([SPECIAL[chunk["special"]] for chunk in chunks], specials(entry))
        if "vlblocks" in entry:
            counts = [chunk["blocks"] for chunk in chunks if chunk["vl_blocks"]]
            self.assertEqual(counts, [len(lengths) for lengths in entry["vlblocks"] if lengths])
        self.check_places(entry, chunks)

    def check_places(self, entry, chunks):
        """Checks that the chunks' sizes are at the offsets that info prints."""
        path = fixtures.FIXTURES / entry["path"]
        for chunk in chunks[:20]:
            if chunk["offset"] is None:
                self.assertIsNotNone(chunk["special"])
                continue
            file = path / chunk["file"] if "file" in chunk else path
            with open(file, "rb") as stored:
                stored.seek(chunk["offset"] + 4)
                nbytes, blocksize, cbytes = struct.unpack("<3i", stored.read(12))
            self.assertEqual((nbytes, cbytes), (chunk["nbytes"], chunk["cbytes"]))
            if not chunk["vl_blocks"]:
                self.assertEqual(blocksize, chunk["blocksize"])

    def test_each_frame_is_described_as_the_manifest_says(self):
        counts = {"ok": 0, "unsupported": 0, "error": 0}
        for entry in fixtures.sample():
            with self.subTest(entry["path"], offset=entry.get("offset", 0)):
                path = fixtures.FIXTURES / entry["path"]
                options = fixtures.offset_options(entry)
                result = self.tool(daemon.FRAMEFS, "info", "--json", "--chunks", *options, path, check=False)
                [said] = json.loads(result.stdout)
                self.assertEqual(result.stderr, b"")
                self.assertEqual(said["path"], str(path))
                troubled = "error" in said or any("error" in c for c in said["chunk_list"])
                self.assertEqual(result.returncode, 1 if troubled else 0)
                counts[entry["expect"]] += 1
                if fixtures.is_sound(entry):
                    self.assertNotIn("error", said)
                    self.check_frame(entry, said)
                    self.check_array(entry, said)
                    self.check_chunks(entry, said)
        self.assertGreater(min(counts.values()), 0)
        print(f"\nfixtures described: {counts}", flush=True)

    def test_people_are_told_the_same(self):
        for entry in fixtures.sample()[::7]:
            with self.subTest(entry["path"], offset=entry.get("offset", 0)):
                path = fixtures.FIXTURES / entry["path"]
                command = (daemon.FRAMEFS, "info", "--chunks", *fixtures.offset_options(entry), path)
                result = self.tool(*command, check=False)
                text = result.stdout.decode()
                if not fixtures.is_sound(entry):
                    self.assertIn(result.returncode, (0, 1))
                    continue
                lines = text.splitlines()
                self.assertEqual(lines[0], f"{path}:")
                # Keys and their values are in one column each.
                block = [line for line in lines[1:] if line.startswith("  ")]
                decoded = next(line for line in block if line.startswith("  decoded"))
                self.assertIn(f"{entry['nbytes']} bytes", decoded)
                rows = [line for line in lines if re.match(r" +\d+ +(-|\d+|[0-9A-F]{8}\.chunk) ", line)]
                self.assertEqual(len(rows), entry["nchunks"])
                self.assertNotIn("\x1b", text)


class Info(CommandCase):
    def setUp(self):
        self.data = bytes(range(256)) * 20
        self.good = self.folder / "good.b2frame"
        self.good.write_bytes(plain_frame(self.data))

    def test_several_paths_go_on_after_a_failure(self):
        text = self.folder / "text.b2frame"
        text.write_text("no frame\n" * 100)
        (self.folder / "empty.b2frame").mkdir()
        paths = [self.folder / "nowhere", text, self.folder / "empty.b2frame", self.good]
        said = self.info(*paths, code=1)
        self.assertEqual([entry["path"] for entry in said], [str(path) for path in paths])
        self.assertIn("No such file", said[0]["error"])
        self.assertIn("bad field", said[1]["error"])
        self.assertIn("directory", said[2]["error"])
        self.assertEqual(said[3]["nbytes"], len(self.data))
        result = self.assert_fails("info", *paths, cause="nowhere: No such file")
        self.assertEqual(len(result.stderr.splitlines()), 3)
        self.assertTrue(result.stdout.startswith(f"{self.good}:\n".encode()))

    def test_one_block_for_each_frame(self):
        other = self.folder / "other.b2frame"
        other.write_bytes(plain_frame(b"1234", vlmeta={"note": b"x" * 100}))
        blocks = self.framefs("info", self.good, other).stdout.decode().split("\n\n")
        self.assertEqual(len(blocks), 2)
        self.assertIn("5.1 kB (5120 bytes)", blocks[0])
        self.assertIn("4 bytes", blocks[1])
        self.assertIn("note: 132 bytes", blocks[1])
        starts = {re.match(r"  \S+ +", line).end() for line in blocks[0].splitlines()[1:]}
        self.assertEqual(len(starts), 1)

    def test_directories(self):
        """Every frame of a directory is described, and the last line sums them up."""
        tree = self.folder / "tree"
        (tree / "a/b").mkdir(parents=True)
        one = plain_frame(b"1" * 5000)
        (tree / "a/one.b2frame").write_bytes(one)
        (tree / "a/b/two.b2frame").write_bytes(plain_frame(b"2" * 5000)[:-30])
        (tree / "a/b/notes.txt").write_bytes(b"no frame")
        self.make_frame(bytes(3000), tree / "a/sparse.b2frame", "--sparse", "--chunk", "1K")
        archive(tree / "store.b2z", {"in/three.b2f": plain_frame(b"3" * 7000)})
        names = ["a/b/two.b2frame", "a/one.b2frame", "a/sparse.b2frame", "store.b2z"]
        said = self.info(tree, code=1)
        self.assertEqual([entry["path"] for entry in said], [str(tree / name) for name in names])
        self.assertEqual(["error" in entry for entry in said], [True, False, False, False])
        self.assertEqual([entry["nbytes"] for entry in said[1:3]], [5000, 3000])
        self.assertEqual(said[3]["members"][0]["path"], "in/three.b2f")
        text = self.framefs("info", tree, code=1).stdout.decode()
        self.assertRegex(text, r"\n\n3 frames, 15\.0 kB, stored in .*; 1 COULD NOT BE READ\n\Z")
        self.assertEqual(len(self.info("--include", "one*", tree)), 1)
        self.assertEqual(len(self.info("--exclude", "b", "--exclude", "*.b2z", tree)), 2)
        alone = self.framefs("info", "--include", "one*", tree).stdout.decode()
        self.assertRegex(alone, rf"\n\n1 frame, 5\.0 kB, stored in {len(one) / 1000:.1f} kB\n\Z")
        self.assertNotIn("1 frame,", self.framefs("info", tree / "a/one.b2frame").stdout.decode())
        self.assertEqual(self.info(tree / "a", "--include", "nothing"), [])

    def test_an_array(self):
        array = self.folder / "a.b2nd"
        array.write_bytes(array_frame(numpy.arange(12, dtype="<i4").reshape(3, 4)))
        [said] = self.info(array)
        self.assertEqual(said["shape"], [3, 4])
        self.assertEqual(said["dtype"], "<i4")
        self.assertEqual(said["array"]["npy_descr"], "'<i4'")

    def test_a_damaged_chunk_has_its_row_and_the_others_theirs(self):
        chunks = [memcpyed_chunk(bytes([i]) * 1000) for i in range(4)]
        stored = bytearray(frame(chunks, 1000))
        [at] = [c["offset"] for c in self.info("--chunks", self.write("b", stored))[0]["chunk_list"]
                if c["index"] == 2]
        struct.pack_into("<i", stored, at + 12, 5)  # cbytes
        path = self.write("broken.b2frame", stored)
        [said] = self.info("--chunks", path, code=1)
        errors = [chunk.get("error") for chunk in said["chunk_list"]]
        self.assertEqual([error is not None for error in errors], [False, False, True, False])
        self.assertIn(f"at byte {at + 12}", errors[2])
        rows = self.framefs("info", "--chunks", path, code=1).stdout.decode().splitlines()[-4:]
        self.assertEqual(["error: bad field: cbytes" in row for row in rows], [False, False, True, False])
        # Without --chunks, info does not read the damaged chunk.
        self.info(path)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(bytes(content))
        return path

    def test_names_from_a_stranger_do_not_reach_the_terminal_as_they_are(self):
        path = self.write("x.b2frame", plain_frame(b"1", meta={"a\x1b[31m\n": b"z"}))
        text = self.framefs("info", path).stdout
        self.assertNotIn(b"\x1b", text)
        self.assertIn(rb"a\x1b[31m\x0a: 1 bytes", text)
        self.assertEqual(self.info(path)[0]["metalayers"][0]["name"], "a\x1b[31m\n")

    def test_a_frame_within_a_file(self):
        path = self.write("x.bin", bytes(4096) + self.good.read_bytes() + b"more")
        [said] = self.info("--offset", "4K", "--chunks", path)
        [alone] = self.info("--chunks", self.good)
        self.assertEqual(said["nbytes"], len(self.data))
        self.assertEqual([chunk["offset"] for chunk in said["chunk_list"]],
                         [chunk["offset"] + 4096 for chunk in alone["chunk_list"]])
        self.assert_fails("info", path, cause="x.bin: this is not a Blosc2 frame")
        self.assert_fails("info", "--offset", "1G", path, cause="x.bin: ")

    def test_many_chunks_are_printed_as_they_come(self):
        count = 200_000
        path = self.write("many.b2frame", frame([memcpyed_chunk(b"x")] * count, 1))
        command = [daemon.FRAMEFS, "info", "--chunks", path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for _ in range(count - 1000):
                self.assertTrue(process.stdout.readline())
            # The process waits for its reader; most of its work is done.
            peak_mib = memory.peak_mib(process.pid)
            rest = process.stdout.read()
            self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.returncode, 0)
        self.assertGreater(len(rest.splitlines()), 1000)
        if not daemon.SANITIZED:
            self.assertLess(peak_mib, 32)

    def test_a_reader_that_has_seen_enough_is_no_failure_to_speak_of(self):
        path = self.write("many.b2frame", frame([memcpyed_chunk(b"x")] * 50_000, 1))
        for arguments in (["--chunks"], ["--chunks", "--json"]):
            command = [daemon.FRAMEFS, "info", *arguments, path]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdout.readline()
                process.stdout.close()
                self.assertEqual(process.stderr.read(), b"")
                self.assertEqual(process.wait(daemon.DEADLINE_S), -signal.SIGPIPE)
            # Some programs start others with the signal ignored.
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  restore_signals=False) as process:
                process.stdout.readline()
                process.stdout.close()
                self.assertEqual(process.stderr.read(), b"")
                self.assertEqual(process.wait(daemon.DEADLINE_S), 1)

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([daemon.FRAMEFS, "info", self.good], stdout=full,
                                    stderr=subprocess.PIPE, timeout=daemon.DEADLINE_S)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"standard output: write: No space left", result.stderr)

    def test_usage(self):
        self.assert_refused("info", cause="FRAME is required")
        self.assert_refused("info", "--frobnicate", self.good, cause="--frobnicate")
        self.assert_refused("info", "--offset", "much", self.good, cause="much")
        for arguments in (["info", "--help"], ["help", "info"]):
            self.assertIn(b"--chunks", self.framefs(*arguments).stdout)


class Containers(CommandCase):
    def setUp(self):
        self.values = numpy.arange(100, dtype="<f8")
        self.embedded = embed_container({"/a": plain_frame(b"z" * 5000), "/deep/b": array_frame(self.values)},
                                    remote=["/far"])
        self.members = {"x.b2nd": array_frame(self.values), "deep/y.b2frame": plain_frame(b"hello"),
                        "readme.txt": b"text", "embed.b2e": self.embedded}
        self.archive = self.folder / "s.b2z"
        archive(self.archive, self.members)

    def test_members(self):
        [said] = self.info(self.archive, code=1)  # data on a server cannot be read
        self.assertEqual(said["kind"], "archive")
        self.assertEqual(said["stored_bytes"], self.archive.stat().st_size)
        members = {member["path"]: member for member in said["members"]}
        kinds = {path: (member["kind"], member["nbytes"]) for path, member in members.items()}
        self.assertEqual(kinds["x.b2nd"], ("array", 800))
        self.assertEqual(kinds["deep/y.b2frame"], ("frame", 5))
        self.assertEqual(kinds["readme.txt"], ("file", 4))
        self.assertEqual(kinds["embed.b2e/a.b2frame"], ("frame", 5000))
        self.assertEqual(kinds["embed.b2e/deep/b.b2nd"], ("array", 800))
        self.assertIn("server", members["embed.b2e/far"]["error"])
        self.assertEqual(members["x.b2nd"]["stored_bytes"], len(self.members["x.b2nd"]))
        rows = self.framefs("info", self.archive, code=1).stdout.decode().splitlines()
        self.assertEqual(len(rows), 4 + len(members))
        self.assertTrue(any(re.fullmatch(r"  array +\d+ +800  x\.b2nd", row) for row in rows), rows)

    def test_an_embedded_container_by_itself(self):
        path = self.folder / "e.b2e"
        path.write_bytes(embed_container({"/a": plain_frame(b"z" * 5000)}))
        [said] = self.info(path)
        self.assertEqual(said["kind"], "embedded container")
        self.assertEqual([member["path"] for member in said["members"]], ["a.b2frame"])

    def test_a_member_by_its_path(self):
        [said] = self.info("--chunks", f"{self.archive}/x.b2nd")
        self.assertEqual(said["shape"], [100])
        self.assertEqual(len(said["chunk_list"]), 1)
        [said] = self.info(f"{self.archive}/embed.b2e/deep/b.b2nd")
        self.assertEqual(said["shape"], [100])
        [said] = self.info(f"{self.archive}/deep")
        self.assertEqual([member["path"] for member in said["members"]], ["deep/y.b2frame"])
        for wrong in ("nowhere", "x.b2nd/further", "../s.b2z/x.b2nd/..", "readme.txt"):
            self.assert_fails("info", f"{self.archive}/{wrong}", cause=f"{wrong}: ")

    def test_a_damaged_archive(self):
        self.archive.write_bytes(self.archive.read_bytes()[:-30])
        [said] = self.info(self.archive, code=1)
        self.assertIn("error", said)
        result = self.assert_fails("info", self.archive, cause="s.b2z: ")
        self.assertEqual(len(result.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
