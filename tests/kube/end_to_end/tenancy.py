"""Tests of the isolation between an app's owner (the tenant) and everybody else."""
import ipaddress
import json

from .berthd import Operator, Refused
from .cluster import REGISTRY
from .waiting import eventually
from .world import World

SOON = 60  # seconds

POD_LABELS = {"app": "anything"}


def matches(selector, labels):
    """Returns whether a label selector matches the labels (kubernetes.io, "Labels and Selectors")."""
    def holds(term):
        value = labels.get(term["key"])
        return {"In": value in term.get("values", []), "NotIn": value not in term.get("values", []),
                "Exists": value is not None, "DoesNotExist": value is None}[term["operator"]]
    return (all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
            and all(holds(term) for term in selector.get("matchExpressions", [])))


class Rules:
    """The traffic that a namespace's network policies allow, as a network plugin would interpret them (kubernetes.io,
    "Network Policies")."""

    def __init__(self, namespace, policies):
        self.namespace, self.policies = namespace, policies

    def allows(self, direction, peer, protocol="TCP", port=3000):
        """Returns whether the traffic is allowed. `peer` is an address, or a pair of a namespace's name and labels,
        which stands for any pod in that namespace."""
        concerned = [policy["spec"] for policy in self.policies
                     if direction in policy["spec"]["policyTypes"] and matches(policy["spec"]["podSelector"], POD_LABELS)]
        return not concerned or any(self.rule_allows(rule, direction, peer, (protocol, port))
                                    for spec in concerned for rule in spec.get(direction.lower(), []))

    def rule_allows(self, rule, direction, peer, where):
        ports = rule.get("ports", [])
        peers = rule.get({"Ingress": "from", "Egress": "to"}[direction], [])
        return (not ports or any(self.is_port(entry, *where) for entry in ports)) and (not peers or any(self.is_peer(entry, peer) for entry in peers))

    @staticmethod
    def is_port(entry, protocol, port):
        first = {"http": 3000}.get(entry["port"], entry["port"])  # the containers' port has a name
        return entry["protocol"] == protocol and first <= port <= entry.get("endPort", first)

    def is_peer(self, entry, peer):
        if isinstance(peer, str):
            if "ipBlock" not in entry:
                return False
            address = ipaddress.ip_address(peer)
            inside = [address in ipaddress.ip_network(block)
                      for block in [entry["ipBlock"]["cidr"], *entry["ipBlock"].get("except", [])]]
            return inside[0] and not any(inside[1:])
        name, labels = peer
        if "namespaceSelector" in entry:
            return matches(entry["namespaceSelector"], labels)
        return "podSelector" in entry and name == self.namespace


