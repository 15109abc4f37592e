"""The world around the cluster, in a network namespace of this machine: nothing leaves the machine. Addresses that exist
there refuse connections, which proves that a packet arrived."""
from .cluster import run

NAME = "berth-outside"
HERE, THERE = "10.251.0.1", "10.251.0.2"  # the two ends of the link to it
# Addresses of example.com in earlier years, which nothing on this machine needs.
INTERNET, NODE_PUBLIC = "93.184.216.34", "93.184.215.14"
METADATA = "169.254.169.254"
AZURE, ORACLE = "168.63.129.16", "192.0.0.192"  # public addresses that clouds use for their metadata
PRIVATE = ("10.9.9.9", "172.16.9.9", "192.168.9.9", "100.64.9.9")
NODE_BRIDGE = "berth-node"


class Outside:
    """Used in a `with` block; requires root. The node gets a public address of its own, which is inside of the cluster."""

    def __enter__(self):
        self.__exit__()
        run("ip", "netns", "add", NAME)
        run("ip", "link", "add", NAME, "type", "veth", "peer", "name", "eth0", "netns", NAME)
        run("ip", "address", "add", f"{HERE}/30", "dev", NAME)
        run("ip", "link", "set", NAME, "up")
        self.inside("ip", "address", "add", f"{THERE}/30", "dev", "eth0")
        for interface in ("eth0", "lo"):
            self.inside("ip", "link", "set", interface, "up")
        self.inside("ip", "route", "add", "default", "via", HERE)
        for address in (INTERNET, METADATA, AZURE, ORACLE, *PRIVATE):
            self.inside("ip", "address", "add", f"{address}/32", "dev", "lo")
            run("ip", "route", "add", f"{address}/32", "via", THERE)
        run("ip", "address", "add", f"{NODE_PUBLIC}/32", "dev", NODE_BRIDGE)
        return self

    def __exit__(self, *_):
        run("ip", "address", "delete", f"{NODE_PUBLIC}/32", "dev", NODE_BRIDGE, check=False)
        run("ip", "link", "delete", NAME, check=False)  # its routes end with it
        run("ip", "netns", "delete", NAME, check=False)

    @staticmethod
    def inside(*words, **options):
        """Runs a command there."""
        return run("ip", "netns", "exec", NAME, *words, **options)
