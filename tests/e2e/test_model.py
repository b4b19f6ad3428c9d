"""A sample of scripts/model: after any operations, a file in a mount equals a plain file."""

import random
import unittest

import daemon
import model_runs
from case import MountCase

SEED = random.randrange(1 << 30)
OPERATIONS = 300 if daemon.SANITIZED else 1500
MOUNTS = 2


class Model(MountCase):
    def test_random_operations(self):
        self.run_settings([setting for setting in model_runs.SETTINGS if setting.mounts == 1], OPERATIONS)

    def test_two_mounts_in_turn(self):
        self.run_settings([setting for setting in model_runs.SETTINGS if setting.mounts > 1], OPERATIONS // 3)

    def run_settings(self, settings, operations):
        print(f"seed {SEED}", flush=True)
        for number, setting in enumerate(settings):
            with self.subTest(setting.name, seed=SEED):
                folder = self.folder / f"setting-{number}"
                folder.mkdir()
                run = model_runs.ModelRun(setting, folder)
                for mount in range(MOUNTS):
                    run.one_mount(SEED + mount, operations)


if __name__ == "__main__":
    unittest.main()
