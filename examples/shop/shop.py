"""A shop whose customers pay with points: they log in with berth, see their balance and buy a shield, and berth tells the
shop what happens to its app. Python 3.9 or newer, with nothing but its own library:

    BERTH_URL=https://berth.example.org BERTH_CLIENT_ID=… BERTH_CLIENT_SECRET=… python3 shop.py
"""
import base64
import hashlib
import hmac
import http.cookies
import http.server
import json
import os
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request

# [login]
BERTH = os.environ["BERTH_URL"]
CLIENT_ID = os.environ["BERTH_CLIENT_ID"]
CLIENT_SECRET = os.environ["BERTH_CLIENT_SECRET"]
PORT = int(os.environ.get("PORT", "3000"))
CALLBACK = f"http://127.0.0.1:{PORT}/callback"  # one of the app's redirect URIs


def ask(path, body=None, **headers):
    """Sends a request to berth and returns what it answers. A refusal is an HTTPError, whose body says why."""
    request = urllib.request.Request(BERTH + path, body, headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def login_address(state, verifier):
    """Returns where to send the player's browser. It comes back to CALLBACK with `code` and `state`."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return f"{BERTH}/api/oauth/authorize?" + urllib.parse.urlencode({
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "scope": "profile:read points:read points:spend",
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    })


def tokens_for(code, verifier):
    """Returns the player's tokens: access_token, refresh_token, session_token."""
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": verifier}
    credentials = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
    return ask("/api/oauth/token", urllib.parse.urlencode(form).encode(), Authorization=f"Basic {credentials}")
# [/login]


# [balance]
def balance(access_token):
    return ask("/api/external/points/balance", Authorization=f"Bearer {access_token}")["points"]
# [/balance]


# [spend]
def spend(access_token, amount, description, order):
    """Takes points from the player, once for each order, and returns how many the player has left."""
    body = json.dumps({"amount": amount, "description": description}).encode()
    headers = {"Authorization": f"Bearer {access_token}", "Content-Type": "application/json", "Idempotency-Key": order}
    for attempt in range(3):
        try:
            return ask("/api/external/points/spend", body, **headers)["points"]
        except urllib.error.HTTPError as refusal:
            if refusal.code < 500 and refusal.code != 429:
                raise  # such as 422: the player has too few points, or set a limit
        except OSError:
            pass  # nobody knows whether the points were taken; with the same key, asking again is safe
        time.sleep(2**attempt)
    raise OSError("berth doesn't answer; ask again later, with the same key")
# [/spend]


# [webhook]
WEBHOOK_SECRET = os.environ.get("BERTH_WEBHOOK_SECRET", "")
TOLERANCE = 5 * 60  # seconds


def event_of(headers, body):
    """Returns the event, or None if the request isn't from berth. `body` is the bytes as they came."""
    moment = headers.get("webhook-timestamp", "")
    if not moment.isdecimal() or abs(time.time() - int(moment)) > TOLERANCE:
        return None
    signed = f"{headers.get('webhook-id', '')}.{moment}.".encode() + body
    key = base64.b64decode(WEBHOOK_SECRET.removeprefix("whsec_"))
    wanted = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    genuine = any(hmac.compare_digest(wanted, one) for one in headers.get("webhook-signature", "").split(" "))
    return json.loads(body) if genuine else None
# [/webhook]


players = {}  # cookie -> {"state", "verifier"} during the login, {"token"} afterwards
seen = set()  # ids of events; one may come twice


class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        player = players.get(self.cookie(), {})
        if address.path == "/login":
            cookie, state, verifier = (secrets.token_urlsafe(32) for _ in range(3))
            players[cookie] = {"state": state, "verifier": verifier}
            self.go_to(login_address(state, verifier), cookie)
        elif address.path == "/callback":
            if not player.get("state") or query.get("state") != player["state"] or "code" not in query:
                return self.say(400, "This login wasn't begun here, or you have refused.")
            token = tokens_for(query["code"], player["verifier"])["access_token"]
            del players[self.cookie()]
            cookie = secrets.token_urlsafe(32)
            players[cookie] = {"token": token}
            self.go_to("/", cookie)
        elif address.path == "/" and "token" in player:
            order = secrets.token_urlsafe(16)
            self.say(200, f"You have {balance(player['token'])} points. <form method=post action=/buy>"
                          f"<button name=order value={order}>Buy a shield for 5</button></form>")
        else:
            self.say(200, "<a href=/login>Log in with berth</a>")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/webhooks":
            event = event_of(self.headers, body)
            if event and event["id"] not in seen:
                seen.add(event["id"])
                print("event:", event["type"], flush=True)
            return self.say(200 if event else 400, "")
        player = players.get(self.cookie(), {})
        order = dict(urllib.parse.parse_qsl(body.decode())).get("order", "")
        if "token" not in player or not order:
            return self.say(403, "Log in first.")
        try:
            self.say(200, f"It is yours. You have {spend(player['token'], 5, 'A shield', order)} points left.")
        except urllib.error.HTTPError as refusal:
            self.say(422, json.load(refusal)["error"]["message"])

    def cookie(self):
        found = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get("shop")
        return found.value if found else ""

    def go_to(self, address, cookie):
        self.send_response(303)
        self.send_header("Location", address)
        self.send_header("Set-Cookie", f"shop={cookie}; HttpOnly; SameSite=Lax; Path=/")
        self.end_headers()

    def say(self, status, text):
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


shop = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Shop)
print(f"the shop is at http://127.0.0.1:{PORT}", flush=True)
shop.serve_forever()
