"""Changes files randomly in one mount after another, and plain files in the same way.

scripts/model runs this at length, test_model.py briefly.
"""

import contextlib
import dataclasses
import pathlib
import shutil
import subprocess

import daemon
import data
from crash_runs import PROGRAMS, check, rule

NPY_HEADER_BYTES = 128
# Operations in a second: with two mounts of sparse frames, each use of the other mount waits for
# syncs.
SLOWEST_PER_S = 20


@dataclasses.dataclass(frozen=True)
class Setting:
    """The frames, their mount options, and the options of the model."""

    name: str
    mount: tuple = ()  # options
    frame: tuple = ()  # options for framefs_make_frame, if the frames exist before
    model: tuple = ()  # options
    files: int = 1  # per thread
    mounts: int = 1  # of the same SOURCE, used in turn

    @property
    def is_array(self):
        return "--shape" in self.frame


SMALL = ("--size", "60000", "--write", "20000")
MANY = ("--size", "9000", "--write", "5000")
TWO_MOUNTS = ("--attr-timeout", "0")
LARGE = ("--size", "8000000", "--write", "2000000")

SETTINGS = (
    Setting("as it comes"),
    Setting("chunks of 4K", rule(chunksize="4K", codec="lz4"), model=SMALL),
    Setting("chunks of 16K", rule(chunksize="16K", codec="zstd")),
    Setting("chunks of no round size", rule(chunksize="12345", typesize=5, blocksize=1000, codec="blosclz")),
    Setting("chunks of one byte", rule(chunksize="1", typesize=1), model=("--size", "600", "--write", "200")),
    Setting("chunks of 1M", (*rule(chunksize="1M", codec="lz4hc"), "--cache-size", "4M"), model=LARGE),
    Setting("zlib, bitshuffled", rule(chunksize="64K", codec="zlib", filter="bitshuffle", typesize=4)),
    Setting("stored", rule(chunksize="32K", clevel=0)),
    Setting("a small overlay", (*rule(chunksize="16K"), "--overlay-size", "128K", "--cache-size", "256K")),
    Setting("commits all the time", (*rule(chunksize="8K"), "--commit-interval", "0")),
    Setting("checksums", (*rule(chunksize="16K", checksums="yes"), "--verify-checksums", "--commit-interval", "0.1")),
    Setting("a kernel that caches", ("-o", "writeback", *rule(chunksize="16K"))),
    Setting("many files", rule(chunksize="4K"), model=MANY, files=30),
    Setting("plain files", ("--plain", "*")),
    Setting("frames that were there", (), ("--chunk", "33K", "--block", "5K", "--codec", "zlib", "--typesize", "4",
                                           "--filter", "shuffle")),
    Setting("delta", (), ("--chunk", "20000", "--block", "4000", "--codec", "lz4", "--filter", "delta")),
    Setting("sparse frames", (), ("--sparse", "--chunk", "20000", "--block", "5000", "--codec", "snappy"),
            ("--size", "300000", "--write", "50000")),
    Setting("arrays", (), ("--shape", "300,200,5", "--chunkshape", "64,100,5", "--blockshape", "16,32,5",
                           "--dtype", "<i4", "--typesize", "4", "--codec", "zstd", "--filter", "shuffle"),
            ("--header", str(NPY_HEADER_BYTES))),
    Setting("sparse arrays", (), ("--sparse", "--shape", "1000,300", "--chunkshape", "300,100", "--blockshape",
                                  "100,50", "--dtype", "<i4", "--typesize", "4", "--codec", "lz4"),
            ("--header", str(NPY_HEADER_BYTES))),
    Setting("two mounts", (*rule(chunksize="16K"), *TWO_MOUNTS), mounts=2),
    Setting("two mounts that commit all the time", (*rule(chunksize="8K"), "--attr-timeout", "0", "--commit-interval",
                                                    "0"), mounts=2, model=SMALL),
    Setting("two mounts, plain files", ("--plain", "*", *TWO_MOUNTS), mounts=2),
    Setting("two mounts, many files", (*rule(chunksize="4K"), *TWO_MOUNTS), model=MANY, files=30, mounts=2),
    Setting("two mounts, frames that were there", TWO_MOUNTS,
            ("--chunk", "33K", "--block", "5K", "--codec", "zlib", "--typesize", "4", "--filter", "shuffle"), mounts=2),
    # A sync of a sparse frame syncs each of its chunk files, so these are few.
    Setting("two mounts, sparse frames", TWO_MOUNTS,
            ("--sparse", "--chunk", "200000", "--block", "20000", "--codec", "snappy"),
            ("--size", "1500000", "--write", "50000"), mounts=2),
    Setting("two mounts, checksums", (*rule(chunksize="16K", checksums="yes"), "--verify-checksums", *TWO_MOUNTS), mounts=2),
    Setting("two mounts, arrays", TWO_MOUNTS, ("--shape", "300,200,5", "--chunkshape", "64,100,5", "--blockshape",
                                               "16,32,5", "--dtype", "<i4", "--typesize", "4", "--codec", "zstd",
                                               "--filter", "shuffle"),
            ("--header", str(NPY_HEADER_BYTES)), mounts=2),
)


