#!/usr/bin/env python3
"""The Makefile: each target names scripts that exist, `make help` lists each, and `make build` builds what it builds,
whatever was built in the same folder before."""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Makefile").read_text()
TARGETS = re.search(r"^\.PHONY: (.+)$", TEXT, re.MULTILINE)[1].split()
SCRIPT = re.compile(r"(?:^|[\s=(])((?:scripts|tests)/[\w./-]+)")


def dry_run(target):
    """Returns the commands that `make TARGET` would run."""
    return subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout


class Makefile(unittest.TestCase):
    def test_make_build_sets_each_option_that_others_set(self):
        """CMake keeps every option that a target gives it."""
        options = set(re.findall(r"-D(BERTH_\w+)=", TEXT + (ROOT / "tests/bench/common.py").read_text()))
        self.assertGreaterEqual(options, {"BERTH_TESTS", "BERTH_BENCH"})
        dry = dry_run("build")
        for option in sorted(options):
            self.assertIn(f"-D{option}=OFF", dry)

    def test_what_the_targets_run_is_there(self):
        found = set()
        for target in TARGETS:
            for script in SCRIPT.findall(dry_run(target)):
                with self.subTest(target, script=script):
                    self.assertTrue(os.access(ROOT / script, os.X_OK), "isn't a program")
                    found.add(script)
        self.assertGreaterEqual(len(found), 20)
        print(f"{len(TARGETS)} targets run {len(found)} scripts", flush=True)

    def test_help_lists_each_target(self):
        # Below another make, this one would say which directory it enters.
        shown = subprocess.run(["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True,
                               check=True).stdout
        listed = {line.split()[1] for line in shown.splitlines()}
        self.assertEqual(listed, set(TARGETS))


if __name__ == "__main__":
    unittest.main()
