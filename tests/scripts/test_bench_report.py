"""Tests of scripts/bench --readme: the text that it writes to the documents, and the chart."""

import pathlib
import shutil
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))

import disciplines as d
import peer_mounts
import peer_reading
import peer_report
import peer_writing
import peers
import remote_keys
import remote_report
import remote_slices
import report

RESULTS = "tests/bench/RESULTS.md"
DOCUMENTS = ("README.md", RESULTS)


def figure(what, who, data, median):
    return {"what": what, "who": who, "data": data, "unit": "MB/s", "median": median, "least": median * 0.9,
            "most": median * 1.1, "cpu_unit": "s/GB", "cpu": 1.25, "system_cpu": 2.5}


MACHINE = {"machine": {"processors": 2, "processor": "Test CPU", "Linux": "6.0"}, "options": {"runs": 3, "size_mib": 64}}
RESULT = MACHINE | {
    "results": [figure(d.SEQUENTIAL, d.FRAMEFS, "float lz4 128K", 1234), figure(d.SEQUENTIAL, "squashfs", "float lz4", 567),
                figure(d.SEQUENTIAL, d.FRAMEFS, "text zstd 128K", 345), figure(d.WARM, d.PLAIN, "float", 8901)],
    "goals": [{"what": "a goal", "wanted": ">= 1", "measured": "2", "met": True}],
}


def beside_peers():
    """A document of scripts/bench --peers."""
    rows = [figure(what, who, data, median) | {"command": f"program {what}"} for what, who, data, median in (
        (peer_reading.SEQUENTIAL, "framefs", "float lz4", 1200), (peer_reading.SEQUENTIAL, "squashfs", "float lz4", 600),
        (peer_reading.SEQUENTIAL, "framefs", "text zstd", 300), (peer_reading.SEQUENTIAL, "squashfs", "text zstd", 200),
        (peer_reading.SEQUENTIAL, "ext4", "", 2400),
        (peer_writing.SMALL_FILES, "framefs", "", 40), (peer_writing.SMALL_FILES, "ext4", "", 160))]
    peers.add_ratios(rows)
    return MACHINE | {"results": rows, "scale": {}, "goals": []}


class Documents(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="framefs-report-"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "tests/bench").mkdir(parents=True)
        for name in DOCUMENTS:
            shutil.copy(ROOT / name, self.root / name)

    def parts(self, root, name, mark):
        begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
        before, _, rest = (root / name).read_text().partition(begin)
        measured, _, after = rest.partition(end)
        self.assertTrue(after, name)
        return before, measured, after

    def measured(self, name, mark):
        """The text between the marks; all else is as before."""
        (before, measured, after), (old_before, _, old_after) = (self.parts(root, name, mark)
                                                                 for root in (self.root, ROOT))
        self.assertEqual((before, after), (old_before, old_after), name)
        for line in measured.splitlines():
            if line.startswith("|"):
                self.assertTrue(line.endswith("|"), line)
        return measured


class Report(Documents):
    def test_the_results_have_every_figure_and_goal(self):
        report.put_into_documents(self.root, RESULT)
        measured = self.measured(RESULTS, report.MARK)
        for row in RESULT["results"]:
            self.assertIn(f"| {row['what']} (MB/s) | {row['who']} | {row['data']} | {row['median']} |", measured)
        self.assertIn("| cold, sequential (MB/s) | float lz4 | 1234 | 567 |", measured)
        self.assertIn("2 x Test CPU, Linux 6.0, 64 MiB", measured)
        self.assertIn("| float lz4 | - | 8901 |", measured)
        self.assertIn("| a goal | >= 1 | 2 | yes |", measured)

    def test_a_second_run_replaces_the_first(self):
        report.put_into_documents(self.root, RESULT)
        once = (self.root / RESULTS).read_text()
        report.put_into_documents(self.root, RESULT)
        self.assertEqual((self.root / RESULTS).read_text(), once)

    def test_a_document_without_marks_is_an_error(self):
        (self.root / RESULTS).write_text("no marks")
        with self.assertRaisesRegex(RuntimeError, "measured: begin"):
            report.put_into_documents(self.root, RESULT)
        self.assertEqual((self.root / RESULTS).read_text(), "no marks")


