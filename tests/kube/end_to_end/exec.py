"""Sessions in containers: commands, terminals and ports, and whose account may open them."""
import concurrent.futures
import json
import os
import pathlib
import ssl
import subprocess
import tempfile
import time
import urllib.parse

from . import world
from .berthd import CLIENT, PATIENCE, ROOT, Berthd, Operator
from .waiting import eventually
from .websocket import NotUpgraded, WebSocket

TIERS = ("[{slug: free, name: Free, memory-mb: 128, cpu-millicores: 500, monthly-cost-points: 0, "
         "max-deployments: 1000, auto-approve: true, exec: true}]")
PROTOCOL = "v5.channel.k8s.io"
INPUT, OUTPUT, ERRORS, STATUS, SIZE, CLOSE = 0, 1, 2, 3, 4, 255
NAMESPACE = "berth-e2e-exec"
BUSYBOX = "/bin/busybox"
AT_ONCE = 100
API_SERVER = "https://127.0.0.1:6443"
SCREEN_LIMIT = 15  # seconds until a screen shows what was typed


class Runner(Operator):
    """An operator whose app may also run commands."""
    scopes = ("profile:read", "deploy:manage", "deploy:exec")


def has_accounts(cluster):
    """Whether it is a Kubernetes, and not one machine."""
    return hasattr(cluster, "admin")


def account_of_sessions(cluster):
    """Makes the chart's accounts on a cluster, with sessions switched on, and has berthd use them. Returns berthd's flags for
    them, and what removes them."""
    if not has_accounts(cluster):  # none is needed
        return (), lambda: None
    environment = {**os.environ, "KUBECONFIG": str(cluster.admin), "PATH": f"{cluster.state / 'tools'}:{os.environ['PATH']}"}

    def script(*words):
        return subprocess.run([ROOT / "scripts/cluster-account", *words], check=True, capture_output=True, text=True, env=environment).stdout

    folder = tempfile.TemporaryDirectory(prefix="berth-e2e-exec-")
    values = pathlib.Path(folder.name) / "values.yaml"
    values.write_text("baseUrl: http://127.0.0.1:8080\nappsDomain: apps.localhost\nexec: {enabled: true}\n")
    objects = script("yaml", values, NAMESPACE)
    cluster.kubectl("apply", "--server-side", "-f", "-", input=objects)
    cluster.berth = pathlib.Path(folder.name) / "kubeconfig"
    cluster.berth.write_text(script("kubeconfig", NAMESPACE))

    def remove():
        cluster.kubectl("delete", "--ignore-not-found", "-f", "-", input=objects)
        folder.cleanup()

    return ("--tenant-role", f"{NAMESPACE}:berth:tenant", "--service-account", f"{NAMESPACE}/berth", "--lease-namespace", NAMESPACE,
            "--tenant-priority-class", f"{NAMESPACE}-berth-tenants", "--exec-service-account", f"{NAMESPACE}/berth-exec"), remove


class Session:
    """A command that berthd runs, over a WebSocket of its API. Used in a `with` block."""

    def __init__(self, operator, deployment, *words, tty=False):
        query = urllib.parse.urlencode([("command", word) for word in words] + [("tty", "true" if tty else "false")])
        url = f"{operator.berthd.url}/api/deploy/apps/{deployment}/exec?{query}"
        self.socket = WebSocket(url, operator.token, PROTOCOL, limit=PATIENCE)
        self.output, self.errors, self.status = b"", b"", None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.__exit__()

    def send(self, text):
        self.socket.send(bytes([INPUT]) + text.encode())

    def close_input(self):
        self.socket.send(bytes([CLOSE, INPUT]))

    def resize(self, columns, rows):
        self.socket.send(bytes([SIZE]) + json.dumps({"Width": columns, "Height": rows}).encode())

    def step(self):
        """Takes one message. Returns whether there was one."""
        message = self.socket.receive()
        if not message:
            return message is not None
        if message[0] == OUTPUT:
            self.output += message[1:]
        elif message[0] == ERRORS:
            self.errors += message[1:]
        elif message[0] == STATUS:
            self.status = json.loads(message[1:])
        return True

    def until(self, text):
        while text.encode() not in self.output:
            assert self.status is None and self.step(), (text, self.output, self.status)

    def end(self):
        """Takes everything. Returns the exit code; None if the command has none."""
        while self.status is None and self.step():
            pass
        assert self.status is not None, (self.output, self.errors)
        if self.status["status"] == "Success":
            return 0
        causes = (self.status.get("details") or {}).get("causes") or []
        codes = [int(cause["message"]) for cause in causes if cause.get("reason") == "ExitCode"]
        return codes[0] if codes else None


