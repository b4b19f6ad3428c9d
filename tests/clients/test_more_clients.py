"""Programs and libraries that are large to install: the same work in a mount and in a plain folder.

scripts/clients installs them and runs these tests.
"""

import contextlib
import filecmp
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import unittest

import numpy
import pandas
import xarray
import zarr

import daemon
import data
from case import MountCase

HERE = pathlib.Path(__file__).resolve().parent


def files_below(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


class MoreClients(MountCase):
    def setUp(self):
        self.plain = self.folder / "plain"
        self.plain.mkdir()

    def assert_same_files(self, mounted):
        """Checks that a mount has the files of the plain folder, with the same bytes."""
        names = files_below(self.plain)
        self.assertEqual(files_below(mounted), names)
        self.assertNotEqual(names, [])
        for name in names:
            self.assertTrue(filecmp.cmp(self.plain / name, mounted / name, shallow=False), name)

    def work_on_both(self, work):
        """Runs work(folder) in a plain folder and in a mount, and compares all files, before and
        after a remount.  The work must not depend on times or random numbers."""
        work(self.plain)
        with self.mount() as mount:
            work(mount.path())
            self.assert_same_files(mount.path())
        with self.mount("--ro") as mount:
            self.assert_same_files(mount.path())

    def test_zarr(self):
        walk = data.random_walk(250_000)
        values = numpy.frombuffer(walk, dtype="<f4").reshape(500, 500)

        def work(folder):
            array = zarr.open(str(folder / "field.zarr"), mode="w", shape=values.shape, chunks=(70, 90), dtype="<f4")
            array[:] = values
            array[100:300:3, 7:11] = -1
            array.append(values[:37])
            array.attrs["unit"] = "metre"
            again = zarr.open(str(folder / "field.zarr"), mode="r+")
            again.resize(510, 500)
            group = zarr.open_group(str(folder / "group.zarr"), mode="w")
            group.create_dataset("a/b", data=values[:50], chunks=(10, 500))
            zarr.consolidate_metadata(str(folder / "group.zarr"))
            read = zarr.open(str(folder / "field.zarr"), mode="r")
            self.assertEqual(read.shape, (510, 500))
            numpy.testing.assert_array_equal(read[301:500], values[301:])
            numpy.testing.assert_array_equal(read[500:510], values[:10])

        self.work_on_both(work)

    def test_xarray(self):
        rng = numpy.random.default_rng(5)
        dataset = xarray.Dataset(
            {"t": (("time", "x", "y"), rng.normal(size=(20, 60, 70)).astype("<f4"), {"unit": "kelvin"}),
             "n": (("x",), numpy.arange(60, dtype="<i4"))},
            coords={"time": numpy.arange(20, dtype="<i4")})

        def work(folder):
            dataset.to_netcdf(folder / "run.nc", engine="scipy")
            dataset.to_zarr(str(folder / "run.zarr"))
            with xarray.open_dataset(folder / "run.nc", engine="scipy") as read:
                xarray.testing.assert_identical(read.load(), dataset)
                numpy.testing.assert_array_equal(read.t.mean("time"), dataset.t.mean("time"))
            more = dataset.assign_coords(time=dataset.time + 20)
            more.to_zarr(str(folder / "run.zarr"), append_dim="time")
            with xarray.open_zarr(str(folder / "run.zarr"), chunks=None) as read:
                self.assertEqual(read.sizes["time"], 40)
                numpy.testing.assert_array_equal(read.t[31], dataset.t[11])

        self.work_on_both(work)

    def test_pandas(self):
        rng = numpy.random.default_rng(6)
        table = pandas.DataFrame({"x": rng.normal(size=30_000), "name": [f"row {i % 97}" for i in range(30_000)],
                                  "when": pandas.date_range("2024-01-01", periods=30_000, freq="min")})

        def work(folder):
            table.to_csv(folder / "table.csv", index=False)
            table.to_json(folder / "table.json", orient="records", lines=True)
            table.to_pickle(folder / "table.pickle")
            read = pandas.read_csv(folder / "table.csv", parse_dates=["when"])
            pandas.testing.assert_frame_equal(read, table)
            parts = pandas.read_csv(folder / "table.csv", chunksize=1000)
            self.assertEqual(sum(part.name.nunique() for part in parts), 97 * 30)
            table.tail(10).to_csv(folder / "table.csv", index=False, header=False, mode="a")
            pandas.testing.assert_frame_equal(pandas.read_pickle(folder / "table.pickle"), table)

        self.work_on_both(work)

    def test_duckdb_and_parquet(self):
        modules = os.environ.get("FRAMEFS_NODE_MODULES")
        if not modules:
            self.skipTest("DuckDB is installed by npm, and there is no npm")
        program = shutil.copy(HERE / "duckdb_client.cjs", self.folder)

        def work(folder):
            result = self.tool("env", f"NODE_PATH={modules}", "node", program, folder)
            return json.loads(result.stdout)

        wanted = work(self.plain)
        with self.mount() as mount:
            self.assertEqual(work(mount.path()), wanted)
            self.assertEqual(files_below(mount.path()), files_below(self.plain))
            # A database has random numbers in it, but what it exports has not.
            for name in ("table.parquet", "table.csv"):
                self.assertTrue(filecmp.cmp(self.plain / name, mount.path(name), shallow=False), name)

    def test_ffmpeg(self):
        quiet = ("ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-fflags", "+bitexact")
        exact = ("-flags:v", "+bitexact", "-flags:a", "+bitexact", "-fflags", "+bitexact", "-threads", "1")

        def work(folder):
            self.tool(*quiet, "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=4",
                      "-f", "lavfi", "-i", "sine=frequency=440:duration=4",
                      "-c:v", "ffv1", "-c:a", "pcm_s16le", *exact, folder / "lossless.mkv")
            self.tool(*quiet, "-i", folder / "lossless.mkv", "-c:v", "rawvideo", "-an", *exact, folder / "raw.avi")
            # The muxer writes the file, and then moves all of its content to insert an index.
            self.tool(*quiet, "-i", folder / "raw.avi", "-c:v", "mpeg4", "-movflags", "+faststart", *exact,
                      folder / "film.mp4")
            self.tool(*quiet, "-ss", "2", "-i", folder / "film.mp4", "-f", "framemd5", folder / "film.md5")

        self.work_on_both(work)

    def test_samba(self):
        """A server that exports a mount: files are put, changed, renamed, listed and fetched."""
        if os.geteuid() != 0:
            self.skipTest("only root can start the server")
        text = data.text(30_000)
        (self.folder / "input").write_bytes(text)
        with self.mount("--allow-other") as mount, self.samba(mount.path()) as smb:
            smb("mkdir d; put input d/log; put input second; rename second d/third; del d/third")
            self.assertEqual(mount.path("d/log").read_bytes(), text)
            with open(mount.path("d/log"), "ab") as file:
                file.write(b"appended in the mount")
            smb("get d/log output")
            self.assert_same_bytes((self.folder / "output").read_bytes(), text + b"appended in the mount", "d/log")
            self.assertIn("log", smb("ls d/*").stdout.decode())
        with self.mount("--ro") as mount:
            self.assert_same_bytes(mount.path("d/log").read_bytes(), text + b"appended in the mount", "d/log")

    @contextlib.contextmanager
    def samba(self, shared):
        """A server of one folder; yields a function that runs commands of smbclient."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        state = self.folder / "samba"
        state.mkdir()
        folders = "".join(f"{name} = {state}\n" for name in (
            "private dir", "lock directory", "state directory", "cache directory", "pid directory", "ncalrpc dir"))
        config = state / "smb.conf"
        config.write_text(f"[global]\n{folders}smb ports = {port}\nbind interfaces only = yes\ninterfaces = lo\n"
                          "map to guest = Bad User\nguest account = root\ndisable spoolss = yes\n"
                          f"log file = {state}/log\nserver min protocol = SMB2\n"
                          f"[data]\npath = {shared}\nread only = no\nguest ok = yes\nforce user = {pwd.getpwuid(0).pw_name}\n")
        # The server ends all processes of its group.
        server = subprocess.Popen(["smbd", "--foreground", "--no-process-group", "--configfile", config],
                                  start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            daemon.wait_for(lambda: self.answers(port) or server.poll() is not None, "smbd")
            self.assertIsNone(server.poll(), "smbd has ended")
            yield lambda commands: self.tool("smbclient", "-N", "-p", str(port), "//127.0.0.1/data", "-c", commands)
        finally:
            server.terminate()
            server.wait(daemon.DEADLINE_S)

    @staticmethod
    def answers(port):
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False


if __name__ == "__main__":
    unittest.main()