class Tenancy(World):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shop = cls.ada.deploy("fenced")
        cls.ada.wait(cls.shop, "running")

    def namespace(self, name):
        found = self.cluster.get(f"/api/v1/namespaces/{name}")
        return found["metadata"]["name"], found["metadata"]["labels"]

    def test_network_policies(self):
        ben = Operator(self.berthd, "ben")
        other = ben.deploy("neighbour")
        eventually(lambda: self.cluster.of_deployment(other, "deployments.apps"), "the other owner's namespace exists", 60)
        path = f"/apis/networking.k8s.io/v1/namespaces/{self.ada.namespace}/networkpolicies"
        rules = Rules(self.ada.namespace, self.cluster.get(path)["items"])
        own, tenant = self.namespace(self.ada.namespace), self.namespace(ben.namespace)
        system, ingress = self.namespace("kube-system"), self.namespace("cert-manager")
        node = self.cluster.list("nodes")[0]["status"]["addresses"][0]["address"]
        pod = self.cluster.list("pods", "-l", f"berth/deployment={self.shop}")[0]["status"]["podIP"]
        service = self.cluster.get("/api/v1/namespaces/default/services/kubernetes")["spec"]["clusterIP"]
        metadata = "169.254.169.254"

        for peer in (own, ingress):
            self.assertTrue(rules.allows("Ingress", peer), peer)
        for peer in (tenant, "93.184.216.34", node):
            self.assertFalse(rules.allows("Ingress", peer), peer)
        self.assertFalse(rules.allows("Ingress", ingress, port=9000))
        for peer in (own, "93.184.216.34", "2606:2800:220:1::1"):
            self.assertTrue(rules.allows("Egress", peer, port=443), peer)
        for peer in ("93.184.216.34", "2606:2800:220:1::1"):
            self.assertFalse(rules.allows("Egress", peer, port=25), peer)
        for protocol in ("UDP", "TCP"):
            self.assertTrue(rules.allows("Egress", system, protocol, 53))
        self.assertFalse(rules.allows("Egress", system, "TCP", 443))
        for peer in (tenant, ingress, node, pod, service, metadata, "168.63.129.16", "127.0.0.1", "fd00::1", "::1",
                     "64:ff9b::a00:1", "2002:a00:1::"):
            self.assertFalse(rules.allows("Egress", peer, port=443), peer)
        ben.delete(other)

    def test_no_token_for_the_api_server(self):
        pod = self.cluster.list("pods", "-l", f"berth/deployment={self.shop}")[0]
        self.assertEqual(pod["spec"]["serviceAccountName"], "tenant")
        self.assertFalse(pod["spec"]["automountServiceAccountToken"])
        self.assertEqual([volume["name"] for volume in pod["spec"]["volumes"]], ["tmp"])
        inside = self.cluster.kubectl("exec", "-n", self.ada.namespace, pod["metadata"]["name"], "--",
                                      "/bin/busybox", "sh", "-c", "ls /var/run/secrets 2>&1; true")
        self.assertIn("No such file", inside)
        for verb, what in (("get", "pods"), ("list", "secrets"), ("create", "pods")):
            answer = self.cluster.kubectl("auth", "can-i", verb, what, "-n", self.ada.namespace,
                                          f"--as=system:serviceaccount:{self.ada.namespace}:tenant", check=False)
            self.assertEqual(answer.strip(), "no")

    def test_a_token_for_berth_alone(self):
        shop = self.ada.deploy("proven", identity=True)
        self.ada.wait(shop, "running")
        pod = self.cluster.list("pods", "-l", f"berth/deployment={shop}")[0]
        self.assertEqual(pod["spec"]["serviceAccountName"], f"berth-{shop}")
        shown = self.cluster.kubectl("exec", "-n", self.ada.namespace, pod["metadata"]["name"], "--",
                                     "/bin/busybox", "cat", "/var/run/secrets/berth/token").strip()
        who = f"system:serviceaccount:{self.ada.namespace}:berth-{shop}"
        for verb, what in (("get", "pods"), ("list", "secrets")):
            answer = self.cluster.kubectl("auth", "can-i", verb, what, "-n", self.ada.namespace, f"--as={who}", check=False)
            self.assertEqual(answer.strip(), "no")

        def exchange(token):
            return self.berthd.ask("POST", "/api/oauth/token", {
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": token,
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt"})

        with self.assertRaises(Refused):
            exchange(shown)  # nobody trusts it
        issuer = self.berthd.ask("GET", "/.well-known/oauth-authorization-server")["issuer"]
        self.berthd.ask("POST", f"/api/oauth/my-apps/{self.ada.app['id']}/trusts", {
            "issuer": "berth", "audience": issuer, "claims": {}, "deployments": [shop], "scopes": ["deploy:read"]}, self.ada.session)
        access = {"Authorization": f"Bearer {exchange(shown)['access_token']}"}
        self.assertEqual(self.berthd.ask("GET", f"/api/deploy/apps/{shop}", None, access)["id"], shop)
        with self.assertRaises(Refused):
            self.berthd.ask("GET", f"/api/deploy/apps/{self.shop}", None, access)
        with self.assertRaises(Refused):
            exchange(shown[:-4] + "AAAA")  # another signature
        self.ada.delete(shop)
        with self.assertRaises(Refused):
            self.berthd.ask("GET", f"/api/deploy/apps/{shop}", None, access)

    def refused(self, name, **spec):
        """Returns the API server's message when it refuses a pod in the tenant's namespace."""
        container = {"name": "app", "image": f"{REGISTRY}/hello:1", **spec.pop("container", {})}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": self.ada.namespace},
               "spec": {"containers": [container], **spec}}
        try:
            self.cluster.kubectl("create", "-f", "-", input=json.dumps(pod))
        except RuntimeError as error:
            return str(error)
        self.fail(f"{name} was let in")

    def test_pods_that_the_namespace_refuses(self):
        privileged = self.refused("mighty", container={"securityContext": {"privileged": True}, "resources": {
            "limits": {"cpu": "10m", "memory": "8Mi"}}})
        self.assertIn('violates PodSecurity "restricted', privileged)
        secure = {"runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False,
                  "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}
        large = {"securityContext": secure, "resources": {"limits": {"cpu": "10", "memory": "8Gi"}}}
        self.assertIn("maximum memory usage per Container is", self.refused("large", container=large))

    def test_the_quota_is_for_what_the_operator_deployed(self):
        def hard():
            quota = self.cluster.get(f"/api/v1/namespaces/{self.ada.namespace}/resourcequotas/tenant")
            return [quota["spec"]["hard"][name] for name in ("pods", "limits.memory")]

        # Five for the container, and six for runs. A deployment that another test has just deleted may still count.
        wanted = ["11", str(11 * 64) + "Mi"]
        eventually(lambda: hard() == wanted, f"the quota is {wanted}", SOON, seen=hard)
