"""What only one machine has: nothing that runs notices what happens to berthd, to podman's service and to Caddy, and
containers reach nothing of the machine."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import time

from end_to_end.cluster import page, run, serves
from end_to_end.visitors import Visitors
from end_to_end.waiting import eventually
from end_to_end.world import World
from images import FIRST
from node import processes_of

SETTLED = 3  # seconds of traffic before and after a fault
BACK = 20  # seconds until what was killed is there again
# Somebody's metadata, a private address, and one that no machine has (RFC 5737). None of them may be reached.
FORBIDDEN = ("169.254.169.254", "10.0.0.1", "192.168.0.1")


class Machine(World):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shop = cls.ada.deploy("lasting")
        cls.ada.wait(cls.shop, "running")
        serves("lasting", FIRST)

    def running(self):
        """Returns the ids of podman's containers that run, and when each was started."""
        return {one["Id"]: one["StartedAt"] for one in self.cluster.containers() if one["State"] == "running"}

    def process(self, words):
        """Returns the id of the process of this data directory whose command has these words."""
        found = [line for line in processes_of(self.berthd.data) if words in line]
        self.assertEqual(len(found), 1, (words, processes_of(self.berthd.data)))
        return int(found[0].split()[0])

    def inside(self, *command):
        pod = self.cluster.list("pods", "-l", f"berth/deployment={self.shop}")[0]["metadata"]["name"]
        return self.cluster.execute(self.ada.namespace, pod, *command)

    def test_1_berthd_ends_and_begins_again(self):
        for end in (self.berthd.terminate, self.berthd.kill):
            before = self.running()
            with Visitors("lasting") as visitors:
                time.sleep(SETTLED)
                end()
                time.sleep(SETTLED)
                self.berthd.start()
                self.ada.wait(self.shop, "running")
                time.sleep(SETTLED)
            visitors.check(self, FIRST)
            self.assertEqual(self.running(), before)
            self.assertEqual(self.ada.ask("GET", f"/{self.shop}/metrics")["restarts"], 0)

    def test_2_podmans_service_is_killed(self):
        before = self.running()
        with Visitors("lasting") as visitors:
            os.kill(self.process("system service"), signal.SIGKILL)
            other = self.ada.deploy("other")
            self.ada.wait(other, "running")
            serves("other", FIRST)
            self.ada.delete(other)
            eventually(lambda: self.running() == before, "only the first one is left", BACK, seen=self.running)
        visitors.check(self, FIRST)

    def test_3_caddy_is_killed(self):
        before = self.running()
        os.kill(self.process("caddy"), signal.SIGKILL)
        took = eventually(lambda: page("lasting") == (200, FIRST + "\n"), "the page is there again", BACK,
                          seen=lambda: page("lasting"))
        print(f"      the page is back after {took:.1f} s", flush=True)
        self.assertEqual(self.running(), before)

    def test_4_the_container_has_no_rights(self):
        status = dict(line.split(":", 1) for line in self.inside("/bin/busybox", "cat", "/proc/self/status").splitlines())
        self.assertEqual(int(status["CapEff"], 16), 0)
        self.assertEqual(int(status["CapBnd"], 16), 0)
        self.assertEqual(status["NoNewPrivs"].strip(), "1")
        self.assertEqual(status["Seccomp"].strip(), "2")
        inside, outside, size = self.inside("/bin/busybox", "cat", "/proc/self/uid_map").split()[:3]
        self.assertEqual(inside, "0")
        self.assertNotEqual(outside, "0")
        self.assertLess(int(size), 1 << 20)
        # And berthd says so, whatever the kernel's version is.
        said = self.berthd.log_file.read_text()
        self.assertRegex(said, r"this machine is the cluster.*user_namespaces.*one for each container")
        self.assertNotIn("user namespaces of containers", said)

    def test_5_the_container_reaches_nothing_of_the_machine(self):
        with socket.create_server(("0.0.0.0", 0)) as listener:
            ours = listener.getsockname()[1]
            gateway = next(line.split()[2] for line in self.inside("/bin/busybox", "route", "-n").splitlines()
                           if line.startswith("0.0.0.0"))
            berthd = self.berthd.url.rpartition(":")[2]
            targets = [(gateway, ours), (gateway, berthd), *((address, 80) for address in FORBIDDEN)]
            probe = "; ".join(f"/bin/busybox nc -w 2 {address} {port} </dev/null >/dev/null 2>&1 && echo open {address} {port}"
                              for address, port in targets)
            self.assertEqual(self.inside("/bin/busybox", "sh", "-c", f"{probe}; echo tried"), "tried\n")

    def test_6_a_reboot(self):
        """What a boot leaves: files on the disk, no process, no mount, and another id of the boot."""
        containers = [one["Pid"] for one in self.cluster.containers() if one["State"] == "running"]
        self.berthd.kill()
        for process in [int(line.split()[0]) for line in processes_of(self.berthd.data)] + containers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        local = self.berthd.data / "local"
        eventually(lambda: not processes_of(self.berthd.data), "all processes have ended", BACK,
                   seen=lambda: processes_of(self.berthd.data))
        for line in reversed(pathlib.Path("/proc/mounts").read_text().splitlines()):
            if (place := line.split()[1]).startswith(f"{local}/"):
                run("umount", "--lazy", place)
        boot = local / "boot"
        self.assertEqual(boot.read_text().strip(), pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        boot.write_text("an earlier one")
        remains = local / "run" / "of an earlier boot"
        remains.touch()
        self.berthd.start()
        self.assertFalse(remains.exists())
        self.ada.wait(self.shop, "running")
        serves("lasting", FIRST)

    def test_7_a_data_directory_that_is_half_removed(self):
        """Somebody removes files below a running installation. Nothing of it may be left afterwards."""
        self.berthd.kill()
        self.assertGreater(len(processes_of(self.berthd.data)), 2)
        local = self.berthd.data / "local"
        shutil.rmtree(local / "storage", ignore_errors=True)
        for name in ("podman.pid", "podman.sock", "caddy/admin.sock"):
            (local / name).unlink(missing_ok=True)
        self.cluster.let_go(self.berthd.data)
        self.assertFalse(local.exists())
        self.assertNotIn(f"{local}/", pathlib.Path("/proc/mounts").read_text())
        self.berthd.start()
        self.ada.wait(self.shop, "running")
        serves("lasting", FIRST)

    def test_8_a_container_that_lost_its_network(self):
        """As when podman is killed while it sets a network up. The container runs, and nobody can reach it."""
        [before] = [one for one in self.cluster.containers() if one["State"] == "running"]
        run("nsenter", "--target", str(before["Pid"]), "--net", "ip", "link", "delete", "eth0")
        self.assertNotEqual(page("lasting")[0], 200)
        took = eventually(lambda: page("lasting") == (200, FIRST + "\n"), "the page is there again", 4 * BACK,
                          seen=lambda: (page("lasting"), self.ada.status(self.shop)))
        print(f"      the page is back after {took:.1f} s", flush=True)
        self.ada.wait(self.shop, "running")
        self.assertEqual(len(self.running()), 1)
