"""Visitors of an app who come through the ingress controller all the time, and note each answer that isn't the page."""
import collections
import http.client
import threading
import time

RATE = 200  # requests per second of all visitors together
THREADS = 20
LIMIT = 10         # seconds for an answer
MOST_KEPT = 10  # the number of failures that are shown


class Visitors:
    """Half of them keep their connections, half come anew each time."""

    def __init__(self, name):
        self.host = f"{name}.apps.localhost"
        self.lock = threading.Lock()
        self.pages = collections.Counter()
        self.failures = []
        self.longest = 0.0
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

    def summary(self):
        return (f"{sum(self.pages.values())} requests answered, {self.rate:.0f} a second, longest {self.longest:.2f} s, "
                f"failed: {len(self.failures)}")

    def run(self, number):
        """Comes at fixed times; who is late comes at once."""
        keeps = number % 2 == 0
        period = THREADS / RATE
        due = time.monotonic() + period * number / THREADS
        connection = None
        while not self.over.wait(max(0.0, due - time.monotonic())):
            due += period
            connection = connection or http.client.HTTPConnection("127.0.0.1", 80, timeout=LIMIT)
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
            self.longest = max(self.longest, time.monotonic() - began)
            if failure is None:
                self.pages[text.strip()] += 1
            else:
                self.failures.append(f"after {began - self.began:.2f} s: {failure}")
        return failure is None

    def check(self, test, *pages):
        """That none failed, that they were as many as they should be, and that they saw these pages and no others."""
        print("      " + self.summary(), flush=True)
        test.assertEqual(self.failures[:MOST_KEPT], [])
        test.assertGreater(self.rate, 0.9 * RATE)
        test.assertEqual(set(self.pages), set(pages))
