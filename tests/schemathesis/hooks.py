"""Chooses the token and the ids of each request; schemathesis generates the rest.

Every operation is called with a token of a kind that it accepts. Operations that end their token, user or app get a new
one, so that the others aren't affected. Ids in paths are mostly real ones, because generated ones would be refused
before most of the code runs."""

import os
import random
import re
import sys
import uuid

import schemathesis

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "operations"))
import drivers  # noqa: E402
import scene as scenes  # noqa: E402

# Shares of the requests:
REAL_IDS = 0.8
REAL_CLIENTS = 0.8
PLAYERS = 0.3  # their tokens have fewer scopes than those of operators
OTHER_TOKENS = 0.1  # of a kind that the operation may not accept, or none
RANDOM = random.Random(1)
OF_SERVER = (413, 431)  # statuses with which the server itself refuses a request

# Operations that end a session, an account or an app use one that exists for that purpose.
ENDS_SESSION = {"logout", "endSession", "deleteMe", "changePassword", "updateMe", "disableTotp"}
ENDS_APP = {
    "deleteOperatorApp",
    "rotateSecret",
    "suspendApp",
    "revokeScopes",
    "disconnectApp",
    "updateOperatorApp",
}
ENDS_PLAY = {"endPlaySession", "refreshSession"}
ENDS_OTHERS = {"endSession", "suspendUser", "suspendDeployment"}
# These get no tokens of the users and apps that the other operations are called with, and no ids of theirs.
ENDING = ENDS_SESSION | ENDS_APP | ENDS_PLAY | ENDS_OTHERS
# In these operations, clients identify themselves in the body.
OF_CLIENTS = {"token", "refresh", "introspect", "revoke", "createGuest"}


UUID = re.compile("[0-9a-fA-F-]{36}")
OF_OPERATORS = re.compile("/api/operator/|/api/oauth/(my-)?apps")
# The drivers that create what a path's placeholder can name.
MAKERS = {
    ("/api/external/campaigns/", "id"): "createCampaign",
    ("/api/external/campaigns/", "creative_id"): "createCreative",
    ("/ads/pictures/", "creative_id"): "createCreative",
    ("/api/internal/ads/creatives/", "creative_id"): "createCreative",
    ("/api/v1/ads/campaigns/", "id"): "createCampaign",
    ("/api/v1/ads/purchases/", "id"): "buyAdPackage",
    ("/api/internal/ads/placements/", "id"): "createAdPlacement",
    ("/api/internal/ads/pricing/", "id"): "createAdPricing",
    ("/api/internal/ads/packages/", "id"): "createAdPackage",
    ("/api/internal/ads/segments/", "id"): "createAdSegment",
    ("/api/operator/alerts/", "id"): "createAlert",
    ("/api/operator/apps/", "webhook_id"): "createWebhook",
    ("/api/social/chat/channels/", "id"): "openChannel",
    ("/api/internal/chat/messages/", "id"): "sendMessage",
}


