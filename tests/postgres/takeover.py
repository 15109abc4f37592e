#!/usr/bin/env python3
"""Runs berthd on a PostgreSQL that hangs until another one has taken over, and then goes on: takeover.py BERTHD.

The first server still takes connections then, but what it shows is old. Ends with 77, for "skipped", if there is no
PostgreSQL.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/bench"))
from common import Berthd, free_port  # noqa: E402
from postgresql import PostgreSQL, postgresql_program, skip_without_postgresql  # noqa: E402

BERTHD = pathlib.Path(sys.argv[1]).resolve()
SETTINGS = ("fsync=off", "max_connections=100")
PATIENCE = 60  # seconds
READS = 200  # while both servers answer


def processes_of(server):
    """Returns the ids of the server's processes: of the one that was started, and of its children."""
    of_first = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return [server.process.pid, *map(int, of_first.split())]


def send(server, number):
    for process in processes_of(server):
        os.kill(process, number)


class Successor(PostgreSQL):
    """A copy of a server that is stopped, as a standby that had everything."""

    def __init__(self, first, port):
        self.first, self.wanted_port = first, port
        super().__init__(settings=SETTINGS)

    def start(self, settings):
        self.port = self.wanted_port
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", self.first.data, self.data], check=True)
        (self.data / "postmaster.pid").unlink()
        (self.data / "standby.signal").touch()
        super().start(settings)

    def take_over(self):
        """Begins a timeline of its own."""
        self.wait_for("berth")
        subprocess.run([postgresql_program("pg_ctl"), "promote", "-w", "-D", self.data], check=True, cwd="/",
                       stdout=subprocess.DEVNULL, **self.user)


class Closing:
    """A listener that takes connections and closes them, as a proxy does if there is nothing behind it."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):  # it was closed
            while True:
                self.listener.accept()[0].close()


class Takeover(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="berth-takeover-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.first = PostgreSQL(settings=SETTINGS)
        self.addCleanup(self.first.stop)
        self.first.database("berth")

    def start(self, *ports):
        servers = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.berthd = Berthd(BERTHD, self.folder / "data", "points:spend", "--database",
                             f"postgresql://bench@{servers}/berth?sslmode=disable")
        self.addCleanup(self.berthd.stop)
        self.minted = self.shown()

    def shown(self):
        return self.ask("GET", "/api/internal/treasury")["minted"]

    def mint(self):
        self.minted += 1
        return self.ask("POST", "/api/internal/points/mint", {
            "account": {"kind": "treasury"}, "amount": 1, "reason": "test"})

    def ask(self, *request):
        """Asks berthd. A server that doesn't answer is waited for."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.berthd.call(*request)
            except urllib.error.HTTPError as refused:
                if refused.code != 503 or time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def test_what_the_former_server_shows_is_never_answered(self):
        port = free_port()
        self.start(self.first.port, port)
        self.mint()
        self.assertEqual(self.shown(), self.minted)
        send(self.first, signal.SIGSTOP)
        successor = Successor(self.first, port)
        self.addCleanup(successor.stop)
        successor.take_over()
        self.mint()
        send(self.first, signal.SIGCONT)
        for _ in range(READS):
            self.assertEqual(self.shown(), self.minted)
        send(self.first, signal.SIGKILL)
        self.mint()
        self.assertEqual(self.shown(), self.minted)

    def test_a_server_that_closes_connections_is_passed_over(self):
        closing = Closing()
        self.addCleanup(closing.listener.close)
        self.start(closing.port, self.first.port)
        self.mint()
        self.assertEqual(self.shown(), self.minted)


skip_without_postgresql()
unittest.main(argv=sys.argv[:1])
