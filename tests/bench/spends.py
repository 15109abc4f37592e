"""Spends of points over HTTP, by wrk."""
import dataclasses
import itertools
import json
import os
import re
import urllib.request

from common import HERE, START_SECONDS, fail, latency_ms, output_of

POINTS = 2 ** 52
runs = itertools.count()


@dataclasses.dataclass
class Measured:
    rate: float
    median_ms: float
    slowest_ms: float  # without the slowest one in a hundred
    group: float  # writes per commit


def token_with_points(berthd):
    """Returns a token with which the owner of berthd's app spends; that user is given more points than a run needs."""
    token = berthd.access_token()
    user = berthd.call("GET", "/api/auth/me", token=berthd.session)["user"]["id"]
    berthd.call("POST", "/api/internal/points/mint", {
        "account": {"kind": "user", "id": user}, "amount": POINTS, "reason": "benchmark"})
    return token


def counter(berthd, name):
    with urllib.request.urlopen(berthd.metrics_url, timeout=START_SECONDS) as answer:
        return float(re.search(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE).group(1))


def spend_over_http(berthd, token, connections, seconds):
    counters = ("berth_database_commits_total", "berth_database_writes_total")
    before = [counter(berthd, name) for name in counters]
    text = output_of(
        "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", HERE / "spend.lua",
        "-H", f"Authorization: Bearer {token}", berthd.url + "/api/external/points/spend",
        env={**os.environ, "KEYS": f"run{next(runs)}-",
             "BODY": json.dumps({"amount": 1, "description": "benchmark"})})
    if "Non-2xx" in text or "Socket errors" in text:
        fail("spends were not answered well:\n" + text)
    commits, writes = (counter(berthd, name) - old for name, old in zip(counters, before))
    return Measured(rate=float(re.search(r"Requests/sec:\s*([\d.]+)", text).group(1)),
                    median_ms=latency_ms(text, "50%"), slowest_ms=latency_ms(text, "99%"),
                    group=writes / commits)
