"""What fails in a round, and how long no write was answered because of it."""
import contextlib
import dataclasses
import random
import signal
import time

from cluster import send, wait_until

ANSWERED_SECONDS = 180  # until a write is answered again, in the worst of rounds
QUIET = 2  # seconds in which writes have to be answered before a round begins, and after it


@dataclasses.dataclass
class Round:
    number: int
    fault: str
    began: float
    ended: float = 0
    gap: float = 0  # the longest time without an answered write, in seconds
    gap_of_one: float = 0  # the same, of writes that one of the berthd answered that wasn't ended


@contextlib.contextmanager
def stopped(pids):
    """The processes go on at the end, whatever happens meanwhile."""
    send(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        send(pids, signal.SIGCONT)


class Nemesis:
    def __init__(self, cluster, fleet, desk, seed):
        self.cluster, self.fleet, self.desk, self.random = cluster, fleet, desk, random.Random(seed)
        self.rounds = []
        self.faults = [
            self.primary_dies, self.server_of_the_primary_is_killed, self.primary_is_stopped,
            self.server_of_the_primary_is_stopped, self.primary_is_cut_off, self.clients_are_cut_off,
            self.primary_is_stopped_for_a_moment, self.synchronous_standby_dies, self.an_etcd_dies, self.a_berthd_dies,
            self.primary_and_a_berthd_die, self.standby_dies_and_then_the_primary, self.primary_is_replaced]

    def run(self, count, only, minutes):
        """Ends after that many rounds, or minutes."""
        end = time.monotonic() + minutes * 60
        chosen = [fault for fault in self.faults if only in fault.__name__]
        order = []
        for number in range(1, count + 1):
            if not order:
                order = self.random.sample(chosen, len(chosen))
            fault = order.pop()
            self.wait_until_sound()
            one = Round(number, fault.__name__.replace("_", " "), time.monotonic())
            self.rounds.append(one)
            try:
                fault()
            finally:
                self.wait_until_answered()
            one.ended = time.monotonic()
            print(f"round {number}: {one.fault}, {one.ended - one.began:.0f} s", flush=True)
            if self.desk.violations:
                return
            if time.monotonic() > end:
                break
        self.wait_until_sound()

    def wait_until_sound(self):
        self.cluster.wait_until_whole()
        self.wait_until_answered()
        time.sleep(QUIET)

    def wait_until_answered(self):
        """Waits until writes are answered that are asked for after this."""
        for _ in range(2):
            began = time.monotonic() + 0.5
            wait_until(lambda: self.desk.last_answered > began or self.desk.violations, "no write was answered",
                       ANSWERED_SECONDS)

    def wait_for_another_leader(self, old):
        """A node that died is still called the leader until it is replaced."""
        wait_until(lambda: self.cluster.node_of_role("leader") not in (None, old), "no other node leads")
        self.wait_until_answered()

    def primary_dies(self):
        """Together with its Patroni, as when the machine fails."""
        leader = self.cluster.leader()
        leader.kill()
        self.wait_for_another_leader(leader)
        leader.start()

    def server_of_the_primary_is_killed(self):
        """Patroni starts it again."""
        self.cluster.leader().kill_server()

    def primary_is_stopped(self):
        """As a virtual machine that is paused, and goes on after another node has taken over."""
        leader = self.cluster.leader()
        with stopped(leader.processes()):
            self.wait_for_another_leader(leader)

    def primary_is_stopped_for_a_moment(self):
        with stopped(self.cluster.leader().processes()):
            time.sleep(self.random.uniform(1, 9))

    def server_of_the_primary_is_stopped(self):
        """But Patroni runs."""
        leader = self.cluster.leader()
        with stopped(leader.server_processes()):
            self.wait_for_another_leader(leader)

    def primary_is_cut_off(self):
        """From everything: packets are dropped."""
        leader = self.cluster.leader()
        self.cluster.links.become(leader.all_links, "hangs")
        try:
            self.wait_for_another_leader(leader)
        finally:
            self.cluster.links.become(leader.all_links, "passes")

    def clients_are_cut_off(self):
        """The primary goes on, but no berthd reaches it for a while."""
        links = self.cluster.leader().links_of_clients
        self.cluster.links.become(links, self.random.choice(["hangs", "refuses"]))
        time.sleep(self.random.uniform(1, 9))
        self.cluster.links.become(links, "passes")

    def synchronous_standby_dies(self):
        standby = self.cluster.synchronous_standby()
        standby.kill()
        self.wait_until_answered()
        standby.start()

    def an_etcd_dies(self):
        etcd = self.random.choice(self.cluster.etcds)
        etcd.kill()
        time.sleep(self.random.uniform(3, 8))
        etcd.start()

    def a_berthd_dies(self):
        berthd = self.random.choice(self.fleet)
        berthd.kill()
        time.sleep(self.random.uniform(0, 3))
        berthd.start_again()

    def primary_and_a_berthd_die(self):
        leader, berthd = self.cluster.leader(), self.random.choice(self.fleet)
        berthd.kill()
        leader.kill()
        self.wait_for_another_leader(leader)
        berthd.start_again()
        leader.start()

    def standby_dies_and_then_the_primary(self):
        """The standby comes back first. If it was still the synchronous one, it takes over, since it had all that was
        answered, and what the primary stored without it was answered to nobody and is lost. If the primary was just
        replacing it, Patroni lets nobody take over, and the primary has to come back."""
        leader, standby = self.cluster.leader(), self.cluster.synchronous_standby()
        standby.kill()
        time.sleep(self.random.uniform(0, 4))
        leader.kill()
        standby.start()
        time.sleep(self.random.uniform(20, 40))
        leader.start()
        self.wait_until_answered()

    def primary_is_replaced(self):
        """As for maintenance."""
        leader = self.cluster.leader()
        leader.ask("/switchover", {"leader": leader.name}, ANSWERED_SECONDS)
        wait_until(lambda: self.cluster.node_of_role("leader") not in (None, leader), "no other node leads")


def measure(rounds, log, fleet_size):
    """Sets the gaps of the rounds from the log."""
    writes = sorted((entry["return"] / 1e9, entry["berthd"]) for entry in log
                    if entry["kind"] not in ("open", "read") and entry["status"] == "ok")
    for one, following in zip(rounds, rounds[1:] + [None]):
        end = following.began if following else one.ended

        def longest(times):
            before = max((time for time in times if time <= one.began), default=one.began)
            # What comes after the end is the next round's.
            inside = [before] + [time for time in times if one.began < time < end] + [end]
            return max((b - a for a, b in zip(inside, inside[1:])), default=0)

        one.gap = longest([time for time, _ in writes])
        if "berthd" not in one.fault:
            one.gap_of_one = max(longest([time for time, berthd in writes if berthd == number])
                                 for number in range(fleet_size))


def table(rounds):
    lines = ["| what failed | rounds | longest time without an answered write | median | longest at one berthd |",
             "| --- | ---: | ---: | ---: | ---: |"]
    for fault in sorted({one.fault for one in rounds}):
        of_fault = [one for one in rounds if one.fault == fault]
        gaps = sorted(one.gap for one in of_fault)
        at_one = max(one.gap_of_one for one in of_fault)
        lines.append(f"| {fault} | {len(gaps)} | {gaps[-1]:.1f} s | {gaps[len(gaps) // 2]:.1f} s | "
                     f"{f'{at_one:.1f} s' if at_one else '–'} |")
    return "\n".join(lines)
