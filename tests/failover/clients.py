"""Clients that write through several berthd processes, and retry what wasn't answered with the same Idempotency-Key at
the next process. What they asked and what was answered is a list of dictionaries, the log:

  key       of the operation, which is unique; it is also the description, or the name of what is created
  kind      spend, transfer, read, deployment, campaign, or refresh
  status    ok, refused, or unknown if no attempt was answered
  account   the user who pays or reads, and `to`, who receives a transfer
  app       whose token was used; it gets spends, has deployments, and pays for campaigns
  amount    in points
  balance   in the answer: the account's afterwards
  call, return  when the first attempt began, and the last one ended, in ns of the monotonic clock
  attempts  the HTTP status of each, 0 if the connection was lost
  berthd    the number of the one that gave the last answer
"""
import http.client
import itertools
import json
import random
import threading
import time
import urllib.parse

from common import CHALLENGE, VERIFIER
from scene import IMAGE, REDIRECT_URI, App

CLIENTS = 32
USERS = 16  # two clients use the account of each
APPS = 8
PAUSE = 0.2  # seconds between two operations of a client, so that the machine isn't the limit
RETRY = 0.3  # seconds before an attempt is repeated
ATTEMPT_SECONDS = 25  # a request waits 10 s for its COMMIT, and 5 s for the outcome
TOKEN_SECONDS = 2_400  # how long a token is used; it is valid for an hour
RICH = 1_000_000  # points that each account begins with
UNAFFORDABLE = 10 ** 12
TIERS = ("[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 50, monthly-cost-points: 0, "
         "max-deployments: 100000, auto-approve: true}]")
PLAYER = ["points:read", "points:spend", "points:transfer", "profile:read"]
OPERATOR = ["deploy:manage", "campaigns:manage", "app:balance:read", "points:spend"]
WEIGHTS = {"spend": 45, "transfer": 25, "read": 12, "unaffordable": 4, "refresh": 7, "campaign": 4, "deployment": 2,
           "misordered": 1}


class Violation(Exception):
    pass


class Desk:
    """What all clients share: the berthd, the log, and the users and apps."""

    def __init__(self, fleet, scene):
        """`fleet` is a list of Berthd, and `scene` a Scene of tests/operations at one of them."""
        self.fleet, self.log, self.violations = fleet, [], []
        self.mutex, self.stopping, self.turn = threading.Lock(), threading.Event(), itertools.count()
        self.last_answered = time.monotonic()
        self.users = [scene.rich(scene.new_user()) for _ in range(USERS)]
        self.apps = []
        for _ in range(APPS):
            app = App(scene, scene.new_user())
            scene.mint({"kind": "app", "id": app.id}, RICH)
            self.apps.append(app)
        self.openings = {}
        for user in self.users:
            balance = user.get("/api/points/balance").expect(200)["points"]
            self.openings[user.id] = balance
            self.log.append({"kind": "open", "status": "ok", "account": user.id, "balance": balance})
        self.app_openings = {app.id: RICH for app in self.apps}

    def next_berthd(self):
        number = next(self.turn) % len(self.fleet)
        return number, self.fleet[number]

    def note(self, entry):
        with self.mutex:
            self.log.append(entry)

    def violated(self, sentence):
        """Ends the run after this round. The sentence is printed at once, because what comes later may fail itself."""
        print("WRONG: " + sentence, flush=True)
        with self.mutex:
            self.violations.append(sentence)


