"""The outside suites: how each is known, built, run, and read.

A suite is run in a Place, and gives the outcome of each of its tests by name: OK, FAILED or
SKIPPED.
"""

import concurrent.futures
import contextlib
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess

OK, FAILED, SKIPPED = "ok", "failed", "skipped"
DEADLINE_S = 1800  # of one program
TAP = re.compile(r"^(not )?ok (\d+)\b(.*)$")
JOBS = os.cpu_count() or 1


def output_of(command, cwd, deadline=DEADLINE_S, **variables):
    """(exit code or None after the deadline, output)"""
    process = subprocess.Popen([os.fspath(part) for part in command], cwd=cwd, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, "LC_ALL": "C", **variables})
    try:
        text, _ = process.communicate(timeout=deadline)
        return process.returncode, text.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        text, _ = process.communicate()
        return None, text.decode(errors="replace")


def tap_outcomes(name, code, text):
    """The outcomes of a program that writes the Test Anything Protocol."""
    found = {}
    for line in text.splitlines():
        if match := TAP.match(line.strip()):
            is_failed = bool(match[1]) and not re.search("# todo", match[3], re.I)
            outcome = SKIPPED if re.search(r"# skip", match[3], re.I) else FAILED if is_failed else OK
            found[f"{name} {match[2]}"] = outcome
    if not found:
        found[name] = SKIPPED if re.search(r"^1\.\.0", text, re.M) else FAILED
    elif code is None:
        found[f"{name} ends"] = FAILED
    return found


class Suite:
    """A suite, whose checkout is `folder`.  It is built in `work`, which also gets what its failed
    programs have written."""

    name = ""
    sign = ()  # files of which one is in each checkout
    places = None  # the places on which it runs, or None for all

    def __init__(self, folder, work):
        self.origin = folder
        self.folder = work / self.name
        self.logs = work / "logs" / self.name

    @classmethod
    def is_in(cls, folder):
        return any((folder / sign).exists() for sign in cls.sign)

    def copy(self):
        """Suites write into their folders: a copy is built, and kept for the next run."""
        if not self.folder.exists():
            shutil.copytree(self.origin, self.folder, symlinks=True)

    def make(self, *command, cwd=None):
        code, text = output_of(command, cwd or self.folder, deadline=2 * DEADLINE_S)
        if code != 0:
            raise RuntimeError(f"{self.name}: {' '.join(map(str, command))}: exit code {code}\n{text[-2000:]}")

    def build(self):
        raise NotImplementedError

    def run(self, place, wanted):
        """The outcomes of the tests whose program's name matches one of the globs `wanted`."""
        raise NotImplementedError


def is_wanted(name, wanted):
    return not wanted or any(fnmatch.fnmatch(name, glob) for glob in wanted)


class Programs(Suite):
    """A suite of many programs, each of which runs alone."""

    jobs = JOBS

    def programs(self):
        """{name: command}"""
        raise NotImplementedError

    def outcomes(self, name, code, text):
        return tap_outcomes(name, code, text)

    def variables(self, _folder, _place):
        return {}

    def run(self, place, wanted):
        def run_one(name, command):
            folder = place.path / re.sub(r"\W", "_", name)
            folder.mkdir()
            folder.chmod(0o777)
            code, text = output_of([str(part).format(folder=folder) for part in command], self.cwd(folder),
                                   **self.variables(folder, place))
            subprocess.run(["rm", "-rf", folder], capture_output=True)
            outcomes = self.outcomes(name, code, text)
            if FAILED in outcomes.values():
                self.keep_log(place, name, f"{text}\nexit code {code}\n")
            return outcomes

        found = {}
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for outcomes in pool.map(run_one, *zip(*((name, command) for name, command in self.programs().items()
                                                     if is_wanted(name, wanted)))):
                found |= outcomes
        return found

    def keep_log(self, place, name, text):
        log = self.logs / place.name / f"{name.replace('/', '_')}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)
        print(f"{self.name} on {place.name}: {name} failed, see {log}", flush=True)

    def cwd(self, folder):
        return folder


