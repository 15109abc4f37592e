"""Starts a temporary PostgreSQL server for benchmarks that compare with it or run on it."""
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from common import HERE, START_SECONDS, fail, free_port, output_of


SKIPPED = 77  # what ctest takes for "skipped"
CHECKPOINT_SECONDS = 600  # for the checkpoint of a large database at its server's end


def find_program(name):
    """Returns the path of one of the server's programs, which Debian doesn't install in PATH; nothing if there is
    none."""
    versions = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(versions[-1]) if versions else None)


def postgresql_program(name):
    return find_program(name) or fail(f"no {name} (Debian: apt install postgresql)")


def skip_without_postgresql():
    """Ends a test as skipped if no PostgreSQL is installed."""
    if not find_program("initdb"):
        print("skipped: no PostgreSQL is installed (Debian: apt install postgresql)")
        sys.exit(SKIPPED)


class PostgreSQL:
    """A server with default settings, in a temporary directory that is removed with it unless it was given."""

    def __init__(self, listen="127.0.0.1", settings=(), access="", directory=None):
        """`listen` is the address for TCP; if it is empty, the server only listens on the socket in `directory`.
        `settings` are further ones, such as "fsync=off". `access` is put before the rules of pg_hba.conf, which let
        everybody in. A `directory` that is given stays, and may have a server's data from an earlier run."""
        self.is_kept = directory is not None
        self.directory = directory or pathlib.Path(tempfile.mkdtemp(prefix="berth-bench-pg-"))
        self.directory.mkdir(exist_ok=True)
        self.listen, self.data, self.port = listen, self.directory / "data", free_port()
        self.user = {}
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            account = pwd.getpwnam("postgres")
            os.chown(self.directory, account.pw_uid, account.pw_gid)
            self.user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        if not self.data.exists():
            output_of(postgresql_program("initdb"), "-D", self.data, "-A", "trust", "-U", "bench", "-E",
                      "UTF8", "--locale=C.UTF-8", cwd=self.directory, **self.user)
            rules = self.data / "pg_hba.conf"
            rules.write_text(access + rules.read_text())
        self.start(settings)

    def start(self, settings):
        self.log = (self.directory / "log").open("ab")
        self.process = subprocess.Popen(
            [postgresql_program("postgres"), "-D", self.data, "-k", self.directory, "-c",
             f"port={self.port}", "-c", f"listen_addresses={self.listen}",
             *(part for setting in settings for part in ("-c", setting))], cwd=self.directory,
            stdout=self.log, stderr=self.log, **self.user)

    def restart(self, settings):
        """Starts the server again with other settings, after everything that it has written is on the disk."""
        self.end(CHECKPOINT_SECONDS)
        os.sync()
        self.start(settings)

    def address(self, name):
        return f"postgres://bench@127.0.0.1:{self.port}/{name}?sslmode=disable"

    def wait_for(self, name):
        """Returns the address of a database that exists, once the server answers."""
        command = [postgresql_program("psql"), "-q", "-c", "", self.address(name)]
        for _ in range(CHECKPOINT_SECONDS * 10):
            if subprocess.run(command, capture_output=True, cwd="/").returncode == 0:
                return self.address(name)
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        return fail("PostgreSQL doesn't start: " + (self.directory / "log").read_text()[-500:])

    def database(self, name):
        command = [postgresql_program("createdb"), "-h", self.directory, "-p", str(self.port), "-U",
                   "bench", name]
        for _ in range(START_SECONDS * 10):
            if subprocess.run(command, capture_output=True).returncode == 0:
                return self.address(name)
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        return fail("PostgreSQL doesn't start: " + (self.directory / "log").read_text()[-500:])

    def end(self, seconds=START_SECONDS):
        self.process.send_signal(signal.SIGINT)  # "fast": doesn't wait for its clients
        self.process.wait(seconds)
        self.log.close()

    def stop(self):
        self.end(CHECKPOINT_SECONDS if self.is_kept else START_SECONDS)
        if not self.is_kept:
            shutil.rmtree(self.directory)


def database_with_stored_function(server, name):
    """Returns the address of a new database with a function that makes the ledger's double entry."""
    url = server.database(name)
    output_of(postgresql_program("psql"), "-q", "-f", HERE / "double_entry.sql", url, cwd="/")
    return url


def spends_of_stored_function(url, connections, seconds):
    """Returns how many of these entries are made per second. If there was time for none, as in a single second of a busy
    machine, they get more."""
    for longer in (1, 4, 16):
        text = output_of(postgresql_program("pgbench"), "-n", "-M", "prepared", "-f", HERE / "double_entry.pgbench",
                         "-c", str(connections), "-j", "2", "-T", str(seconds * longer), url, cwd="/")
        if found := re.search(r"tps = ([\d.]+)", text):
            return float(found.group(1))
    fail("pgbench made no transaction:\n" + text)
