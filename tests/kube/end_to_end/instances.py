"""Tests of several berthd processes that share a cluster without knowing of each other. A data directory can't be shared."""
import subprocess
import time

from .berthd import PATIENCE, Berthd, Operator
from .cluster import KINDS, serves
from .waiting import eventually
from .world import World


class Instances(World):
    def versions(self, deployment):
        """Returns the resource versions of all objects of the deployment. Every write to an object changes its
        version."""
        return {item["metadata"]["uid"]: item["metadata"]["resourceVersion"]
                for item in self.cluster.list(KINDS, "-l", f"berth/deployment={deployment}")}

    def test_they_leave_each_others_objects_alone(self):
        ours = self.ada.deploy("ours")
        self.ada.wait(ours, "running")
        with Berthd(self.cluster) as other:
            self.assertNotEqual(self.berthd.instance(), other.instance())
            ben = Operator(other, "ben")
            theirs = ben.deploy("theirs")
            ben.wait(theirs, "running")
            time.sleep(5)  # for the consequences of the start
            untouched = self.versions(ours)
            other.kill()
            other.start()
            ben.restart(theirs)
            ben.wait(theirs, "running")
            serves("theirs", "hello from a real container")
            self.assertEqual(other.as_admin("GET", "/api/internal/deploy/orphans")["deployments"], [])
            ben.delete(theirs)
            self.wait_for_nothing(other)
            self.assertEqual(self.versions(ours), untouched)
        serves("ours", "hello from a real container")
        self.ada.delete(ours)
        self.wait_for_nothing(self.berthd)

    def test_a_second_one_on_the_same_data_is_turned_away(self):
        shop = self.ada.deploy("guarded")
        self.ada.wait(shop, "running")
        time.sleep(5)  # for the consequences of the start
        untouched = self.versions(shop)
        second = subprocess.run(self.berthd.command(), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(second.returncode, 3)
        self.assertIn("another berthd uses this data directory", second.stderr)
        self.assertEqual(self.ada.status(shop)["status"], "running")
        self.assertEqual(self.versions(shop), untouched)
        self.ada.delete(shop)

    def wait_for_nothing(self, berthd):
        instance = berthd.instance()
        eventually(lambda: not self.cluster.of_instance(instance), "nothing of it is left", 90,
                   seen=lambda: self.cluster.of_instance(instance))
