"""Tests of objects that the API server refuses: what berth does then, and what the deployment's owner is told."""
import base64
import json

from .cluster import REGISTRY, serves
from .waiting import eventually
from .webhook import Webhook
from .world import World

DEPLOYMENTS = ("apps", "v1", "deployments")
PODS = ("", "v1", "pods")
LIMIT = 30  # seconds from the creation to the reason
AGAIN = 120  # seconds; what was refused is tried again after 30, a ReplicaSet's controller backs off by itself
ALREADY, CONFLICT = (409, "AlreadyExists"), (409, "Conflict")


def refusal(code, reason, message):
    return {"allowed": False, "status": {"code": code, "reason": reason, "message": message}}


class Admission(World):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.neighbour = cls.ada.deploy("neighbour")  # creates the namespace
        cls.ada.wait(cls.neighbour, "running")

    def webhook(self, kind, answer, **more):
        webhook = self.enterContext(Webhook(self.cluster, self.berthd.instance(), kind, answer, **more))
        # The result of the dry run doesn't matter: PodSecurity refuses this pod after the webhook was asked.
        probe = ["create", "deployment", "probe"] if kind == DEPLOYMENTS else ["run", "probe"]
        eventually(lambda: (self.dry_run(*probe, "hello:1"), webhook.probed)[1], "the API server asks the webhook", 30,
                   pause=0.2)
        return webhook

    def dry_run(self, *words):
        """Runs a kubectl command with the image as a dry run. Returns its output, or nothing if the API server refuses
        it."""
        return self.cluster.kubectl(*words[:-1], f"--image={REGISTRY}/{words[-1]}", "--dry-run=server",
                                    "-n", self.ada.namespace, check=False)

    def reason(self, deployment, reason, *words):
        eventually(lambda: self.ada.status(deployment)["reason"] == reason, reason, LIMIT,
                   seen=lambda: self.ada.status(deployment))
        seen = self.ada.status(deployment)
        self.assertEqual(seen["status"], "errored")
        for word in words:
            self.assertIn(word, seen["message"])

    def test_a_first_apply_that_is_answered_with_409(self):
        # One error that the API server passes on at once, and more of those that it retries than it retries.
        answers = [ALREADY] + 8 * [CONFLICT]

        def answer(request):
            if request["operation"] == "CREATE" and answers:
                return refusal(*answers.pop(0), "somebody was faster")
            return {"allowed": True}

        webhook = self.webhook(DEPLOYMENTS, answer)
        states = set()
        shop = self.ada.deploy("contested")
        eventually(lambda: states.add(self.ada.status(shop)["status"]) or "running" in states, "it runs", 60,
                   seen=lambda: self.ada.status(shop))
        self.assertNotIn("errored", states)
        self.assertEqual(answers, [])
        self.assertGreater(len(webhook.asked), 9)
        serves("contested", "hello from a real container")
        self.ada.delete(shop)

    def test_a_webhook_that_denies(self):
        denies = True
        webhook = self.webhook(DEPLOYMENTS, lambda request: refusal(403, "Forbidden", "this platform is closed on Sundays")
                               if denies else {"allowed": True})
        shop = self.ada.deploy("denied")
        self.reason(shop, "cluster_refused", "denied the request", "closed on Sundays")
        self.assertEqual(self.ada.status(self.neighbour)["status"], "running")
        denies = False
        self.ada.wait(shop, "running", AGAIN)
        self.assertIsNone(self.ada.status(shop)["reason"])
        self.assertGreater(len(webhook.asked), 1)
        self.ada.delete(shop)

    def test_a_webhook_that_fails(self):
        """An error of the server isn't a refusal, and may pass; if it doesn't, the owner learns who fails."""
        fails = True
        self.webhook(DEPLOYMENTS, lambda request: refusal(500, "InternalError", "out of order") if fails else {"allowed": True})
        shop = self.ada.deploy("failing")
        eventually(lambda: self.ada.status(shop)["reason"] == "cluster_refuses_writes", "the reason", LIMIT + 30,
                   seen=lambda: self.ada.status(shop))
        seen = self.ada.status(shop)
        self.assertEqual((seen["status"], seen["phase"]), ("pending", "waiting for the cluster"))
        self.assertTrue(seen["message"].startswith("the admission webhook test.berth.example fails, with the status 500: "), seen)
        self.assertEqual(self.ada.status(self.neighbour)["status"], "running")
        fails = False
        self.ada.wait(shop, "running", AGAIN)
        self.assertIsNone(self.ada.status(shop)["reason"])
        self.ada.delete(shop)

    def test_a_policy_that_denies(self):
        instance = self.berthd.instance()
        policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
                  "metadata": {"name": instance},
                  "spec": {"failurePolicy": "Fail",
                           "matchConstraints": {"resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"],
                                                                   "operations": ["CREATE", "UPDATE"],
                                                                   "resources": ["deployments"]}]},
                           "validations": [{"expression": "!object.spec.template.spec.containers.exists(c, "
                                                          "c.image.contains('hello:2'))",
                                            "message": "hello:2 has a hole"}]}}
        binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
                   "metadata": {"name": instance},
                   "spec": {"policyName": instance, "validationActions": ["Deny"], "matchResources": {
                       "namespaceSelector": {"matchLabels": {"berth/instance": instance}}}}}
        for item in (policy, binding):
            self.cluster.kubectl("create", "-f", "-", input=json.dumps(item))
            self.addCleanup(self.cluster.kubectl, "delete", item["kind"], instance)
        eventually(lambda: not self.dry_run("create", "deployment", "probe", "hello:2"), "the API server knows the policy", 30,
                   pause=0.2)
        shop = self.ada.deploy("holed", f"{REGISTRY}/hello:2")
        self.reason(shop, "cluster_refused", "hello:2 has a hole")
        self.ada.delete(shop)

    def test_pod_security_refuses_what_somebody_makes_of_a_pod(self):
        patch = [{"op": "add", "path": "/spec/containers/0/securityContext/allowPrivilegeEscalation", "value": True}]

        def answer(request):
            if "cracked" not in request["object"]["metadata"]["labels"].get("app.kubernetes.io/name", ""):
                return {"allowed": True}
            return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}

        webhook = self.webhook(PODS, answer, mutating=True)
        shop = self.ada.deploy("cracked")
        self.reason(shop, "cluster_refused", 'violates PodSecurity "restricted', "allowPrivilegeEscalation")
        self.assertGreater(len(webhook.asked), 1)
        self.ada.delete(shop)
