"""An operator and an app of berthd for the clients; prints what they need to know as JSON."""

import json
import sys
import urllib.request

base, secret = sys.argv[1:]
REDIRECT_URI = "https://game.example.org/callback"
# Those of clients that choose their own path. Without a port, any one will do (RFC 8252, section 7.3).
OTHER_REDIRECT_URIS = [
    "https://game.example.org/auth/callback/berth",  # Auth.js
    "http://127.0.0.1/oauth2/callback",  # oauth2-proxy
    "http://127.0.0.1/callback",  # the MCP client
]
SCOPES = ["profile:read", "deploy:manage"]


def post(path, body, **headers):
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


account = {"email": "ada@example.org", "username": "ada", "password": "correct horse battery"}
post("/api/auth/register", account)
jwt = post("/api/auth/login", account)["token"]
session = {"Authorization": "Bearer " + jwt}
post("/api/auth/self-verify-email", {}, **session)
app = post(
    "/api/oauth/apps",
    {
        "app_name": "A client",
        "redirect_uris": [REDIRECT_URI, *OTHER_REDIRECT_URIS],
        "allowed_scopes": SCOPES,
    },
    **session,
)["app"]
wanted = post(
    f"/api/oauth/my-apps/{app['id']}/scope-request",
    {"requested_scopes": ["deploy:manage"]},
    **session,
)
post(f"/api/internal/scope-requests/{wanted['id']}/approve", {}, **{"x-internal-secret": secret})
json.dump(
    {
        "jwt": jwt,
        "client_id": app["client_id"],
        "client_secret": app["client_secret"],
        "redirect_uri": REDIRECT_URI,
        "scope": " ".join(SCOPES),
    },
    sys.stdout,
)
