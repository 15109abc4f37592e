"""Access to the cluster of this folder with an administrator's rights."""
import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from .waiting import eventually

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(HERE.parent / "metering"))
from watcher import Watcher  # noqa: E402

SCRIPT = HERE / "cluster"
# The tests of one machine (tests/local) have a registry and an ingress controller elsewhere.
REGISTRY = os.environ.get("BERTH_E2E_REGISTRY", "127.0.0.1:5000")
INGRESS = ("127.0.0.1", int(os.environ.get("BERTH_E2E_INGRESS_PORT", 80)))
ANSWER_LIMIT = 30  # seconds, of the registry
SCRIPT_LIMIT = 300  # seconds; a part may take 90 to become ready

# All kinds of objects that berth creates or that are created for it.
KINDS = ("deployments.apps,replicasets.apps,jobs.batch,pods,services,endpointslices.discovery.k8s.io,"
         "ingresses.networking.k8s.io,secrets,certificates.cert-manager.io,resourcequotas,limitranges,"
         "networkpolicies.networking.k8s.io,serviceaccounts,poddisruptionbudgets.policy")

PR_SET_PDEATHSIG = 1  # prctl(2)


def die_with_parent():
    """Makes the kernel end the process with its parent, so that a killed test leaves no process behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run(*command, check=True, limit=SCRIPT_LIMIT, **options):
    """Runs the command. Returns its standard output; raises an exception with its error output if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit, **options)
    if check and done.returncode != 0:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def state_folder():
    given = os.environ.get("BERTH_KUBE_DIR")
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(given or f"{caches}/berth/kube")


