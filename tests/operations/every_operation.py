"""Calls every operation of the published OpenAPI document, and fails if an operation has not been called.

    every_operation.py BASE INTERNAL_SECRET METRICS LOG

Each operation has a driver in drivers/, which makes it succeed. Afterwards the script reads from berthd's metrics which
routes were called, so a driver that calls another operation doesn't count, and looks whether berthd's log tells who
changed what: each change has a line with the user (or the app) and the network, and each that is about accounts, tokens,
apps or the platform a security event, as OWASP's ASVS 5.0 demands (16.2.1, 16.3.1, 16.3.2). Each change also has its
entry in the audit log, whose chain fits."""

import json
import re
import sys
import urllib.request

import drivers
import schema
from scene import Scene

SERIES = re.compile(r"^http_requests_total\{(.*)\}", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def success_of(operation):
    return next(int(status) for status in operation["responses"] if status.startswith("2"))


def check_answer(answer, status, operation, document):
    if answer.status != status:
        return [f"{answer.question} answered {answer.status}, not {status}: {answer.data[:500]}"]
    if str(status) not in operation["responses"]:
        return [f"{answer.question}: {status} isn't documented"]
    response = schema.resolved(operation["responses"][str(status)], document)
    content = {kind.split(";")[0]: value for kind, value in response["content"].items()}
    kind = answer.headers.get_content_type()
    if kind not in content:
        return [f"{answer.question} answered with {kind}, not {list(content)}"]
    if kind != "application/json":
        return []
    return list(schema.mistakes(answer.body, content[kind]["schema"], document))


# What is sent by POST or PUT and changes nothing that is stored.
READS = {"verifyToken", "introspect", "setPresence", "setTablePresence", "askToLogInByPasskey", "userinfoByPost",
         "previewGuestMerge"}
# Changes without an event: see the list in tests/api/gate/security_log_test.cpp.
SILENT = {"sessionHeartbeat", "testWebhook", "testAlert"}
ABOUT_SECURITY = ("/api/auth/", "/api/oauth/", "/api/sessions/", "/api/internal/", "/api/operator/apps",
                  "/api/operator/alerts")
# Whoever asks for these isn't known to berthd.
OF_STRANGERS = {"forgotPassword", "reportToken", "takePushHook"}
MAIL = re.compile(r"[\w.+-]+@[\w-]+\.\w+")


def mistakes_in_log(log, document, succeeded):
    """Yields what the log doesn't tell about the changes that were made, and mail addresses in it."""
    requests, events = {}, set()
    with open(log, encoding="utf-8") as lines:
        for text in lines:
            if MAIL.search(text):
                yield f"a mail address is in the log: {text.strip()}"
            line = json.loads(text)
            if line["msg"] == "request":
                requests.setdefault(line["route"], []).append(line)
            elif line["msg"] == "security event":
                events.add(line["route"])
    changes = about_security = 0
    for where, operation in operations(document):
        name, (method, path) = operation["operationId"], where.split()
        if (method == "GET" and name != "authorize") or name in READS or name not in succeeded:
            continue
        changes += 1
        if not any(line["network"] and (line["user"] or line["app"] or path.startswith("/api/internal/") or
                                        name in OF_STRANGERS) for line in requests.get(name, [])):
            yield f"{where} ({name}): no line of the log says who changed something, and from where"
        if path.startswith(ABOUT_SECURITY) and name not in SILENT:
            about_security += 1
            if name not in events:
                yield f"{where} ({name}): no security event is in the log"
    print(f"{changes} changes, {about_security} of them about accounts, tokens, apps or the platform")


# Operations that leave no entry in the audit log: see the list in tests/api/gate/audit_entry_test.cpp.
UNAUDITED = {"spendPoints", "externalTransferPoints", "sessionHeartbeat", "refreshSession", "token", "refresh",
             "authorizeDevice", "sendMessage", "recordAdEvent", "takePushHook", "dryRunDeployments"}
# What drivers send that leaves everything as it is, such as a challenge that nobody stores, or the token "unknown". The
# build may have ended before it is cancelled.
CHANGES_NOTHING = READS | {"reportToken", "advanceClock", "askForPasskey", "cancelBuild"}


def mistakes_in_audit(scene, document, succeeded):
    """Yields the operations that have left no entry, and what is wrong with the chain."""
    found, path = {}, "/api/internal/audit?format=jsonl"
    for line in scene.admin.get(path).expect(200).data.decode().splitlines():
        entry = json.loads(line)
        found.setdefault(entry["operation"], []).append(entry)
    changes = 0
    for where, operation in operations(document):
        name, method = operation["operationId"], where.split()[0]
        if (method == "GET" and name != "authorize") or name not in succeeded or name in UNAUDITED | CHANGES_NOTHING:
            continue
        changes += 1
        # Of a deleted account, the network and the request are erased.
        if not any(entry["actor"] and (entry["network"] and entry["request_id"] or name == "deleteMe")
                   for entry in found.get(name, [])):
            yield f"{where} ({name}): no entry of the audit log says who did it, and from where"
    after, is_end = 0, False
    while not is_end:
        part = scene.admin.get(f"/api/internal/audit/check?after={after}").expect(200).body
        yield from part["violations"]
        after, is_end = part["last"], part["is_end"]
    print(f"{changes} changes have entries in the audit log, {after} of which are chained")


def calls_in(metrics):
    """Returns the pairs of route and status that berthd has counted."""
    with urllib.request.urlopen(metrics + "/metrics", timeout=60) as answer:
        series = (dict(LABEL.findall(labels)) for labels in SERIES.findall(answer.read().decode()))
        return {(labels["route"], int(labels["code"])) for labels in series}


def main():
    base, internal_secret, metrics, log = sys.argv[1:]
    scene = Scene(base, internal_secret)
    document = scene.anybody.get("/.well-known/openapi.json").expect(200).body
    known = drivers.load()
    failures, expected = [], set()
    for where, operation in operations(document):
        name = operation["operationId"]
        run, status = known.pop(name, (None, None))
        status = status or success_of(operation)
        expected.add((name, status))
        if run is None:
            failures.append(f"{where} ({name}): no driver calls it")
            continue
        try:
            wrong = check_answer(run(scene), status, operation, document)
        except Exception as failure:  # the next operation can still be called
            wrong = [f"{type(failure).__name__}: {failure}"]
        failures += [f"{where} ({name}): {each}" for each in wrong]
    for name in known:
        print(f"note: there is no operation {name} for its driver")
    missing = expected - calls_in(metrics)
    failures += [f"{name}: was never answered with {status}" for name, status in sorted(missing)]
    failures += mistakes_in_log(log, document, {name for name, status in expected if status < 300})
    failures += mistakes_in_audit(scene, document, {name for name, status in expected if status < 300})
    print("\n".join(failures))
    called = len(expected) - len(missing)
    print(f"{len(expected)} operations, {called} called, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
