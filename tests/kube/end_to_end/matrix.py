"""Every path between a tenant's pod and everything around it, tried from real pods: which of them are open."""
import concurrent.futures
import dataclasses
import json
import os
import socket
import time
import unittest

from .berthd import PATIENCE, Operator
from .cluster import REGISTRY, page, serves
from .enforcement import without_enforcement
from .outside import AZURE, INTERNET, METADATA, NODE_PUBLIC, ORACLE, PRIVATE, Outside
from .waiting import eventually
from .world import World

IMAGE = f"{REGISTRY}/stranger:1"
PORT, OTHER_PORT = 3000, 3999  # what a stranger's container listens on; only the first is its app's
NODE, GATEWAY, API_SERVICE, DNS_SERVICE = "10.250.0.1", "10.244.0.1", "10.96.0.1", "10.96.0.10"
WEB, WEB_SECURE, WEB_METRICS = 8000, 8443, 8082  # Traefik's ports, tests/kube/lib/traefik.yaml
DNS_HEALTH = 8080  # a port of CoreDNS, tests/kube/lib/cluster-dns.yaml
SILENCE = 3  # seconds without an answer; the kernel repeats a lost packet after one
INGRESS = "ingress"  # the namespace of the ingress controller
RUN_LIMIT, RUN_TARGETS = 300, 40  # seconds of a run that tries paths, and how many it tries
ROUNDS, REQUESTS = 5, 60  # of the measurement, with and without enforcement
OPEN, SHUT = "open", "shut"
# Pods that stand for others, and their namespaces. They need no policy of their own.
STAND_INS = {"platform": "berth-e2e-platform", "monitoring": "berth-e2e-monitoring", "anybody": "berth-e2e-anybody",
             "system": "kube-system", "ingress": INGRESS}


@dataclasses.dataclass(frozen=True)
class Path:
    source: str
    to: str      # what it leads to, for people
    target: str  # protocol/address/port
    want: str


def state_of(result):
    """Returns whether a packet got through, from what tests/kube/programs/reach.c printed."""
    return OPEN if result in ("answer", "refused") else SHUT


def pod_of_image(name, namespace):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
            "spec": {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "app", "image": IMAGE}]}}


