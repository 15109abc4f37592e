#!/usr/bin/env python3
"""Compares docs/reference/retention.md with the schema: each table has one row there, and each row's tables exist.

Also looks up the constants and functions that the page names, in the files that it names, so that the page can't name
one that is gone. Ends with 1 if something differs.
"""
import re
import sys

import schema
from prepare import ROOT

PAGE = ROOT / "docs/reference/retention.md"
NAME = re.compile(r"`([a-z_]+)`")
# `constant` (file): the file's path within controller/domain, of which the beginning may be left out.
SAID = re.compile(r"((?:`\w+`(?:, )?)+) \(([\w/]+\.h)\)")


def rows(text):
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            yield cells


def faults(text, tables, headers):
    """`headers`: the texts of the headers of controller/domain, by path."""
    named = [name for row in rows(text) for name in NAME.findall(row[0])]
    for name in sorted(tables - set(named)):
        yield f"{name} has no row: say what a row of it is, how long it is kept, and what ensures that"
    for name in sorted(set(named) - tables):
        yield f"{name} is no table"
    for name in sorted({name for name in named if named.count(name) > 1}):
        yield f"{name} has more than one row"
    for row in rows(text):
        for constants, file in SAID.findall(row[3]):
            found = [header for path, header in headers.items() if path.endswith("/" + file)]
            for constant in NAME.findall(constants):
                if not any(re.search(rf"\b{constant}\b", header) for header in found):
                    yield f"{constant} isn't in {file}"


def main():
    tables = {row[0] for row in schema.migrated(ROOT / "controller/db/sqlite/migrations").execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")}
    headers = {str(path): path.read_text() for path in (ROOT / "controller/domain").rglob("*.h")}
    found = list(faults(PAGE.read_text(), tables, headers))
    for fault in found:
        print(f"docs/reference/retention.md: {fault}")
    print(f"{len(tables)} tables, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
