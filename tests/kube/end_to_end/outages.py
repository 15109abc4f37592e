"""The API server goes and comes back, and forgets."""
import signal
import time

from .cluster import serves
from .waiting import eventually
from .world import World

OUTAGE = 30  # seconds
# Controllers, scheduler and kubelet wait for up to a minute, each for itself, before they ask an API server again that
# was down.
CLUSTER_COMES_BACK = 240  # seconds


class Outages(World):
    def setUp(self):
        self.addCleanup(self.cluster.start_part, "apiserver")

    def test_1_an_api_server_that_is_down(self):
        old = self.ada.deploy("old")
        self.ada.wait(old, "running")
        self.cluster.stop_part("apiserver")
        end = time.monotonic() + OUTAGE
        eventually(lambda: self.berthd.health()["kubernetes"] == "unreachable", "berthd knows", 15, seen=self.berthd.health)
        new = self.ada.deploy("new")
        while time.monotonic() < end:
            self.check_that_it_serves()
            time.sleep(1)
        self.assertEqual(self.ada.status(old)["status"], "running")
        eventually(lambda: self.ada.status(new)["reason"] == "cluster_unreachable", "the new one says why", 10,
                   seen=lambda: self.ada.status(new))
        serves("old", "hello from a real container")
        self.cluster.start_part("apiserver")
        eventually(lambda: self.berthd.health()["kubernetes"] == "connected", "berthd has its cluster", 60)
        self.assertEqual(self.berthd.health()["status"], "ok")
        eventually(lambda: self.cluster.of_deployment(new, "deployments.apps"), "berthd makes what was ordered", 60)
        self.ada.wait(new, "running", CLUSTER_COMES_BACK)
        serves("new", "hello from a real container", CLUSTER_COMES_BACK)
        self.ada.delete(old)
        self.ada.delete(new)

    def check_that_it_serves(self):
        status, body = self.berthd.ready()
        self.assertEqual(status, 200)  # the database takes writes
        self.assertIn("[+]database ok", body)
        self.assertIn("[-]kubernetes failed", body)
        health = self.berthd.health()
        self.assertEqual((health["status"], health["kubernetes"]), ("degraded", "unreachable"))
        self.assertTrue(self.ada.ask("GET")["deployments"])

    def test_2_history_that_is_compacted_away(self):
        shop = self.ada.deploy("forgotten")
        self.ada.wait(shop, "running")
        service = self.cluster.list("services", "-l", f"berth/deployment={shop}")[0]["metadata"]
        path = f"/api/v1/namespaces/{service['namespace']}/services/{service['name']}"
        # While berthd sleeps, more happens than anybody remembers afterwards.
        self.berthd.send(signal.SIGSTOP)
        try:
            self.cluster.kubectl("delete", "service", service["name"], "-n", service["namespace"])
            self.cluster.kubectl("create", "configmap", "noise", "-n", service["namespace"])
            self.cluster.kubectl("delete", "configmap", "noise", "-n", service["namespace"])
            self.cluster.stop_part("apiserver")
            self.cluster.compact_history()
            self.cluster.start_part("apiserver")
        finally:
            self.berthd.send(signal.SIGCONT)
        eventually(lambda: self.cluster.get(path) is not None, "the service is there again", 60)
        serves("forgotten", "hello from a real container", CLUSTER_COMES_BACK)
        second = self.ada.deploy("remembered")
        self.ada.wait(second, "running", CLUSTER_COMES_BACK)
        self.ada.delete(shop)
        self.ada.delete(second)

    def test_3_a_berthd_that_starts_without_a_cluster(self):
        self.cluster.stop_part("apiserver")
        self.berthd.kill()
        self.berthd.start()
        self.assertEqual(self.berthd.ready()[0], 200)
        shop = self.ada.deploy("early")
        self.assertIn(self.ada.status(shop)["status"], ("pending", "deploying"))
        self.cluster.start_part("apiserver")
        eventually(lambda: self.cluster.of_deployment(shop, "deployments.apps"), "berthd makes what was ordered", 60)
        self.ada.wait(shop, "running", CLUSTER_COMES_BACK)
        self.ada.delete(shop)
