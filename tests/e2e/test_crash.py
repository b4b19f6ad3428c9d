"""A sample of scripts/crash: a crash of the daemon or of its machine leaves every frame in a valid
state."""

import random
import subprocess
import unittest

import crash_runs
import daemon
from case import MountCase

SEED = random.randrange(1 << 30)
KILLS = 3


@unittest.skipIf(daemon.SANITIZED, "a sanitizer wants to be the first library of a process")
class Replay(MountCase):
    def replay(self, name):
        plan = next(plan for plan in crash_runs.PLANS if plan.name == name)
        print(f"seed {SEED}", flush=True)
        folder = self.folder / "replay"
        folder.mkdir()
        print(crash_runs.replay(plan, folder, SEED, operations=300, cuts=60))

    def test_contiguous_frames(self):
        self.replay("frames that were there")

    def test_a_frame_with_a_long_index(self):
        self.replay("a long index")

    def test_new_frames(self):
        self.replay("new files")

    def test_many_frames(self):
        self.replay("many small files")

    def test_sparse_frames(self):
        self.replay("sparse frames")

    def test_files_renamed_over_others(self):
        self.replay("files renamed over others")

    def test_two_mounts(self):
        self.replay("two mounts")

    def test_compacted_beside_the_mount(self):
        self.replay("compacted beside the mount")

    def test_plain_files_show_that_the_replay_can_fail(self):
        """A folder without framefs: losing the last changes leaves old states, but torn writes do
        not."""
        plain, initial, log = (self.folder / name for name in ("plain", "initial", "record.log"))
        plain.mkdir()
        initial.mkdir()
        subprocess.run([crash_runs.PROGRAMS / "framefs_crash_workload", plain, log, "--no-xattrs",
                        "--seed", str(SEED)], check=True, stdout=subprocess.DEVNULL,
                       env={"LD_PRELOAD": str(crash_runs.RECORDER), "FRAMEFS_RECORD_SOURCE": str(plain),
                            "FRAMEFS_RECORD_LOG": str(log)})
        replay = [crash_runs.PROGRAMS / "framefs_crash_replay", log, initial, "--cuts", "100",
                  "--seed", str(SEED)]
        crash_runs.check([*replay, "--final", plain, "--losses", "nothing,all,ends"])
        torn = self.tool(*replay, "--losses", "sectors", check=False)
        self.assertIn(b"it never had", torn.stderr)
        log.write_bytes(log.read_bytes()[:-1])
        self.assertIn(b"no whole log", self.tool(*replay, check=False).stderr)


class Killed(MountCase):
    def test_killed_daemons(self):
        for plan in crash_runs.PLANS:
            with self.subTest(plan.name, seed=SEED):
                folder = self.folder / plan.name.replace(" ", "-").replace(",", "")
                folder.mkdir()
                kills = crash_runs.Kills(plan, folder, SEED)
                for _ in range(KILLS):
                    kills.kill_once()


if __name__ == "__main__":
    unittest.main()
