"""A WebSocket client (RFC 6455) with what the tests of sessions need. A message is one frame."""
import base64
import os
import socket
import struct
import urllib.parse

HEAD_LIMIT = 64 * 1024


class NotUpgraded(Exception):
    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status = status


class WebSocket:
    """Used in a `with` block, which closes the connection without a closing handshake."""

    def __init__(self, url, headers=None, protocol=None, context=None, limit=30):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=limit)
        self.rest = b""
        try:
            if parts.scheme == "https":
                self.socket = context.wrap_socket(self.socket, server_hostname=parts.hostname)
            self.shake_hands(parts, headers or {}, protocol)
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def shake_hands(self, parts, headers, protocol):
        lines = [f"GET {parts.path}?{parts.query} HTTP/1.1", f"Host: {parts.netloc}", "Connection: Upgrade", "Upgrade: websocket",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode()]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if protocol:
            lines.append(f"Sec-WebSocket-Protocol: {protocol}")
        self.socket.sendall("\r\n".join(lines + ["", ""]).encode())
        while b"\r\n\r\n" not in self.rest and len(self.rest) < HEAD_LIMIT:
            part = self.socket.recv(4096)
            if not part:
                break
            self.rest += part
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1]) if head.count(b" ") > 1 else 0
        if status != 101:
            raise NotUpgraded(status, self.rest.decode(errors="replace"))

    def take(self, size):
        while len(self.rest) < size:
            part = self.socket.recv(65536)
            if not part:
                raise EOFError
            self.rest += part
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def send(self, data, opcode=2):
        size = len(data)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        mask = os.urandom(4)
        repeated = mask * (size // 4 + 1)
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(repeated[:size], "big")).to_bytes(size, "big")
        self.socket.sendall(head + mask + masked)

    def receive(self):
        """Returns the next message; None at the end. Answers pings, and puts fragments together."""
        message = b""
        while True:
            try:
                first, second = self.take(2)
                size = second & 0x7F
                if size > 125:
                    size = int.from_bytes(self.take(2 if size == 126 else 8), "big")
                data = self.take(size)
            except (EOFError, ConnectionError):
                return None
            opcode = first & 0x0F
            if opcode == 8:
                return None
            if opcode == 9:
                self.send(data, opcode=10)
            if opcode < 3:
                message += data
                if first & 0x80:
                    return message
