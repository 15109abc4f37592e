"""Runs berthd as a process, and provides operators as clients of its API."""
import base64
import hashlib
import json
import os
import pathlib
import secrets
import signal
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from .cluster import REGISTRY, die_with_parent
from .waiting import eventually

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("BERTHD") or str(ROOT / "build/dev/berthd")
CLIENT = str(pathlib.Path(PROGRAM).parent / "berth")
PATIENCE = 60  # seconds, which is generous even on a loaded machine
# Small tiers, so that many deployments fit on a machine, and one that wants more memory is killed soon.
TIERS = ("[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 200, monthly-cost-points: 0, "
         "max-deployments: 1000, custom-domain: true, auto-approve: true}]")


class NoAnswer(Exception):
    """The connection was refused or broke before the response arrived."""


class Refused(Exception):
    def __init__(self, status, text, question):
        super().__init__(f"{question}: {status} {text}")
        self.status = status


class Berthd:
    """One data directory and the process that uses it. Used in a `with` block, which ends the process."""

    def __init__(self, cluster, *flags):
        self.cluster = cluster
        self.cluster_flags = cluster.flags()
        self.flags = flags
        self.folder = tempfile.TemporaryDirectory(prefix="berthd-e2e-")
        self.data = pathlib.Path(self.folder.name) / "data"
        self.log_file = pathlib.Path(self.folder.name) / "log"
        self.process = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.cluster.let_go(self.data)
        self.folder.cleanup()

    def command(self):
        words = [PROGRAM, "--data-dir", self.data, *self.cluster_flags,
                 "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--rate-limits", "off", *self.unless_given("--tiers", TIERS),
                 *self.unless_given("--registries", f"{REGISTRY},docker.io/library,ghcr.io"), *self.flags]
        return [str(word) for word in words]

    def unless_given(self, flag, value):
        return () if flag in self.flags else (flag, value)

    def start(self):
        for name in ("berthd.addr", "berthd.metrics.addr"):
            (self.data / name).unlink(missing_ok=True)
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=die_with_parent)
        eventually((self.data / "berthd.metrics.addr").exists, "berthd has started", PATIENCE, seen=self.end_of_log)
        self.url = "http://" + (self.data / "berthd.addr").read_text().strip()
        self.metrics_url = "http://" + (self.data / "berthd.metrics.addr").read_text().strip()

    def end_of_log(self):
        return self.log_file.read_text()[-2000:]

    def send(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def terminate(self):
        self.send(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def ask(self, method, path, body=None, headers=None):
        """Returns the response's body, parsed if it is JSON. Raises Refused for any status of 400 or above."""
        data = None if body is None else json.dumps(body).encode()
        base = "" if path.startswith("http") else self.url
        request = urllib.request.Request(base + path, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                text = answer.read().decode()
                return json.loads(text) if "json" in answer.headers.get("Content-Type", "") else text
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode(), f"{method} {path}") from None
        except (urllib.error.URLError, OSError) as error:
            raise NoAnswer(f"{method} {path}: {error}") from None

    def as_admin(self, method, path, body=None):
        secret = (self.data / "internal-secret").read_text().strip()
        return self.ask(method, path, body, {"x-internal-secret": secret})

    def health(self):
        return self.ask("GET", "/health")

    def instance(self):
        """Returns the name with which this berthd labels its objects, read from its log."""
        for line in self.log_file.read_text().splitlines():
            entry = json.loads(line)
            if "instance" in entry:
                return entry["instance"]
        raise AssertionError("its log names no instance: " + self.end_of_log())

    def ready(self):
        """Returns the status and the text of /readyz."""
        try:
            return 200, self.ask("GET", self.metrics_url + "/readyz")
        except Refused as refused:
            return refused.status, str(refused)

    def metrics(self):
        return self.ask("GET", self.metrics_url + "/metrics")

    def write_requests(self):
        """Returns how many writes berthd has sent to the API server, according to its metrics."""
        total = 0.0
        for line in self.metrics().splitlines():
            if line.startswith("rest_client_requests_total{") and 'method="GET"' not in line:
                total += float(line.split()[-1])
        return total


class Operator:
    """An account with an app that may create deployments, and an access token of the app."""

    scopes = ("profile:read", "deploy:manage")

    def __init__(self, berthd, name):
        self.berthd = berthd
        self.register(name)
        self.create_app(name)
        self.approve()
        self.get_token()

    def register(self, name):
        account = {"email": f"{name}@example.org", "password": f"secret password of {name}"}
        self.berthd.ask("POST", "/api/auth/register", {**account, "username": name})
        self.session = {"Authorization": "Bearer " + self.berthd.ask("POST", "/api/auth/login", account)["token"]}
        self.berthd.ask("POST", "/api/auth/self-verify-email", {}, self.session)

    def create_app(self, name):
        wanted = {"app_name": f"App of {name}", "redirect_uris": [f"https://{name}.example.org/callback"],
                  "allowed_scopes": list(self.scopes)}
        self.app = self.berthd.ask("POST", "/api/oauth/apps", wanted, self.session)["app"]
        self.redirect_uri = wanted["redirect_uris"][0]
        self.namespace = "berth-app-" + self.app["id"]

    def approve(self):
        asked = self.berthd.ask("POST", f"/api/oauth/my-apps/{self.app['id']}/scope-request",
                                {"requested_scopes": [scope for scope in self.scopes if scope != "profile:read"]}, self.session)
        assert asked["status"] == "pending", asked
        self.berthd.as_admin("POST", f"/api/internal/scope-requests/{asked['id']}/approve")

    def client(self, home):
        """Returns the variables with which the client `berth` acts for this operator; it keeps nothing but in `home`."""
        token = self.token["Authorization"].removeprefix("Bearer ")
        return {"HOME": home, "XDG_CONFIG_HOME": home, "BERTH_URL": self.berthd.url, "BERTH_TOKEN": token}

    def get_token(self):
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": self.app["client_id"], "redirect_uri": self.redirect_uri,
            "scope": " ".join(self.scopes), "code_challenge": challenge, "code_challenge_method": "S256"})
        code = self.berthd.ask("GET", f"/api/oauth/authorize?{query}", None, self.session)["code"]
        tokens = self.berthd.ask("POST", "/api/oauth/token", {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri,
            "code_verifier": verifier, "client_id": self.app["client_id"], "client_secret": self.app["client_secret"]})
        self.token = {"Authorization": "Bearer " + tokens["access_token"]}

    def ask(self, method, path="", body=None):
        return self.berthd.ask(method, "/api/deploy/apps" + path, body, self.token)

    def deploy(self, name, image=f"{REGISTRY}/hello:1", **more):
        """Creates a deployment. Returns its id."""
        return self.ask("POST", "", {"name": name, "image": image, "tier": "free", **more})["id"]

    def stop(self, deployment):
        self.ask("POST", f"/{deployment}/stop", {})

    def restart(self, deployment):
        self.ask("POST", f"/{deployment}/restart", {})

    def delete(self, deployment):
        return self.ask("DELETE", f"/{deployment}")

    def status(self, deployment):
        return self.ask("GET", f"/{deployment}/status")

    def wait(self, deployment, status, limit=PATIENCE):
        """Waits until the deployment has the status. Returns the response that shows it."""
        eventually(lambda: self.status(deployment)["status"] == status, f"{deployment} is {status}", limit,
                   seen=lambda: self.status(deployment))
        return self.status(deployment)
