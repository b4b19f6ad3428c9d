"""Tests of scripts/bench --readme: the text that it writes to the documents, and the chart."""

import pathlib
import shutil
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))

import chart
import disciplines as d
import report

DOCUMENTS = ("README.md", "tests/bench/RESULTS.md")


def figure(what, who, data, median):
    return {"what": what, "who": who, "data": data, "unit": "MB/s", "median": median, "least": median * 0.9,
            "most": median * 1.1, "cpu_unit": "s/GB", "cpu": 1.25, "system_cpu": 2.5}


RESULT = {
    "machine": {"processors": 2, "processor": "Test CPU", "Linux": "6.0"},
    "options": {"runs": 3, "size_mib": 64},
    "results": [figure(d.SEQUENTIAL, d.FRAMEFS, "float lz4 128K", 1234), figure(d.SEQUENTIAL, "squashfs", "float lz4", 567),
                figure(d.SEQUENTIAL, d.FRAMEFS, "text zstd 128K", 345), figure(d.WARM, d.PLAIN, "float", 8901)],
    "goals": [{"what": "a goal", "wanted": ">= 1", "measured": "2", "met": True}],
}


class Report(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="framefs-report-"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "tests/bench").mkdir(parents=True)
        for name in DOCUMENTS:
            shutil.copy(ROOT / name, self.root / name)

    def parts(self, root, name):
        before, _, rest = (root / name).read_text().partition(report.BEGIN)
        measured, _, after = rest.partition(report.END)
        self.assertTrue(after, name)
        return before, measured, after

    def test_only_the_text_between_the_marks_changes(self):
        report.put_into_documents(self.root, RESULT)
        for name in DOCUMENTS:
            (before, measured, after), (old_before, _, old_after) = self.parts(self.root, name), self.parts(ROOT, name)
            self.assertEqual((before, after), (old_before, old_after), name)
            for text in ("| cold, sequential (MB/s) | float lz4 | 1234 | 567 |", "2 x Test CPU, Linux 6.0, 64 MiB"):
                self.assertIn(text, measured, name)
            (link,) = [part.partition(")")[0] for part in measured.split("](")[1:]]
            self.assertTrue(((ROOT / name).parent / link).is_file(), link)

    def test_the_results_have_every_figure_and_goal(self):
        report.put_into_documents(self.root, RESULT)
        _, measured, _ = self.parts(self.root, "tests/bench/RESULTS.md")
        for row in RESULT["results"]:
            self.assertIn(f"| {row['what']} (MB/s) | {row['who']} | {row['data']} | {row['median']} |", measured)
        self.assertIn("| float lz4 | - | 8901 |", measured)
        self.assertIn("| a goal | >= 1 | 2 | yes |", measured)
        for line in measured.splitlines():
            if line.startswith("|"):
                self.assertTrue(line.endswith("|"), line)

    def test_a_second_run_replaces_the_first(self):
        report.put_into_documents(self.root, RESULT)
        once = [(self.root / name).read_text() for name in DOCUMENTS]
        report.put_into_documents(self.root, RESULT)
        self.assertEqual([(self.root / name).read_text() for name in DOCUMENTS], once)

    def test_a_document_without_marks_is_an_error(self):
        (self.root / "README.md").write_text("no marks")
        with self.assertRaisesRegex(RuntimeError, "measured: begin"):
            report.put_into_documents(self.root, RESULT)
        self.assertEqual((self.root / "README.md").read_text(), "no marks")

    def test_the_chart_has_a_bar_for_each_peer_and_colours_for_dark_pages(self):
        svg = xml.etree.ElementTree.fromstring(chart.as_svg(RESULT))
        bars = svg.findall("{http://www.w3.org/2000/svg}rect")
        self.assertEqual([bar.get("class") for bar in bars], ["framefs", "peer", "framefs"])
        self.assertGreater(float(bars[0].get("width")), float(bars[1].get("width")))
        self.assertIn("prefers-color-scheme: dark", chart.as_svg(RESULT))


if __name__ == "__main__":
    unittest.main()