class Pjdfstest(Programs):
    name = "pjdfstest"
    sign = ("pjdfstest.c",)
    jobs = 1  # its tests compare times

    def build(self):
        self.copy()
        if not (self.folder / "pjdfstest").exists():
            for command in (["autoreconf", "-ifs"], ["./configure"], ["make", "pjdfstest"]):
                self.make(*command)

    def programs(self):
        files = sorted((self.folder / "tests").rglob("*.t"))
        return {str(file.relative_to(self.folder / "tests")): ["sh", file] for file in files}


class Git(Programs):
    """The tests t0000 to t4999 of git."""

    name = "git"
    sign = ("t/test-lib.sh",)

    def build(self):
        self.copy()
        self.make("make", f"-j{JOBS}", "NO_CURL=1", "NO_GETTEXT=1", "NO_TCLTK=1", "NO_PYTHON=1", "NO_EXPAT=1",
                  "CFLAGS=-O1", "all")

    def programs(self):
        files = sorted((self.folder / "t").glob("t[0-4][0-9][0-9][0-9]-*.sh"))
        return {file.name[:5]: ["sh", file, "--root={folder}"] for file in files}

    def cwd(self, _folder):
        return self.folder / "t"

    def variables(self, _folder, place):
        return {"TEST_OUTPUT_DIRECTORY": str(place.scratch / f"git-{place.name}"), "GIT_TEST_HTTPD": "false"}


