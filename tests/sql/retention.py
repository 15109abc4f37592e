#!/usr/bin/env python3
"""Compares docs/reference/retention.md with the schema: each table has one row there, and each row's tables exist.

Also looks up the constants and functions that the page names, in the files that it names, so that the page can't name
one that is gone. Then compares columns.toml with the schema: each column of each table is named there, and what somebody
wrote has a statement that removes or empties it. Ends with 1 if something differs.
"""
import re
import sys
import tomllib

import schema
from prepare import ROOT, sources
from statements import Sources, Statement

PAGE = ROOT / "docs/reference/retention.md"
COLUMNS = ROOT / "tests/sql/columns.toml"
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


def has_statement(rule, table, column, sources, triggers):
    """Whether there is a statement that does what the rule says."""
    what, _, where = rule.partition(": ")
    if what == "kept":
        return bool(where)
    if rule == "removed: by a trigger":
        return any(re.search(rf"\bDELETE FROM {table}\b", trigger) for trigger in triggers)
    text = sources.get(where, "")
    if what == "removed":
        return re.search(rf"\bDELETE FROM {table}\b", text) is not None
    # Up to the end of the statement, which is a raw string or another literal.
    return what == "emptied" and any(
        re.search(rf"\b{column} = ", statement) for statement in re.findall(rf"\bUPDATE {table}\b([^\")]*)", text))


def faults_of_columns(rules, columns, sources, triggers):
    """`columns`: the names of each table's columns. `sources`: the texts of controller/domain, by path."""
    for table in sorted(set(rules) - set(columns)):
        yield f"{table} is no table"
    for table, names in sorted(columns.items()):
        plain = rules.get(table, {}).get("plain", [])
        words = rules.get(table, {}).get("words", {})
        named = [*plain, *words]
        for name in names:
            if named.count(name) != 1:
                yield f"{table}.{name} is named {named.count(name)} times: say what it is, and how its words end"
        for name in named:
            if name not in names:
                yield f"{table}.{name} is no column"
        for name, rule in words.items():
            if not has_statement(rule, table, name, sources, triggers):
                yield f'{table}.{name}: no statement does what "{rule}" says'


def main():
    database = schema.migrated(ROOT / "controller/db/sqlite/migrations")
    tables = {row[0] for row in database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")}
    columns = {table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")] for table in tables}
    triggers = [row[0] for row in database.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
    domain = ROOT / "controller/domain"
    texts = {str(path.relative_to(domain)): path.read_text() for path in domain.rglob("*.cpp")}
    for one in Sources(sources()).statements():  # those that are composed of constants
        name = one.file.removeprefix("controller/domain/")
        if isinstance(one, Statement) and name in texts:
            texts[name] += "\n" + one.text + '"'
    headers = {str(path): path.read_text() for path in (ROOT / "controller/domain").rglob("*.h")}
    found = list(faults(PAGE.read_text(), tables, headers))
    for fault in found:
        print(f"docs/reference/retention.md: {fault}")
    rules = tomllib.loads(COLUMNS.read_text())
    of_columns = list(faults_of_columns(rules, columns, texts, triggers))
    for fault in of_columns:
        print(f"tests/sql/columns.toml: {fault}")
    words = sum(len(table.get("words", {})) for table in rules.values())
    print(f"{len(tables)} tables, {sum(map(len, columns.values()))} columns, {words} of them with words, "
          f"{len(found) + len(of_columns)} faults")
    return 1 if found or of_columns else 0


if __name__ == "__main__":
    sys.exit(main())
