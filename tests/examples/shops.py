#!/usr/bin/env python3
"""Runs each program of examples/shop against one berthd: a player logs in by it, sees their balance and buys something,
twice with one order and once; then berth sends it an event, and somebody else a forged one.

usage: shops.py BERTHD BUILD_DIR

Programs are built in BUILD_DIR. A language whose compiler isn't installed is left out, which the last line says; with
none at all the exit code is 77."""
import base64
import hmac
import http.server
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "operations")]
sys.dont_write_bytecode = True

import scene as scenes  # noqa: E402
from running_berthd import Berthd  # noqa: E402

SHOP = ROOT / "examples" / "shop"
MODULES = ROOT / "console" / "node_modules"
LIMIT_SECONDS = 120  # for a compiler, or an answer, on a busy machine
SCOPES = ["profile:read", "points:read", "points:spend"]
PRICE, BALANCE = 5, 15


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def ask(url, data=None, **headers):
    """Returns the status, the headers and the text of an answer, whatever the status is."""
    opener = urllib.request.build_opener(NoRedirect)
    request = urllib.request.Request(url, data, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with opener.open(request, timeout=LIMIT_SECONDS) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, **more)
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


def build_typescript(folder):
    if not (shutil.which("node") and (MODULES / "esbuild").exists()):
        return None
    run(str(MODULES / ".bin" / "esbuild"), str(SHOP / "shop.ts"), "--log-level=warning", f"--outfile={folder}/shop.mjs")
    return ["node", f"{folder}/shop.mjs"]


