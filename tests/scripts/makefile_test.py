#!/usr/bin/env python3
"""The Makefile: each target names scripts that exist, `make help` lists each, `make build` builds what it builds, whatever
was built in the same folder before, and CI starts each target or docs/development.md says why not."""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Makefile").read_text()
TARGETS = re.search(r"^\.PHONY: (.+)$", TEXT, re.MULTILINE)[1].split()
# What .ci/run starts: as it is, or by a test of ctest that runs the same script in a smaller size.
STARTED = {
    "lint-changed": ".ci/run", "test": ".ci/run", "e2e": ".ci/run", "cluster": "make e2e", "cluster-down": "make e2e",
    "help": "this file", "run": "make: run prints an address that answers", "build": "make test",
    "client": "client: one line installs it", "yaml": "chart: what it makes", "reference": "docs: the reference",
    "simulate": "simulate", "metering": "metering: what is charged is what ran", "adversarial": "operations: no body costs much", "attack": "bench: each in its smallest size",
    "bench": "bench: each in its smallest size", "bench-points": "bench: each in its smallest size",
    "bench-history": "bench: each in its smallest size",
}
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

    def test_ci_starts_each_target_or_the_documentation_says_why_not(self):
        text = (ROOT / "docs/development.md").read_text()
        section = text.split("## What CI starts, and what it doesn't")[1].split("\n## ")[0]
        left_out = set(re.findall(r"`make ([\w-]+)`", "\n".join(
            line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))))
        self.assertEqual(STARTED.keys() & left_out, set())
        self.assertEqual(STARTED.keys() | left_out, set(TARGETS))

    def test_the_tests_that_start_targets_are_there(self):
        tests = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("CMakeLists.txt"))
        for target, by in STARTED.items():
            if by not in (".ci/run", "make e2e", "make test", "this file"):
                with self.subTest(target):
                    self.assertRegex(tests, rf'add_test\(NAME "?{re.escape(by)}')

    def test_help_lists_each_target(self):
        # Below another make, this one would say which directory it enters.
        shown = subprocess.run(["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True,
                               check=True).stdout
        listed = {line.split()[1] for line in shown.splitlines()}
        self.assertEqual(listed, set(TARGETS))


if __name__ == "__main__":
    unittest.main()
