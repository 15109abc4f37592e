#!/usr/bin/env python3
"""Checks that every pool of berthd has shares (controller/base/shares.h), and that each is tested.

usage: check_pools.py [FOLDER]     default: the checkout

A pool is whatever is limited for all callers together. It refuses with `unavailable`, or makes callers wait. So each
value of the enum Pool has to be constructed in the sources and named by the tag of a test, and each file that throws
`unavailable` by itself has to use shares, or to be named below with the reason why it limits no callers.
"""
import re
import sys
from pathlib import Path

FOLDERS = ("api", "berthd", "controller", "manifests", "reconcilers")

# Files that throw Code::unavailable for another reason than that others have taken everything.
NO_POOL = {
    "api/gate/write_guard.cpp": "the disk is nearly full",
    "berthd/storage.cpp": "the database can't be reached",
    "berthd/isolation_watch.cpp": "only admins ask",
    "berthd/backup/maker.cpp": "only admins ask",
    "berthd/embedded_exec.cpp": "a container takes nothing, or its session was cancelled; the API limits sessions",
    "reconcilers/cluster/exec.cpp": "the cluster hasn't been read yet",
    "reconcilers/cluster/kube_exec.cpp": "the cluster refuses or doesn't answer; the API limits sessions",
    "reconcilers/embedded/node/podman/podman_exec.cpp": "podman doesn't answer; the API limits sessions",
    "controller/db/postgres/database.cpp": "the database can't be reached; its connections are used by handlers",
    "controller/db/sqlite/database.cpp": "the database accepts no writes",
    "controller/domain/ledger/transaction_rows.cpp": "the ledger's numbers of one millisecond are used up",
    "controller/domain/deployments/billing/change.cpp": "the treasury is empty",
    "controller/domain/deployments/billing/refund.cpp": "the treasury is empty",
}
# What makes threads wait for one another without shares. condition_variable also wakes loops, so it isn't looked for.
OWN_POOL = re.compile(r"\b(?:std::)?(?:counting|binary)_semaphore\b")


def files(root, suffixes):
    for folder in FOLDERS:
        yield from (path for path in sorted((root / folder).rglob("*")) if path.suffix in suffixes)


def pools(root):
    text = (root / "controller/base/shares.h").read_text()
    body = re.search(r"enum class Pool \{(.*?)\};", text, re.DOTALL).group(1)
    return re.findall(r"\w+", re.sub(r"//.*", "", body))


def mistakes(root):
    known = pools(root)
    used, tested = {}, set()
    for path in files(root, {".h", ".cpp"}):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        if not name.startswith("controller/base/shares."):
            for pool in re.findall(r"\bPool::(\w+)", text):
                used.setdefault(pool, name)
        if OWN_POOL.search(text):
            yield f"{name}: a semaphore; take places of Shares (controller/base/shares.h) instead"
        throws = re.search(r"(?:throw|Error \w+\(|no_room\()[^;]*?Code::unavailable", text)
        if throws and name not in NO_POOL and not re.search(r"\bShares\b|\bPoolLimits\b", text):
            yield f"{name}: refuses with `unavailable` without shares; see scripts/check_pools.py"
    for path in sorted((root / "tests").rglob("*_test.cpp")):
        tested.update(re.findall(r"\[pool:(\w+)\]", path.read_text()))
    for pool in known:
        if pool not in used:
            yield f"controller/base/shares.h: no pool is made as Pool::{pool}"
        if pool not in tested:
            yield f"controller/base/shares.h: no test has the tag [pool:{pool}]"
    for pool in sorted(tested - set(known)):
        yield f"tests: there is no pool {pool}"
    for name in NO_POOL:
        if not (root / name).exists() or "Code::unavailable" not in (root / name).read_text():
            yield f"scripts/check_pools.py: {name} throws no `unavailable` any more"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    found = list(mistakes(root))
    print("\n".join(found) or f"{len(pools(root))} pools, each with shares and a test")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
