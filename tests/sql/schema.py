"""Translates the schema of controller/db/sqlite/migrations to statements that PostgreSQL accepts."""
import pathlib
import sqlite3

TYPES = {"INTEGER": "bigint", "TEXT": "text", "BLOB": "bytea"}


def migrated(migrations):
    """Returns a SQLite database in memory to which all migrations have been applied."""
    database = sqlite3.connect(":memory:")
    # berthd's own list of them (controller/db/sqlite/migrate.cpp).
    database.execute("CREATE TABLE schema_migrations (name TEXT PRIMARY KEY, sha256 TEXT, applied_at INTEGER)")
    for file in sorted(pathlib.Path(migrations).glob("*.sql")):
        database.executescript(file.read_text())
    return database


def table(database, name):
    columns, key = [], {}
    for _, column, kind, _, _, place in database.execute(f"PRAGMA table_info({name})"):
        columns.append(f"{column} {TYPES[kind]}")
        if place:
            key[place] = column
    if key:
        columns.append(f"PRIMARY KEY ({', '.join(key[place] for place in sorted(key))})")
    return f"CREATE TABLE {name} ({', '.join(columns)});"


def indexes(database, name):
    """Returns the unique indexes, which ON CONFLICT needs."""
    for _, index, is_unique, origin, _ in database.execute(f"PRAGMA index_list({name})").fetchall():
        if origin == "u":
            columns = [row[2] for row in database.execute(f"PRAGMA index_info({index})")]
            yield f"CREATE UNIQUE INDEX ON {name} ({', '.join(columns)});"
        elif origin == "c" and is_unique:
            yield database.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (index,)).fetchone()[0] + ";"


def translated(migrations):
    """Returns CREATE statements for all tables, their unique indexes and the views. Constraints, defaults and triggers
    are left out, because they only matter when rows are written."""
    database = migrated(migrations)
    names = [row[0] for row in database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")]
    views = [row[0] + ";" for row in database.execute("SELECT sql FROM sqlite_schema WHERE type = 'view'")]
    return [table(database, name) for name in names] + [
        one for name in names for one in indexes(database, name)] + views
