"""The parts that the tests share: a cluster, and for each class of tests a berthd with one operator."""
import unittest

from .berthd import Berthd, Operator
from .cluster import Cluster


def make_cluster():
    """Returns the cluster that the tests use. Those of one machine put another function here (tests/local/e2e)."""
    return Cluster()


class World(unittest.TestCase):
    flags = ()  # flags of berthd in addition to the usual ones

    @classmethod
    def setUpClass(cls):
        cls.cluster = make_cluster()
        cls.berthd = Berthd(cls.cluster, *cls.flags)
        cls.cluster.berthd = cls.berthd
        cls.addClassCleanup(cls.berthd.__exit__)
        cls.addClassCleanup(cls.remove_what_is_left)
        cls.ada = Operator(cls.berthd, "ada")

    @classmethod
    def remove_what_is_left(cls):
        """Removes the objects that a failed test has left."""
        cls.cluster.kubectl("delete", "namespaces", "--wait=false", "-l", f"berth/instance={cls.berthd.instance()}")
