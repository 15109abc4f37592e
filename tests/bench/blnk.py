"""Starts Blnk, a ledger server, as a peer for spends. No package registry has it: `go build -o blnk ./cmd` in a checkout of
its repository makes the program. It needs a Redis (Debian: apt install redis-server)."""
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from common import START_SECONDS, fail, free_port, output_of

CURRENCY = "PTS"
CONNECTIONS = 48  # to the database, one for each of wrk's


def version_of(program):
    """Returns the commit that the program was built from."""
    found = re.search(r"vcs\.revision=(\w{7})", output_of("go", "version", "-m", program))
    return found.group(1) if found else "of an unknown commit"


def transaction(source, destination, reference):
    """Returns the body of a transaction that is applied before it is answered. An account whose name begins with @ is
    opened when it is first used."""
    return {"amount": 1, "precision": 1, "reference": reference, "currency": CURRENCY, "source": source,
            "destination": destination, "description": "benchmark", "skip_queue": True, "allow_overdraft": True}


class BlnkServer:
    def __init__(self, program, directory, database):
        if not shutil.which("redis-server"):
            fail("no redis-server, which Blnk needs (Debian: apt install redis-server)")
        self.started, port, redis = [], free_port(), free_port()
        self.url = f"http://127.0.0.1:{port}"
        settings = directory / "blnk.json"
        settings.write_text(json.dumps({
            "project_name": "benchmark", "data_source": {"dns": database, "max_open_conns": CONNECTIONS},
            "redis": {"dns": f"127.0.0.1:{redis}"}, "server": {"port": str(port)}, "enable_telemetry": False}))
        with (directory / "blnk.log").open("wb") as log:
            def start(*words):
                self.started.append(subprocess.Popen(words, cwd=directory, stdout=log, stderr=log))
            try:
                start("redis-server", "--bind", "127.0.0.1", "--port", str(redis), "--save", "", "--dir", directory)
                output_of(program, "migrate", "up", "--config", settings, cwd=directory)
                start(program, "start", "--config", settings)
                self.wait_until_answers(directory / "blnk.log")
            except BaseException:
                self.stop()
                raise

    def wait_until_answers(self, log):
        body = json.dumps(transaction("@first", "@second", "first")).encode()
        request = urllib.request.Request(self.url + "/transactions", body, {"Content-Type": "application/json"})
        for _ in range(START_SECONDS * 10):
            try:
                with urllib.request.urlopen(request) as answer:
                    if json.load(answer)["status"] == "APPLIED":
                        return
            except urllib.error.HTTPError as error:
                fail(f"Blnk refuses a transaction: {error.read()}")
            except urllib.error.URLError:
                time.sleep(0.1)
        fail("Blnk doesn't start: " + log.read_text()[-500:])

    def stop(self):
        for process in reversed(self.started):
            process.terminate()
            process.wait()
