"""Tests of another size for running containers: where the cluster can, they get it without being replaced."""
import time

from .cluster import serves
from .visitors import Visitors
from .waiting import eventually
from .world import World

HELLO = "hello from a real container"
TIERS = ("[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 200, monthly-cost-points: 0, max-deployments: 10, "
         "auto-approve: true, max-replicas: 8}, {slug: more, name: More, memory-mb: 128, cpu-millicores: 400, "
         "monthly-cost-points: 0, max-deployments: 10, auto-approve: true, max-replicas: 8}]")
MIB = 1024 * 1024
# Takes 40 MiB and keeps them.
HUNGRY = ["/bin/busybox", "sh", "-c", "x=$(head -c 41943040 /dev/zero | tr '\\0' x); while :; do sleep 1; done"]
LIMIT = 120


class Resize(World):
    flags = ("--tiers", TIERS)

    def pods(self, deployment, process="web"):
        selector = f"berth/deployment={deployment},berth/process={process}"
        return {pod["metadata"]["name"]: pod for pod in self.cluster.list("pods", "-l", selector)
                if "deletionTimestamp" not in pod["metadata"]}

    def settles(self, deployment):
        eventually(lambda: (lambda seen: seen["status"] == "running" and not seen["phase"] and seen["reason"] is None)(
            self.ada.status(deployment)), f"{deployment} is at rest", LIMIT, seen=lambda: self.ada.status(deployment))

    def deployed(self, name, **more):
        deployment = self.ada.deploy(name, **more)
        self.addCleanup(self.ada.delete, deployment)
        self.ada.wait(deployment, "running", LIMIT)
        self.settles(deployment)
        return deployment

    def change(self, deployment, **what):
        answer = self.ada.ask("PATCH", f"/{deployment}", what)
        self.assertIsNone(answer["resized"])
        self.settles(deployment)
        return self.ada.ask("GET", f"/{deployment}")["resized"]

    def limits(self, pod):
        """What the kubelet says that the container has."""
        return pod["status"]["containerStatuses"][0]["resources"]["limits"]

    def test_1_a_larger_and_a_smaller_tier_replace_no_container(self):
        shop = self.deployed("sized", replicas=2)
        before = set(self.pods(shop))
        serves("sized", HELLO)
        with Visitors("sized") as visitors:
            self.assertEqual(self.change(shop, tier="more"), "in_place")
            for pod in self.pods(shop).values():
                self.assertEqual((self.limits(pod)["memory"], self.limits(pod)["cpu"]), ("128Mi", "400m"))
                self.assertEqual(pod["status"]["containerStatuses"][0]["restartCount"], 0)
            self.assertEqual(set(self.pods(shop)), before)
            self.assertEqual(self.change(shop, tier="free"), "in_place")
            self.assertEqual({self.limits(pod)["memory"] for pod in self.pods(shop).values()}, {"64Mi"})
            self.assertEqual(set(self.pods(shop)), before)
            time.sleep(1)
        visitors.check(self, HELLO)
        entry = self.ada.ask("GET", f"/{shop}/logs")["logs"][-1]
        self.assertEqual((entry["status"], entry["details"]["resized"]), ("succeeded", "in_place"))

    def test_2_one_that_comes_later_has_the_size_of_the_others(self):
        shop = self.deployed("joined")
        before = set(self.pods(shop))
        self.assertEqual(self.change(shop, tier="more"), "in_place")
        self.ada.ask("PATCH", f"/{shop}", {"replicas": 3})

        def memory(pod):
            status = pod["status"].get("containerStatuses", [{}])[0]
            return status.get("resources", {}).get("limits", {}).get("memory")
        eventually(lambda: [memory(pod) for pod in self.pods(shop).values()] == ["128Mi"] * 3,
                   "all three have the larger size", LIMIT, seen=lambda: self.pods(shop))
        self.settles(shop)
        self.assertLess(before, set(self.pods(shop)))

    def test_3_memory_that_is_in_use_isnt_taken_away(self):
        shop = self.deployed("hungry", tier="more", processes={"web": {}, "worker": {"command": HUNGRY}})
        web, worker = set(self.pods(shop)), set(self.pods(shop, "worker"))
        time.sleep(5)  # until it has taken its memory
        # A kubelet may refuse to lower the limit, or find that it is in use: both replace the containers.
        self.ada.ask("PATCH", f"/{shop}", {"processes": {"web": {}, "worker": {"command": HUNGRY, "memory_mb": 16}}})
        eventually(lambda: self.ada.ask("GET", f"/{shop}")["resized"] == "rollout", "the containers are replaced",
                   LIMIT, seen=lambda: self.ada.status(shop))
        eventually(lambda: worker.isdisjoint(set(self.pods(shop, "worker"))) or
                   self.ada.status(shop)["reason"] == "rollout_failed", "another worker", LIMIT,
                   seen=lambda: self.ada.status(shop))
