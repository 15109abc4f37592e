"""Tests of deployments with several processes and several containers of each: visitors must notice nothing of their comings
and goings."""
import subprocess
import time

from .cluster import REGISTRY, serves
from .visitors import Visitors
from .waiting import eventually
from .world import World

FIRST, SECOND = "hello from a real container", "hello from the second version"
TIERS = ("[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 200, monthly-cost-points: 0, max-deployments: 10, "
         "auto-approve: true, max-replicas: 8}]")
WORK = ["/bin/busybox", "sh", "-c", "trap 'exit 0' TERM; while :; do echo working; sleep 1 & wait $!; done"]
DRAINED = 8  # seconds: preStop's, and some more, until a container's end would be noticed
LIMIT = 120


class Processes(World):
    flags = ("--tiers", TIERS)

    def pods(self, deployment, process):
        """Returns the names of the process' pods that aren't being deleted."""
        selector = f"berth/deployment={deployment},berth/process={process}"
        return {pod["metadata"]["name"] for pod in self.cluster.list("pods", "-l", selector)
                if "deletionTimestamp" not in pod["metadata"]}

    def is_well(self, deployment):
        seen = self.ada.status(deployment)
        return seen["status"] == "running" and seen["reason"] is None and not seen["phase"]

    def settles(self, deployment, **pods):
        eventually(lambda: self.is_well(deployment) and
                   all(len(self.pods(deployment, process)) == number for process, number in pods.items()),
                   f"{deployment} has {pods}", LIMIT, seen=lambda: (self.ada.status(deployment), self.instances(deployment)))

    def instances(self, deployment):
        return self.ada.ask("GET", f"/{deployment}/instances")["instances"]

    def change(self, deployment, **what):
        self.ada.ask("PATCH", f"/{deployment}", what)

    def budgets(self, deployment):
        return self.cluster.of_deployment(deployment, "poddisruptionbudgets.policy")

    def deployed(self, name, **more):
        deployment = self.ada.deploy(name, **more)
        self.addCleanup(self.ada.delete, deployment)
        self.ada.wait(deployment, "running", LIMIT)
        return deployment

    def test_1_a_worker_without_a_port_runs_beside_web(self):
        shop = self.deployed("crew", processes={"web": {}, "worker": {"command": WORK}})
        self.settles(shop, web=1, worker=1)
        serves("crew", FIRST)
        self.assertEqual({one["process"] for one in self.instances(shop)}, {"web", "worker"})
        self.assertEqual(self.budgets(shop), [])
        web, worker = self.pods(shop, "web"), self.pods(shop, "worker")
        self.change(shop, processes={"web": {}, "worker": {"command": WORK, "replicas": 2}})
        self.settles(shop, web=1, worker=2)
        self.assertEqual(self.pods(shop, "web"), web)
        self.assertLess(worker, self.pods(shop, "worker"))
        self.assertEqual(len(self.budgets(shop)), 1)
        # Only web gets requests: a worker would refuse them.
        with Visitors("crew", per_second=50) as visitors:
            time.sleep(5)
        visitors.check(self, FIRST)

    def test_2_a_worker_that_crashes_is_named(self):
        shop = self.deployed("falling", processes={"web": {}, "worker": {"command": WORK}})
        broken = ["/bin/busybox", "sh", "-c", "echo no queue; exit 3"]
        self.change(shop, processes={"web": {}, "worker": {"command": broken}})
        eventually(lambda: self.ada.status(shop)["reason"] == "rollout_failed", "the rollout has failed", LIMIT,
                   seen=lambda: self.ada.status(shop))
        seen = self.ada.status(shop)
        self.assertEqual((seen["status"], seen["cause"]), ("running", "crash_loop"))
        self.assertRegex(seen["message"], "^worker: .*code 3")
        serves("falling", FIRST)
        self.ada.ask("POST", f"/{shop}/rollback", {})
        self.settles(shop, web=1, worker=1)

    def test_3_three_containers_serve_while_they_come_and_go(self):
        shop = self.deployed("trio")
        first = self.pods(shop, "web")
        serves("trio", FIRST)  # the ingress controller takes a moment to learn of it
        with Visitors("trio") as visitors:
            self.change(shop, replicas=3)
            self.settles(shop, web=3)
            self.assertLess(first, self.pods(shop, "web"))
            self.assertEqual(len(self.budgets(shop)), 1)
            self.cluster.kubectl("delete", "pod", min(self.pods(shop, "web")), "-n", self.ada.namespace, "--wait=false")
            time.sleep(1)
            self.settles(shop, web=3)
            if hasattr(self.cluster, "crash"):
                # The ingress controller finds another container for a request that this one doesn't answer.
                self.cluster.crash(min(self.pods(shop, "web")))
                time.sleep(1)
                self.settles(shop, web=3)
            self.change(shop, image=f"{REGISTRY}/hello:2")
            self.settles(shop, web=3)
            self.change(shop, replicas=1)
            self.settles(shop, web=1)
            time.sleep(DRAINED)
        visitors.check(self, FIRST, SECOND)
        self.assertEqual(self.budgets(shop), [])
        served = [one for one in self.ada.ask("GET", f"/{shop}/logs")["logs"] if one["status"] == "failed"]
        self.assertEqual(served, [])

    def test_4_a_drained_node_fails_no_request(self):
        """Only for a cluster. Its single node takes new pods again as soon as `kubectl drain` has listed those to be evicted."""
        shop = self.deployed("moved", replicas=3)
        self.settles(shop, web=3)
        serves("moved", FIRST)
        before = self.pods(shop, "web")
        self.addCleanup(self.cluster.kubectl, "uncordon", "node1")
        with Visitors("moved") as visitors:
            drain = subprocess.Popen([str(self.cluster.state / "tools/kubectl"), "--kubeconfig", str(self.cluster.admin), "drain", "node1",
                                      "--pod-selector", f"berth/deployment={shop}", "--delete-emptydir-data", f"--timeout={LIMIT}s"],
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            eventually(lambda: self.pods(shop, "web") != before, "a pod is evicted", LIMIT)
            self.cluster.kubectl("uncordon", "node1")
            said, _ = drain.communicate(timeout=LIMIT + DRAINED)
            self.assertEqual(drain.returncode, 0, said)
            # The disruption budget lets one go at a time: the others have to be asked for again.
            self.assertIn("disruption budget", said)
            self.settles(shop, web=3)
            self.assertFalse(before & self.pods(shop, "web"))
            time.sleep(DRAINED)
        visitors.check(self, FIRST)
