"""One machine without root: berthd runs as a user without any right, with a podman of its own. What it can't limit here is
said, and everything else is as with root."""
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import time

from addresses import free_port
from end_to_end.berthd import PROGRAM, Berthd, Operator
from end_to_end.cluster import REGISTRY
from end_to_end.growing import page_at
from end_to_end.waiting import eventually
from end_to_end.world import World
from images import FIRST, SECOND
from node import CLEAN_LIMIT, Node, podman, processes_of

UID = 65111
USER = "berth-rootless"
RANGE = f"{USER}:1073741824:67108864\n"
# The machine's files stay as they are: berthd has others in their places, in a namespace of mounts of its own.
ENTER = """set -e
for file in passwd group subuid subgid; do mount --bind "$0/$file" "/etc/$file"; done
mount --bind "$0/tun" /dev/net/tun
folder=$0
exec setpriv --reuid=%d --regid=%d --clear-groups env -i PATH="$PATH" HOME="$folder/home" "$@"
""" % (UID, UID)


def as_user(folder, *command):
    return ["unshare", "--mount", "sh", "-c", ENTER, str(folder), *(str(word) for word in command)]


class RootlessNode(Node):
    def let_go(self, data):
        # As with sudo in a home of root's, the user may not enter the directory that the command begins in.
        with tempfile.TemporaryDirectory() as closed:
            done = subprocess.run(as_user(data.parent, data.parent / "berthd", "local", "clean", "--data-dir", data), cwd=closed,
                                  capture_output=True, text=True, timeout=CLEAN_LIMIT, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        left = processes_of(data)
        assert not left, f"`berthd local clean` has left {left}"
        assert not (data / "local").exists(), list((data / "local").iterdir())


class RootlessBerthd(Berthd):
    def command(self):
        return as_user(self.folder.name, pathlib.Path(self.folder.name) / "berthd", *super().command()[1:])

    def start(self):
        folder = pathlib.Path(self.folder.name)
        if not (folder / "berthd").exists():
            folder.chmod(0o755)
            shutil.copy(PROGRAM, folder / "berthd")
            for name, line in (("passwd", f"{USER}:x:{UID}:{UID}::{folder}/home:/bin/sh\n"), ("group", f"{USER}:x:{UID}:\n"),
                               ("subuid", RANGE), ("subgid", RANGE)):
                (folder / name).write_text(pathlib.Path("/etc", name).read_text() + line)
            # Everybody may open it on usual machines, and not on all of those that run tests.
            os.mknod(folder / "tun", stat.S_IFCHR | 0o666, os.makedev(10, 200))
            (folder / "tun").chmod(0o666)
            for name in ("home", "data"):
                (folder / name).mkdir(exist_ok=True)
                os.chown(folder / name, UID, UID)
        super().start()


class Rootless(World):
    @classmethod
    def setUpClass(cls):
        cls.cluster = RootlessNode()
        cls.cluster.place = ("127.0.0.1", free_port())
        cls.berthd = RootlessBerthd(cls.cluster)
        cls.cluster.berthd = cls.berthd
        cls.addClassCleanup(cls.berthd.__exit__)
        cls.ada = Operator(cls.berthd, "ada")

    def serves(self, text):
        eventually(lambda: page_at(self.cluster.place, "modest") == text + "\n", f"the page is {text!r}", 30,
                   seen=lambda: page_at(self.cluster.place, "modest"))

    def owner(self, pid):
        return os.stat(f"/proc/{pid}").st_uid

    def containers(self):
        words = subprocess.run(as_user(self.berthd.folder.name, *podman(self.berthd.data), "ps", "--format", "{{.ID}} {{.Pid}} {{.StartedAt}}"),
                               capture_output=True, text=True, check=True).stdout
        return sorted(words.splitlines())

    def test_a_container_runs_and_outlives_berthd(self):
        said = " ".join(self.berthd.health()["findings"])
        self.assertIn("Without root, containers reach the private networks", said)
        if not pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists():
            self.assertIn("without root no limit of a container's memory, processor or processes holds", said)
        doctor = subprocess.run(as_user(self.berthd.folder.name, pathlib.Path(self.berthd.folder.name) / "berthd", "doctor", "--local",
                                        "--data-dir", self.berthd.data), capture_output=True, text=True, check=False)
        self.assertIn("Without root, containers reach the private networks", doctor.stdout)
        self.assertEqual(doctor.returncode, 0, doctor.stdout + doctor.stderr)

        shop = self.ada.deploy("modest")
        self.ada.wait(shop, "running")
        self.serves(FIRST)
        before = self.containers()
        self.assertEqual(len(before), 1)
        pid = int(before[0].split()[1])
        # The container's user 1000 is one of the range.
        self.assertGreaterEqual(self.owner(pid), 1073741824)
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        self.assertEqual(int(status["CapBnd"], 16), 0)
        self.assertEqual(status["NoNewPrivs"].strip(), "1")
        self.assertEqual(status["Seccomp"].strip(), "2")

        refused = subprocess.run([PROGRAM, "local", "clean", "--data-dir", self.berthd.data], capture_output=True, text=True, check=False)
        self.assertIn(f"belongs to another user; run this as that user: setpriv --reuid={UID}", refused.stderr)
        self.berthd.kill()
        self.serves(FIRST)
        began = time.monotonic()
        self.berthd.start()
        self.ada.wait(shop, "running")
        print(f"      berthd is back after {time.monotonic() - began:.1f} s", flush=True)
        self.assertEqual(self.containers(), before)
        self.ada.ask("PATCH", f"/{shop}", {"image": f"{REGISTRY}/hello:2"})
        self.serves(SECOND)
