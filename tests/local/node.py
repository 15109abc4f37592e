"""One machine as the end-to-end tests' cluster: what they ask of a Kubernetes is answered by the API server within berthd,
and containers are podman's below its data directory."""
import contextlib
import json
import os
import pathlib
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from images import SERVE, Pusher
from end_to_end.berthd import PROGRAM
from end_to_end.cluster import INGRESS, REGISTRY, Cluster, run

API_LIMIT = 10  # seconds
CLEAN_LIMIT = 120  # seconds, to end and remove everything that runs
GROUPS = {"pods": "/api/v1", "services": "/api/v1", "secrets": "/api/v1", "namespaces": "/api/v1", "nodes": "/api/v1",
          "resourcequotas": "/api/v1", "limitranges": "/api/v1", "serviceaccounts": "/api/v1", "events": "/api/v1",
          "deployments": "/apis/apps/v1", "replicasets": "/apis/apps/v1", "ingresses": "/apis/networking.k8s.io/v1",
          "networkpolicies": "/apis/networking.k8s.io/v1", "certificates": "/apis/cert-manager.io/v1",
          "endpointslices": "/apis/discovery.k8s.io/v1", "poddisruptionbudgets": "/apis/policy/v1", "jobs": "/apis/batch/v1"}
PLURALS = {"service": "services", "quota": "resourcequotas", "pod": "pods", "deployment": "deployments"}


LOOK_AT_PROCESSES = 0.1  # seconds
LOOKS_AT_CONTAINERS = 10  # looks at the processes for one at the list of containers, which takes podman a while


def podman(data):
    """Returns the beginning of a command that asks the podman of this data directory."""
    return ["podman", "--url", f"unix://{data}/local/podman.sock"]


class Run:
    """A run of a pod's container: when its first process began, in seconds since 1970, and when it had ended."""

    def __init__(self, pod, process):
        self.pod, self.status = pod, pathlib.Path(f"/proc/{process}/stat")
        begun = int(self.fields()[19]) / os.sysconf("SC_CLK_TCK")  # seconds after the machine (proc(5), starttime)
        self.started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + begun
        self.finished = None

    def fields(self):
        """Returns the fields of proc(5) from the state on."""
        return self.status.read_text().rpartition(")")[2].split()

    def look(self):
        if self.finished is None:
            try:
                over = self.fields()[0] in "ZX"
            except OSError:
                over = True
            self.finished = time.time() if over else None


