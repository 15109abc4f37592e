"""Compares the clients' log (clients.py) with what berthd shows at the end. Each check returns sentences about what is
wrong, and none if nothing is. checks_test.py shows that each finds what it is for."""
import collections

WRITES = ("spend", "transfer")


def effects_are_the_answers(log, histories):
    """Each answered spend and transfer is in the histories of those whom it concerns, once and with its amount; what was
    refused isn't there; what wasn't answered is there once or not at all, but the same for both sides of a transfer; and
    nothing else is. `histories` has a list of (key, amount) for each account."""
    wrong, expected, by_key = [], collections.Counter(), {}
    found = collections.Counter((account, key, amount) for account, rows in histories.items() for key, amount in rows)
    for entry in log:
        if entry["kind"] not in WRITES:
            continue
        key = entry["key"]
        if key in by_key:
            wrong.append(f"the key {key} was given out twice")
        by_key[key] = entry
        sides = [(entry["account"], key, -entry["amount"])]
        if entry["kind"] == "transfer":
            sides.append((entry["to"], key, entry["amount"]))
        counts = {found[side] for side in sides}
        if len(counts) > 1:
            wrong.append(f"the {entry['kind']} {key} took effect on one side only")
        if entry["status"] == "ok":
            wrong += [f"the {entry['kind']} {key} was answered, and took effect {count} times" for count in counts
                      if count != 1]
        elif entry["status"] == "refused":
            wrong += [f"the {entry['kind']} {key} was refused, and took effect" for count in counts if count != 0]
        elif max(counts) > 1:
            wrong.append(f"the {entry['kind']} {key} wasn't answered, and took effect {max(counts)} times")
        expected.update(sides)
    wrong += [f"nobody asked for {key} of {amount} at {account}" for account, key, amount in found
              if (account, key, amount) not in expected]
    return wrong


def balances_are_the_sums(openings, histories, balances):
    """The balance of each account is that of the beginning and all movements since."""
    wrong = []
    for account, opening in openings.items():
        sum_of = opening + sum(amount for _, amount in histories[account])
        if balances[account] != sum_of:
            wrong.append(f"{account} has {balances[account]} points, but its history says {sum_of}")
    return wrong


def names_are_the_answers(log, kind, names):
    """Each deployment, or campaign, whose creation was answered is there once; and no other one is, unless nobody knows.
    `names` lists those that each app has."""
    wrong, asked = [], {}
    found = collections.Counter((app, name) for app, of_app in names.items() for name in of_app)
    for entry in log:
        if entry["kind"] != kind:
            continue
        place = (entry["app"], entry["key"])
        asked[place] = entry
        most = {"ok": 1, "refused": 0, "unknown": 1}[entry["status"]]
        least = 1 if entry["status"] == "ok" else 0
        if not least <= found[place] <= most:
            wrong.append(f"the {kind} {entry['key']} is {entry['status']}, and is there {found[place]} times")
    return wrong + [f"nobody asked for the {kind} {name} of {app}" for app, name in found if (app, name) not in asked]


def apps_have_what_they_got(log, openings, balances):
    """The points of an app are what it began with and the spends in it, less what its campaigns cost. Only for a log
    without unknown entries."""
    expected = dict(openings)
    for entry in log:
        if entry["kind"] in ("spend", "campaign") and entry["status"] == "ok":
            expected[entry["app"]] += entry["amount"] if entry["kind"] == "spend" else -entry["amount"]
    return [f"the app {app} has {balances[app]} points instead of {points}" for app, points in expected.items()
            if balances[app] != points]


def refresh_tokens_work_once(log, works):
    """Each refresh token was exchanged once at most; the last one that each client was answered works, and those before
    it don't. `works(app, token)` tries one out: it is the last call for its client."""
    wrong, used, last = [], set(), {}
    for entry in log:
        if entry["kind"] != "refresh":
            continue
        if entry["status"] == "ok" and entry["token"] in used:
            wrong.append(f"a refresh token of client {entry['client']} was exchanged twice")
        used.add(entry["token"])
        last[entry["client"]] = entry
    for client, entry in last.items():
        if entry["status"] != "ok":
            continue
        if not works(entry["app"], entry["next"]):
            wrong.append(f"client {client} was answered a refresh token that doesn't work")
        if works(entry["app"], entry["token"]):
            wrong.append(f"a refresh token of client {client} works a second time")
    return wrong


def answers_are_kept(log, repeated):
    """A request that is repeated with its key is answered as before. `repeated` has the status and body for a key."""
    wrong = []
    for entry in log:
        if entry.get("key") in repeated:
            status, body = repeated[entry["key"]]
            if body != entry["body"] or (status < 300) != (entry["status"] == "ok"):
                wrong.append(f"the {entry['kind']} {entry['key']} is answered differently now: {status} {body}")
    return wrong


def everything_was_tried(log, kinds):
    """A run in which something never happened shows nothing about it. `kinds` are those of entries."""
    seen = {(entry["kind"], entry["status"]) for entry in log}
    wanted = [(kind, "ok") for kind in kinds] + [("spend", "refused"), ("deployment", "refused")]
    wrong = [f"no {kind} was {status}" for kind, status in wanted if (kind, status) not in seen]
    if not any(len(entry.get("attempts", ())) > 1 and entry["status"] == "ok" for entry in log):
        wrong.append("no operation was repeated")
    return wrong
