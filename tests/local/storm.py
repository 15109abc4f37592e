"""Many kills during many operations: berthd, podman's service, Caddy, the processes that watch containers, and containers
themselves are killed at random moments while operators create, change, stop and delete deployments, and visitors look at
one that nobody touches. No container may be there twice, none may be lost, nothing may be left over in the end, and every
wish that was answered is fulfilled."""
import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time

from end_to_end.berthd import NoAnswer, Refused
from end_to_end.cluster import REGISTRY, page
from end_to_end.visitors import Visitors
from end_to_end.waiting import eventually
from end_to_end.world import World
from images import FIRST, SECOND
from node import processes_of

PAGES = {"hello:1": FIRST, "hello:2": SECOND}
OPERATORS = 4  # at the same time; each has SLOTS deployments
SLOTS = 2
LOOKS = 0.3  # seconds between two looks at what runs
SETTLED = 120  # seconds until every wish is fulfilled after the last kill
BACK = 30  # seconds until what was killed is there again
# What is killed, and how often.
TARGETS = {"berthd": 8, "podman": 3, "berthd and podman": 2, "caddy": 2, "berthd and caddy": 1, "conmon": 2, "container": 2}


class Podman:
    """podman's list of containers, over its socket."""

    def __init__(self, socket_path):
        self.path = str(socket_path)

    def containers(self):
        """Returns all containers; None while podman's service doesn't answer."""
        connection = http.client.HTTPConnection("localhost", timeout=10)
        try:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(10)
            connection.sock.connect(self.path)
            connection.request("GET", "/v4.0.0/libpod/containers/json?all=true")
            return json.loads(connection.getresponse().read()) or []
        except (OSError, ValueError, http.client.HTTPException):
            return None
        finally:
            connection.close()


def lives(pid):
    try:
        return pid > 0 and pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Watch(threading.Thread):
    """Looks at what runs all the time: a pod must never have two containers that run, and the container of `lasting`
    must be the same."""

    def __init__(self, podman, lasting):
        super().__init__()
        self.podman, self.lasting = podman, lasting
        self.over = threading.Event()
        self.twice, self.seen, self.looks = [], set(), 0
        self.alive = True

    def run(self):
        while not self.over.wait(LOOKS):
            found = self.podman.containers()
            if found is None:
                continue
            self.looks += 1
            running = collections.defaultdict(list)
            for one in found:
                self.seen.add(one["Id"])
                if one["State"] == "running" and lives(one["Pid"]):
                    running[one["Labels"].get("berth.uid", "")].append(one["Id"])
            self.twice += [ids for ids in running.values() if len(ids) > 1]
            self.alive = self.alive and lives(self.lasting)


class Slot:
    """One deployment after the other, and what was asked of it last."""

    def __init__(self, prefix):
        self.prefix, self.number = prefix, 0
        self.id, self.wish = None, None  # (running or stopped, image, color; None if it isn't known)

    @property
    def name(self):
        return f"{self.prefix}-{self.number}"


