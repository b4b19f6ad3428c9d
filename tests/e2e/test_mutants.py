"""A sample of scripts/mutants: a mount shows damaged frames without harm."""

import random
import unittest

import fixtures
import mutant_runs
from case import MountCase

SEED = random.randrange(1 << 30)
MUTANTS = 1000


class Mutants(MountCase):
    def test_damaged_frames(self):
        print(f"seed {SEED}", flush=True)
        folder = self.folder / "run"
        folder.mkdir()
        with mutant_runs.MutantRun(fixtures.FIXTURES, folder, random.Random(SEED)) as run:
            run.run(MUTANTS)
        self.assertGreater(run.edited, 0)


if __name__ == "__main__":
    unittest.main()
