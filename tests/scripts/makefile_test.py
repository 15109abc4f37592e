#!/usr/bin/env python3
"""`make build` builds what it builds, whatever was built in the same folder before: every option that a target of the
Makefile gives CMake, which keeps it, is set by `make build`, too."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Makefile(unittest.TestCase):
    def test_make_build_sets_each_option_that_others_set(self):
        text = (ROOT / "Makefile").read_text() + (ROOT / "tests/bench/common.py").read_text()
        options = set(re.findall(r"-D(BERTH_\w+)=", text))
        self.assertGreaterEqual(options, {"BERTH_TESTS", "BERTH_BENCH"})
        dry = subprocess.run(["make", "-n", "build"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for option in sorted(options):
            self.assertIn(f"-D{option}=OFF", dry)


if __name__ == "__main__":
    unittest.main()
