"""Calls every operation of the published document on two databases in turns, and takes the time of each answer and the
CPU time that berthd needed meanwhile. On a machine that does other things, the latter tells what the operation costs."""

import copy
import dataclasses
import http.client
import json
import os
import pathlib
import statistics
import time
import urllib.parse

import adversarial_bodies
import drivers
import schema
from drivers import alerts
from every_operation import operations, success_of

TIME_OUT = 60  # seconds
SESSION_SECONDS = 600  # how long a session of the user in an app is used; it ends by itself if nothing happens in it
LARGEST_PAGE = "page_size=100"
DEEPEST_PAGE = LARGEST_PAGE + "&page=100"  # numbers of pages end with the 10,000th entry
ALL_YEARS = "from={first}&to={last}"
# Filters and windows of reads, beside those that a driver uses.
FILTERS = {
    "pointsHistory": ["kind=spend", "kind=transfer", "direction=in", "direction=out", ALL_YEARS],
    "listUsers": ["q=player", "q=pla"],
    "searchUsers": ["q=player", "q=er1"],
    "listScopeRequests": ["status=approved", "status=pending"],
    "internalListScopeRequests": ["status=pending", "status=approved"],
    "listRefundRequests": ["status=approved", "status=open"],
    "internalListRefundRequests": ["status=approved", "status=open"],
    "listPointProposals": ["status=alone", "status=open"],
    "appHistory": ["kind=spend", "direction=in", ALL_YEARS],
    "listDeployments": ["label=stage=test"],
    "listChannels": ["member=me", "type=lobby"],
    "listMessages": ["limit=100"],
    "operatorAnalytics": ["window_days=90"],
    "operatorAnalyticsDays": [ALL_YEARS],
    "treasuryDays": [ALL_YEARS],
    "campaignAnalytics": [ALL_YEARS],
    "pointsDays": [ALL_YEARS],
    "publishedLedger": [ALL_YEARS],
}

# The names of their threads.
LOOPS = ("billing", "ads", "expiry", "webhooks", "mail", "resets", "ledger", "presence", "money", "refund requests",
         "token warnings", "audit")
LEAST_CPU = 0.05  # milliseconds; less is taken for this
READS = 3  # times as many tries, because they cost less
ONCE = {"testWebhook", "testAlert"}  # isn't possible again before the test was delivered


@dataclasses.dataclass
class Timed:
    """The medians of an operation, in milliseconds."""

    name: str
    fresh_ms: float
    aged_ms: float
    fresh_cpu: float
    aged_cpu: float
    counts_most: bool = False  # whether the aged database's list has more entries than are counted

    @property
    def ratio(self):
        return self.aged_ms / self.fresh_ms

    @property
    def cpu_ratio(self):
        return self.aged_cpu / max(self.fresh_cpu, LEAST_CPU)

    def exceeds(self, most_ratio, most_ms):
        """Only if both times say so: waiting for other processes isn't the operation's, nor is a loop's work."""
        return min(self.ratio, self.cpu_ratio) > most_ratio or min(self.aged_ms, self.aged_cpu) > most_ms


class Threads:
    """The CPU time of a process's threads but the loops', which have names of their own."""

    def __init__(self, pid):
        self.tasks = pathlib.Path(f"/proc/{pid}/task")
        self.files = {}  # by the thread's number; None for those that don't count

    def cpu_ms(self):
        for thread in os.listdir(self.tasks):
            if thread not in self.files:
                name = (self.tasks / thread / "comm").read_text().strip()
                self.files[thread] = None if name in LOOPS else (self.tasks / thread / "schedstat").open("rb", 0)
        return sum(map(nanoseconds, self.files.values())) / 1e6


def nanoseconds(file):
    if file is None:
        return 0
    try:
        file.seek(0)
        return int(file.read(100).split()[0])
    except ProcessLookupError:  # the thread has ended
        return 0


