"""Compares what two builds of framefs show of the same frames; scripts/compare describes it."""

import errno
import hashlib
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

WAYS = ("npy", "raw", "both")
READ_BYTES = 1 << 20
WHOLE_BYTES = 64 << 20  # of larger files, only some places are read: fixtures include frames of terabytes
PLACES = 20


def outcome(ask):
    """The result of a call, or the name of its errno."""
    try:
        return ask()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))


def content(path, size):
    """A digest of all bytes, or for a large file of those at some places."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        if size > WHOLE_BYTES:
            for place in range(PLACES + 1):
                digest.update(os.pread(file.fileno(), READ_BYTES, place * (size - READ_BYTES) // PLACES))
        else:
            while block := file.read(READ_BYTES):
                digest.update(block)
    return digest.hexdigest()


def first_bytes(path):
    with open(path, "rb", buffering=0) as file:
        return file.read(16).hex()


def hole(path):
    with open(path, "rb") as file:
        return os.lseek(file.fileno(), 0, os.SEEK_HOLE)


def attributes(path):
    """The values of the extended attributes.  Which ones are listed is a choice of each build."""
    listed = os.listxattr(path, follow_symlinks=False)
    names = {name for name in listed if not name.startswith("user.framefs.meta.")} | {"user.framefs.info"}
    return {name: outcome(lambda name=name: os.getxattr(path, name, follow_symlinks=False).hex())
            for name in sorted(names)}


def describe(path):
    def described():
        st = os.lstat(path)
        entry = {"mode": oct(st.st_mode), "size": st.st_size, "links": st.st_nlink,
                 "owner": [st.st_uid, st.st_gid], "mtime": st.st_mtime_ns}
        entry["attributes"] = outcome(lambda: attributes(path))
        if stat.S_ISREG(st.st_mode):
            entry["content"] = outcome(lambda: content(path, st.st_size))
            entry["first"] = outcome(lambda: first_bytes(path))
            entry["hole"] = outcome(lambda: hole(path))
        return entry
    return outcome(described)


def shown(program, source, way):
    """Everything that a mount shows, by path."""
    with tempfile.TemporaryDirectory(prefix="framefs-compare-") as folder:
        mountpoint = pathlib.Path(folder) / "mnt"
        mountpoint.mkdir()
        subprocess.run([program, source, mountpoint, "--ro", "--arrays", way,
                        "--log-file", pathlib.Path(folder) / "log"], check=True)
        try:
            return {str(path.relative_to(mountpoint)): describe(path)
                    for path in sorted(mountpoint.rglob("*"))}
        finally:
            subprocess.run(["fusermount3", "-u", mountpoint], check=True)


def infos(program, source):
    """The output of `info --json`, by path."""
    found = {}
    for path in sorted(source.rglob("*")):
        if not path.is_file():
            continue
        result = subprocess.run([program, "info", "--json", "--chunks", path], capture_output=True, check=False)
        text = result.stdout.decode(errors="replace")
        try:
            parsed = json.loads(text)
        except json.JSONDecodeError:
            parsed = text
        found[str(path.relative_to(source))] = {"exit": result.returncode, "info": parsed}
    return found


def differences(title, old, new):
    count = 0
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) == new.get(path):
            continue
        count += 1
        print(f"{title}: {path}\n  old {old.get(path)}\n  new {new.get(path)}", flush=True)
    print(f"{title}: {len(old)} compared, {count} differ", flush=True)
    return count


def main():
    old, new, source = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    count = sum(differences(f"shown, arrays as {way}", shown(old, source, way), shown(new, source, way))
                for way in WAYS)
    count += differences("info", infos(old, source), infos(new, source))
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
