"""Escape drills: what a hostile container tries, and what comes of it. A neighbour's app has to answer all the while."""
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from .berthd import PATIENCE, Operator, Refused
from .cluster import HERE, REGISTRY, run, serves
from .hosts import ask_in_bytes
from .outside import INTERNET, NAME, Outside
from .visitors import Visitors
from .waiting import eventually
from .world import World

IMAGE = f"{REGISTRY}/stranger:1"
STRANGER = "hello from a stranger"
TIERS = ("[{slug: free, name: Free, memory-mb: 256, cpu-millicores: 500, monthly-cost-points: 0, "
         "max-deployments: 1000, auto-approve: true}]")
VISITS = 40  # per second, to the neighbour
QUIET = 5  # seconds for which the neighbour is measured when nothing else happens
PROCESSES = 1024  # podPidsLimit, tests/kube/lib/node.sh
CONNECTIONS = 10000
HELD = 5  # seconds for which a drill keeps what it took
KILLED = 137  # the exit code of a process that the kernel killed
TMP_MB, TMP_LIMIT_MB = 320, 256  # what is written to /tmp, and its limit
LOG_MB, LOG_LEFT_MB = 200, 100  # what is written to the log, and what may be left of it
LOG_MORE_MB = 4  # what is written each time that the log is looked at
LOG_FILES = 5  # the kubelet's containerLogMaxFiles; it looks at their sizes every three seconds
EVICTED = 120  # seconds; the kubelet looks at disks every ten, and replaces the pod
MEASURED = 25  # seconds in which the kubelet measures volumes twice
LOGS = pathlib.Path("/var/log/pods")


def megabytes(folder):
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # it was rotated away
            total += file.stat().st_size
    return total / (1 << 20)


