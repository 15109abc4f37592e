"""Drivers of the issuers that admins list, and of the trusts of apps in them."""

import itertools

from . import driver

ISSUERS = "/api/internal/issuers"
numbers = itertools.count()


def new_issuer(scene):
    # Nobody listens there, and keys are fetched only for a token.
    body = {"issuer": f"http://127.0.0.1:1/{next(numbers)}", "name": "CI", "kind": "other"}
    return scene.admin.post(ISSUERS, body)


def trusts(scene):
    return f"/api/oauth/my-apps/{scene.app.id}/trusts"


def new_trust(scene):
    issuer = scene.once("issuer", lambda: new_issuer(scene).expect(201)["issuer"]["issuer"])
    return scene.operator.post(trusts(scene), {
        "issuer": issuer, "audience": "https://berth.example.org", "claims": {"sub": "job:1"},
        "scopes": ["profile:read"]})


@driver("listIssuers")
def list_issuers(scene):
    return scene.admin.get(ISSUERS)


@driver("addIssuer")
def add_issuer(scene):
    return new_issuer(scene)


@driver("removeIssuer")
def remove_issuer(scene):
    return scene.admin.delete(f"{ISSUERS}/{new_issuer(scene).expect(201)['issuer']['id']}")


@driver("listTrusts")
def list_trusts(scene):
    return scene.operator.get(trusts(scene))


@driver("createTrust")
def create_trust(scene):
    return new_trust(scene)


@driver("deleteTrust")
def delete_trust(scene):
    return scene.operator.delete(f"{trusts(scene)}/{new_trust(scene).expect(201)['trust']['id']}")
