"""Authlib, https://pypi.org/project/Authlib/"""

import json
import os

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import OpenIDProviderMetadata
from authlib.oidc.discovery import get_well_known_url as openid_document
from joserfc import jwt
from joserfc.jwk import KeySet

base = os.environ["BERTH_BASE"]
with open(os.environ["BERTH_APP"], encoding="utf-8") as file:
    app = json.load(file)

discovery = get_well_known_url(base, external=True).replace(
    "openid-configuration", "oauth-authorization-server"
)
server = AuthorizationServerMetadata(requests.get(discovery, timeout=30).json())
server.validate()

for authentication in ("client_secret_basic", "client_secret_post"):
    session = OAuth2Session(
        app["client_id"],
        app["client_secret"],
        token_endpoint_auth_method=authentication,
        revocation_endpoint_auth_method=authentication,
        scope=app["scope"],
        redirect_uri=app["redirect_uri"],
        code_challenge_method="S256",
    )
    verifier = generate_token(48)
    url, state = session.create_authorization_url(
        server["authorization_endpoint"], code_verifier=verifier
    )
    consent = requests.get(url, headers={"Authorization": "Bearer " + app["jwt"]}, timeout=30)
    assert consent.status_code == 200, consent.text
    token = session.fetch_token(
        server["token_endpoint"],
        authorization_response=consent.json()["redirect_to"],
        state=state,
        code_verifier=verifier,
    )
    assert token["scope"] == app["scope"], token
    assert session.get(base + "/api/deploy/apps").status_code == 200

    def introspect(text):
        answer = session.introspect_token(server["introspection_endpoint"], token=text)
        return answer.json()

    assert introspect(token["access_token"])["active"] is True
    fresh = session.refresh_token(server["token_endpoint"], token["refresh_token"])
    assert fresh["refresh_token"] != token["refresh_token"]
    assert introspect(token["refresh_token"]) == {"active": False}
    try:
        session.refresh_token(server["token_endpoint"], token["refresh_token"])
        raise AssertionError("a consumed refresh token was taken")
    except OAuthError as error:
        assert error.error == "invalid_grant", error
    revoked = session.revoke_token(
        server["revocation_endpoint"], token=fresh["refresh_token"], token_type_hint="refresh_token"
    )
    assert revoked.status_code == 200, revoked.text
    assert introspect(fresh["access_token"]) == {"active": False}

    ci = OAuth2Session(
        app["client_id"], app["client_secret"], token_endpoint_auth_method=authentication
    )
    own = ci.fetch_token(
        server["token_endpoint"], grant_type="client_credentials", scope="deploy:manage"
    )
    assert own["scope"] == "deploy:manage", own
    assert "refresh_token" not in own

# As an OpenID Connect client: the document, the keys, and an ID token that Authlib checks.
provider = OpenIDProviderMetadata(
    requests.get(openid_document(base, external=True), timeout=30).json()
)
provider.validate()
session = OAuth2Session(
    app["client_id"],
    app["client_secret"],
    scope="openid profile email",
    redirect_uri=app["redirect_uri"],
    code_challenge_method="S256",
)
verifier, nonce = generate_token(48), generate_token(20)
url, state = session.create_authorization_url(
    provider["authorization_endpoint"], code_verifier=verifier, nonce=nonce
)
consent = requests.get(url, headers={"Authorization": "Bearer " + app["jwt"]}, timeout=30)
assert consent.status_code == 200, consent.text
token = session.fetch_token(
    provider["token_endpoint"],
    authorization_response=consent.json()["redirect_to"],
    state=state,
    code_verifier=verifier,
)
keys = KeySet.import_key_set(requests.get(provider["jwks_uri"], timeout=30).json())
decoded = jwt.decode(token["id_token"], keys, algorithms=["RS256"])
claims = CodeIDToken(
    decoded.claims,
    decoded.header,
    options={
        "iss": {"value": provider["issuer"]},
        "aud": {"value": app["client_id"]},
        "nonce": {"value": nonce},
    },
    params={"nonce": nonce, "client_id": app["client_id"], "access_token": token["access_token"]},
)
claims.validate(leeway=10)
user = session.get(provider["userinfo_endpoint"]).json()
assert user["sub"] == claims["sub"] and user["email"] == "ada@example.org", user

print("Authlib: well")