class Screen:
    """A terminal of tmux in which a person would type, with a server of tmux for it alone. Used in a `with` block."""

    def __init__(self, environment, columns, rows):
        self.folder = tempfile.TemporaryDirectory(prefix="berth-e2e-tmux-")
        self.environment = {**os.environ, **environment, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        self.tmux("new-session", "-d", "-s", "screen", "-x", columns, "-y", rows, "/bin/sh")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")
        self.folder.cleanup()

    def tmux(self, *words):
        words = ("tmux", "-f", "/dev/null", "-S", pathlib.Path(self.folder.name) / "socket", *words)
        return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, env=self.environment).stdout

    def type(self, text, *keys):
        """Types the text as it is, and then the keys with these names."""
        if text:
            self.tmux("send-keys", "-t", "screen", "-l", text)
        if keys:
            self.tmux("send-keys", "-t", "screen", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "screen", "-x", columns, "-y", rows)

    def text(self):
        return self.tmux("capture-pane", "-t", "screen", "-p")

    def shows(self, *lines):
        """Waits until the screen has these lines, among others."""
        eventually(lambda: set(lines) <= {line.rstrip() for line in self.text().splitlines()}, f"the screen shows {lines}",
                   SCREEN_LIMIT, seen=self.text)


class Sessions(world.World):
    @classmethod
    def setUpClass(cls):
        cls.cluster = world.make_cluster()
        flags, remove = account_of_sessions(cls.cluster)
        cls.addClassCleanup(remove)
        cls.berthd = Berthd(cls.cluster, "--tiers", TIERS, *flags)
        cls.cluster.berthd = cls.berthd
        cls.addClassCleanup(cls.berthd.__exit__)
        if has_accounts(cls.cluster):
            cls.addClassCleanup(cls.remove_what_is_left)
        cls.ada = Runner(cls.berthd, "ada")
        cls.shop = cls.ada.deploy("sessions")
        cls.ada.wait(cls.shop, "running")

    def open(self, *words, tty=False):
        return Session(self.ada, self.shop, BUSYBOX, *words, tty=tty)

    def test_1_a_command_has_streams_and_an_exit_code(self):
        with self.open("sh", "-c", "echo out; echo err >&2; exit 7") as session:
            self.assertEqual(session.end(), 7)
            self.assertEqual((session.output, session.errors), (b"out\n", b"err\n"))
        with self.open("true") as session:
            self.assertEqual(session.end(), 0)
        with self.open("sh", "-c", "kill -9 $$") as session:
            self.assertEqual(session.end(), 137)

    def test_2_the_input_and_its_end_reach_a_command(self):
        with self.open("sh", "-c", f"{BUSYBOX} wc -c; exit 3") as session:
            for _ in range(32):
                session.send("x" * 32768)
            session.close_input()
            self.assertEqual(session.end(), 3)
            self.assertEqual(session.output.strip(), str(32 * 32768).encode())

    def test_3_a_terminal_is_resized_and_interrupts(self):
        with self.open("sh", tty=True) as session:
            session.resize(120, 50)
            eventually(lambda: self.size(session) == "50 120", "the terminal has its size", 10)
            session.resize(90, 30)
            eventually(lambda: self.size(session) == "30 90", "the terminal has its new size", 10)
            session.send(f"{BUSYBOX} sleep 1000\n")
            time.sleep(1)
            session.send("\x03")
            session.send("echo code $?\n")
            session.until("code 130")
            session.send("exit 5\n")
            self.assertEqual(session.end(), 5)

    def size(self, session):
        session.output = b""
        session.send(f"echo size $({BUSYBOX} stty size) end\n")
        session.until(" end\r\n")
        lines = session.output.decode(errors="replace").splitlines()
        return next((line.removeprefix("size ").removesuffix(" end") for line in lines if line.startswith("size ")), "")

    def test_4_a_command_that_the_image_lacks_ends_with_127(self):
        with Session(self.ada, self.shop, "psql") as session:
            self.assertEqual(session.end(), 127)
            self.assertIn("psql", session.status["message"])

    def test_5_a_hundred_commands_at_once(self):
        def command(number):
            with self.open("sh", "-c", f"{BUSYBOX} cat; exit {number}") as session:
                session.send(f"input {number}")
                session.close_input()
                code = session.end()
                return code, session.output

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as all_at_once:
            results = list(all_at_once.map(self.with_patience(command), range(AT_ONCE)))
        self.assertEqual(results, [(number, f"input {number}".encode()) for number in range(AT_ONCE)])

    @staticmethod
    def with_patience(command):
        """The same command, which waits while berthd has no place for another session of one account."""
        def patient(number):
            until = time.monotonic() + PATIENCE
            while True:
                try:
                    return command(number)
                except NotUpgraded as refused:
                    if refused.status not in (429, 503) or time.monotonic() > until:
                        raise
                    time.sleep(0.2)
        return patient

    def test_6_a_port_of_the_container(self):
        def ask(port):
            url = f"{self.berthd.url}/api/deploy/apps/{self.shop}/port-forward?port={port}"
            with WebSocket(url, self.ada.token, limit=PATIENCE) as connection:
                connection.send(b"GET / HTTP/1.0\r\n\r\n")
                answer = b""
                while message := connection.receive():
                    answer += message
                return answer

        self.assertIn(b"hello from a real container", ask(3000))
        try:
            self.assertEqual(ask(3999), b"")
        except NotUpgraded as refused:  # a machine without root only has the deployment's own port
            self.assertEqual(refused.status, 409)

    def test_7_a_pod_that_ends_takes_its_sessions_with_it(self):
        with self.open("sleep", "1000") as session:
            self.ada.restart(self.shop)
            self.assertIn(session.end(), (137, 143, None))
        self.ada.wait(self.shop, "running")

    def test_8_an_editor_in_a_terminal(self):
        """What a person does with the client: the editor vi, a terminal that gets another size meanwhile, and Ctrl-C."""
        with tempfile.TemporaryDirectory() as home, Screen(self.ada.client(home), 100, 30) as screen:
            screen.type("PS1='outside> '", "Enter")
            screen.shows("outside>")
            screen.type(f"{CLIENT} exec {self.shop} -- {BUSYBOX} sh; echo it was $?", "Enter")
            screen.shows("/ $")
            screen.type("PS1='inside> '", "Enter")
            screen.shows("inside>")
            screen.type(f"{BUSYBOX} vi /tmp/note", "Enter")
            screen.shows("~")
            screen.type("ifirst line", "Enter")
            screen.type("second line", "Escape")
            # busybox' vi forgets an Escape after which the terminal's size changes at once.
            screen.shows("first line", "second line", "- /tmp/note [Modified] 2/2 100%")
            screen.resize(80, 20)
            screen.type(":wq", "Enter")
            screen.shows("inside>")
            screen.type(f"{BUSYBOX} clear; {BUSYBOX} cat /tmp/note; {BUSYBOX} stty size", "Enter")
            screen.shows("first line", "second line", "20 80")
            screen.type(f"{BUSYBOX} sleep 1000", "Enter")
            time.sleep(1)
            screen.type("", "C-c")
            screen.type("echo interrupted $?", "Enter")
            screen.shows("interrupted 130")
            screen.type("exit 7", "Enter")
            screen.shows("it was 7", "outside>")


