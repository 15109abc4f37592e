"""Actions of users, operators and admins over HTTP that the drivers of the operations need."""

import base64
import hashlib
import itertools
import json
import secrets
import urllib.error
import urllib.parse
import urllib.request

TIME_OUT = 60  # seconds; a loaded machine is slow
REDIRECT_URI = "https://game.example.org/callback"
SCOPES = [
    "profile:read",
    "points:read",
    "points:spend",
    "points:transfer",
    "points:award",
    "app:balance:read",
    "deploy:manage",
    "campaigns:manage",
    "campaign:write",
    "deploy:exec",
    "deploy:read",
    "deploy:write",
    "logs:read",
]
PLAYER_SCOPES = ["profile:read", "points:read", "points:spend", "points:transfer"]
IMAGE = "docker.io/library/hello:1"


class Refused(Exception):
    pass


class Answer:
    def __init__(self, question, status, headers, data):
        self.question, self.status, self.headers, self.data = question, status, headers, data

    @property
    def body(self):
        return json.loads(self.data)

    @property
    def id(self):  # the id of the object, wrapped or not
        body = self.body
        if "id" in body:
            return body["id"]
        return next(value["id"] for value in body.values() if isinstance(value, dict))

    def expect(self, status):
        if self.status != status:
            raise Refused(f"{self.question}: {self.status} instead of {status}: {self.data[:500]}")
        return self

    def __getitem__(self, key):
        return self.body[key]


