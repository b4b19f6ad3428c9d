"""passthrough_hp, libfuse's example of a fast FUSE server: the kernel's passthrough is off.

The program is in no package.  It is compiled from Debian's source of the installed libfuse.
"""

import functools
import re
import resource
import subprocess
import tarfile

import mounts

NAME = "passthrough_hp"
PACKAGE = "libfuse3-dev"
OTHER_DESCRIPTORS = 64
ARCHIVE = "fuse3_*.orig.tar.[gx]z"
# The example in libfuse 3.14 names an exception that newer versions of cxxopts lack, and counts
# options as arguments.
REPLACEMENTS = (("cxxopts::option_not_exists_exception", "std::exception"), ("argc != 3", "argc < 3"))


def _output(*command, folder=None):
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if result.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {result.stderr.strip()[-300:]}")
    return result.stdout


def _source_entry():
    """(line of sources.list, version): the place where apt found the package, with deb-src in place
    of deb."""
    for line in _output("apt-cache", "madison", PACKAGE).splitlines():
        _, version, place = (part.strip() for part in line.split("|"))
        if found := re.fullmatch(r"(\S+) ([^/\s]+)/(\S+) \S+ Packages", place):
            return f"deb-src {found[1]} {found[2]} {found[3]}\n", version
    raise RuntimeError(f"apt does not know {PACKAGE}")


def _download(folder):
    """Downloads the source package.  Lists of its own keep the machine's lists as they are."""
    entry, version = _source_entry()
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(entry)
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::SourceList={folder / 'sources.list'}",
           "-o", "Dir::Etc::SourceParts=/dev/null", "-o", f"Dir::State::Lists={lists}"]
    _output(*apt, "update")
    _output(*apt, "--download-only", "source", f"fuse3={version}", folder=folder)


def _extract(folder):
    archive = next(folder.glob(ARCHIVE))
    source = folder / f"{NAME}.cc"
    with tarfile.open(archive) as files:
        for member in files:
            if member.name.endswith(f"/example/{NAME}.cc"):
                text = files.extractfile(member).read().decode()
                for old, new in REPLACEMENTS:
                    text = text.replace(old, new)
                source.write_text(text)
                return source
    raise RuntimeError(f"{archive} has no {NAME}.cc")


def _compile(folder, binary):
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob(ARCHIVE)):
        _download(folder)
    flags = _output("pkg-config", "--cflags", "--libs", "fuse3").split()
    # The example refuses to set times without HAVE_UTIMENSAT.
    _output("g++", "-O2", "-w", "-DHAVE_UTIMENSAT", "-include", "iostream", _extract(folder), "-o", binary, *flags)


@functools.cache
def _program(folder):
    """(path of the program, None), or (None, reason) if it cannot be made."""
    binary = folder / NAME
    try:
        if not binary.exists():
            _compile(folder, binary)
        return binary, None
    except (OSError, RuntimeError) as error:
        return None, error


def require_open_files(count):
    """The program holds a descriptor for each file that the kernel knows."""
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if count + OTHER_DESCRIPTORS > limit:
        raise RuntimeError(f"{count} files are too many for the limit of {limit} open files")


class Passthrough(mounts.Daemon):
    """A mount of it.  make_program() comes first, and raises RuntimeError if that is impossible."""

    def __init__(self, folder, source, mountpoint):
        super().__init__(NAME, mountpoint, [])
        self.folder = folder
        self.source = source

    def make_program(self):
        binary, reason = _program(self.folder)
        if not binary:
            raise RuntimeError(f"it cannot be made: {reason}")
        has_kernel_passthrough = "nopassthrough" in _output(binary, "--help")
        # The options are last, because the example counts its arguments from the beginning.
        self.command = [str(binary), str(self.source), str(self.mountpoint), "--foreground",
                        *(["--nopassthrough"] if has_kernel_passthrough else [])]
