"""What the benchmarks of fleets share: operators who order deployments of a berthd on the simulated cluster, and what
that costs the process."""
import concurrent.futures
import http.client
import json
import pathlib
import threading
import time

from common import Berthd

ORDER = {"image": "ghcr.io/acme/web:1", "tier": "free"}
TIERS = ("[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 50, monthly-cost-points: 0, "
         "max-deployments: 100000, auto-approve: true}]")


class Fleet(Berthd):
    def __init__(self, binary, directory, *flags):
        self.binary, self.flags = binary, ("--tiers", TIERS, *flags)
        super().__init__(binary, directory, "deploy:manage", *self.flags)

    def restart(self):
        """Starts berthd on what the last one left, which has ended. Returns the seconds until it says that it is ready."""
        began = time.monotonic()
        self.start(self.binary, self.directory, "--rate-limits", "off", *self.flags)
        return self.wait_until_answers() - began

    def operator(self, number):
        session, app = self.register(f"operator{number}", "deploy:manage")
        return Operator(self, self.token_of(session, app, "deploy:manage"))

    def metric(self, name, **labels):
        """Returns the sum of the metric's values with these labels."""
        connection = http.client.HTTPConnection(self.metrics_url.split("/")[2], timeout=60)
        connection.request("GET", "/metrics")
        total = 0.0
        for line in connection.getresponse().read().decode().splitlines():
            family = line.split("{")[0].split(" ")[0]
            if family == name and all(f'{key}="{value}"' in line for key, value in labels.items()):
                total += float(line.split()[-1])
        connection.close()
        return total

    def memory_mb(self, name="VmRSS"):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines()
                    if line.startswith(name + ":")) / 1024


class Operator:
    """One connection that acts for an operator's app."""

    def __init__(self, fleet, token):
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.connection = http.client.HTTPConnection(fleet.url.split("/")[2], timeout=600)

    def ask(self, method, path, body=None, expected=(200, 201)):
        self.connection.request(method, "/api/deploy/apps" + path,
                                None if body is None else json.dumps(body), self.headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status not in expected:
            raise RuntimeError(f"{method} {path}: {answer.status} {text}")
        return json.loads(text)

    def deploy(self, name):
        return self.ask("POST", "", {**ORDER, "name": name})["deployment"]["id"]


def in_parallel(operators, work):
    """Calls work(operator, index) for all of them at once, each on a thread of its own."""
    with concurrent.futures.ThreadPoolExecutor(len(operators)) as pool:
        for done in [pool.submit(work, one, i) for i, one in enumerate(operators)]:
            done.result()
