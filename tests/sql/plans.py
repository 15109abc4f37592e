#!/usr/bin/env python3
"""Says which statements of the program would read a whole table that grows, from SQLite's query plans.

Finds the statements in the sources (statements.py), makes the tables of controller/db/sqlite/migrations, and asks
SQLite how it would run each statement (EXPLAIN QUERY PLAN). The tables have no statistics, as in berthd, which never
runs ANALYZE: SQLite then takes each of them for a large one of a million rows. Prints the statements that scan a table,
that read all rows with one value of a column of which very many rows may have the same, that sort rows without an
index, or that delete rows for which SQLite would go through a table whose foreign key refers to them.
plan_exceptions.toml names the tables that stay small, and the statements that may do so, with their reasons. Ends with
1 if a statement isn't named there, or if an exception is of no use any more.
"""
import collections
import pathlib
import re
import sqlite3
import sys
import tomllib

import schema
from prepare import ROOT, sources
from statements import Problem, Sources

# "SCAN d", "SCAN d USING INDEX i", "SCAN d LEFT-JOIN". What follows the name of an index is of no interest.
SCAN = re.compile(r"SCAN (\w+)")
# "SEARCH p USING PRIMARY KEY (account_number=?)": the table, and what all the rows that are read have in common.
SEARCH = re.compile(r"SEARCH (\w+) USING .*\((\w+)=\?\)$")
# What lets SQLite stop after a few of these rows: the largest value is at the end of an index.
ENDS_EARLY = re.compile(r"\bLIMIT\b|\bmax\(", re.IGNORECASE)
# A table with its other name, behind FROM, JOIN, UPDATE or a comma. What follows the table is looked at and not consumed,
# because behind the last column of a list it is FROM.
NAMED = re.compile(r"(?:\b(?:FROM|JOIN|UPDATE|INTO)\s+|,\s*)(\w+)(?=(?:\s+(?:AS\s+)?(\w+))?)", re.IGNORECASE)

DELETED = re.compile(r"\bDELETE\s+FROM\s+(\w+)", re.IGNORECASE)

Finding = collections.namedtuple("Finding", "file line text what")


def one_line(sql):
    return " ".join(sql.split())


def plan(database, sql):
    numbers = set(re.findall(r"\$(\d+)", sql))
    return [row[3] for row in database.execute("EXPLAIN QUERY PLAN " + sql, {number: None for number in numbers})]


def what_is_wrong(database, sql, tables, small, heavy=frozenset()):
    """Returns what the statement does with all rows of a table that grows; empty if it does nothing of the kind.
    `heavy` has columns, as "table.column", of which very many rows may have the same value."""
    named = {name: table for table, alias in NAMED.findall(sql) for name in (table, alias or table) if table in tables}
    wrong = []
    for step in plan(database, sql):
        scanned = SCAN.match(step)
        # Other names are those of subqueries, whose own steps are in the plan.
        if scanned and named.get(scanned[1], None) not in small | {None}:
            wrong.append(step)
        found = SEARCH.match(step)
        if found and f"{named.get(found[1])}.{found[2]}" in heavy and not ENDS_EARLY.search(sql):
            wrong.append(step)
        if "TEMP B-TREE" in step and any(table not in small for table in named.values()):
            wrong.append(step)
    for table in DELETED.findall(sql):
        wrong += scans_for_references(database, table, tables, small)
    return ", ".join(wrong)


def scans_for_references(database, deleted_from, tables, small):
    """Yields what SQLite scans for each row that is deleted, to see whether a foreign key refers to it. The plan of the
    statement doesn't say that."""
    for table in sorted(tables - small):
        keys = collections.defaultdict(list)
        for number, _, referred, column, *_ in database.execute(f"PRAGMA foreign_key_list({table})"):
            if referred == deleted_from:
                keys[number].append(column)
        for columns in keys.values():
            wanted = " AND ".join(f"{column} = $1" for column in columns)
            if any(SCAN.match(step) for step in plan(database, f"SELECT 1 FROM {table} WHERE {wanted}")):
                yield f"looks for {table}.{columns[0]} without an index"


def findings(database, small, heavy):
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for one in Sources(sources()).statements():
        if not isinstance(one, Problem):  # prepare.py reports those
            what = what_is_wrong(database, one.text, tables, small, heavy)
            if what:
                yield Finding(one.file, one.line, one_line(one.text), what)


def main():
    named = tomllib.loads((pathlib.Path(__file__).parent / "plan_exceptions.toml").read_text())
    small, heavy = set(named["small_tables"]), set(named["heavy_columns"])
    allowed = [(statement, group["reason"]) for group in named["group"] for statement in group["statements"]]
    database = schema.migrated(ROOT / "controller/db/sqlite/migrations")
    used, faults = set(), []
    for found in findings(database, small, heavy):
        fitting = [(file, part) for (file, part), _ in allowed if found.file == file and part in found.text]
        used.update(fitting)
        if not fitting:
            faults.append(f"{found.file}:{found.line}: {found.what}: {found.text}")
    for (file, part), _ in allowed:
        if (file, part) not in used:
            faults.append(f"plan_exceptions.toml: no statement needs this any more: {file}: {part}")
    for fault in faults:
        print(fault)
    print(f"{len(used)} exceptions, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
