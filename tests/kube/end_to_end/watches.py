"""Tests of watches that break: berth notices, lists what it missed, and makes no unnecessary write."""
import time

from .cluster import flags_of, serves
from .proxy import Proxy
from .waiting import eventually
from .world import World

KINDS = 10  # the kinds that berthd watches, each over its own connection
REPAIR = 10  # seconds, including the pause before a broken watch is resumed
SETTLE = 5  # seconds for the consequences of an interruption


class Watches(World):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy = Proxy(cls.cluster)
        cls.addClassCleanup(cls.proxy.__exit__)
        cls.berthd.kill()
        cls.berthd.cluster_flags = flags_of(cls.proxy.kubeconfig)
        cls.berthd.start()
        cls.shop = cls.ada.deploy("watched")
        cls.ada.wait(cls.shop, "running")

    def service(self):
        return next(iter(self.cluster.list("services", "-l", f"berth/deployment={self.shop}")), None)

    def delete_service(self):
        self.cluster.kubectl("delete", "service", self.service()["metadata"]["name"], "-n", self.ada.namespace)

    def test_1_watches_that_are_cut(self):
        time.sleep(SETTLE)
        written = len(self.cluster.writes(self.ada.namespace))
        for _ in range(3):
            opened = self.proxy.accepted
            self.assertGreaterEqual(self.proxy.cut(), KINDS)
            eventually(lambda: self.proxy.accepted >= opened + KINDS, "the watches are there again", 30,
                       seen=lambda: self.proxy.accepted - opened)
        time.sleep(SETTLE)
        self.assertEqual(self.cluster.writes(self.ada.namespace)[written:], [])
        self.assertEqual(self.berthd.health()["kubernetes"], "connected")
        self.assertEqual(self.ada.status(self.shop)["status"], "running")

    def test_2_a_change_is_noticed_afterwards(self):
        before = self.service()["metadata"]["uid"]
        self.proxy.cut()
        self.delete_service()
        eventually(lambda: (self.service() or {"metadata": {"uid": before}})["metadata"]["uid"] != before,
                   "the service is there again", REPAIR)
        serves("watched", "hello from a real container")

    def test_3_a_deployment_that_is_made_while_connections_break(self):
        second = self.ada.deploy("shaken")
        for _ in range(5):
            self.proxy.cut()
            time.sleep(0.3)
        self.ada.wait(second, "running")
        serves("shaken", "hello from a real container")
        self.ada.delete(second)
