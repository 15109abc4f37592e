"""What registries do to whoever pulls: the reasons are those of a cluster, and nobody waits for others' registries."""
import http.server
import threading
import time

from addresses import REGISTRY, free_port
from end_to_end.berthd import Operator
from end_to_end.cluster import serves
from end_to_end.waiting import eventually
from end_to_end.world import World
from images import FIRST, SERVE, Pusher, Registry

LOGIN = ("somebody", "a password")
LIMIT = 20  # seconds until the reason is there, as soon as the registry answers
SILENCE = 90  # seconds after which a registry that doesn't answer is given up


class Unwilling(http.server.ThreadingHTTPServer):
    """A registry that always does the same. Used in a `with` block."""
    daemon_threads = True

    def __init__(self, status, head=()):
        outer = self
        self.asked = 0
        self.over = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked += 1
                if status is None:
                    outer.over.wait()
                    return
                body = b'{"errors": [{"code": "TOOMANYREQUESTS", "message": "not today"}]}'
                self.send_response(status)
                for name, value in (*head, ("Content-Length", str(len(body)))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *_):
                """Nobody reads it."""

        super().__init__(("127.0.0.1", free_port()), Handler)
        self.address = "127.0.0.1:%d" % self.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()


class Registries(World):
    @classmethod
    def setUpClass(cls):
        cls.busy = cls.enterClassContext(Unwilling(429))
        cls.silent = cls.enterClassContext(Unwilling(None))
        cls.private = cls.enterClassContext(Registry(LOGIN))
        cls.private.push("shop:1", FIRST, (*SERVE, "3000"))
        cls.flags = ("--registries", ",".join((REGISTRY, cls.busy.address, cls.silent.address, cls.private.address, "127.0.0.1:1")))
        super().setUpClass()

    def fails(self, name, image, words, limit=LIMIT, **more):
        """Returns the deployment, which can't get its image and says so in these words."""
        deployment = self.ada.deploy(name, image, **more)
        took = eventually(lambda: self.ada.status(deployment)["reason"] == "image_pull_failed", "its reason", limit,
                          seen=lambda: self.ada.status(deployment))
        message = self.ada.status(deployment)["message"]
        print(f"      after {took:.1f} s: {message}", flush=True)
        self.assertEqual(message, f'Failed to pull image "{image}": {words}')
        return deployment

    @staticmethod
    def unresolved(image, why, code="Unknown"):
        return (f'rpc error: code = {code} desc = failed to pull and unpack image "{image}": '
                f'failed to resolve reference "{image}": {why}')

    def login(self, password):
        return {"server": self.private.address, "username": LOGIN[0], "password": password}

    def test_1_answers(self):
        private, url = f"{self.private.address}/shop:1", f"https://{self.private.address}/v2/shop/manifests/1"
        gone = f"{REGISTRY}/hello:none"
        Pusher(REGISTRY).push("other:1", FIRST, (*SERVE, "3000"), architecture="s390x")
        other, refused = f"{REGISTRY}/other:1", "127.0.0.1:1/a:1"
        made = [
            self.fails("no-login", private, self.unresolved(
                private, "pull access denied, repository does not exist or may require authorization: "
                "authorization failed: no basic auth credentials")),
            self.fails("wrong-login", private, self.unresolved(
                private, f"unexpected status from HEAD request to {url}: 401 Unauthorized"), registry_credentials=self.login("wrong")),
            self.fails("no-tag", gone, self.unresolved(gone, f"{gone}: not found", "NotFound")),
            self.fails("other-machine", other, f'rpc error: code = NotFound desc = failed to pull and unpack image "{other}": '
                       "no match for platform in manifest: not found"),
            self.fails("nobody", refused, self.unresolved(
                refused, 'failed to do request: Head "https://127.0.0.1:1/v2/a/manifests/1": dial tcp 127.0.0.1:1: connect: connection refused'))]
        right = self.ada.deploy("right-login", private, registry_credentials=self.login(LOGIN[1]))
        self.ada.wait(right, "running")
        serves("right-login", FIRST)
        events = self.cluster.ask("GET", f"/api/v1/namespaces/{self.ada.namespace}/events")["items"]
        pulled = [event["message"] for event in events if event["reason"] == "Pulled" and private in event["message"]]
        self.assertRegex(pulled[0], rf'^Successfully pulled image "{private}" in .* \(.* including waiting\)\. Image size: \d+ bytes\.$')
        for deployment in (*made, right):
            self.ada.delete(deployment)

    def test_2_too_many_pulls(self):
        image = f"{self.busy.address}/a:1"
        busy = self.fails("too-many", image, f'rpc error: code = Unknown desc = failed to pull and unpack image "{image}": '
                          f"failed to copy: httpReadSeeker: failed open: unexpected status code https://{self.busy.address}/v2/a/manifests/1: "
                          "429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit.", limit=60)
        print(f"      it was asked {self.busy.asked} times", flush=True)
        self.assertLess(self.busy.asked, 20)
        self.ada.delete(busy)

    def test_3_silence(self):
        """Many containers wait for a registry that doesn't answer; those of others don't wait with them."""
        image = f"{self.silent.address}/a:1"
        waiting = [self.ada.deploy(f"silent-{number}", image) for number in range(5)]
        eventually(lambda: self.silent.asked >= 2, "the registry is asked", LIMIT)
        ben = Operator(self.berthd, "ben")
        for operator in (ben, self.ada):
            began = time.monotonic()
            other = operator.deploy(f"others-of-{operator.namespace[-6:]}")
            operator.wait(other, "running", SILENCE * 3)
            who = "app" if operator is ben else "deployment of the app"
            print(f"      another {who} runs after {time.monotonic() - began:.1f} s", flush=True)
            if operator is ben:
                self.assertLess(time.monotonic() - began, LIMIT)
        took = eventually(lambda: self.ada.status(waiting[0])["reason"] == "image_pull_failed", "its reason", SILENCE,
                          seen=lambda: self.ada.status(waiting[0]))
        message = self.ada.status(waiting[0])["message"]
        print(f"      after {took:.0f} s: {message}", flush=True)
        self.assertIn("timeout awaiting response headers", message)
        # A pod that is deleted doesn't wait for its pull.
        for deployment in waiting:
            self.ada.delete(deployment)
        eventually(lambda: not any(self.cluster.list("pods", "-l", f"berth/deployment={deployment}") for deployment in waiting),
                   "they are gone", LIMIT)
