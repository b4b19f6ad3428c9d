"""Command lines that cannot work.  The message says in at most three lines which path or word is
wrong, and why, and names the remedy if there is one."""

import os
import unittest

import daemon
from command_case import CommandCase
from daemon import FRAMEFS, mounts_at

USAGE = 2
FAILURE = 1


class WrongCommands(CommandCase):
    def setUp(self):
        self.make_frame(b"some text\n" * 1000, self.folder / "a.b2frame")
        (self.folder / "text.txt").write_bytes(b"no frame\n")
        (self.folder / "empty").mkdir()
        (self.folder / "full").mkdir()
        (self.folder / "full/file").write_bytes(b"")
        damaged = (self.folder / "a.b2frame").read_bytes()
        (self.folder / "cut.b2frame").write_bytes(damaged[:len(damaged) // 2])
        os.symlink("nowhere", self.folder / "dangling")

    # Arguments, exit code, and what the message must contain.
    MOUNTS = (
        ("", USAGE, "SOURCE"),
        ("source", USAGE, "MOUNTPOINT"),
        ("source mnt third", USAGE, "unexpected argument third"),
        ("source mnt --no-such", USAGE, "--no-such"),
        ("source mnt --cach-size 1M", USAGE, "did you mean --cache-size?"),
        ("source mnt --cache-size", USAGE, "--cache-size needs a value"),
        ("source mnt --cache-size lots", USAGE, '--cache-size: "lots" is not a size such as'),
        ("source mnt --cache-size -1", USAGE, "-1"),
        ("source mnt --threads many", USAGE, '--threads: "many" is not a whole number from 0 to 1024'),
        ("source mnt --threads 2000", USAGE, "from 0 to 1024"),
        ("source mnt --attr-timeout soon", USAGE, "--attr-timeout"),
        ("source mnt --umask 999", USAGE, "is not an octal mode such as 022"),
        ("source mnt --uid root", USAGE, "--uid"),
        ("source mnt --arrays pictures", USAGE, "is not one of npy, raw, both"),
        ("source mnt --foreground=yes", USAGE, "--foreground takes no value"),
        ("source mnt -o", USAGE, "-o needs options after it"),
        ("source mnt -o frobnicate", USAGE, "unknown mount option: frobnicate"),
        ("source mnt -o cache_size", USAGE, "needs a value: cache_size=SIZE"),
        ("source mnt -o kep_suffix", USAGE, "did you mean keep_suffix?"),
        ("source mnt -o ro=1", USAGE, "the mount option ro takes no value"),
        ("source mnt --rule *.log", USAGE, "is not a rule such as *.log:codec=lz4"),
        ("source mnt --rule *:clevel=99", USAGE, "clevel=99: the value of clevel is 0 to 9"),
        ("source mnt --rule *:codec=lzma", USAGE, "the value of codec is blosclz|lz4"),
        ("source mnt --rule *:cdoec=lz4", USAGE, "did you mean codec?"),
        ("source mnt --rule *:chunksize=3G", USAGE, "the value of chunksize is 1 to"),
        ("source mnt --rule *:arrays=yes --keep-suffix", USAGE, "arrays=yes needs --arrays=npy"),
        ("source mnt --acl --umask 022", USAGE, "--acl does not go together with"),
        ("source mnt --export --locking", USAGE, "--export excludes --locking"),
        ("source mnt --export --as-is *.b2nd", USAGE, "--export excludes --as-is"),
        ("source mnt --cache-dir cache", USAGE, "--cache-dir needs a SOURCE that is a URL"),
        ("source mnt --region eu", USAGE, "--region needs a SOURCE that is a URL"),
        ("s3://bucket mnt --writeback", USAGE, "--writeback needs a SOURCE that is not a URL"),
        ("s3://bucket mnt --as-is *", USAGE, "--as-is needs a SOURCE that is not a URL"),
        ("s3://bucket mnt --cache-disk 1G", USAGE, "--cache-disk needs --cache-dir"),
        ("s3:/bucket mnt", USAGE, "the URL is s3://bucket"),
        ("https:/host/path mnt", USAGE, "the URL is https://host/path"),
        ("ftp://host/path mnt", USAGE, "ftp:// is not supported; a URL begins with s3://"),
        ("gs://bucket mnt", USAGE, "Google serves the bucket as s3:// too, with --endpoint https://storage."),
        ("az://account/container mnt", USAGE, "Azure serves the container as https:// too, whose root then needs"),
        ("http:// mnt", USAGE, "SOURCE: "),
        ("https://host/ mnt --profile p", USAGE, "--profile needs a URL of S3"),
        ("missing mnt", FAILURE, "{folder}/missing: SOURCE cannot be opened: No such file or directory"),
        ("dangling mnt", FAILURE, "{folder}/dangling: SOURCE cannot be opened: No such file or directory"),
        ("text.txt mnt", FAILURE, "{folder}/text.txt: SOURCE is neither a directory nor a frame"),
        ("a.b2frame mnt --offset 10", FAILURE, "{folder}/a.b2frame: SOURCE has no frame at --offset (--offset 10)"),
        ("source mnt --offset 10", FAILURE, "{folder}/source: an offset needs a SOURCE that is one file"),
        ("source missing", FAILURE, "create it with mkdir -p '{folder}/missing'"),
        ("a.b2frame run1.bin", FAILURE, "create it with touch '{folder}/run1.bin'"),
        ("source text.txt", FAILURE, "MOUNTPOINT must be a directory, as SOURCE is one"),
        ("source full", FAILURE, "{folder}/full is not empty, and the mount would hide its files; --nonempty"),
        ("source source/below", FAILURE, "source/below"),
        ("a.b2frame a.b2frame", FAILURE, "MOUNTPOINT is SOURCE itself"),
        ("source mnt --log-file missing/log", FAILURE, "{folder}/missing/log: No such file or directory"),
        ("source mnt --cacert missing", USAGE, "--cacert"),
        ("source mnt -o remount", FAILURE, "{folder}/mnt is not a mount of framefs; framefs list shows the mounts"),
        ("source /dev/fd/99", FAILURE, "/dev/fd/99"),
    )
    COMMANDS = (
        ("unpak x", USAGE, "did you mean unpack?"),
        ("help cmpact", USAGE, "did you mean compact?"),
        ("help pack more", USAGE, "unexpected argument more"),
        ("info", USAGE, "FRAME"),
        ("info missing", FAILURE, "missing: No such file or directory"),
        ("info text.txt", FAILURE, "text.txt: this is not a Blosc2 frame"),
        ("info cut.b2frame", FAILURE, "cut.b2frame"),
        ("info --chunks=3 a.b2frame", USAGE, "--chunks takes no value"),
        ("pack", USAGE, "FILE is required"),
        ("pack missing", FAILURE, "missing: No such file or directory"),
        ("pack text.txt --codec zsdt", USAGE, "did you mean zstd?"),
        ("pack text.txt --level 12", USAGE, "is not a whole number from 0 to 9"),
        ("pack text.txt --level=1 --level=2", USAGE, "--level is given more than once"),
        ("pack text.txt --typesize 0", USAGE, "--typesize"),
        ("pack dangling", FAILURE, "dangling: No such file or directory"),
        ("pack text.txt -o missing/x", FAILURE, "missing/x"),
        ("unpack", USAGE, "FRAME"),
        ("unpack missing", FAILURE, "missing: No such file or directory"),
        ("unpack text.txt", FAILURE, "text.txt"),
        ("unpack cut.b2frame -o out", FAILURE, "cut.b2frame"),
        ("check missing", FAILURE, "missing: No such file or directory"),
        ("check", USAGE, "FRAME is required"),
        ("check a.b2frame --repair", USAGE, "--repair needs a place for the new frame: -o OUT"),
        ("compact missing", FAILURE, "missing: No such file or directory"),
        ("compact text.txt", FAILURE, "text.txt: this is not a Blosc2 frame"),
        ("index", USAGE, "SOURCE"),
        ("index missing", FAILURE, "missing: No such file or directory"),
        ("index text.txt", FAILURE, "text.txt: Not a directory"),
        ("index source --endpoint http://h/", USAGE, "--endpoint needs a SOURCE that is a URL"),
        ("stats", USAGE, "MOUNTPOINT"),
        ("stats mnt", FAILURE, "mnt is not a mount of framefs; framefs list shows the mounts"),
        ("stats missing", FAILURE, "missing: No such file or directory"),
        ("stats mnt --json --prometheus", USAGE, "excludes"),
        ("stats mnt --serve 9464", USAGE, '--serve: "9464" is not a place such as 127.0.0.1:9464'),
        ("stats mnt --serve ::1:9464", USAGE, "is not a place such as"),
        ("stats mnt --serve :70000", USAGE, "is not a place such as"),
        ("stats mnt --serve :0 --json", USAGE, "excludes"),
        ("stats mnt --serve :0", FAILURE, "mnt is not a mount of framefs; framefs list shows the mounts"),
        ("umount", USAGE, "MOUNTPOINT"),
        ("umount mnt", FAILURE, "mnt is not a mount of framefs; framefs list shows the mounts"),
        ("top mnt", USAGE, "unexpected argument mnt"),
        ("top --interval never", USAGE, "is not a time such as 90, 0.5 or 10m"),
        ("list mnt", USAGE, "unexpected argument mnt"),
        ("completion tcsh", USAGE, "bash, zsh, fish"),
        ("demo full/file", FAILURE, "full/file"),
    )

    def check(self, line, code, wanted):
        with self.subTest(line):
            result = self.tool(FRAMEFS, *line.split(), check=False)
            message = result.stderr.decode()
            for mountpoint in ("mnt", "empty"):
                if mounts_at(self.folder / mountpoint):
                    self.tool(FRAMEFS, "umount", mountpoint)
            if os.environ.get("FRAMEFS_SHOW_MESSAGES"):
                print(f"$ framefs {line}\n{result.stdout.decode()[:200]}{message}", flush=True)
            self.assertEqual(result.returncode, code, message)
            self.assertIn(wanted.format(folder=self.folder), message)
            self.assertTrue(message.startswith("framefs: "), message)
            self.assertLess(len(message.splitlines()), 4, message)
            self.assertIsNone(daemon.SUSPICIOUS.search(message), message)

    def test_mounts(self):
        for line, code, wanted in self.MOUNTS:
            self.check(line, code, wanted)

    def test_commands(self):
        for line, code, wanted in self.COMMANDS:
            self.check(line, code, wanted)

    def test_there_are_many(self):
        self.assertGreaterEqual(len(self.MOUNTS) + len(self.COMMANDS), 80)


if __name__ == "__main__":
    unittest.main()
