"""Escape drills on one machine (tests/kube/end_to_end/drills.py): what a hostile container tries, and what comes of it."""
import os
import pathlib
import re
import subprocess
import tempfile
import time

from addresses import REGISTRY
from end_to_end import drills
from end_to_end.berthd import PATIENCE, Operator, Refused
from end_to_end.cluster import serves
from end_to_end.drills import EVICTED, IMAGE, LOG_LEFT_MB, LOG_MB, LOG_MORE_MB, MEASURED, QUIET, STRANGER, TMP_MB, VISITS, megabytes
from end_to_end.visitors import Visitors
from end_to_end.waiting import eventually
from end_to_end.world import World
from strangers import Outside


class Drills(drills.Drills):
    @classmethod
    def setUpClass(cls):
        World.setUpClass.__func__(cls)
        cls.enterClassContext(Outside())
        cls.ben = Operator(cls.berthd, "ben")
        cls.hostile, cls.neighbour = cls.ada.deploy("hostile", IMAGE), cls.ben.deploy("quiet", IMAGE)
        cls.ada.wait(cls.hostile, "running")
        cls.ben.wait(cls.neighbour, "running")
        serves("quiet", STRANGER)
        with Visitors("quiet", VISITS) as visitors:
            time.sleep(QUIET)
        cls.quiet = visitors.slowest_percent()
        print(f"      the quiet neighbour's p99: {1000 * cls.quiet:.0f} ms", flush=True)

    def execute(self, *command, pod=None):
        done = subprocess.run([*map(str, self.cluster.within(*(pod or self.pod()))), *map(str, command)], capture_output=True,
                              text=True, timeout=PATIENCE * 3, check=False)
        return done.returncode, (done.stdout + done.stderr).strip()

    def eviction(self, namespace, pod):
        events = self.cluster.ask("GET", f"/api/v1/namespaces/{namespace}/events")["items"]
        return " ".join(event["message"] for event in events if event["reason"] == "Evicted" and event["involvedObject"]["name"] == pod)

    def folder(self, kind, pod):
        """Returns where the node has something of the pod."""
        uid = self.cluster.get("/api/v1/namespaces/{}/pods/{}".format(*pod))["metadata"]["uid"]
        return self.berthd.data / "local" / kind / uid

    def test_04_filling_the_log(self):
        folder = self.folder("logs", self.pod())

        def is_short():
            self.write_log(LOG_MORE_MB)
            return megabytes(folder) < LOG_LEFT_MB

        with self.neighbour_answers():
            self.write_log(LOG_MB)
            eventually(is_short, "the log is cut", PATIENCE, seen=lambda: megabytes(folder), pause=1)
        self.tell(f"of {LOG_MB} MB, {megabytes(folder):.0f} are left")
        self.still_runs()

    def test_06_inotify(self):
        """Each container has users of its own, so that nobody takes instances away from others."""
        neighbour = self.pod(self.neighbour)
        taker = subprocess.Popen([*self.cluster.within(*self.pod()), "/bin/drill", "inotify", "5"], stdout=subprocess.PIPE, text=True)
        taken = taker.stdout.readline().strip()
        meanwhile = self.drill("inotify", 0, pod=neighbour)
        taker.communicate(timeout=PATIENCE)
        self.tell(f"one tenant's {taken}; meanwhile the other tenant's {meanwhile}")
        self.assertEqual(meanwhile, taken)
        self.assertGreater(int(re.search(r"\d+", taken)[0]), 0)

    def test_11_secrets_of_others_by_the_api_server(self):
        code, said = self.execute("/bin/busybox", "ls", "/var/run/secrets/kubernetes.io")
        self.assertNotEqual(code, 0, said)
        # Nobody gives a tenant a token, and without berthd's own nothing is answered.
        port = self.cluster.server().rpartition(":")[2]
        gateway = self.execute("/bin/busybox", "sh", "-c", "/bin/busybox route -n | /bin/busybox awk '/^0.0.0.0/ {print $2}'")[1]
        reached = self.execute("/bin/reach", 2, f"tcp/{gateway}/{port}")[1]
        self.assertTrue(reached.endswith(" silence"), reached)

    def test_12_the_nodes_registry(self):
        port = REGISTRY.rpartition(":")[2]
        images = [f"{host}:{port}/hello:1" for host in ("10.250.0.1", "localhost", "127.1", "[::1]", "0.0.0.0", "registry.localhost")]
        images += ["localhost/hello:1", "localhost/berth/program:1", "docker.io/library/../hello:1"]
        for image in images:
            with self.assertRaises(Refused, msg=image) as refused:
                self.ada.deploy("sneaky", image)
            self.assertLess(refused.exception.status, 500)
        self.tell(f"{len(images)} names of it are refused")

    def test_14_symlinks_in_a_volume(self):
        """Links that a container makes in its volume lead to the machine's files for whoever follows them there: when the
        volume is measured, given to the next run's user, and removed."""
        pod = self.pod()
        volume = self.folder("pods", pod) / "tmp"
        with tempfile.TemporaryDirectory(prefix="berth-e2e-") as folder:
            secret = pathlib.Path(folder) / "secret"
            secret.write_text("the machine's")
            # As large as all that the volume may hold: measured through the link, the pod would be evicted.
            with open(pathlib.Path(folder) / "large", "wb") as large:
                os.posix_fallocate(large.fileno(), 0, TMP_MB << 20)
            for link, target in (("node", folder), ("file", secret), ("root", "/"), ("init", "/proc/1/root")):
                code, said = self.execute("/bin/busybox", "ln", "-s", target, f"/tmp/{link}", pod=pod)
                self.assertEqual(code, 0, said)
            self.assertEqual((volume / "node/secret").read_text(), "the machine's")
            for path in (f"/tmp/node/{secret.name}", "/tmp/file", f"/tmp/root{secret}", f"/tmp/init{secret}"):
                code, said = self.execute("/bin/busybox", "cat", path, pod=pod)
                self.assertNotEqual(code, 0, said)
                self.assertIn("No such file", said)
            time.sleep(MEASURED)
            self.assertEqual(self.eviction(*pod), "")
            self.execute("/bin/busybox", "kill", "1", pod=pod)
            seen = lambda: self.cluster.get("/api/v1/namespaces/{}/pods/{}".format(*pod))["status"]  # noqa: E731
            eventually(lambda: seen()["containerStatuses"][0]["restartCount"], "another run has the volume", EVICTED, seen=seen)
            self.still_runs()
            self.assertTrue((volume / "node").is_symlink())
            self.assertEqual([os.stat(path).st_uid for path in (folder, secret)], [0, 0])
            self.cluster.ask("DELETE", "/api/v1/namespaces/{}/pods/{}".format(*pod))
            eventually(lambda: not (volume / "node").is_symlink(), "the volume is removed", EVICTED)
            self.assertEqual(secret.read_text(), "the machine's")
            self.assertEqual(len(list(pathlib.Path(folder).iterdir())), 2)
        self.still_runs()

    def test_15_an_image_of_50_gib(self):
        """Its manifest is read, and no layer of it is ever asked for."""
        self.cluster.push_claim("huge", 50 << 30)
        huge = self.ada.deploy("huge", f"{REGISTRY}/huge:1")
        self.addCleanup(self.ada.delete, huge)
        status = self.ada.wait(huge, "errored")
        self.assertEqual(status["reason"], "image_too_large")
        self.tell(status["message"])
        self.assertEqual(self.cluster.list("pods", "-l", f"berth/deployment={huge}"), [])
        self.still_runs()
