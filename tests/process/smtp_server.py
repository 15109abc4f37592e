#!/usr/bin/python3
"""A real SMTP server (Debian's python3-aiosmtpd) on a free port, for the tests of mail.

It appends each accepted mail, parsed by Python's email package, to messages.jsonl in its directory. It writes its port
to the file `port` as soon as it listens. The recipient's name decides how it treats a mail:
  refused…      550, permanently
  later-N…      451 the first N times, then the mail is accepted
  unwanted…     the recipient is accepted, and 554 follows after the content
  slow…         no reply after the content
  lost-N…       the first N times the content is accepted and stored, and the connection is closed without a reply
"""
import argparse
import asyncio
import collections
import email
import email.policy
import json
import pathlib
import ssl
import subprocess

from aiosmtpd.smtp import SMTP, AuthResult

parser = argparse.ArgumentParser()
parser.add_argument("--dir", type=pathlib.Path, required=True)
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--tls", choices=("none", "starttls", "implicit"), default="none")
parser.add_argument("--require-tls", action="store_true")
parser.add_argument("--user")
parser.add_argument("--password")
options = parser.parse_args()


def number_in(name):
    return int(name.split("-")[1].rstrip("abcdefghijklmnopqrstuvwxyz"))


class Handler:
    def __init__(self):
        self.tries = collections.Counter()

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        name = address.split("@")[0]
        if name.startswith("refused"):
            return f"550 5.1.1 <{address}>: nobody has this name"
        if name.startswith("later"):
            self.tries[address] += 1
            if self.tries[address] <= number_in(name):
                return "451 4.7.1 greylisted, come again"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        name = envelope.rcpt_tos[0].split("@")[0]
        if name.startswith("unwanted"):
            return "554 5.7.1 the content isn't wanted"
        if name.startswith("slow"):
            await asyncio.sleep(3600)
        self.keep(server, session, envelope)
        if name.startswith("lost"):
            self.tries[name] += 1
            if self.tries[name] <= number_in(name):
                server.transport.abort()
        return "250 2.0.0 taken"

    def keep(self, server, session, envelope):
        read = email.message_from_bytes(envelope.content, policy=email.policy.default)
        found = {"from": envelope.mail_from, "to": envelope.rcpt_tos,
                 "tls": server.transport.get_extra_info("ssl_object") is not None,
                 "user": session.auth_data.login.decode() if session.auth_data else None,
                 "headers": {key: str(value) for key, value in read.items()}, "names": read.keys(),
                 "defects": [str(defect) for defect in read.defects],
                 "text": read.get_content().replace("\r\n", "\n"),
                 "longest_line": max(len(line) for line in envelope.content.split(b"\r\n")),
                 "bare": envelope.content.replace(b"\r\n", b"").count(b"\n")}
        with open(options.dir / "messages.jsonl", "a") as file:
            file.write(json.dumps(found) + "\n")


def tls_context():
    if options.tls == "none":
        return None
    key, certificate = options.dir / "key.pem", options.dir / "certificate.pem"
    if not key.exists():
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def log_in(server, session, envelope, mechanism, data):
    right = data.login.decode() == options.user and data.password.decode() == options.password
    return AuthResult(success=right, auth_data=data if right else None, handled=False)


async def main():
    context, handler = tls_context(), Handler()

    def connection():
        return SMTP(handler, hostname="mail.example.org", enable_SMTPUTF8=True,
                    tls_context=context if options.tls == "starttls" else None, require_starttls=options.require_tls,
                    authenticator=log_in if options.user else None, auth_required=options.user is not None,
                    auth_require_tls=options.tls == "starttls")

    server = await asyncio.get_running_loop().create_server(
        connection, "127.0.0.1", options.port, ssl=context if options.tls == "implicit" else None)
    written = options.dir / "port.new"
    written.write_text(str(server.sockets[0].getsockname()[1]))
    written.rename(options.dir / "port")
    await server.serve_forever()


asyncio.run(main())
