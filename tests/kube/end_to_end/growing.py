"""A platform grows from one machine (kubernetes: local) to a cluster: the same data directory, ten deployments, one of
them built from source."""
import io
import pathlib
import sys
import tarfile
import time
import unittest
import urllib.request

from . import cluster as clusters
from .berthd import PROGRAM, Berthd, Operator
from .cluster import REGISTRY, run
from .waiting import eventually

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "local"))

PAGE, BUILT = "hello from a real container", "built from source"
OTHERS = 9  # deployments, besides the one that is built
STOPPED = 1  # of them
LIMIT = 180  # seconds
CONTAINERFILE = f"FROM {REGISTRY}/hello:1\nCOPY index.html /www/index.html\n"


def archive(files):
    """Returns the files, which are texts by their names, as the API takes them."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            file = tarfile.TarInfo(name)
            file.size = len(text)
            tar.addfile(file, io.BytesIO(text.encode()))
    return packed.getvalue()


def build(berthd, operator, name, files):
    """Builds an app of these files. Returns the build once it is over."""
    request = urllib.request.Request(f"{berthd.url}/api/deploy/builds?tier=free&name={name}", archive(files),
                                     {"Content-Type": "application/x-tar", **operator.token}, method="POST")
    with urllib.request.urlopen(request, timeout=60):
        pass

    def newest():
        return berthd.ask("GET", "/api/deploy/builds", None, operator.token)["builds"][0]
    eventually(lambda: newest()["status"] in ("succeeded", "failed"), "the build is over", LIMIT, seen=newest)
    return newest()


def page_at(place, name):
    """Returns the page of the app at the ingress of this address; nothing if it can't be had."""
    request = urllib.request.Request("http://%s:%d/" % place, headers={"Host": f"{name}.apps.localhost"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return ""


class Growing(unittest.TestCase):
    def setUp(self):
        from addresses import free_port  # pylint: disable=import-outside-toplevel
        from node import Node  # pylint: disable=import-outside-toplevel

        class Small(Node):
            """The one machine at first, whose ingress is beside that of the cluster."""
            place = ("127.0.0.1", free_port())

        self.node = Small()
        self.flags, self.ingress = self.cluster()
        self.berthd = Berthd(self.node)
        self.node.berthd = self.berthd
        self.addCleanup(self.berthd.__exit__)
        self.ada = Operator(self.berthd, "ada")

    def cluster(self):
        """Returns berthd's flags for the cluster, and where its ingress is."""
        return clusters.Cluster().flags(), clusters.INGRESS

    def build(self, name):
        """Builds an app on the machine whose page is BUILT. Returns the image."""
        built = build(self.berthd, self.ada, name, {"Containerfile": CONTAINERFILE, "index.html": BUILT + "\n"})
        self.assertEqual(built["status"], "succeeded", built)
        return built["image"]

    def doctor(self):
        return run(PROGRAM, "doctor", "--cluster", "--data-dir", self.berthd.data, *self.flags, check=False)

    def test_ten_deployments_grow_to_a_cluster(self):
        image = self.build("built")
        pages = {"built": BUILT}
        ids = {"built": self.ada.deploy("built", image)}
        for number in range(OTHERS):
            name = f"grows-{number}"
            ids[name] = self.ada.deploy(name, env_vars={"NUMBER": str(number)})
            pages[name] = PAGE
        for name, deployment in ids.items():
            self.ada.wait(deployment, "running", LIMIT)
            eventually(lambda n=name: page_at(self.node.place, n) == pages[n] + "\n", f"{name} serves on the machine", LIMIT)
        for name in list(ids)[-STOPPED:]:
            self.ada.stop(ids[name])
            self.ada.wait(ids[name], "stopped", LIMIT)
            pages.pop(name)

        found = self.doctor()
        self.assertIn("1 image of localhost that only this machine has: built", found)
        self.assertIn(f"berthd local push REGISTRY/PATH --data-dir {self.berthd.data}", found)
        self.assertIn("*.apps.localhost leads to this machine", found)

        self.berthd.terminate()
        pushed = run(PROGRAM, "local", "push", f"{REGISTRY}/grown", "--data-dir", self.berthd.data, "--registries", REGISTRY)
        self.assertRegex(pushed, rf"^built: {REGISTRY}/grown/{self.ada.app['id']}/built@sha256:[0-9a-f]{{64}}\n$")
        self.assertIn("no deployment runs one that only this machine has", self.doctor())

        # What ran here goes on until the DNS leads to the cluster.
        self.berthd.cluster_flags = self.flags
        began = time.monotonic()
        self.berthd.start()
        for name in pages:
            self.ada.wait(ids[name], "running", LIMIT)
            eventually(lambda n=name: page_at(self.ingress, n) == pages[n] + "\n", f"{name} serves on the cluster", LIMIT,
                       seen=lambda n=name: self.ada.status(ids[n]))
            self.assertEqual(page_at(self.node.place, name), pages[name] + "\n", name)
        print(f"      {len(pages)} deployments serve on the cluster after {time.monotonic() - began:.1f} s", flush=True)
        for name in set(ids) - set(pages):
            self.assertEqual(self.ada.status(ids[name])["status"], "stopped")

        self.node.let_go(self.berthd.data)
        self.assertFalse((self.berthd.data / "local").exists())
        for name in pages:
            self.assertEqual(page_at(self.ingress, name), pages[name] + "\n", name)
        self.assertNotIn("this machine ", self.doctor())
        for deployment in ids.values():
            self.ada.delete(deployment)
        eventually(lambda: not self.ada.ask("GET")["deployments"], "they are deleted", LIMIT)
