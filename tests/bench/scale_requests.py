"""Requests to berthd on the databases that scale_rows.py fills: how many it answers per second, and what one costs."""

import dataclasses
import itertools
import json
import os
import pathlib
import re
import statistics

from common import HERE, fail, latency_ms, output_of
from scale_rows import ACCESS_PREFIX, CONSENTS_OF

CONNECTIONS, ROUNDS, SECONDS = 16, 3, 5
DIFFERENT = 5_000  # users or deployments that are asked for in turn
MOST_REFUSED = 0.01  # of the requests: writes that have collided too often are answered with 503
PEOPLE = 100  # who are logged in, and ask in turn
TICK = os.sysconf("SC_CLK_TCK")
runs = itertools.count()


@dataclasses.dataclass
class Run:
    rate: float
    median_ms: float
    p99_ms: float
    berthd_ms: float  # of CPU, for each request
    server_ms: float
    log_bytes: float  # of the server's write-ahead log, for each request


def cpu_of_children(parent):
    """Returns the CPU seconds of the processes that this one has started and that haven't ended."""
    seconds = 0.0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[1]) == parent:
            seconds += (int(fields[11]) + int(fields[12])) / TICK
    return seconds


class Load:
    """Sends requests to the berthd of one side. `scene` is that berthd; `ids` knows the rows."""

    def __init__(self, scene, tokens, ids, psql, server, directory):
        self.scene, self.tokens, self.ids, self.psql = scene, tokens, ids, psql
        self.server, self.directory = server, directory

    def log_in(self, password):
        """Logs some users in. All users who were made have the same password."""
        ids = "', '".join(self.ids.user() for _ in range(PEOPLE))
        emails = [row[0] for row in self.psql.rows(f"SELECT email FROM users WHERE id IN ('{ids}');")]
        self.tokens["people"] = [self.scene.log_in(email, password) for email in emails]

    def log_position(self):
        return self.psql.number("SELECT pg_current_wal_insert_lsn() - '0/0';")

    def wrk(self, script, *more, **variables):
        log, berthd, server = self.log_position(), self.scene.cpu_seconds(), cpu_of_children(self.server.process.pid)
        text = output_of("wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--latency", "--timeout", f"{SECONDS + 1}s",
                         "-s", HERE / script, *more, self.scene.url, env={**os.environ, **variables})
        berthd = self.scene.cpu_seconds() - berthd
        server = cpu_of_children(self.server.process.pid) - server
        count = int(re.search(r"(\d+) requests in", text).group(1))
        refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        if "Socket errors" in text or (refused and int(refused.group(1)) > MOST_REFUSED * count):
            fail(f"requests were not answered well:\n{text}")
        return Run(rate=float(re.search(r"Requests/sec:\s*([\d.]+)", text).group(1)),
                   median_ms=latency_ms(text, "50%"), p99_ms=latency_ms(text, "99%"), berthd_ms=1000 * berthd / count,
                   server_ms=1000 * server / count, log_bytes=(self.log_position() - log) / count)

    def lines(self, method, requests, body=None):
        """Sends requests, which are pairs of a token and a path, in turn."""
        file = self.directory / "requests"
        file.write_text("".join(f"{token} {path}\n" for token, path in requests))
        more = {} if body is None else {"BODY": json.dumps(body)}
        return self.wrk("lines.lua", LINES=str(file), METHOD=method, KEYS=f"{self.directory.name}{next(runs)}-", **more)

    def users(self, is_in_one_app=None):
        """Tokens of users; of those in the heaviest app, or of the others."""
        most = self.ids.sizes.users // CONSENTS_OF
        numbers = (self.ids.consenting() // 2 * 2 + (0 if is_in_one_app else 1) if is_in_one_app is not None
                   else self.ids.consenting() for _ in range(DIFFERENT))
        return [f"{ACCESS_PREFIX}{number}" for number in numbers if 2 <= number <= most]

    def statuses(self):
        return self.lines("GET", [(self.tokens["manage"], f"/api/deploy/apps/{self.ids.living(True)}/status")
                                  for _ in range(DIFFERENT)])

    def verifications(self):
        return self.lines("POST", [(token, "/api/oauth/token/verify") for token in self.users()], {"token": "@token@"})

    def balances(self):
        return self.lines("GET", [(token, "/api/points/balance") for token in self.tokens["people"]])

    def histories(self):
        return self.lines("GET", [(token, "/api/points/history?page_size=50") for token in self.tokens["people"]])

    def spends(self, is_in_one_app):
        return self.lines("POST", [(token, "/api/external/points/spend") for token in self.users(is_in_one_app)],
                          {"amount": 1, "description": "benchmark"})

    def ads(self):
        """An impression takes two requests: it is served, and then reported."""
        return self.wrk("ads.lua", "-H", f"Authorization: Bearer {self.tokens['show']}", "-H",
                        "Content-Type: application/json")


MEASURES = {
    "status of a deployment": Load.statuses, "token/verify": Load.verifications, "balance": Load.balances,
    "history, first page of 50": Load.histories, "spend in one app": lambda load: load.spends(True),
    "spend in many apps": lambda load: load.spends(False), "ad served, or reported": Load.ads}


def measure(loads, progress=lambda text: None):
    """Measures the loads in turns. Yields the name of each request, and a list of runs for each load."""
    for name, send in MEASURES.items():
        results = [[] for _ in loads]
        for _ in range(ROUNDS):
            for load, result in zip(loads, results):
                result.append(send(load))
        progress(line_of(name, results))
        yield name, results


def median(result, name):
    return statistics.median(getattr(run, name) for run in result)


def line_of(name, results):
    small, large = results
    rates = median(small, "rate"), median(large, "rate")
    return (f"| {name} | {rates[0]:,.0f}/s | {rates[1]:,.0f}/s | {rates[1] / rates[0]:.2f} | "
            f"{median(large, 'median_ms'):.1f} ms | {median(large, 'p99_ms'):.1f} ms | "
            f"{median(large, 'berthd_ms'):.2f} ms | {median(large, 'server_ms'):.2f} ms | "
            f"{median(small, 'log_bytes'):,.0f} B | {median(large, 'log_bytes'):,.0f} B |")


def table(measured):
    """The last two columns are the bytes of the log on the small and on the large database."""
    return "\n".join([
        "| request | small | large | ratio | median | p99 | CPU of berthd | of the server | log, small | large |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(line_of(name, results) for name, results in measured)])
