#!/usr/bin/env python3
"""The image of the Containerfile has the libraries that berthd is linked with, the checkout has what it copies, and berthd
accepts the configuration that it and compose.yaml give: containerfile.py BERTHD. It builds nothing."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
text = (ROOT / "Containerfile").read_text()
stages = text.split("\nFROM ")
installed = set(re.search(r"--no-install-recommends ((?:[\w.+-]+|\s|\\)+)&&", stages[-1])[1].replace("\\", " ").split())

needed = re.findall(r"\(NEEDED\)\s+Shared library: \[([^]]+)\]",
                    subprocess.run(["readelf", "-d", sys.argv[1]], check=True, capture_output=True, text=True).stdout)
listed = subprocess.run(["ldd", sys.argv[1]], check=True, capture_output=True, text=True).stdout
missing = []
for name in needed:
    path = re.search(rf"{re.escape(name)} => (\S+)", listed)
    if not path:  # the loader
        continue
    real = pathlib.Path(path[1]).resolve()
    found = subprocess.run(["dpkg-query", "-S", f"*/{real.name}"], capture_output=True, text=True).stdout
    packages = {line.split(":")[0] for line in found.splitlines()}
    # What Debian itself has in every image, or curl brings.
    if not packages & (installed | {"libc6", "libgcc-s1", "libstdc++6", "zlib1g", "libssl3"}):
        missing.append(f"{name} is in {', '.join(sorted(packages)) or 'no package'}")
assert len(needed) > 20, needed
for file in re.findall(r"(scripts/[\w.-]+)", text):
    if not (ROOT / file).exists():
        missing.append(f"{file} doesn't exist")

# What the container is started with. Its folders are others here.
environment = dict(re.findall(r"(BERTHD_\w+)=(\S+)", stages[-1]))
environment |= yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["berth"]["environment"]
assert len(environment) >= 5, environment
with tempfile.TemporaryDirectory() as folder:
    environment |= {"BERTHD_DATA_DIR": folder, "BERTHD_CLIENT_FILES": folder}
    checked = subprocess.run([sys.argv[1], "config", "check"], env=environment | {"PATH": os.environ["PATH"]},
                             capture_output=True, text=True)
if checked.returncode != 0:
    missing.append(f"berthd refuses its configuration: {checked.stderr.strip()}")

for line in missing:
    print(line)
print(f"{len(needed)} libraries of berthd, {len(missing)} problems")
sys.exit(bool(missing))
