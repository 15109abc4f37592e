#!/usr/bin/env python3
"""Checks that each table is written by the module that owns it, and by no other.

A module's README says which tables it owns. Run by `make lint` and by ctest. Prints a sentence for each statement that
writes another module's table, and ends with 1 if there is one.
"""
import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOMAIN = "controller/domain"

# The tables of no module: the list of migrations, and SQLite's own of what it has numbered.
SHARED = {"schema_migrations", "sqlite_sequence"}
# The sums on a user's row of what the treasury gave, and of what was spent of it; and the row of `meta` by which the
# database looks whether it can write (controller/db/database.cpp). The last three are those of usage-history.db, a file of
# its own (reconcilers/cluster/usage_history.h).
ALSO = {("ledger", "users"), ("points", "users"), ("controller", "meta"), ("reconcilers", "series"),
        ("reconcilers", "minutes"), ("reconcilers", "quarters"), ("reconcilers", "cluster_objects"),
        ("reconcilers", "cluster_version")}

WRITE = re.compile(r"\b(?:INSERT\s+INTO|INSERT\s+OR\s+\w+\s+INTO|DELETE\s+FROM|UPDATE)\s+([a-z_]+)\b")


def owned_tables():
    """Module -> the names, or patterns, of its tables: what follows "owns the tables" in its README."""
    for readme in sorted((ROOT / DOMAIN).glob("*/README.md")):
        text = re.search(r"[Oo]wns\s+the\s+tables?\s+([^.;]*)", re.sub(r"\([^)]*\)", "", readme.read_text()))
        yield readme.parent.name, re.findall(r"`([a-z_*]+)`", text[1]) if text else []


def statements(path):
    """The texts of a file's string literals; neighbouring ones are one text."""
    source = re.sub(r'"\s*\n\s*"', " ", path.read_text())
    return re.findall(r'R"\((.*?)\)"|"((?:[^"\\\n]|\\.)*)"', source, re.S)


def main():
    owned = dict(owned_tables())
    wrong = []
    for top in ("controller", "berthd", "api", "reconcilers"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            name = str(path.relative_to(ROOT))
            module = name.split("/")[2] if name.startswith(DOMAIN) else top
            for table in {table for texts in statements(path) for text in texts for table in WRITE.findall(text)}:
                owner = [m for m, tables in owned.items() if any(fnmatch.fnmatch(table, t) for t in tables)]
                if table not in SHARED and (module, table) not in ALSO and owner != [module]:
                    wrong.append(f"{name} writes {table}, which belongs to {' and '.join(owner) or 'no module'}: "
                                 "call a function of the owner, or correct the READMEs")
    for sentence in wrong:
        print(sentence)
    print(f"tables written by others than their owners: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
