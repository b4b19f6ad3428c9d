"""framefs pack --estimate: what packing would save, from a sample."""

import json
import os
import unittest

import numpy

import data
from command_case import CommandCase
from frame_writer import plain_frame


class Estimate(CommandCase):
    def setUp(self):
        self.tree = self.folder / "tree"
        self.tree.mkdir()

    def fill(self, files):
        for name, content in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def estimate(self, *arguments, code=0):
        return json.loads(self.framefs("pack", "--estimate", "--json", *arguments, code=code).stdout)

    def packed_bytes(self, *options):
        """The size of the frames that packing makes of the tree."""
        out = self.folder / f"packed-{len(os.listdir(self.folder))}"
        self.framefs("pack", *options, self.tree, "-o", out)
        return sum(path.stat().st_size for path in out.rglob("*.b2*") if path.is_file())

    def everything(self):
        return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_ctime_ns) for path in self.folder.rglob("*"))

    def test_few_bytes_are_all_compressed(self):
        self.fill({"text": data.text(20_000), "a/walk": data.random_walk(2_000_000), "a/b/noise": data.noise(500_000),
                   "empty": b"", "small": b"x" * 100})
        os.link(self.tree / "text", self.tree / "a/same")
        os.symlink("text", self.tree / "link")
        before = self.everything()
        for options in ((), ("--codec", "lz4", "--level", "1"), ("--filter", "none", "--chunk-size", "1M"),
                        ("--checksums",)):
            with self.subTest(options):
                told = self.estimate(*options, self.tree)
                self.assertEqual(self.everything(), before)
                self.assertEqual((told["files"], told["bytes"], told["uncertainty_bytes"], told["failed"]),
                                 (5, sum((self.tree / name).stat().st_size
                                         for name in ("text", "a/walk", "a/b/noise", "empty", "small")), 0, 0))
                self.assertEqual(told["sampled_bytes"], told["bytes"])
                (self.tree / "a/same").unlink()
                real = self.packed_bytes(*options)
                os.link(self.tree / "text", self.tree / "a/same")
                before = self.everything()
                self.assertAlmostEqual(told["packed_bytes"] / real, 1, delta=0.002)
                self.assertAlmostEqual(told["ratio"], told["bytes"] / told["packed_bytes"], places=6)
        text = self.framefs("pack", "--estimate", self.tree).stdout.decode()
        self.assertRegex(text, r"^5 files, [\d.]+ MB: [\d.]+ MB packed, [\d.]+ times smaller\n"
                               r"compressed \d+ pieces of 4 files, [\d.]+ MB\n$")

    def test_a_sample_of_many_files(self):
        """Half of the bytes are noise, in a tenth of the files."""
        files = {f"{number % 7}/text{number}": data.text(300 + number) for number in range(900)}
        text = sum(map(len, files.values()))
        files.update({f"noise{number}": data.noise(text // 100, seed=number) for number in range(100)})
        self.fill(files)
        told = self.estimate(self.tree)
        self.assertEqual(told["files"], 1000)
        self.assertLessEqual(told["sampled_pieces"], 512)
        self.assertLess(told["sampled_files"], 600)
        real = self.packed_bytes()
        self.assertLess(abs(told["packed_bytes"] - real), told["uncertainty_bytes"])
        self.assertLess(told["uncertainty_bytes"], real / 5)
        self.assertEqual(self.estimate(self.tree), told)
        self.assertRegex(self.framefs("pack", "--estimate", self.tree).stdout.decode(),
                         r"^1,000 files, [\d.]+ MB: about [\d.]+ MB packed, [\d.]+ times smaller, give or take \d+ %\n")

    def test_what_is_read_is_bounded(self):
        """Of a file of 1 TiB, with text at its begin and nowhere else."""
        self.fill({"huge": data.text(100_000)})
        os.truncate(self.tree / "huge", 1 << 40)
        told = self.estimate("--chunk-size", "64M", self.tree)
        self.assertEqual(told["bytes"], 1 << 40)
        self.assertLessEqual(told["sampled_bytes"], 256 << 20)
        self.assertLess(told["packed_bytes"], 1 << 24)

    def test_arrays(self):
        array = numpy.frombuffer(data.random_walk(500_000), dtype=numpy.float32)
        numpy.save(self.tree / "walk.npy", array)
        told = self.estimate(self.tree)
        self.assertAlmostEqual(told["packed_bytes"] / self.packed_bytes(), 1, delta=0.1)

    def test_what_is_packed_already_is_left_out(self):
        self.fill({"x.b2frame": plain_frame(b"content"), "a/y.b2nd": b"by its name", "z": b"content" * 1000,
                   "left/w": b"w" * 1000})
        told = self.estimate("--exclude", "left", self.tree)
        self.assertEqual((told["files"], told["bytes"], told["packed_already"]), (1, 7000, 2))
        self.assertEqual(self.estimate("--nest", self.tree)["files"], 4)
        self.assertIn("2 left out: frames and containers", self.framefs("pack", "--estimate", self.tree).stdout.decode())
        self.assertEqual(self.framefs("pack", "--estimate", self.tree / "x.b2frame").stdout,
                         b"no files to pack\n1 left out: frames and containers\n")

    def test_several_paths(self):
        self.fill({"x": b"content" * 1000, "a/y": b"y" * 5000})
        told = self.estimate(self.tree / "x", self.tree / "a")
        self.assertEqual((told["files"], told["bytes"]), (2, 12_000))
        self.assertEqual(self.estimate(self.tree / "x", self.folder / "none", code=1)["failed"], 1)
        noise = self.tree / "noise"
        noise.write_bytes(data.noise(100_000))
        self.assertIn(", which saves nothing\n", self.framefs("pack", "--estimate", noise).stdout.decode())

    def test_options_that_exclude_each_other(self):
        path = self.tree / "x"
        path.write_bytes(b"content")
        for option in ("--verify", "--remove-source", "--force", "--recompress", "--locking"):
            self.assert_refused("pack", "--estimate", option, path, cause=f"--estimate and {option} exclude each other")
        self.assert_refused("pack", "--estimate", "-o", "out", path, cause="--output")
        self.assert_refused("pack", "--estimate", "-", cause="not standard input")
        self.assert_refused("pack", "--json", path, cause="--json is for --estimate")


if __name__ == "__main__":
    unittest.main()