class Opener(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # an ordinary answer


class Client:
    """An HTTP client with a token, with other headers, or without credentials."""

    opener = urllib.request.build_opener(Opener)

    def __init__(self, base, token=None, **headers):
        self.base, self.headers = base, dict(headers)
        if token:
            self.headers["Authorization"] = "Bearer " + token

    def ask(self, method, path, body=None, **headers):
        if body is None:
            return self.send(method, path, None, None, **headers)
        is_form = isinstance(body, str)
        data = body.encode() if is_form else json.dumps(body).encode()
        return self.send(method, path, data, "application/" + ("x-www-form-urlencoded" if is_form else "json"), **headers)

    def send(self, method, path, data, kind, **headers):
        """Sends bytes of a media type, or nothing."""
        request = urllib.request.Request(self.base + path, method=method)
        for name, value in {**self.headers, **headers}.items():
            request.add_header(name, value)
        if data is not None:
            request.data = data
            request.add_header("Content-Type", kind)
        question = f"{method} {path}"
        try:
            with self.opener.open(request, timeout=TIME_OUT) as answer:
                stream = answer.headers.get_content_type() == "text/event-stream"
                data = answer.readline() if stream else answer.read()
                return Answer(question, answer.status, answer.headers, data)
        except urllib.error.HTTPError as error:
            return Answer(question, error.code, error.headers, error.read())

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self.ask("POST", path, body, **headers)

    def put(self, path, body=None):
        return self.ask("PUT", path, body)

    def patch(self, path, body=None):
        return self.ask("PATCH", path, body)

    def delete(self, path, body=None):
        return self.ask("DELETE", path, body)


class User(Client):
    """A registered user with a session."""

    def __init__(self, scene, name, verified=True):
        super().__init__(scene.base)
        self.name, self.email, self.password = name, name + "@example.org", "secret of " + name
        self.account = {"email": self.email, "username": name, "password": self.password}
        self.id = scene.anybody.post("/api/auth/register", self.account).expect(201)["user"]["id"]
        self.log_in(scene)
        if verified:
            self.post("/api/auth/self-verify-email").expect(200)

    def log_in(self, scene):
        self.jwt = scene.anybody.post("/api/auth/login", self.account).expect(200)["token"]
        self.headers["Authorization"] = "Bearer " + self.jwt


class App:
    """An app of `owner` that is approved for all of SCOPES."""

    def __init__(self, scene, owner):
        body = {
            "app_name": "A game",
            "redirect_uris": [REDIRECT_URI],
            "allowed_scopes": SCOPES,
        }
        made = owner.post("/api/oauth/apps", body).expect(201)["app"]
        self.owner, self.id = owner, made["id"]
        self.client_id, self.secret = made["client_id"], made["client_secret"]
        asked = owner.post(
            f"/api/oauth/my-apps/{self.id}/scope-request", {"requested_scopes": SCOPES}
        ).expect(201)
        scene.admin.post(f"/api/internal/scope-requests/{asked['id']}/approve").expect(200)

    def code(self, user, scopes):
        self.verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(self.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": REDIRECT_URI,
            "scope": " ".join(scopes),
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return user.get("/api/oauth/authorize?" + urllib.parse.urlencode(query))

    def exchange(self, code):
        return {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT_URI,
            "code_verifier": self.verifier,
            **self.credentials(),
        }

    def credentials(self):
        return {"client_id": self.client_id, "client_secret": self.secret}


class Scene:
    """Users, an app, tokens of each kind, and the objects that they work with. Each one is created when it is first
    needed."""

    def __init__(self, base, internal_secret):
        self.base = base
        self.anybody = Client(base)
        self.admin = Client(base, **{"x-internal-secret": internal_secret})
        self.made = {}
        self.numbers = itertools.count(1)

    def once(self, name, make):
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    def new_name(self, prefix):
        return f"{prefix}{next(self.numbers)}"

    def new_user(self, verified=True):
        return User(self, self.new_name("user"), verified)

    @property
    def user(self):  # a user with points
        return self.once("user", lambda: self.rich(self.new_user()))

    @property
    def other(self):
        return self.once("other", lambda: self.rich(self.new_user()))

    @property
    def operator(self):
        return self.once("operator", self.new_user)

    def rich(self, user):
        self.mint({"kind": "user", "id": user.id})
        return user

    def mint(self, account, amount=1_000_000):
        body = {"account": account, "amount": amount, "reason": "for the tests"}
        return self.admin.post("/api/internal/points/mint", body).expect(201)

    @property
    def app(self):
        def make():
            app = App(self, self.operator)
            self.mint({"kind": "app", "id": app.id})
            return app

        return self.once("app", make)

    def new_tokens(self, user, scopes, app=None):
        app = app or self.app
        code = app.code(user, scopes).expect(200)["code"]
        return self.anybody.post("/api/oauth/token", app.exchange(code)).expect(200).body

    def new_device(self, user):
        """The tokens of a login by berth's own client, on a machine of the user."""
        verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "client_id": "berth",
            "redirect_uri": "http://127.0.0.1:1/callback",
            "response_type": "code",
            "scope": "profile:read",
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        code = user.get("/api/oauth/authorize?" + urllib.parse.urlencode(asked)).expect(200)["code"]
        body = {
            "grant_type": "authorization_code",
            "client_id": "berth",
            "code": code,
            "redirect_uri": asked["redirect_uri"],
            "code_verifier": verifier,
            "device_name": "laptop",
        }
        return self.anybody.post("/api/oauth/token", body).expect(200).body

    @property
    def owner_api(self):  # the operator's own token, with all scopes
        token = self.once("owner", lambda: self.new_tokens(self.operator, SCOPES))
        return Client(self.base, token["access_token"])

    @property
    def player_api(self):  # `user` in the operator's app
        token = self.once("player", lambda: self.new_tokens(self.user, PLAYER_SCOPES))
        return Client(self.base, token["access_token"])

    @property
    def playing(self):  # the same user, by their session token
        token = self.once("player", lambda: self.new_tokens(self.user, PLAYER_SCOPES))
        return Client(self.base, token["session_token"])

    def new_playing(self):
        return Client(self.base, self.new_tokens(self.user, PLAYER_SCOPES)["session_token"])

    def mail_token(self, email):  # the newest mail's
        for mail in self.admin.get("/api/internal/outbox").expect(200)["messages"]:
            if mail["to"] == email:
                return mail["token"]
        raise Refused("no mail was sent to " + email)

    def new_deployment(self):
        order = {"name": self.new_name("shop"), "image": IMAGE, "tier": "free"}
        return self.owner_api.post("/api/deploy/apps", order)

    @property
    def deployment(self):
        return self.once("deployment", lambda: self.new_deployment().expect(201)["id"])

    def new_item(self, price=1):
        body = {
            "name": self.new_name("Hat "),
            "category": "hat",
            "rarity": "common",
            "price_points": price,
        }
        return self.admin.post("/api/internal/cosmetics", body)

    @property
    def item(self):
        return self.once("item", lambda: self.new_item().expect(201)["cosmetic"]["id"])

    def new_module(self):
        return self.admin.post("/api/internal/learning/modules", {"title": "A module", "total": 3})

    @property
    def module(self):
        return self.once("module", lambda: self.new_module().expect(201)["module"])