class TestSyscalls(Suite):
    """libfuse's test_syscalls, with names, and with files that are removed while they are open."""

    name = "test_syscalls"
    sign = ("test/test_syscalls.c",)

    def build(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        # All that it takes from the header that libfuse's build makes.
        (self.folder / "fuse_config.h").write_text("#define HAVE_COPY_FILE_RANGE 1\n#define HAVE_STATX 1\n")
        self.make("cc", "-O1", "-w", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", f"-I{self.folder}",
                  self.origin / "test/test_syscalls.c", "-o", self.folder / self.name)

    def run(self, place, wanted):
        found = {}
        for way in ([], ["-u"]):
            _, text = output_of([self.folder / self.name, place.path, *way], place.path)
            for line in text.splitlines():
                if match := re.match(r"^\+\s*[\d.]+s (.*) OK$", line):
                    found[" ".join(way + [match[1]])] = OK
                elif match := re.match(r"^(\S.*?) (?:\w+\(\) )?- ", line):
                    found[" ".join(way + [match[1]])] = FAILED
        return {name: outcome for name, outcome in found.items() if is_wanted(name, wanted)}


class Ltp(Programs):
    """The filesystem tests of the Linux Test Project: the tests of LISTS whose programs lie in
    FOLDERS."""

    name = "ltp"
    sign = ("runtest/syscalls",)
    CALLS = """access chdir chmod chown close copy_file_range creat dup faccessat faccessat2 fadvise fallocate fchdir
        fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr
        fstat fstatat fstatfs fsync ftruncate futimesat getcwd getdents getxattr lchown lgetxattr link linkat listxattr
        llistxattr llseek lremovexattr lseek lstat mkdir mkdirat mknod mknodat mmap msync munmap name_to_handle_at nftw
        open open_by_handle_at openat openat2 pread preadv preadv2 pwrite pwritev pwritev2 read readahead readdir
        readlink readlinkat readv realpath removexattr rename renameat renameat2 rmdir sendfile setxattr splice stat
        statfs statvfs statx symlink symlinkat sync sync_file_range syncfs truncate umask unlink unlinkat utime
        utimensat utimes write writev""".split()
    FOLDERS = [f"syscalls/{call}" for call in CALLS] + [
        f"fs/{name}" for name in ("fs_inod", "fsx-linux", "ftest", "inode", "lftest", "linktest", "openfile")]
    LISTS = ("syscalls", "fs", "fcntl-locktests")

    def build(self):
        self.copy()
        if not (self.folder / "include/mk/config.mk").exists():
            self.make("make", "autotools")
            self.make("./configure", f"--prefix={self.folder / 'installed'}")
        self.make("make", f"-j{JOBS}", "-C", "lib")
        self.make("make", f"-j{JOBS}", "-C", "libs")
        for name in self.FOLDERS:
            folder = self.folder / "testcases/kernel" / name
            if folder.is_dir():
                self.make("make", f"-j{JOBS}", "-C", folder)

    def programs(self):
        built = {}
        for name in self.FOLDERS:
            built |= {path.name: path for path in (self.folder / "testcases/kernel" / name).glob("*")
                      if path.is_file() and os.access(path, os.X_OK)}
        found = {}
        for listed in self.LISTS:
            for line in (self.folder / "runtest" / listed).read_text().splitlines():
                name, _, command = line.partition(" ")
                words = command.split()
                if not name.startswith("#") and words and words[0] in built and not set(command) & set("$;|"):
                    found[name] = [built[words[0]], *words[1:]]
        return found

    def variables(self, folder, _place):
        path = os.pathsep.join([str(self.folder / "testcases/kernel" / name) for name in self.FOLDERS] + [os.environ["PATH"]])
        return {"TMPDIR": str(folder), "LTPROOT": str(self.folder), "PATH": path, "LTP_TIMEOUT_MUL": "4"}

    def outcomes(self, name, code, text):
        passed, failed = len(re.findall(r"\bTPASS\b", text)), len(re.findall(r"\bT(?:FAIL|BROK)\b", text))
        if code is None or code < 0 or code & 3 or failed:
            return {name: FAILED}
        return {name: SKIPPED if code & 32 and not passed else OK}


class CPython(Suite):
    """The tests of files in CPython's library, with the Python of a checkout, or with Debian's."""

    name = "cpython"
    sign = ("Lib/test/test_shutil.py", "test/test_shutil.py")
    MODULES = """test_bz2 test_dbm test_dbm_dumb test_dbm_gnu test_fcntl test_file test_filecmp test_fileinput test_fileio
        test_glob test_gzip test_io test_largefile test_lzma test_mailbox test_memoryio test_mmap test_os test_pathlib
        test_posix test_posixpath test_shelve test_shutil test_sqlite3 test_stat test_tarfile test_tempfile test_univnewlines
        test_zipapp test_zipfile""".split()

    def build(self):
        self.python = "/usr/bin/python3"
        if (self.origin / "Lib").is_dir():
            self.copy()
            self.python = self.folder / "python"
            if not self.python.exists():
                self.make("./configure")
                self.make("make", f"-j{JOBS}")

    def run(self, place, wanted):
        found = {}
        for module in self.MODULES:
            if not is_wanted(module, wanted):
                continue
            code, text = output_of([self.python, "-m", "test", "-v", "--tempdir", place.path, module], place.path,
                                   TMPDIR=str(place.path), PYTHONDONTWRITEBYTECODE="1")
            results = self.outcomes(text)
            found |= results or {module: SKIPPED if code in (0, 4) or "skipped" in text else FAILED}
        return found

    @staticmethod
    def outcomes(text):
        found, test = {}, None
        words = {"ok": OK, "FAIL": FAILED, "ERROR": FAILED, "skipped": SKIPPED, "expected": OK, "unexpected": FAILED}
        for line in text.splitlines():
            if match := re.match(r"^test\w* \((?:test\.)?([\w.]+)\)", line):
                test = match[1]
            if test and (match := re.search(r"\.\.\. (ok|FAIL|ERROR|skipped|expected|unexpected)\b", line)):
                found[test] = words[match[1]]
        return found


class Xfstests(Suite):
    """The group `quick` of xfstests.  It mounts its filesystems itself, by a helper of
    mount(8) that scripts/suites puts into the /usr/sbin of its processes."""

    name = "xfstests"
    sign = ("tests/generic/001",)
    places = ("frames", "plain", "ext4")

    def build(self):
        self.copy()
        # It compares the type that df(1) shows with FSTYP, and knows but two types that begin with
        # fuse.
        common = self.folder / "common/rc"
        text = common.read_text()
        if "fuse.framefs" not in text:
            common.write_text(text.replace("'s/nfs4/nfs/'", "'s/nfs4/nfs/' -e 's/fuse.framefs/fuse/'"))
        if not (self.folder / "ltp/fsstress").exists():
            self.make("make", f"-j{JOBS}")

    def run(self, place, wanted):
        names = [f"generic/{path.name}" for path in sorted((self.folder / "tests/generic").glob("[0-9][0-9][0-9]"))]
        chosen = [name for name in names if is_wanted(name, wanted)] if wanted else ["-g", "quick"]
        folder = place.scratch / f"xfstests-{place.name}"
        with contextlib.ExitStack() as stack:
            kind = self.on_disks(folder, stack) if place.name == "ext4" else self.on_framefs(place)
            directories = {"TEST_DIR": folder / "test", "SCRATCH_MNT": folder / "scratch"}
            for directory in directories.values():
                directory.mkdir(parents=True, exist_ok=True)
            code, text = output_of(["./check", *chosen], self.folder, deadline=8 * DEADLINE_S, **kind,
                                   RESULT_BASE=str(self.logs / place.name), **{name: str(path) for name, path in directories.items()})
            for directory in directories.values():
                subprocess.run(["umount", directory], capture_output=True)
        found = self.outcomes(text)
        if not found:
            raise RuntimeError(f"xfstests: exit code {code}\n{text[-2000:]}")
        return found

    @staticmethod
    def outcomes(text):
        found = {}
        for name, rest in re.findall(r"^(generic/\d+)\s(.*)$", text, re.M):
            found[name] = SKIPPED if "[not run]" in rest else FAILED if re.search(r"\[failed|mismatch", rest) else OK
        # The last lines know more; they are not there after the deadline.
        for line in re.findall(r"^Failures: (.*)$", text, re.M):
            found |= dict.fromkeys(line.split(), FAILED)
        return found

    @staticmethod
    def on_framefs(place):
        options = "-oallow_other,devices" + (",plain=*" if place.name == "plain" else "")
        devices = {"TEST_DEV": "xfstests-test", "SCRATCH_DEV": "xfstests-scratch"}
        for source in devices.values():
            (place.disk / source).mkdir()
        return {"FSTYP": "fuse", "FUSE_SUBTYP": ".framefs", "FRAMEFS_SOURCES": str(place.disk), **devices,
                "MOUNT_OPTIONS": options, "TEST_FS_MOUNT_OPTS": options}

    def on_disks(self, folder, stack):
        folder.mkdir()
        devices = []
        for name in ("test", "scratch"):
            image = folder / f"{name}.img"
            with open(image, "wb") as file:
                file.truncate(4 << 30)
            self.make("mkfs.ext4", "-q", "-F", image)
            _, device = output_of(["losetup", "--find", "--show", image], folder)
            devices.append(device.strip())
            stack.callback(output_of, ["losetup", "--detach", devices[-1]], folder)
        return {"FSTYP": "ext4", "TEST_DEV": devices[0], "SCRATCH_DEV": devices[1]}


SUITES = (Pjdfstest, Git, TestSyscalls, Ltp, CPython, Xfstests)


def suite_in(folder, work):
    folder = pathlib.Path(folder).resolve()
    for kind in SUITES:
        if kind.is_in(folder):
            return kind(folder, work)
    raise RuntimeError(f"{folder}: no checkout of {', '.join(kind.name for kind in SUITES)}")
