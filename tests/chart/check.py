#!/usr/bin/env python3
"""Renders the chart with Helm and looks at what comes of it: check.py BERTHD.

Without the value `database` there is a StatefulSet with a claim; with it, a Deployment of several pods. What berthd is told
has to be a configuration that it accepts. Ends with 77, for "skipped", if there is no Helm.
"""
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "charts/berth"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
TOOLS = pathlib.Path(os.environ.get("BERTH_KUBE_DIR", CACHE / "berth/kube")) / "tools"
HELM = shutil.which("helm") or shutil.which("helm", path=str(TOOLS))
SKIPPED = 77
BERTHD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None

LEAST = {"image.repository": "registry.example.org/berth", "baseUrl": "https://berth.example.org",
         "appsDomain": "apps.example.net"}
KEYS = {"database.keysSecret": "berth-keys"}
CLOUD_NATIVE = KEYS | {"database.cloudNativePG.create": "true"}
ADDRESS = "postgresql://berth@pg1\\,pg2/berth?sslmode=verify-full&sslrootcert=/etc/berth/database/ca.crt"
PATRONI = KEYS | {"database.address": ADDRESS, "database.passwordSecret": "pw", "database.caSecret": "ca"}
SECRET = KEYS | {"database.addressSecret": "dsn"}


def helm(values, more=()):
    sets = [word for name, value in (LEAST | values).items() for word in ("--set", f"{name}={value}")]
    return subprocess.run([HELM, "template", "berth", CHART, "--namespace", "ns", "--skip-tests", *sets, *more],
                          capture_output=True, text=True)


def rendered(values, more=()):
    """Returns the objects by kind and name."""
    done = helm(values, more)
    if done.returncode:
        raise AssertionError(done.stderr)
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(done.stdout) if one}


def pod_of(objects):
    return objects["Deployment", "berth"]["spec"]["template"]["spec"]


