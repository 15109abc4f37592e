#!/usr/bin/env python3
"""Forwards TCP connections on loopback, and fails as networks do. cluster.py runs it as a process of its own, so that
the clients' threads don't slow it down.

Reads lines of JSON: {"name": …, "port": …, "to": PORT} makes a link, {"name": …, "mode": …} changes one. Answers each
with a line. A link passes everything on, hangs (connections stay open and nothing is passed on), or refuses (all
connections are closed, and new ones at once). Ends with its standard input.
"""
import json
import os
import selectors
import socket
import sys

CHUNK = 256 * 1024
WAITING = 512  # connections that a link which hangs has yet to accept


class Side:
    """One of the two sockets of a connection."""

    def __init__(self, link, sock):
        self.link, self.sock, self.peer, self.unsent, self.is_connecting = link, sock, None, b"", False


class Link:
    def __init__(self, selector, port, to):
        self.selector, self.to, self.mode, self.sides = selector, to, "passes", set()
        self.listener = socket.create_server(("127.0.0.1", port), backlog=WAITING)
        self.listener.setblocking(False)
        selector.register(self.listener, selectors.EVENT_READ, self)

    def become(self, mode):
        if mode == "refuses":
            for side in list(self.sides):
                self.close(side)
        if (mode == "hangs") != (self.mode == "hangs"):
            if mode == "hangs":
                self.selector.unregister(self.listener)
            else:
                self.selector.register(self.listener, selectors.EVENT_READ, self)
        self.mode = mode
        for side in self.sides:
            self.watch(side)

    def accept(self):
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        if self.mode == "refuses":
            client.close()
            return
        server = socket.socket()
        one, other = Side(self, client), Side(self, server)
        one.peer, other.peer, other.is_connecting = other, one, True
        for side in (one, other):
            side.sock.setblocking(False)
            side.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sides.add(side)
        server.connect_ex(("127.0.0.1", self.to))
        self.watch(one)
        self.watch(other)

    def watch(self, side):
        """What this side waits for: room if it has something to send, and otherwise data, if the other one has sent
        all that there was."""
        events = 0
        if self.mode == "passes":
            if side.unsent or side.is_connecting:
                events |= selectors.EVENT_WRITE
            if not side.peer.unsent and not side.peer.is_connecting and not side.is_connecting:
                events |= selectors.EVENT_READ
        known = side.sock in self.selector.get_map()
        if events and known:
            self.selector.modify(side.sock, events, side)
        elif events:
            self.selector.register(side.sock, events, side)
        elif known:
            self.selector.unregister(side.sock)

    def work(self, side, events):
        try:
            if events & selectors.EVENT_WRITE:
                if side.is_connecting:
                    if side.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                        return self.close(side)
                    side.is_connecting = False
                if side.unsent:
                    side.unsent = side.unsent[side.sock.send(side.unsent):]
                self.watch(side.peer)
                self.watch(side)
            elif events & selectors.EVENT_READ:
                data = side.sock.recv(CHUNK)
                if not data:
                    return self.close(side)
                side.peer.unsent = data[side.peer.sock.send(data):]
                if side.peer.unsent:
                    self.watch(side.peer)
                    self.watch(side)
        except BlockingIOError:
            if events & selectors.EVENT_READ:
                side.peer.unsent = data
                self.watch(side.peer)
                self.watch(side)
        except OSError:
            self.close(side)

    def close(self, side):
        for one in (side, side.peer):
            if one in self.sides:
                self.sides.discard(one)
                if one.sock in self.selector.get_map():
                    self.selector.unregister(one.sock)
                one.sock.close()


def obey(links, selector, line):
    order = json.loads(line)
    if "to" in order:
        links[order["name"]] = Link(selector, order["port"], order["to"])
    else:
        links[order["name"]].become(order["mode"])
    print("done", flush=True)


def main():
    selector, links, read = selectors.DefaultSelector(), {}, b""
    selector.register(sys.stdin.fileno(), selectors.EVENT_READ, None)
    while True:
        for key, events in selector.select():
            if isinstance(key.data, Link):
                key.data.accept()
            elif isinstance(key.data, Side):
                if key.data in key.data.link.sides:  # it may have been closed by the event before
                    key.data.link.work(key.data, events)
            else:
                data = os.read(sys.stdin.fileno(), CHUNK)
                if not data:
                    return
                *lines, read = (read + data).split(b"\n")
                for line in lines:
                    obey(links, selector, line)


main()
