"""Sends the requests of requests.yaml with the token of berth's account, and says which answers aren't as they should be.

The API server is named by its URL, a TLS context and the token, so that any cluster will do."""
import json
import pathlib
import re
import urllib.error
import urllib.request

import yaml

REQUESTS = pathlib.Path(__file__).with_name("requests.yaml")
TIME_LIMIT = 30  # seconds


def filled(node, values):
    """Returns the node with each $NAME replaced by its value."""
    if isinstance(node, dict):
        return {filled(key, values): filled(value, values) for key, value in node.items()}
    if isinstance(node, list):
        return [filled(item, values) for item in node]
    if isinstance(node, str):
        return re.sub(r"\$([A-Z]+)", lambda found: values[found.group(1)], node)
    return node


def requests(values, whose):
    """Returns the requests that must be refused, and those that must be let through."""
    both = filled(yaml.safe_load(REQUESTS.read_text()), values)
    return both["refused" + whose], both["allowed" + whose]


def send(server, context, token, entry, dry_run):
    """Sends the request. Returns the answer's status and its message."""
    method, path = entry["request"].split(" ", 1)
    if method != "GET" and "/exec" not in path and dry_run:
        path += ("&" if "?" in path else "?") + "dryRun=All"
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    body = json.dumps(entry["body"]).encode() if "body" in entry else None
    request = urllib.request.Request(server + path, body, {"Authorization": f"Bearer {token}", "Content-Type": kind}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=TIME_LIMIT, context=context) as answer:
            return answer.status, ""
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        try:
            return error.code, json.loads(text).get("message", text)
        except ValueError:
            return error.code, text


def wrong_answers(server, context, token, values, whose=""):
    """Sends all requests; with `whose` = "_to_sessions", those of that account. Returns a sentence for each answer that is wrong, and how many requests were sent. Nothing is
    changed, even if a request is let through: all are dry runs, for which the API server asks the same questions."""
    refused, allowed = requests(values, whose)
    wrong = []
    for entry in refused:
        status, message = send(server, context, token, entry, dry_run=True)
        by_policy = "ValidatingAdmissionPolicy" in message
        if status not in (403, 422) or entry["says"] not in message or by_policy != (entry["by"] == "policy"):
            wrong.append(f"{entry['name']}: {status} {message} instead of a refusal by {entry['by']} that says “{entry['says']}”")
    for entry in allowed:
        status, message = send(server, context, token, entry, dry_run=True)
        if status >= 300 and status != entry.get("answers"):
            wrong.append(f"{entry['name']}: {status} {message}, but it is allowed")
    return wrong, len(refused) + len(allowed)
