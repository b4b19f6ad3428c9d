"""The filesystems of scripts/bench --peers: the same files for reading in each, and new ones for
writing."""

import contextlib
import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import NamedTuple

import numpy

import data
import mounts
import passthrough
import writing
from data import MIB, PEER_BLOCK, SMALL_CONTENT, have, make, run

FRAMEFS, NULL, EXT4, SQUASHFS, EROFS = "framefs", "null server", "ext4", "squashfs", "EROFS (lz4hc)"
FRAMEFS_PLAIN, PASSTHROUGH = "framefs --plain", passthrough.NAME
IMMUTABLE, MANIFEST, SQUASHFUSE = "framefs --immutable", "framefs, manifest", "squashfuse"
BTRFS = {"lz4": "btrfs lzo", "zstd": "btrfs zstd:3"}
BTRFS_COMPRESSION = {"lz4": "lzo", "zstd": "zstd:3"}
PARTS = 64  # files that hold `float` together
LONG = 4  # the long file, divided by `float`
SPARE_MIB = 192  # of an image beyond its files
STORE_MIB = 3072  # of an image for writing, most of it never touched


class Contestant(NamedTuple):
    who: str
    codec: str  # of a frame; "" if the filesystem stores plain bytes
    mount: object  # has mounted() and mountpoint
    prepare: Callable = lambda: None  # makes the data, and raises if that is impossible
    stored: Callable = list  # the paths of the stored bytes, which are held in memory


