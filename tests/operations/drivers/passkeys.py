"""Drivers of passkeys, with an authenticator of their own (WebAuthn Level 3) and real keys."""

import base64
import hashlib
import json
import os
import struct

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from . import driver

ORIGIN = "http://localhost"  # the base-url that `run` gives berthd
PRESENT_AND_VERIFIED, HAS_CREDENTIAL = 0x05, 0x40


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Device:
    def __init__(self):
        self.key, self.id, self.uses = ec.generate_private_key(ec.SECP256R1()), os.urandom(32), 0

    def client_data(self, kind, options):
        said = {"type": kind, "challenge": options["challenge"], "origin": ORIGIN, "crossOrigin": False}
        return json.dumps(said).encode()

    def header(self, flags):
        return hashlib.sha256(b"localhost").digest() + struct.pack(">BI", flags, self.uses)

    def create(self, options):
        self.handle = options["user"]["id"]
        data = self.header(PRESENT_AND_VERIFIED | HAS_CREDENTIAL) + bytes(16) + struct.pack(">H", 32) + self.id + b"\xa0"
        der = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        response = {
            "clientDataJSON": base64url(self.client_data("webauthn.create", options)),
            "authenticatorData": base64url(data),
            "publicKey": base64url(der),
            "publicKeyAlgorithm": -7,
        }
        return {"id": base64url(self.id), "type": "public-key", "response": response}

    def get(self, options):
        self.uses += 1
        data, said = self.header(PRESENT_AND_VERIFIED), self.client_data("webauthn.get", options)
        signature = self.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": base64url(said),
            "authenticatorData": base64url(data),
            "signature": base64url(signature),
            "userHandle": self.handle,
        }
        return {"id": base64url(self.id), "type": "public-key", "response": response}


def with_passkey(scene):
    user, device = scene.new_user(), Device()
    asked = user.post("/api/auth/passkeys/options").expect(200)
    body = {"name": "laptop", "state": asked["state"], "credential": device.create(asked["public_key"])}
    return user, device, user.post("/api/auth/passkeys", body)


@driver("askForPasskey")
def ask_for_passkey(scene):
    return scene.new_user().post("/api/auth/passkeys/options")


@driver("addPasskey")
def add_passkey(scene):
    return with_passkey(scene)[2]


@driver("listPasskeys")
def list_passkeys(scene):
    return with_passkey(scene)[0].get("/api/auth/passkeys")


@driver("renamePasskey")
def rename_passkey(scene):
    user, _, added = with_passkey(scene)
    return user.patch(f"/api/auth/passkeys/{added.id}", {"name": "old laptop"})


@driver("removePasskey")
def remove_passkey(scene):
    user, _, added = with_passkey(scene)
    return user.delete(f"/api/auth/passkeys/{added.id}", {"last": True})


@driver("askToLogInByPasskey")
def ask_to_log_in_by_passkey(scene):
    return scene.anybody.post("/api/auth/login/passkey/options")


@driver("logInByPasskey")
def log_in_by_passkey(scene):
    device = with_passkey(scene)[1]
    asked = scene.anybody.post("/api/auth/login/passkey/options").expect(200)
    body = {"state": asked["state"], "credential": device.get(asked["public_key"])}
    return scene.anybody.post("/api/auth/login/passkey", body)
