"""Mounts damaged frames, reads them through two mounts, and edits some of them through a third.

Between the reads, the two mounts decode different frames.  Bytes of another file that a damaged
frame discloses therefore differ between the mounts.
"""

import contextlib
import errno
import os
import pathlib
import shutil
import subprocess

import container_writer
import daemon
import memory
import mutant_edits
import mutation
import mutant_reads as reads
from case import MAKE_FRAME
from mutant_reads import Wrong

MAX_ORIGINAL_BYTES = 128 << 10
BATCH = 100
CACHE_MIB = 4
THREADS = 2
# Such a mount finds nodes by handles, and rights by lists.  --export wants a filesystem of its own.
SHARED = ("--acl", "--export")
DISK_BYTES = 4 << 30  # the image is sparse
# The daemons are replaced in time, before daemon.Mount takes them for hung.
MUTANTS_OF_A_MOUNT = 1000
SUFFIXES = (".b2frame", ".b2nd")
CONTAINERS = 12  # of each kind
MAX_MEMBER_BYTES = 4 << 10
CONTAINER_SHARE = 6  # one mutant of six is a container
EDITED_SHARE = 4  # one mutant of four is edited too

# Two contents for the frames that are decoded between the reads.  Shuffled or not, they have no
# byte in common.
FILLINGS = (bytes(range(1, 127)), bytes(range(128, 254)))
FILLING_BYTES = 1 << 20
FILLING_CODECS = ("lz4", "zstd", "blosclz", "zlib")


def originals(fixtures):
    """The small frames and arrays of a folder, and the folders of sparse frames."""
    found = []
    for path in sorted(pathlib.Path(fixtures).rglob("*")):
        if path.suffix not in SUFFIXES or path.parent.suffix in SUFFIXES:
            continue
        files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
        if files and sum(file.stat().st_size for file in files) <= MAX_ORIGINAL_BYTES:
            found.append(path)
    assert found, f"no frames in {fixtures}"
    return found


def may_waver(path):
    """libzstd may refuse a damaged stream with a new dictionary that it accepts later, and the
    reverse."""
    return path.parent.name == "dict" or "dict" in path.name


def write_containers(frames, folder, rng):
    """Writes containers of small frames: archives, and frames embedded in frames, also in one
    another.  Returns their paths."""
    contents = [(path.suffix, path.read_bytes()) for path in frames
                if path.is_file() and path.stat().st_size <= MAX_MEMBER_BYTES and not may_waver(path)]
    paths = []
    for number in range(CONTAINERS):
        chosen = rng.sample(contents, rng.randrange(1, 6))
        embedded = container_writer.embed_container(
            {f"/group{place % 2}/leaf{place}": content for place, (_, content) in enumerate(chosen)})
        paths += [folder / f"embedded-{number}.b2e", folder / f"archive-{number}.b2z"]
        paths[-2].write_bytes(embedded)
        members = {f"group{place % 2}/leaf{place}{suffix}": content
                   for place, (suffix, content) in enumerate(chosen)}
        container_writer.archive(paths[-1], members | {"embed.b2e": embedded, "notes.txt": b"notes"})
    return paths


def remove_beside_a_daemon(folder):
    """Removes a folder from which a daemon removes files, too: old chunks of sparse frames."""

    def fail_unless_gone(_function, _path, error):
        if not isinstance(error[1], FileNotFoundError):
            raise error[1]

    shutil.rmtree(folder, onerror=fail_unless_gone)


