"""Tests of an API server that stops, comes back, or loses its history."""
import signal
import time

from .cluster import flags_of, serves
from .proxy import Proxy
from .waiting import eventually
from .world import World

OUTAGE = 30   # seconds
SHORT = 8     # seconds; longer than berthd's pauses get meanwhile
RETURN = 60  # seconds until a cluster with restarted parts runs a new pod


class Outages(World):
    def test_1_an_api_server_that_is_down(self):
        old = self.ada.deploy("old")
        self.ada.wait(old, "running")
        self.addCleanup(self.cluster.start_part, "apiserver")
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
        self.wake_the_others()
        self.ada.wait(new, "running", RETURN)
        serves("new", "hello from a real container", RETURN)
        self.ada.delete(old)
        self.ada.delete(new)

    def wake_the_others(self):
        """Restarts the cluster's other components, which otherwise take up to two minutes to reconnect to an API server
        that was down. Traefik comes last: it reaches the API server through kube-proxy's rules for the Service `kubernetes`,
        whose endpoint the API server removed when it stopped, and answers 404 for every host until then."""
        for part in ("controller-manager", "scheduler", "network-policies", "kubelet", "kube-proxy", "traefik"):
            self.addCleanup(self.cluster.start_part, part)  # whatever happens here, other tests follow
            self.cluster.stop_part(part)
            self.cluster.start_part(part)

    def check_that_it_serves(self):
        status, body = self.berthd.ready()
        self.assertEqual(status, 200)  # the database accepts writes
        self.assertIn("[+]database ok", body)
        self.assertIn("[-]kubernetes failed", body)
        health = self.berthd.health()
        self.assertEqual((health["status"], health["kubernetes"]), ("degraded", "unreachable"))
        self.assertTrue(self.ada.ask("GET")["deployments"])


class Lost(World):
    """Tests in which the cluster works but berthd can't reach it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy = Proxy(cls.cluster)
        cls.addClassCleanup(cls.proxy.__exit__)
        cls.berthd.kill()
        cls.berthd.cluster_flags = flags_of(cls.proxy.kubeconfig)
        cls.berthd.start()

    def policy(self):
        return self.cluster.get(f"/apis/networking.k8s.io/v1/namespaces/{self.ada.namespace}/networkpolicies/tenant")

    def test_1_history_that_is_compacted_away(self):
        shop = self.ada.deploy("forgotten")
        self.ada.wait(shop, "running")
        # While berthd sleeps, more changes happen than the API server remembers afterwards.
        self.berthd.send(signal.SIGSTOP)
        try:
            self.proxy.cut()
            self.cluster.kubectl("delete", "networkpolicy", "tenant", "-n", self.ada.namespace)
            self.cluster.kubectl("create", "configmap", "noise", "-n", self.ada.namespace)
            self.cluster.compact_history()
            listed = self.lists()
        finally:
            self.berthd.send(signal.SIGCONT)
        eventually(self.policy, "the network policy is there again", 30)
        self.assertGreater(self.lists(), listed)
        second = self.ada.deploy("remembered")
        self.ada.wait(second, "running")
        serves("remembered", "hello from a real container")
        self.ada.delete(shop)
        self.ada.delete(second)

    def lists(self):
        """Returns how often the API server was asked for a list of network policies."""
        text = self.cluster.kubectl("get", "--raw", "/metrics")
        return sum(float(line.split()[-1]) for line in text.splitlines()
                   if line.startswith("apiserver_request_total{") and 'resource="networkpolicies"' in line and 'verb="LIST"' in line)

    def test_2_a_berthd_that_starts_without_a_cluster(self):
        self.proxy.close()
        self.addCleanup(lambda: self.proxy.is_open or self.proxy.open())
        self.berthd.kill()
        self.berthd.start()
        self.assertEqual(self.berthd.ready()[0], 200)
        shop = self.ada.deploy("early")
        eventually(lambda: self.ada.status(shop)["reason"] == "cluster_unreachable", "its owner knows", 15,
                   seen=lambda: self.ada.status(shop))
        self.assertEqual(self.ada.status(shop)["status"], "pending")
        time.sleep(SHORT)
        self.proxy.open()
        self.ada.wait(shop, "running")
        self.assertIsNone(self.ada.status(shop)["reason"])
        self.ada.delete(shop)

    def test_3_a_deployment_is_deleted_meanwhile(self):
        shop = self.ada.deploy("leaving")
        self.ada.wait(shop, "running")
        self.proxy.close()
        self.addCleanup(lambda: self.proxy.is_open or self.proxy.open())
        self.ada.delete(shop)
        time.sleep(SHORT)
        self.assertTrue(self.cluster.of_deployment(shop, "deployments.apps"))
        self.proxy.open()
        eventually(lambda: not self.cluster.of_deployment(shop), "nothing is left of it", 60,
                   seen=lambda: self.cluster.of_deployment(shop))