def build_go(folder):
    if not shutil.which("go"):
        return None
    version = re.search(r"go1\.(\d+)", run("go", "version", env={**os.environ, "GOTOOLCHAIN": "local"}))
    if int(version[1]) < 22:
        return None
    run("go", "build", "-o", f"{folder}/shop-go", str(SHOP / "shop.go"),
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"})
    return [f"{folder}/shop-go"]


def build_csharp(folder):
    if not (shutil.which("mcs") and shutil.which("mono")):
        return None
    run("mcs", "-warnaserror+", "-r:System.Net.Http", "-r:System.Runtime.Serialization", f"-out:{folder}/Shop.exe",
        str(SHOP / "Shop.cs"))
    return ["mono", f"{folder}/Shop.exe"]


# What builds each server; returns its command, or None if the language isn't installed.
SERVERS = {
    "TypeScript": build_typescript,
    "Python": lambda _: [sys.executable, str(SHOP / "shop.py")],
    "Go": build_go,
    "C#": build_csharp,
}


class World:
    """An operator, an app with a secret, one without, and a player with points."""

    def __init__(self, base, secret):
        self.scene = scenes.Scene(base, secret)
        self.base = base
        self.private, self.public = self.app({}), self.app({"token_endpoint_auth_method": "none"})
        self.webhooks = f"/api/operator/apps/{self.private['id']}/webhooks"

    def app(self, more):
        owner, admin = self.scene.operator, self.scene.admin
        body = {"app_name": "A shop", "redirect_uris": ["http://127.0.0.1/callback"], "allowed_scopes": SCOPES, **more}
        app = owner.post("/api/oauth/apps", body).expect(201)["app"]
        wanted = owner.post(f"/api/oauth/my-apps/{app['id']}/scope-request", {"requested_scopes": SCOPES[1:]}).expect(201)
        admin.post(f"/api/internal/scope-requests/{wanted['id']}/approve").expect(200)
        return app

    def player(self):
        player = self.scene.new_user()
        self.scene.mint({"kind": "user", "id": player.id}, BALANCE)
        return player

    def environment(self, app):
        return {**os.environ, "BERTH_URL": self.base, "BERTH_CLIENT_ID": app["client_id"],
                "BERTH_CLIENT_SECRET": app.get("client_secret") or ""}

    def consent(self, player, address):
        """Does what the player's browser does; returns the address that it is sent back to."""
        assert address.startswith(self.base), address
        return player.get(address.removeprefix(self.base)).expect(200)["redirect_to"]

    def new_webhook(self, url):
        return self.scene.operator.post(self.webhooks, {"url": url, "events": ["billing.failed"]}).expect(201)["webhook"]

    def test_webhook(self, one):
        self.scene.operator.post(f"{self.webhooks}/{one['id']}/test").expect(202)


def forged(secret, body):
    """Returns headers that are genuine for the secret."""
    moment = str(int(time.time()))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = base64.b64encode(hmac.digest(key, f"evt_1.{moment}.".encode() + body, "sha256")).decode()
    return {"webhook_id": "evt_1", "webhook_timestamp": moment, "webhook_signature": f"v1,{signature}"}


def use_server(name, command, world):
    port = free_port()
    here = f"http://127.0.0.1:{port}"
    webhook = world.new_webhook(f"{here}/webhooks")
    app = world.public if name == "C#" else world.private
    environment = {**world.environment(app), "PORT": str(port), "BERTH_WEBHOOK_SECRET": webhook["secret"]}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as shop:
        try:
            said = shop.stdout.readline()
            assert here in said, said

            assert "/login" in ask(here + "/")[2]
            status, headers, _ = ask(here + "/login")
            assert status in (302, 303), status
            cookie = (headers["Set-Cookie"] or "").split(";")[0]
            back = world.consent(world.player(), headers["Location"])
            assert back.startswith(f"{here}/callback?"), back
            assert ask(re.sub(r"state=[^&]*", "state=wrong", back), Cookie=cookie)[0] == 400
            status, headers, text = ask(back, Cookie=cookie)
            assert status in (302, 303), text
            cookie = (headers["Set-Cookie"] or cookie).split(";")[0]

            text = ask(here + "/", Cookie=cookie)[2]
            assert f"You have {BALANCE} points" in text, text
            order = re.search(r"value=([\w-]+)", text)[1]
            for again in ("first", "again"):
                text = ask(here + "/buy", f"order={order}".encode(), Cookie=cookie)[2]
                assert f"You have {BALANCE - PRICE} points left" in text, (again, text)
            for left in range(BALANCE - 2 * PRICE, -1, -PRICE):
                text = ask(here + "/buy", f"order=order-{left}".encode(), Cookie=cookie)[2]
                assert f"You have {left} points left" in text, text
            status, _, text = ask(here + "/buy", b"order=one-more", Cookie=cookie)
            assert status == 422 and "points" in text, (status, text)

            world.test_webhook(webhook)
            said = shop.stdout.readline()
            assert said == "event: webhook.test\n", said
            body = b'{"id": "evt_1", "type": "billing.failed", "created_at": "2026-01-01T00:00:00Z", "data": {}}'
            genuine = forged(webhook["secret"], body)
            old = {**genuine, "webhook_timestamp": "1"}
            for headers, wanted in ((old, 400), (forged("whsec_" + "A" * 32, body), 400), ({}, 400), (genuine, 200)):
                assert ask(f"{here}/webhooks", body, **headers)[0] == wanted, (headers, wanted)
            assert ask(f"{here}/webhooks", body + b" ", **genuine)[0] == 400
        finally:
            shop.kill()


def use_curl(world):
    received = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    webhook = world.new_webhook(f"http://127.0.0.1:{receiver.server_port}/")
    environment = {**world.environment(world.private), "BERTH_WEBHOOK_SECRET": webhook["secret"]}
    shell = str(SHOP / "shop.sh")
    with subprocess.Popen([shell, "login"], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as login:
        assert "Open this" in login.stderr.readline()
        back = world.consent(world.player(), login.stderr.readline().strip())
        token = login.communicate(back + "\n", timeout=LIMIT_SECONDS)[0].strip()
    assert run(shell, "balance", token, env=environment) == f"{BALANCE}\n"
    for _ in range(2):
        assert run(shell, "spend", token, str(PRICE), 'A "shield"', "order-1", env=environment) == f"{BALANCE - PRICE}\n"
    world.test_webhook(webhook)
    limit = time.monotonic() + LIMIT_SECONDS
    while not received:
        assert time.monotonic() < limit, "no event came"
        time.sleep(0.05)
    headers, body = received[0]
    headers = {name.lower(): value for name, value in headers.items()}
    for text, wanted in ((body, 0), (body + b" ", 1)):
        done = subprocess.run([shell, "webhook", *(headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))],
                              env=environment, input=text, timeout=LIMIT_SECONDS, check=False)
        assert done.returncode == wanted, (text, done.returncode)
    receiver.shutdown()


def main():
    berthd, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    commands = {name: build(folder) for name, build in SERVERS.items()}
    ran = []
    with tempfile.TemporaryDirectory() as data, Berthd(
            Path(berthd).resolve(), data, "--rate-limits", "off", "--webhook-allow-private", "on",
            "--rewards", "{signup-points: 0}") as running:
        secret = (Path(data) / "data" / "internal-secret").read_text().strip()
        world = World(f"http://{running.address}", secret)
        for name, command in commands.items():
            if command:
                use_server(name, command, world)
                ran.append(name)
        if all(map(shutil.which, ("curl", "jq", "openssl"))):
            use_curl(world)
            ran.append("curl")
    left_out = [name for name in [*SERVERS, "curl"] if name not in ran]
    print(f"{len(ran)} of {len(SERVERS) + 1} samples did their job: {', '.join(ran)}" +
          (f"; not installed: {', '.join(left_out)}" if left_out else ""))


if __name__ == "__main__":
    main()
