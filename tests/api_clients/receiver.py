"""Does what receiver.mjs does, with the library for Python."""

import http.server
import sys
import threading

import standardwebhooks

secret = ""


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = standardwebhooks.Webhook(secret).verify(body, dict(self.headers))
            print("genuine", event["type"], flush=True)
            self.send_response(204)
        except standardwebhooks.WebhookVerificationError as error:
            print("forged:", error, flush=True)
            self.send_response(400)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
for line in sys.stdin:
    secret = line.strip()
