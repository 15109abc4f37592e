"""Runs tests, and prints one line for each."""
import os
import sys
import time
import unittest


MOST_OF_A_REASON = 300  # characters


class Report(unittest.TextTestResult):
    """Prints one line for each test: its result, how long it took, and its name."""

    def startTest(self, test):
        unittest.TestResult.startTest(self, test)
        self.began = time.monotonic()
        print(f"      {test.id()}", file=sys.stderr, flush=True)

    def line(self, word, test):
        print(f"{word:<5} {time.monotonic() - self.began:6.1f} s  {test.id()}", flush=True)

    def failed(self, word, test, traceback):
        """A line for the test, its traceback, and the traceback's last line once more, for a summary that has room for one line."""
        self.line(word, test)
        print(traceback, flush=True)
        print(f"why: {test.id()}: {traceback.strip().splitlines()[-1][:MOST_OF_A_REASON]}", flush=True)

    def addSuccess(self, test):
        unittest.TestResult.addSuccess(self, test)
        self.line("ok", test)

    def addFailure(self, test, err):
        unittest.TestResult.addFailure(self, test, err)
        self.failed("FAIL", test, self.failures[-1][1])

    def addError(self, test, err):
        unittest.TestResult.addError(self, test, err)
        self.began = getattr(self, "began", time.monotonic())
        self.failed("ERROR", test, self.errors[-1][1])


def all_tests(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from all_tests(part)
        else:
            yield part


def run(tests):
    with open(os.devnull, "w") as nowhere:
        return unittest.TextTestRunner(stream=nowhere, resultclass=Report).run(unittest.TestSuite(tests))


def failed_in(result):
    return {test.id() for test, _ in result.failures + result.errors}


def tests_of(modules):
    loader = unittest.TestLoader()
    return [test for module in modules for test in all_tests(loader.loadTestsFromModule(module))]
