"""Plain test data, the same in every run."""

import numpy


def random_walk(items, dtype=numpy.float32, seed=1):
    """Data like a sensor's: neighbours are similar, low bits are noisy."""
    steps = numpy.random.default_rng(seed).standard_normal(items)
    return numpy.cumsum(steps).round(3).astype(dtype).tobytes()


def text(lines, seed=2):
    """A log: words repeat, numbers do not."""
    rng = numpy.random.default_rng(seed)
    words = ["alpha", "bravo", "charlie", "needle", "delta", "echo"]
    picks = rng.integers(0, len(words), size=(lines, 3))
    numbers = rng.integers(0, 1_000_000, size=lines)
    rows = (f"{i:08d} {words[a]} {words[b]} value={n} {words[c]}\n"
            for i, ((a, b, c), n) in enumerate(zip(picks, numbers)))
    return "".join(rows).encode()


def noise(size, seed=3):
    """Data that no codec can compress."""
    return numpy.random.default_rng(seed).bytes(size)


def sparse(size, seed=4):
    """Long runs of zeros with islands of data, so that whole chunks are zeros."""
    rng = numpy.random.default_rng(seed)
    out = bytearray(size)
    for start in rng.integers(0, max(size - 1000, 1), size=5):
        out[start:start + 1000] = rng.bytes(min(1000, size - start))
    return bytes(out)