class Peers(Documents):
    def test_a_ratio_is_with_a_peer_that_did_the_same_with_the_same_data_or_with_plain_bytes(self):
        ratios = {(row["what"], row["data"]): row["ratios"] for row in beside_peers()["results"] if "ratios" in row}
        self.assertEqual(ratios, {(peer_reading.SEQUENTIAL, "float lz4"): {"squashfs": 2, "ext4": 0.5},
                                  (peer_reading.SEQUENTIAL, "text zstd"): {"squashfs": 1.5, "ext4": 0.125},
                                  (peer_writing.SMALL_FILES, ""): {"ext4": 0.25}})

    def test_both_documents_get_the_comparison_and_a_link_to_the_chart(self):
        peer_report.put_into_documents(self.root, beside_peers())
        for name in DOCUMENTS:
            measured = self.measured(name, peer_report.MARK)
            self.assertIn("| read, sequential (MB/s) | float lz4 | 1,200 | - | 600 | - | - | 2,400 | - |", measured, name)
            self.assertIn("2 x Test CPU, Linux 6.0, 64 MiB", measured)
            (link,) = [part.partition(")")[0] for part in measured.split("](")[1:]]
            self.assertTrue(((self.root / name).parent / link).is_file(), link)
        self.assertLessEqual(len((self.root / "README.md").read_text().splitlines()), 150)

    def test_the_results_have_every_row_with_its_peers_and_commands(self):
        peer_report.put_into_documents(self.root, beside_peers())
        measured = self.measured(RESULTS, peer_report.MARK)
        self.assertIn("| text zstd | framefs | 300 | 270 - 330 | squashfs 200 (180 - 220) 1.50, "
                      "ext4 2,400 (2,160 - 2,640) 0.12 |", measured)
        self.assertIn(f"| {peer_writing.SMALL_FILES} | `program {peer_writing.SMALL_FILES}` |", measured)

    def test_the_text_shows_each_peer_below_framefs(self):
        text = peer_report.as_text(beside_peers()).splitlines()
        at = next(i for i, line in enumerate(text) if line.startswith(f"{peer_reading.SEQUENTIAL} (MB/s): program"))
        self.assertEqual([line.split() for line in text[at + 1:at + 4]],
                         [["float", "lz4", "framefs", "1,200", "1,080", "-", "1,320"],
                          ["squashfs", "600", "540", "-", "660", "2.00"], ["ext4", "2,400", "2,160", "-", "2,640", "0.50"]])

    def test_the_chart_has_a_bar_for_each_peer_and_colours_for_dark_pages(self):
        text = peer_report.as_svg(beside_peers())
        bars = xml.etree.ElementTree.fromstring(text).findall("{http://www.w3.org/2000/svg}rect")
        self.assertEqual([bar.get("class") for bar in bars], ["framefs", "peer", "peer", "framefs", "peer"])
        widths = [float(bar.get("width")) for bar in bars]
        self.assertEqual(widths[2], widths[4])  # the longest bar of each group is as long
        self.assertGreater(widths[0], widths[1])
        self.assertIn("prefers-color-scheme: dark", text)

    def test_many_readers_must_be_as_fast_as_two(self):
        rows = [figure(peer_reading.one_file(readers), peer_mounts.FRAMEFS, "float lz4", median)
                for readers, median in ((2, 100), (8, 99), (64, 100))]
        self.assertEqual([(goal.measured, goal.met) for goal in peers.goals(rows)], [("0.99", False), ("1.00", True)])


def at_latency(latency_ms):
    """The figures of scripts/bench --remote for one latency.  framefs misses some goals."""
    own, full = remote_report.FRAMEFS, remote_report.OVER_FULL
    kind = {"requests": 1, "mean_requests": 1, "one_round_trip": 1, "at_most_two": 1, "bytes": 1, "most_bytes": 1,
            "median_ms": 12.3}
    random_row = {"data": "float lz4", "open_ms": 1, "first_ms": 60, "later_ms": 50, "again_ms": 0.3, "requests": 130,
                  "mb": 5, "needed_mb": 4}
    slice_row = {"what": "row", "open_ms": 20, "ms": 30, "client_ms": 29, "times": 1.03, "requests": 4,
                 "round_trips": 2, "mb": 1, "needed_mb": 0.5, "bytes": 2, "most_bytes": 2.5}
    rate = {"requests": 77, "fetched": 1, "memory_mib": 200, "cpu_s": {own: 1, remote_report.CLIENT: 0.9}}
    key = {"what": "stat", "requests": 4, "ms": 21.2, "kb": 3.4, "resident_mib": 20}
    return {
        "latency_ms": latency_ms,
        "rates": [rate | {"what": remote_report.SEQUENTIAL, "data": "float lz4",
                          "mb_s": {own: 500, remote_report.CLIENT: 500, full: 450}},
                  rate | {"what": remote_report.TOGETHER, "data": "float zstd",
                          "mb_s": {own: 432, remote_report.CLIENT: 500}}],
        "random": [{"who": own, "data": "float lz4", "open_requests": 1, "bytes_before": 70_000, "first": kind,
                    "later": kind, "again": kind}],
        "random_beside": [random_row | {"who": own, "all_s": 2}, random_row | {"who": full, "all_s": 6}],
        "slices": [slice_row | {"who": own, "both_ms": 50}, slice_row | {"who": full, "both_ms": 100, "times": 9}],
        "listing": {"cold_s": 1.5, "warm_s": 0.1, "requests": 10_001, "in_flight": 63, "again": 1},
        "lookups": [key | {"keys": count, "kind": kind, "who": who, "round_trips": trips}
                    for count, kind, who, trips in (
                        (1000, remote_keys.FRAME, own, 2), (2000, remote_keys.FRAME, own, 3),
                        (2000, remote_keys.FRAME, "s3fs", 7), (2000, remote_keys.OTHER_FILE, own, 1))],
        "walk": [{"who": who, "names": 1001, "s": 2.3, "client_s": 2.1, "requests": 1001, "mb": 3.4, "resident_mib": mib}
                 for who, mib in ((own, 240), ("rclone", 900))],
        "restart_bytes": 0,
    }


