"""Runs: commands that a deployment runs once, release commands and crons, over kills of berthd and of the cluster's parts."""
import datetime
import os
import random
import time

from .berthd import NoAnswer
from .cluster import REGISTRY, page, serves
from .waiting import eventually
from .world import World

SHELL = ("/bin/busybox", "sh", "-c")
# A web server that writes each request into its log.
COUNTER = (*SHELL, "mkdir -p /tmp/www && exec /bin/busybox httpd -f -vv -p 3000 -h /tmp/www")
LATEST = 2  # seconds after its minute, until a cron's run is made
KILLS = 5  # of berthd in each round of releases
RELEASE_TAKES = 12  # seconds
LONG = 120  # seconds: what waits for containers while everything restarts


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


class Jobs(World):
    parts = ("controller-manager",)  # of the cluster, which are restarted
    rounds = 3  # of releases, while berthd is killed
    minutes = 3  # in which a cron runs, at least

    def run_command(self, deployment, *command, **more):
        """Starts a run. Returns its id."""
        return self.ada.ask("POST", f"/{deployment}/runs", {"command": list(command), **more})["run"]["id"]

    def run_of(self, deployment, run):
        return self.ada.ask("GET", f"/{deployment}/runs/{run}")["run"]

    def runs(self, deployment):
        return self.ada.ask("GET", f"/{deployment}/runs")["runs"]

    def log_of(self, deployment, run):
        return self.ada.ask("GET", f"/{deployment}/runs/{run}/logs")

    def ended(self, deployment, run, status, limit=LONG):
        """Waits until the run is over. Returns it."""
        eventually(lambda: self.run_of(deployment, run)["status"] not in ("pending", "running"), "it is over", limit,
                   seen=lambda: self.run_of(deployment, run))
        seen = self.run_of(deployment, run)
        self.assertEqual(seen["status"], status, seen)
        return seen

    def nothing_is_left(self, deployment):
        eventually(lambda: not self.cluster.list("jobs.batch,pods", "-l", f"berth/deployment={deployment},berth/run"),
                   "nothing of its runs is left", LONG)

    def change(self, deployment, **fields):
        self.ada.ask("PATCH", f"/{deployment}", fields)

    def new_counter(self, name):
        """Creates a deployment that counts requests. Returns it and the URL by which other pods of the app reach it."""
        counter = self.ada.deploy(name, command=list(COUNTER))
        self.ada.wait(counter, "running")
        pod = self.cluster.list("pods", "-l", f"berth/deployment={counter}")[0]
        return counter, f"http://{pod['status']['podIP']}:3000"

    def counted(self, counter, word):
        lines = self.ada.ask("GET", f"/{counter}/container-logs?tail=10000").splitlines()
        return sum(line.rstrip().endswith(f"url:/{word}") for line in lines)

    def test_1_a_command_ends_with_its_exit_code_and_its_log_is_kept(self):
        shop = self.ada.deploy("commands", env_vars={"COLOR": "blue"})
        self.ada.wait(shop, "running")
        good = self.run_command(shop, *SHELL, "echo it is $COLOR; id -u")
        self.assertEqual(self.ended(shop, good, "succeeded")["exit_code"], 0)
        self.assertEqual(self.log_of(shop, good), "it is blue\n1000\n")
        bad = self.ended(shop, self.run_command(shop, *SHELL, "echo no such table >&2; exit 3"), "failed")
        self.assertEqual((bad["exit_code"], bad["reason"]), (3, "command_failed"))
        self.assertIn("no such table", bad["message"])
        missing = self.ended(shop, self.run_command(shop, "/bin/nothing"), "failed")
        self.assertEqual(missing["reason"], "not_started")
        greedy = self.ended(shop, self.run_command(shop, "/bin/busybox", "tail", "/dev/zero"), "failed")
        self.assertEqual(greedy["reason"], "out_of_memory")
        late = self.run_command(shop, *SHELL, "echo begun; sleep 1000", timeout_seconds=5)
        self.assertEqual(self.ended(shop, late, "failed")["reason"], "timed_out")
        self.assertEqual(self.log_of(shop, late), "begun\n")
        self.nothing_is_left(shop)
        self.assertEqual(self.ada.status(shop)["status"], "running")
        self.ada.delete(shop)

    def test_2_a_command_that_is_cancelled_ends(self):
        shop = self.ada.deploy("cancelled")
        self.ada.wait(shop, "running")
        run = self.run_command(shop, *SHELL, "echo begun; sleep 1000")
        eventually(lambda: self.run_of(shop, run)["status"] == "running", "it runs", LONG, seen=lambda: self.run_of(shop, run))
        self.ada.ask("DELETE", f"/{shop}/runs/{run}")
        self.assertEqual(self.run_of(shop, run)["status"], "cancelled")
        self.nothing_is_left(shop)
        self.assertEqual(self.log_of(shop, run), "begun\n")
        self.ada.delete(shop)

    def test_3_a_release_that_fails_keeps_the_old_version(self):
        shop = self.ada.deploy("released", env_vars={"COLOR": "blue"})
        self.ada.wait(shop, "running")
        self.change(shop, image=f"{REGISTRY}/hello:2", env_vars={"COLOR": "red"},
                    release_command=[*SHELL, "echo $COLOR has no table; exit 1"])
        eventually(lambda: self.ada.status(shop)["reason"] == "release_failed", "the release has failed", LONG,
                   seen=lambda: self.ada.status(shop))
        self.assertEqual(self.ada.status(shop)["status"], "running")
        serves("released", "hello from a real container")
        release = self.runs(shop)[0]
        self.assertEqual((release["kind"], release["exit_code"]), ("release", 1))
        self.assertEqual(self.log_of(shop, release["id"]), "red has no table\n")
        # What runs wasn't replaced, and starts with the variables that it had.
        self.assertEqual(len(self.cluster.pods(shop)), 1)
        self.change(shop, release_command=[*SHELL, "exit 0"])
        self.ada.restart(shop)
        serves("released", "hello from the second version")
        self.nothing_is_left(shop)
        self.ada.delete(shop)

    def test_4_a_release_command_runs_once_over_kills_of_berthd(self):
        seed = int(os.environ.get("BERTH_SEED") or random.SystemRandom().randrange(1 << 31))
        print(f"      BERTH_SEED={seed}", flush=True)
        chance = random.Random(seed)
        counter, url = self.new_counter("counter")
        shop = self.ada.deploy("migrated")
        self.ada.wait(shop, "running")
        ask = "/bin/busybox wget -q -O /dev/null {}/{} || true; "
        for number in range(self.rounds):
            begun, done = f"begun-{number}", f"done-{number}"
            self.change(shop, env_vars={"ROUND": str(number)}, release_command=[
                *SHELL, ask.format(url, begun) + f"sleep {RELEASE_TAKES}; " + ask.format(url, done)])
            for _ in range(KILLS):
                time.sleep(chance.uniform(0, 1.5 * RELEASE_TAKES / KILLS))
                self.berthd.kill()
                self.berthd.start()
            through = lambda: [run for run in self.runs(shop) if (run["kind"], run["status"]) == ("release", "succeeded")]  # noqa: E731
            eventually(lambda: len(through()) == number + 1, "the release is through", LONG, seen=lambda: self.runs(shop)[:2])
            eventually(lambda: self.ada.status(shop)["status"] == "running", "it runs", LONG, seen=lambda: self.ada.status(shop))
            self.assertEqual((self.counted(counter, begun), self.counted(counter, done)), (1, 1), self.runs(shop)[:3])
        self.assertEqual(len([run for run in self.runs(shop) if run["kind"] == "release"]), self.rounds)
        self.nothing_is_left(shop)
        self.ada.delete(shop)
        self.ada.delete(counter)

    def test_5_a_cron_runs_each_minute_over_restarts(self):
        counter, url = self.new_counter("clock")
        shop = self.ada.deploy("minutely", crons=[
            {"name": "tick", "schedule": "* * * * *", "command": [*SHELL, f"/bin/busybox wget -q -O /dev/null {url}/tick || true"]}])
        self.ada.wait(shop, "running")

        def ticks():
            try:
                return [run for run in self.runs(shop) if run["kind"] == "cron" and run["status"] == "succeeded"]
            except NoAnswer:
                return []
        eventually(lambda: len(ticks()) >= 1, "it has run", 3 * 60, seen=ticks)
        self.restart_parts()
        known = len(ticks())
        eventually(lambda: len(ticks()) >= max(known + 2, self.minutes), "it runs on", (self.minutes + 1) * 60, seen=ticks)
        minutes = sorted(moment(run["scheduled_at"]) for run in ticks())
        self.assertEqual(len(minutes), len(set(minutes)), "no minute has two runs")
        self.assertEqual({later - earlier for earlier, later in zip(minutes, minutes[1:])}, {datetime.timedelta(minutes=1)})
        # The last ones weren't disturbed by a restart.
        for run in sorted(ticks(), key=lambda one: one["scheduled_at"])[-2:]:
            made = (moment(run["inserted_at"]) - moment(run["scheduled_at"])).total_seconds()
            self.assertLessEqual(made, LATEST, run)
        self.change(shop, crons=[])
        self.nothing_is_left(shop)
        runs = len([run for run in self.runs(shop) if run["kind"] == "cron" and run["started_at"]])
        self.assertEqual(self.counted(counter, "tick"), runs)
        self.ada.delete(shop)
        self.ada.delete(counter)

    def restart_parts(self):
        for part in self.parts:
            self.cluster.stop_part(part)
        self.berthd.kill()
        self.berthd.start()
        for part in self.parts:
            self.cluster.start_part(part)

    def test_6_a_deployment_that_is_deleted_takes_its_runs_with_it(self):
        shop = self.ada.deploy("short-lived")
        self.ada.wait(shop, "running")
        run = self.run_command(shop, *SHELL, "sleep 1000")
        eventually(lambda: self.run_of(shop, run)["status"] == "running", "it runs", LONG)
        self.ada.delete(shop)
        eventually(lambda: page("short-lived")[0] != 200, "the ingress controller has heard of it", LONG)
        eventually(lambda: not self.cluster.of_deployment(shop), "nothing is left of it", 90,
                   seen=lambda: self.cluster.of_deployment(shop))
