"""Drivers of registration, sessions, passwords and the second factor, and of accounts below /api/internal/."""

import base64
import hashlib
import hmac
import struct
import time

from . import driver


def totp(secret, now):  # RFC 6238 with the default parameters
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(now) // 30), hashlib.sha1).digest()
    at = digest[-1] & 15
    number = struct.unpack(">I", digest[at : at + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06d}"


def with_totp(scene):
    user = scene.new_user()
    secret = user.post("/api/auth/totp/setup").expect(200)["secret"]
    now = time.time() + scene.admin.get("/api/internal/clock").expect(200)["ahead_seconds"]
    body = {"code": totp(secret, now), "password": user.password}
    enabled = user.post("/api/auth/totp/enable", body)
    return user, enabled


@driver("register")
def register(scene):
    name = scene.new_name("new")
    body = {"email": name + "@example.org", "username": name, "password": "correct horse battery"}
    return scene.anybody.post("/api/auth/register", body)


@driver("login")
def login(scene):
    return scene.anybody.post("/api/auth/login", scene.user.account)


@driver("verifyEmail")
def verify_email(scene):
    user = scene.new_user(verified=False)
    return scene.anybody.post("/api/auth/verify-email", {"token": scene.mail_token(user.email)})


@driver("selfVerifyEmail")
def self_verify_email(scene):
    return scene.new_user(verified=False).post("/api/auth/self-verify-email")


@driver("resendVerification")
def resend_verification(scene):
    return scene.new_user(verified=False).post("/api/auth/resend-verification")


@driver("refresh")
def refresh(scene):
    token = scene.new_tokens(scene.user, ["profile:read"])["refresh_token"]
    return scene.anybody.post(
        "/api/auth/refresh", {"refresh_token": token, **scene.app.credentials()}
    )


def new_guest(scene):
    return scene.anybody.post("/api/auth/guests", scene.app.credentials())


def as_guest(scene):
    return type(scene.anybody)(scene.base, new_guest(scene).expect(201)["access_token"])


@driver("createGuest")
def create_guest(scene):
    return new_guest(scene)


@driver("startGuestSession")
def start_guest_session(scene):
    return as_guest(scene).post("/api/auth/guests/session")


@driver("upgradeGuest")
def upgrade_guest(scene):
    name = scene.new_name("player")
    body = {"email": name + "@example.org", "username": name, "password": "correct horse battery"}
    return as_guest(scene).post("/api/auth/guests/upgrade", body)


def merge_preview(scene):
    user, token = scene.new_user(), new_guest(scene).expect(201)["access_token"]
    return user, token, user.post("/api/auth/guests/merge/preview", {"guest_token": token})


@driver("previewGuestMerge")
def preview_guest_merge(scene):
    return merge_preview(scene)[2]


@driver("mergeGuest")
def merge_guest(scene):
    user, token, shown = merge_preview(scene)
    body = {"guest_token": token, "preview": shown.expect(200)["preview"], "password": user.password}
    return user.post("/api/auth/guests/merge", body)


@driver("me")
def me(scene):
    return scene.user.get("/api/auth/me")


@driver("updateMe")
def update_me(scene):
    return scene.new_user().patch("/api/auth/me", {"username": scene.new_name("renamed"), "language": "de"})


@driver("deleteMe")
def delete_me(scene):
    user = scene.new_user()
    return user.delete("/api/auth/me", {"password": user.password})


@driver("logout")
def logout(scene):
    return scene.new_user().post("/api/auth/logout")


@driver("listSessions")
def list_sessions(scene):
    return scene.user.get("/api/auth/sessions")


@driver("endSession")
def end_session(scene):
    user = scene.new_user()
    session = user.get("/api/auth/sessions").expect(200)["sessions"][0]["id"]
    return user.delete("/api/auth/sessions/" + session)


def device_of(scene):
    """A user with a program that has logged in by berth's own client."""
    user = scene.new_user()
    scene.new_device(user)
    return user


@driver("listDevices")
def list_devices(scene):
    return device_of(scene).get("/api/auth/devices")


@driver("endDevice")
def end_device(scene):
    user = device_of(scene)
    device = user.get("/api/auth/devices").expect(200)["devices"][0]["id"]
    return user.delete("/api/auth/devices/" + device)


def make_token(user):
    body = {"name": "CI", "scopes": ["deploy:read"], "password": user.password}
    return user.post("/api/auth/tokens", body)


@driver("makePersonalToken")
def make_personal_token(scene):
    return make_token(scene.new_user())


@driver("listPersonalTokens")
def list_personal_tokens(scene):
    user = scene.new_user()
    make_token(user).expect(201)
    return user.get("/api/auth/tokens")


@driver("revokePersonalToken")
def revoke_personal_token(scene):
    user = scene.new_user()
    token = make_token(user).expect(201)["personal_token"]["id"]
    return user.delete("/api/auth/tokens/" + token)


@driver("reportToken")
def report_token(scene):
    token = make_token(scene.new_user()).expect(201)["token"]
    return scene.anybody.post("/api/tokens/report", {"token": token})


@driver("changePassword")
def change_password(scene):
    user = scene.new_user()
    body = {"current_password": user.password, "new_password": "another horse battery"}
    return user.post("/api/auth/change-password", {**body, "end_others": False})


def asked_for_email(scene):
    """A user who has asked for another address, and that address."""
    user = scene.new_user()
    new = "new." + user.email
    user.post("/api/auth/email-change", {"new_email": new, "password": user.password}).expect(200)
    return user, new


@driver("changeEmail")
def change_email(scene):
    user = scene.new_user()
    return user.post("/api/auth/email-change", {"new_email": "new." + user.email, "password": user.password})


@driver("confirmEmailChange")
def confirm_email_change(scene):
    _, new = asked_for_email(scene)
    return scene.anybody.post("/api/auth/email-change/confirm", {"token": scene.mail_token(new)})


@driver("stopEmailChange")
def stop_email_change(scene):
    user, _ = asked_for_email(scene)
    return scene.anybody.post("/api/auth/email-change/stop", {"token": scene.mail_token(user.email)})


@driver("forgotPassword")
def forgot_password(scene):
    return scene.anybody.post("/api/auth/forgot-password", {"email": scene.user.email})


@driver("resetPassword")
def reset_password(scene):
    user = scene.new_user()
    scene.anybody.post("/api/auth/forgot-password", {"email": user.email}).expect(200)
    body = {"token": scene.mail_token(user.email), "password": "another horse battery"}
    return scene.anybody.post("/api/auth/reset-password", body)


@driver("setUpTotp")
def set_up_totp(scene):
    return scene.new_user().post("/api/auth/totp/setup")


@driver("enableTotp")
def enable_totp(scene):
    return with_totp(scene)[1]


@driver("disableTotp")
def disable_totp(scene):
    user, enabled = with_totp(scene)
    body = {"password": user.password, "code": enabled.expect(200)["recovery_codes"][0]}
    return user.post("/api/auth/totp/disable", body)


@driver("newRecoveryCodes")
def new_recovery_codes(scene):
    user, enabled = with_totp(scene)
    return user.post("/api/auth/totp/recovery-codes", {"totp_code": enabled.expect(200)["recovery_codes"][0]})


@driver("stepUp")
def step_up(scene):
    user = scene.new_user()
    return user.post("/api/auth/step-up", {"password": user.password})


@driver("listUsers")
def list_users(scene):
    return scene.admin.get("/api/internal/users")


@driver("getAnyUser")
def get_user(scene):
    return scene.admin.get(f"/api/internal/users/{scene.new_user().id}")


@driver("promoteUser")
def promote_user(scene):
    return scene.admin.post(f"/api/internal/users/{scene.new_user().id}/promote", {"tier": "basic"})


def new_internal_secret(scene):
    return scene.admin.post("/api/internal/secrets", {"name": "job", "role": "support", "expires_in_days": 1})


@driver("listAdmins")
def list_admins(scene):
    return scene.admin.get("/api/internal/admins")


@driver("listInternalSecrets")
def list_internal_secrets(scene):
    return scene.admin.get("/api/internal/secrets")


@driver("makeInternalSecret")
def make_internal_secret(scene):
    return new_internal_secret(scene)


@driver("revokeInternalSecret")
def revoke_internal_secret(scene):
    secret = new_internal_secret(scene).expect(201)["internal_secret"]["id"]
    return scene.admin.delete(f"/api/internal/secrets/{secret}")


@driver("endUserSessions")
def end_user_sessions(scene):
    return scene.admin.delete(f"/api/internal/users/{device_of(scene).id}/sessions")


@driver("suspendUser")
def suspend_user(scene):
    return scene.admin.post(f"/api/internal/users/{scene.new_user().id}/suspend")


@driver("reactivateUser")
def reactivate_user(scene):
    user = scene.new_user()
    scene.admin.post(f"/api/internal/users/{user.id}/suspend").expect(200)
    return scene.admin.post(f"/api/internal/users/{user.id}/reactivate")


@driver("rotateSessionKey")
def rotate_session_key(scene):
    return scene.admin.post("/api/internal/session-keys/rotate")
