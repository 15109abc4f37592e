"""Growing, with the API server of a second machine's berthd in the place of a cluster: containers are real there, too, and
no Kubernetes is needed. tests/kube/e2e runs the same test with a real one."""
from addresses import free_port
from end_to_end import growing
from end_to_end.berthd import Berthd
from end_to_end.cluster import flags_of
from node import Node


class SecondMachine(growing.Growing):
    def cluster(self):
        class Target(Node):
            place = ("127.0.0.1", free_port())

        target = Target()
        target.berthd = Berthd(target)
        self.addCleanup(target.berthd.__exit__)
        return flags_of(target.berthd.data / "local/kubeconfig"), target.place
