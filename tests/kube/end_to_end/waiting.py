"""Waits for conditions, with a time limit."""
import time


def eventually(holds, what, limit, seen=None, pause=0.1):
    """Waits until holds() returns true. Returns how many seconds that took. Fails with a message of `what` was expected
    and what was seen instead."""
    start = time.monotonic()
    while True:
        result = holds()
        took = time.monotonic() - start
        if result:
            return took
        if took > limit:
            raise AssertionError(f"not within {limit} s: {what}" + (f"; seen: {seen()}" if seen else ""))
        time.sleep(pause)
