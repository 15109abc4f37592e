"""Deployments with `scale` get containers by the requests in flight, which the ingress controller's counters tell: Traefik's
on a cluster, Caddy's log on one machine (tests/local/e2e)."""
import http.client
import threading
import time

from .berthd import PATIENCE
from .cluster import INGRESS
from .waiting import eventually
from .world import World

# Of tests/metering, whose folder cluster.py adds to the path.
from compare import START_SECONDS, check_charges
from records import charges_of, intervals_of, open_runs

TIERS = ("[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 200, monthly-cost-points: 0, max-deployments: 1000, "
         "max-replicas: 5, custom-domain: true, auto-approve: true}]")
POINTS_PER_HOUR = 3600  # a point a second
METERED = {"name": "Metered", "slug": "metered", "memory_limit_mb": 64, "cpu_limit_millicores": 200, "monthly_cost_points": 0,
           "points_per_hour": POINTS_PER_HOUR, "max_replicas": 5, "auto_approve": True}
GIVEN = 10**9  # points of the app
SECONDS = 1  # that an answer takes
IN_FLIGHT = 4  # requests that one container is to have at most
MOST = 5  # containers
VISITORS = MOST * IN_FLIGHT
LIMIT = 30  # seconds until there are as many containers as the visitors need
QUIET = 30  # seconds; the means of the requests in flight go back a minute
GONE = 60 + QUIET + 60  # seconds until the containers are gone again
ANSWER_LIMIT = 60  # seconds: while there are too few containers, visitors wait


def slow(seconds=SECONDS):
    """Returns the command of a container that answers after so many seconds, and many requests at once: each connection has a
    process."""
    serve = ("""r=$(printf '\\r'); while read -r line && [ "$line" != "$r" ]; do :; done; """
             f"sleep {seconds}; "
             """printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\nConnection: close\\r\\n\\r\\nok\\n'""")
    # The first process of a container has to handle SIGTERM, or it is killed after its grace period.
    server = 'trap "exit 0" TERM; /bin/busybox nc -ll -p 3000 -e /bin/busybox sh -c "$0" & wait'
    return ["/bin/busybox", "sh", "-c", server, serve]


