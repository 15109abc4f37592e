"""Tests of a namespace whose deletion doesn't finish."""
from .cluster import serves
from .waiting import eventually
from .world import World


class Namespaces(World):
    def namespace(self):
        return self.cluster.get(f"/api/v1/namespaces/{self.ada.namespace}")

    def hold(self):
        """Creates an object with a finalizer that nobody removes."""
        self.cluster.kubectl("create", "configmap", "held", "-n", self.ada.namespace)
        self.finalizers('["example.org/held"]')

    def finalizers(self, text):
        self.cluster.kubectl("patch", "configmap", "held", "-n", self.ada.namespace, "--type=merge", "-p",
                             '{"metadata": {"finalizers": %s}}' % text)

    def test_a_namespace_that_is_stuck_in_terminating(self):
        first = self.ada.deploy("former")
        self.ada.wait(first, "running")
        uid = self.namespace()["metadata"]["uid"]
        self.hold()
        self.addCleanup(lambda: self.cluster.get(f"/api/v1/namespaces/{self.ada.namespace}/configmaps/held")
                        and self.finalizers("null"))
        self.ada.delete(first)
        eventually(lambda: self.namespace()["status"]["phase"] == "Terminating", "it is on its way out", 60)
        second = self.ada.deploy("former")
        eventually(lambda: self.ada.status(second)["phase"] == "waiting for namespace", "its owner knows", 30,
                   seen=lambda: self.ada.status(second))
        self.assertIn(self.ada.status(second)["status"], ("pending", "deploying"))
        self.assertEqual(self.namespace()["metadata"]["uid"], uid)
        self.finalizers("null")
        self.ada.wait(second, "running")
        self.assertNotEqual(self.namespace()["metadata"]["uid"], uid)
        serves("former", "hello from a real container")
        self.ada.delete(second)
        eventually(lambda: self.namespace() is None, "it is gone", 90)
