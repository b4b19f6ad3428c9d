"""Programs that keep their files in a mount: copies, a database, backups, rotated logs.

scripts/clients installs them and runs these tests.
"""

import contextlib
import gzip
import os
import pathlib
import pwd
import random
import shutil
import unittest

import data
from case import MountCase

ROWS = 20_000


def make_tree(folder, seed):
    """A tree of files, links and directories, with sizes, times and rights of all kinds."""
    rng = random.Random(seed)
    for number in range(120):
        path = folder / f"d{number % 7}" / f"e{number % 3}" / f"file-{number}.{rng.choice(('txt', 'bin', 'npy.gz'))}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.text(rng.choice((0, 1, 700, 30_000, 400_000))) if number % 2 else
                         rng.randbytes(rng.randrange(50_000)))
        path.chmod(rng.choice((0o600, 0o644, 0o755, 0o440)))
        os.utime(path, ns=(rng.randrange(10**18), rng.randrange(10**18)))
    os.symlink("d0/e0", folder / "link")
    os.symlink("nowhere", folder / "dangling")
    os.link(next(path for path in sorted((folder / "d1").rglob("*")) if path.is_file()), folder / "second name")
    (folder / "empty").mkdir(mode=0o700)


class DailyClients(MountCase):
    def assert_same_trees(self, wanted, found):
        differences = self.tool("rsync", "-aHXOn", "--checksum", "--delete", "--itemize-changes", f"{wanted}/",
                                f"{found}/")
        self.assertEqual(differences.stdout, b"")

    def test_rsync_there_and_back_twice(self):
        """The second run finds nothing to do, in both directions, also after a remount."""
        origin, back = self.folder / "origin", self.folder / "back"
        origin.mkdir()
        make_tree(origin, 1)

        def copy(source, target):
            return self.tool("rsync", "-aHX", "--delete", "--itemize-changes", f"{source}/", f"{target}/").stdout

        with self.mount() as mount:
            self.assertNotEqual(copy(origin, mount.path("copy")), b"")
            self.assertNotEqual(copy(mount.path("copy"), back), b"")
            self.assertEqual(copy(origin, mount.path("copy")), b"")
            self.assertEqual(copy(mount.path("copy"), back), b"")
        with self.mount() as mount:
            self.assertEqual(copy(origin, mount.path("copy")), b"")
            self.assertEqual(copy(mount.path("copy"), back), b"")
            (origin / "d2/e2/new").write_bytes(data.text(5000))
            shutil.rmtree(origin / "d3")
            with open(sorted((origin / "d4").rglob("*.txt"))[0], "ab") as file:
                file.write(b"a line that was appended\n")
            copy(origin, mount.path("copy"))
            copy(mount.path("copy"), back)
            self.assertEqual(copy(origin, back), b"")
        self.assert_same_trees(origin, back)

    def test_postgresql(self):
        """A database that ends at once has every row of a transaction that was committed."""
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        if not programs or os.geteuid() != 0:
            self.skipTest("needs PostgreSQL, and root to start it as its own user")
        user = pwd.getpwnam("postgres")
        self.folder.chmod(0o755)
        sockets = self.folder / "sockets"
        sockets.mkdir()
        os.chown(sockets, user.pw_uid, user.pw_gid)

        def run(program, *arguments):
            return self.tool("setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "env",
                             f"PGHOST={sockets}", "PGDATABASE=postgres", "LC_ALL=C", programs[-1] / program,
                             *arguments, cwd="/")

        def query(text):
            return run("psql", "-qAtc", text).stdout.decode().strip()

        @contextlib.contextmanager
        def server(cluster, end):
            control = ("pg_ctl", "-D", cluster, "-w", "-s", "-l", sockets / "log")
            run(*control, "-o", f"-k {sockets} -c listen_addresses=''", "start")
            try:
                yield
            finally:
                run(*control, "-m", end, "stop")

        with self.mount("--allow-other") as mount:
            cluster = mount.path("cluster")
            cluster.mkdir(mode=0o700)
            os.chown(cluster, user.pw_uid, user.pw_gid)
            run("initdb", "-D", cluster, "--data-checksums", "--no-instructions")
            # A server that ends at once leaves its journal alone.
            with server(cluster, "immediate"):
                query(f"CREATE TABLE t AS SELECT n, md5(n::text) AS sum FROM generate_series(1, {ROWS}) n")
                query("CREATE INDEX ON t (sum)")
                run("pgbench", "--initialize", "--quiet", "--scale", "1")
                run("pgbench", "--client", "2", "--transactions", "200", "--no-vacuum")
            with server(cluster, "fast"):
                self.assertEqual(query("SELECT count(*) FROM pgbench_history"), "400")
                self.assertEqual(query("SELECT sum(delta) FROM pgbench_history"),
                                 query("SELECT sum(abalance) FROM pgbench_accounts"))
                query("VACUUM FULL t")
                query("CHECKPOINT")
        with self.mount("--allow-other") as mount:
            cluster = mount.path("cluster")
            run("pg_checksums", "--check", "-D", cluster)
            with server(cluster, "fast"):
                self.assertEqual(query("SELECT count(*), bool_and(sum = md5(n::text)) FROM t"), f"{ROWS}|t")
                run("pg_amcheck", "--install-missing", "--heapallindexed", "postgres")

    def test_borg(self):
        """A repository of backups: archives are made, pruned, compacted, verified and extracted."""
        origin = self.folder / "origin"
        origin.mkdir()
        make_tree(origin, 2)

        def borg(*arguments, cwd=origin):
            return self.tool("env", f"HOME={self.folder}", "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes",
                             "BORG_RELOCATED_REPO_ACCESS_IS_OK=yes", "borg", *arguments, cwd=cwd)

        with self.mount() as mount:
            repository = mount.path("backups")
            borg("init", "--encryption", "none", repository)
            for number in range(4):
                (origin / f"new-{number}").write_bytes(random.Random(number).randbytes(200_000))
                borg("create", f"{repository}::archive-{number}", ".")
            borg("prune", "--keep-last", "2", repository)
            borg("compact", repository)
            borg("check", "--verify-data", repository)
        with self.mount() as mount:
            borg("check", "--verify-data", mount.path("backups"))
            extracted = self.folder / "extracted"
            extracted.mkdir()
            borg("extract", f"{mount.path('backups')}::archive-3", cwd=extracted)
        self.assert_same_trees(origin, extracted)

    def test_logrotate(self):
        """Logs that are renamed, or copied and truncated, beside a program that appends."""
        config = self.folder / "logrotate.conf"
        with self.mount() as mount:
            mount.path("logs").mkdir()
            common = "rotate 9" + ("\n  su root root" if os.geteuid() == 0 else "")
            ways = {"moved": "create 0640\n  compress\n  delaycompress", "copied": "copytruncate"}
            config.write_text("".join(f"{mount.path('logs', name)} {{\n  {common}\n  {way}\n}}\n"
                                      for name, way in ways.items()))
            config.chmod(0o644)
            state = self.folder / "state"
            written = dict.fromkeys(ways, b"")
            with open(mount.path("logs/copied"), "ab", buffering=0) as copied:
                for turn in range(5):
                    for line in range(400):
                        text = f"turn {turn} line {line}: {'x' * (line % 90)}\n".encode()
                        copied.write(text)
                        with open(mount.path("logs/moved"), "ab") as moved:
                            moved.write(text)
                        for name in written:
                            written[name] += text
                    self.tool("logrotate", "--force", "--state", state, config)
            self.assert_rotated(mount.path("logs"), written)
        with self.mount("--ro") as mount:
            self.assert_rotated(mount.path("logs"), written)

    def assert_rotated(self, folder, written):
        for name, text in written.items():
            parts = sorted((path for path in folder.iterdir() if path.name.startswith(f"{name}.")),
                           key=lambda path: -int(path.name.split(".")[1]))
            self.assertEqual(len(parts), 5, parts)
            found = b"".join(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
                             for path in parts)
            self.assertEqual(found + (folder / name).read_bytes(), text, name)


if __name__ == "__main__":
    unittest.main()