class Crowd:
    """Visitors who all wait for an answer, each on a connection of its own, and ask again as soon as they have one."""

    def __init__(self, name, visitors=VISITORS):
        self.host = f"{name}.apps.localhost"
        self.over = threading.Event()
        self.failures = []
        self.threads = [threading.Thread(target=self.run) for _ in range(visitors)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def run(self):
        while not self.over.is_set():
            connection = http.client.HTTPConnection(*INGRESS, timeout=ANSWER_LIMIT)
            try:
                connection.request("GET", "/", headers={"Host": self.host})
                answer = connection.getresponse()
                if answer.status != 200 or answer.read() != b"ok\n":
                    self.failures.append(f"{answer.status}")
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
            finally:
                connection.close()


def answers(name):
    """Whether the ingress controller knows the app, and its container answers."""
    connection = http.client.HTTPConnection(*INGRESS, timeout=ANSWER_LIMIT)
    try:
        connection.request("GET", "/", headers={"Host": f"{name}.apps.localhost"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Autoscale(World):
    flags = ("--tiers", TIERS, "--scale-down-after", f"{QUIET}s", "--traefik-metrics-url", "http://127.0.0.1:8082/metrics")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.berthd.as_admin("POST", "/api/internal/deploy/tiers", METERED)
        app = {"kind": "app", "id": cls.ada.app["id"]}
        cls.berthd.as_admin("POST", "/api/internal/points/mint", {"account": app, "amount": GIVEN, "reason": "test"})

    def number(self, deployment):
        return self.ada.ask("GET", f"/{deployment}")["scaled_to"]

    def ready(self, deployment):
        return sum(one["ready"] for one in self.ada.ask("GET", f"/{deployment}/instances")["instances"])

    def seen(self, deployment):
        return {"wanted": self.number(deployment), "ready": self.ready(deployment),
                "metrics": self.ada.ask("GET", f"/{deployment}/metrics")}

    def entries(self, deployment):
        return [entry["details"] for entry in self.ada.ask("GET", f"/{deployment}/logs")["logs"]
                if (entry["details"] or {}).get("kind") == "scale"]

    def test_01_a_crowd_gets_containers_which_go_when_it_has_gone(self):
        with self.cluster.watched_runs() as runs:
            busy = self.ada.deploy("busy", tier=METERED["slug"], command=slow(),
                                   scale={"min": 1, "max": MOST, "in_flight": IN_FLIGHT})
            self.meet_a_crowd(busy)
            self.ada.delete(busy)
            eventually(lambda: all(ended for _, ended in runs(busy)), "no container is left", PATIENCE,
                       seen=lambda: runs(busy))
            self.check_charges(busy, runs)

    def meet_a_crowd(self, busy):
        self.ada.wait(busy, "running")
        self.assertEqual((self.number(busy), self.ready(busy)), (1, 1))
        eventually(lambda: answers("busy"), "the app is served", LIMIT)
        with Crowd("busy") as crowd:
            took = eventually(lambda: self.ready(busy) == MOST, f"{MOST} containers serve", LIMIT,
                              seen=lambda: self.seen(busy))
            print(f"      {MOST} containers after {took:.1f} s", flush=True)
            in_flight = self.ada.ask("GET", f"/{busy}/metrics")["in_flight"]
            self.assertGreater(in_flight, VISITORS / 2)
            # Another berthd begins with the number that is stored.
            self.berthd.kill()
            self.berthd.start()
            self.assertEqual(self.number(busy), MOST)
            time.sleep(QUIET / 2)
            self.assertEqual(self.number(busy), MOST)
        began = time.monotonic()
        eventually(lambda: self.number(busy) == 1, "one container is wanted", GONE, seen=lambda: self.seen(busy))
        self.assertGreater(time.monotonic() - began, QUIET)
        eventually(lambda: self.ready(busy) == 1, "one container is left", LIMIT, seen=lambda: self.seen(busy))
        self.assertEqual(crowd.failures, [])
        entries = self.entries(busy)
        self.assertEqual(entries[0]["from"], 1)
        self.assertLessEqual(len(entries), 6)

    def charges(self):
        return charges_of(self.berthd.data, GIVEN)

    def is_settled(self):
        return open_runs(self.berthd.data) == 0 and not check_charges(self.charges(), POINTS_PER_HOUR)

    def check_charges(self, deployment, runs):
        """Compares what is metered and charged with what ran, when everything has ended."""
        eventually(self.is_settled, "what was metered is charged", PATIENCE, seen=self.charges)
        metered = [(one.started, one.ended) for one in intervals_of(self.berthd.data).values() if one.deployment == deployment]
        ran = runs(deployment)
        print(f"      {len(ran)} containers ran {sum(end - start for start, end in ran):.1f} s and are metered for "
              f"{sum(end - start for start, end in metered):.1f} s, {self.charges()[self.ada.app['id']][1]} points", flush=True)
        self.assertEqual(len(metered), len(ran))
        for ours, theirs in zip(zip(*metered), zip(*ran)):  # all starts, all ends
            for one, other in zip(sorted(ours), sorted(theirs)):
                self.assertAlmostEqual(one, other, delta=START_SECONDS)

    def test_02_a_number_replaces_the_scale_and_the_other_way_round(self):
        calm = self.ada.deploy("calm", scale={"min": 2, "max": MOST, "in_flight": IN_FLIGHT})
        self.ada.wait(calm, "running")
        eventually(lambda: self.ready(calm) == 2, "two containers serve", LIMIT, seen=lambda: self.seen(calm))
        self.ada.ask("PATCH", f"/{calm}", {"scale": None, "replicas": 1})
        self.assertIsNone(self.number(calm))
        eventually(lambda: self.ready(calm) == 1, "one container is left", LIMIT, seen=lambda: self.seen(calm))
        self.ada.ask("PATCH", f"/{calm}", {"scale": {"min": 3, "max": MOST, "in_flight": IN_FLIGHT}})
        eventually(lambda: self.ready(calm) == 3, "three containers serve", LIMIT, seen=lambda: self.seen(calm))
        self.ada.delete(calm)