@unittest.skipUnless(os.geteuid() == 0, "addresses of this machine are made, which only root may")
class Drills(World):
    flags = ("--tiers", TIERS, "--max-image-size", "1Gi")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.enterClassContext(Outside())
        cls.ben = Operator(cls.berthd, "ben")
        cls.hostile = cls.ada.deploy("hostile", IMAGE)
        cls.neighbour = cls.ben.deploy("quiet", IMAGE, env_vars={"KEY": "of-ben"})
        cls.ada.wait(cls.hostile, "running")
        cls.ben.wait(cls.neighbour, "running")
        serves("quiet", STRANGER)
        with Visitors("quiet", VISITS) as visitors:
            time.sleep(QUIET)
        cls.quiet = visitors.slowest_percent()
        print(f"      the quiet neighbour's p99: {1000 * cls.quiet:.0f} ms", flush=True)

    def tell(self, outcome):
        print(f"      {self.id().split('.test_')[-1]}: {outcome}", flush=True)

    @contextlib.contextmanager
    def neighbour_answers(self):
        with Visitors("quiet", VISITS) as visitors:
            yield
        slowest = visitors.slowest_percent()
        self.tell(f"the neighbour's p99: {1000 * slowest:.0f} ms, {slowest / self.quiet:.1f} times the quiet one; "
                  f"{len(visitors.failures)} of {len(visitors.times)} requests failed")
        self.assertEqual(visitors.failures[:5], [])
        self.assertEqual(set(visitors.pages), {STRANGER})

    def running_pods(self, deployment=None):
        """Returns the namespace and the name of each of the deployment's pods that run."""
        pods = self.cluster.list("pods", "-l", f"berth/deployment={deployment or self.hostile}")
        return [(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods
                if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]

    def pod(self, deployment=None):
        eventually(lambda: self.running_pods(deployment), "a pod runs", PATIENCE)
        return self.running_pods(deployment)[0]

    def execute(self, *command, pod=None):
        """Runs the command in the pod. Returns its exit code and its output."""
        namespace, name = pod or self.pod()
        done = subprocess.run([str(self.cluster.state / "tools/kubectl"), "--kubeconfig", str(self.cluster.admin), "exec",
                               "-n", namespace, name, "--", *map(str, command)], capture_output=True, text=True,
                              timeout=PATIENCE * 3, check=False)
        return done.returncode, (done.stdout + done.stderr).strip()

    def drill(self, *words, pod=None):
        code, said = self.execute("/bin/drill", *words, pod=pod)
        self.assertEqual(code, 0, said)
        return said

    def still_runs(self, limit=EVICTED):
        self.ada.wait(self.hostile, "running", limit)
        serves("hostile", STRANGER, PATIENCE)

    def test_01_fork_bomb(self):
        with self.neighbour_answers():
            said = self.drill("fork", HELD)
        self.tell(said)
        count, why = re.fullmatch(r"processes: (\d+), then (.*)", said).groups()
        self.assertLess(int(count), PROCESSES)
        self.assertEqual(why, "Resource temporarily unavailable")
        self.still_runs()

    def test_02_memory_bomb(self):
        with self.neighbour_answers():
            code, said = self.execute("/bin/drill", "memory")
        self.tell(f"it ends with {code} {said.splitlines()[-1] if said else ''}")
        self.assertEqual(code, KILLED)
        self.still_runs()

    def test_03_filling_tmp(self):
        pod = self.pod()
        with self.neighbour_answers():
            began = time.monotonic()
            _, said = self.execute("/bin/drill", "fill", "/tmp/all", TMP_MB)
            eventually(lambda: self.eviction(*pod), "the pod is evicted", EVICTED)
            took = time.monotonic() - began
        self.tell(f"{said}; evicted after {took:.0f} s: {self.eviction(*pod)}")
        self.assertIn("exceeds the limit", self.eviction(*pod))
        eventually(lambda: pod not in self.running_pods(), "it has ended", EVICTED, seen=self.running_pods)
        self.still_runs()

    def eviction(self, namespace, pod):
        """Returns what the kubelet says of the eviction of the pod; nothing if there was none."""
        return self.cluster.kubectl("get", "events", "-n", namespace, "-o", "jsonpath={.items[*].message}",
                                    f"--field-selector=reason=Evicted,involvedObject.name={pod}")

    def write_log(self, amount):
        self.execute("/bin/busybox", "sh", "-c", "/bin/busybox yes 'a line that says nothing, and is written very often' | "
                     f"/bin/busybox head -c {amount << 20} > /proc/1/fd/1")

    def test_04_filling_the_log(self):
        pod = self.pod()
        uid = self.cluster.get("/api/v1/namespaces/{}/pods/{}".format(*pod))["metadata"]["uid"]
        folder = LOGS / "_".join((*pod, uid))

        def is_short():
            self.write_log(LOG_MORE_MB)  # the kubelet compresses a file when the next one is full
            return megabytes(folder) < LOG_LEFT_MB

        with self.neighbour_answers():
            self.write_log(LOG_MB)
            eventually(is_short, "the log is rotated", PATIENCE, seen=lambda: megabytes(folder), pause=1)
        files = [file.name for file in folder.rglob("*") if file.is_file()]
        self.tell(f"of {LOG_MB} MB, {megabytes(folder):.0f} are left in {len(files)} files")
        self.assertIn(len(files), range(2, LOG_FILES + 1), files)
        self.still_runs()

    def test_05_ten_thousand_connections(self):
        with tempfile.TemporaryDirectory() as folder:
            drill = pathlib.Path(folder) / "drill"
            run("gcc", "-static", "-O2", "-o", drill, HERE / "programs/drill.c")
            listener = subprocess.Popen(["ip", "netns", "exec", NAME, str(drill), "accept", "443", "600"], stdout=subprocess.PIPE,
                                        text=True)
            try:
                self.assertEqual(listener.stdout.readline().strip(), "listening")
                with self.neighbour_answers():
                    said = self.drill("connect", INTERNET, 443, CONNECTIONS, HELD)
            finally:
                listener.kill()
                listener.communicate()
        self.tell(said)
        self.assertIn(f" of {CONNECTIONS}, yes", said)
        self.still_runs()

    def test_06_inotify(self):
        """Instances are counted for each user of the machine, so that tenants take them away from each other as long as
        they share a user: neither gVisor nor a user namespace is there. This tells how it is; only the end is a must."""
        neighbour = self.pod(self.neighbour)
        namespace, name = self.pod()
        with self.neighbour_answers():
            taker = subprocess.Popen([str(self.cluster.state / "tools/kubectl"), "--kubeconfig", str(self.cluster.admin), "exec",
                                      "-n", namespace, name, "--", "/bin/drill", "inotify", str(HELD)], stdout=subprocess.PIPE, text=True)
            taken = taker.stdout.readline().strip()
            meanwhile = self.drill("inotify", 0, pod=neighbour)
            taker.communicate(timeout=PATIENCE)
        self.tell(f"one tenant's {taken}; meanwhile the other tenant's {meanwhile}")
        self.assertGreater(int(re.search(r"\d+", taken)[0]), 0)
        afterwards = int(re.search(r"\d+", self.drill("inotify", 0, pod=neighbour))[0])
        self.assertGreater(afterwards, 0)

    def test_07_the_kernel(self):
        with self.neighbour_answers():
            said = self.drill("kernel").splitlines()
        *attempts, visible = said
        for line in said:
            self.tell(line)
        self.assertGreater(len(attempts), 30)
        self.assertEqual([line for line in attempts if line.endswith(": yes")], [])
        self.assertLess(int(re.fullmatch(r"visible processes: (\d+)", visible)[1]), 10)

    def test_08_binding_port_80(self):
        said = self.drill("bind", 80)
        self.tell(said)
        self.assertEqual(said, "binding: Permission denied")

    def test_09_a_setuid_program(self):
        _, mode = self.execute("/bin/busybox", "stat", "-c", "%A %u", "/bin/setuid-drill")
        self.assertEqual(mode, "-rwsr-xr-x 0")
        code, said = self.execute("/bin/setuid-drill", "who")
        self.tell(said)
        self.assertEqual((code, said), (0, "user 1000, effective user 1000, group 1000"))

    def test_10_an_image_that_wants_to_be_root(self):
        wants = self.ada.deploy("wants-root", f"{REGISTRY}/stranger-root:1")
        self.addCleanup(self.ada.delete, wants)
        self.ada.wait(wants, "running")
        said = self.drill("who", pod=self.pod(wants))
        self.tell(said)
        self.assertEqual(said, "user 1000, effective user 1000, group 1000")

    def test_11_secrets_of_others_by_the_api_server(self):
        code, said = self.execute("/bin/busybox", "ls", "/var/run/secrets/kubernetes.io")
        self.assertNotEqual(code, 0, said)
        # Nobody gives a tenant a token; this is what one would be good for.
        token = self.cluster.kubectl("create", "token", "tenant", "-n", self.ada.namespace).strip()
        secret = self.cluster.list("secrets", f"--field-selector=metadata.namespace={self.ben.namespace}")[0]["metadata"]["name"]
        tried = ((("get", "secret", secret), self.ben.namespace), (("get", "secrets"), self.ada.namespace),
                 (("get", "pods"), self.ben.namespace), (("create", "configmap", "x"), self.ada.namespace),
                 (("get", "nodes"), self.ada.namespace), (("get", "namespaces"), self.ada.namespace))
        for words, namespace in tried:
            said = subprocess.run([str(self.cluster.state / "tools/kubectl"), "--server=https://127.0.0.1:6443",
                                   f"--certificate-authority={self.cluster.state}/pki/ca.crt", f"--token={token}",
                                   "--kubeconfig=/dev/null", *words, "-n", namespace], capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            self.assertNotEqual(said.returncode, 0, said.stdout)
            self.assertIn("forbidden", said.stderr.lower())
        self.tell(f"no token in the container; with one, {len(tried)} of {len(tried)} requests are forbidden")

    def test_12_the_nodes_registry(self):
        images = [f"{host}/hello:1" for host in ("10.250.0.1:5000", "10.244.0.1:5000", "localhost:5000", "127.1:5000", "[::1]:5000",
                                                 "127.0.0.1:05000", "0.0.0.0:5000", "registry.localhost:5000")]
        for image in images:
            with self.assertRaises(Refused, msg=image) as refused:
                self.ada.deploy("sneaky", image)
            self.assertLess(refused.exception.status, 500)
        reached = self.execute("/bin/reach", 2, "tcp/10.250.0.1/5000", "tcp/10.244.0.1/5000")[1].splitlines()
        self.tell(f"{len(images)} names of it are refused; {', '.join(reached)}")
        self.assertEqual([line.split(" ", 1)[1] for line in reached], ["silence", "silence"])

    def test_13_host_header_tricks(self):
        own, other = "hostile.apps.localhost", "quiet.apps.localhost"
        # Whoever asks for the hostile app must never get another page, and nothing but the host may lead to an app.
        self.cluster.push_page("victim:1", "the victim's page")
        victim = self.ben.deploy("victim", f"{REGISTRY}/victim:1")
        self.addCleanup(self.ben.delete, victim)
        self.ben.wait(victim, "running")
        serves("victim", "the victim's page")
        other = "victim.apps.localhost"
        tricks = {
            "two Host fields": f"GET / HTTP/1.1\r\nHost: {own}\r\nHost: {other}",
            "a list of hosts": f"GET / HTTP/1.1\r\nHost: {own}, {other}",
            "X-Forwarded-Host": f"GET / HTTP/1.1\r\nHost: {own}\r\nX-Forwarded-Host: {other}",
            "X-Original-URL": f"GET / HTTP/1.1\r\nHost: {own}\r\nX-Original-URL: http://{other}/",
            "Forwarded": f"GET / HTTP/1.1\r\nHost: {own}\r\nForwarded: host={other}",
            "user before the host": f"GET / HTTP/1.1\r\nHost: {other}@{own}",
            "a folded field": f"GET / HTTP/1.1\r\nHost: {own}\r\n {other}",
            "a space before the colon": f"GET / HTTP/1.1\r\nHost: {own}\r\nHost : {other}",
            "a name below its own": f"GET / HTTP/1.1\r\nHost: {other}.{own}",
            "a null byte": f"GET / HTTP/1.1\r\nHost: {own}\0{other}",
            "the cluster's name of the Service": "GET / HTTP/1.1\r\nHost: victim." + self.ben.namespace + ".svc.cluster.local",
            "an address": "GET / HTTP/1.1\r\nHost: 127.0.0.1",
            "no host": "GET / HTTP/1.0",
            "an empty host": "GET / HTTP/1.1\r\nHost:",
            "the API server": "GET /api HTTP/1.1\r\nHost: kubernetes.default.svc",
            "CONNECT": f"CONNECT {other}:80 HTTP/1.1\r\nHost: {own}",
            "length and chunks": f"POST / HTTP/1.1\r\nHost: {own}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
                                 f"0\r\n\r\nGET / HTTP/1.1\r\nHost: {other}",
        }
        for trick, head in tricks.items():
            status, text = ask_in_bytes(head.encode() + b"\r\nConnection: close\r\n\r\n")
            self.tell(f"{trick}: {status}")
            if trick != "length and chunks":  # there, the second request is the sender's own
                self.assertNotIn("victim's page", text, trick)
        # The target of a request goes before the Host field (RFC 9112, section 3.2.2).
        status, text = ask_in_bytes(f"GET http://{own}/ HTTP/1.1\r\nHost: {other}\r\nConnection: close\r\n\r\n".encode())
        self.tell(f"an absolute target: {status}")
        self.assertNotIn("victim's page", text)

    def test_14_symlinks_in_a_volume(self):
        """Links that a container makes in its volume lead to the node's files for whoever follows them there."""
        namespace, name = pod = self.pod()
        uid = self.cluster.kubectl("get", "pod", name, "-n", namespace, "-o", "jsonpath={.metadata.uid}")
        volumes = self.cluster.state / "kubelet/pods" / uid / "volumes"
        with tempfile.TemporaryDirectory(prefix="berth-e2e-") as folder:
            secret = pathlib.Path(folder) / "secret"
            secret.write_text("the node's")
            # As large as all that the volume may hold: measured through the link, the pod would be evicted.
            with open(pathlib.Path(folder) / "large", "wb") as large:
                os.posix_fallocate(large.fileno(), 0, TMP_MB << 20)
            for link, target in (("node", folder), ("root", "/"), ("init", "/proc/1/root")):
                code, said = self.execute("/bin/busybox", "ln", "-s", target, f"/tmp/{link}", pod=pod)
                self.assertEqual(code, 0, said)
            on_node = next(volumes.glob("*/*/node"))
            self.assertEqual((on_node / "secret").read_text(), "the node's")
            for path in (f"/tmp/node/{secret.name}", f"/tmp/root{secret}", f"/tmp/init{secret}"):
                code, said = self.execute("/bin/busybox", "cat", path, pod=pod)
                self.assertNotEqual(code, 0, said)
                self.assertIn("No such file", said)
            time.sleep(MEASURED)
            self.assertEqual(self.eviction(*pod), "")
            self.cluster.kubectl("delete", "pod", name, "-n", namespace, "--wait=false")
            took = eventually(lambda: not on_node.is_symlink(), "the volume is removed", EVICTED)
            self.assertEqual(secret.read_text(), "the node's")
            self.assertEqual(len(list(pathlib.Path(folder).iterdir())), 2)
        self.tell(f"links lead nowhere in the container, are not measured, and are removed with the volume after {took:.0f} s")
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
        log = (self.cluster.state / "logs/registry.log").read_text()
        self.assertIn("GET /v2/huge/manifests/1", log)
        self.assertNotIn("GET /v2/huge/blobs/", log)
        self.still_runs()
