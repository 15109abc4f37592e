"""Starts a berthd of its own on free ports, for scripts and tests that look at a running one."""
import os
import subprocess
import time
from pathlib import Path

START_LIMIT_SECONDS = 60


class Berthd:
    """Serves from the folder's `data` directory while the `with` block runs.

    `listen` names the port of an earlier run, where clients know its address already."""

    def __init__(self, program, folder, *flags, listen="127.0.0.1:0"):
        self._data = Path(folder) / "data"
        self._log = Path(folder) / "berthd.log"
        self._command = [str(program), "--data-dir", str(self._data), "--listen", listen,
                         "--metrics-listen", "127.0.0.1:0", *flags]
        self._process = None
        self.address = ""
        self.metrics_address = ""

    def __enter__(self):
        addresses = [self._data / "berthd.addr", self._data / "berthd.metrics.addr"]
        for file in addresses:
            file.unlink(missing_ok=True)
        # The configuration of whoever runs this must not appear in the output.
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("BERTH")}
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stderr=log, env=environment)
        limit = time.monotonic() + START_LIMIT_SECONDS
        # The second file is written last, and a file exists a moment before it has its line.
        while not (addresses[1].exists() and addresses[1].read_text().endswith("\n")):
            if self._process.poll() is not None or time.monotonic() > limit:
                self.__exit__()
                raise RuntimeError("berthd doesn't start:\n" + self._log.read_text())
            time.sleep(0.05)
        self.address, self.metrics_address = (file.read_text().strip() for file in addresses)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