class Side:
    """One of the databases: the berthd that serves it, and the scene's objects there."""

    def __init__(self, base, pid, scene):
        self.scene = moved(scene, base)
        self.threads = Threads(pid)
        self.address = urllib.parse.urlsplit(base).netloc
        self.connection = None
        self.session_until = time.monotonic() + SESSION_SECONDS

    def renew_session(self):
        """Lets the scene begin a new session of the user in the app if the last one is old."""
        if time.monotonic() > self.session_until:
            self.scene.made.pop("player", None)
            self.session_until = time.monotonic() + SESSION_SECONDS

    def send(self, request):
        """Returns the time of the answer and berthd's CPU time in milliseconds, its status and its data; of a stream,
        the first line."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.address, timeout=TIME_OUT)
            self.connection.connect()
        headers, body = request.headers, request.body
        if body is not None:
            is_form = isinstance(body, str)
            body = body if is_form else json.dumps(body)
            headers = {**headers, "Content-Type": "application/" + ("x-www-form-urlencoded" if is_form else "json")}
        cpu = self.threads.cpu_ms()
        before = time.perf_counter()
        self.connection.request(request.method, request.path, body, headers)
        answer = self.connection.getresponse()
        is_stream = answer.headers.get_content_type() == "text/event-stream"
        data = answer.readline() if is_stream else answer.read()
        passed = (time.perf_counter() - before) * 1000
        if is_stream or answer.will_close:
            self.connection.close()
            self.connection = None
        return (passed, self.threads.cpu_ms() - cpu), answer.status, data


@dataclasses.dataclass
class Request:
    method: str
    path: str
    headers: dict
    body: object = None

    def asking(self, query):
        """The same with other fields of the query."""
        path, _, before = self.path.partition("?")
        fields = dict(urllib.parse.parse_qsl(before)) | dict(urllib.parse.parse_qsl(query))
        return dataclasses.replace(self, path=path + "?" + urllib.parse.urlencode(fields))


def moved(scene, base):
    """Returns a copy of the scene whose clients ask the berthd at `base`."""
    scene = copy.deepcopy(scene)
    for client in (scene, scene.anybody, scene.admin, *scene.made.values()):
        if hasattr(client, "base"):
            client.base = base
    return scene


def remove_new_hooks(scene):
    """Deletes the webhooks that drivers made for one call each, because an app may have few."""
    path = f"/api/operator/apps/{scene.app.id}/webhooks"
    for hook in scene.operator.get(path).expect(200)["webhooks"]:
        if hook["id"] != scene.made["hook"]:
            scene.operator.delete(f"{path}/{hook['id']}").expect(200)


def remove_new_alerts(scene):
    """The same for alerts, of which an account may have few."""
    for alert in scene.operator.get(alerts.ALERTS).expect(200)["alerts"]:
        if alert["id"] != scene.made.get("alert"):
            scene.operator.delete(f"{alerts.ALERTS}/{alert['id']}").expect(200)


class Calls:
    def __init__(self, fresh, aged, document, tries, window):
        self.fresh, self.aged, self.document, self.tries, self.window = fresh, aged, document, tries, window
        self.drivers = drivers.load()
        self.timed, self.failures = [], []

    def run(self, left_out, chosen=lambda name: True):
        for where, operation in operations(self.document):
            name = operation["operationId"]
            if name in left_out or not chosen(name):
                continue
            try:
                self.call(where, operation)
            except Exception as failure:  # the next operation can still be called
                self.failures.append(f"{name}: {type(failure).__name__}: {failure}")

    def call(self, where, operation):
        method, template = where.split(" ", 1)
        name = operation["operationId"]
        run, status = self.drivers[name]
        status = status or success_of(operation)

        def new(side):
            side.renew_session()
            if "Webhook" in name:
                remove_new_hooks(side.scene)
            if "Alert" in name:
                remove_new_alerts(side.scene)
            asked = adversarial_bodies.capture(side.scene, run, method, template)
            return Request(method, asked.path, asked.headers, asked.body)

        if method != "GET":  # it may work only once
            self.compare(name, status, lambda: new(self.fresh), lambda: new(self.aged), reads=False)
            return
        fresh, aged = new(self.fresh), new(self.aged)
        self.compare(name, status, lambda: fresh, lambda: aged)
        fields = {schema.resolved(field, self.document)["name"]
                  for field in operation.get("parameters", [])}
        for query in FILTERS.get(name, []):
            query = query.format(**self.window)
            self.compare(f"{name}?{query}", status, lambda: fresh.asking(query), lambda: aged.asking(query))
        if {"page", "cursor"} <= fields:
            self.pages(name, status, fresh.asking(LARGEST_PAGE), aged)

    def pages(self, name, status, fresh, aged):
        """The largest page, the deepest one that has a number, and the one behind that, each beside the fresh
        database's first page."""
        first, deep = aged.asking(LARGEST_PAGE), aged.asking(DEEPEST_PAGE)
        self.compare(f"{name}?{LARGEST_PAGE}", status, lambda: fresh, lambda: first)
        self.compare(f"{name}?{DEEPEST_PAGE}", status, lambda: fresh, lambda: deep)
        cursor = json.loads(self.aged.send(deep)[2]).get("next_cursor")
        if cursor:
            behind = aged.asking(LARGEST_PAGE + "&" + urllib.parse.urlencode({"cursor": cursor}))
            self.compare(f"{name}, behind that page", status, lambda: fresh, lambda: behind)

    def compare(self, name, status, fresh, aged, reads=True):
        of_fresh, of_aged, counts_most = [], [], False
        for _ in range(1 if name in ONCE else self.tries * (READS if reads else 1)):
            for side, make, passed in ((self.fresh, fresh, of_fresh), (self.aged, aged, of_aged)):
                request = make()
                times, answered, data = side.send(request)
                if answered != status:
                    raise RuntimeError(f"{name}: {request.path} was answered with {answered}: {data[:300]}")
                passed.append(times)
                counts_most = side is self.aged and b'"total_is_at_least":true' in data
        medians = [statistics.median(column) for measured in (of_fresh, of_aged) for column in zip(*measured)]
        self.timed.append(Timed(name, medians[0], medians[2], medians[1], medians[3], counts_most))

