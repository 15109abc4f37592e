"""The C++ tests that a real cluster has to pass, too, on the API server of one machine, with real containers behind it."""
import os
import pathlib

from end_to_end.berthd import PROGRAM
from end_to_end.cluster import run
from end_to_end.world import World

FOLDER = pathlib.Path(os.environ.get("BERTH_TEST_BINARIES") or pathlib.Path(PROGRAM).parent)
LIMIT = 120  # seconds


class Real(World):
    def passes(self, program, *words):
        if not (FOLDER / program).exists():
            self.skipTest(f"{FOLDER / program} isn't built")
        kubeconfig = str(self.berthd.data / "local/kubeconfig")
        said = run(FOLDER / program, *words, limit=LIMIT, env={**os.environ, "BERTH_TEST_KUBECONFIG": kubeconfig})
        self.assertNotIn("No tests ran", said)
        print("      " + said.strip().splitlines()[-1], flush=True)

    def test_kube_client(self):
        self.passes("test_kube_client", "[real]")

    def test_reconcilers(self):
        # The case that is left out wants a container of an image that doesn't exist; nodes of kwok claim to run it.
        self.passes("test_reconcilers", "[real]~two processes on one instance*")
