"""Tests of a deployment's whole life, from the creation of an account to the removal of all objects."""
import json

from .cluster import REGISTRY, page, serves
from .waiting import eventually
from .world import World


class Life(World):
    def test_01_from_an_account_to_a_page(self):
        shop = self.ada.deploy("shop")
        seen = self.ada.wait(shop, "running")
        self.assertIsNone(seen["reason"])
        self.assertEqual(seen["health_status"], "healthy")
        serves("shop", "hello from a real container")
        pod = self.cluster.list("pods", "-l", f"berth/deployment={shop}")[0]
        self.assertEqual(pod["spec"]["securityContext"]["runAsUser"], 1000)
        self.assertEqual(pod["metadata"]["namespace"], self.ada.namespace)
        self.ada.delete(shop)

    def test_02_a_stopped_deployment_has_no_pod(self):
        shop = self.ada.deploy("halted")
        self.ada.wait(shop, "running")
        serves("halted", "hello from a real container")
        self.ada.stop(shop)
        eventually(lambda: not self.cluster.of_deployment(shop, "pods"), "no pod is left", 60)
        self.assertEqual(self.ada.status(shop)["status"], "stopped")
        self.assertNotEqual(page("halted")[0], 200)
        self.ada.restart(shop)
        self.ada.wait(shop, "running")
        serves("halted", "hello from a real container")
        self.ada.delete(shop)

    def test_03_a_restart_pulls_the_image_again(self):
        self.cluster.push_page("changing:1", "the first build")
        shop = self.ada.deploy("changing", f"{REGISTRY}/changing:1")
        self.ada.wait(shop, "running")
        serves("changing", "the first build")
        before = self.cluster.pods(shop)
        self.cluster.push_page("changing:1", "the second build, under the same tag")
        self.ada.restart(shop)
        self.ada.wait(shop, "running")
        serves("changing", "the second build, under the same tag")
        after = self.cluster.pods(shop)
        self.assertEqual(len(after), 1)
        self.assertNotEqual(before, after)
        self.ada.delete(shop)

    def test_04_variables_reach_the_container(self):
        shop = self.ada.deploy("coloured", env_vars={"COLOR": "blue"})
        self.ada.wait(shop, "running")
        pod = self.cluster.list("pods", "-l", f"berth/deployment={shop}")[0]["metadata"]["name"]
        seen = self.cluster.kubectl("exec", "-n", self.ada.namespace, pod, "--", "/bin/busybox", "env")
        self.assertIn("COLOR=blue", seen.splitlines())
        self.assertIn("PORT=3000", seen.splitlines())
        self.assertNotIn("blue", json.dumps(self.ada.ask("GET", f"/{shop}")))
        self.ada.delete(shop)

    def test_05_a_slow_start_is_no_failure(self):
        shop = self.ada.deploy("slow", f"{REGISTRY}/slow-start:1")
        seen = set()
        eventually(lambda: seen.add(self.ada.status(shop)["status"]) or "running" in seen, "it runs", 60, seen=lambda: seen)
        self.ada.delete(shop)
        self.assertNotIn("errored", seen)

    def test_06_deleting_leaves_nothing_and_the_name_is_free_at_once(self):
        first = self.ada.deploy("again")
        self.ada.wait(first, "running")
        self.assertEqual(self.ada.delete(first)["id"], first)
        second = self.ada.deploy("again")
        self.assertNotEqual(first, second)
        self.ada.wait(second, "running")
        serves("again", "hello from a real container")
        eventually(lambda: not self.cluster.of_deployment(first), "nothing is left of the first one", 60,
                   seen=lambda: self.cluster.of_deployment(first))
        self.ada.delete(second)
        instance = self.berthd.instance()
        eventually(lambda: not self.cluster.of_instance(instance), "nothing is left at all", 90,
                   seen=lambda: self.cluster.of_instance(instance))
        self.assertIsNone(self.cluster.get(f"/api/v1/namespaces/{self.ada.namespace}"))
        for deployment in (first, second):
            self.assertEqual(self.ada.status(deployment)["status"], "destroyed")
