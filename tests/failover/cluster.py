"""Three nodes of PostgreSQL under Patroni, with three etcd, on loopback and in a temporary folder. Everything that
reaches a node goes through a link that can be cut (links.py)."""
import json
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))
from common import fail  # noqa: E402
from postgresql import find_program, postgresql_program  # noqa: E402

PYTHON = "/usr/bin/python3"  # the system's, which every account may run
NODES = 3
ETCDS = 3
START_SECONDS = 90  # for whatever is started on a busy machine
ASK_SECONDS = 2  # for an answer of Patroni's
# Below the range from which the system takes ports for outgoing connections, so that a program that was killed gets its
# port again.
PORTS = range(20_000, 32_000)

# docs/guides/sre.md explains them. They are the settings that it recommends, but for the size of the servers.
SETTINGS = {
    "ttl": 20, "loop_wait": 3, "retry_timeout": 5, "maximum_lag_on_failover": 1_048_576,
    "primary_start_timeout": 10, "primary_stop_timeout": 10,
    "synchronous_mode": True, "synchronous_mode_strict": True,
    "postgresql": {"use_pg_rewind": True, "use_slots": True,
                   "parameters": {"synchronous_commit": "on", "max_connections": 150, "shared_buffers": "64MB"}},
}
ROLES = ("postgres", "replicator", "rewinder")


def find_missing():
    """Returns the names of the programs that aren't installed."""
    return [name for name in ("etcd", "initdb", "go", PYTHON) if not find_program(name)]


def installed_patroni(directory):
    """Installs Patroni in the directory, which the account of PostgreSQL must be able to read, and returns its program.
    Debian's 3.0.2 loses answered writes by itself: a Patroni that goes on after a pause takes the lock of its successor
    away, and all nodes follow it back to before the successor's first write. 3.0.3 compares before it writes."""
    environment = directory / "patroni"
    subprocess.run([PYTHON, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r",
                    HERE / "requirements.txt"], check=True, stderr=subprocess.DEVNULL)
    return environment / "bin/patroni"


def free_port():
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def wait_until(holds, what, seconds=START_SECONDS):
    """Returns what `holds` returns once that is true."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            fail(f"after {seconds} s, {what}")
        time.sleep(0.1)
    return found


def processes_below(pid):
    """Returns the process and all that it has started, directly or not."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def send(pids, which):
    for pid in pids:
        try:
            os.kill(pid, which)
        except ProcessLookupError:
            pass


def ask(port, path, body=None, seconds=ASK_SECONDS):
    """Returns what the program on that port answers, or nothing if it doesn't."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", None if body is None else json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            text = answer.read().decode()
    except OSError:
        return None
    return json.loads(text) if text.startswith("{") else text


class Links:
    """The process of links.py."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, HERE / "links.py"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.mutex = threading.Lock()

    def order(self, **order):
        with self.mutex:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
            if self.process.stdout.readline() != "done\n":
                fail("the links have ended")

    def add(self, name, to):
        port = free_port()
        self.order(name=name, port=port, to=to)
        return port

    def become(self, names, mode):
        for name in names:
            self.order(name=name, mode=mode)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Program:
    """A program that is killed and started again."""

    def __init__(self, directory, command, **more):
        self.directory, self.command, self.more, self.process = directory, command, more, None

    def start(self):
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command, cwd=self.directory, stdout=log, stderr=log, **self.more)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.process:
            send([self.process.pid], signal.SIGKILL)
            self.process.wait()

    def log_end(self):
        return (self.directory / "log").read_text(errors="replace")[-2_000:]


