"""The rules that bring the pods' traffic to the policy engine (tests/kube/lib/network_policies.sh)."""
import contextlib

from .cluster import run

CHAINS = (("iptables", "NETPOL"), ("iptables", "NETPOL-NODE"), ("ip6tables", "FORWARD"), ("ip6tables", "INPUT"))


@contextlib.contextmanager
def without_enforcement():
    """Lets all traffic through, as on a cluster whose network plugin ignores NetworkPolicies. Requires root."""
    rules = [(tool, chain, "-j", "ACCEPT") for tool, chain in CHAINS]
    with contextlib.ExitStack() as undo:
        for tool, *rule in rules:
            run(tool, "-w", "-t", "mangle", "-I", *rule)
            undo.callback(run, tool, "-w", "-t", "mangle", "-D", *rule)
        yield
