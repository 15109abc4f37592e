"""Requests that don't end count for deployments with `scale` while they are open, on one machine: its kernel tells which
connections to containers are old."""
from end_to_end.autoscale import IN_FLIGHT, TIERS, Crowd, slow
from end_to_end.waiting import eventually
from end_to_end.world import World

WANTED = 3  # containers
LIMIT = 30  # seconds; a connection counts when it is five seconds old
OPEN = 25  # seconds for which each request is open


class Streams(World):
    flags = ("--tiers", TIERS)

    def test_open_requests_get_containers_before_they_end(self):
        live = self.ada.deploy("live", command=slow(OPEN), scale={"min": 1, "max": 5, "in_flight": IN_FLIGHT})
        self.ada.wait(live, "running")

        def number():
            return self.ada.ask("GET", f"/{live}")["scaled_to"]

        with Crowd("live", WANTED * IN_FLIGHT) as crowd:
            took = eventually(lambda: number() == WANTED, f"{WANTED} containers are wanted", LIMIT, seen=number)
            self.assertLess(took, OPEN)
        self.assertEqual(crowd.failures, [])
        self.ada.delete(live)
