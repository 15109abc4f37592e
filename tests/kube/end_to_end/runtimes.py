"""What keeps a container apart from the machine's kernel: a user namespace, or gVisor; and how long its start takes."""
import json
import re
import subprocess
import time
import unittest

from .berthd import PATIENCE
from .cluster import REGISTRY, Cluster
from .waiting import eventually

NAMESPACE = "berth-e2e-runtimes"
STARTS = 3  # of each kind, of which the median is told
HELD = 5  # seconds for which a drill keeps what it took
KINDS = {"plain": {}, "user namespace": {"hostUsers": False}, "gVisor": {"runtimeClassName": "gvisor"}}
SECURE = {"runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
          "seccompProfile": {"type": "RuntimeDefault"}}


class Runtimes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.kubectl("create", "namespace", NAMESPACE)
        cls.addClassCleanup(cls.kubectl, "delete", "namespace", NAMESPACE, "--wait=false")
        eventually(lambda: cls.cluster.get(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"), "the namespace has an account",
                   PATIENCE)

    @classmethod
    def kubectl(cls, *words, **options):
        return cls.cluster.kubectl(*words, **options)

    def start(self, name, **spec):
        """Starts a pod. Returns after how many seconds it was ready."""
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE},
               "spec": {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0, **spec,
                        "containers": [{"name": "app", "image": f"{REGISTRY}/stranger:1", "securityContext": SECURE,
                                        "resources": {"limits": {"memory": "128Mi"}}}]}}
        self.kubectl("create", "-f", "-", input=json.dumps(pod))
        began = time.monotonic()
        seen = lambda: self.cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")["status"]  # noqa: E731
        eventually(lambda: seen()["phase"] == "Running", f"{name} runs", PATIENCE, seen=seen, pause=0.02)
        return time.monotonic() - began

    def inside(self, pod, *command):
        return self.kubectl("exec", "-n", NAMESPACE, pod, "--", *command)

    def test_1_the_time_to_start_a_container(self):
        for kind, spec in KINDS.items():
            times = []
            for number in range(STARTS + 1):  # the first one pulls the image
                name = f"start-{kind.lower().replace(' ', '-')}-{number}"
                times.append(self.start(name, **spec))
                self.kubectl("delete", "pod", "-n", NAMESPACE, name, "--wait=false")
            print(f"      {kind}: {sorted(times[1:])[STARTS // 2]:.2f} s from the pod's creation until its container runs", flush=True)

    def test_2_they_are_what_they_should_be(self):
        for kind, spec in KINDS.items():
            self.start("is-" + kind.lower().replace(" ", "-"), **spec)
        host_users = [line.split()[1] for line in (self.inside(f"is-{kind}", "/bin/busybox", "cat", "/proc/self/uid_map")
                                                   for kind in ("plain", "user-namespace"))]
        self.assertEqual(host_users[0], "0")
        self.assertGreaterEqual(int(host_users[1]), 65536)
        self.assertIn("gVisor", self.inside("is-gvisor", "/bin/busybox", "dmesg"))

    def test_3_inotify(self):
        """Whether one container can take all instances away from another of the same kind."""
        left = {}
        for kind, spec in KINDS.items():
            one, other = (f"{who}-{kind.lower().replace(' ', '-')}" for who in ("taker", "victim"))
            self.start(one, **spec)
            self.start(other, **spec)
            taker = subprocess.Popen([str(self.cluster.state / "tools/kubectl"), "--kubeconfig", str(self.cluster.admin), "exec", "-n",
                                      NAMESPACE, one, "--", "/bin/drill", "inotify", str(HELD)], stdout=subprocess.PIPE, text=True)
            taken = taker.stdout.readline().strip()
            meanwhile = self.inside(other, "/bin/drill", "inotify", "0").strip()
            taker.communicate(timeout=PATIENCE)
            left[kind] = int(re.search(r"\d+", meanwhile)[0])
            print(f"      {kind}: one container's {taken}; meanwhile another one's {meanwhile}", flush=True)
        self.assertGreater(left["gVisor"], 0)