class MutantRun:
    """Mutants of the fixtures, on a filesystem of their own where there are loop devices, and the
    mounts that show them.  A failure leaves a copy of the mutants in the folder."""

    def __init__(self, fixtures, folder, rng):
        self._folder = folder
        self._rng = rng
        self._frames = originals(fixtures)
        containers = folder / "containers"
        containers.mkdir()
        self._containers = write_containers(self._frames, containers, rng)
        self._mutator = mutation.Mutator(rng, [path.read_bytes() for path in self._frames + self._containers
                                               if path.is_file() and path.stat().st_size > 0])
        self.read = 0
        self.edited = 0
        self.peak_mib = 0.0  # of the daemons that read
        self._source = folder / "source"
        self._source.mkdir()
        self._is_disk = False

    def __enter__(self):
        image = self._folder / "source.img"
        with open(image, "wb") as file:
            file.truncate(DISK_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        self._is_disk = subprocess.run(["mount", "-o", "loop", image, self._source], check=False).returncode == 0
        return self

    def __exit__(self, failure, *_details):
        if not self._is_disk:
            return
        if failure:
            shutil.copytree(self._source, self._folder / "mutants", symlinks=True)
        subprocess.run(["umount", self._source], check=True)

    def run(self, count):
        """Reads `count` mutants, and edits some of them."""
        self._write_fillings()
        while self.read < count:
            self._run_mounts(min(count, self.read + MUTANTS_OF_A_MOUNT))

    def _run_mounts(self, end):
        """Reads mutants until `end` have been read."""
        with contextlib.ExitStack() as stack:
            options = ("--cache-size", f"{CACHE_MIB}M", "--threads", str(THREADS))
            shared = SHARED if self._is_disk else ()
            # The first mount shows edits at once.
            one = stack.enter_context(self._mount("one", "--ro", "--attr-timeout", "0", *options))
            other = stack.enter_context(self._mount("other", "--ro", *shared, *options))
            writable = stack.enter_context(self._mount("writable", *shared, *options))
            # Some mutants can be opened, and cannot be committed.
            writable.exit_codes = (0, 1)
            while self.read < end:
                self._run_batch(min(BATCH, end - self.read), (one, other, writable))
            for mount in (one, other):
                self._check_memory(mount)

    def _check_memory(self, reading_mount):
        peak = memory.peak_mib(reading_mount.pid)
        self.peak_mib = max(self.peak_mib, peak)
        # A sanitizer keeps memory of its own.
        if not daemon.SANITIZED and peak > memory.promised_mib(CACHE_MIB, 0, 0, THREADS):
            raise Wrong(f"a daemon that reads took {peak:.0f} MiB")

    def _mount(self, name, *options):
        mountpoint = self._folder / name
        mountpoint.mkdir(exist_ok=True)
        return daemon.Mount(self._source, mountpoint, *options)

    def _write_fillings(self):
        fillings = self._source / "fillings"
        fillings.mkdir()
        for number, letters in enumerate(FILLINGS):
            plain = self._folder / f"filling-{number}"
            plain.write_bytes((letters * (FILLING_BYTES // len(letters) + 1))[:FILLING_BYTES])
            for codec in FILLING_CODECS:
                frame = fillings / f"{codec}-{number}.b2frame"
                subprocess.run([MAKE_FRAME, "--codec", codec, plain, frame], check=True)

    def _decode_filling(self, mount, number):
        path = mount.path("fillings", f"{self._rng.choice(FILLING_CODECS)}-{number}")
        fd = reads.open_uncached(path)
        try:
            data = os.pread(fd, 128 << 10, self._rng.randrange(FILLING_BYTES // 2))
        finally:
            os.close(fd)
        if not set(data) <= set(FILLINGS[number]):
            raise Wrong(f"{path} has bytes of another file")

    def _run_batch(self, count, mounts):
        batch = self._source / f"batch{self.read}"
        batch.mkdir()
        mutants = {}
        for number in range(count):
            is_container = self._rng.randrange(CONTAINER_SHARE) == 0
            original = self._rng.choice(self._containers if is_container else self._frames)
            name = f"m{self.read + number}{original.suffix}"
            self._write_mutant(original, batch / name)
            mutants[name] = original
        for name, original in mutants.items():
            try:
                self._check(batch.name, name, original, mounts)
            except (Wrong, OSError) as error:
                raise Wrong(f"{batch / name}, a mutant of {original}: {error}") from error
            self.read += 1
        remove_beside_a_daemon(batch)

    def _write_mutant(self, original, target):
        if original.is_file():
            target.write_bytes(self._mutator.mutated(original.read_bytes()))
            return
        shutil.copytree(original, target)
        files = sorted(path for path in target.rglob("*") if path.is_file())
        changed = self._rng.choice(files)
        changed.chmod(0o644)
        changed.write_bytes(self._mutator.mutated(changed.read_bytes()))

    def _check(self, batch, name, original, mounts):
        shown = self._shown(mounts[0], batch, name)
        for path in shown:
            self._check_reads([mount.path(path) for mount in mounts[:2]], mounts, may_waver(original))
        # A file under its full name is no frame, but an edit could make it one.
        is_frame = len(shown) == 1 and shown[0].name != name
        if is_frame and self._rng.randrange(EDITED_SHARE) == 0:
            self._keep_copy(self._source / batch / name)
            mutant_edits.Edit(self._rng, mounts[2].path(shown[0])).run(mounts[0].path(shown[0]))
            self.edited += 1
        for mount in mounts:
            if mount.process.poll() is not None:
                raise Wrong(f"the daemon has ended:\n{mount.messages()[-4000:]}")

    def _keep_copy(self, mutant):
        """Keeps the state before the edit, for whoever looks into a failure."""
        copy = self._folder / "before-the-edit"
        if copy.is_dir():
            shutil.rmtree(copy)
        else:
            copy.unlink(missing_ok=True)
        (shutil.copytree if mutant.is_dir() else shutil.copyfile)(mutant, copy)

    def _shown(self, mount, batch, name):
        """The files as which the mount shows the mutant: one, or the members of a container."""
        stem = name.partition(".")[0]
        with reads.limited(f"listing {batch}"):
            found = [entry for entry in os.scandir(mount.path(batch)) if entry.name.partition(".")[0] == stem]
            files = []
            for entry in found:
                if entry.is_dir():
                    files += self._members(pathlib.Path(entry.path))
                else:
                    files.append(pathlib.Path(entry.path))
        if not found:
            raise Wrong("it is not listed")
        return [path.relative_to(mount.mountpoint) for path in files]

    @staticmethod
    def _members(folder):
        files = []
        for place, _folders, names in os.walk(folder):
            files += [pathlib.Path(place, name) for name in names]
        return files[:20]

    def _check_reads(self, paths, mounts, is_wavering):
        seed = self._rng.getrandbits(32)

        def choose(size):
            return reads.chosen_parts(type(self._rng)(seed), size)

        views = []
        for number, path in enumerate(paths):
            self._decode_filling(mounts[number], number)
            views.append(reads.view(path, choose, whole_first=number == 1))
        if not is_wavering:
            for seen in views:
                reads.check_parts_of_whole(seen)
        reads.check_same(*views, is_wavering=is_wavering)
        with reads.limited(f"attributes of {paths[0]}"):
            for attribute in os.listxattr(paths[0]):
                # The kernel passes on no value above 64 KiB.
                reads.attempt(os.getxattr, paths[0], attribute, fair=reads.FAIR_ERRORS | {errno.E2BIG})
