"""A sample of scripts/model: after any operations, a file in a mount equals a plain file."""

import concurrent.futures
import random
import unittest

import daemon
import model_runs
from case import MountCase

SEED = random.randrange(1 << 30)
OPERATIONS = 300 if daemon.SANITIZED else 1500
MOUNTS = 2
AT_A_TIME = 4  # they wait for the disk most of the time


class Model(MountCase):
    def test_random_operations(self):
        self.run_settings([setting for setting in model_runs.SETTINGS if setting.mounts == 1], OPERATIONS)

    def test_two_mounts_in_turn(self):
        self.run_settings([setting for setting in model_runs.SETTINGS if setting.mounts > 1], OPERATIONS // 3)

    def run_settings(self, settings, operations):
        print(f"seed {SEED}", flush=True)

        def run(number, setting):
            folder = self.folder / f"setting-{number}"
            folder.mkdir()
            model = model_runs.ModelRun(setting, folder)
            for mount in range(MOUNTS):
                model.one_mount(SEED + mount, operations)

        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            runs = [pool.submit(run, number, setting) for number, setting in enumerate(settings)]
        for setting, done in zip(settings, runs):
            with self.subTest(setting.name, seed=SEED):
                done.result()


if __name__ == "__main__":
    unittest.main()
