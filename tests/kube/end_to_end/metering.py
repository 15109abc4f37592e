"""What real containers are charged, while berthd is killed (tests/metering)."""
import subprocess
import unittest

from .berthd import PROGRAM, ROOT, die_with_parent
from .cluster import REGISTRY, Cluster, run

DEPLOYMENTS, KILLS = 50, 10
PAUSE = 2  # seconds between two changes, since each starts a container
LIMIT = 1800  # seconds
IMAGES = [f"{REGISTRY}/{name}" for name in ("hello:1", "hello:2", "crash:1")]


class Metering(unittest.TestCase):
    def test_real_containers_are_charged_for_as_long_as_they_ran(self):
        cluster = Cluster()
        proxy = subprocess.Popen(
            [cluster.state / "tools/kubectl", "--kubeconfig", cluster.admin, "proxy", "--port", "0"],
            stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        try:
            address = proxy.stdout.readline().split()[-1]  # Starting to serve on 127.0.0.1:PORT
            images = [word for image in IMAGES for word in ("--image", image)]
            output = run(ROOT / "tests/metering/run", "--deployments", DEPLOYMENTS, "--kills", KILLS, "--caps", 0,
                         "--pause", PAUSE, "--url", f"http://{address}", "--kubeconfig", cluster.berth, *images,
                         PROGRAM, limit=LIMIT)
        finally:
            proxy.terminate()
            proxy.wait()
        print(output, flush=True)
