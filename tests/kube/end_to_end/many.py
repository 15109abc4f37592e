"""Runs many deployments at once, on a simulated node (kwok) that only reports that its pods run."""
import collections
import concurrent.futures
import http.client
import json
import os
import pathlib
import secrets
import threading
import time
import unittest

from .berthd import PROGRAM, Berthd, Operator
from .cluster import Cluster, run
from .waiting import eventually

IMAGE = "docker.io/library/pretended:1"
CONNECTIONS = 8  # as many as berthd has workers
LIMIT = 900  # seconds for each step
SETTLE = 5  # seconds without a write, after which nothing more is expected
# Writes to the API server for each deployment: its three objects, a part of the app's five, and the app's quota, which is
# written for those deployments that are ordered while others are made. tests/kube/scale has a stricter goal.
MOST_WRITES = 4.3
MEMORY_GOAL_MB = 120


def operators_of(berthd, count):
    """Creates operators, each with an account and an app. This isn't measured."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda number: Operator(berthd, f"operator{number}"), range(count)))


def order_all(berthd, operators, each):
    """Orders all deployments, with as many connections as the bare client has."""
    orders = [(operator, f"scale-{number}-{i}") for i in range(each) for number, operator in enumerate(operators)]
    lock = threading.Lock()

    def work():
        connection = http.client.HTTPConnection(berthd.url.removeprefix("http://"), timeout=LIMIT)
        while True:
            with lock:
                if not orders:
                    return
                operator, name = orders.pop()
            body = json.dumps({"name": name, "image": IMAGE, "tier": "free"})
            connection.request("POST", "/api/deploy/apps", body, {"Content-Type": "application/json", **operator.token})
            answer = connection.getresponse()
            text = answer.read().decode()
            if answer.status != 201:
                raise RuntimeError(f"{name}: {answer.status} {text}")

    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        for done in [pool.submit(work) for _ in range(CONNECTIONS)]:
            done.result()


def metric(berthd, name, **labels):
    """Returns the sum of the metric's values with these labels."""
    total = 0.0
    for line in berthd.metrics().splitlines():
        family = line.split("{")[0].split(" ")[0]
        if family == name and all(f'{key}="{value}"' in line for key, value in labels.items()):
            total += float(line.split()[-1])
    return total


def process_figure(berthd, name):
    """Returns a figure of the process in MB."""
    for line in pathlib.Path(f"/proc/{berthd.process.pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(name)


def cpu_seconds(berthd):
    fields = pathlib.Path(f"/proc/{berthd.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def remove(cluster, instance):
    """Removes the instance's namespaces with all that is in them, and waits until they are gone."""
    cluster.kubectl("delete", "namespaces", "--wait=false", "-l", f"berth/instance={instance}", limit=LIMIT)
    eventually(lambda: not cluster.names("namespaces", "-l", f"berth/instance={instance}"), "the namespaces are gone", LIMIT,
               pause=2)


def run_bare(program, cluster, deployments, operators, verb):
    """Has the bare client (tests/bench/apply.cpp) create or apply what berthd makes for so many deployments, and removes it.
    Returns what the client measured."""
    instance = "bare-" + secrets.token_hex(4)
    keys = cluster.state / "pki"
    try:
        return json.loads(run(program, "https://127.0.0.1:6443", keys / "ca.crt", keys / "admin.crt", keys / "admin.key",
                              instance, IMAGE, operators, deployments // operators, CONNECTIONS, verb, limit=LIMIT))
    finally:
        remove(cluster, instance)


def settle(cluster):
    """Waits until berthd's writes have stopped arriving at the API server. Returns all that have arrived."""
    seen, since = cluster.writes(), time.monotonic()
    while time.monotonic() - since < SETTLE:
        time.sleep(0.5)
        now = cluster.writes()
        if len(now) != len(seen):
            seen, since = now, time.monotonic()
    return seen


def measure(berthd, cluster, deployments, operators):
    """Orders the deployments, waits until all of them run, and restarts berthd. Returns what that cost."""
    accounts = operators_of(berthd, operators)
    before, cpu_before = len(cluster.writes()), cpu_seconds(berthd)
    start = time.monotonic()
    order_all(berthd, accounts, deployments // operators)
    ordered = time.monotonic() - start
    eventually(lambda: metric(berthd, "berth_deployments", status="running") == deployments, "all of them run", LIMIT,
               seen=lambda: [line for line in berthd.metrics().splitlines() if line.startswith("berth_deployments")])
    running = time.monotonic() - start
    cpu = cpu_seconds(berthd) - cpu_before
    written = settle(cluster)[before:]
    result = {"ordered_s": ordered, "running_s": running, "cpu_s": cpu, "writes": len(written),
              "by_verb": collections.Counter(verb for verb, _, _ in written),
              "by_kind": collections.Counter(kind for _, kind, _ in written),
              "reads": metric(berthd, "rest_client_requests_total", method="GET"),
              "rss_mb": process_figure(berthd, "VmRSS"), "peak_mb": process_figure(berthd, "VmHWM")}
    result.update(restart(berthd, cluster, deployments))
    return result


def restart(berthd, cluster, deployments):
    before = len(cluster.writes())
    berthd.terminate()
    start = time.monotonic()
    berthd.start()
    eventually(lambda: metric(berthd, "controller_runtime_reconcile_total") >= deployments
               and metric(berthd, "workqueue_depth") == 0, "each deployment was looked at", LIMIT)
    looked = time.monotonic() - start
    after = settle(cluster)[before:]
    return {"restart_s": looked, "restart_writes": len(after) + int(berthd.write_requests()),
            "restart_reads": metric(berthd, "rest_client_requests_total", method="GET"),
            "restart_rss_mb": process_figure(berthd, "VmRSS"), "restart_peak_mb": process_figure(berthd, "VmHWM")}


class Many(unittest.TestCase):
    OPERATORS, DEPLOYMENTS = 5, 100
    BARE_DEPLOYMENTS = 10

    def test_many_deployments_and_a_restart(self):
        cluster = Cluster()
        cluster.start_part("kwok")
        self.addCleanup(cluster.stop_part, "kwok")
        # tests/kube/scale compares the two.
        bare = run_bare(pathlib.Path(PROGRAM).parent / "bench_apply", cluster, self.BARE_DEPLOYMENTS, self.OPERATORS, "create")
        self.assertGreaterEqual(bare["writes"], 3 * self.BARE_DEPLOYMENTS)
        with Berthd(cluster) as berthd:
            try:
                figures = measure(berthd, cluster, self.DEPLOYMENTS, self.OPERATORS)
            finally:
                berthd.kill()  # it would restore what is removed
                remove(cluster, berthd.instance())
        print(f"      {self.DEPLOYMENTS} deployments run after {figures['running_s']:.1f} s, {figures['writes']} writes, "
              f"{figures['peak_mb']:.0f} MB", flush=True)
        self.assertLessEqual(figures["writes"], MOST_WRITES * self.DEPLOYMENTS)
        self.assertEqual(figures["restart_writes"], 0)
        self.assertLess(max(figures["peak_mb"], figures["restart_peak_mb"]), MEMORY_GOAL_MB)
