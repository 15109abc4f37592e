"""Tests of the chart with the database on PostgreSQL: several berthd processes serve,
and one of them leads."""
import base64
import json
import os
import pathlib
import secrets
import shutil
import signal
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from . import chart
from .berthd import PATIENCE, ROOT
from .chart import CHART, LIMIT, RELEASE, Installed, Owner
from .cluster import run, serves
from .load import Load
from .waiting import eventually

sys.path.insert(0, str(ROOT / "tests/bench"))
from postgresql import PostgreSQL, postgresql_program  # noqa: E402

NAMESPACE = "berth-e2e-replicas"
REPLICAS = 3
NODE = "10.250.0.1"  # the node's own address, at which pods reach this machine
ROLE = "berth"
CONNECTIONS = 200  # a pod opens 29, and there are four during an upgrade
CREATED_WITHIN = 25  # seconds after the leader died: 15 of its Lease, and what a berthd without optimization needs to take over
ASK_AGAIN = 2  # seconds after which a request that isn't answered is sent again, most likely to another pod
EVICTED = "Evicted"


class Database:
    """A PostgreSQL on this machine that berth's pods reach by TLS, with a password."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-e2e-pg-"))
        self.certificate, self.key = self.folder / "server.crt", self.folder / "server.key"
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NODE}", "-addext",
            f"subjectAltName=IP:{NODE}", "-out", self.certificate, "-keyout", self.key)
        for path in (self.folder, self.certificate, self.key):
            shutil.chown(path, "postgres", "postgres")
        self.server = PostgreSQL(
            NODE, (f"max_connections={CONNECTIONS}", "ssl=on", f"ssl_cert_file={self.certificate}",
                   f"ssl_key_file={self.key}"), access=f"hostssl {ROLE} {ROLE} all scram-sha-256\n")
        self.password = secrets.token_hex(16)
        self.server.database("ready")
        self.ask("ready", f"CREATE ROLE {ROLE} LOGIN PASSWORD '{self.password}'")
        self.ask("ready", f"CREATE DATABASE {ROLE} OWNER {ROLE}")

    @property
    def address(self):
        return f"postgresql://{ROLE}@{NODE}:{self.server.port}/{ROLE}?sslmode=verify-full&sslrootcert=/etc/berth/database/ca.crt"

    def ask(self, name, sql):
        """Returns the lines of the answer."""
        return run(postgresql_program("psql"), "-AtqX", "-v", "ON_ERROR_STOP=1", "-h", self.server.directory, "-p",
                   str(self.server.port), "-U", "bench", "-c", sql, name, cwd="/").splitlines()

    def stop(self):
        self.server.stop()
        shutil.rmtree(self.folder)


class OnDatabase(Installed):
    def __init__(self, cluster, database):
        super().__init__(cluster, NAMESPACE)
        self.database = database

    def verify(self, username):
        self.database.ask(ROLE, f"UPDATE users SET email_verified_at = created_at WHERE username_key = '{username}'")

    def instance(self):
        return self.database.ask(ROLE, "SELECT value FROM meta WHERE key = 'instance'")[0]

    def pods(self):
        """Returns berthd's pods that are ready and aren't being deleted."""
        def is_ready(pod):
            return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ()))
        return [pod for pod in self.cluster.list("pods", f"--field-selector=metadata.namespace={NAMESPACE}", "-l",
                                                 f"app.kubernetes.io/instance={RELEASE}")
                if "deletionTimestamp" not in pod["metadata"] and is_ready(pod)]

    def leaders(self):
        """Returns the pods that say that they lead."""
        def leads(pod):
            return "[+]leader ok" in super(OnDatabase, self).ask("GET", f"http://{pod['status']['podIP']}:9090/readyz")
        return [pod for pod in self.pods() if leads(pod)]

    def leader(self):
        """Returns the pod that leads, once there is one."""
        eventually(self.leaders, "a pod leads", PATIENCE)
        return self.leaders()[0]


def processes_of(pod):
    """Returns the ids of the processes of the pod's containers, which run on this machine."""
    uid, found = pod["metadata"]["uid"], []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if uid in (folder / "cgroup").read_text().replace("_", "-") and (folder / "comm").read_text() == "berthd\n":
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


