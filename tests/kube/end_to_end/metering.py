"""What real containers are charged, while berthd is killed (tests/metering)."""
import unittest

from .berthd import PROGRAM, ROOT
from .cluster import REGISTRY, Cluster, run

DEPLOYMENTS, KILLS = 50, 10
PAUSE = 2  # seconds between two changes, since each starts a container
LIMIT = 1800  # seconds
IMAGES = [f"{REGISTRY}/{name}" for name in ("hello:1", "hello:2", "crash:1")]


class Metering(unittest.TestCase):
    def test_real_containers_are_charged_for_as_long_as_they_ran(self):
        cluster = Cluster()
        images = [word for image in IMAGES for word in ("--image", image)]
        with cluster.without_login() as url:
            output = run(ROOT / "tests/metering/run", "--deployments", DEPLOYMENTS, "--kills", KILLS, "--caps", 0,
                         "--pause", PAUSE, "--url", url, "--kubeconfig", cluster.berth, *images, PROGRAM, limit=LIMIT)
        print(output, flush=True)
