"""Calls every operation of the published document, and fails for those that nobody calls.

    every_operation.py BASE INTERNAL_SECRET METRICS

Each operation has a driver in drivers/, which makes it succeed. That it was called, and by its own
route, is read from berthd's metrics afterwards: a driver that calls something else doesn't count."""

import re
import sys
import urllib.request

import drivers
import schema
from scene import Scene

CALLED = re.compile(r'http_requests_total\{(?=[^}]*code="2)[^}]*route="(\w+)"')


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def check_answer(answer, operation, document):
    success = [status for status in operation["responses"] if status.startswith("2")]
    if [str(answer.status)] != success:
        return [f"{answer.question} answered {answer.status}, not {success}: {answer.data[:500]}"]
    content = operation["responses"][str(answer.status)]["content"]
    kind = answer.headers.get_content_type()
    if kind not in content:
        return [f"{answer.question} answered with {kind}, not {list(content)}"]
    if kind != "application/json":
        return []
    return list(schema.mistakes(answer.body, content[kind]["schema"], document))


def main():
    base, internal_secret, metrics = sys.argv[1:]
    scene = Scene(base, internal_secret)
    document = scene.anybody.get("/.well-known/openapi.json").expect(200).body
    known = drivers.load()
    failures, names = [], set()
    for where, operation in operations(document):
        name = operation["operationId"]
        names.add(name)
        if name not in known:
            failures.append(f"{where} ({name}): no driver calls it")
            continue
        try:
            wrong = check_answer(known[name](scene), operation, document)
        except Exception as failure:  # the next one may still do
            wrong = [f"{type(failure).__name__}: {failure}"]
        failures += [f"{where} ({name}): {each}" for each in wrong]
    failures += [f"{name}: no such operation" for name in known if name not in names]
    with urllib.request.urlopen(metrics + "/metrics", timeout=60) as answer:
        called = set(CALLED.findall(answer.read().decode()))
    failures += [f"{name}: no call of it succeeded" for name in names & set(known) - called]
    print("\n".join(failures))
    print(f"{len(names)} operations, {len(names & called)} called, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
