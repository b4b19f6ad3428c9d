"""The reference library in a chroot: compiled there, and run with the chroot's loader."""

import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(__file__).with_name("reference_rate.c")


def build(chroot, skip):
    """The beginning of a command that runs reference_rate, or None."""
    if chroot is None:
        skip("no --reference-chroot: no figures of the reference library")
        return None
    root = pathlib.Path(chroot)
    shutil.copy(SOURCE, root / "tmp" / SOURCE.name)
    compiled = subprocess.run(["chroot", root, "gcc", "-O2", f"/tmp/{SOURCE.name}", "-o", "/tmp/reference_rate",
                               "-lblosc2"], capture_output=True, text=True)
    if compiled.returncode != 0:
        skip(f"the reference library's program does not compile in {root}: {compiled.stderr.strip()}")
        return None
    loaders = sorted(root.glob("lib64/ld-linux-*.so.*")) + sorted(root.glob("lib/ld-linux-*.so.*"))
    libraries = ":".join(str(folder) for folder in (*root.glob("usr/lib/*-linux-gnu"), root / "usr/lib"))
    return [loaders[0], "--library-path", libraries, root / "tmp/reference_rate"]


def version(chroot):
    """The version in the header of the chroot's library."""
    for line in (pathlib.Path(chroot) / "usr/include/blosc2.h").read_text().splitlines():
        if line.startswith("#define BLOSC2_VERSION_STRING"):
            return line.split('"')[1]
    return "?"
