"""Requests to the ingress controller whose bytes the test chooses."""
import socket

from .cluster import INGRESS

LIMIT = 5  # seconds


def ask_in_bytes(request):
    """Sends the bytes. Returns the first line of what comes back, and all of it; "closed" if nothing does."""
    received = b""
    with socket.create_connection(INGRESS, timeout=LIMIT) as connection:
        connection.sendall(request)
        try:
            while more := connection.recv(1 << 16):
                received += more
        except OSError:  # reset, or too late
            pass
    text = received.decode(errors="replace")
    return (text.splitlines() or ["closed"])[0], text
