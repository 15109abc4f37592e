"""Tests of the chart: it installs the image that `make image` builds, with the rights of its own service account."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from . import chart
from .berthd import PATIENCE, ROOT
from .chart import BETWEEN, CHART, LIMIT, RELEASE, Installed, Owner
from .cluster import REGISTRY, SCRIPT, Cluster, run, serves
from .load import Load
from .waiting import eventually

NAMESPACE = "berth-e2e-chart"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
INSTALLED = "statefulset/" + RELEASE
PRETENDED = "pretended"  # kwok's node, which only claims to run its pods
DEAD_AFTER = 120  # seconds; the controllers wait 50 for a node, and look for what is left on it every 20
PERFECT = 10  # kube-score's best grade

VALUES = {
    **chart.VALUES,
    "persistence": {"storageClass": NAMESPACE, "size": "1Gi"},
    "test": {"image": f"{REGISTRY}/probe:2"},
}


# What kube-score finds in the chart, and why it stays.
EXCEPTIONS = {
    ("StatefulSet", "container-image-pull-policy"): "images are named by version; who names one that moves sets pullPolicy",
    ("StatefulSet", "container-resources"): "no limit of CPU: a berthd that is slowed down renews its Lease late",
    ("Pod", "container-image-pull-policy"): "the test's image is named by version",
    ("Pod", "pod-networkpolicy"): "the test's pod lives for seconds and asks berthd only; networkPolicy admits it there",
}


class OnVolume(Installed):
    """A berthd whose database is a file in a volume, which is a folder of this machine."""

    def __init__(self, cluster, data):
        super().__init__(cluster, NAMESPACE)
        self.data = data

    def find(self):
        """Finds the addresses of the Service and of the pod; an upgrade replaces the pod."""
        status = lambda: self.cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{RELEASE}-0")["status"]  # noqa: E731
        eventually(lambda: "podIP" in status(), "the pod has an address", PATIENCE, seen=status)
        self.metrics_url = f"http://{status()['podIP']}:9090"
        super().find()

    def instance(self):
        return self.rows("SELECT value FROM meta WHERE key = 'instance'")[0][0]

    def verify(self, username):
        self.rows("UPDATE users SET email_verified_at = created_at WHERE username_key = ?", username)

    def rows(self, sql, *values):
        with contextlib.closing(sqlite3.connect(self.data / "berth.db", timeout=PATIENCE)) as database, database:
            return database.execute(sql, values).fetchall()


@unittest.skipUnless(os.geteuid() == 0, "the files in the volume are for berthd's user and root alone")
class Helm(chart.ChartTest):
    NAMESPACE, INSTALLED, VALUES = NAMESPACE, INSTALLED, VALUES

    @classmethod
    def setUpClass(cls):
        cls.volume = Cluster().state / "volumes" / NAMESPACE
        cls.prepare()
        cls.make_volume()
        cls.push_probe()
        cls.berth = OnVolume(cls.cluster, cls.volume / "data")

    @classmethod
    def remove(cls):
        database = cls.volume / "data/berth.db"
        if database.exists():
            instance = OnVolume(cls.cluster, cls.volume / "data").instance()
            cls.cluster.kubectl("delete", "namespaces", "--wait=false", "-l", f"berth/instance in ({instance},{instance}-isolation)")
        super().remove()
        cls.cluster.kubectl("delete", "persistentvolume", NAMESPACE, "--ignore-not-found")
        cls.cluster.kubectl("delete", "storageclass", NAMESPACE, "--ignore-not-found")
        shutil.rmtree(cls.volume, ignore_errors=True)

    @classmethod
    def make_volume(cls):
        """Makes a volume from a folder of the node. It belongs to root; the chart has to make it writable for berthd
        (fsGroup)."""
        cls.volume.mkdir(parents=True)
        meta = {"metadata": {"name": NAMESPACE}}
        storage_class = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", **meta,
                         "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node1", PRETENDED]}
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", **meta, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": NAMESPACE,
            "persistentVolumeReclaimPolicy": "Retain", "local": {"path": str(cls.volume)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}}}
        for item in (storage_class, volume):
            cls.cluster.kubectl("apply", "-f", "-", input=json.dumps(item))

    @classmethod
    def push_probe(cls):
        """Pushes an image for the chart's own test. It contains this machine's shell and curl, because the wget of a
        static busybox crashes, and its shell can't run another one."""
        folder = pathlib.Path(cls.folder.name) / "probe"
        libraries = [word for line in run("ldd", "/usr/bin/curl", "/bin/dash").splitlines() for word in line.split()
                     if word.startswith("/") and not word.endswith(":")]
        for file in ("/usr/bin/curl", "/bin/dash", "/bin/busybox", *libraries):
            (folder / file[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder / file[1:])
        (folder / "bin/sh").symlink_to("dash")
        for name in ("grep", "seq", "sleep"):
            (folder / "bin" / name).symlink_to("busybox")
        wget = folder / "bin/wget"
        wget.write_text('#!/bin/sh\nfor url; do :; done\nexec /usr/bin/curl -fsS -m 5 "$url"\n')
        wget.chmod(0o755)
        run(SCRIPT, "image", "probe:2", folder, "/bin/sh")

    def may(self, verb, what, *words):
        said = self.cluster.kubectl("auth", "can-i", verb, *what.split(), f"--as={ACCOUNT}", *words, check=False)
        return {"yes": True, "no": False}[said.strip().splitlines()[-1]]

    def test_1_an_api_server_accepts_the_chart(self):
        for name in ("test", "everything"):
            values = CHART / f"ci/{name}-values.yaml"
            self.helm("lint", CHART, "--strict", "-f", values)
            # This cluster doesn't know the Prometheus operator's kinds.
            rendered = self.helm("template", "another", CHART, "-f", values,
                                 "--set", "metrics.serviceMonitor.enabled=false,metrics.prometheusRule.enabled=false")
            answer = self.kubectl("apply", "--dry-run=server", "-f", "-", input=rendered)
            self.assertIn("statefulset.apps/another-berth created (server dry run)", answer)
        monitor = self.helm("template", "another", CHART, "-f", CHART / "ci/everything-values.yaml",
                            "--show-only", "templates/servicemonitor.yaml")
        self.assertIn("app.kubernetes.io/component: metrics", monitor)
        plain = run(ROOT / "scripts/yaml.sh", CHART / "ci/test-values.yaml", NAMESPACE)
        self.assertNotIn("kind: Secret", plain)
        self.assertIn("statefulset.apps/berth created", self.kubectl("apply", "--dry-run=server", "-f", "-", input=plain))

    def test_1_a_checker_of_charts_finds_only_what_is_meant(self):
        rendered = self.helm("template", RELEASE, CHART, "-f", CHART / "ci/everything-values.yaml")
        # It ends with 1 if it has findings, and prints nothing but JSON.
        scored = subprocess.run([self.cluster.state / "tools/kube-score", "score", "-", "--output-format=json"],
                                input=rendered, capture_output=True, text=True, check=False)
        objects = json.loads(scored.stdout)
        self.assertIn("StatefulSet", {one["type_meta"]["kind"] for one in objects})
        found = {(one["type_meta"]["kind"], check["check"]["id"]): check["comments"]
                 for one in objects for check in one["checks"]
                 if not check["skipped"] and check["grade"] < PERFECT}
        self.assertEqual({key: found[key] for key in found if key not in EXCEPTIONS}, {})
        self.assertEqual(EXCEPTIONS.keys() - found.keys(), set(), "these exceptions aren't needed any more")

    def test_2_what_is_missing_or_wrong_is_named(self):
        for setting, said in (("image.repository=", "image.repository"), ("baseUrl=", "baseUrl"), ("baseUrl=http://berth.example.org", "baseUrl"), ("appsDomain=", "appsDomain"),
                              ("service.type=Public", "service/type"), ("replicas=2", "replicas"),
                              ("config.listen=0.0.0.0:1", "config.listen is set by the chart")):
            with self.assertRaises(RuntimeError) as failure:
                self.helm("template", CHART, "-f", CHART / "ci/test-values.yaml", "--set", setting)
            self.assertIn(said, str(failure.exception))

    def test_3_it_installs_and_becomes_ready(self):
        notes = self.helm("install", RELEASE, CHART, "-f", self.values_file(), "--wait", "--timeout", LIMIT)
        self.assertIn(f"data-{RELEASE}-0", notes)
        self.berth.find()
        eventually(lambda: "[+]leader ok" in self.berth.ready()[1], "it leads", PATIENCE, seen=self.berth.ready)
        # The probe runs with the chart's rights and image; once it is over, nothing else is written by itself.
        eventually(lambda: self.berth.health()["isolation"]["state"] == "proven", "isolation is proven", 240, pause=BETWEEN,
                   seen=lambda: self.berth.as_admin("GET", "/api/internal/isolation"))
        self.assertIn("Phase:          Succeeded", self.helm("test", RELEASE, "--logs", "--timeout", LIMIT))
        self.assertEqual(self.berth.health()["kubernetes"], "connected")
        pod = self.cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{RELEASE}-0")
        self.assertEqual(pod["status"]["qosClass"], "Burstable")
        security = pod["spec"]["containers"][0]["securityContext"]
        self.assertTrue(security["readOnlyRootFilesystem"])
        self.assertEqual(self.volume.stat().st_gid, 65532)
        self.assertEqual((self.volume / "data/keys.json").stat().st_mode & 0o777, 0o600)
        self.assertEqual((self.volume / "data/keys.json").stat().st_uid, 65532)

    def test_4_an_app_is_deployed_with_these_rights_and_no_others(self):
        type(self).ada = Owner(self.berth, "ada")
        type(self).shop = self.ada.deploy("charted")
        self.ada.wait(self.shop, "running")
        serves("charted", "hello from a real container")
        gone = self.ada.deploy("short-lived")
        self.ada.wait(gone, "running")
        self.ada.delete(gone)
        eventually(lambda: not self.cluster.of_deployment(gone), "nothing is left of it", PATIENCE,
                   seen=lambda: self.cluster.of_deployment(gone))
        self.assertNotIn('code="403"', self.berth.metrics())
        self.assertNotIn("forbidden", self.kubectl("logs", INSTALLED).lower())
        for verb, what in (("create", "namespaces"), ("delete", "namespaces"), ("watch", "ingresses.networking.k8s.io")):
            self.assertTrue(self.may(verb, what, "-A"), f"{verb} {what}")
        for verb, what in (("patch", "deployments.apps"), ("create", "secrets"), ("list", "events"), ("create", "jobs.batch")):
            self.assertTrue(self.may(verb, what, "-n", self.ada.namespace), f"{verb} {what}")
            self.assertFalse(self.may(verb, what, "-n", "kube-system"), f"{verb} {what}")
        for verb in ("get", "list", "watch"):
            self.assertFalse(self.may(verb, "secrets", "-n", self.ada.namespace), verb)
        self.assertTrue(self.may("update", "leases.coordination.k8s.io", "-n", NAMESPACE))
        for verb, what in (("create", "pods"), ("create", "pods --subresource=exec"), ("get", "nodes"), ("list", "configmaps"),
                           ("update", "deployments.apps"), ("delete", "serviceaccounts"), ("create", "daemonsets.apps"), ("create", "cronjobs.batch"),
                           ("create", "clusterrolebindings.rbac.authorization.k8s.io"), ("list", "roles.rbac.authorization.k8s.io"),
                           ("get", "leases.coordination.k8s.io"), ("create", "serviceaccounts --subresource=token"), ("delete", "persistentvolumeclaims"),
                           ("impersonate", "users"), ("*", "*")):
            self.assertFalse(self.may(verb, what, "-n", "kube-system"), f"{verb} {what}")

    def test_5_an_upgrade_under_load_loses_nothing(self):
        self.replace_under_load("upgrade", RELEASE, CHART, "-f",
                                self.values_file(config={**VALUES["config"], "log-level": "debug"}))
        self.assertIn('"level":"debug"', self.kubectl("logs", INSTALLED, "--tail=2000"))

    def test_6_a_rollback_under_load_loses_nothing(self):
        self.replace_under_load("rollback", RELEASE, "1")

    def replace_under_load(self, *words):
        before = self.cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{RELEASE}-0")["metadata"]["uid"]
        secret, minted = self.berth.secret(), self.berth.as_admin("GET", "/api/internal/treasury")["minted"]
        untouched = self.cluster.pods(self.shop)
        with Load(self.berth.url, secret) as load:
            load.wait_for(20)
            self.helm(*words, "--wait", "--timeout", LIMIT)
            load.wait_for(20)
        self.berth.find()
        self.assertNotEqual(self.cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{RELEASE}-0")["metadata"]["uid"], before)
        self.assertEqual(load.failures, [])
        self.assertEqual(self.berth.secret(), secret)
        self.assertEqual(self.berth.as_admin("GET", "/api/internal/treasury")["minted"] - minted, load.written)
        stored = [row[0] for row in self.berth.rows("SELECT json_extract(details, '$.reason') FROM audit_log "
                                                    "WHERE details LIKE ?", f"%{load.mark}%")]
        self.assertEqual(sorted(stored), sorted(load.reasons))
        self.assertEqual([app["id"] for app in self.ada.ask("GET")["deployments"]], [self.shop])
        # The new pod leads as soon as it runs, and has nothing to do.
        eventually(lambda: "[+]leader ok" in self.berth.ready()[1], "it leads", 5, seen=self.berth.ready)
        self.assertEqual(self.cluster.pods(self.shop), untouched)
        self.assertEqual(self.berth.write_requests(), 0)
        print(f"      {words[0]}: {load.summary()}", flush=True)

    def test_7_a_node_dies_and_one_command_moves_berthd(self):
        # The pod moves to a node that kwok pretends, since the real one takes no new pods while kwok runs.
        self.cluster.start_part("kwok")
        self.addCleanup(self.cluster.stop_part, "kwok")
        self.helm("upgrade", RELEASE, CHART, "-f", self.values_file(nodeSelector={"kubernetes.io/os": "linux"}), "--wait",
                  "--timeout", LIMIT)
        self.assertEqual(self.node_of_pod(), PRETENDED)
        process = int((self.cluster.state / "run/kwok.pid").read_text().split()[0])
        os.kill(process, signal.SIGKILL)
        self.cluster.kubectl("uncordon", "node1")
        ready = lambda: self.condition_of_node()["status"]  # noqa: E731
        silent = eventually(lambda: ready() == "Unknown", "the node counts as dead", DEAD_AFTER, pause=1, seen=ready)
        self.assertEqual(self.node_of_pod(), PRETENDED)
        began = time.monotonic()
        self.cluster.kubectl("taint", "node", PRETENDED, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
        eventually(lambda: self.node_of_pod() == "node1", "the pod moves", DEAD_AFTER, seen=self.node_of_pod, pause=1)
        self.kubectl("rollout", "status", INSTALLED, f"--timeout={LIMIT}", limit=DEAD_AFTER)
        self.berth.find()
        self.assertEqual([app["id"] for app in self.ada.ask("GET")["deployments"]], [self.shop])
        eventually(lambda: "[+]leader ok" in self.berth.ready()[1], "it leads", PATIENCE, seen=self.berth.ready)
        print(f"      the node counts as dead after {silent:.0f} s; {time.monotonic() - began:.0f} s after the command berthd "
              "serves and leads again", flush=True)
        serves("charted", "hello from a real container")

    def test_8_removal_leaves_what_the_notes_say(self):
        lease = f"berth-{self.berth.instance()}"
        self.uninstall()
        left = self.cluster.names("statefulsets.apps,services,configmaps,secrets,persistentvolumeclaims,leases.coordination.k8s.io",
                                  f"--field-selector=metadata.namespace={NAMESPACE}")
        self.assertEqual([name for name in left if "kube-root-ca.crt" not in name],
                         [f"Lease/{NAMESPACE}/{lease}", f"PersistentVolumeClaim/{NAMESPACE}/data-{RELEASE}-0"])
        self.assertEqual(self.cluster.names("clusterroles,clusterrolebindings", "-l", f"app.kubernetes.io/instance={RELEASE}"), [])
        serves("charted", "hello from a real container")
        self.install_again_and_delete()

    def node_of_pod(self):
        """Returns the name of the node that berthd's pod was given; nothing while there is no pod."""
        return self.kubectl("get", "pod", f"{RELEASE}-0", "--ignore-not-found", "-o", "jsonpath={.spec.nodeName}").strip()

    def condition_of_node(self):
        conditions = self.cluster.get(f"/api/v1/nodes/{PRETENDED}")["status"]["conditions"]
        return next(one for one in conditions if one["type"] == "Ready")