class Chart(unittest.TestCase):
    def refused(self, values, why):
        done = helm(values)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(why, done.stderr)

    def test_without_a_database_there_is_one_pod_with_a_claim(self):
        objects = rendered({})
        self.assertNotIn(("Deployment", "berth"), objects)
        stateful = objects["StatefulSet", "berth"]["spec"]
        self.assertEqual(stateful["replicas"], 1)
        self.assertEqual([one["metadata"]["name"] for one in stateful["volumeClaimTemplates"]], ["data"])
        pod = stateful["template"]["spec"]
        self.assertEqual([one["name"] for one in pod["volumes"]], ["config", "secrets", "tmp"])
        self.assertNotIn("lifecycle", pod["containers"][0])
        self.assertNotIn("topologySpreadConstraints", pod)
        self.assertNotIn("database", objects["ConfigMap", "berth"]["data"]["berthd.yaml"])

    def test_with_a_database_there_are_several_pods_and_no_claim(self):
        objects = rendered(PATRONI | {"database.replicas": "4"})
        self.assertNotIn(("StatefulSet", "berth"), objects)
        self.assertNotIn("PersistentVolumeClaim", {kind for kind, _ in objects})
        deployment = objects["Deployment", "berth"]["spec"]
        self.assertEqual(deployment["replicas"], 4)
        self.assertEqual(deployment["strategy"]["rollingUpdate"], {"maxUnavailable": 0, "maxSurge": 1})
        pod = pod_of(objects)
        self.assertEqual({one["topologyKey"] for one in pod["topologySpreadConstraints"]},
                         {"kubernetes.io/hostname", "topology.kubernetes.io/zone"})
        container = pod["containers"][0]
        self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/readyz")
        drain = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        self.assertGreater(pod["terminationGracePeriodSeconds"], drain + 20)  # what berthd gives requests
        self.assertEqual(objects["PodDisruptionBudget", "berth"]["spec"]["maxUnavailable"], 1)
        selector = objects["PodDisruptionBudget", "berth"]["spec"]["selector"]["matchLabels"]
        self.assertEqual(selector, deployment["selector"]["matchLabels"])
        self.assertLessEqual(selector.items(), deployment["template"]["metadata"]["labels"].items())
        mounted = {one["name"] for one in container["volumeMounts"]}
        self.assertEqual(mounted, {one["name"] for one in pod["volumes"]})

    def test_a_cluster_without_what_berth_needs_is_refused(self):
        """The guide, the chart and the sleep hook of apps' containers agree on the version."""
        done = helm({}, ["--kube-version", "1.29.14"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("1.30", done.stderr)
        self.assertIn("lifecycle", pod_of(rendered(PATRONI, ["--kube-version", "1.30.0"]))["containers"][0])
        self.assertIn("sleep:", (ROOT / "manifests/pre_stop.yaml").read_text())
        self.assertIn("berth needs 1.30", (ROOT / "docs/guides/cluster.md").read_text())

    def test_the_policy_takes_the_nodes_for_containers_in_each_notation(self):
        """The list of what a pod may tolerate, for each way in which berthd's key may be written."""
        notations = {"example.org/a=yes:NoSchedule": [["example.org/a", "Equal", "yes", "NoSchedule"]],
                     "a:NoExecute,b=c": [["a", "Exists", "", "NoExecute"], ["b", "Equal", "c", ""]],
                     "a": [["a", "Exists", "", ""]]}
        for text, wanted in notations.items():
            escaped = text.replace(",", "\\,")
            policy = rendered({}, ["--set-string", f"config.tenant-tolerations={escaped}"])["ValidatingAdmissionPolicy", "ns-berth"]
            self.assertIn(f"in {json.dumps(wanted, separators=(',', ':'))}", json.dumps(policy).replace('\\"', '"'), text)
        listed = rendered({}, ["--set-json", 'config.tenant-tolerations=[{"key":"a","operator":"Exists","effect":"NoSchedule"}]'])
        self.assertIn('in [["a","Exists","","NoSchedule"]]', json.dumps(listed["ValidatingAdmissionPolicy", "ns-berth"]).replace('\\"', '"'))

    def test_the_files_of_the_database_are_those_that_berthd_is_told(self):
        for values, wanted in ((CLOUD_NATIVE, {"berth-db-app": "password", "berth-db-ca": "ca.crt"}),
                               (PATRONI, {"pw": "password", "ca": "ca.crt"}), (SECRET, {"dsn": "address"})):
            objects = rendered(values)
            volume = next(one for one in pod_of(objects)["volumes"] if one["name"] == "database")
            found = {one["secret"]["name"]: one["secret"]["items"][0]["path"] for one in volume["projected"]["sources"]}
            self.assertEqual(found, wanted)
            text = objects["ConfigMap", "berth"]["data"]["berthd.yaml"]
            for path in wanted.values():
                self.assertIn("/etc/berth/database/" + path, text)

    def test_cloudnativepg_gets_a_cluster_that_outlives_a_machine(self):
        objects = rendered(CLOUD_NATIVE | {"database.replicas": "5"})
        spec = objects["Cluster", "berth-db"]["spec"]
        self.assertEqual(spec["postgresql"]["synchronous"]["dataDurability"], "required")
        self.assertGreaterEqual(int(spec["postgresql"]["parameters"]["max_connections"]), 6 * 29)
        self.assertNotIn(("Cluster", "berth-db"), rendered(PATRONI))

    def test_what_could_lose_data_is_refused(self):
        self.refused(PATRONI | {"database.keysSecret": ""}, "database.keysSecret")
        self.refused(PATRONI | {"database.cloudNativePG.create": "true"}, "set one of")
        self.refused(PATRONI | {"database.addressSecret": "dsn"}, "set one of")
        self.refused(PATRONI | {"database.address": "postgresql://berth:pw@pg/berth"}, "does not match pattern")
        self.refused({"config.database": "postgresql://pg/berth"}, "set the value database instead")
        self.refused(PATRONI | {"database.replicas": "0"}, "minimum")

    def test_sessions_in_containers_are_off_unless_they_are_wanted(self):
        objects = rendered({})
        self.assertFalse([name for name in objects if "exec" in name[1] or "tokens" in name[1]])
        text = "\n---\n".join(yaml.safe_dump(one) for one in objects.values())
        for word in ("pods/exec", "pods/portforward", "pods/attach", "serviceaccounts/token", "exec-service-account"):
            self.assertNotIn(word, text)
        for missing in ("rbac.create", "admissionPolicy.enabled"):
            self.refused({"exec.enabled": "true", missing: "false"}, "exec.enabled: needs")

    def test_sessions_in_containers_have_an_account_that_can_do_nothing_else(self):
        objects = rendered({"exec.enabled": "true"})
        self.assertIn("exec-service-account: ns/berth-exec", objects["ConfigMap", "berth"]["data"]["berthd.yaml"])
        self.assertIs(objects["ServiceAccount", "berth-exec"]["automountServiceAccountToken"], False)
        rules = objects["ClusterRole", "ns:berth:exec"]["rules"]
        self.assertEqual(rules, [{"apiGroups": [""], "resources": ["pods/exec", "pods/portforward"], "verbs": ["get", "create"]}])
        bound = [one for (kind, _), one in objects.items() if kind.endswith("RoleBinding")
                 and any(subject["name"] == "berth-exec" for subject in one["subjects"])]
        self.assertEqual([one["roleRef"]["name"] for one in bound], ["ns:berth:exec"])
        # berth's own account may do none of it, and gets tokens of the other one alone.
        others = [rule for (kind, name), one in objects.items() if kind in ("ClusterRole", "Role") and name != "ns:berth:exec"
                  for rule in one["rules"]]
        self.assertFalse([rule for rule in others if set(rule["resources"]) & {"pods/exec", "pods/portforward", "pods/attach", "*"}])
        tokens = [rule for rule in others if "serviceaccounts/token" in rule["resources"]]
        self.assertEqual([rule.get("resourceNames") for rule in tokens], [["berth-exec"]])
        for policy in ("ns-berth-exec", "ns-berth-tokens"):
            self.assertEqual(objects["ValidatingAdmissionPolicy", policy]["spec"]["failurePolicy"], "Fail")
            self.assertEqual(objects["ValidatingAdmissionPolicyBinding", policy]["spec"]["validationActions"], ["Deny"])
        self.assertIn("system:serviceaccount:ns:berth-exec",
                      objects["ValidatingAdmissionPolicy", "ns-berth-exec"]["spec"]["matchConditions"][0]["expression"])

    @unittest.skipIf(BERTHD is None, "no berthd was named")
    def test_berthd_accepts_what_it_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            for name, text in (("internal-secret", secrets.token_hex(32)), ("keys.json", "{}"), ("password", "x"),
                               ("address", "postgresql://berth@pg/berth?sslmode=verify-full")):
                (place / name).write_text(text + "\n")
            for values in ({}, CLOUD_NATIVE, PATRONI, SECRET):
                text = rendered(values)["ConfigMap", "berth"]["data"]["berthd.yaml"]
                for there in ("/etc/berth/secrets", "/etc/berth/keys", "/etc/berth/database"):
                    text = text.replace(f"{there}/", f"{place}/")
                (place / "berthd.yaml").write_text(text)
                command = [BERTHD, "config", "check", "--config", place / "berthd.yaml"]
                done = subprocess.run(command, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    if HELM is None:
        print("skipped: there is no helm; tests/kube/cluster build gets one")
        sys.exit(SKIPPED)
    unittest.main()
