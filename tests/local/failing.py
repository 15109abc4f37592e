"""Images that fail in every way that a real one does, and what their owners read. The names that the simulated node knows
(reconcilers/embedded/node/simulated/images.cpp) are among them, and have the same reason there."""
import contextlib
import re

from addresses import REGISTRY
from end_to_end.berthd import Berthd, Operator
from end_to_end.cluster import serves
from end_to_end.waiting import eventually
from end_to_end.world import World
from images import BUSYBOX, FIRST, HTTPD, SERVE, SHELL, Pusher

LIMIT = 30  # seconds until the reason is there
SOON = 20  # seconds until the message is the one that stays
RUNC = ("failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
        "unable to start container process: ")
EXITED = "the container exited with code "


def unstarted(why):
    """Returns the message about a program that couldn't be started. As soon as the kubelet waits before the next attempt, it
    counts as a run that has ended."""
    return f"({EXITED}128: )?" + re.escape(f"{RUNC}exec: {why}: unknown")


# Name, entry point, reason, message (a regular expression).
FAILING = (
    ("crash:2", (*SHELL, "echo no database is configured >&2; exit 3"), "crash_loop", EXITED + "3: no database is configured\n"),
    ("ends:1", (BUSYBOX, "true"), "crash_loop", EXITED + "0"),
    ("killed:1", (*SHELL, "/bin/busybox sh -c 'kill -9 $$'; exit $?"), "crash_loop", EXITED + "137.*"),
    ("aborted:1", (*SHELL, "/bin/busybox sh -c 'kill -ABRT $$'; exit $?"), "crash_loop", EXITED + r"134.*"),
    ("oom:2", (BUSYBOX, "tail", "/dev/zero"), "out_of_memory", "the container was killed: it needs more than 64 MB"),
    ("wrong-port:2", (*SERVE, "3999"), "port_not_listening",
     r"nothing listens on port 3000: Readiness probe failed: dial tcp 10\.[0-9.]+:3000: connect: connection refused"),
    ("not-listening:1", (*SHELL, "trap 'exit 0' TERM; sleep 1000 & wait"), "port_not_listening",
     r"nothing listens on port 3000: Readiness probe failed: dial tcp 10\.[0-9.]+:3000: connect: connection refused"),
    ("needs-root:2", (*SHELL, f"mkdir /var-lib-shop && exec {HTTPD}", "3000"), "image_needs_root", EXITED + "1: .*[Pp]ermission denied\n"),
    ("low-port:1", (*SHELL, "/bin/busybox nc -l -p 80"), "image_needs_root", EXITED + "1: .*[Pp]ermission denied\n"),
    ("no-entrypoint:1", (), "crash_loop", "failed to generate container spec: failed to generate spec: no command specified"),
    ("not-there:1", ("/nothing",), "crash_loop", unstarted('"/nothing": stat /nothing: no such file or directory')),
    ("not-in-path:1", ("nothing",), "crash_loop", unstarted('"nothing": executable file not found in $PATH')),
    ("not-executable:1", ("/www/index.html",), "image_needs_root", unstarted('"/www/index.html": permission denied')),
    ("no-program:1", ("/bin/text",), "crash_loop", EXITED + r"\d+: .*exec format error\n?"),
)
OF_SIMULATED = ("crash", "oom", "wrong-port", "not-listening", "needs-root")


class Simulated:
    @staticmethod
    def flags():
        return ["--kubernetes", "simulated"]

    @staticmethod
    def let_go(_):
        """Nothing runs."""


class Failing(World):
    @classmethod
    def setUpClass(cls):
        pusher = Pusher(REGISTRY)
        for name, entrypoint, _, _ in FAILING:
            pusher.push(name, FIRST, entrypoint, programs=(("text", __file__, 0o755),) if name == "no-program:1" else ())
        pusher.push("slow-start:2", FIRST, (*SHELL, f"sleep 5; exec {HTTPD}", "3000"))
        pusher.push("wants-root:1", FIRST, (*SERVE, "3000"), user="root")
        super().setUpClass()

    def test_every_way_to_fail(self):
        made = {name: self.ada.deploy(name.replace(":", "-"), f"{REGISTRY}/{name}") for name, *_ in FAILING}
        wrong = []
        for name, _, reason, message in FAILING:
            took = eventually(lambda: self.ada.status(made[name])["reason"], f"{name} has a reason", LIMIT,
                              seen=lambda: self.ada.status(made[name]))  # noqa: B023

            def is_said():
                seen = self.ada.status(made[name])  # noqa: B023
                return seen["reason"] == reason and re.fullmatch(message, seen["message"] or "", re.S)  # noqa: B023

            # On a busy machine, the first probe of a container may end before its network answers.
            with contextlib.suppress(AssertionError):
                eventually(is_said, name, SOON)
            seen = self.ada.status(made[name])
            print(f"      {name:<16} {seen['reason']:<18} after {took:4.1f} s: {seen['message'].strip()}", flush=True)
            if not is_said():
                wrong.append((name, seen["reason"], seen["message"]))
        print(f"      {len(FAILING)} ways to fail", flush=True)
        self.assertEqual(wrong, [])
        # What the run before said, while the next one waits.
        pod = self.cluster.list("pods", "-l", f"berth/deployment={made['crash:2']}")[0]["metadata"]
        previous = self.cluster.text("GET", f"/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}/log?previous=true")
        self.assertEqual(previous, "no database is configured\n")
        for deployment in made.values():
            self.ada.delete(deployment)

    def test_what_only_looks_like_failing(self):
        slow = self.ada.deploy("slow", f"{REGISTRY}/slow-start:2")
        root = self.ada.deploy("as-root", f"{REGISTRY}/wants-root:1")
        for deployment, name in ((root, "as-root"), (slow, "slow")):
            self.ada.wait(deployment, "running")
            serves(name, FIRST)
            self.ada.delete(deployment)

    def test_the_simulated_node_gives_the_same_reasons(self):
        with Berthd(Simulated) as berthd:
            ada = Operator(berthd, "ada")
            for name, _, reason, _ in FAILING:
                if name.split(":")[0] in OF_SIMULATED:
                    deployment = ada.deploy(name.replace(":", "-"), f"{REGISTRY}/{name}")
                    eventually(lambda: ada.status(deployment)["reason"] == reason, reason, LIMIT,
                               seen=lambda: ada.status(deployment))  # noqa: B023