def hold_in_memory(paths):
    """Reads the files of which the kernel's page cache lacks a part."""
    if paths:
        told = subprocess.run(["fincore", "--bytes", "--noheadings", "--raw", "--output", "RES,SIZE", *paths],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        for path, line in zip(paths, told.splitlines(), strict=True):
            resident, size = map(int, line.split())
            if resident < size:
                mounts.read_into_memory(path)


# ---------------------------------------------------------------------------------- for reading

class Library:
    """Plain files, and the same files in frames and in the images of other filesystems.  A file has
    the same name in every mount.  Everything is made when it is first needed."""

    def __init__(self, all_data, folder, programs, files):
        self.data = all_data
        self.folder = folder / f"peers-{all_data.mib}"
        self.plain = self.folder / "plain"
        self.programs = programs
        self.files = files
        self.folder.mkdir(exist_ok=True)

    # ------------------------------------------------------------------------------- plain files

    @functools.cache
    def make_plain(self):
        """`float` and `text`, two quarters of `float`, all of it in PARTS parts, and an array."""
        self.plain.mkdir(exist_ok=True)
        (self.plain / "parts").mkdir(exist_ok=True)
        for name in ("float", "text", "float.0", "float.1"):
            link(self.data.plain / name, self.plain / name)
        size = self.data.mib * MIB // PARTS
        with open(self.plain / "float", "rb") as whole:
            for name in part_names():
                content = whole.read(size)
                make(self.plain / name, lambda path, content=content: path.write_bytes(content))
        make(self.plain / "cube.npy", self._write_cube)

    def _write_cube(self, path):
        field = numpy.memmap(self.plain / "float", "<f4", "r", shape=self.cube_shape())
        with open(path, "wb") as file:
            numpy.save(file, field)

    def cube_shape(self):
        return self.data.mib, 512, 512

    @functools.cache
    def make_many(self):
        """A folder of small frames, and one of the same files."""
        self.data.make_many(self.files)
        plain = self.folder / f"many-plain-{self.files}"
        if not (plain / f"small-{self.files - 1:06d}.txt").exists():
            plain.mkdir(exist_ok=True)
            for i in range(self.files):
                (plain / f"small-{i:06d}.txt").write_bytes(SMALL_CONTENT)

    @functools.cache
    def make_indexed(self):
        """Links to the small frames, beside their manifest.  A link changes no time that counts."""
        self.make_many()
        folder = self._indexed()
        if not (folder / "framefs-manifest.json").exists():
            folder.mkdir(exist_ok=True)
            for frame in files_in(self._many_frames()):
                link(frame, folder / frame.name)
            run(self.programs["framefs"], "index", "-q", folder, "-o", folder / "framefs-manifest.json")

    def _many_frames(self):
        return self.data.folder / f"many-{self.files}"

    def _indexed(self):
        return self.data.folder / f"many-indexed-{self.files}"

    def make_many_open(self):
        """The same for passthrough_hp."""
        passthrough.require_open_files(self.files)
        self.make_many()

    @functools.cache
    def make_long(self):
        plain = self.folder / "long"
        plain.mkdir(exist_ok=True)
        make(plain / "float", lambda path: data.write_field(path, LONG * self.data.mib))

    # ------------------------------------------------------------------------------------ frames

    def _frames(self, name):
        return self.folder / f"frames-{name}"

    def _pack(self, to, codec, names, kind="float", plain=None, block=PEER_BLOCK, chunk=data.CHUNK):
        """Makes the frames of some plain files."""
        files = [((plain or self.plain) / name, self._frames(to) / f"{name}.b2frame") for name in names]
        for _, frame in files:
            frame.parent.mkdir(parents=True, exist_ok=True)
        self.data.pack(files, kind, codec, block, chunk)

    def _make_array(self, name, chunks, blocks):
        shape = self.cube_shape()
        chunks = [min(size) for size in zip(chunks, shape)]
        blocks = [min(size) for size in zip(blocks, shape)]
        self._frames(name).mkdir(exist_ok=True)
        make(self._frames(name) / "cube.b2nd", lambda path: run(
            self.programs["make_frame"], "--codec", "lz4", "--typesize", 4, "--filter", "shuffle", "--split", "--dtype",
            "<f4", *(word for option, dims in (("--shape", shape), ("--chunkshape", chunks), ("--blockshape", blocks))
                     for word in (option, ",".join(map(str, dims)))), self.plain / "float", path))

    @functools.cache
    def make_frames(self, codec):
        self.make_plain()
        shared = ["float.0", "float.1", *part_names()] if codec == "lz4" else []
        self._pack(codec, codec, ["float", *shared])
        self._pack(codec, codec, ["text"], kind="text")
        if codec == "lz4":
            self._make_array(codec, (64, 128, 128), (16, 32, 64))

    @functools.cache
    def make_small_chunks(self, size):
        self.make_plain()
        self._pack(f"chunks-{size}", "lz4", ["float"], block=size, chunk=size)

    @functools.cache
    def make_long_frame(self):
        self.make_long()
        self._pack("long", "lz4", ["float"], plain=self.folder / "long")

    @functools.cache
    def make_wide(self):
        """The array in other chunks: a walk in C order crosses a band of 64 MiB, twice the small
        cache."""
        self.make_plain()
        self._make_array("wide", (64, 512, 32), (64, 64, 16))

    # ------------------------------------------------------------------------------- contestants

    def framefs(self, codec, who=FRAMEFS, folder=None, prepare=None, options=()):
        """framefs with one of the folders of frames."""
        source = folder or self._frames(codec)
        return Contestant(who, codec, mounts.framefs(self.programs["framefs"], source, self.folder / "mnt", *options),
                          prepare or (lambda: self.make_frames(codec)), lambda: files_in(source))

    def frames_themselves(self, codec, who):
        """The folder of frames without any mount."""
        folder = self._frames(codec)
        return Contestant(who, codec, mounts.Plain(folder), lambda: self.make_frames(codec), lambda: files_in(folder))

    def small_chunks(self, size):
        return self.framefs("lz4", folder=self._frames(f"chunks-{size}"), prepare=lambda: self.make_small_chunks(size))

    def wide(self):
        return self.framefs("lz4", folder=self._frames("wide"), prepare=self.make_wide,
                            options=("--cache-size", "32M"))

    def many(self):
        """framefs, and the filesystems with images, on the small files."""
        frames, plain = self._many_frames(), self.folder / f"many-plain-{self.files}"
        ours = [self.framefs("", who, source, self.make_many, options)
                for who, source, options in ((FRAMEFS, frames, ()), (FRAMEFS_PLAIN, plain, ()),
                                             (IMMUTABLE, frames, ("--immutable",)))]
        ours.append(self.framefs("", MANIFEST, self._indexed(), self.make_indexed, ("--immutable",)))
        squashfs = self.squashfs("lz4", plain, self.make_many)
        others = [squashfs, self.squashfuse(squashfs), self.erofs(plain, self.make_many),
                  self.ext4(plain, self.make_many), self.btrfs("lz4", plain, self.make_many),
                  self.passthrough(plain, self.make_many_open), self.null_of_many()]
        return ours + [other._replace(codec="") for other in others]

    def long(self):
        plain = self.folder / "long"
        return [self.framefs("lz4", folder=self._frames("long"), prepare=self.make_long_frame),
                self.squashfs("lz4", plain, self.make_long), self.erofs(plain, self.make_long), self.null(LONG)]

    def peers(self, codec):
        """The peers with this codec."""
        return [self.squashfs(codec), *([self.erofs()] if codec == "lz4" else []), self.btrfs(codec)]

    def plain_peers(self):
        return [self.ext4(), self.passthrough(), self.null()]

    def null(self, times=1):
        """Its files have `times` the size of `float`."""
        return Contestant(NULL, "", mounts.null_server(self.programs["null_server"], int(self.data.mib * MIB * times),
                                                       self.folder / "mnt-null"))

    def null_of_many(self):
        """As many small files, of which the kernel asks as little as of an immutable mount."""
        return Contestant(NULL, "", mounts.null_server(self.programs["null_server"], len(SMALL_CONTENT),
                                                       self.folder / "mnt-null", 128 << 10, self.files))

    @functools.cache
    def passthrough(self, plain=None, prepare=None):
        source = plain or self.plain
        mount = passthrough.Passthrough(build_folder(self.programs), source, self.folder / "mnt-passthrough")

        def make_all():
            (prepare or self.make_plain)()
            mount.make_program()
        return Contestant(PASSTHROUGH, "", mount, make_all, lambda: files_in(source))

    @functools.cache
    def squashfs(self, codec, plain=None, prepare=None, block=PEER_BLOCK, who=SQUASHFS):
        return self._image(who, codec, "squashfs", f"squashfs-{codec}-{block}", plain, prepare,
                           lambda image, source: mounts.write_squashfs(image, source, codec, block))

    def squashfuse(self, squashfs):
        """The image of another contestant, served by a program."""
        [image] = squashfs.stored()
        program = shutil.which("squashfuse_ll") or shutil.which("squashfuse")
        mountpoint = self.folder / "mnt-squashfuse"

        def prepare():
            if not program:
                raise RuntimeError("squashfuse is not installed")
            squashfs.prepare()
        mount = mounts.Daemon(SQUASHFUSE, mountpoint, [program or SQUASHFUSE, "-f", image, mountpoint])
        return squashfs._replace(who=SQUASHFUSE, mount=mount, prepare=prepare)

    @functools.cache
    def erofs(self, plain=None, prepare=None):
        return self._image(EROFS, "lz4", "erofs", "erofs", plain, prepare, mounts.write_erofs)

    @functools.cache
    def ext4(self, plain=None, prepare=None):
        return self._image(EXT4, "", "ext4", EXT4, plain, prepare, write_ext4)

    @functools.cache
    def btrfs(self, codec, plain=None, prepare=None):
        return self._image(BTRFS[codec], codec, "btrfs", f"btrfs-{codec}", plain, prepare,
                           lambda image, source: write_btrfs(image, source, codec, self.folder / "mnt-btrfs"))

    def _image(self, who, codec, kind, name, plain, prepare, write):
        source = plain or self.plain
        image = self.folder / f"{source.name}-{name}.img"
        mount = mounts.Kernel(who, self.folder / f"mnt-{name}", kind, image)

        def make_image():
            (prepare or self.make_plain)()
            make(image, lambda path: write(path, source))
            self._check(mount, source)
        return Contestant(who, codec, mount, functools.cache(make_image), lambda: [image])

    @staticmethod
    def _check(mount, plain):
        """Fast but wrong reads do not count, and the kernel may lack a filesystem."""
        name = next(path for path in sorted(plain.iterdir()) if path.is_file()).name
        with mount.mounted():
            run("cmp", plain / name, mount.mountpoint / name)


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def part_names():
    return [f"parts/{part:02d}" for part in range(PARTS)]


def build_folder(programs):
    return programs["framefs"].parents[1] / "libfuse"


def require_btrfs():
    if not have("mkfs.btrfs"):
        raise RuntimeError("mkfs.btrfs is not installed")


def link(existing, new):
    if not new.exists():
        os.link(existing, new)


def write_ext4(image, plain):
    grow(image, size_of(plain) * 5 // 4)
    run("mkfs.ext4", "-q", "-F", "-m", 0, "-d", plain, image)


def write_btrfs(image, plain, codec, mountpoint):
    grow(image, size_of(plain) * 5 // 4)
    run("mkfs.btrfs", "-q", "-f", image)
    mountpoint.mkdir(exist_ok=True)
    run("mount", "-o", f"loop,compress={BTRFS_COMPRESSION[codec]}", image, mountpoint)
    try:
        run("cp", "-r", f"{plain}/.", mountpoint)
    finally:
        mounts.unmount(mountpoint)


def size_of(plain):
    """The bytes of the files in whole blocks."""
    return sum(max(path.stat().st_size, 4096) for path in plain.rglob("*"))


def grow(image, size):
    with open(image, "wb") as file:
        file.truncate(size + SPARE_MIB * MIB)


# ---------------------------------------------------------------------------------- for writing

class Loop:
    """A new filesystem on a loop device whose image is in memory.  The image's memory stays, so
    that only the first use has to touch it."""

    def __init__(self, kind, image, mountpoint, options=()):
        self.image = image
        self.mountpoint = mountpoint
        self.make = {"ext4": ["mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=1"],
                     "btrfs": ["mkfs.btrfs", "-q", "-f", "-K"]}[kind]
        self.options = ",".join(["loop", "nodiscard", *options])
        self.mountpoint.mkdir(exist_ok=True)

    @contextlib.contextmanager
    def mounted(self):
        if not self.image.exists():
            grow(self.image, (STORE_MIB - SPARE_MIB) * MIB)
        run(*self.make, self.image)
        run("mount", "-o", self.options, self.image, self.mountpoint)
        try:
            yield None
        finally:
            mounts.unmount(self.mountpoint)


class Store:
    """A new filesystem, and perhaps a daemon that serves it."""

    def __init__(self, base, daemon=None, fill=None):
        self.base = base
        self.daemon = daemon
        self.fill = fill
        self.mountpoint = (daemon or base).mountpoint

    @contextlib.contextmanager
    def mounted(self):
        with self.base.mounted():
            if self.fill:
                self.fill(self.base.mountpoint)
                run("sync", "-f", self.base.mountpoint)
            with self.daemon.mounted() if self.daemon else contextlib.nullcontext() as pid:
                yield pid


class Stores:
    """Contestants for writing.  SOURCE of a daemon is an ext4 like the one that it is compared
    with."""

    def __init__(self, folder, programs):
        self.folder = folder / "stores"
        self.images = self.folder / "memory"
        self.programs = programs
        self.images.mkdir(parents=True, exist_ok=True)

    def in_memory(self):
        """Holds the images while it is entered."""
        return writing.folder_in_memory(self.images)

    def _ext4(self):
        return Loop("ext4", self.images / "ext4", self.folder / "mnt-ext4")

    def framefs(self, *options, who=FRAMEFS, codec="", fill=None):
        daemon = writing.writable_mount(self.programs["framefs"], self._ext4().mountpoint, self.folder / "mnt", *options)
        return Contestant(who, codec, Store(self._ext4(), daemon, fill))

    def plain(self, fill=None):
        return self.framefs("--plain", "*", who=FRAMEFS_PLAIN, fill=fill)

    def ext4(self, fill=None):
        return Contestant(EXT4, "", Store(self._ext4(), fill=fill))

    def btrfs(self, codec, fill=None):
        options = [f"compress={BTRFS_COMPRESSION[codec]}"]
        base = Loop("btrfs", self.images / "btrfs", self.folder / "mnt-btrfs", options)
        return Contestant(BTRFS[codec], "", Store(base, fill=fill), require_btrfs)

    def passthrough(self, fill=None):
        below = self._ext4()
        daemon = passthrough.Passthrough(build_folder(self.programs), below.mountpoint, self.folder / "mnt-passthrough")
        return Contestant(PASSTHROUGH, "", Store(below, daemon, fill), daemon.make_program)

    def null(self):
        return Contestant(NULL, "", mounts.null_server(self.programs["null_server"], 1, self.folder / "mnt-null"))
