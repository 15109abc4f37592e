#!/usr/bin/env python3
"""Runs berthd over each way to a PostgreSQL that its users have: ways.py BERTHD TEST_POSTGRES.

TLS, where the server's certificate has to be the authority's and for the server's name; and pgbouncer in session mode,
whose process numbers aren't the server's. Ends with 77, for "skipped", if there is no PostgreSQL; only the test with
pgbouncer is skipped if that isn't installed.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/bench"))
from common import START_SECONDS, Berthd, Replica, free_port, output_of  # noqa: E402
from postgresql import PostgreSQL, skip_without_postgresql  # noqa: E402

BERTHD, TESTS = (pathlib.Path(program).resolve() for program in sys.argv[1:3])
UNUSABLE = 7  # docs/reference/exit-codes.md
SETTINGS = ("fsync=off", "max_connections=200")
POOLER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


def certificates(folder, name):
    """Makes an authority, and a server's certificate for `name`."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    output_of("openssl", "req", "-x509", *key, "-keyout", folder / "ca.key", "-out", folder / "ca.crt",
              "-subj", "/CN=tests", stderr=None)
    output_of("openssl", "req", *key[:-2], "-keyout", folder / "server.key", "-out", folder / "server.csr",
              "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", stderr=None)
    output_of("openssl", "x509", "-req", "-in", folder / "server.csr", "-CA", folder / "ca.crt", "-CAkey",
              folder / "ca.key", "-CAcreateserial", "-days", "2", "-copy_extensions", "copy", "-out",
              folder / "server.crt", stderr=None)


class Ways(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="berth-ways-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)  # the servers run as another user

    def server(self, settings=()):
        server = PostgreSQL(settings=SETTINGS + tuple(settings))
        self.addCleanup(server.stop)
        server.database("berth")  # waits until it answers
        return server

    def berthd(self, name, address, *flags):
        berthd = Berthd(BERTHD, self.folder / name, "points:spend", "--database", address, *flags)
        self.addCleanup(self.end, berthd)
        return berthd

    @staticmethod
    def end(berthd):
        if berthd.process.poll() is None:
            berthd.process.kill()
            berthd.process.wait()

    def spend(self, berthd):
        """Writes and reads, and expects that both are there."""
        token = berthd.access_token()
        user = berthd.call("GET", "/api/auth/me", token=berthd.session)["user"]["id"]
        berthd.call("POST", "/api/internal/points/mint", {
            "account": {"kind": "user", "id": user}, "amount": 100, "reason": "test"})
        before = berthd.call("GET", "/api/points/balance", token=berthd.session)["points"]
        berthd.call("POST", "/api/external/points/spend", {"amount": 3, "description": "test"}, token)
        self.assertEqual(berthd.call("GET", "/api/points/balance", token=berthd.session)["points"], before - 3)

    def refusal(self, address):
        """What berthd says when it ends because it can't use the database."""
        done = subprocess.run(
            [BERTHD, "--data-dir", self.folder / "refused", "--listen", "127.0.0.1:0", "--database", address],
            capture_output=True, text=True, timeout=START_SECONDS * 2)
        self.assertEqual(done.returncode, UNUSABLE, done.stderr)
        return done.stderr

    def test_tls_is_verified(self):
        certificates(self.folder, "db.test")
        for name in ("server.key", "server.crt"):
            shutil.chown(self.folder / name, "postgres", "postgres") if os.getuid() == 0 else None
        (self.folder / "server.key").chmod(0o600)
        server = self.server(["ssl=on", f"ssl_cert_file={self.folder}/server.crt",
                              f"ssl_key_file={self.folder}/server.key"])
        address = (f"postgresql://bench@%s:{server.port}/berth?hostaddr=127.0.0.1&sslmode=verify-full"
                   f"&sslrootcert={self.folder}/%s")
        self.spend(self.berthd("tls", address % ("db.test", "ca.crt")))
        used = output_of("psql", "-h", server.directory, "-p", str(server.port), "-U", "bench", "-Atc",
                         "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                         "WHERE application_name = 'berthd'", "berth", cwd="/")
        self.assertEqual(used, "t")
        self.assertIn("other.test", self.refusal(address % ("other.test", "ca.crt")))
        # Another authority than the one that signed.
        certificates(self.folder, "db.test")
        self.assertIn("certificate verify failed", self.refusal(address % ("db.test", "ca.crt")))

    @unittest.skipUnless(POOLER, "pgbouncer isn't installed")
    def test_pgbouncer_in_session_mode(self):
        server, port = self.server(), free_port()
        (self.folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user=bench\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            "auth_type = any\npool_mode = session\ndefault_pool_size = 90\n")
        # Started by root it would refuse to run; the server's account is as good as any.
        pooler = subprocess.Popen([POOLER, self.folder / "pgbouncer.ini"], **server.user,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(pooler.wait)
        self.addCleanup(pooler.send_signal, signal.SIGTERM)
        address = f"postgresql://bench@127.0.0.1:{port}/berth"
        for _ in range(START_SECONDS * 10):
            if subprocess.run(["pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]).returncode == 0:
                break
            time.sleep(0.1)
        first = self.berthd("first", address)
        self.spend(first)
        second = Replica(BERTHD, self.folder / "second", first, "--database", address)
        self.addCleanup(self.end, second)
        self.spend(second)
        done = subprocess.run([TESTS, r"a connection hears what others send\, and not what it sent itself"],
                              env=os.environ | {"BERTH_TEST_POSTGRES": f"host=127.0.0.1 port={port} user=bench"},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("All tests passed", done.stdout)
        for berthd in (first, second):
            self.assertEqual(berthd.stop(), 0)


if __name__ == "__main__":
    skip_without_postgresql()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
