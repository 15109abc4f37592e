"""Tests that berth leaves correct objects alone and repairs changed ones."""
import time

from .cluster import serves
from .waiting import eventually
from .world import World

REPAIR = 2   # seconds
QUIET = 60  # seconds of watching
SETTLE = 10  # seconds for the consequences of a change


class Steady(World):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shop = cls.ada.deploy("steady")
        cls.ada.wait(cls.shop, "running")

    def path(self, group, kind):
        items = self.cluster.list(kind, "-l", f"berth/deployment={self.shop}")
        self.assertEqual(len(items), 1)
        return f"{group}/namespaces/{self.ada.namespace}/{kind.split('.')[0]}/{items[0]['metadata']['name']}"

    def test_1_replicas_that_somebody_changes(self):
        path = self.path("/apis/apps/v1", "deployments.apps")
        before = self.cluster.get(path)["metadata"]["generation"]
        self.cluster.kubectl("scale", "deployment", path.split("/")[-1], "--replicas=3", "-n", self.ada.namespace)
        # The change and its repair are two generations.
        eventually(lambda: self.cluster.get(path)["metadata"]["generation"] >= before + 2, "somebody repairs", REPAIR)
        self.assertEqual(self.cluster.get(path)["spec"]["replicas"], 1)
        eventually(lambda: len(self.cluster.pods(self.shop)) == 1, "one pod is left", 30)
        self.ada.wait(self.shop, "running")

    def test_2_a_service_that_somebody_deletes(self):
        path = self.path("/api/v1", "services")
        before = self.cluster.get(path)["metadata"]["uid"]
        self.cluster.kubectl("delete", "service", path.split("/")[-1], "-n", self.ada.namespace)
        eventually(lambda: (self.cluster.get(path) or {"metadata": {"uid": before}})["metadata"]["uid"] != before,
                   "the service is there again", REPAIR)
        serves("steady", "hello from a real container")

    def test_3_nothing_to_do_writes_nothing(self):
        self.ada.wait(self.shop, "running")
        time.sleep(SETTLE)
        counted, arrived = self.berthd.write_requests(), len(self.cluster.writes(self.ada.namespace))
        self.assertGreater(counted, 0)
        self.assertGreater(arrived, 0)
        time.sleep(QUIET)
        self.assertEqual(self.berthd.write_requests(), counted)
        self.assertEqual(self.cluster.writes(self.ada.namespace)[arrived:], [])

    def test_4_a_restart_writes_nothing(self):
        arrived = len(self.cluster.writes(self.ada.namespace))
        self.assertEqual(self.berthd.terminate(), 0)
        self.berthd.start()
        eventually(lambda: self.berthd.health()["kubernetes"] == "connected", "berthd has its cluster", 30)
        time.sleep(SETTLE)
        self.assertEqual(self.berthd.write_requests(), 0)
        self.assertEqual(self.cluster.writes(self.ada.namespace)[arrived:], [])
        self.assertEqual(self.ada.status(self.shop)["status"], "running")