class SessionAccount(world.World):
    """Only for a cluster: one machine has no accounts."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = world.make_cluster()
        cls.flags, remove = account_of_sessions(cls.cluster)
        cls.addClassCleanup(remove)
        cls.thief = cls.token_in(cls.cluster.berth)

    @staticmethod
    def token_in(kubeconfig):
        text = kubeconfig.read_text()
        return text.split('token: "', 1)[1].split('"', 1)[0]

    def issued(self, seconds=600):
        return self.cluster.kubectl("create", "token", "berth-exec", "-n", NAMESPACE, f"--duration={seconds}s").strip()

    def status_of(self, token, namespace, pod, subresource="exec?command=true&stdout=true"):
        """The status with which the API server answers the handshake; 101 if it opens a session."""
        url = f"{API_SERVER}/api/v1/namespaces/{namespace}/pods/{pod}/{subresource}"
        context = ssl.create_default_context(cafile=str(self.cluster.state / "pki/ca.crt"))
        try:
            with WebSocket(url, {"Authorization": f"Bearer {token}"}, PROTOCOL, context):
                return 101
        except NotUpgraded as refused:
            return refused.status

    def test_1_berthds_own_token_opens_no_session(self):
        for subresource in ("exec?command=true&stdout=true", "portforward?ports=53", "attach?stdout=true"):
            self.assertEqual(self.status_of(self.thief, "berth-app-any", "any", subresource), 403)

    def test_2_the_account_for_sessions_reaches_no_other_namespaces(self):
        pod = self.cluster.list("pods", "-l", "app=coredns")[0]["metadata"]
        token = self.issued()
        for subresource in ("exec?command=true&stdout=true", "portforward?ports=53"):
            # The rights of an account hold at once, but the API server reads a new ValidatingAdmissionPolicy only every
            # second, later if it is busy.
            eventually(lambda: self.status_of(token, pod["namespace"], pod["name"], subresource) in (403, 422),
                       f"the policy refuses {subresource}", PATIENCE)

    def test_3_a_token_that_berthd_uses_is_replaced_when_it_is_refused(self):
        """The account is made anew, which ends all tokens of it (kubernetes.io, "Bound service account tokens")."""
        with Berthd(self.cluster, "--tiers", TIERS, *self.flags) as berthd:
            ben = Runner(berthd, "ben")
            deployment = ben.deploy("token-end")
            ben.wait(deployment, "running")

            def code():
                with Session(ben, deployment, BUSYBOX, "sh", "-c", "exit 9") as session:
                    return session.end()

            self.assertEqual(code(), 9)
            account = self.cluster.kubectl("get", "serviceaccount", "berth-exec", "-n", NAMESPACE, "-o", "json")
            self.cluster.kubectl("delete", "serviceaccount", "berth-exec", "-n", NAMESPACE)
            fresh = {key: value for key, value in json.loads(account).items() if key in ("apiVersion", "kind")}
            fresh["metadata"] = {"name": "berth-exec", "namespace": NAMESPACE}
            self.cluster.kubectl("create", "-f", "-", input=json.dumps(fresh))
            eventually(lambda: self.opens(code), "sessions are opened with a new token", PATIENCE)
            ben.delete(deployment)

    @staticmethod
    def opens(code):
        try:
            return code() == 9
        except NotUpgraded:
            return False
