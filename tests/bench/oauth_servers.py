"""The authorization servers that the benchmarks of this folder measure, how tokens are got from each of them, and the
load of form bodies that they are measured with. Hydra and node-oidc-provider are built or installed once, below
~/.cache/berth/bench-oauth."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from common import CHALLENGE, HERE, START_SECONDS, VERIFIER, Berthd, fail, free_port, output_of

HYDRA_MODULE, HYDRA_VERSION = "github.com/ory/hydra", "v1.11.10"
PEERS = HERE / "oauth_peers"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / \
    "berth" / "bench-oauth"
CLIENT, SECRET, REDIRECT = "bench", "a secret of the benchmark's", Berthd.REDIRECT
SETUP_THREADS = 8
PREPARED_AT_ONCE = 100
INTROSPECTED = 64  # number of tokens, which are asked for in turn


def form(**fields):
    return urllib.parse.urlencode(fields)


class Connection:
    """A keep-alive connection for preparations; it stores cookies like a browser."""

    def __init__(self, url):
        self.http = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc,
                                               timeout=START_SECONDS)
        self.cookies = {}

    def ask(self, method, url, body=None, headers=None):
        target = urllib.parse.urlsplit(url)
        headers = dict(headers or {})
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}"
                                          for name, value in self.cookies.items())
        path = target.path + ("?" + target.query if target.query else "")
        self.http.request(method, path, body, headers)
        answer = self.http.getresponse()
        text = answer.read().decode()
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, value = line.split(";")[0].split("=", 1)
            self.cookies[name] = value
        if answer.status >= 400:
            fail(f"{method} {url}: {answer.status} {text}")
        return answer.headers.get("Location") or text


class Server:
    """One of the three servers: the paths of its endpoints, and how to get authorization codes from it."""

    client, secret = CLIENT, SECRET

    def token_form(self, **fields):
        return form(**fields, client_id=self.client, client_secret=self.secret)

    def exchange_form(self, code):
        return self.token_form(grant_type="authorization_code", code=code, redirect_uri=REDIRECT,
                               code_verifier=VERIFIER)

    def introspection_form(self, token):
        return self.token_form(token=token)

    def in_threads(self, count, make):
        """Calls `make(connection)` `count` times, spread over several connections."""
        local = threading.local()

        def one(_):
            if not hasattr(local, "connection"):
                local.connection = self.connection()
            return make(local.connection)

        with concurrent.futures.ThreadPoolExecutor(SETUP_THREADS) as pool:
            return list(pool.map(one, range(count)))

    def connection(self):
        return Connection(self.token_url)

    def tokens(self, count):
        codes = iter(self.codes(count))
        return self.in_threads(count, lambda connection: json.loads(connection.ask(
            "POST", self.token_url, self.exchange_form(next(codes)),
            {"Content-Type": "application/x-www-form-urlencoded"})))


class BerthServer(Server):
    name = "berthd"

    def __init__(self, berthd):
        self.berthd = berthd  # one with an app
        self.client = self.berthd.app["client_id"]
        self.secret = self.berthd.app["client_secret"]
        self.token_url = self.berthd.url + "/api/oauth/token"
        self.introspection_url = self.berthd.url + "/api/oauth/introspect"

    def codes(self, count):
        session = {"Authorization": "Bearer " + self.berthd.session}
        url = self.berthd.url + self.berthd.authorize_path(
            self.berthd.app, self.berthd.scope)
        return self.in_threads(count, lambda connection: json.loads(
            connection.ask("GET", url, headers=session))["code"])

    def stop(self):
        self.berthd.stop()


class HydraServer(Server):
    name = "Hydra"

    def __init__(self, binary, directory, database):
        public, admin = free_port(), free_port()
        self.public, self.admin = f"http://127.0.0.1:{public}", f"http://127.0.0.1:{admin}"
        self.token_url = self.public + "/oauth2/token"
        self.introspection_url = self.admin + "/oauth2/introspect"
        environment = {
            **os.environ, "DSN": database + "&max_conns=20", "SECRETS_SYSTEM": "s" * 32,
            "URLS_SELF_ISSUER": self.public + "/", "URLS_LOGIN": "http://127.0.0.1/login",
            "URLS_CONSENT": "http://127.0.0.1/consent", "SERVE_PUBLIC_HOST": "127.0.0.1",
            "SERVE_PUBLIC_PORT": str(public), "SERVE_ADMIN_HOST": "127.0.0.1",
            "SERVE_ADMIN_PORT": str(admin), "LOG_LEVEL": "error", "SQA_OPT_OUT": "true",
            "OAUTH2_HASHERS_BCRYPT_COST": "8"}
        output_of(binary, "migrate", "sql", "-y", "-e", env=environment, cwd=directory)
        self.log = (directory / "hydra.log").open("wb")
        self.process = subprocess.Popen([binary, "serve", "all", "--dangerous-force-http"],
                                        env=environment, cwd=directory, stdout=self.log,
                                        stderr=self.log)
        wait_for(self.admin + "/health/ready", self.process)
        Connection(self.admin).ask("POST", self.admin + "/clients", json.dumps({
            "client_id": CLIENT, "client_secret": SECRET, "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "scope": "offline", "token_endpoint_auth_method": "client_secret_post"}),
            {"Content-Type": "application/json"})

    def introspection_form(self, token):
        return form(token=token)

    def codes(self, count):
        """Gets authorization codes by the whole flow; login and consent are accepted as a login app would accept
        them."""
        url = self.public + "/oauth2/auth?" + form(
            response_type="code", client_id=CLIENT, redirect_uri=REDIRECT, scope="offline",
            state="some state", code_challenge=CHALLENGE, code_challenge_method="S256")

        def accept(connection, kind, question, decision):
            challenge = urllib.parse.parse_qs(question.split("?", 1)[1])[f"{kind}_challenge"][0]
            answer = connection.admin.ask(
                "PUT", f"{self.admin}/oauth2/auth/requests/{kind}/accept?"
                + form(**{f"{kind}_challenge": challenge}), json.dumps(decision),
                {"Content-Type": "application/json"})
            return json.loads(answer)["redirect_to"]

        def one(connection):
            connection.cookies.clear()
            at = connection.ask("GET", url)
            at = connection.ask("GET", accept(connection, "login", at, {"subject": "ada"}))
            at = connection.ask("GET", accept(connection, "consent", at,
                                              {"grant_scope": ["offline"]}))
            return urllib.parse.parse_qs(at.split("?", 1)[1])["code"][0]

        return self.in_threads(count, one)

    def connection(self):
        connection = Connection(self.public)
        connection.admin = Connection(self.admin)
        return connection

    def stop(self):
        end(self.process)
        self.log.close()


class NodeServer(Server):
    name = "node-oidc-provider"

    def __init__(self, program, directory, database):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.token_url, self.introspection_url = self.url + "/token", \
            self.url + "/token/introspection"
        self.log = (directory / "node.log").open("wb")
        self.process = subprocess.Popen(
            ["node", program, str(port), database, CLIENT, SECRET, REDIRECT, CHALLENGE],
            env={**os.environ, "NODE_ENV": "production"}, stdout=self.log, stderr=self.log)
        wait_for(self.url + "/.well-known/openid-configuration", self.process)

    def codes(self, count):
        connection, made = Connection(self.url), []
        while len(made) < count:
            some = min(PREPARED_AT_ONCE, count - len(made))
            made += json.loads(connection.ask("GET", f"{self.url}/prepare?count={some}"))
        return made

    def stop(self):
        end(self.process)
        self.log.close()


def wait_for(url, process):
    for _ in range(START_SECONDS * 10):
        try:
            with urllib.request.urlopen(url, timeout=START_SECONDS):
                return
        except OSError:
            if process.poll() is not None:
                fail(f"the server of {url} ended with {process.returncode}")
            time.sleep(0.1)
    fail(f"{url} doesn't answer")


def end(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(START_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def built_hydra():
    folder = CACHE / f"hydra-{HYDRA_VERSION}"
    binary = folder / "hydra"
    if not binary.exists():
        print(f"building Hydra {HYDRA_VERSION} once, some minutes", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "go.mod").exists():
            output_of("go", "mod", "init", "bench", cwd=folder)
        output_of("go", "get", f"{HYDRA_MODULE}@{HYDRA_VERSION}", cwd=folder)
        output_of("go", "build", "-o", "hydra.part", HYDRA_MODULE, cwd=folder,
                  env={**os.environ, "CGO_ENABLED": "0"})
        (folder / "hydra.part").rename(binary)
    return binary


def installed_provider():
    folder = CACHE / "node"
    lock = (PEERS / "package-lock.json").read_bytes()
    if not (folder / "installed").exists() or (folder / "installed").read_bytes() != lock:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PEERS / name, folder)
        output_of("npm", "ci", "--silent", "--no-audit", "--no-fund", cwd=folder)
        (folder / "installed").write_bytes(lock)
    # Modules are searched for beside the file that imports them.
    return shutil.copy(PEERS / "provider.mjs", folder)


class Load:
    """A wrk that sends form bodies."""

    def __init__(self, directory, connections, seconds):
        self.file, self.connections, self.seconds = directory / "bodies", connections, seconds

    def rate(self, url, mode, bodies, rest=""):
        """Returns how many responses with status 200 arrived per second."""
        self.file.write_text("\n".join(bodies) + "\n")
        command = ["wrk", "-t1", f"-c{self.connections}", f"-d{self.seconds}s", "-s",
                   HERE / "forms.lua", url]
        text = output_of(*command, env={**os.environ, "BODIES": str(self.file), "MODE": mode,
                                        "REST": rest})
        result = json.loads(text.splitlines()[-1])
        # The last codes are used up while other connections still send requests.
        tolerated = self.connections + 1 if mode == "once" else 0
        if result["refused"] > tolerated or result["answered"] == 0:
            fail(f"{url} was not answered well: {text}")
        return result["answered"] / result["seconds"]


def introspections(server, load):
    bodies = [server.introspection_form(pair["access_token"])
              for pair in server.tokens(INTROSPECTED)]
    return load.rate(server.introspection_url, "cycle", bodies)


def refreshes(server, load):
    # One pair for each connection, and one for wrk's first request.
    pairs = server.tokens(load.connections + 1)
    rest = "&" + server.token_form(grant_type="refresh_token")
    bodies = [form(refresh_token=pair["refresh_token"]) + rest for pair in pairs]
    return load.rate(server.token_url, "chain", bodies, rest)
