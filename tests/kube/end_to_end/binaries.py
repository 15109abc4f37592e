"""Runs the C++ tests of the Kubernetes client and the reconcilers on this cluster."""
import os
import pathlib
import unittest

from .berthd import ROOT
from .cluster import Cluster, run

FOLDER = pathlib.Path(os.environ.get("BERTH_TEST_BINARIES") or ROOT / "build/dev")
LIMIT = 900  # seconds


class Binaries(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.environment = {**os.environ, "BERTH_TEST_KUBECONFIG": str(self.cluster.berth)}

    def run_tests(self, program, *words):
        output = run(FOLDER / program, *words, limit=LIMIT, env=self.environment)
        self.assertNotIn("No tests ran", output)
        print("      " + output.strip().splitlines()[-1], flush=True)

    def test_kube_client(self):
        self.run_tests("test_kube_client", "[real]")

    def test_reconcilers(self):
        # Their images don't exist, because a node that only claims to run them suffices.
        self.cluster.start_part("kwok")
        self.addCleanup(self.cluster.stop_part, "kwok")
        self.run_tests("test_reconcilers", "--filenames-as-tags",
                       "[#life_test],[#processes_test],[#informer_test],[#domain_test],[#meter_test],"
                       "[#leader_test][real]")
