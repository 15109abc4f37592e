"""Visitors who request an app's page through the ingress controller all the time, and record each response that isn't
the page."""
import collections
import http.client
import threading
import time

from .cluster import INGRESS

RATE = 200  # requests per second of all visitors together
THREADS = 20
LIMIT = 10         # seconds for an answer
MOST_KEPT = 10  # the number of failures that are shown


class Visitors:
    """Several visitors; half of them keep their connections open, the others connect anew each time."""

    def __init__(self, name, per_second=RATE):
        self.per_second = per_second
        self.host = f"{name}.apps.localhost"
        self.lock = threading.Lock()
        self.pages = collections.Counter()
        self.failures = []
        self.failed_at = []  # of each failure: when the request was made and when it failed, by time.monotonic(), and how
        self.times = []  # seconds until each answer, or until there was none
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(THREADS)]

    def __enter__(self):
        self.began = time.monotonic()
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.took = time.monotonic() - self.began

    @property
    def rate(self):
        return (sum(self.pages.values()) + len(self.failures)) / self.took

    def slowest_percent(self):
        """Returns the time in seconds that one request of a hundred took at least."""
        return sorted(self.times)[len(self.times) * 99 // 100]

    def summary(self):
        return (f"{sum(self.pages.values())} requests answered, {self.rate:.0f} a second, longest {max(self.times, default=0):.2f} s, "
                f"failed: {len(self.failures)}")

    def run(self, number):
        """Requests the page at fixed times; a visitor that is late makes the request at once."""
        keeps = number % 2 == 0
        period = THREADS / self.per_second
        due = time.monotonic() + period * number / THREADS
        connection = None
        while not self.over.wait(max(0.0, due - time.monotonic())):
            due += period
            connection = connection or http.client.HTTPConnection(*INGRESS, timeout=LIMIT)
            if not self.visit(connection) or not keeps:
                connection.close()
                connection = None
        if connection:
            connection.close()

    def visit(self, connection):
        began = time.monotonic()
        try:
            connection.request("GET", "/", headers={"Host": self.host})
            answer = connection.getresponse()
            text = answer.read().decode()
            failure = None if answer.status == 200 else f"{answer.status} {text[:80]}"
        except (OSError, http.client.HTTPException) as error:
            text, failure = "", repr(error)
        with self.lock:
            self.times.append(time.monotonic() - began)
            if failure is None:
                self.pages[text.strip()] += 1
            else:
                self.failures.append(f"after {began - self.began:.2f} s: {failure}")
                self.failed_at.append((began, time.monotonic(), failure))
        return failure is None

    def check(self, test, *pages):
        """Checks that no request failed, that there were requests all the while, and that they got these pages and no
        others. How many there were depends on how busy this machine is."""
        print("      " + self.summary(), flush=True)
        test.assertEqual(self.failures[:MOST_KEPT], [])
        test.assertGreater(self.rate, 0.5 * self.per_second)
        test.assertEqual(set(self.pages), set(pages))
