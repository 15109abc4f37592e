"""Why isn't it running? Each reason, from real containers."""
from .cluster import REGISTRY
from .waiting import eventually
from .world import World

LIMIT = 15  # seconds from the creation to the reason


class Trouble(World):
    def check(self, image, reason, words, **more):
        deployment = self.ada.deploy(image.split(":")[0], f"{REGISTRY}/{image}", **more)
        self.check_reason(deployment, reason, words)
        self.ada.delete(deployment)

    def check_reason(self, deployment, reason, words):
        took = eventually(lambda: self.ada.status(deployment)["reason"] == reason, reason, LIMIT,
                          seen=lambda: self.ada.status(deployment))
        seen = self.ada.status(deployment)
        self.assertEqual(seen["status"], "errored")
        self.assertIn(words, seen["message"])
        print(f"      {reason} after {took:.1f} s: {seen['message'].strip()}", flush=True)

    def test_a_missing_image(self):
        self.check("missing:1", "image_pull_failed", "missing:1")

    def test_a_crash(self):
        self.check("crash:1", "crash_loop", "no database is configured")

    def test_too_much_memory(self):
        self.check("oom:1", "out_of_memory", "64 MB")

    def test_the_wrong_port(self):
        self.check("wrong-port:1", "port_not_listening", "3000")

    def test_an_image_that_needs_root(self):
        self.check("needs-root:1", "image_needs_root", "ermission denied")

    def test_a_quota_without_room(self):
        first = self.ada.deploy("roomy")
        self.ada.wait(first, "running")
        self.cluster.kubectl("create", "quota", "full", "--hard=pods=1", "-n", self.ada.namespace)
        second = self.ada.deploy("cramped")
        self.check_reason(second, "quota_exceeded", "full")
        self.cluster.kubectl("delete", "quota", "full", "-n", self.ada.namespace)
        self.ada.wait(second, "running", 180)  # the ReplicaSet's controller backs off by itself
        self.ada.delete(first)
        self.ada.delete(second)
