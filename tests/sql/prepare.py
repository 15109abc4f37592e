#!/usr/bin/env python3
"""Has PostgreSQL prepare every SQL statement of the program.

Finds the statements in the sources (statements.py), starts a PostgreSQL of its own on a Unix socket in a temporary
folder, makes the tables of controller/db/sqlite/migrations there (schema.py), and prepares each statement. Prints each one
that PostgreSQL refuses or that would behave in another way there than on SQLite, and ends with 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys

import schema
from statements import Problem, Sources

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/bench"))
from postgresql import PostgreSQL  # noqa: E402

FOLDERS = ("controller", "berthd", "api", "reconcilers")
# What is for one engine alone: statements about a SQLite file, about a server, and of a sequence. The history of usage
# is in a SQLite file of its own, whichever engine has berth's tables.
ONE_ENGINE = ("controller/db/sqlite/migrate.cpp", "controller/db/sqlite/copy.cpp",
              "controller/db/postgres/connection.cpp", "controller/db/postgres/database.cpp",
              "controller/db/postgres/log_flush.cpp", "controller/db/postgres/migrate.cpp", "berthd/backup/verify.cpp",
              "berthd/move/tables.cpp", "berthd/move/move.cpp",
              "berthd/doctor_database.cpp", "reconcilers/cluster/usage_history.cpp",
              "reconcilers/embedded/apiserver/disk.cpp",
              "controller/domain/ledger/transaction_places.cpp")
MARK = "@@"


def sources():
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            name = str(file.relative_to(ROOT))
            if file.suffix in (".h", ".cpp") and name not in ONE_ENGINE:
                yield name, file.read_text()


def script(statements):
    """Returns a script for psql that prepares each statement and shows the types of its parameters and columns."""
    yield from schema.translated(ROOT / "controller/db/sqlite/migrations")
    for number, statement in enumerate(statements):
        yield f"\\echo {MARK} {number}\n\\warn {MARK} {number}"
        yield f"PREPARE one AS {statement.text};"
        yield "SELECT 'parameter', unnest(parameter_types) FROM pg_prepared_statements;"
        yield f"{statement.text} \\gdesc"
        yield "DEALLOCATE ALL;"
    yield f"\\echo {MARK} end\n\\warn {MARK} end"


def parts(output):
    """Returns the parts of the output between the marks; the first part is the text before the first mark."""
    return re.split(rf"^.*{MARK} \w+$", output, flags=re.MULTILINE)


def prepared(statements):
    """Returns for each statement psql's output and its error messages."""
    server = PostgreSQL(listen="")
    try:
        server.database("statements")
        done = subprocess.run(
            ["psql", "-X", "-q", "-t", "-A", "-F", "\t", "-h", server.directory, "-p", str(server.port), "-U", "bench",
             "statements"],
            input="\n".join(script(statements)), capture_output=True, text=True)
    finally:
        server.stop()
    output, complaints = parts(done.stdout), parts(done.stderr)
    if complaints[0].strip() or len(output) != len(statements) + 2 or len(output) != len(complaints):
        sys.exit("the schema isn't there, or psql didn't come to its end:\n" + complaints[0] + done.stderr[-500:])
    return list(zip(output[1:-1], complaints[1:-1]))


def faults(statement, output, complaint):
    if not statement.is_raw:
        yield "isn't a raw string literal, R\"(…)\""
    errors = re.findall(r"ERROR:\s*(.*)", complaint)
    if errors:
        yield errors[0]  # of PREPARE; \gdesc has the same one
        return
    rows = [line.split("\t") for line in output.strip().split("\n") if "\t" in line]
    columns = [name for name, _ in rows if name != "parameter"]
    for name, kind in rows:
        if kind == "boolean":
            what = "a parameter is" if name == "parameter" else f"the column {name} is"
            yield f"{what} a boolean, and flags are integers: write `$1 = 1`, or CASE WHEN … THEN 1 ELSE 0 END"
    for name in sorted({name for name in columns if columns.count(name) > 1}):
        yield f"returns more than one column with the name {name}"


def main():
    found = list(Sources(sources()).statements())
    problems = [one for one in found if isinstance(one, Problem)]
    statements = [one for one in found if not isinstance(one, Problem)]
    for statement, (output, complaint) in zip(statements, prepared(statements)):
        problems += [Problem(statement.file, statement.line, fault) for fault in faults(statement, output, complaint)]
    for one in sorted(problems):
        print(f"{one.file}:{one.line}: {one.text}")
    print(f"{len(statements)} statements, {len(problems)} faults")
    return 1 if problems or not statements else 0


if __name__ == "__main__":
    sys.exit(main())
