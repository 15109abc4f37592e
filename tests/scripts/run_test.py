#!/usr/bin/env python3
"""`make run` (scripts/run.sh) starts berthd, prints an address that answers and whose first account is the admin, and ends it:
run_test.py BERTHD."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BERTHD = pathlib.Path(sys.argv.pop(1)).resolve()
ADDRESS = "berth is at   "


def post(base, path, body):
    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


class Run(unittest.TestCase):
    def test_it_prints_an_address_that_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "any_port"
            with socket.create_server(("127.0.0.1", 0)) as taken:
                port = taken.getsockname()[1]
            # Links have another name than the one that berthd listens on, as on a machine that is the cluster.
            url = f"http://localhost:{port}"
            program.write_text(f'#!/bin/sh\nexec "{BERTHD}" --base-url {url} --listen 127.0.0.1:{port} --metrics-listen 127.0.0.1:0 "$@"\n')
            program.chmod(0o755)
            process = subprocess.Popen([ROOT / "scripts/run.sh", program, f"{folder}/data"], stdout=subprocess.PIPE,
                                       env=os.environ | {"KUBERNETES": "simulated"}, stderr=subprocess.PIPE, text=True)
            try:
                line = next(line for line in process.stdout if line.startswith(ADDRESS))
                base = line.removeprefix(ADDRESS).strip()
                self.assertEqual(base, url)
                with urllib.request.urlopen(base + "/health") as answer:
                    self.assertEqual(answer.status, 200)
                account = {"email": "ada@example.org", "password": "correct horse battery"}
                post(base, "/api/auth/register", account | {"username": "ada"})
                session = post(base, "/api/auth/login", account)
                self.assertTrue(session["user"]["is_admin"], "the first account is the admin")
            finally:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=60)


if __name__ == "__main__":
    unittest.main()
