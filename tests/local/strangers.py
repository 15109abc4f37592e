"""Images of tenants who try everything (tests/kube/lib/images.sh), and the world around this machine that they try to
reach, whose addresses refuse or answer whatever arrives there."""
import contextlib
import hashlib
import pathlib
import tempfile
import threading

from addresses import REGISTRY
from end_to_end import outside
from end_to_end.cluster import HERE as KUBE
from end_to_end.cluster import run
from images import BUSYBOX, Pusher

STRANGER = "hello from a stranger"
# It serves a page at two ports, of which only the first is its app's, and tries $EARLY as soon as it runs.
SERVE = (BUSYBOX, "sh", "-c", '{ [ -z "$EARLY" ] || /bin/reach --early 4 $EARLY; } & '
         "trap 'exit 0' TERM; /bin/busybox httpd -f -h /www -p 3999 & /bin/busybox httpd -f -h /www -p \"$0\" & wait", "3000")
AGAIN = 0.1  # seconds between two looks at the rules


def push():
    """Pushes the images stranger:1 and stranger-root:1."""
    with tempfile.TemporaryDirectory() as folder:
        programs = [str(pathlib.Path(folder) / name) for name in ("reach", "drill")]
        for program in programs:
            run("gcc", "-static", "-O2", "-o", program, KUBE / f"programs/{pathlib.Path(program).name}.c")
        reach, drill = programs
        inside = (("reach", reach, 0o755), ("drill", drill, 0o755), ("setuid-drill", drill, 0o4755))
        for image, user in (("stranger:1", "1000"), ("stranger-root:1", "0")):
            Pusher(REGISTRY).push(image, STRANGER, SERVE, user, programs=inside)


class Outside(outside.Outside):
    """This machine gets a public address of its own."""

    def __enter__(self):
        outside.NODE_BRIDGE = outside.NAME
        return super().__enter__()


def digits_of(data):
    """Returns the digits that tell this data directory's networks and rules from others (PodmanRuntime, instance_of)."""
    return hashlib.sha256(str((data / "local").resolve()).encode()).hexdigest()[:6]


@contextlib.contextmanager
def without_rules(data):
    """Lets everything through, as if berth had no rules. They are replaced whenever a container starts, so that it is done
    again all the time."""
    table = f"berth_{digits_of(data)}"
    over = threading.Event()

    def open_again():
        while not over.is_set():
            for chain in ("forward", "input"):
                if "accept comment" not in run("nft", "list", "chain", "inet", table, chain, check=False):
                    run("nft", "insert", "rule", "inet", table, chain, "accept", "comment", '"opened"', check=False)
            over.wait(AGAIN)

    run("iptables", "-w", "-I", "FORWARD", "-j", "ACCEPT")
    thread = threading.Thread(target=open_again)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        run("iptables", "-w", "-D", "FORWARD", "-j", "ACCEPT")
        for chain in ("forward", "input"):
            listed = run("nft", "-a", "list", "chain", "inet", table, chain, check=False)
            for line in listed.splitlines():
                if '"opened"' in line:
                    run("nft", "delete", "rule", "inet", table, chain, "handle", line.split()[-1])
