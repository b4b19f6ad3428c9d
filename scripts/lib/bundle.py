"""Completes the folder of a tarball: scripts/package --tarball calls it after the installation.

usage: bundle.py BUNDLE BUILD TRIPLET SYSROOT

Copies the libraries that the program needs, and the loader, to BUNDLE/lib/framefs; the licences of
all packages that are inside to BUNDLE/share/licenses; and writes BUNDLE/SHA256SUMS.  BUILD is the
folder in which ninja built the program: it knows the headers that were compiled in.  TRIPLET names the
architecture, and SYSROOT is the folder with its libraries: / for that of this machine.
"""

import collections
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
    return re.search(r"interpreter: (.*)\]", output_of("readelf", "-lW", program))[1]


class Packages:
    """Debian packages whose files are below the folder `root`."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self._query = ("dpkg-query", f"--admindir={self.root / 'var/lib/dpkg'}")

    def contains(self, file):
        return file.is_relative_to(self.root)

    def path_inside(self, file):
        return pathlib.PurePosixPath("/") / file.relative_to(self.root)

    def of_files(self, files):
        """The packages that the files belong to."""
        # dpkg knows a file by the path in its package, which may leave out that /lib is /usr/lib.
        names = collections.defaultdict(set)
        for file in files:
            for path in (file, file.resolve()):
                name = str(self.path_inside(path)).removeprefix("/usr")
                names[name].add(file)
                names[f"/usr{name}"].add(file)
        packages = set()
        missing = set(files)
        for line in output_of(*self._query, "--search", *sorted(names), check=False).splitlines():
            owners, path = line.rsplit(": ", 1)
            if path in names:
                packages |= set(owners.split(", "))
                missing -= names[path]
        if missing:
            raise SystemExit(f"bundle.py: of no package: {sorted(map(str, missing))}")
        return sorted(packages)

    def copyright_of(self, package):
        return (self.root / "usr/share/doc" / package.partition(":")[0] / "copyright").read_bytes()

    def versions_of(self, package):
        fields = "${Package} ${Version} ${source:Package} ${source:Version}"
        return output_of(*self._query, "-W", "-f", fields, package)


def find_library(name, folders):
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"bundle.py: no library {name} in {folders}")


def copy_libraries(program, folders):
    """Copies all that the program needs next to it.  Returns where the files came from."""
    loader = find_library(pathlib.Path(loader_of(program)).name, folders)
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


def included_headers(build, folders):
    """The headers that ninja has recorded and that lie in one of the folders."""
    lines = output_of("ninja", "-C", build, "-t", "deps").splitlines()
    headers = {pathlib.Path(line.strip()) for line in lines if line.startswith("    ")}
    return {header for header in headers if any(header.is_relative_to(folder) for folder in folders)}


def copy_licenses(packages, names, folder):
    """The copyright files of the packages, and the licences that these name.  Returns a line on each."""
    versions = []
    for package in names:
        text = packages.copyright_of(package)
        (folder / f"{package.partition(':')[0]}.copyright").write_bytes(text)
        for license_name in re.findall(rb"common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text):
            license_file = COMMON_LICENSES / license_name.decode()
            if license_file.is_file():
                shutil.copyfile(license_file, folder / license_file.name)
        versions.append(packages.versions_of(package))
    return versions


def write_versions(lines, file):
    header = ("# Debian packages of which files or compiled headers are in this tarball: package, version,\n"
              "# source package, its version.  https://snapshot.debian.org has their sources.\n")
    file.write_text(header + "".join(f"{line}\n" for line in sorted(lines)))


def write_sums(bundle):
    files = sorted(path for path in bundle.rglob("*") if path.is_file() and not path.is_symlink())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(bundle)}\n" for path in files]
    (bundle / "SHA256SUMS").write_text("".join(sums))


def main():
    bundle, build = map(pathlib.Path, sys.argv[1:3])
    triplet, sysroot = sys.argv[3:]
    target, machine = Packages(sysroot), Packages("/")
    libraries = copy_libraries(bundle / "lib/framefs/framefs",
                               [target.root / folder / triplet for folder in ("usr/lib", "lib")])
    files = {*libraries, *included_headers(build, [target.root / "usr", machine.root / "usr"])}
    # A cross compiler's own headers are of packages of this machine.
    of_target = {file for file in files if target.contains(file)}
    licenses = bundle / "share/licenses"
    licenses.mkdir(parents=True)
    versions = copy_licenses(target, target.of_files(of_target), licenses)
    versions += copy_licenses(machine, machine.of_files(files - of_target), licenses)
    write_versions(versions, licenses / "PACKAGES")
    write_sums(bundle)


if __name__ == "__main__":
    main()
