"""The parts that the benchmarks of this folder share: a berthd set up for measuring, wrk, and the description of the
machine."""
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
START_SECONDS = 30
READY_SECONDS = 60  # for an answer to the question whether berthd is ready

VERIFIER = "v" * 43  # the PKCE verifier
CHALLENGE = base64.urlsafe_b64encode(
    hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


def fail(text):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {text}")


def no_cluster(directory):
    """Returns the flags for a berthd whose cluster doesn't answer: nobody listens on port 1."""
    file = directory / "kubeconfig"
    file.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "none",
        "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "none", "user": {}}],
        "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}]}))
    return "--kubernetes", "kubeconfig", "--kubeconfig", str(file)


def ratio(ours, theirs):
    """Of figures that were measured in turns."""
    return statistics.median(a / b for a, b in zip(ours, theirs))


def output_of(*command, **more):
    done = subprocess.run(command, check=True, capture_output=True, text=True, **more)
    return done.stdout.strip()


def latency_ms(text, name):
    """Returns a latency that wrk has printed, such as "99%", in milliseconds."""
    value, unit = re.search(rf"{name}\s+([\d.]+)(us|ms|s)\b", text).groups()
    return float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Berthd:
    """A berthd with a user and an app. `session` is the user's JWT; `app` includes the client secret."""

    REDIRECT = "https://bench.example.org/callback"

    def __init__(self, binary, directory, scope, *flags, rate_limits="off"):
        self.scope = scope
        self.start(binary, directory, "--rate-limits", rate_limits, *flags)
        try:
            self.session, self.app = self.register("bench", scope)
        except BaseException:
            self.process.kill()
            raise

    def start(self, binary, directory, *flags, log_level="warning", log=None):
        """`log` is an open file; without one, berthd writes its log where this script writes."""
        self.directory = directory
        for left in directory.glob("berthd*.addr"):  # of an earlier start
            left.unlink()
        self.process = subprocess.Popen(
            [binary, "--data-dir", directory, "--listen", "127.0.0.1:0", "--metrics-listen",
             "127.0.0.1:0", "--log-level", log_level, *flags], stdout=log, stderr=log)
        try:
            self.wait_until_ready()
        except BaseException:
            self.process.kill()
            raise

    def wait_until_ready(self):
        addresses = self.directory / "berthd.metrics.addr"
        for _ in range(START_SECONDS * 100):
            if addresses.exists():
                break
            if self.process.poll() is not None:
                fail("berthd ended")
            time.sleep(0.01)
        self.url = "http://" + (self.directory / "berthd.addr").read_text().strip()
        self.metrics_url = "http://" + addresses.read_text().strip() + "/metrics"
        self.secret = (self.directory / "internal-secret").read_text().strip()

    def wait_until_answers(self):
        """Waits until berthd says that it is ready. Returns what time.monotonic() is at that moment."""
        ready = self.metrics_url.replace("/metrics", "/readyz")
        while True:
            with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(ready, timeout=READY_SECONDS):
                return time.monotonic()
            time.sleep(0.01)

    def call(self, method, path, body=None, token=None):
        headers = {"Content-Type": "application/json", "x-internal-secret": self.secret}
        if token:
            headers["Authorization"] = "Bearer " + token
        request = urllib.request.Request(
            self.url + path, method=method, headers=headers,
            data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:
            return json.load(answer)

    def cpu_seconds(self):
        """Returns the CPU seconds of all threads, also of those that have ended."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def register(self, name, scope):
        """Returns a new user's session, and that user's app with these scopes, between which are blanks."""
        account = {"email": f"{name}@example.org", "username": name,
                   "password": f"{name} of a benchmark"}
        self.call("POST", "/api/auth/register", account)
        session = self.call("POST", "/api/auth/login", account)["token"]
        self.call("POST", "/api/auth/self-verify-email", token=session)
        app = self.call("POST", "/api/oauth/apps", {
            "app_name": name, "redirect_uris": [self.REDIRECT], "allowed_scopes": scope.split()},
            session)["app"]
        if not app["is_approved"]:
            request = self.call("POST", f"/api/oauth/my-apps/{app['id']}/scope-request",
                                {"requested_scopes": scope.split()}, session)
            self.call("POST", f"/api/internal/scope-requests/{request['id']}/approve")
        return session, app

    def authorize_path(self, app, scope):
        return (f"/api/oauth/authorize?response_type=code&client_id={app['client_id']}"
                f"&redirect_uri={self.REDIRECT}&scope={urllib.parse.quote(scope)}"
                f"&code_challenge={CHALLENGE}&code_challenge_method=S256")

    def token_of(self, session, app, scope):
        code = self.call("GET", self.authorize_path(app, scope), token=session)["code"]
        return self.call("POST", "/api/oauth/token", {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self.REDIRECT,
            "code_verifier": VERIFIER, "client_id": app["client_id"],
            "client_secret": app["client_secret"]})["access_token"]

    def access_token(self):
        return self.token_of(self.session, self.app, self.scope)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(START_SECONDS)


class Replica(Berthd):
    """A further berthd process on the database of another one, whose keys, user and app it shares."""

    def __init__(self, binary, directory, first, *flags):  # pylint: disable=super-init-not-called
        self.scope, self.session, self.app = first.scope, first.session, first.app
        self.start(binary, directory, "--keys-file", str(first.directory / "keys.json"),
                   "--rate-limits", "off", *flags)


def described_machine(directory):
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    return (f"{cpu.group(1) if cpu else os.uname().machine}, {len(os.sched_getaffinity(0))} cores, "
            f"{int(memory.group(1)) / 2**20:.0f} GiB; Linux {os.uname().release}; database on "
            f"{output_of('stat', '-f', '-c', '%T', str(directory))}")


def described_commit():
    if not shutil.which("git") or not (ROOT / ".git").exists():
        return "unknown"
    commit = output_of("git", "-C", str(ROOT), "describe", "--always")
    # What the benchmarks themselves write below docs changes no program.
    changed = output_of("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return commit + ("-dirty" if changed else "")


def wrk_version():
    return subprocess.run(["wrk", "-v"], capture_output=True, text=True).stdout.split()[1]


def build(*targets):
    subprocess.run(["cmake", "--preset", "release", "-DBERTH_BENCH=ON"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", *targets], cwd=ROOT,
                   check=True, stdout=sys.stderr)
