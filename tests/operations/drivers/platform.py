"""Drivers of berthd's own operations, and of those with which admins manage points."""

import base64

from . import driver


@driver("health")
def health(scene):
    return scene.anybody.get("/health")


@driver("openapi")
def openapi(scene):
    return scene.anybody.get("/.well-known/openapi.json")


@driver("protectedResource")
def protected_resource(scene):
    return scene.anybody.get("/.well-known/oauth-protected-resource")


@driver("authorizationServer")
def authorization_server(scene):
    return scene.anybody.get("/.well-known/oauth-authorization-server")


@driver("openidConfiguration")
def openid_configuration(scene):
    return scene.anybody.get("/.well-known/openid-configuration")


@driver("openidKeys")
def openid_keys(scene):
    return scene.anybody.get("/.well-known/jwks.json")


@driver("rotateOpenidKeys")
def rotate_openid_keys(scene):
    return scene.admin.post("/api/internal/openid-keys/rotate")


@driver("externalProfile")
def external_profile(scene):
    return scene.owner_api.get("/api/external/profile")


@driver("appBalance")
def app_balance(scene):
    return scene.owner_api.get("/api/external/app/balance")


@driver("mint")
def mint(scene):
    return scene.mint({"kind": "treasury"})


@driver("treasury")
def treasury(scene):
    return scene.admin.get("/api/internal/treasury")


@driver("backup")
def backup(scene):
    return scene.admin.post("/api/internal/backup", {"key": base64.b64encode(bytes(32)).decode()})


@driver("outbox")
def outbox(scene):
    return scene.admin.get("/api/internal/outbox")


@driver("clock")
def clock(scene):
    return scene.admin.get("/api/internal/clock")


@driver("advanceClock")
def advance_clock(scene):
    return scene.admin.post("/api/internal/clock", {"advance_seconds": 0})


@driver("treasuryDays")
def treasury_days(scene):
    return scene.admin.get("/api/internal/treasury/days")


@driver("ledgerAudit")
def ledger_audit(scene):
    return scene.admin.get("/api/internal/ledger/audit")


@driver("auditLog")
def audit_log(scene):
    return scene.admin.get("/api/internal/audit?actor=internal&from=2020-01-01T00:00:00Z")


@driver("auditStream")
def audit_stream(scene):
    return scene.admin.get("/api/internal/audit/stream?after=0")


@driver("checkAudit")
def check_audit(scene):
    return scene.admin.get("/api/internal/audit/check?after=0")


@driver("ownAudit")
def own_audit(scene):
    return scene.user.get("/api/auth/audit?from=2020-01-01T00:00:00Z")


@driver("appAudit")
def app_audit(scene):
    return scene.app.owner.get(f"/api/oauth/my-apps/{scene.app.id}/audit?action=rotateSecret")


@driver("fleet")
def fleet(scene):
    return scene.admin.get("/api/internal/fleet")


@driver("isolation")
def isolation(scene):
    return scene.admin.get("/api/internal/isolation")


@driver("probeIsolation", 409)
def probe_isolation(scene):
    return scene.admin.post("/api/internal/isolation/probe")  # simulated: there is nothing to probe
