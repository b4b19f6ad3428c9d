"""Runs framefs_link_proxy: a link with latency, a bandwidth and faults in front of a web server."""

import json
import subprocess
import time
from typing import NamedTuple

DEADLINE_S = 120


class Request(NamedTuple):
    """A line of the ledger.  The times are in seconds, at the client's end of the link."""
    method: str
    target: str
    range: str
    status: int
    bytes: int
    begin: float
    first: float | None
    end: float


class LinkProxy:
    def __init__(self, program, server_port):
        self._process = subprocess.Popen([program, str(server_port)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._process.stdin.close()
        self._process.wait(DEADLINE_S)
        self._process.stdout.close()

    def _command(self, *words):
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def _order(self, *words):
        answer = self._command(*words)
        if answer != "ok":
            raise ValueError(f"{words}: {answer}")

    def set_latency(self, ms):
        """The round trip of the link."""
        self._order("rtt", ms)

    def set_rate(self, bytes_per_second):
        """0 for no limit."""
        self._order("rate", bytes_per_second)

    def set_fault(self, kind="none", every=0, value=0):
        """See link_proxy.cc for the kinds."""
        self._order("fault", kind, every, value)

    def disconnect(self):
        self._order("gone")

    def reconnect(self):
        self._order("back")

    def requests(self):
        """The requests since the last call, once all of them have ended."""
        ended = []
        deadline = time.monotonic() + DEADLINE_S
        while True:
            ledger = json.loads(self._command("ledger"))
            ended += [Request(**line) for line in ledger if line["end"] is not None]
            if all(line["end"] is not None for line in ledger):
                return sorted(ended, key=lambda request: request.begin)
            if time.monotonic() > deadline:
                raise TimeoutError("a request is under way")
            time.sleep(0.005)


def most_in_flight(requests):
    """The largest number of requests that were under way together."""
    changes = sorted([(r.begin, 1) for r in requests] + [(r.end, -1) for r in requests])
    most = count = 0
    for _, change in changes:
        count += change
        most = max(most, count)
    return most


def round_trips(requests):
    """How often a request began after the answer to another one of `requests`, plus one."""
    trips, known = 0, None
    for request in sorted(requests, key=lambda r: r.begin):
        if known is None or request.begin >= known:
            trips += 1
            known = request.end
        else:
            known = min(known, request.end)
    return trips