@unittest.skipUnless(os.geteuid() == 0, "PostgreSQL runs as an account of its own")
class Replicas(chart.ChartTest):
    NAMESPACE, INSTALLED = NAMESPACE, "deployment/" + RELEASE

    @classmethod
    def setUpClass(cls):
        cls.prepare()
        cls.database = Database()
        cls.addClassCleanup(cls.database.stop)
        cls.berth = OnDatabase(cls.cluster, cls.database)
        cls.addClassCleanup(cls.remove_apps)
        key = lambda: base64.b64encode(secrets.token_bytes(32)).decode()  # noqa: E731
        keys = {"data": key(), "session": [{"id": "1", "secret": key()}]}
        for name, values in (("berth-keys", {"keys.json": json.dumps(keys)}),
                             ("berth-database", {"password": cls.database.password}),
                             ("berth-database-ca", {"ca.crt": cls.database.certificate.read_text()})):
            cls.cluster.kubectl("create", "secret", "generic", name, "-n", NAMESPACE,
                                *(f"--from-literal={file}={value}" for file, value in values.items()))
        cls.VALUES = {**chart.VALUES, "database": {
            "address": cls.database.address, "passwordSecret": "berth-database", "caSecret": "berth-database-ca",
            "keysSecret": "berth-keys", "replicas": REPLICAS}}

    @classmethod
    def remove_apps(cls):
        """Removes the namespaces of apps, which stay if a test fails. Nobody makes them again, because the release is
        removed first."""
        cls.helm("uninstall", RELEASE, "--ignore-not-found", "--wait", "--timeout", LIMIT)
        instance = cls.berth.instance()
        cls.cluster.kubectl("delete", "namespaces", "--wait=false", "-l", f"berth/instance in ({instance},{instance}-isolation)")

    def wait_for_all(self):
        eventually(lambda: len(self.berth.pods()) == REPLICAS, f"{REPLICAS} pods are ready", PATIENCE, seen=self.berth.pods)

    def test_1_an_api_server_accepts_the_chart(self):
        rendered = self.helm("template", "another", CHART, "-f", CHART / "ci/postgresql-values.yaml")
        answer = self.kubectl("apply", "--dry-run=server", "-f", "-", input=rendered)
        self.assertIn("deployment.apps/another-berth created (server dry run)", answer)
        self.assertNotIn("statefulset", answer)

    def test_2_all_pods_serve_and_one_leads(self):
        self.helm("install", RELEASE, CHART, "-f", self.values_file(), "--wait", "--timeout", LIMIT)
        self.berth.find()
        self.wait_for_all()
        self.assertTrue(self.berth.leader())
        self.assertEqual(len(self.berth.leaders()), 1)
        type(self).ada = Owner(self.berth, "ada")
        type(self).shop = self.ada.deploy("replicated")
        self.ada.wait(self.shop, "running")
        serves("replicated", "hello from a real container")
        for pod in self.berth.pods():
            url = f"http://{pod['status']['podIP']}:8080/api/deploy/apps/{self.shop}/status"
            self.assertEqual(self.berth.ask("GET", url, None, self.ada.token)["status"], "running", pod["metadata"]["name"])

    def test_3_an_upgrade_under_load_loses_nothing(self):
        before = {pod["metadata"]["uid"] for pod in self.berth.pods()}
        secret, minted = self.berth.secret(), self.berth.as_admin("GET", "/api/internal/treasury")["minted"]
        untouched = self.cluster.pods(self.shop)
        with Load(self.berth.url, secret) as load:
            load.wait_for(20)
            self.helm("upgrade", RELEASE, CHART, "-f",
                      self.values_file(config={**chart.VALUES["config"], "log-level": "debug"}), "--wait", "--timeout", LIMIT)
            load.wait_for(20)
        self.wait_for_all()
        self.assertFalse(before & {pod["metadata"]["uid"] for pod in self.berth.pods()})
        self.assertEqual(load.failures, [])
        self.assertEqual(self.berth.as_admin("GET", "/api/internal/treasury")["minted"] - minted, load.written)
        stored = self.database.ask(ROLE, "SELECT details::json ->> 'reason' FROM audit_log "
                                         f"WHERE details LIKE '%{load.mark}%'")
        self.assertEqual(sorted(stored), sorted(load.reasons))
        self.assertTrue(self.berth.leader())
        self.assertEqual(self.cluster.pods(self.shop), untouched)
        print(f"      upgrade: {load.summary()}", flush=True)

    def test_4_the_leader_dies_and_another_operators_deployment_is_created(self):
        ben = Owner(self.berth, "ben")
        dead = self.berth.leader()
        processes = processes_of(dead)
        self.assertTrue(processes, "the leader has no process")
        # As with its node, nothing more comes from it: it gives no Lease back and closes no connection.
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        began = time.monotonic()
        try:
            made = self.create(ben, "after-the-leader", began)
            answered = time.monotonic() - began
            exists = lambda: any(name.startswith("Deployment/") for name in self.cluster.of_deployment(made))  # noqa: E731
            eventually(exists, "the deployment is created", PATIENCE)
            created = time.monotonic() - began
        finally:
            for process in processes:
                os.kill(process, signal.SIGKILL)
        print(f"      the leader died: a new deployment was accepted after {answered:.1f} s, and created after {created:.1f} s",
              flush=True)
        self.assertLess(created, CREATED_WITHIN)
        ben.wait(made, "running")
        self.wait_for_all()
        self.assertNotEqual(self.berth.leader()["metadata"]["name"], dead["metadata"]["name"])
        ben.delete(made)
        eventually(lambda: not self.cluster.of_deployment(made), "nothing is left of it", PATIENCE)

    def create(self, operator, name, began):
        """Creates a deployment as a client does that sends what isn't answered again. Returns its id."""
        body = json.dumps({"name": name, "image": "127.0.0.1:5000/hello:1", "tier": "free"}).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": secrets.token_hex(8), **operator.token}
        while time.monotonic() - began < PATIENCE:
            request = urllib.request.Request(self.berth.url + "/api/deploy/apps", body, headers)
            try:
                with urllib.request.urlopen(request, timeout=ASK_AGAIN) as answer:
                    return json.load(answer)["id"]
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    raise
                time.sleep(0.2)
            except OSError:  # no answer in time, or no connection
                pass
        return self.fail("no berthd accepts a deployment")

    def test_5_one_pod_may_be_evicted_at_a_time(self):
        def evict(pod):
            name = pod["metadata"]["name"]
            eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
            try:
                self.kubectl("create", "--raw", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/eviction", "-f", "-",
                             input=json.dumps(eviction))
                return EVICTED
            except RuntimeError as refused:
                return str(refused)
        self.wait_for_all()
        first, second, _ = self.berth.pods()
        self.assertEqual(evict(first), EVICTED)
        self.assertIn("disruption budget", evict(second))
        self.wait_for_all()
        self.assertNotIn(first["metadata"]["uid"], {pod["metadata"]["uid"] for pod in self.berth.pods()})

    def test_6_removal_leaves_the_database_and_what_runs(self):
        self.uninstall()
        serves("replicated", "hello from a real container")
        self.install_again_and_delete()