@contextlib.contextmanager
def page_folder(page):
    """Makes a folder with busybox and a page for its web server, and removes it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder)
        (files / "bin").mkdir()
        (files / "www").mkdir()
        shutil.copy("/bin/busybox", files / "bin/busybox")
        (files / "www/index.html").write_text(page + "\n")
        yield folder


def flags_of(kubeconfig):
    """Returns the flags with which berthd uses the cluster of this file."""
    return ["--kubernetes", "kubeconfig", "--kubeconfig", kubeconfig]


class Cluster:
    def __init__(self):
        self.state = state_folder()
        self.admin = self.state / "admin.kubeconfig"
        self.berth = self.state / "berth.kubeconfig"
        self.context = ssl.create_default_context(cafile=str(self.state / "pki/ca.crt"))
        self.context.load_cert_chain(self.state / "pki/admin.crt", self.state / "pki/admin.key")

    def flags(self):
        """Returns the flags with which berthd uses this cluster."""
        return flags_of(self.berth)

    def let_go(self, data):
        """Nothing of the data directory runs outside of berthd."""

    def kubectl(self, *words, **options):
        return run(self.state / "tools/kubectl", "--kubeconfig", self.admin, "--request-timeout=30s", *words, **options)

    def get(self, path):
        """Returns the object from the API server; None if it doesn't exist."""
        try:
            with urllib.request.urlopen("https://127.0.0.1:6443" + path, timeout=10, context=self.context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def list(self, kinds, *words):
        return json.loads(self.kubectl("get", kinds, "-A", "-o", "json", *words))["items"]

    def names(self, kinds, *words):
        """Returns the objects as kind/namespace/name, sorted."""
        return sorted("/".join((item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]))
                      for item in self.list(kinds, *words))

    def of_deployment(self, deployment, kinds=KINDS):
        return self.names(kinds, "-l", f"berth/deployment={deployment}")

    def of_instance(self, instance):
        """Returns all objects of a berth instance as kind/namespace/name: those with its label, and all in its
        namespaces."""
        namespaces = self.names("namespaces", "-l", f"berth/instance={instance}")
        objects = self.names(KINDS, "-l", f"berth/instance={instance}")
        for namespace in namespaces:
            objects += self.names(KINDS, f"--field-selector=metadata.namespace={namespace.split('/')[-1]}")
        return namespaces + sorted(set(objects))

    def pods(self, deployment):
        """Returns the ids of the pods that aren't being deleted."""
        return sorted(pod["metadata"]["uid"] for pod in self.list("pods", "-l", f"berth/deployment={deployment}")
                      if "deletionTimestamp" not in pod["metadata"])

    @contextlib.contextmanager
    def without_login(self):
        """Yields a URL at which the API server answers this machine without a login, for as long as the block lasts."""
        proxy = subprocess.Popen([self.state / "tools/kubectl", "--kubeconfig", self.admin, "proxy", "--port", "0"],
                                 stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        try:
            yield "http://" + proxy.stdout.readline().split()[-1]  # Starting to serve on 127.0.0.1:PORT
        finally:
            proxy.terminate()
            proxy.wait()

    @contextlib.contextmanager
    def watched_runs(self):
        """Yields a function that returns when each container of a deployment ran in this block, by the runtime's own times:
        (from, to), without the end of those that still run."""
        with self.without_login() as url:
            watcher = Watcher(url)
            watcher.start()
            try:
                yield lambda deployment: [(run.started, run.finished) for run in watcher.runs([deployment]).values()]
                assert watcher.lost is None, watcher.lost
            finally:
                watcher.end()

    def start_part(self, part):
        run(SCRIPT, "start-part", part)

    def stop_part(self, part):
        run(SCRIPT, "stop-part", part)

    def push_page(self, image, page):
        """Pushes an image whose web server serves this page."""
        with page_folder(page) as folder:
            run(SCRIPT, "image", image, folder, "/bin/busybox", "sh", "-c",
                "trap 'exit 0' TERM; /bin/busybox httpd -f -p 3000 -h /www & wait")

    def push_claim(self, repository, size):
        """Pushes an image with one small layer, of which its manifest claims this size. The registry doesn't compare them."""
        def put(path, content, kind):
            request = urllib.request.Request(f"http://{REGISTRY}/v2/{repository}/{path}", content, {"Content-Type": kind}, method="PUT")
            with urllib.request.urlopen(request, timeout=ANSWER_LIMIT):
                pass

        def blob(content):
            digest = "sha256:" + hashlib.sha256(content).hexdigest()
            start = urllib.request.Request(f"http://{REGISTRY}/v2/{repository}/blobs/uploads/", b"", method="POST")
            with urllib.request.urlopen(start, timeout=ANSWER_LIMIT) as answer:
                place = urllib.parse.urlsplit(answer.headers["Location"])
            put(f"{place.path.removeprefix(f'/v2/{repository}/')}?{place.query}&digest={digest}", content, "application/octet-stream")
            return digest

        of_docker = "application/vnd.docker.distribution.manifest.v2+json"
        config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}).encode()
        put("manifests/1", json.dumps({
            "schemaVersion": 2, "mediaType": of_docker,
            "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "digest": blob(config), "size": len(config)},
            "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "digest": blob(b"a layer"), "size": size}],
        }).encode(), of_docker)

    def writes(self, namespace=None):
        """Returns berth's writes that have arrived at the API server so far, read from its audit log: verb, resource,
        name. Those of the Lease, which berthd renews all the time, are left out. With a namespace only the writes to it and
        in it: the berthd of other tests may write at the same time."""
        found = []
        with open(self.state / "logs/audit.log") as log:
            for line in log:
                if not line.endswith("\n"):
                    break  # it is still being written
                entry = json.loads(line)
                about = entry.get("objectRef", {})
                if about.get("resource") != "leases" and namespace in (None, about.get("namespace"), about.get("name")):
                    found.append((entry["verb"], about.get("resource"), about.get("name")))
        return found

    def compact_history(self):
        """Makes etcd discard all versions of the objects but the current one."""
        def ask(path, body):
            request = urllib.request.Request("http://127.0.0.1:2379/v3/kv/" + path, json.dumps(body).encode())
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        revision = ask("range", {"key": "AA=="})["header"]["revision"]
        ask("compaction", {"revision": revision, "physical": True})


def page(name, limit=5):
    """Returns the status and the text of the app's page, requested through the ingress controller; 0 and the reason if it
    didn't answer."""
    request = urllib.request.Request("http://%s:%d/" % INGRESS, headers={"Host": f"{name}.apps.localhost"})
    try:
        with urllib.request.urlopen(request, timeout=limit) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def serves(name, text, limit=20):
    eventually(lambda: page(name) == (200, text + "\n"), f"the page of {name} is {text!r}", limit, seen=lambda: page(name))
