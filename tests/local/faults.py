"""What a machine may lack: berthd doesn't start half of kubernetes: local, but says in one sentence what is missing and
which command helps, and `berthd doctor --local` says the same."""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

from end_to_end.berthd import PROGRAM
from node import processes_of

CLUSTER_ACCESS = 5  # berthd's exit code
LIMIT = 60  # seconds
PROGRAMS = ("podman", "runc", "crun", "conmon", "caddy", "newuidmap", "newgidmap", "iptables", "nft", "sh")
# What podman finds outside of PATH can't be hidden here; tests/local/podman_network_test.cpp judges those machines.
# What is changed: a program that is missing (nothing), or one that prints this; what is said, and what helps.
CASES = (
    ({"podman": None}, "podman isn't installed.", "apt-get install podman"),
    ({"podman": "podman version 3.4.4"}, "podman 3.4.4 is too old; berth needs 4.3 or newer.", "apt-get install podman"),
    ({"podman": "no version"}, "podman of an unknown version is too old", "apt-get install podman"),
    ({"caddy": None}, "Caddy, which serves apps to visitors, isn't installed.", "apt-get install caddy"),
    ({"caddy": "v2.4.6 h1:abc="}, "Caddy 2.4 is too old; berth needs 2.6 or newer.", "apt-get install caddy"),
    ({"iptables": "iptables v1.8.9: can't initialize", "status": 3}, "iptables, by which netavark connects containers, doesn't work here",
     "NET_ADMIN"),
    ({"nft": "Operation not permitted", "status": 1}, "nft, by which berth keeps containers apart, doesn't work here", "NET_ADMIN"),
)


class Faults(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-faults-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder / "bin"
        self.path.mkdir()
        for name in PROGRAMS:
            found = shutil.which(name, path=os.defpath + ":/usr/sbin:/sbin")
            if found:
                (self.path / name).symlink_to(found)
        self.data = self.folder / "data"

    def run_berthd(self, *words):
        done = subprocess.run([PROGRAM, *words, "--data-dir", self.data], capture_output=True, text=True, timeout=LIMIT,
                              check=False, env={"PATH": str(self.path), "HOME": str(self.folder)})
        return done.returncode, done.stdout + done.stderr

    def change(self, name, prints, status):
        (self.path / name).unlink(missing_ok=True)
        if prints is not None:
            (self.path / name).write_text(f"#!/bin/sh\necho \"{prints}\"\necho \"{prints}\" >&2\nexit {status}\n")
            (self.path / name).chmod(0o755)

    def check(self, what, helps, *flags):
        code, said = self.run_berthd("doctor", "--local", *flags)
        self.assertEqual(code, 1, said)
        self.assertIn(what, said)
        self.assertIn(helps, said)
        code, said = self.run_berthd("--kubernetes", "local", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", *flags)
        self.assertEqual(code, CLUSTER_ACCESS, said)
        self.assertIn("kubernetes is local, but " + what, said)
        self.assertIn(helps, said.splitlines()[-1])
        self.assertEqual(processes_of(self.data), [])

    def test_what_is_missing_is_said_at_the_start_and_by_doctor(self):
        for changes, what, helps in CASES:
            status = changes.get("status", 0)
            kept = {name: os.readlink(self.path / name) for name in changes if (self.path / name).is_symlink()}
            for name, prints in changes.items():
                if name != "status":
                    self.change(name, prints, status)
            self.check(what, helps, "--ingress-http", "127.0.0.1:0")
            for name, target in kept.items():
                (self.path / name).unlink(missing_ok=True)
                (self.path / name).symlink_to(target)
        print(f"      {len(CASES)} faults of a machine", flush=True)

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.check(f"another program listens on 127.0.0.1:{port} (ingress-http).", f"ss -ltnp 'sport = :{port}'",
                       "--ingress-http", f"127.0.0.1:{port}")
