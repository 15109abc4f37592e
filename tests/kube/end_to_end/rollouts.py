"""Tests of new versions, restarts and rollbacks. The app's visitors must notice nothing but the new page."""
import time

from .cluster import REGISTRY, serves
from .visitors import Visitors
from .waiting import eventually
from .world import World

FIRST, SECOND = "hello from a real container", "hello from the second version"
DRAINED = 8        # seconds: preStop's, and some more, until the old container's end would be noticed
MEASURED = 120  # seconds; metrics-server measures every 15, and needs two measurements of a new pod


class Rollouts(World):
    flags = ("--traefik-metrics-url", "http://127.0.0.1:8082/metrics")

    def deployed(self, name, **more):
        deployment = self.ada.deploy(name, **more)
        self.addCleanup(self.ada.delete, deployment)
        self.ada.wait(deployment, "running")
        serves(name, FIRST)
        return deployment

    def change(self, deployment, **what):
        self.ada.ask("PATCH", f"/{deployment}", what)

    def roll_back(self, deployment, **to):
        return self.ada.ask("POST", f"/{deployment}/rollback", to)

    def settled(self, deployment, action):
        """Runs the action and waits until nothing is left of the previous container. Returns how many seconds that
        took."""
        before = self.cluster.pods(deployment)
        action()
        took = eventually(lambda: self.is_well(deployment) and self.cluster.pods(deployment) != before,
                          "the rollout is complete", 120, seen=lambda: self.ada.status(deployment))
        time.sleep(DRAINED)
        return took

    def is_well(self, deployment):
        seen = self.ada.status(deployment)
        return seen["status"] == "running" and seen["reason"] is None

    def logged(self, deployment):
        return self.ada.ask("GET", f"/{deployment}/logs")["logs"]

    def test_01_restart_change_and_rollback_drop_no_request(self):
        shop = self.deployed("smooth")
        with Visitors("smooth") as visitors:
            took = [self.settled(shop, lambda: self.ada.restart(shop)),
                    self.settled(shop, lambda: self.change(shop, image=f"{REGISTRY}/hello:2")),
                    self.settled(shop, lambda: self.roll_back(shop)),
                    self.settled(shop, lambda: self.change(shop, env_vars={"COLOR": "red"}, health_path="/"))]
        print(f"      rollouts took {', '.join(f'{seconds:.1f} s' for seconds in took)}", flush=True)
        visitors.check(self, FIRST, SECOND)
        ended = [entry for entry in self.logged(shop) if "duration_seconds" in (entry["details"] or {})]
        self.assertEqual([entry["details"]["kind"] for entry in ended], ["create", "restart", "patch", "rollback", "patch"])
        for entry in ended:
            self.assertEqual(entry["status"], "succeeded")
            self.assertIsNotNone(entry["initiated_by"])
            self.assertRegex(entry["details"]["image_digest"], "hello@sha256:[0-9a-f]{64}$")
        self.assertNotEqual(ended[2]["details"]["image_digest"], ended[3]["details"]["image_digest"])
        self.assertRegex(self.ada.ask("GET", f"/{shop}")["container_image"], "hello:1@sha256:[0-9a-f]{64}$")

    def test_08_a_container_gets_its_command_and_arguments_exactly(self):
        shop = self.deployed("words")
        # The shell's $0 and $@ are the arguments, and the page is what it got.
        write = "mkdir /tmp/www; printf '<%s>' \"$0\" \"$@\" >/tmp/www/index.html; echo >>/tmp/www/index.html"
        serve = "trap 'exit 0' TERM; /bin/busybox httpd -f -h /tmp/www -p 3000 & wait"
        arguments = ["$(PORT)", "$$", "$HOME", "two  words", "a\nline", "", "'\"\\", "ä"]
        self.settled(shop, lambda: self.change(shop, command=["/bin/busybox", "sh", "-c", f"{write}; {serve}"],
                                               args=arguments))
        serves("words", "".join(f"<{argument}>" for argument in arguments))
        self.settled(shop, lambda: self.change(shop, args=["other"]))
        serves("words", "<other>")
        self.settled(shop, lambda: self.change(shop, command=None, args=[]))
        serves("words", FIRST)
        self.settled(shop, lambda: self.roll_back(shop))
        serves("words", "<other>")

    def check_broken(self, name, image, cause):
        shop = self.deployed(name)
        with Visitors(name) as visitors:
            self.change(shop, image=f"{REGISTRY}/{image}")
            eventually(lambda: self.ada.status(shop)["reason"] == "rollout_failed", "the rollout has failed", 60,
                       seen=lambda: self.ada.status(shop))
            seen = self.ada.status(shop)
            time.sleep(DRAINED)
            self.roll_back(shop)
            eventually(lambda: self.is_well(shop), "it is rolled back", 120, seen=lambda: self.ada.status(shop))
            time.sleep(DRAINED)
        visitors.check(self, FIRST)
        self.assertEqual(seen["status"], "running")
        self.assertEqual(seen["cause"], cause)
        self.assertEqual(seen["health_status"], "healthy")
        self.assertTrue(seen["message"])
        failed = [entry for entry in self.logged(shop) if entry["status"] == "failed"]
        self.assertEqual(failed[0]["details"]["cause"], cause)
        self.assertEqual(failed[0]["details"]["kind"], "patch")

    def test_02_an_image_that_crashes_takes_nothing_down(self):
        self.check_broken("crashing", "crash:1", "crash_loop")

    def test_03_an_image_that_is_missing_takes_nothing_down(self):
        self.check_broken("lost", "missing:1", "image_pull_failed")

    def test_04_an_image_that_listens_elsewhere_takes_nothing_down(self):
        self.check_broken("deaf", "wrong-port:1", "port_not_listening")

    def test_05_the_health_of_the_running_container_is_shown(self):
        shop = self.deployed("healthy")
        first = self.ada.status(shop)
        self.assertEqual(first["health_status"], "healthy")
        eventually(lambda: self.ada.status(shop)["last_health_check"] > first["last_health_check"], "it is checked again", 10,
                   seen=lambda: self.ada.status(shop))

    def test_06_metrics(self):
        shop = self.deployed("measured")

        def metrics():
            return self.ada.ask("GET", f"/{shop}/metrics")

        before = metrics()
        self.assertEqual(before["restarts"], 0)
        for _ in range(50):
            serves("measured", FIRST)
        eventually(lambda: metrics()["requests"] >= before["requests"] + 50, "requests are counted", 30, seen=metrics)
        eventually(lambda: metrics()["memory"], "memory is measured", MEASURED, seen=metrics)
        self.assertGreater(metrics()["memory"], 100_000)
        self.assertGreaterEqual(metrics()["cpu"], 0)
        print(f"      {metrics()}", flush=True)

    def test_07_changes_in_the_middle_of_another_drop_no_request(self):
        """This holds too if the serving container has just started and isn't "available" yet."""
        shop = self.deployed("hasty")
        with Visitors("hasty") as visitors:
            self.change(shop, image=f"{REGISTRY}/hello:2")
            time.sleep(1)
            self.change(shop, env_vars={"COLOR": "red"})
            time.sleep(1)
            self.settled(shop, lambda: self.ada.restart(shop))
            self.settled(shop, lambda: self.change(shop, image=f"{REGISTRY}/wrong-port:1", port=3999))
        visitors.check(self, FIRST, SECOND)