class Client(threading.Thread):
    def __init__(self, desk, number, seed):
        super().__init__(name=f"client{number}", daemon=True)
        self.desk, self.number = desk, number
        self.random = random.Random(f"{seed}-{number}")
        self.user = desk.users[number % USERS]
        self.app = desk.apps[number % APPS]
        self.keys = itertools.count(1)
        self.tokens, self.made_at, self.operator = {}, {}, None
        self.refresh_token, self.fresh = None, None

    def run(self):
        try:
            self.fetch_tokens()
            while not self.desk.stopping.is_set():
                kind = self.random.choices(list(WEIGHTS), WEIGHTS.values())[0]
                getattr(self, kind)()
                self.desk.stopping.wait(self.random.uniform(0, 2 * PAUSE))
        except Violation:
            pass  # it is in the list
        except Exception as error:  # noqa: BLE001  # a client that ends must not go unnoticed
            self.desk.violated(f"{self.name} ended: {error!r}")

    # One request. Returns its status, 0 if there is no answer, and the body.
    def attempt(self, berthd, method, path, body, headers):
        connection = http.client.HTTPConnection(berthd.url.split("/")[2], timeout=ATTEMPT_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        except (OSError, http.client.HTTPException, ValueError):
            return 0, None
        finally:
            connection.close()

    def ask(self, method, path, body=None, token=None, key=None, never=(401, 403, 404, 409, 429)):
        """Repeats the request until it is answered. Returns the last status and body, the status of each attempt, and
        the number of the last berthd. The answers `never`, and those of broken servers, are violations."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if key:
            headers["Idempotency-Key"] = key
        attempts = []
        while True:
            number, berthd = self.desk.next_berthd()
            status, answer = self.attempt(berthd, method, path, body, headers)
            attempts.append(status)
            if status not in (0, 503):
                if status >= 500 or status in never:
                    self.desk.violated(f"{method} {path} was answered with {status} {answer}, after {attempts[:-1]}")
                    raise Violation
                return status, answer, attempts, number
            time.sleep(self.random.uniform(RETRY / 2, RETRY))

    def do(self, kind, path, body, token, key, **more):
        entry = {"key": key, "kind": kind, "client": self.number, "account": self.user.id, "app": self.app.id,
                 "status": "unknown", "path": path, "request": body, "call": time.monotonic_ns(), **more}
        try:
            status, answer, entry["attempts"], entry["berthd"] = self.ask(
                "POST" if body else "GET", path, body, token, key)
            entry["status"] = "ok" if status < 300 else "refused"
            if status < 300 and "points" in answer:
                entry["balance"] = answer["points"]
            entry["body"] = answer
        finally:
            entry["return"] = time.monotonic_ns()
            if entry["status"] == "ok" and kind != "read":
                self.desk.last_answered = time.monotonic()
            self.desk.note(entry)

    def repeat(self, entry):
        """Sends the request of an entry of this client's again, with its key. Returns the status and the body."""
        token = self.player_token if entry["kind"] in ("spend", "transfer") else self.operator_token
        return self.ask("POST", entry["path"], entry["request"], token, entry["key"])[:2]

    def new_key(self):
        return f"c{self.number}-{next(self.keys)}"

    def new_tokens(self, user, app, scopes):
        """A code and its exchange, each of which is repeated until it is answered. A code whose exchange wasn't
        answered may be used up, and then there is a new one."""
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": app.client_id, "redirect_uri": REDIRECT_URI, "scope": " ".join(scopes),
            "code_challenge": CHALLENGE, "code_challenge_method": "S256"})
        while True:
            code = self.ask("GET", "/api/oauth/authorize?" + query, token=user.jwt)[1]["code"]
            status, answer, *_ = self.ask("POST", "/api/oauth/token", {
                "grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT_URI,
                "code_verifier": VERIFIER, **app.credentials()})
            if status == 200:
                return answer

    def token(self, user, scopes):
        if user.id not in self.tokens or time.monotonic() - self.made_at[user.id] > TOKEN_SECONDS:
            self.tokens[user.id] = self.new_tokens(user, self.app, scopes)["access_token"]
            self.made_at[user.id] = time.monotonic()
        return self.tokens[user.id]

    def fetch_tokens(self):
        return self.player_token, self.operator_token

    @property
    def player_token(self):
        return self.token(self.user, PLAYER)

    @property
    def operator_token(self):
        return self.token(self.app.owner, OPERATOR)

    def spend(self, amount=None):
        key, amount = self.new_key(), amount or self.random.randint(1, 9)
        self.do("spend", "/api/external/points/spend", {"amount": amount, "description": key}, self.player_token, key,
                amount=amount)

    def unaffordable(self):
        self.spend(UNAFFORDABLE)

    def transfer(self):
        key, amount = self.new_key(), self.random.randint(1, 9)
        to = self.random.choice([user for user in self.desk.users if user is not self.user])
        self.do("transfer", "/api/external/points/transfer",
                {"amount": amount, "description": key, "to_user_id": to.id}, self.player_token, key, amount=amount,
                to=to.id)

    def read(self):
        # A token that was answered is known everywhere.
        self.do("read", "/api/external/points/balance", None, self.fresh or self.player_token, None)

    def deployment(self, tier="free"):
        key = self.new_key()
        self.do("deployment", "/api/deploy/apps", {"name": key, "image": IMAGE, "tier": tier}, self.operator_token, key)

    def misordered(self):
        self.deployment("nowhere")

    def campaign(self):
        key = self.new_key()
        self.do("campaign", "/api/external/campaigns",
                {"name": key, "surface_type": "banner", "total_payment": 10, "payout_rate": 1}, self.operator_token, key,
                amount=10)

    def refresh(self):
        """A refresh token works once, and has no Idempotency-Key: if an attempt wasn't answered, the next one may be
        refused, and then nobody knows the token that took its place."""
        if self.refresh_token is None:
            self.refresh_token = self.new_tokens(self.user, self.app, PLAYER)["refresh_token"]
        entry = {"key": self.new_key(), "kind": "refresh", "client": self.number, "app": self.app.id, "status": "unknown",
                 "token": self.refresh_token, "call": time.monotonic_ns()}
        status, answer, entry["attempts"], entry["berthd"] = self.ask(
            "POST", "/api/oauth/token",
            {"grant_type": "refresh_token", "refresh_token": self.refresh_token, **self.app.credentials()}, never=())
        entry["return"] = time.monotonic_ns()
        if status == 200:
            self.refresh_token, self.fresh = answer["refresh_token"], answer["access_token"]
            entry.update(status="ok", next=self.refresh_token)
            self.desk.last_answered = time.monotonic()
        else:
            if len(entry["attempts"]) == 1:
                self.desk.violated(f"a refresh token that was answered isn't known any more: {answer}")
            self.refresh_token = self.fresh = None
        self.desk.note(entry)