class Person(threading.Thread):
    """Makes operations until there are enough. Each is noted when it was answered; after one without an answer, berthd is
    asked whether it has taken place."""

    def __init__(self, storm, number, seed):
        super().__init__()
        self.storm, self.chance = storm, random.Random(seed)
        self.slots = [Slot(f"s{number}{index}") for index in range(SLOTS)]
        self.wrong = []
        self.answered = self.unanswered = self.refused = 0

    def run(self):
        try:
            while self.storm.next_operation():
                self.operate(self.chance.choice(self.slots))
        except Exception as error:  # pylint: disable=broad-except
            self.wrong.append(repr(error))

    def operate(self, slot):
        what, after = self.choose(slot)
        before = slot.wish
        if what == "create":
            slot.number += 1
            slot.id = None
        try:
            self.take(slot, what, after)
            slot.wish = after
            self.answered += 1
        except NoAnswer:
            self.unanswered += 1
            seen = self.storm.ask_until_answered(lambda: self.look(slot))
            # Nobody can read a variable's value, so that its color is one of two if it was to change.
            possible = [wish for wish in (before, after) if (wish and wish[:2]) == seen]
            if not possible:
                self.wrong.append(f"{what} of {slot.name}: {before} became {seen} and not {after}")
            slot.wish = seen and (*seen, possible[0][2] if len({wish[2] for wish in possible}) == 1 else None)
        except Refused as error:
            # What came before it is still being done.
            if error.status not in (409, 429, 503):
                raise
            self.refused += 1
            slot.wish = before
        if self.chance.random() < 0.4 and slot.wish:
            state, image, _ = slot.wish
            wanted = (200, PAGES[image] + "\n") if state == "running" else None
            until = time.monotonic() + self.chance.uniform(0, 6)
            while time.monotonic() < until and (wanted is None or page(slot.name) != wanted):
                time.sleep(0.1)
        else:
            time.sleep(self.chance.uniform(0, 1))

    def choose(self, slot):
        image, color = self.chance.choice(sorted(PAGES)), str(self.chance.randrange(1000))
        if slot.wish is None:
            return "create", ("running", image, color)
        state, old_image, old_color = slot.wish
        if state == "stopped":
            return self.chance.choice((("restart", ("running", old_image, old_color)), ("delete", None)))
        return self.chance.choice((
            ("image", ("running", image, old_color)), ("color", ("running", old_image, color)), ("restart", slot.wish),
            ("stop", ("stopped", old_image, old_color)), ("delete", None)))

    def take(self, slot, what, after):
        ada = self.storm.ada
        if what == "create":
            slot.id = ada.deploy(slot.name, f"{REGISTRY}/{after[1]}", env_vars={"COLOR": after[2]})
        elif what == "image":
            ada.ask("PATCH", f"/{slot.id}", {"image": f"{REGISTRY}/{after[1]}"})
        elif what == "color":
            ada.ask("PATCH", f"/{slot.id}", {"env_vars": {"COLOR": after[2]}})
        elif what == "delete":
            ada.delete(slot.id)
        else:
            ada.ask("POST", f"/{slot.id}/{what}", {})

    def look(self, slot):
        """Returns what berthd says that was asked of the slot's deployment."""
        ada = self.storm.ada
        if slot.id is None:
            found = [one for one in ada.ask("GET", "?limit=100")["deployments"] if one["subdomain"] == slot.name]
            if not found:
                return None
            slot.id = found[0]["id"]
        try:
            row = ada.ask("GET", f"/{slot.id}")
        except Refused as error:
            if error.status == 404:
                return None
            raise
        row = row.get("deployment", row)
        if row["status"] == "destroyed":
            return None
        image = row["container_image"].rpartition("/")[2]
        return "stopped" if row["status"] == "stopped" else "running", image