class ModelRun:
    """A folder of frames and one of plain files, which are equal at first."""

    def __init__(self, setting, folder, threads=2):
        self.setting = setting
        self.threads = threads
        self.folder = pathlib.Path(folder)
        self.source, self.plain = (self.folder / name for name in ("source", "plain"))
        self.mountpoints = [self.folder / f"mnt{number}" for number in range(setting.mounts)]
        for made in (self.source, self.plain, *self.mountpoints):
            made.mkdir()
        if setting.frame:
            for thread in range(threads):
                for number in range(setting.files):
                    self._make_frame(f"file-{thread}-{number}", seed=thread * 1000 + number)

    def _make_frame(self, name, seed):
        content = self.folder / "content"
        content.write_bytes(data.random_walk(300_000, "i4", seed=seed))
        suffix = ".b2nd" if self.setting.is_array else ".b2frame"
        subprocess.run([PROGRAMS / "framefs_make_frame", *self.setting.frame, content,
                        self.source / (name + suffix)], check=True)

    def one_mount(self, seed, operations):
        """Changes files in a mount, or in several at a time, then checks the stored frames."""
        with contextlib.ExitStack() as stack:
            lifetime_s = 4 * daemon.DEADLINE_S + operations / SLOWEST_PER_S
            mounts = [stack.enter_context(daemon.Mount(self.source, mountpoint, *self.setting.mount,
                                                       lifetime_s=lifetime_s))
                      for mountpoint in self.mountpoints]
            for shown in self.mountpoints[0].iterdir():
                if not (self.plain / shown.name).exists():
                    shutil.copyfile(shown, self.plain / shown.name)
            also = [word for mountpoint in self.mountpoints[1:] for word in ("--also", mountpoint)]
            check([PROGRAMS / "framefs_model", self.mountpoints[0], self.plain, *also, "--seed", str(seed),
                   "--operations", str(operations), "--threads", str(self.threads),
                   "--files", str(self.setting.files), *self.setting.model])
            for mount in mounts:
                mount.check_open_files()
        self.check_stored()

    def check_stored(self):
        """Checks that the frames, decoded without a mount, equal the plain files."""
        for stored in sorted(self.source.iterdir()):
            name = stored.name.removesuffix(".b2frame").removesuffix(".b2nd")
            if name != stored.name:
                check([daemon.FRAMEFS, "check", "-q", stored])  # also compares checksums
            if self.setting.is_array:
                name += ".npy"
            shown = self.folder / "unpacked"
            if name == stored.name:
                shutil.copyfile(stored, shown)
            else:
                with open(shown, "wb") as out:
                    subprocess.run([daemon.FRAMEFS, "unpack", stored, "-o", "-"], stdout=out, check=True)
            check(["cmp", shown, self.plain / name])
