"""A container that fills the disk of one machine: it is ended, and everybody else goes on."""
import contextlib
import os
import subprocess
import tempfile
import time

from addresses import REGISTRY
from end_to_end.berthd import Operator
from end_to_end.cluster import run, serves
from end_to_end.visitors import Visitors
from end_to_end.world import World
from images import FIRST
from strangers import STRANGER

SIZE_MB = 1200  # of the disk; berthd wants 200 at least, and 500 for a new pod
LIMIT = 90  # seconds until there is room again
VISITS = 40


class SmallDisk:
    """A file system of its own for all temporary files, of which nothing is kept for root. Used in a `with` block."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="berth-disk-")
        image, self.mount = f"{self.folder}/image", f"{self.folder}/disk"
        os.mkdir(self.mount)
        run("truncate", "-s", f"{SIZE_MB}M", image)
        run("mkfs.ext4", "-q", "-m", "0", image)
        run("mount", "-o", "loop", image, self.mount)
        self.before, tempfile.tempdir = tempfile.tempdir, self.mount
        return self

    def __exit__(self, *_):
        tempfile.tempdir = self.before
        run("umount", "-l", self.mount)
        os.remove(f"{self.folder}/image")
        with contextlib.suppress(OSError):
            os.rmdir(self.mount)
            os.rmdir(self.folder)

    def free(self):
        found = os.statvfs(self.mount)
        return found.f_bavail * found.f_frsize


class DiskFull(World):
    @classmethod
    def setUpClass(cls):
        cls.disk = cls.enterClassContext(SmallDisk())
        super().setUpClass()
        cls.ben = Operator(cls.berthd, "ben")

    def test_a_container_fills_the_disk(self):
        hostile = self.ada.deploy("filling", f"{REGISTRY}/stranger:1")
        quiet = self.ben.deploy("quiet-one", f"{REGISTRY}/stranger:1")
        self.ada.wait(hostile, "running")
        self.ben.wait(quiet, "running")
        serves("quiet-one", STRANGER)
        pod = self.cluster.list("pods", "-l", f"berth/deployment={hostile}")[0]["metadata"]
        before = self.disk.free()
        with Visitors("quiet-one", VISITS) as visitors:
            words = [*self.cluster.within(pod["namespace"], pod["name"]), "/bin/drill", "fill", "/tmp/all", "5000"]
            filling = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            least = before
            began = time.monotonic()
            while time.monotonic() - began < LIMIT:
                least = min(least, self.disk.free())
                if least < 50 << 20 and self.disk.free() > before - (300 << 20):
                    break
                time.sleep(0.05)
            took = time.monotonic() - began
            said = filling.communicate(timeout=LIMIT)[0].strip()
        print(f"      {said}; {least >> 20} MB were left at least; room again after {took:.1f} s; {visitors.summary()}", flush=True)
        self.assertLess(least, 50 << 20, "the disk was full")
        self.assertLess(took, LIMIT)
        self.assertEqual(visitors.failures[:5], [])
        events = self.cluster.ask("GET", f"/api/v1/namespaces/{pod['namespace']}/events")["items"]
        self.assertIn("exceeds the limit", " ".join(event["message"] for event in events if event["reason"] == "Evicted"))
        # Everything works again, without a restart, and after one.
        self.ada.wait(hostile, "running", LIMIT)
        other = self.ben.deploy("afterwards")
        self.ben.wait(other, "running")
        serves("afterwards", FIRST)
        running = self.cluster.get(f"/api/v1/namespaces/{self.ben.namespace}/pods")["items"]
        self.assertEqual({pod["status"]["containerStatuses"][0]["restartCount"] for pod in running}, {0})
        self.berthd.kill()
        self.berthd.start()
        self.ben.wait(other, "running")
        serves("quiet-one", STRANGER)