class Remote(unittest.TestCase):
    def judged(self, figures):
        return {goal.what: (goal.measured, goal.met) for goal in remote_report.RemoteGoals(figures).judge()}

    def test_the_worst_row_of_framefs_decides(self):
        goals = self.judged(at_latency(10))
        self.assertEqual({what: measured for what, (measured, met) in goals.items() if not met}, {
            "4 KiB, again: requests": "1 (float lz4)",
            "slice: bytes, times those needed": "2 (row)",
            "ls -l of 10,000 frames: requests in flight": "63",
            "stat of one key, frame: round trips": "3 (stat among 2,000)"})
        self.assertEqual(goals["slice: time, times that of a bare client"], ("1.03 (row)", True))
        self.assertEqual(goals["find among 1,000,000 keys: memory, MiB"], ("240", True))

    def test_on_a_slow_link_framefs_must_be_faster_than_rclone(self):
        new = self.judged(at_latency(50)).items() - self.judged(at_latency(10)).items()
        over = remote_report.OVER_FULL
        self.assertEqual(dict(new), {f"sequential: times the rate of {over}": ("1.11 (float lz4)", False),
                                     f"4 KiB, all: times as fast as {over}": ("3 (float lz4)", True),
                                     f"open and slice: times as fast as {over}": ("2 (row)", True)})

    def test_a_part_alone_has_its_goals_and_its_text(self):
        figures = {"latency_ms": 50, "slices": [row for row in at_latency(50)["slices"] if row["who"] == "framefs"]}
        self.assertEqual(len(self.judged(figures)), 2)  # without rclone
        self.assertEqual(len(remote_slices.as_text(figures["slices"])), 2)
        lines = remote_report.as_text({"rate_mb_s": 0, "latencies": [figures | {"goals": []}]}).splitlines()
        self.assertEqual([line.split()[:2] for line in lines if line],
                         [["A", "round"], ["slice", "of"], ["row", "framefs"], ["goal", "wanted"]])

    def test_the_text_has_every_row_and_goal(self):
        figures = at_latency(50)
        goals = remote_report.RemoteGoals(figures).judge()
        text = remote_report.as_text({"rate_mb_s": 100,
                                      "latencies": [figures | {"goals": [goal._asdict() for goal in goals]}]})
        self.assertIn("A round trip of 50 ms, 100 MB/s\n", text)
        rows = [line.split() for line in text.splitlines()]
        for row in (["sequential", "float", "lz4", "500", "500", "-", "-", "450", "-", "77", "1.000", "1.00", "0.90"],
                    ["later", "float", "lz4", "framefs", "12.3", "1.00", "1", "100%", "100%", "1.00", "1.00", "0.07"],
                    ["float", "lz4", "framefs", "over", "rclone,", "full", "cache", "1.0", "60.00", "50.00", "0.30",
                     "6.00", "130", "5.00", "4.00"],
                    ["row", "framefs", "20.0", "30.0", "50.0", "29.0", "1.03", "4", "2", "1.00", "0.50", "2.00",
                     "2.50"],
                    ["2,000", "frame", "stat", "s3fs", "4", "7", "21.2", "3.4", "20"],
                    ["rclone", "1,001", "2.3", "2.1", "1001", "3.4", "900"]):
            self.assertIn(row, rows)
        for goal in goals:
            self.assertIn(f"{goal.measured}  {'met' if goal.met else 'NOT MET'}", text)
        self.assertIn("again: 0.1 s, 1 requests", text)


if __name__ == "__main__":
    unittest.main()