class Node:
    """A Patroni with its PostgreSQL."""

    def __init__(self, cluster, number):
        self.name, links = f"node{number}", cluster.links
        self.directory = cluster.new_directory(self.name)
        self.data = self.directory / "data"
        self.rest, self.port = free_port(), free_port()
        etcds = [links.add(f"{self.name}-etcd{i}", port) for i, port in enumerate(cluster.etcd_ports)]
        # What berthd uses, and what the other nodes use.
        self.clients_port = links.add(f"{self.name}-clients", self.port)
        self.peers_port = links.add(f"{self.name}-peers", self.port)
        rest = links.add(f"{self.name}-rest", self.rest)
        self.links_of_clients = [f"{self.name}-clients"]
        self.all_links = [f"{self.name}-{what}" for what in
                          ("clients", "peers", "rest", *(f"etcd{i}" for i in range(ETCDS)))]
        configuration = {
            "scope": "berth", "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self.rest}", "connect_address": f"127.0.0.1:{rest}"},
            "etcd3": {"hosts": [f"127.0.0.1:{port}" for port in etcds], "use_proxies": True},
            "bootstrap": {"dcs": SETTINGS, "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.peers_port}",
                "data_dir": str(self.data), "bin_dir": str(pathlib.Path(postgresql_program("initdb")).resolve().parent),
                "pgpass": str(self.directory / "pgpass"),
                "authentication": {kind: {"username": role, "password": role} for kind, role in
                                   zip(("superuser", "replication", "rewind"), ROLES)},
                "parameters": {"unix_socket_directories": str(self.directory)},
                "pg_hba": ["local all all trust", "host all all 127.0.0.1/32 trust",
                           "host replication all 127.0.0.1/32 trust"]}}
        file = self.directory / "patroni.yml"
        file.write_text(json.dumps(configuration))  # which is YAML, too
        self.patroni = Program(self.directory, [cluster.patroni, file], **cluster.user)

    def start(self):
        self.patroni.start()

    def server_processes(self):
        """Returns those of PostgreSQL. Patroni has moved them out of its own."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n")[0])
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return []
        return processes_below(pid) if b"postgres" in command else []

    def processes(self):
        own = processes_below(self.patroni.process.pid) if self.patroni.is_running() else []
        return list(dict.fromkeys(own + self.server_processes()))

    def kill_server(self):
        pids = self.server_processes()
        send(pids[:1], signal.SIGSTOP)  # so that it doesn't end its children in its own way
        send(pids[1:] + pids[:1], signal.SIGKILL)

    def kill(self):
        self.kill_server()
        self.patroni.kill()
        self.kill_server()  # if Patroni was about to start it

    def run_sql(self, sql, database):
        """Returns whether it succeeded."""
        done = subprocess.run([postgresql_program("psql"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", ROLES[0],
                               "-v", "ON_ERROR_STOP=1", "-c", sql, database], capture_output=True, cwd="/")
        return done.returncode == 0

    def ask(self, path, body=None, seconds=ASK_SECONDS):
        """Asks Patroni, not through a link."""
        return ask(self.rest, path, body, seconds)


class Cluster:
    def __init__(self, directory):
        self.directory, self.user = directory, {}
        directory.mkdir(mode=0o700)
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            account = pwd.getpwnam("postgres")
            self.user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            os.chown(directory, account.pw_uid, account.pw_gid)
        self.patroni = installed_patroni(directory)
        self.links, self.nodes, self.etcds = Links(), [], []
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        self.etcd_ports = [free_port() for _ in range(ETCDS)]
        peers = [free_port() for _ in range(ETCDS)]
        members = ",".join(f"etcd{i}=http://127.0.0.1:{port}" for i, port in enumerate(peers))
        for i in range(ETCDS):
            directory = self.new_directory(f"etcd{i}")
            own, peer = (f"http://127.0.0.1:{ports[i]}" for ports in (self.etcd_ports, peers))
            # The times are for a machine that is busy with everything else that runs here.
            self.etcds.append(Program(directory, [
                find_program("etcd"), "--name", f"etcd{i}", "--data-dir", directory / "data",
                "--listen-client-urls", own, "--advertise-client-urls", own, "--listen-peer-urls", peer,
                "--initial-advertise-peer-urls", peer, "--initial-cluster", members, "--initial-cluster-state", "new",
                "--heartbeat-interval", "200", "--election-timeout", "2000", "--log-level", "error"], **self.user))
            self.etcds[-1].start()
        wait_until(self.is_etcd_ready, "the etcd don't agree on their version")
        self.nodes = [Node(self, i) for i in range(NODES)]
        for node in self.nodes:
            node.start()
        self.wait_until_whole()
        leader = self.leader()
        leader.run_sql("CREATE ROLE berth LOGIN", "postgres")
        leader.run_sql("CREATE DATABASE berth OWNER berth", "postgres")
        # libpq tries no other host behind one that doesn't know the database.
        wait_until(lambda: all(node.run_sql("SELECT 1", "berth") for node in self.nodes), "a standby has no database")
        self.address = ("postgresql://berth@" + ",".join(f"127.0.0.1:{node.clients_port}" for node in self.nodes) +
                        "/berth?target_session_attrs=read-write")

    def is_etcd_ready(self):
        """Before that, this version of Patroni ends instead of waiting."""
        versions = [ask(port, "/version") for port in self.etcd_ports]
        return all(isinstance(one, dict) and one["etcdcluster"] != "not_decided" for one in versions)

    def new_directory(self, name):
        directory = self.directory / name
        directory.mkdir(mode=0o700)
        if self.user:
            os.chown(directory, self.user["user"], self.user["group"])
        return directory

    def members(self):
        """Returns what the nodes know of each other: a list of dictionaries with name, role, state, timeline. Empty if
        none answers."""
        for node in self.nodes:
            answer = node.ask("/cluster")
            if isinstance(answer, dict) and answer.get("members"):
                return answer["members"]
        return []

    def node_of_role(self, role):
        names = [member["name"] for member in self.members() if member.get("role") == role]
        return next((node for node in self.nodes if node.name in names), None)

    def leader(self):
        return wait_until(lambda: self.node_of_role("leader"), "no node leads")

    def synchronous_standby(self):
        return wait_until(lambda: self.node_of_role("sync_standby"), "there is no synchronous standby")

    def is_whole(self):
        members = self.members()
        return (sorted(member.get("role") for member in members) == ["leader", "replica", "sync_standby"]
                and all(member.get("state") in ("running", "streaming") for member in members)
                and len({member.get("timeline") for member in members}) == 1)

    def wait_until_whole(self, seconds=3 * START_SECONDS):
        wait_until(self.is_whole, f"not all nodes run on one timeline: {self.members()}", seconds)

    def stop(self):
        for node in self.nodes:
            send(node.processes(), signal.SIGCONT)
            node.kill()
        for etcd in self.etcds:
            etcd.kill()
        self.links.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
