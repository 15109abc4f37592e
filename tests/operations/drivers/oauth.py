"""Drivers of apps, and of their scopes, consents and tokens."""

from scene import REDIRECT_URI, App, Client

from . import driver


def new_app(scene):
    return App(scene, scene.new_user())


def new_scope_request(scene):
    owner = scene.new_user()
    body = {
        "app_name": "A game",
        "redirect_uris": [REDIRECT_URI],
        "allowed_scopes": ["profile:read", "deploy:manage"],
    }
    app = owner.post("/api/oauth/apps", body).expect(201)["app"]["id"]
    asked = owner.post(
        f"/api/oauth/my-apps/{app}/scope-request", {"requested_scopes": ["deploy:manage"]}
    )
    return owner, app, asked


@driver("createApp")
def create_app(scene):
    body = {
        "app_name": "A game",
        "redirect_uris": [REDIRECT_URI],
        "session_tokens": False,
        "refresh_requires_client": True,
    }
    return scene.new_user().post("/api/oauth/apps", body)


@driver("listAllApps")
def list_all_apps(scene):
    return scene.admin.get("/api/internal/apps?q=a")


@driver("getAnyApp")
def get_any_app(scene):
    return scene.admin.get(f"/api/internal/apps/{scene.app.id}")


@driver("myApps")
def my_apps(scene):
    return scene.operator.get("/api/oauth/my-apps")


@driver("publicApp")
def public_app(scene):
    return scene.anybody.get("/api/oauth/apps/" + scene.app.client_id)


@driver("rotateSecret")
def rotate_secret(scene):
    app = new_app(scene)
    return app.owner.post(f"/api/oauth/my-apps/{app.id}/rotate-secret")


@driver("requestScopes")
def request_scopes(scene):
    return new_scope_request(scene)[2]


@driver("listScopeRequests")
def list_scope_requests(scene):
    return scene.operator.get(f"/api/oauth/my-apps/{scene.app.id}/scope-requests")


@driver("withdrawScopeRequest")
def withdraw_scope_request(scene):
    owner, app, asked = new_scope_request(scene)
    return owner.delete(f"/api/oauth/my-apps/{app}/scope-requests/{asked['id']}")


@driver("internalListScopeRequests")
def internal_scope_requests(scene):
    return scene.admin.get("/api/internal/scope-requests")


@driver("approveScopeRequest")
def approve_scope_request(scene):
    asked = new_scope_request(scene)[2]
    return scene.admin.post(f"/api/internal/scope-requests/{asked['id']}/approve")


@driver("rejectScopeRequest")
def reject_scope_request(scene):
    asked = new_scope_request(scene)[2]
    path = f"/api/internal/scope-requests/{asked['id']}/reject"
    return scene.admin.post(path, {"reason": "say more"})


@driver("revokeScopes")
def revoke_scopes(scene):
    path = f"/api/internal/apps/{new_app(scene).id}/scopes/revoke"
    return scene.admin.post(path, {"scopes": ["deploy:manage"]})


@driver("suspendApp")
def suspend_app(scene):
    return scene.admin.post(f"/api/internal/apps/{new_app(scene).id}/suspend")


@driver("reactivateApp")
def reactivate_app(scene):
    app = new_app(scene)
    scene.admin.post(f"/api/internal/apps/{app.id}/suspend").expect(200)
    return scene.admin.post(f"/api/internal/apps/{app.id}/reactivate")


@driver("promoteApp")
def promote_app(scene):
    return scene.admin.post(f"/api/internal/apps/{scene.app.id}/promote", {"tier": "basic"})


@driver("authorize")
def authorize(scene):
    return scene.app.code(scene.user, ["profile:read"])


@driver("authorizeDevice")
def authorize_device(scene):
    return scene.anybody.post("/api/oauth/device_authorization", {"client_id": "berth"})


@driver("token")
def token(scene):
    code = scene.app.code(scene.user, ["profile:read"]).expect(200)["code"]
    return scene.anybody.post("/api/oauth/token", scene.app.exchange(code))


@driver("verifyToken")
def verify_token(scene):
    return scene.anybody.post("/api/oauth/token/verify", {"token": "unknown"})


def token_with_openid(scene):
    return scene.new_tokens(scene.user, ["openid", "profile", "email"])["access_token"]


@driver("userinfo")
def userinfo(scene):
    return Client(scene.base, token_with_openid(scene)).get("/api/oauth/userinfo")


@driver("userinfoByPost")
def userinfo_by_post(scene):
    return Client(scene.base, token_with_openid(scene)).post("/api/oauth/userinfo")


@driver("introspect")
def introspect(scene):
    body = {"token": "unknown", **scene.app.credentials()}
    return scene.anybody.post("/api/oauth/introspect", body)


@driver("revoke")
def revoke(scene):
    tokens = scene.new_tokens(scene.user, ["profile:read"])
    body = {"token": tokens["access_token"], **scene.app.credentials()}
    return scene.anybody.post("/api/oauth/revoke", body)


def connected(scene):
    user = scene.new_user()
    scene.new_tokens(user, ["profile:read"])
    return user


@driver("listConnectedApps")
def list_connected_apps(scene):
    return connected(scene).get("/api/oauth/connected-apps")


@driver("getConnectedApp")
def get_connected_app(scene):
    return connected(scene).get("/api/oauth/connected-apps/" + scene.app.id)


@driver("limitConnectedApp")
def limit_connected_app(scene):
    path = "/api/oauth/connected-apps/" + scene.app.id
    return connected(scene).patch(path, {"daily_spend_limit": 10, "session_access": "read"})


@driver("disconnectApp")
def disconnect_app(scene):
    return connected(scene).delete("/api/oauth/connected-apps/" + scene.app.id)


@driver("listOperators")
def list_operators(scene):
    return scene.anybody.get("/api/operators")


@driver("getOperator")
def get_operator(scene):
    app = scene.app
    app.owner.put("/api/operator/apps/" + app.id, {"listed": True}).expect(200)
    return scene.anybody.get("/api/operators/" + app.id)


@driver("listOperatorApps")
def list_operator_apps(scene):
    return scene.app.owner.get("/api/operator/apps")


@driver("getOperatorApp")
def get_operator_app(scene):
    return scene.app.owner.get("/api/operator/apps/" + scene.app.id)


@driver("updateOperatorApp")
def update_operator_app(scene):
    return scene.app.owner.put("/api/operator/apps/" + scene.app.id, {
        "app_name": "Another name",
        "session_tokens": True,
        "refresh_requires_client": False,
    })


@driver("deleteOperatorApp")
def delete_operator_app(scene):
    app = new_app(scene)
    return app.owner.delete("/api/operator/apps/" + app.id)
