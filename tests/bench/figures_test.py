#!/usr/bin/env python3
"""The plots of the benchmarks' tables, and the page that they stand on."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest
import xml.etree.ElementTree as ET

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import bars  # noqa: E402


def loaded(name):
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module
    loader.exec_module(module)
    return module


figures = loaded("figures")
OUTPUT = """a machine

| what | connections | berthd | bare | ratio |
| --- | --- | ---: | :---: | --- |
| GET a < b | 8 | 12,345/s | 20,000/s | 0.6 |
| POST | 64 | 0.5 ms | | 2 |

between

| x |
| --- |
| 1 |
"""


class Bars(unittest.TestCase):
    def test_tables_are_found(self):
        self.assertEqual([len(table) for table in bars.tables_in(OUTPUT)], [3, 2])
        self.assertEqual(bars.tables_in("nothing"), [])

    def test_numbers(self):
        cells = {"12,345/s": 12345, "0.50 ms": .5, "1.8, ≥ 2: missed": 1.8, "": None, "met": None}
        for cell, number in cells.items():
            with self.subTest(cell):
                self.assertEqual(bars.number_in(cell), number)

    def test_rows_become_groups(self):
        self.assertEqual(bars.groups_of(OUTPUT, ("berthd", "bare")),
                         [("GET a < b, 8 connections",
                           [("berthd", "12,345/s", 12345.0), ("bare", "20,000/s", 20000.0)]),
                          ("POST, 64 connections", [("berthd", "0.5 ms", .5)])])
        self.assertEqual(len(bars.groups_of(OUTPUT, ("berthd",), "POST")), 1)
        self.assertEqual(bars.groups_of(OUTPUT, ("another",)), [])

    def test_the_longest_bar_of_a_row_is_its_largest_value(self):
        columns = ("berthd", "bare")
        picture = ET.fromstring(bars.drawn("a & b", bars.groups_of(OUTPUT, columns), columns))
        whole = bars.WIDTH - bars.LABELS - bars.VALUES
        lengths = [int(one.get("width")) for one in picture.iter("{http://www.w3.org/2000/svg}rect")
                   if one.get("x") == str(bars.LABELS) and one.get("height") == str(bars.BAR - 2)]
        self.assertEqual(lengths, [round(whole * 12345 / 20000), whole, whole])


class Page(unittest.TestCase):
    def test_each_benchmark_has_its_block(self):
        page = figures.PAGE.read_text()
        for one in figures.BENCHMARKS:
            with self.subTest(one.name):
                changed = figures.replaced(page, one.name, "new")
                self.assertIn(f"<!-- figures of {one.name} -->\nnew\n<!-- end -->", changed)
                self.assertEqual(changed.count("\n### "), page.count("\n### "), "more than the block was replaced")
                self.assertIn(f"`tests/bench/figures {one.name}`", " ".join(page.split()))

    def test_programs_are_there(self):
        for one in figures.BENCHMARKS + figures.CHECKS:
            program = figures.command_of(one.command, pathlib.Path("/build"), "")[0]
            if not program.startswith("/build"):
                self.assertTrue(pathlib.Path(program).exists(), program)

    def test_a_benchmark_that_hangs_is_ended_with_what_it_has_started(self):
        code, out, errors, took = figures.run(["/bin/sh", "-c", "echo begun; sleep 600 & wait"], ".", limit=1)
        self.assertNotEqual(code, 0)
        self.assertEqual(out, "begun\n")
        self.assertIn("ended after 1 s", errors)
        self.assertLess(took, 60)

    def test_output_without_a_table_is_shown_as_it_is(self):
        self.assertEqual(figures.figures_in("a line\n"), ["```text\na line\n```"])
        self.assertEqual(figures.figures_in("\n"), [])


if __name__ == "__main__":
    unittest.main()
