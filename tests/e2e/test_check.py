"""framefs check: every damage is reported with its place, and the rest of a frame can be saved."""

import json
import os
import shutil
import struct
import unittest

import numpy

import daemon
import data
import fixtures
from command_case import CommandCase
from container_writer import archive
from frame_writer import array_frame, frame, memcpyed_chunk, plain_frame

CHUNK = 100_000


def header_len(stored):
    return struct.unpack_from(">i", stored, 11)[0]


def index_at(stored):
    return header_len(stored) + struct.unpack_from(">q", stored, 39)[0]


class Base(CommandCase):
    def write(self, name, content):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def check(self, *arguments, code=0):
        """The objects of `framefs check --json`, by path."""
        out = self.framefs("check", "--json", *arguments, code=code).stdout
        return {entry["path"]: entry for entry in json.loads(out)}

    def packed(self, name, plain, *options):
        path = self.write(name, plain)
        target = self.source / f"{name}.b2frame"
        self.framefs("pack", "-f", "--chunk-size", "64K", *options, path, "-o", target)
        path.unlink()
        return target


class Check(Base):
    def test_a_sound_frame(self):
        path = self.packed("log", data.text(20_000))
        entry = self.check(path)[str(path)]
        self.assertTrue(entry["sound"])
        self.assertEqual(entry["damages"], [])
        self.assertEqual((entry["dead_bytes"], entry["lost_bytes"]), (0, 0))
        out = self.framefs("check", path).stdout.decode()
        self.assertRegex(out, r"^1 frame checked, .* decoded: no damage\n$")
        self.assertRegex(self.framefs("check", "-v", path).stdout.decode(), r"log\.b2frame: sound, \d+ chunks")

    def test_each_damage_has_its_place_and_its_cost(self):
        chunks = [memcpyed_chunk(os.urandom(CHUNK)) for _ in range(5)]
        stored = bytearray(frame(chunks, CHUNK))
        second, fourth = stored.index(chunks[1]), stored.index(chunks[3])
        struct.pack_into("<i", stored, second + 12, 5)
        struct.pack_into("<i", stored, fourth + 4, CHUNK + 1)
        path = self.write("broken.b2frame", stored)
        entry = self.check(path, code=1)[str(path)]
        self.assertEqual([(damage["chunk"], damage["offset"], damage["lost"]) for damage in entry["damages"]],
                         [(1, second, {"offset": CHUNK, "size": CHUNK}),
                          (3, fourth, {"offset": 3 * CHUNK, "size": CHUNK})])
        self.assertEqual(entry["lost_bytes"], 2 * CHUNK)
        out = self.framefs("check", path, code=1).stdout.decode()
        self.assertIn(f"broken.b2frame: chunk 1, at byte {second}: bad field: cbytes (5)", out)
        self.assertIn(f"bytes {CHUNK} to {2 * CHUNK - 1} of the data cannot be read", out)
        self.assertIn("--repair", out)

    def test_one_block_costs_no_more_than_itself(self):
        """Only the block's range is lost, although the chunk has many blocks."""
        path = self.packed("text", data.text(40_000), "--codec", "zstd", "--block-size", "8K", "--filter", "none",
                           "--typesize", "1")
        stored = bytearray(path.read_bytes())
        chunk = header_len(stored)
        (third,) = struct.unpack_from("<i", stored, chunk + 32 + 4 * 2)
        stored[chunk + third + 4:chunk + third + 8] = bytes(4)  # the magic number of the stream
        path.write_bytes(stored)
        (damage,) = self.check(path, code=1)[str(path)]["damages"]
        self.assertEqual((damage["chunk"], damage["lost"]), (0, {"offset": 2 * 8192, "size": 8192}))

    def test_chunks_that_share_bytes(self):
        chunks = [memcpyed_chunk(bytes([i]) * 1000) for i in range(3)]
        stored = bytearray(frame(chunks, 1000))
        # The second entry names the first chunk again.
        struct.pack_into("<q", stored, index_at(stored) + 32 + 8, 0)
        path = self.write("shared.b2frame", stored)
        (damage,) = self.check(path, code=1)[str(path)]["damages"]
        self.assertIn("shares bytes", damage["cause"])

    def test_an_index_that_names_a_chunk_thousands_of_times(self):
        """All damages are counted, and the first thousand are told."""
        count = 3000
        chunks = [memcpyed_chunk(bytes([i % 256]) * 1000) for i in range(count)]
        stored = bytearray(frame(chunks, 1000))
        for number in range(count):
            struct.pack_into("<q", stored, index_at(stored) + 32 + 8 * number, 0)
        path = self.write("named.b2frame", stored)
        entry = self.check(path, code=1)[str(path)]
        self.assertEqual((len(entry["damages"]), entry["damage_count"]), (1000, count - 1))
        result = self.tool(daemon.FRAMEFS, "check", path, check=False)
        self.assertIn(f"{path}: 1,999 more damages\n", result.stdout.decode())

    def test_frames_that_cannot_be_opened(self):
        path = self.write("cut.b2frame", plain_frame(b"x" * 5000)[:-30])
        entry = self.check(path, code=1)[str(path)]
        self.assertEqual(entry["damages"][0]["part"], "frame")
        self.assert_fails("check", self.folder / "missing", cause="No such file")
        self.assertFalse(self.check(self.folder / "missing", code=1)[str(self.folder / "missing")]["sound"])

    def test_names_in_a_frame_are_safe_for_a_terminal(self):
        damaged = bytearray(memcpyed_chunk(bytes(range(200, 250))))
        damaged[2] &= ~2  # it is not copied, and its block starts are wrong
        path = self.write("x.b2frame", frame([memcpyed_chunk(b"data")], 4, vlchunks={"\x1b[31mred": bytes(damaged)}))
        out = self.framefs("check", path, code=1).stdout
        self.assertIn(rb'vl-metalayer "\x1b[31mred"', out)
        self.assertNotIn(b"\x1b", out)

    def test_trees_and_containers(self):
        self.write("a/one.b2frame", plain_frame(b"1" * 5000))
        self.write("a/b/two.b2frame", plain_frame(b"2" * 5000)[:-30])
        self.write("a/b/notes.txt", b"no frame")
        sparse = self.source / "a/sparse.b2frame"
        self.make_frame(data.text(3000), sparse, "--sparse", "--chunk", "16K")
        archive(self.source / "a/store.b2z", {"in/three.b2f": plain_frame(b"3" * 5000)})
        found = self.check(self.source, code=1)
        names = {os.path.relpath(path, self.source): entry["sound"] for path, entry in found.items()}
        self.assertEqual(names, {"a/one.b2frame": True, "a/b/two.b2frame": False, "a/sparse.b2frame": True,
                                 "a/store.b2z/in/three.b2f": True})
        self.assertEqual(len(self.check("--exclude", "b", self.source)), 3)
        self.assertEqual(len(self.check("--include", "one*", self.source)), 1)
        self.assertEqual(len(self.check("--include", "a/*", "--exclude", "*two*", "--exclude", "*.b2z", self.source)), 2)
        self.assertRegex(self.framefs("check", self.source, code=1).stdout.decode(),
                         r"4 frames checked, .*: 1 DAMAGED\n")

    def test_fixtures(self):
        """The check finds no damage in a sound fixture."""
        entries = [entry for entry in fixtures.sample()
                   if not entry.get("offset") and not fixtures.is_huge(entry) and not fixtures.needs_plugin(entry)]
        checked = 0
        for begin in range(0, len(entries), 50):
            part = entries[begin:begin + 50]
            paths = [fixtures.FIXTURES / entry["path"] for entry in part]
            out = self.tool(daemon.FRAMEFS, "check", "--json", *paths, check=False).stdout
            found = {entry["path"]: entry for entry in json.loads(out)}
            for entry, path in zip(part, paths):
                report = found.get(str(path))
                if fixtures.is_sound(entry) and report:  # containers are reported by their members
                    self.assertTrue(report["sound"], (path, report["damages"]))
                    checked += 1
        self.assertGreater(checked, len(entries) // 4)


class Repair(Base):
    def repair(self, path, code=0):
        out = self.folder / "repaired.b2frame"
        entry = self.check("--repair", "-f", "-o", out, path, code=code)[str(path)]["repaired"]
        self.assertTrue(self.check(out)[str(out)]["sound"])
        return entry, self.framefs("unpack", "--arrays", "raw", out, "-o", "-").stdout

    def destroyed(self, name, stored, *ranges):
        stored = bytearray(stored)
        for begin, end in ranges:
            stored[begin:end] = os.urandom(end - begin)
        return self.write(name, stored)

    def test_a_lost_header_index_or_trailer(self):
        plain = data.text(30_000) + data.random_walk(200_000)
        for codec in ("blosclz", "lz4", "zstd"):
            stored = self.packed("whole", plain, "--codec", codec, "--typesize", "8").read_bytes()
            index = index_at(stored)
            trailer = len(stored) - struct.unpack_from(">I", stored, len(stored) - 22)[0]
            for what, ranges, order in (("header", [(0, 87)], "index"),
                                        ("magic", [(0, 9)], "index"),
                                        ("index", [(index, trailer)], "file"),
                                        ("trailer", [(trailer, len(stored))], "index"),
                                        ("both ends", [(0, 87), (trailer, len(stored))], "earlier index"),
                                        ("all but chunks", [(0, 87), (index, len(stored))], "file")):
                with self.subTest(codec, lost=what):
                    path = self.destroyed("lost.b2frame", stored, *ranges)
                    # Without header and trailer, framefs cannot tell whether metalayers are lost.
                    # Without the index, it cannot tell whether a program moved chunks.
                    code = 0 if what in ("header", "magic", "trailer") else 1
                    entry, got = self.repair(path, code=code)
                    self.assert_same_bytes(got, plain, what)
                    self.assertEqual((entry["order"], entry["lost"]), (order, []))

    def test_a_frame_that_ends_early(self):
        plain = data.noise(400_000)
        stored = self.packed("whole", plain, "--typesize", "1").read_bytes()
        path = self.write("cut.b2frame", stored[:len(stored) // 2])
        entry, got = self.repair(path, code=1)
        saved = len(got) - sum(part["size"] for part in entry["lost"])
        self.assertEqual(got, plain[:saved] + bytes(len(got) - saved))
        self.assertGreater(saved, len(plain) // 3)
        self.assertEqual(entry["order"], "incomplete")
        out = self.framefs("check", "--repair", "-f", "-o", self.folder / "again.b2frame", path,
                           code=1).stdout.decode()
        self.assertIn("NOT ALL OF THE DATA", out)
        self.assertNotIn("no damage", out)

    def test_a_frame_that_is_repaired_is_not_said_to_be_sound(self):
        stored = self.packed("whole", data.text(100_000)).read_bytes()
        path = self.write("cut.b2frame", stored[:-10])
        out = self.framefs("check", "--repair", "-o", self.folder / "new.b2frame", path).stdout.decode()
        self.assertIn("1 repaired without loss", out)
        self.assertNotIn("no damage", out)

    def test_of_two_frames_of_one_name_the_second_is_not_saved(self):
        out = self.folder / "out"
        out.mkdir()
        paths = [self.write(f"{top}/cut.b2frame", plain_frame(top.encode() * 5000)[:-30]) for top in "ab"]
        for inputs in (paths, [self.source]):
            result = self.framefs("check", "--repair", "-f", "-o", out, *inputs, code=1)
            self.assertIn(f"framefs: {out}/cut.b2frame: is the output for another input of this run",
                          result.stderr.decode())
            self.assertIn("1 DAMAGED, 1 repaired without loss", result.stdout.decode())
            self.assertEqual(self.framefs("unpack", out / "cut.b2frame", "-o", "-").stdout, b"a" * 5000)

    def test_an_option_without_its_purpose_is_refused(self):
        frame = self.packed("whole", data.text(1000))
        self.assert_refused("check", "-f", frame, cause="-f is for --repair")
        self.assert_refused("check", "--locking", frame, cause="--locking is for --repair and --rehash")
        self.assert_refused("check", "--json=3", frame, cause="--json takes no value")

    def test_an_array_without_its_last_chunks(self):
        """check and a mount agree on which arrays can be read."""
        array = numpy.arange(60_000, dtype="<i4").reshape(300, 200)
        numpy.save(self.folder / "walk.npy", array)
        path = self.source / "walk.b2nd"
        self.framefs("pack", self.folder / "walk.npy", "-o", path, "--chunk-size", "40000")
        stored = path.read_bytes()
        path = self.write("cut.b2nd", stored[:len(stored) // 2])
        out = self.folder / "new.b2nd"
        self.framefs("check", "--repair", "-o", out, path, code=1)
        told = self.framefs("check", out, code=1).stdout.decode()
        self.assertIn("array metadata: bad field: shape", told)

    def test_damaged_chunks_leave_zeros(self):
        chunks = [memcpyed_chunk(bytes([i + 1]) * CHUNK) for i in range(4)]
        stored = bytearray(frame(chunks, CHUNK, meta={"kept": b"meta"}, vlmeta={"too": b"vlmeta"}))
        struct.pack_into("<i", stored, stored.index(chunks[2]) + 12, 5)
        entry, got = self.repair(self.write("broken.b2frame", stored), code=1)
        self.assertEqual(entry["lost"], [{"offset": 2 * CHUNK, "size": CHUNK}])
        self.assertEqual(entry["order"], "index")
        wanted = b"".join(bytes([i + 1 if i != 2 else 0]) * CHUNK for i in range(4))
        self.assert_same_bytes(got, wanted, "repaired")
        info = self.info(self.folder / "repaired.b2frame")[0]
        self.assertEqual([layer["name"] for layer in info["metalayers"]], ["kept"])
        self.assertEqual([layer["name"] for layer in info["vlmetalayers"]], ["too"])

    def damaged_block(self, name, block):
        """A frame of one chunk, of which a block of 8 KiB cannot be decoded, and its content."""
        plain = data.text(3000)[:60_000]
        path = self.packed(name, plain, "--codec", "zstd", "--block-size", "8K", "--filter", "none", "--typesize", "1")
        stored = bytearray(path.read_bytes())
        chunk = header_len(stored)
        (at,) = struct.unpack_from("<i", stored, chunk + 32 + 4 * block)
        stored[chunk + at + 4:chunk + at + 8] = bytes(4)  # the magic number of the stream
        path.write_bytes(stored)
        return path, plain

    def test_a_damaged_block_costs_no_more_than_itself(self):
        """Also in a frame of one chunk: repair saves the blocks that a mount can read."""
        path, plain = self.damaged_block("text", 2)
        self.assertGreater(len(plain), 5 * 8192)
        entry, got = self.repair(path, code=1)
        self.assertEqual(entry["lost"], [{"offset": 2 * 8192, "size": 8192}])
        self.assertEqual((entry["order"], entry["left_out_chunks"]), ("index", 0))
        self.assert_same_bytes(got, plain[:2 * 8192] + bytes(8192) + plain[3 * 8192:], "repaired")
        out = self.folder / "again.b2frame"
        told = self.framefs("check", "--repair", "-o", out, path, code=1).stdout.decode()
        self.assertIn("bytes 16384 to 24575 are lost and read as zeros", told)

    def test_whole_blocks_of_the_chunk_in_which_a_file_ends_are_saved(self):
        """Most files have one chunk only."""
        for plain, *options in ((data.text(10_000), "--chunk-size", "1M", "--block-size", "8K"),
                                (os.urandom(300_000), "--chunk-size", "1M"),
                                (data.text(10_000), "--chunk-size", "64K", "--block-size", "8K")):
            frame = self.source / "whole.b2frame"
            self.framefs("pack", "-f", *options, self.write("whole", plain), "-o", frame)
            stored = frame.read_bytes()
            for share in (0.3, 0.6, 0.9):
                with self.subTest(options=options, share=share):
                    kept = int(len(stored) * share)
                    path = self.write("cut.b2frame", stored[:kept])
                    told = self.framefs("check", path, code=1).stdout.decode()
                    self.assertIn(f"cut.b2frame: frame: the file has {kept:,} of {len(stored):,} bytes\n", told)
                    self.assertNotIn("frame_len", told)
                    (damage,) = self.check(path, code=1)[str(path)]["damages"]
                    self.assertEqual((damage["offset"], "frame_len" in damage["detail"]), (16, True))
                    self.assertIn("frame_len", self.framefs("check", "-v", path, code=1).stdout.decode())
                    entry, got = self.repair(path, code=1)
                    self.assertGreater(len(got), 0)
                    lost = sum(part["size"] for part in entry["lost"])
                    saved = len(got) - lost
                    self.assertGreater(saved, (share - 0.25) * len(plain))
                    self.assertEqual(got[:saved], plain[:saved])
                    self.assertEqual(got[saved:], bytes(lost))

    def test_a_file_that_is_no_frame_is_not_called_damaged(self):
        for name, content in (("text.txt", data.text(5000)), ("short.txt", b"hi\n"), ("empty.bin", b"")):
            with self.subTest(name):
                result = self.assert_fails("check", self.write(name, content), cause=f"{name}: this is not a Blosc2 frame")
                self.assertNotIn(b"repair", result.stdout + result.stderr)
                self.assertNotIn(b"DAMAGED", result.stdout)
        # The name of a frame promises one.
        path = self.write("text.b2frame", data.text(5000))
        self.assertIn(b"DAMAGED", self.framefs("check", path, code=1).stdout)

    def test_chunks_of_blosc1_are_saved(self):
        """Their short headers prove too little, but they begin the chunk files."""
        path = self.source / "old.b2frame"
        shutil.copytree(fixtures.FIXTURES / "blosc1/frame_5.b2frame", path)
        whole = self.framefs("unpack", path, "-o", "-").stdout
        os.chmod(path, 0o755)
        (path / "00000002.chunk").unlink()
        (damage,) = self.check(path, code=1)[str(path)]["damages"]
        self.assertEqual(damage["cause"], "the chunk file is missing, or is not a regular file")
        lost = damage["lost"]
        entry, got = self.repair(path, code=1)
        self.assertEqual(entry["lost"], [lost])
        end = lost["offset"] + lost["size"]
        self.assert_same_bytes(got, whole[:lost["offset"]] + bytes(lost["size"]) + whole[end:], "repaired")
        # In one file, the index tells where they begin.
        whole = fixtures.FIXTURES / "blosc1/single_4_zstd.b2frame"
        entry, got = self.repair(self.write("cut.b2frame", whole.read_bytes()[:-10]))
        self.assertEqual((entry["order"], entry["lost"]), ("index", []))
        self.assert_same_bytes(got, self.framefs("unpack", whole, "-o", "-").stdout, "repaired")

    def test_a_frame_without_chunks(self):
        whole = self.packed("empty", b"")
        path = self.write("cut.b2frame", whole.read_bytes()[:-5])
        out = self.framefs("check", "--repair", "-o", self.folder / "new.b2frame", path).stdout.decode()
        self.assertIn("new.b2frame: saved 0 chunks, 0 B\n", out)
        self.assertNotIn("order", out)
        self.assertEqual(self.framefs("unpack", self.folder / "new.b2frame", "-o", "-").stdout, b"")

    def test_no_repair_is_promised_for_chunks_that_vary_in_size(self):
        stored = bytearray((fixtures.FIXTURES / "blosc1/frame_6.b2frame").read_bytes())
        at = header_len(stored)
        struct.pack_into("<i", stored, at + 12, 5)  # the stored size of the first chunk
        path = self.write("var.b2frame", stored)
        out = self.framefs("check", path, code=1).stdout.decode()
        self.assertIn("frames of this kind cannot be repaired", out)
        self.assertNotIn("--repair", out)
        self.assert_fails("check", "--repair", "-o", self.folder / "new", path, cause="chunks vary in size")

    def test_an_array_keeps_its_shape(self):
        array = numpy.arange(60_000, dtype="<i4").reshape(300, 200)
        stored = array_frame(array)
        path = self.destroyed("walk.b2nd", stored, (0, 9), (len(stored) - 10, len(stored)))
        _, got = self.repair(path)
        self.assert_same_bytes(got, array.tobytes(), "array")
        info = self.info(self.folder / "repaired.b2frame")[0]
        self.assertEqual(info["shape"], [300, 200])

    def test_a_sparse_frame_without_its_index(self):
        plain = data.text(20_000)
        path = self.source / "sparse.b2frame"
        self.make_frame(plain, path, "--sparse", "--chunk", "64K")
        index = path / "chunks.b2frame"
        stored = index.read_bytes()
        index.write_bytes(os.urandom(len(stored)))
        entry, got = self.repair(path, code=1)
        self.assert_same_bytes(got, plain, "sparse")
        self.assertEqual(entry["order"], "file")
        index.unlink()
        self.assertIn(b"the index file is missing", self.framefs("check", path, code=1).stdout)
        entry, got = self.repair(path, code=1)
        self.assert_same_bytes(got, plain, "sparse")
        self.assertEqual(entry["order"], "file")

    def test_a_sparse_frame_with_a_slash_behind_its_name(self):
        path = self.source / "sparse.b2frame"
        self.make_frame(data.text(20_000), path, "--sparse", "--chunk", "64K")
        (path / "00000000.chunk").write_bytes(b"")
        out = self.folder / "out"
        out.mkdir()
        self.framefs("check", "--repair", "-o", out, f"{path}/", code=1)
        self.assertEqual(os.listdir(out), ["sparse.b2frame"])

    def test_a_directory_with_the_name_of_a_frame_and_nothing_in_it(self):
        path = self.source / "empty.b2frame"
        path.mkdir()
        self.assert_fails("check", path, cause="not a frame")

    def test_after_commits_the_chunks_are_in_no_order(self):
        """Every live chunk comes back, and the output says if their order is unknown."""
        plain = bytearray(data.noise(8 << 16))
        path = self.packed("edited", plain, "--typesize", "1")
        for at in (1 << 16, 5 << 16, 2 << 16):
            with self.mount() as mount, open(mount.path("edited"), "r+b") as file:
                file.seek(at)
                file.write(piece := data.noise(1 << 16, seed=at))
                plain[at:at + len(piece)] = piece
        stored = path.read_bytes()
        index = index_at(stored)
        entry, got = self.repair(self.destroyed("header.b2frame", stored, (0, 87)))
        self.assert_same_bytes(got, plain, "by the index")
        # Without any index, the chunks are all there.
        ranges = [(index, len(stored))]
        whole = bytearray(stored)
        entry, got = self.repair(self.destroyed("index.b2frame", whole, *ranges), code=1)
        self.assertIn(entry["order"], ("unknown", "earlier index"))
        pieces = {bytes(got[i:i + (1 << 16)]) for i in range(0, len(got), 1 << 16)}
        wanted = {bytes(plain[i:i + (1 << 16)]) for i in range(0, len(plain), 1 << 16)}
        if entry["order"] == "unknown":
            self.assertLessEqual(wanted, pieces)
            out = self.framefs("check", "--repair", "-f", "-o", self.folder / "again.b2frame",
                               self.source / "index.b2frame", code=1).stdout.decode()
            self.assertIn("THE ORDER OF THE CHUNKS IS UNKNOWN", out)

    def test_nothing_to_save_and_usage(self):
        path = self.write("noise.b2frame", os.urandom(50_000))
        self.assert_fails("check", "--repair", "-o", self.folder / "new", path, cause="no chunk was found")
        self.assertFalse((self.folder / "new").exists())
        self.assert_refused("check", "--repair", path, cause="-o OUT")
        self.assert_refused("check", "-o", "x", path, cause="--repair")
        self.assert_refused("check", "--repair", "-o", self.folder / "new", self.source, cause="no directory")
        sound = self.write("sound.b2frame", plain_frame(b"x" * 5000))
        self.framefs("check", "--repair", "-o", self.folder / "new", sound)
        self.assertFalse((self.folder / "new").exists())
        broken = self.write("broken.b2frame", plain_frame(b"x" * 5000)[:-30])
        before = broken.read_bytes()
        self.assert_fails("check", "--repair", "-f", "-o", broken, broken, cause="damaged frame itself")
        self.assertEqual(broken.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
