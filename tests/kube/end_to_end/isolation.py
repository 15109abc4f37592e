"""The isolation probe on a cluster that enforces network policies, and while it doesn't."""
import os
import time
import unittest

from .berthd import PATIENCE, PROGRAM, ROOT
from .cluster import REGISTRY, run
from .enforcement import without_enforcement
from .outside import AZURE, INTERNET, METADATA, NODE_PUBLIC, ORACLE, Outside
from .waiting import eventually
from .world import World

IMAGE = f"{REGISTRY}/berth:isolation"
INGRESS = "ingress"  # the namespace of the ingress controller
LIMIT = 240  # seconds for a probe, on a loaded machine
NODE, GATEWAY, API_SERVICE = "10.250.0.1", "@gateway", "@api"
# Targets at which something certainly answers or refuses, so that they are open where nothing is enforced.
CERTAIN = [f"tcp/{METADATA}/80", f"tcp/{AZURE}/80", f"tcp/{ORACLE}/80", f"tcp/{INTERNET}/25", f"tcp/{API_SERVICE}/0",
           f"tcp/{NODE}/10250", f"tcp/{NODE}/6443", f"tcp/{GATEWAY}/10250"]


@unittest.skipUnless(os.geteuid() == 0, "addresses of this machine are made, which only root may")
class Isolation(World):
    flags = ("--isolation", "required", "--isolation-image", IMAGE, "--isolation-internet", INTERNET,
             "--cluster-ranges", f"{NODE_PUBLIC}/32", "--ingress-namespace", INGRESS)

    @classmethod
    def setUpClass(cls):
        run(ROOT / "scripts/image.sh", "--unchecked", PROGRAM, "berth:isolation")
        cls.enterClassContext(Outside())
        super().setUpClass()

    @classmethod
    def label(cls):
        return f"berth/instance={cls.berthd.instance()}-isolation"

    @classmethod
    def remove_what_is_left(cls):
        super().remove_what_is_left()
        cls.cluster.kubectl("delete", "namespaces", "--wait=false", "-l", cls.label())

    def report(self):
        return self.berthd.as_admin("GET", "/api/internal/isolation")

    def state(self):
        return self.berthd.health()["isolation"]

    def left(self):
        return self.cluster.names("namespaces", "-l", self.label())

    def end_of_probe(self):
        eventually(lambda: not self.report()["busy"], "the probe is over", LIMIT, seen=self.berthd.end_of_log)
        return self.report()

    def probe(self):
        began = time.monotonic()
        self.berthd.as_admin("POST", "/api/internal/isolation/probe")
        report = self.end_of_probe()
        print(f"      {len(report['paths'])} paths in {time.monotonic() - began:.0f} s: {report['open']} open, "
              f"{report['blocked']} blocked {report['problem'] or ''}", flush=True)
        return report

    @staticmethod
    def show(report):
        for path in report["paths"]:
            print(f"      {path['from']:<13} → {path['to']:<36} {path['target']:<28} wanted {path['wanted']:<6} got "
                  f"{path['result']} ({path['detail']})", flush=True)

    def test_1_it_proves_isolation_where_policies_are_enforced(self):
        waiting = self.ada.deploy("isolated")
        eventually(lambda: self.state()["state"] == "proven", "isolation is proven", LIMIT,
                   seen=lambda: (self.report(), self.berthd.end_of_log()))
        report = self.report()
        self.show(report)
        self.assertEqual((report["open"], report["blocked"], report["problem"]), (0, 0, None))
        self.assertEqual({path["from"] for path in report["paths"]}, {"first tenant", "second tenant"})
        self.assertEqual(self.state()["open_paths"], 0)
        self.assertEqual([path["result"] for path in report["paths"] if path["target"] == f"tcp/{INTERNET}/443"], ["open"] * 2)
        self.ada.wait(waiting, "running")
        self.assertIn("berth_isolation_proven 1", self.berthd.metrics())
        self.assertIn("berth_isolation_open_paths 0", self.berthd.metrics())
        eventually(lambda: not self.left(), "its namespaces are gone", PATIENCE, seen=self.left)
        entries = self.berthd.as_admin("GET", "/api/internal/audit?action=isolation.probe")["entries"]
        self.assertEqual([entry["details"]["state"] for entry in entries], ["proven"])

    def test_2_it_finds_what_is_open_without_enforcement(self):
        with without_enforcement():
            report = self.probe()
        self.show(report)
        self.assertEqual(self.state(), {"state": "open", "open_paths": report["open"]})
        opened = {path["target"] for path in report["paths"] if path["wanted"] == "shut" and path["result"] == "open"}
        self.assertEqual([target for target in CERTAIN if target not in opened], [])
        by_name = {path["to"]: path["result"] for path in report["paths"]}
        for name in ("another tenant's pod", "another tenant's pod, another port", "another tenant's pod, UDP",
                     "another tenant's Service"):
            self.assertEqual(by_name[name], "open", name)
        self.assertIn(f"berth_isolation_open_paths {report['open']}", self.berthd.metrics())
        running = self.ada.ask("GET")["deployments"][0]["id"]
        held = type(self).held = self.ada.deploy("held-back")
        eventually(lambda: self.ada.status(held).get("reason") == "cluster_refused", "a new deployment waits", PATIENCE,
                   seen=lambda: self.ada.status(held))
        self.assertEqual(self.ada.status(held)["status"], "pending")
        self.assertEqual(self.ada.status(running)["status"], "running")
        self.assertEqual(self.cluster.of_deployment(held), [])

    def test_3_once_the_paths_are_shut_deployments_go_on(self):
        self.assertEqual(self.probe()["open"], 0)
        self.assertEqual(self.state()["state"], "proven")
        self.ada.wait(self.held, "running")

    def test_4_a_kill_in_the_middle_leaves_nothing(self):
        self.berthd.as_admin("POST", "/api/internal/isolation/probe")
        eventually(lambda: len(self.left()) == 2, "its namespaces exist", PATIENCE, seen=self.left)
        self.berthd.kill()
        self.assertEqual(len(self.left()), 2)
        self.berthd.start()
        eventually(lambda: not self.left(), "the next leader has removed them", LIMIT, seen=self.left)
        self.assertEqual(self.state()["state"], "proven")
