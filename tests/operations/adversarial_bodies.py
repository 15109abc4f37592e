"""Sends each operation of the published OpenAPI document the most expensive bodies that its schema allows, and measures
the CPU time and the memory that berthd needs to handle them.

    adversarial_bodies.py BASE INTERNAL_SECRET PID [--bytes N] [--cpu-ms N] [--memory-mb N]
                          [--health-ms N] [--total-mb N] [--only REGEX] [--worst N] [--every N]

Each request has the credentials, path and body with which the operation's driver (drivers/) would have succeeded, so
that the body is processed as far as possible. The limits apply to each request by itself; operations that hash a
password may use the cost of hashing in addition. A request above a limit is repeated, and the cheapest attempt counts,
because berthd may have done other work at the same time. Finally many clients send at once while /health is requested,
and berthd's memory is measured again. With `--every N`, one of N kinds of bodies is sent to each operation; since the
next operation begins with the next kind, all kinds are sent to some operation."""

import argparse
import dataclasses
import http.client
import itertools
import json
import re
import sys
import threading
import time
import urllib.parse

import bodies
import drivers
import scene as scenes
from every_operation import operations

TRIES = 5
SHARED = ("user", "other", "app", "owner_api", "player_api", "deployment", "item", "module")
CROWDS = (8, 64)
HEALTH_ASKED = 30
MAX_ANSWER_BYTES = 64 * 1024  # of a refusal: it doesn't repeat what was sent
STALE = {401, 403, 404, 409}  # the request before may have used up what the driver created
REFUSED_TOKENS = (b"invalid_token", b"token_expired", b"token_revoked", b"wrong_token_type")
NEVER_RIGHT = {"backup"}  # a valid body costs a copy of the whole database, whatever its size
TIME_OUT = 120  # seconds


class Captured(Exception):
    """Raised instead of sending a driver's request to its operation."""

    def __init__(self, headers, path, body):
        super().__init__("captured")
        self.headers, self.path, self.body = dict(headers), path, body


@dataclasses.dataclass
class Cost:
    cpu_ms: float
    memory_mb: float

    def exceeds(self, limit):
        return self.cpu_ms > limit.cpu_ms or self.memory_mb > limit.memory_mb

    def __add__(self, other):
        return Cost(self.cpu_ms + other.cpu_ms, self.memory_mb + other.memory_mb)

    def least(self, other):
        return Cost(min(self.cpu_ms, other.cpu_ms), min(self.memory_mb, other.memory_mb))

    def __str__(self):
        return f"{self.cpu_ms:.1f} ms, {self.memory_mb:.1f} MB"


class Process:
    """A process of this machine, and the CPU time and memory that it has used."""

    def __init__(self, pid):
        self.pid = pid
        self.clock = (~pid << 3) | 2  # CPUCLOCK_SCHED of a process: clock_getcpuclockid(3)

    def cpu_ms(self):
        return time.clock_gettime_ns(self.clock) / 1e6

    def memory_mb(self, name):  # VmRSS and VmHWM
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            kilobytes = next(line.split()[1] for line in status if line.startswith(name + ":"))
        return int(kilobytes) / 1024

    def forget_peak(self):  # resets VmHWM to VmRSS: proc(5), clear_refs
        with open(f"/proc/{self.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")

    def cost_of(self, work):
        self.forget_peak()
        memory, cpu = self.memory_mb("VmRSS"), self.cpu_ms()
        work()
        return Cost(self.cpu_ms() - cpu, self.memory_mb("VmHWM") - memory)


class Wire:
    """A connection to berthd that sends bytes unchanged."""

    def __init__(self, base):
        self.address = urllib.parse.urlsplit(base).netloc
        self.connection = None

    def send(self, method, path, headers, body):
        for attempt in range(2):
            self.connection = self.connection or http.client.HTTPConnection(
                self.address, timeout=TIME_OUT
            )
            try:
                self.connection.request(method, path, body, headers)
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, ConnectionError):
                self.connection.close()
                self.connection = None
                if attempt:
                    raise
        return None


def matches(template, path):
    pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
    return re.fullmatch(pattern, urllib.parse.urlsplit(path).path) is not None


