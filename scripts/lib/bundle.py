"""Completes the folder of a tarball: scripts/package --tarball calls it after the installation.

usage: bundle.py BUNDLE BUILD

Copies the libraries that the program needs, and the loader, to BUNDLE/lib/framefs; the licences of
all packages that are inside to BUNDLE/share/licenses; and writes BUNDLE/SHA256SUMS.  BUILD is the
folder in which ninja built the program: it knows the headers that were compiled in.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

COMMON_LICENSES = pathlib.Path("/usr/share/common-licenses")


def output_of(*command, check=True):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def needed_by(file):
    """The names of the libraries that a program or library is linked to."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", file))


def loader_of(program):
    return pathlib.Path(re.search(r"interpreter: (.*)\]", output_of("readelf", "-lW", program))[1])


def library_folders():
    """Where the C compiler finds the libraries of its architecture."""
    triplet = output_of("gcc", "-print-multiarch").strip()
    return [pathlib.Path(folder) / triplet for folder in ("/usr/lib", "/lib")]


def find_library(name, folders):
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"bundle.py: no library {name} in {folders}")


def copy_libraries(program):
    """Copies all that the program needs next to it.  Returns where the files came from."""
    folders = library_folders()
    loader = loader_of(program)
    copied = {loader.name: loader}
    waiting = needed_by(program)
    while waiting:
        name = waiting.pop()
        if name not in copied:
            copied[name] = find_library(name, folders)
            waiting += needed_by(copied[name])
    for name, path in copied.items():
        shutil.copyfile(path, program.parent / name)
        (program.parent / name).chmod(0o755)
    return list(copied.values())


def included_headers(build):
    """The headers that ninja has recorded, without those of this project."""
    lines = output_of("ninja", "-C", build, "-t", "deps").splitlines()
    names = {line.strip() for line in lines if line.startswith("    ")}
    return sorted(name for name in names if name.startswith("/usr/"))


def packages_of(files):
    """The packages that the files belong to."""
    # dpkg knows a file by the path in its package, which may leave out that /lib is /usr/lib.
    paths = set()
    for file in files:
        real = str(pathlib.Path(file).resolve())
        paths |= {real, real.removeprefix("/usr"), str(file)}
    packages = set()
    found = output_of("dpkg-query", "--search", *sorted(paths), check=False)
    missing = set(map(str, files))
    for line in found.splitlines():
        owners, path = line.rsplit(": ", 1)
        packages |= set(owners.split(", "))
        missing -= {file for file in missing if path in (file, file.removeprefix("/usr"))
                    or path.removeprefix("/usr") == str(pathlib.Path(file).resolve()).removeprefix("/usr")}
    if missing:
        raise SystemExit(f"bundle.py: of no package: {sorted(missing)}")
    return sorted(packages)


def copy_licenses(packages, folder):
    """The copyright files of the packages, the licences that these name, and the list of packages."""
    folder.mkdir(parents=True)
    versions = []
    for package in packages:
        name = package.partition(":")[0]
        text = (pathlib.Path("/usr/share/doc") / name / "copyright").read_bytes()
        (folder / f"{name}.copyright").write_bytes(text)
        for license_name in re.findall(rb"common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text):
            license_file = COMMON_LICENSES / license_name.decode()
            if license_file.is_file():
                shutil.copyfile(license_file, folder / license_file.name)
        shown = output_of("dpkg-query", "-W", "-f", "${Package} ${Version} ${source:Package} ${source:Version}", package)
        versions.append(shown)
    header = ("# Debian packages of which files or compiled headers are in this tarball: package, version,\n"
              "# source package, its version.  https://snapshot.debian.org has their sources.\n")
    (folder / "PACKAGES").write_text(header + "".join(f"{line}\n" for line in versions))


def write_sums(bundle):
    files = sorted(path for path in bundle.rglob("*") if path.is_file() and not path.is_symlink())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(bundle)}\n" for path in files]
    (bundle / "SHA256SUMS").write_text("".join(sums))


def main():
    bundle, build = map(pathlib.Path, sys.argv[1:])
    libraries = copy_libraries(bundle / "lib/framefs/framefs")
    packages = packages_of([*libraries, *included_headers(build)])
    copy_licenses(packages, bundle / "share/licenses")
    write_sums(bundle)


if __name__ == "__main__":
    main()
