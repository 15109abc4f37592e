"""Tests of certificates from a real ACME server, for custom domains and for subdomains."""
import http.client
import json
import socket
import ssl
import time
import urllib.request

from .cluster import serves
from .waiting import eventually
from .world import World

LIMIT = 60  # seconds from running, or from the corrected DNS, to a page over HTTPS
ORDERS = "certificates.cert-manager.io,certificaterequests.cert-manager.io,orders.acme.cert-manager.io,challenges.acme.cert-manager.io"


def set_dns(what, **record):
    """Changes the records of the cluster's DNS server, which answers 127.0.0.1 for every other name."""
    request = urllib.request.Request(f"http://127.0.0.1:8055/{what}", json.dumps(record).encode())
    with urllib.request.urlopen(request, timeout=10):
        pass


def roots():
    """Returns the root certificates of the ACME server, which creates new ones whenever it starts."""
    unverified = ssl._create_unverified_context()  # for its management interface on loopback
    with urllib.request.urlopen("https://127.0.0.1:15000/roots/0", timeout=10, context=unverified) as answer:
        return answer.read().decode()


def secure_page(host):
    """Returns the page's status, its text and the name of the certificate's issuer, for a visitor who only trusts the
    ACME server. Returns None if the TLS handshake fails."""
    context = ssl.create_default_context(cadata=roots())
    try:
        with socket.create_connection(("127.0.0.1", 443), timeout=5) as plain:
            with context.wrap_socket(plain, server_hostname=host) as secure:
                issuer = dict(entry[0] for entry in secure.getpeercert()["issuer"])["commonName"]
                secure.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                answer = http.client.HTTPResponse(secure)
                answer.begin()
                return answer.status, answer.read().decode(), issuer
    except (ssl.SSLError, OSError) as error:
        return None, str(error), None


def serves_securely(host, text, limit=LIMIT):
    took = eventually(lambda: secure_page(host)[:2] == (200, text + "\n"), f"https://{host} is {text!r}", limit,
                      seen=lambda: secure_page(host))
    issuer = secure_page(host)[2]
    assert issuer.startswith("Pebble"), issuer
    return took


class Certificates(World):
    flags = ("--cluster-issuer", "pebble", "--dns-servers", "127.0.0.1:8053")

    def tearDown(self):
        for host in ("www.shop.test", "late.shop.test"):
            set_dns("clear-cname", host=host)

    def orders(self):
        """Returns all certificate orders in the app's namespace, with their host names."""
        found = self.cluster.list(ORDERS, f"--field-selector=metadata.namespace={self.ada.namespace}")
        return [(item["kind"], item["spec"].get("dnsNames") or item["spec"].get("dnsName") or item["metadata"]["name"]) for item in found]

    def is_gone(self, deployment):
        eventually(lambda: not self.cluster.of_deployment(deployment), "nothing is left of it", 90,
                   seen=lambda: self.cluster.of_deployment(deployment))
        eventually(lambda: not self.orders(), "no order is left", 90, seen=self.orders)

    def test_1_a_sub_domain_has_a_certificate_of_its_own(self):
        shop = self.ada.deploy("secure")
        seen = self.ada.wait(shop, "running")
        self.assertIn(seen["reason"], ("certificate_pending", None), seen)
        took = serves_securely("secure.apps.localhost", "hello from a real container")
        serves("secure", "hello from a real container")
        print(f"      https of the sub-domain {took:.1f} s after running", flush=True)
        self.assertEqual(self.ada.ask("GET", f"/{shop}")["url"], "https://secure.apps.localhost")
        eventually(lambda: self.ada.status(shop)["reason"] is None, "nothing is missing", LIMIT, seen=lambda: self.ada.status(shop))
        self.ada.delete(shop)
        self.is_gone(shop)

    def test_2_a_custom_domain_on_a_new_deployment(self):
        set_dns("set-cname", host="www.shop.test", target="shop.apps.localhost")
        shop = self.ada.deploy("shop", custom_domain="www.shop.test")
        self.ada.wait(shop, "running")
        took = serves_securely("www.shop.test", "hello from a real container")
        print(f"      https of the custom domain {took:.1f} s after running", flush=True)
        eventually(lambda: self.ada.ask("GET", f"/{shop}/domain")["state"] == "active", "the domain is active", LIMIT,
                   seen=lambda: self.ada.ask("GET", f"/{shop}/domain"))
        # The certificate of the sub-domain may come a moment later.
        eventually(lambda: self.ada.status(shop)["reason"] is None, "nothing is missing", LIMIT, seen=lambda: self.ada.status(shop))
        self.ada.delete(shop)
        self.is_gone(shop)

    def test_3_a_domain_that_does_not_point_to_us(self):
        shop = self.ada.deploy("late", custom_domain="late.shop.test")
        self.ada.wait(shop, "running")
        eventually(lambda: self.ada.status(shop)["reason"] == "dns_not_pointing", "the reason", LIMIT,
                   seen=lambda: self.ada.status(shop))
        self.assertIn("a CNAME record late.shop.test that leads to late.apps.localhost is missing", self.ada.status(shop)["message"])
        print(f"      {self.ada.status(shop)['message']}", flush=True)
        # Waits for several checks of the DNS.
        until = time.monotonic() + 20
        while time.monotonic() < until:
            self.assertFalse([order for order in self.orders() if "late.shop.test" in order[1]])
            time.sleep(0.5)
        set_dns("set-cname", host="late.shop.test", target="late.apps.localhost")
        took = serves_securely("late.shop.test", "hello from a real container")
        print(f"      https {took:.1f} s after the DNS was corrected", flush=True)
        self.ada.delete(shop)
        self.is_gone(shop)
