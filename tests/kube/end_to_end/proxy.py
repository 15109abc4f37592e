"""A way to the API server that can be cut, and closed."""
import contextlib
import pathlib
import select
import socket
import struct
import tempfile
import threading

API_SERVER = ("127.0.0.1", 6443)
CHUNK = 1 << 16
TICK = 0.2  # seconds until a thread notices that it should end
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends a reset (socket(7))


class Proxy:
    """A TCP port in front of the API server: TLS passes through it. Use as a context."""

    def __init__(self, cluster):
        self.lock = threading.Lock()
        self.pairs = set()
        self.accepted = 0
        self.port = 0
        self.open()
        self.folder = tempfile.TemporaryDirectory(prefix="berthd-e2e-")
        self.kubeconfig = pathlib.Path(self.folder.name) / "kubeconfig"
        there, here = "%s:%d" % API_SERVER, "127.0.0.1:%d" % self.port
        self.kubeconfig.write_text(cluster.berth.read_text().replace(there, here))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self.folder.cleanup()

    def open(self):
        listener = socket.create_server(("127.0.0.1", self.port))
        listener.settimeout(TICK)
        self.port = listener.getsockname()[1]
        self.is_open = True
        self.acceptor = threading.Thread(target=self.accept, args=(listener,), daemon=True)
        self.acceptor.start()

    def close(self):
        """As if the API server were down: nobody listens, and what was open is broken."""
        self.is_open = False
        self.acceptor.join()
        self.cut()

    def cut(self):
        """Breaks all connections that are open; how many. New ones are let through."""
        with self.lock:
            pairs = set(self.pairs)
        for near, far in pairs:
            with contextlib.suppress(OSError):
                near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            for end in (near, far):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        return len(pairs)

    def accept(self, listener):
        with listener:
            while self.is_open:
                with contextlib.suppress(OSError):  # nobody came, or the API server isn't there
                    self.connect(listener.accept()[0])

    def connect(self, near):
        try:
            pair = (near, socket.create_connection(API_SERVER))
        except OSError:
            near.close()
            raise
        with self.lock:
            self.pairs.add(pair)
            self.accepted += 1
        threading.Thread(target=self.carry, args=(pair,), daemon=True).start()

    def carry(self, pair):
        with contextlib.suppress(OSError, ValueError):  # one of the two was closed
            while self.pass_on(pair):
                pass
        with self.lock:
            self.pairs.discard(pair)
        for end in pair:
            end.close()

    def pass_on(self, pair):
        """What has come, to the other side; False at an end."""
        for end in select.select(pair, [], [], TICK)[0]:
            data = end.recv(CHUNK)
            if not data:
                return False
            pair[1 - pair.index(end)].sendall(data)
        return True
