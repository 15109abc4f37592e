"""What the tests share: a cluster, and a berthd for each class of tests, with one operator."""
import unittest

from .berthd import Berthd, Operator
from .cluster import Cluster


class World(unittest.TestCase):
    flags = ()  # flags of berthd in addition to the usual ones

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.berthd = Berthd(cls.cluster, *cls.flags)
        cls.addClassCleanup(cls.berthd.__exit__)
        cls.addClassCleanup(cls.remove_what_is_left)
        cls.ada = Operator(cls.berthd, "ada")

    @classmethod
    def remove_what_is_left(cls):
        """Of a test that failed half-way."""
        cls.cluster.kubectl("delete", "namespaces", "--wait=false", "-l", f"berth/instance={cls.berthd.instance()}")
