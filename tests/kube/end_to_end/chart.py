"""What the tests of the chart have in common."""
import json
import pathlib
import tempfile
import unittest

from .berthd import PATIENCE, PROGRAM, ROOT, Berthd, NoAnswer, Operator, Refused
from .cluster import REGISTRY, Cluster, run
from .waiting import eventually

CHART = ROOT / "charts/berth"
RELEASE = "berth"
IMAGE = "berth:e2e"
LIMIT = "120s"  # time limit of a helm command
BETWEEN = 2.5  # seconds between two reads of a deployment; 30 per minute are allowed

VALUES = {
    "image": {"repository": f"{REGISTRY}/berth", "tag": "e2e", "pullPolicy": "Always"},
    "baseUrl": "https://berth.example.org",
    "appsDomain": "apps.localhost",
    "config": {
        "registries": [REGISTRY],
        "tiers": [{"slug": "free", "name": "Free", "memory-mb": 64, "cpu-millicores": 200, "monthly-cost-points": 0,
                   "max-deployments": 1000, "auto-approve": True}],
    },
    "nodeSelector": {"kubernetes.io/hostname": "node1"},  # the node that runs containers
}


class Installed(Berthd):
    """A berthd in its pod or pods, reached from outside of the cluster."""

    def __init__(self, cluster, namespace):  # pylint: disable=super-init-not-called
        self.cluster = cluster
        self.namespace = namespace

    def find(self):
        """Finds the address of the Service, and waits until it leads to a pod."""
        spec = self.cluster.get(f"/api/v1/namespaces/{self.namespace}/services/{RELEASE}")["spec"]
        self.url = f"http://{spec['clusterIP']}:{spec['ports'][0]['port']}"
        eventually(self.answers, "the Service leads to a pod", PATIENCE)  # kube-proxy needs some time

    def answers(self):
        try:
            return super().ask("GET", "/health")["status"]
        except (NoAnswer, Refused):  # without its rules the address is nobody's, or somebody else's
            return None

    def secret(self):
        return self.cluster.kubectl("get", "secret", RELEASE, "-n", self.namespace, "-o",
                                    "go-template={{index .data \"internal-secret\" | base64decode}}")

    def as_admin(self, method, path, body=None, headers=None):
        return self.ask(method, path, body, {"x-internal-secret": self.secret(), **(headers or {})})

    def ask(self, method, path, body=None, headers=None):
        answer = super().ask(method, path, body, headers)
        if path == "/api/auth/register":
            # Production would mail a link for this, and there is no mail server here.
            self.verify(body["username"])
        return answer

    def verify(self, username):
        """Makes the database say that the user's email address is verified."""
        raise NotImplementedError


class Owner(Operator):
    """An operator of the installed berthd. In production users can't verify their own email addresses (see
    Installed.verify()), and rates are limited."""

    def register(self, name):
        account = {"email": f"{name}@example.org", "password": f"secret password of {name}"}
        self.berthd.ask("POST", "/api/auth/register", {**account, "username": name})
        self.session = {"Authorization": "Bearer " + self.berthd.ask("POST", "/api/auth/login", account)["token"]}

    def wait(self, deployment, status, limit=PATIENCE):
        eventually(lambda: self.status(deployment)["status"] == status, f"{deployment} is {status}", limit, pause=BETWEEN)


class ChartTest(unittest.TestCase):
    """Has a namespace for a release of the chart, and the image of berthd in the cluster's registry."""

    NAMESPACE = INSTALLED = None  # each class has its own
    VALUES = VALUES

    @classmethod
    def prepare(cls):
        cls.cluster = Cluster()
        cls.folder = tempfile.TemporaryDirectory(prefix="berth-chart-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.remove()
        cls.addClassCleanup(cls.remove)
        cls.cluster.kubectl("create", "namespace", cls.NAMESPACE)
        cls.cluster.kubectl("label", "namespace", cls.NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
        run(ROOT / "scripts/image.sh", "--unchecked", PROGRAM, IMAGE)

    @classmethod
    def remove(cls):
        """Removes everything that earlier runs have left, including killed ones."""
        cls.helm("uninstall", RELEASE, "--ignore-not-found", "--wait", "--timeout", LIMIT)
        cls.cluster.kubectl("delete", "namespace", cls.NAMESPACE, "--ignore-not-found", "--timeout=60s", limit=90)

    @classmethod
    def helm(cls, command, *words, **options):
        try:
            return run(cls.cluster.state / "tools/helm", "--kubeconfig", cls.cluster.admin, command, "--namespace",
                       cls.NAMESPACE, *words, **options)
        except RuntimeError as failure:
            raise RuntimeError(f"{failure}\n{cls.state_of_pods()}") from failure

    @classmethod
    def state_of_pods(cls):
        """Returns why a pod isn't ready, which helm's message doesn't say."""
        said = [cls.cluster.kubectl("-n", cls.NAMESPACE, *words, check=False) for words in (
            ("describe", "pods"), ("logs", cls.INSTALLED, "--tail=20"), ("logs", cls.INSTALLED, "--tail=20", "--previous"))]
        return "\n".join(said)

    @classmethod
    def values_file(cls, **more):
        file = pathlib.Path(cls.folder.name) / "values.json"
        file.write_text(json.dumps({**cls.VALUES, **more}))
        return file

    def kubectl(self, *words, **options):
        return self.cluster.kubectl("-n", self.NAMESPACE, *words, **options)

    def uninstall(self):
        self.helm("uninstall", RELEASE, "--wait", "--timeout", LIMIT)
        eventually(lambda: not self.cluster.names("pods", f"--field-selector=metadata.namespace={self.NAMESPACE}"),
                   "its pods are gone", PATIENCE)

    def install_again_and_delete(self):
        """Expects that the deployment `shop` of `ada` still runs, and that nothing is left when it is deleted."""
        self.helm("install", RELEASE, CHART, "-f", self.values_file(), "--wait", "--timeout", LIMIT)
        self.berth.find()
        self.ada.wait(self.shop, "running")
        self.ada.delete(self.shop)
        eventually(lambda: not self.cluster.of_deployment(self.shop), "nothing is left of it", PATIENCE,
                   seen=lambda: self.cluster.of_deployment(self.shop))