@unittest.skipUnless(os.geteuid() == 0, "addresses of this machine are made, which only root may")
class Matrix(World):
    flags = ("--cluster-ranges", f"{NODE_PUBLIC}/32", "--ingress-namespace", INGRESS)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.enterClassContext(Outside())
        cls.ben = Operator(cls.berthd, "ben")
        cls.pods = {}  # who → namespace, name, address
        for role, namespace in STAND_INS.items():
            cls.stand_in(role, namespace)
        cls.shops = {}  # who → deployment
        for who, operator, name in (("ada", cls.ada, "matrix-a"), ("ada's other", cls.ada, "matrix-own"), ("ben", cls.ben, "matrix-b")):
            cls.shops[who] = operator.deploy(name, IMAGE)
            operator.wait(cls.shops[who], "running")
            cls.pods[who] = cls.find(operator.namespace, f"app.kubernetes.io/name={name}")
        for role, namespace in STAND_INS.items():
            cls.cluster.kubectl("wait", "--for=condition=Ready", f"pod/berth-e2e-{role}", "-n", namespace, "--timeout=60s")
            cls.pods[role] = cls.find(namespace, f"app=berth-e2e-{role}")
        cls.pods["Traefik"] = cls.find(INGRESS, "app=traefik")
        cls.pods["CoreDNS"] = cls.find("kube-system", "app=coredns")

    @classmethod
    def stand_in(cls, role, namespace):
        kubectl = cls.cluster.kubectl
        if not cls.cluster.get(f"/api/v1/namespaces/{namespace}"):
            kubectl("create", "namespace", namespace)
            cls.addClassCleanup(kubectl, "delete", "namespace", namespace, "--wait=false")
        pod = pod_of_image(f"berth-e2e-{role}", namespace)
        kubectl("delete", "pod", pod["metadata"]["name"], "-n", namespace, "--ignore-not-found", "--grace-period=0")
        eventually(lambda: not kubectl("get", "serviceaccount", "default", "-n", namespace, "--ignore-not-found").isspace(),
                   "the namespace has an account", PATIENCE)
        kubectl("create", "-f", "-", input=json.dumps(pod))
        cls.addClassCleanup(kubectl, "delete", "pod", pod["metadata"]["name"], "-n", namespace, "--wait=false", "--ignore-not-found")

    @classmethod
    def find(cls, namespace, label):
        pod = cls.cluster.list("pods", "-l", label, f"--field-selector=metadata.namespace={namespace}")[0]
        return namespace, pod["metadata"]["name"], pod["status"]["podIP"]

    def to(self, who, port=PORT, protocol="tcp"):
        return f"{protocol}/{self.pods[who][2]}/{port}"

    def execute(self, who, *command):
        namespace, pod, _ = self.pods[who]
        return self.cluster.kubectl("exec", "-n", namespace, pod, "--", *command)

    def link_address(self, who):
        """Returns the pod's IPv6 address on its link; nothing if it has none."""
        for line in self.execute(who, "/bin/busybox", "cat", "/proc/net/if_inet6").splitlines():
            digits, *_, interface = line.split()
            if interface == "eth0" and digits.startswith("fe80"):
                return socket.inet_ntop(socket.AF_INET6, bytes.fromhex(digits)) + "%eth0"
        return None

    def paths(self):
        yield Path("ada", "own app's other pod", self.to("ada's other"), OPEN)
        yield Path("ada's other", "own app's other pod", self.to("ada"), OPEN)
        yield from self.paths_between_tenants("ada", "ben")
        yield from self.paths_between_tenants("ben", "ada")
        for who in ("ada", "ben"):
            yield from self.paths_out_of(who)
        for who in ("ada", "ben"):
            yield from self.paths_into(who)

    def paths_between_tenants(self, one, other):
        yield Path(one, "another tenant's pod", self.to(other), SHUT)
        yield Path(one, "another tenant's pod, another port", self.to(other, OTHER_PORT), SHUT)
        yield Path(one, "another tenant's pod, UDP", self.to(other, protocol="udp"), SHUT)
        service = self.cluster.list("services", f"--field-selector=metadata.namespace={self.pods[other][0]}")[0]
        yield Path(one, "another tenant's Service", f"tcp/{service['spec']['clusterIP']}/80", SHUT)
        link = self.link_address(other)
        if link:
            yield Path(one, "another tenant's pod, by its link's IPv6", f"tcp/{link}/{PORT}", SHUT)

    def paths_out_of(self, who):
        for protocol in ("udp", "tcp"):
            yield Path(who, f"cluster DNS, {protocol.upper()}", self.to("CoreDNS", 53, protocol), OPEN)
            yield Path(who, f"cluster DNS, Service, {protocol.upper()}", f"{protocol}/{DNS_SERVICE}/53", OPEN)
        yield Path(who, "cluster DNS, another port", self.to("CoreDNS", DNS_HEALTH), SHUT)
        yield Path(who, "kube-system", self.to("system"), SHUT)
        yield Path(who, "berthd's pod, API", self.to("platform", 8080), SHUT)
        yield Path(who, "berthd's pod, metrics", self.to("platform", 9090), SHUT)
        yield Path(who, "monitoring", self.to("monitoring", 9090), SHUT)
        yield Path(who, "any other namespace", self.to("anybody"), SHUT)
        yield Path(who, "API server, node's address", f"tcp/{NODE}/6443", SHUT)
        yield Path(who, "API server, Service", f"tcp/{API_SERVICE}/443", SHUT)
        yield Path(who, "API server, gateway", f"tcp/{GATEWAY}/6443", SHUT)
        yield Path(who, "API server, node's public address", f"tcp/{NODE_PUBLIC}/6443", SHUT)
        yield Path(who, "kubelet, node's address", f"tcp/{NODE}/10250", SHUT)
        yield Path(who, "kubelet, gateway", f"tcp/{GATEWAY}/10250", SHUT)
        yield Path(who, "kubelet, node's public address", f"tcp/{NODE_PUBLIC}/10250", SHUT)
        yield Path(who, "gateway, port 80", f"tcp/{GATEWAY}/80", SHUT)
        yield Path(who, "registry of the node, gateway", f"tcp/{GATEWAY}/5000", SHUT)
        yield Path(who, "node's SSH", f"tcp/{NODE}/22", SHUT)
        yield Path(who, "node's DNS, UDP", f"udp/{NODE}/53", SHUT)
        yield Path(who, "metadata", f"tcp/{METADATA}/80", SHUT)
        yield Path(who, "metadata of Azure", f"tcp/{AZURE}/80", SHUT)
        yield Path(who, "metadata of Oracle", f"tcp/{ORACLE}/80", SHUT)
        for address in PRIVATE:
            yield Path(who, "private networks", f"tcp/{address}/443", SHUT)
        yield Path(who, "internet, HTTPS", f"tcp/{INTERNET}/443", OPEN)
        yield Path(who, "internet, submission of mail", f"tcp/{INTERNET}/587", OPEN)
        yield Path(who, "internet, HTTP/3", f"udp/{INTERNET}/443", OPEN)
        yield Path(who, "internet, SMTP", f"tcp/{INTERNET}/25", SHUT)
        for port in (WEB, WEB_SECURE):
            yield Path(who, "ingress controller", self.to("Traefik", port), OPEN)
        yield Path(who, "ingress controller, metrics", self.to("Traefik", WEB_METRICS), SHUT)

    def paths_into(self, who):
        yield Path("ingress", f"{who}'s app", self.to(who), OPEN)
        yield Path("node", f"{who}'s app (probes)", self.to(who), OPEN)
        yield Path("ingress", f"{who}'s other ports", self.to(who, OTHER_PORT), SHUT)
        for source in ("monitoring", "platform", "anybody", "system"):
            yield Path(source, f"{who}'s app", self.to(who), SHUT)
            yield Path(source, f"{who}'s other ports", self.to(who, OTHER_PORT), SHUT)

    def reach(self, source, targets):
        """Tries the targets. Returns the result of each."""
        if source == "node":
            return {target: self.reach_from_here(target) for target in targets}
        lines = self.execute(source, "/bin/reach", SILENCE, *targets).splitlines()
        return dict(line.split(" ", 1) for line in lines)

    @staticmethod
    def reach_from_here(target):
        _, address, port = target.split("/")
        try:
            with socket.create_connection((address, int(port)), timeout=SILENCE):
                return "answer"
        except OSError as error:
            return str(error)

    def measure(self, paths):
        """Tries all paths, those of different pods at the same time. Returns the result of each."""
        by_source = {}
        for path in paths:
            by_source.setdefault(path.source, []).append(path.target)
        with concurrent.futures.ThreadPoolExecutor(len(by_source)) as pool:
            found = dict(zip(by_source, pool.map(self.reach, by_source, by_source.values())))
        return {path: found[path.source][path.target] for path in paths}

    @staticmethod
    def show(results):
        lines = [f"      {path.source:<12} → {path.to:<42} {path.target:<28} wanted {path.want:<5} got {state_of(result)} ({result})"
                 for path, result in results.items()]
        print("\n".join(lines), flush=True)

    @staticmethod
    def wrong(results):
        """Returns the paths that aren't as wanted."""
        return [f"{path.source} → {path.to} ({path.target}): {result}" for path, result in results.items()
                if state_of(result) != path.want]

    def test_1_every_path(self):
        results = self.measure(list(self.paths()))
        self.show(results)
        as_wanted = sum(state_of(result) == path.want for path, result in results.items())
        print(f"      {as_wanted} of {len(results)} paths are as wanted", flush=True)
        self.assertEqual(self.wrong(results), [])

    def test_2_without_enforcement_they_are_open(self):
        """Otherwise a path that is shut would prove nothing."""
        with without_enforcement():
            results = self.measure(list(self.paths()))
        opened = sum(path.want == SHUT for path in results)
        print(f"      without enforcement, {opened} forbidden paths are open", flush=True)
        self.assertEqual([f"{path.source} → {path.to} ({path.target}): {result}" for path, result in results.items()
                          if state_of(result) != OPEN], [])

    def test_3_after_a_restart_of_the_policy_engine(self):
        self.addCleanup(self.cluster.start_part, "network-policies")
        self.cluster.stop_part("network-policies")
        paths = list(self.paths())
        opened = [path.to for path, result in self.measure(paths).items() if state_of(result) == OPEN and path.source != "node"]
        self.assertEqual(opened, [], "without the engine, nothing may be open")
        self.cluster.start_part("network-policies")
        self.assertEqual(self.wrong(self.measure(paths)), [])

    def test_4_names(self):
        said = self.execute("ada", "/bin/busybox", "nslookup", "kubernetes.default.svc.cluster.local")
        self.assertIn(API_SERVICE, said)

    def test_5_the_cost_of_enforcement(self):
        """The app's web server closes each connection, so that the engine decides on every request."""
        serves("matrix-a", "hello from a stranger")
        times = {True: [], False: []}
        for _ in range(ROUNDS):
            times[True] += self.request_times()
            with without_enforcement():
                times[False] += self.request_times()
        with_it, without = (sorted(times[enforced])[len(times[enforced]) // 2] for enforced in (True, False))
        print(f"      a request through Traefik takes {1000 * with_it:.2f} ms with enforcement and {1000 * without:.2f} ms without "
              f"(medians of {len(times[True])}): {with_it / without:.2f} times as long", flush=True)

    @staticmethod
    def request_times():
        times = []
        for _ in range(REQUESTS):
            began = time.monotonic()
            status, _ = page("matrix-a")
            times.append(time.monotonic() - began)
            assert status == 200, status
        return times

    def test_6_the_first_second_of_a_pod(self):
        targets = [self.to("ben"), f"tcp/{NODE}/6443", f"tcp/{METADATA}/80", f"tcp/{PRIVATE[0]}/443"]
        early = self.ada.deploy("early-bird", IMAGE, env_vars={"EARLY": " ".join(targets)})
        self.ada.wait(early, "running")
        pod = self.find(self.ada.namespace, f"berth/deployment={early}")[1]
        said = lambda: self.cluster.kubectl("logs", "-n", self.ada.namespace, pod)  # noqa: E731
        eventually(lambda: "over" in said().splitlines(), "its first seconds are over", PATIENCE, seen=said)
        through = [line for line in said().splitlines() if line != "over"]
        print(f"      attempts of a new pod that got through: {len(through)}", flush=True)
        self.ada.delete(early)
        self.assertEqual(through, [])

    def run_of_ada(self, *command):
        """Runs the command once in a pod of its own. Returns what it wrote."""
        runs = f"/{self.shops['ada']}/runs"
        run = self.ada.ask("POST", runs, {"command": list(command), "timeout_seconds": RUN_LIMIT})["run"]["id"]
        seen = lambda: self.ada.ask("GET", f"{runs}/{run}")["run"]  # noqa: E731
        eventually(lambda: seen()["status"] not in ("pending", "running"), "the run is over", RUN_LIMIT + PATIENCE, seen=seen)
        return self.ada.ask("GET", f"{runs}/{run}/logs")

    def test_7_a_run_reaches_what_its_app_reaches(self):
        paths = [path for path in self.paths() if path.source == "ada"]
        results = {}
        for start in range(0, len(paths), RUN_TARGETS):
            some = paths[start:start + RUN_TARGETS]
            said = self.run_of_ada("/bin/reach", str(SILENCE), *(path.target for path in some))
            found = dict(line.split(" ", 1) for line in said.splitlines())
            results.update({path: found[path.target] for path in some})
        self.show(results)
        self.assertEqual(self.wrong(results), [])

    def test_8_nobody_reaches_a_run(self):
        runs = f"/{self.shops['ada']}/runs"
        run = self.ada.ask("POST", runs, {"command": ["/bin/busybox", "httpd", "-f", "-p", str(PORT), "-h", "/www"]})["run"]["id"]
        self.addCleanup(self.ada.ask, "DELETE", f"{runs}/{run}")
        eventually(lambda: self.ada.ask("GET", f"{runs}/{run}")["run"]["status"] == "running", "it runs", PATIENCE)
        self.pods["a run"] = self.find(self.ada.namespace, f"berth/run={run}")
        paths = [Path("ada", "its own app's run", self.to("a run"), OPEN)]
        paths += [Path(source, "a run", self.to("a run"), SHUT) for source in ("ben", "ingress", "monitoring", "platform", "anybody")]
        results = self.measure(paths)
        self.show(results)
        self.assertEqual(self.wrong(results), [])