class Node(Cluster):
    """The cluster of the berthd that was started last."""
    isolation = "off"  # None: as it is by default
    place = INGRESS  # where its ingress listens

    def __init__(self):
        self.berthd = None

    def flags(self):
        probing = ["--isolation", self.isolation] if self.isolation else []
        return ["--kubernetes", "local", "--ingress-http", "%s:%d" % self.place, *probing]

    def let_go(self, data):
        """Ends and removes what runs for the data directory, and checks that nothing is left."""
        run(PROGRAM, "local", "clean", "--data-dir", data, limit=CLEAN_LIMIT)
        left = processes_of(data)
        if left:
            raise AssertionError(f"`berthd local clean` has left {left}")

    def ask(self, method, path, body=None, kind="application/json"):
        return json.loads(self.text(method, path, body, kind))

    def text(self, method, path, body=None, kind="application/json"):
        """Asks the API server within berthd, with the kubeconfig that it writes for an admin. Returns its answer as a text."""
        token = self.kubeconfig()["users"][0]["user"]["token"]
        data = None if body is None else json.dumps(body).encode()
        head = {"Content-Type": kind, "Authorization": f"Bearer {token}"}
        request = urllib.request.Request(self.server() + path, data, head, method=method)
        with urllib.request.urlopen(request, timeout=API_LIMIT) as answer:
            return answer.read().decode()

    def kubeconfig(self):
        return json.loads((self.berthd.data / "local/kubeconfig").read_text())

    def server(self):
        """Returns the URL of the API server within berthd."""
        return self.kubeconfig()["clusters"][0]["cluster"]["server"]

    def get(self, path):
        """Returns the object from the API server; None if it doesn't exist."""
        try:
            return self.ask("GET", path)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def list(self, kinds, *words):
        """Takes the words -l SELECTOR and --field-selector=metadata.namespace=NAME of kubectl."""
        selector = words[words.index("-l") + 1] if "-l" in words else ""
        namespace = next((word.rpartition("=")[2] for word in words if word.startswith("--field-selector=")), None)
        found = []
        for kind in kinds.split(","):
            plural = kind.split(".")[0]
            where = f"/namespaces/{namespace}" if namespace and plural != "namespaces" else ""
            answer = self.get(f"{GROUPS[plural]}{where}/{plural}?labelSelector={urllib.parse.quote(selector)}")
            for item in (answer or {"items": []})["items"]:
                found.append({"kind": plural, **item})
        return found

    def kubectl(self, verb, *words, **_):
        """Does what the tests want of kubectl: `create quota`, `delete`, `scale` and `exec`."""
        namespace = words[words.index("-n") + 1] if "-n" in words else None
        if verb == "exec":
            return self.execute(namespace, words[words.index("--") - 1], *words[words.index("--") + 1:])
        if verb == "delete" and words[0] == "namespaces":
            selector = words[words.index("-l") + 1]
            for item in self.list("namespaces", "-l", selector):
                self.ask("DELETE", f"/api/v1/namespaces/{item['metadata']['name']}")
            return ""
        plural = PLURALS[words[0]]
        path = f"{GROUPS[plural]}/namespaces/{namespace}/{plural}"
        options = dict(word.removeprefix("--").split("=", 1) for word in words if word.startswith("--") and "=" in word)
        if verb == "create":
            hard = dict(pair.split("=") for pair in options["hard"].split(","))
            self.ask("POST", path, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": words[1]},
                                    "spec": {"hard": hard}})
        elif verb == "delete":
            self.ask("DELETE", f"{path}/{words[1]}")
        elif verb == "scale":
            self.ask("PATCH", f"{path}/{words[1]}", {"spec": {"replicas": int(options["replicas"])}},
                     "application/merge-patch+json")
        else:
            raise AssertionError(f"kubectl {verb} {words} isn't made for one machine")
        return ""

    def containers(self, **labels):
        """Returns podman's containers, with these labels."""
        filters = [word for name, value in labels.items() for word in ("--filter", f"label={name}={value}")]
        return json.loads(run(*podman(self.berthd.data), "ps", "--all", "--format", "json", *filters) or "[]")

    @contextlib.contextmanager
    def watched_runs(self):
        """The same as a cluster's, by the kernel's times of the containers' first processes."""
        runs, over = {}, threading.Event()  # container's id -> Run
        watching = threading.Thread(target=self.watch_runs, args=(runs, over))
        watching.start()
        try:
            yield lambda deployment: [(run.started, run.finished) for run in list(runs.values())
                                      if run.pod.startswith(f"berth-{deployment}-")]
        finally:
            over.set()
            watching.join()

    def watch_runs(self, runs, over):
        number = 0
        while not over.wait(LOOK_AT_PROCESSES):
            number += 1
            if number % LOOKS_AT_CONTAINERS == 0:
                with contextlib.suppress(RuntimeError):  # podman's service ends with berthd
                    for one in self.containers():
                        pod = (one["Labels"] or {}).get("berth.pod")
                        if one["State"] == "running" and one["Id"] not in runs and pod:
                            runs[one["Id"]] = Run(pod, one["Pid"])
            for run in runs.values():
                run.look()

    def execute(self, namespace, pod, *command):
        return run(*self.within(namespace, pod), *command)

    def within(self, namespace, pod):
        """Returns the beginning of a command that runs something in the pod's container."""
        found = [one for one in self.containers() if pod in one["Labels"].values() and namespace in one["Labels"].values()
                 and one["State"] == "running"]
        assert len(found) == 1, (pod, found)
        return [*podman(self.berthd.data), "exec", found[0]["Id"]]

    def crash(self, pod):
        """Ends the container of the pod with SIGKILL, as if its program had crashed."""
        running = [one["Id"] for one in self.containers() if pod in one["Labels"].values() and one["State"] == "running"]
        run(*podman(self.berthd.data), "kill", *running)

    def push_page(self, image, page):
        Pusher(REGISTRY).push(image, page, (*SERVE, "3000"))


def processes_of(data):
    """Returns the processes whose command line or folder is of the data directory: pid and command."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if f"{data}/local" in command:
                found.append(f"{entry.name} {command[:120]}")
    return found

