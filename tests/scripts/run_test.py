#!/usr/bin/env python3
"""`make run` (scripts/run.sh) starts berthd, prints an address that answers, and ends it: run_test.py BERTHD."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BERTHD = pathlib.Path(sys.argv.pop(1)).resolve()
ADDRESS = "berth is at   "


class Run(unittest.TestCase):
    def test_it_prints_an_address_that_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "any_port"
            program.write_text(f'#!/bin/sh\nexec "{BERTHD}" --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 "$@"\n')
            program.chmod(0o755)
            process = subprocess.Popen([ROOT / "scripts/run.sh", program, f"{folder}/data"], stdout=subprocess.PIPE,
                                       env=os.environ | {"KUBERNETES": "simulated"}, stderr=subprocess.PIPE, text=True)
            try:
                line = next(line for line in process.stdout if line.startswith(ADDRESS))
                with urllib.request.urlopen(line.removeprefix(ADDRESS).strip() + "/health") as answer:
                    self.assertEqual(answer.status, 200)
            finally:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)


if __name__ == "__main__":
    unittest.main()
