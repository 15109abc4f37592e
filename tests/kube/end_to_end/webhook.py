"""An admission webhook (kubernetes.io, "Dynamic Admission Control") whose answers the test writes."""
import base64
import http.server
import json
import secrets
import ssl
import threading

TIMEOUT = 5  # seconds for which the API server waits for the webhook


class Webhook:
    """Asked about each creation and change of one kind in one instance's namespaces. Use as a context.

    `answer` gets the AdmissionReview's request and returns what is to stand in the response besides its uid.
    """

    def __init__(self, cluster, instance, kind, answer, mutating=False):
        self.cluster, self.answer = cluster, answer
        self.asked = []  # pairs of an operation and a name
        self.probed = False  # whether a dry run was seen
        self.broken = None
        self.name = "berth-test-" + secrets.token_hex(4)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Uses the certificate of another of the cluster's servers at 127.0.0.1.
        context.load_cert_chain(cluster.state / "pki/pebble.crt", cluster.state / "pki/pebble.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.sort = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
        self.configuration = self.describe(instance, kind)

    def describe(self, instance, kind):
        group, version, plural = kind
        authority = base64.b64encode((self.cluster.state / "pki/ca.crt").read_bytes()).decode()
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": self.sort,
            "metadata": {"name": self.name},
            "webhooks": [{
                "name": "test.berth.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": TIMEOUT,
                "namespaceSelector": {"matchLabels": {"berth/instance": instance}},
                "clientConfig": {"url": "https://127.0.0.1:%d/" % self.server.server_port, "caBundle": authority},
                "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": [group], "apiVersions": [version],
                           "resources": [plural]}]}]}

    def handler(self):
        webhook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                request = review["request"]
                try:
                    answer = webhook.review(request)
                except Exception as error:  # the test says what the server's thread can't
                    webhook.broken = error
                    answer = {"allowed": True}
                review["response"] = {"uid": request["uid"], **answer}
                del review["request"]
                body = json.dumps(review).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    def review(self, request):
        if request.get("dryRun"):
            self.probed = True
            return {"allowed": True}
        self.asked.append((request["operation"], request.get("name") or ""))
        return self.answer(request)

    def __enter__(self):
        self.cluster.kubectl("create", "-f", "-", input=json.dumps(self.configuration))
        return self

    def __exit__(self, *_):
        self.cluster.kubectl("delete", self.sort, self.name, "--ignore-not-found")
        self.server.shutdown()
        self.server.server_close()
        if self.broken:
            raise self.broken