class Storm(World):
    kills, operations = 6, 12  # the short form; `e2e --full` has 300 and 500

    def next_operation(self):
        """Waits until the kills have come as far as the operations. Returns whether another one is wanted."""
        with self.turn:
            self.turn.wait_for(lambda: self.asked * self.kills <= (self.killed + 2) * self.operations)
            self.asked += 1
            return self.asked <= self.operations

    def ask_until_answered(self, question):
        until = time.monotonic() + SETTLED
        while True:
            try:
                return question()
            except NoAnswer:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def setUp(self):
        self.seed = int(os.environ.get("BERTH_SEED") or random.SystemRandom().randrange(1 << 31))
        print(f"      BERTH_SEED={self.seed}", flush=True)
        self.chance = random.Random(self.seed)
        self.turn = threading.Condition()
        self.asked = self.killed = 0
        self.killings = collections.Counter()
        self.away = []  # when Caddy wasn't there: from, until
        self.podman = Podman(self.berthd.data / "local/podman.sock")

    def pids(self, words):
        return [int(line.split()[0]) for line in processes_of(self.berthd.data) if words in line]

    def end(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill_one(self, target):
        """Kills, and waits until berthd is there again."""
        if "podman" in target:
            self.end(self.pids("system service"))
        if "caddy" in target:
            began = time.monotonic()
            self.end(self.pids("caddy run"))
        if "berthd" in target:
            self.berthd.kill()
            time.sleep(self.chance.uniform(0, 0.5))
            self.berthd.start()
        if "caddy" in target:
            eventually(lambda: page("lasting")[0] == 200, "Caddy serves again", BACK, seen=self.berthd.end_of_log)
            self.away.append((began, time.monotonic()))
        if target in ("conmon", "container"):
            others = [one for one in self.podman.containers() or [] if one["State"] == "running" and one["Pid"] != self.lasting]
            if others:
                chosen = self.chance.choice(others)
                self.end([chosen["Pid"]] if target == "container" else self.pids(f"conmon --api-version 1 -c {chosen['Id']}"))

    def test_kills_during_operations(self):
        shop = self.ada.deploy("lasting")
        self.ada.wait(shop, "running")
        eventually(lambda: page("lasting") == (200, FIRST + "\n"), "the page is there", BACK)
        self.lasting = self.podman.containers()[0]["Pid"]
        watch = Watch(self.podman, self.lasting)
        people = [Person(self, number, self.chance.random()) for number in range(OPERATORS)]
        began = time.monotonic()
        with Visitors("lasting", 50) as visitors:
            watch.start()
            for person in people:
                person.start()
            try:
                self.kill_many(people)
            finally:
                with self.turn:
                    self.killed = self.kills + self.operations
                    self.turn.notify_all()
                for person in people:
                    person.join()
            took = time.monotonic() - began
            try:
                self.fulfilled(people)
            finally:
                watch.over.set()
                watch.join()
        self.report(people, visitors, watch, took)
        self.assertEqual([wrong for person in people for wrong in person.wrong], [])
        self.assertEqual(watch.twice, [], "a pod had two containers that ran")
        self.assertTrue(watch.alive and lives(self.lasting), "the container that nobody touched is the same")
        self.assertEqual([failure for *times, failure in visitors.failed_at if not self.was_away(*times)], [])
        self.nothing_left([shop, *(slot.id for person in people for slot in person.slots if slot.wish)], watch.seen)

    def kill_many(self, people):
        names, weights = list(TARGETS), list(TARGETS.values())
        for number in range(self.kills):
            # Kills wait for operations, as those do for kills, so that both end together.
            while self.asked * self.kills < (number - 2) * self.operations and any(person.is_alive() for person in people):
                time.sleep(0.05)
            time.sleep(self.chance.uniform(0, 1.5))
            target = self.chance.choices(names, weights)[0]
            self.kill_one(target)
            self.killings[target] += 1
            with self.turn:
                self.killed += 1
                self.turn.notify_all()
            if number % 25 == 24:
                print(f"      {number + 1} kills, {self.asked} operations", flush=True)

    def was_away(self, asked, failed):
        """Whether Caddy wasn't there at a moment between these two."""
        return any(began - 1 <= failed and asked <= ended + 1 for began, ended in self.away)

    def fulfilled(self, people):
        """Waits until everything is as it was asked for last."""
        for slot in (slot for person in people for slot in person.slots):
            if slot.wish is None:
                eventually(lambda name=slot.name: page(name)[0] != 200, f"{slot.name} is gone", SETTLED)
                continue
            state, image, color = slot.wish
            self.ada.wait(slot.id, state, SETTLED)
            if state == "running":
                eventually(lambda name=slot.name, text=PAGES[image]: page(name) == (200, text + "\n"), f"{slot.name} has {image}",
                           SETTLED, seen=lambda name=slot.name, one=slot.id: (page(name)[0], self.seen(one)))
                eventually(lambda one=slot.id: len(self.cluster.pods(one)) == 1, f"{slot.name} has one pod", SETTLED,
                           seen=lambda one=slot.id: self.seen(one))
                eventually(lambda one=slot.id, color=color: color in (None, self.color(one)), f"{slot.name} has the color {color}",
                           SETTLED, seen=lambda one=slot.id: (self.color(one), self.ada.status(one)))
        wanted = 1 + sum(slot.wish is not None and slot.wish[0] == "running" for person in people for slot in person.slots)
        eventually(lambda: len(self.running()) == wanted, f"{wanted} containers run", SETTLED, seen=self.running)

    def seen(self, deployment):
        """Returns what berthd and its node say of the deployment: its status, and of each pod the age, what ends it, and the
        states of its containers."""
        pods = [(pod["metadata"]["name"], pod["metadata"]["creationTimestamp"], pod["metadata"].get("deletionTimestamp"),
                 pod.get("status", {}).get("phase"), pod.get("status", {}).get("containerStatuses"))
                for pod in self.cluster.list("pods", "-l", f"berth/deployment={deployment}")]
        return self.ada.status(deployment), pods

    def color(self, deployment):
        """Returns the variable of the deployment's only container; nothing while it changes."""
        pods = {pod["metadata"]["uid"] for pod in self.cluster.list("pods", "-l", f"berth/deployment={deployment}")}
        pids = [one["Pid"] for one in self.podman.containers() or []
                if one["Labels"].get("berth.uid") in pods and one["State"] == "running"]
        if len(pods) != 1 or len(pids) != 1:
            return ""
        with contextlib.suppress(OSError):
            variables = dict(word.split("=", 1) for word in pathlib.Path(f"/proc/{pids[0]}/environ").read_text().split("\0") if word)
            return variables.get("COLOR", "")
        return ""

    def running(self):
        return [(one["Id"][:12], one["Labels"].get("berth.pod")) for one in self.podman.containers() or []
                if one["State"] == "running" and lives(one["Pid"])]

    def report(self, people, visitors, watch, took):
        failed = [failure for *times, failure in visitors.failed_at if not self.was_away(*times)]
        print(f"      {sum(self.killings.values())} kills ({', '.join(f'{name}: {count}' for name, count in self.killings.items())}) in "
              f"{took:.0f} s; operations answered: {sum(one.answered for one in people)}, without an answer: "
              f"{sum(one.unanswered for one in people)}, refused: {sum(one.refused for one in people)}\n"
              f"      {watch.looks} looks at podman, {len(watch.seen)} containers, twice: {len(watch.twice)}\n"
              f"      {visitors.summary()}, {len(failed)} of them while Caddy was there", flush=True)

    def nothing_left(self, deployments, containers):
        """Deletes all, and checks that nothing of it is left on the machine."""
        for deployment in deployments:
            self.ada.delete(deployment)
        local = self.berthd.data / "local"
        instance = self.berthd.instance()

        def left():
            found = {"objects": self.cluster.of_instance(instance), "containers": self.podman.containers(),
                     "conmon": [line for line in processes_of(self.berthd.data) if "conmon" in line],
                     "mounts": [line for line in pathlib.Path("/proc/mounts").read_text().splitlines()
                                if f"{local}/storage/overlay" in line and "/merged" in line],
                     "networks": subprocess.run([*("podman", "--url", f"unix://{local}/podman.sock"), "network", "ls", "-q", "--filter", "driver=bridge"],
                                                capture_output=True, text=True, check=True).stdout.split()}
            found["networks"] = [name for name in found["networks"] if name != "podman"]
            for folder in ("pods", "logs", "caddy/up"):
                found[folder] = sorted(path.name for path in (local / folder).iterdir()) if (local / folder).exists() else []
            groups = [path for pattern in ("*/libpod_parent/libpod-*", "libpod_parent/libpod-*", "machine.slice/libpod-*")
                      for path in pathlib.Path("/sys/fs/cgroup").glob(pattern)]
            found["control groups"] = [str(path) for path in groups if path.name[len("libpod-"):][:64].removesuffix(".scope") in containers
                                       or path.name[len("libpod-conmon-"):][:64].removesuffix(".scope") in containers]
            return {what: items for what, items in found.items() if items or items is None}

        eventually(lambda: not left(), "nothing is left", SETTLED, seen=left, pause=0.5)
