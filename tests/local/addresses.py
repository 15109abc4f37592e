"""Where the registry and the ingress of the tests are: on free ports of 127.0.0.1. tests/kube/end_to_end/cluster.py reads
the two variables when it is imported, so this file has to come first."""
import os
import socket


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


REGISTRY = os.environ.setdefault("BERTH_E2E_REGISTRY", f"127.0.0.1:{free_port()}")
INGRESS_PORT = int(os.environ.setdefault("BERTH_E2E_INGRESS_PORT", str(free_port())))
