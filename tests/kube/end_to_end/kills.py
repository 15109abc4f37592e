"""berthd is killed at random moments of a deployment's life; in the end all is as it was told."""
import os
import random
import threading
import time

from .berthd import NoAnswer
from .cluster import page, serves
from .waiting import eventually
from .world import World

ROUNDS = 5
LONGEST = 12.0  # the longest time until the kill, in seconds
STEPS = (("create", "running"), ("stop", "stopped"), ("restart", "running"), ("destroy", "destroyed"))


class Kills(World):
    def take(self, step):
        if step == "create":
            self.shop = self.ada.deploy("mortal")
        elif step == "destroy":
            self.ada.delete(self.shop)
        else:
            self.ada.ask("POST", f"/{self.shop}/{step}", {})

    def await_status(self, status):
        self.ada.wait(self.shop, status)
        if status == "running":
            serves("mortal", "hello from a real container")
        else:
            eventually(lambda: page("mortal")[0] != 200, "its page is gone", 60)
            eventually(lambda: not self.cluster.of_deployment(self.shop, "pods"), "no pod is left", 60)

    def live(self, chance):
        """Step after step until berthd is gone; how many were answered."""
        answered = 0
        try:
            for step, status in STEPS:
                self.take(step)
                answered += 1
                if chance.random() < 0.5:
                    self.await_status(status)
                else:
                    time.sleep(chance.uniform(0, 2))
        except NoAnswer:
            pass
        return answered

    def steps_taken(self, earlier):
        """By berthd's own record, which may hold one whose answer was lost."""
        living = self.ada.ask("GET")["deployments"]
        if self.shop is None and living:
            self.shop = living[0]["id"]
        if self.shop is None:
            return 0
        self.assertNotIn(self.shop, earlier)
        actions = [entry["action"] for entry in self.ada.ask("GET", f"/{self.shop}/logs")["logs"] if entry["action"] != "deploy"]
        self.assertEqual(actions, [step for step, _ in STEPS][:len(actions)])
        return len(actions)

    def test_kills_at_random_moments(self):
        seed = int(os.environ.get("BERTH_SEED") or random.SystemRandom().randrange(1 << 31))
        print(f"      BERTH_SEED={seed}", flush=True)
        chance = random.Random(seed)
        earlier = set()
        for number in range(ROUNDS):
            moment = chance.uniform(0, LONGEST)
            with self.subTest(round=number, killed_after=moment):
                self.one_round(moment, chance, earlier)
        instance = self.berthd.instance()
        eventually(lambda: not self.cluster.of_instance(instance), "nothing is left", 90,
                   seen=lambda: self.cluster.of_instance(instance))

    def one_round(self, moment, chance, earlier):
        self.shop = None
        killer = threading.Timer(moment, self.berthd.kill)
        killer.start()
        try:
            answered = self.live(chance)
        finally:
            killer.join()
        self.berthd.start()
        taken = self.steps_taken(earlier)
        self.assertIn(taken, (answered, answered + 1))
        if taken > 0:
            self.await_status(STEPS[taken - 1][1])
        for step, status in STEPS[taken:]:
            self.take(step)
            self.await_status(status)
        earlier.add(self.shop)
        eventually(lambda: not self.cluster.of_deployment(self.shop), "nothing is left of it", 90,
                   seen=lambda: self.cluster.of_deployment(self.shop))
