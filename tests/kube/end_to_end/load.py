"""A client that writes all the time and tries again what had no answer: what it was told must be true afterwards."""
import http.client
import json
import secrets
import threading
import time
import urllib.error
import urllib.request

from .waiting import eventually

PACE = 0.25  # seconds between two requests of a thread, which keeps it below the limit of 600 per minute
THREADS = 2
PATIENCE = 60  # seconds for which a request is repeated


class Load:
    """Mints one point with each request, under an Idempotency-Key: a request that is tried again counts once."""

    def __init__(self, url, secret):
        self.url = url
        self.secret = secret
        self.mark = "load " + secrets.token_hex(4)
        self.lock = threading.Lock()
        self.reasons = set()
        self.failures = []
        self.retries = {}
        self.longest = 0.0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(THREADS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    @property
    def written(self):
        return len(self.reasons)

    def wait_for(self, more):
        """Until so many more requests were answered."""
        goal = self.written + more
        eventually(lambda: self.written >= goal or self.failures, f"{more} requests are answered", PATIENCE, seen=self.summary)

    def summary(self):
        return (f"{self.written} writes answered, tried again: {self.retries or 'none'}, "
                f"longest {self.longest:.1f} s, failed: {len(self.failures)}")

    def run(self, number):
        count = 0
        while not self.over.is_set():
            count += 1
            reason = f"{self.mark} {number} {count}"
            began = time.monotonic()
            failure = self.mint(reason, began + PATIENCE)
            with self.lock:
                self.longest = max(self.longest, time.monotonic() - began)
                if failure:
                    self.failures.append(failure)
                else:
                    self.reasons.add(reason)
            self.over.wait(PACE)

    def mint(self, reason, end):
        """None, or why it failed for good."""
        while True:
            why = self.attempt(reason)
            if why is None:
                return None
            if why not in ("connection", "503") or time.monotonic() > end:
                return why
            with self.lock:
                self.retries[why] = self.retries.get(why, 0) + 1
            time.sleep(0.2)

    def attempt(self, reason):
        """None where it was done; else "connection", or the status."""
        body = json.dumps({"account": {"kind": "treasury"}, "amount": 1, "reason": reason}).encode()
        headers = {"Content-Type": "application/json", "x-internal-secret": self.secret, "Idempotency-Key": reason}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + "/api/internal/points/mint", body, headers), timeout=10):
                return None
        except urllib.error.HTTPError as error:
            return str(error.code)
        except (OSError, http.client.HTTPException):
            return "connection"