class World(scenes.Scene):
    def prepare(self):
        """Creates everything that requests may refer to, before the first one is generated."""
        self.replace_victim()
        self.doomed = self.new_user()
        self.suspended = self.new_deployment().expect(201).id
        self.victim_app = scenes.App(self, self.victim)
        self.ended_play = self.new_playing().headers
        document = self.anybody.get("/.well-known/openapi.json").expect(200)
        served = {row["operationId"] for ways in document["paths"].values() for row in ways.values()}
        known = drivers.load()
        made = {name: known[name][0](self) for name in served & set(MAKERS.values())}
        self.made_ids = {
            placeholder: [made[name].expect(201).id]
            for placeholder, name in MAKERS.items()
            if name in made
        }
        self.items = [self.item] + [self.new_item(0)["cosmetic"]["id"] for _ in range(20)]
        self.modules = [self.new_module()["module"]["id"]]
        self.owner_api.get(f"/api/deploy/apps/{self.deployment}").expect(200)
        self.operator.put("/api/operator/apps/" + self.app.id, {"listed": True}).expect(200)
        tiers = self.admin.get("/api/internal/deploy/tiers").expect(200)["tiers"]
        self.tiers = [tier["id"] for tier in tiers]
        return self

    def replace_victim(self):
        self.victim = self.rich(self.new_user())

    def credentials(self, operation, path, schemes):
        scheme = RANDOM.choice(schemes)
        if RANDOM.random() < OTHER_TOKENS and operation not in ENDING:
            kinds = [self.user, self.owner_api, self.player_api, self.playing, self.anybody]
            return RANDOM.choice(kinds).headers
        if "internal" in schemes:
            return self.admin.headers
        if scheme == "session":
            return self.person(operation, path).headers
        if scheme == "console":
            person = self.operator if "oauth" in schemes else self.person(operation, path)
            return {
                "Cookie": "berth_session=" + person.headers["Authorization"].split()[1],
                "Sec-Fetch-Site": "same-origin",
                "Berth-Console": "1",
                "Berth-App": self.app.id,
            }
        if scheme == "play_session":
            return self.ended_play if operation in ENDS_PLAY else self.playing.headers
        of_player = RANDOM.random() < PLAYERS
        return (self.player_api if of_player else self.owner_api).headers

    def person(self, operation, path):
        if operation in ENDS_SESSION | ENDS_APP:
            return self.victim
        return self.operator if OF_OPERATORS.search(path) else self.user

    def ids(self, operation, path, name):
        """Returns existing ids for a path's placeholder."""
        if name == "n":
            return ["1", "2"]
        for (prefix, placeholder), made in self.made_ids.items():
            if path.startswith(prefix) and name == placeholder:
                return made
        if name in ("app_id", "client_id") or "/operators/" in path or "/apps/{id}" in path:
            if path.startswith("/api/deploy"):
                return [self.deployment]
            app = self.victim_app if operation in ENDS_APP else self.app
            return [app.client_id if name == "client_id" else app.id]
        kinds = {
            "/api/deploy/": [self.deployment],
            "/api/internal/deploy/tiers": self.tiers,
            "/api/internal/deploy/apps": [self.suspended],
            "cosmetics": self.items,
            "/learning/modules": self.modules,
            "/tables/": ["table-1"],
            "/internal/users/": [self.doomed.id],
            "/social/": [self.other.id, self.doomed.id],
            "/avatars/": [self.other.id, self.user.id],
        }
        for part, ids in kinds.items():
            if part in path:
                return ids
        return []

    def fields(self, operation):
        """Returns existing values that bodies may refer to."""
        fields = {
            "to_user_id": self.other.id,
            "user_id": self.other.id,
            "account": {"kind": "app", "id": self.app.id},
            "item_ids": RANDOM.choice([[], self.items[:1], self.items[:2]]),
        }
        if operation in ENDS_SESSION:
            fields |= {"password": self.victim.password, "current_password": self.victim.password}
        return fields


WORLD = World(os.environ["BERTH_BASE"], os.environ["BERTH_INTERNAL_SECRET"]).prepare()


def schemes_of(operation):
    return [next(iter(choice)) for choice in operation.definition.raw.get("security", [])]


def streams(operation):
    """Returns whether the operation's response never ends. Such operations only get generated ids, or no token if their
    paths have none, so that they are refused."""
    answers = operation.definition.raw["responses"].values()
    return any("text/event-stream" in answer.get("content", {}) for answer in answers)


@schemathesis.hook
def before_call(context, case, kwargs):
    name = case.operation.definition.raw["operationId"]
    schemes = schemes_of(case.operation)
    parameters = case.path_parameters or {}
    if schemes and (parameters or not streams(case.operation)):
        case.headers = {**(case.headers or {}), **WORLD.credentials(name, case.operation.path, schemes)}
    for placeholder in parameters:
        # Schemathesis also uses ids that it has seen in answers.
        unknown = streams(case.operation) or name in ENDING
        if unknown and UUID.fullmatch(str(parameters[placeholder])):
            parameters[placeholder] = str(uuid.UUID(int=RANDOM.getrandbits(128), version=4))
        known = WORLD.ids(name, case.operation.path, placeholder)
        if known and not streams(case.operation) and RANDOM.random() < REAL_IDS:
            parameters[placeholder] = RANDOM.choice(known)
    if isinstance(case.body, dict) and RANDOM.random() < REAL_IDS:
        case.body.update({key: value for key, value in WORLD.fields(name).items() if key in case.body})
    if name in OF_CLIENTS and isinstance(case.body, dict) and RANDOM.random() < REAL_CLIENTS:
        case.body.update(WORLD.app.credentials())
    # After ten years no token would work any more. An integer may be written as 1.0.
    if name == "advanceClock" and isinstance(case.body, dict):
        seconds = case.body.get("advance_seconds")
        if isinstance(seconds, (int, float)) and seconds > 0:
            case.body["advance_seconds"] = 0


@schemathesis.check
def unlisted_statuses_are_of_the_server(context, response, case):
    """An operation's default response stands for these alone; any other status has to be listed. (5xx fail another
    check.) Methods that the document doesn't have are sent, too; the router answers those."""
    if case.method.upper() != case.operation.method.upper():
        return
    listed = case.operation.definition.raw["responses"]
    known = str(response.status_code) in listed or response.status_code in OF_SERVER
    assert known, f"{response.status_code} isn't documented"


@schemathesis.hook
def after_call(context, case, response):
    ended = case.operation.definition.raw["operationId"] in ENDS_SESSION
    if ended and response.status_code == 200:
        WORLD.replace_victim()