def capture(scene, run, method, template):
    """Returns the request that the driver would have sent to its operation."""
    send = scenes.Client.ask

    def ask(client, asked, path, body=None, **headers):
        if asked == method and matches(template, path):
            raise Captured({**client.headers, **headers}, path, body)
        return send(client, asked, path, body, **headers)

    scenes.Client.ask = ask
    try:
        run(scene)
    except Captured as captured:
        return captured
    finally:
        scenes.Client.ask = send
    raise RuntimeError("the driver never calls it")


class Attack:
    def __init__(self, arguments):
        self.arguments, self.names = arguments, itertools.count(1)
        self.scene = self.new_scene()
        self.document = self.scene.anybody.get("/.well-known/openapi.json").expect(200).body
        self.berthd = Process(arguments.pid)
        self.wire = Wire(arguments.base)
        self.limit = Cost(arguments.cpu_ms, arguments.memory_mb)
        self.drivers = drivers.load()
        self.costs, self.failures = [], []
        self.turns = itertools.count()

    def hashing(self):
        """Returns the largest cost of checking one password and hashing another."""
        user = self.scene.new_user().account
        body = json.dumps({**user, "password": "a wrong password"}).encode()
        headers = {"Content-Type": "application/json"}
        once = [
            self.berthd.cost_of(
                lambda: self.wire.send("POST", "/api/auth/login", headers, body)
            )
            for _ in range(TRIES)
        ]
        worst = Cost(max(cost.cpu_ms for cost in once), max(cost.memory_mb for cost in once))
        return worst + worst

    def measure(self, name, kind, limit, send):
        """Records the cost of `send()`. Returns its first response."""
        best, answers = Cost(float("inf"), float("inf")), []
        for _ in range(TRIES):
            best = best.least(self.berthd.cost_of(lambda: answers.append(send())))
            if not best.exceeds(limit):
                break
        status, data = answers[0]
        self.costs.append((best, name, kind, status))
        if best.exceeds(limit):
            self.failures.append(f"{name}: {kind} costs {best}; the limit is {limit}")
        if status >= 500:
            self.failures.append(f"{name}: {kind} is answered with {status}: {data[:200]}")
        if status >= 400 and len(data) > MAX_ANSWER_BYTES:
            self.failures.append(f"{name}: {kind} is refused with {len(data)} bytes")
        return status, data

    def operation(self, where, operation, hashing):
        method, template = where.split(" ", 1)
        name = operation["operationId"]
        run = self.drivers[name][0]
        if self.arguments.every == 1:
            self.scene = self.new_scene()
        content = operation["requestBody"]["content"]
        schema = bodies.inlined(content["application/json"]["schema"], self.document)
        captured = self.captured(run, method, template)
        valid = {} if name in NEVER_RIGHT else captured.body
        if isinstance(valid, str):
            valid = dict(urllib.parse.parse_qsl(valid))
        hashes = any("password" in field for field in schema["properties"])
        limit = self.limit + hashing if hashes else self.limit
        attacks = bodies.of_json(schema, valid or {}, self.arguments.bytes)
        if len(content) > 1:
            forms = bodies.of_form(schema, valid, self.arguments.bytes)
            attacks = itertools.chain(attacks, forms)
        last = None
        first = next(self.turns) % self.arguments.every
        for kind, media_type, body in itertools.islice(attacks, first, None, self.arguments.every):
            if last is not None and (last < 400 or last in STALE):
                captured = self.captured(run, method, template)
            headers = {**captured.headers, "Content-Type": media_type}
            last, data = self.measure(
                name,
                kind,
                limit,
                lambda: self.wire.send(method, captured.path, headers, body),
            )
            if last == 401 and any(code in data for code in REFUSED_TOKENS):
                self.failures.append(f"{name}: {kind} had no valid credentials")

    def captured(self, run, method, template):
        """Returns the request of the operation's driver. What was sent before may have used up points, a limit or an account
        of the scene, and then a new scene is made."""
        try:
            return capture(self.scene, run, method, template)
        except Exception:
            self.scene = self.new_scene()
            return capture(self.scene, run, method, template)

    def heads(self):
        """Sends request heads with tokens, queries and fields as long as a head may be."""
        for kind, method, path, headers in bodies.heads():
            self.measure(
                f"{method} {path[:24]}",
                kind,
                self.limit,
                lambda: self.wire.send(method, path, headers, b""),
            )

    def pages(self):
        for path in ("/login", "/register", "/oauth/consent"):
            for kind, media_type, body in bodies.of_form(
                {"properties": {"email": {}, "csrf": {}}}, {}, self.arguments.bytes
            ):
                headers = {"Content-Type": media_type, "Accept": "text/html"}
                self.measure(
                    "page " + path,
                    kind,
                    self.limit,
                    lambda: self.wire.send("POST", path, headers, body),
                )

    def new_scene(self):
        """Makes a scene with the objects that the drivers share, before their requests are captured."""
        scene = scenes.Scene(self.arguments.base, self.arguments.secret)
        scene.numbers = self.names
        for name in SHARED:
            getattr(scene, name)
        return scene

    def crowd(self, senders):
        """Returns the longest time in ms that /health takes while that many clients send large bodies."""
        over = threading.Event()
        headers = {"Content-Type": bodies.JSON, **self.scene.operator.headers}
        sent = list(bodies.of_crowd(self.arguments.bytes))
        answered = [0] * senders

        def send(number):
            wire = Wire(self.arguments.base)
            while not over.is_set():
                wire.send("POST", "/api/oauth/apps", headers, sent[number % len(sent)])
                answered[number] += 1

        threads = [threading.Thread(target=send, args=(number,)) for number in range(senders)]
        for thread in threads:
            thread.start()
        slowest, asked = 0, 0
        while asked < HEALTH_ASKED or 0 in answered:
            if not all(thread.is_alive() for thread in threads):
                self.failures.append(f"of {senders} who sent at once, not all were answered")
                break
            asked += 1
            before = time.monotonic()
            self.wire.send("GET", "/health", {}, None)
            slowest = max(slowest, (time.monotonic() - before) * 1000)
        over.set()
        for thread in threads:
            thread.join()
        print(f"/health took {slowest:.0f} ms at most while {senders} sent at once, and berthd has "
              f"{self.berthd.memory_mb('VmHWM'):.0f} MB at most")
        if slowest > self.arguments.health_ms:
            self.failures.append(f"/health took {slowest:.0f} ms")

    def run(self):
        hashing = self.hashing()
        chosen = [
            (where, operation)
            for where, operation in operations(self.document)
            if "application/json" in operation.get("requestBody", {}).get("content", {})
            and re.search(self.arguments.only, operation["operationId"])
        ]
        for where, operation in chosen:
            try:
                self.operation(where, operation, hashing)
            except Exception as failure:  # the next operation can still be measured
                self.failures.append(f"{where}: {type(failure).__name__}: {failure}")
        if not self.arguments.only:
            self.heads()
            self.pages()
        self.berthd.forget_peak()
        for senders in CROWDS:
            self.crowd(senders)
        memory = self.berthd.memory_mb("VmHWM")
        if memory > self.arguments.total_mb:
            self.failures.append(f"berthd took {memory:.0f} MB")
        memory = self.berthd.memory_mb("VmRSS")
        self.report(len(chosen), memory, hashing)
        return 1 if self.failures else 0

    def report(self, count, memory, hashing):
        for title, key in (
            ("CPU", lambda entry: entry[0].cpu_ms),
            ("memory", lambda entry: entry[0].memory_mb),
        ):
            print(f"worst by {title}:")
            for cost, name, kind, status in sorted(self.costs, key=key, reverse=True)[
                : self.arguments.worst
            ]:
                print(f"  {cost!s:>20}  {status}  {name}: {kind}")
        print("\n".join(self.failures[:100]))
        print(
            f"{count} operations, {len(self.costs)} requests of {self.arguments.bytes} bytes, "
            f"{len(self.failures)} failures; hashing costs {hashing}, "
            f"berthd has {memory:.0f} MB"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("secret")
    parser.add_argument("pid", type=int)
    parser.add_argument("--bytes", type=int, default=1024 * 1024)
    parser.add_argument("--cpu-ms", type=float, default=50)
    parser.add_argument("--memory-mb", type=float, default=20)
    parser.add_argument("--health-ms", type=float, default=1000)
    parser.add_argument("--total-mb", type=float, default=300)
    parser.add_argument("--only", default="")
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--every", type=int, default=1)
    return Attack(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
