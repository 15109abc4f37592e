"""The file of a database and its ledger, for aged_rows.py: bulk inserts, and transactions with all that berthd keeps of
them."""

import array
import collections
import hashlib
import pathlib
import sqlite3
import time

HOUR, DAY = 3_600_000, 86_400_000
PLACE_BITS = 20  # ledger/numbers.h
CLOSING_MARGIN = HOUR  # ledger/closed_days.h
ROWS_AT_ONCE = 20_000


def uuid(millis, number, kind=0):
    """A UUIDv7 (RFC 9562, section 5.7) of this time. `number` tells those of the same `kind` and time apart."""
    digits = f"{millis:012x}"
    return f"{digits[:8]}-{digits[8:]}-7{kind:03x}-8000-{number:012x}"


class Database:
    """The file, without its indexes and triggers until close()."""

    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.sql = sqlite3.connect(file, isolation_level=None)
        for faster in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -400000", "foreign_keys = OFF"):
            self.sql.execute("PRAGMA " + faster)
        scratch = self.file.with_name("scratch.db")
        scratch.unlink(missing_ok=True)
        self.sql.execute("ATTACH ? AS scratch", (str(scratch),))
        self.sql.execute("PRAGMA scratch.journal_mode = OFF")
        self.sql.execute("PRAGMA scratch.synchronous = OFF")
        self.later = []  # in the order in which they were made: SQLite chooses by it between equals
        for kind in ("index", "trigger"):
            for name, text in self.sql.execute(
                    "SELECT name, sql FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL ORDER BY rowid",
                    (kind,)).fetchall():
                self.sql.execute(f"DROP {kind} {name}")
                self.later.append(text)
        self.sql.execute("BEGIN")

    def columns(self, table):
        return [row[1] for row in self.sql.execute(f"PRAGMA table_info({table})")]

    def row(self, table, where, *values):
        cursor = self.sql.execute(f"SELECT * FROM {table} WHERE {where}", values)
        found = cursor.fetchone()
        return dict(zip([column[0] for column in cursor.description], found))

    def number(self, text, *values):
        return self.sql.execute(text, values).fetchone()[0]

    def add(self, table, columns, rows):
        text = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        self.sql.executemany(text, rows)

    def add_sorted(self, table, columns, rows, key):
        """For tables WITHOUT ROWID: rows that come in another order than the key's would touch each page often."""
        self.sql.execute(f"CREATE TABLE scratch.rows ({', '.join(columns)})")
        self.add("scratch.rows", columns, rows)
        names = ", ".join(columns)
        self.sql.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM scratch.rows ORDER BY {key}")
        self.sql.execute("DROP TABLE scratch.rows")

    def add_like(self, table, like, rows):
        """Adds copies of the row `like`, each with other values for the names of its dictionary."""
        columns = list(like)
        self.add(table, columns, ([{**like, **row}[name] for name in columns] for row in rows))

    def close(self):
        for text in self.later:
            self.sql.execute(text)
        self.sql.execute("COMMIT")
        self.sql.execute("DETACH scratch")
        self.sql.execute("PRAGMA journal_mode = WAL")
        self.sql.close()
        self.file.with_name("scratch.db").unlink()


class Ledger:
    """Accounts and transactions, which have to be posted in the order of their times."""

    def __init__(self, database):
        self.database = database
        self.ids, self.numbers, self.has_kinds = [], array.array("q"), bytearray()
        self.credited, self.debited = array.array("q"), array.array("q")
        self.known = {row[0]: row[1] for row in database.sql.execute("SELECT id, number FROM ledger_accounts")}
        self.next_number = max(self.known.values()) + 1
        self.kinds = {row[0]: row[1] for row in database.sql.execute("SELECT kind, number FROM ledger_kinds")}
        self.day, self.chain, self.last_millis, self.count = None, "", 0, 0
        self.newest_closed = (int(time.time() * 1000) - CLOSING_MARGIN) // DAY - 1
        self.rows = {}
        self.stage("transactions", "number, id_high, id_low, kind, memo")
        self.stage("postings", "account_number, incoming, transaction_number, leg, kind, amount")
        self.stage("days", "account_id, day, credited, debited")
        self.stage("kind_days", "account_id, day, kind, postings, credited, debited")

    def stage(self, name, columns):
        self.database.sql.execute(f"CREATE TABLE scratch.{name} ({columns})")
        self.rows[name] = (columns.split(", "), [])

    def put(self, name, row):
        columns, rows = self.rows[name]
        rows.append(row)
        if len(rows) >= ROWS_AT_ONCE:
            self.database.add("scratch." + name, columns, rows)
            rows.clear()

    def account(self, kind, owner):
        """Returns the account's place. It is opened if it is new."""
        name = f"{kind}:{owner}" if owner else kind
        number = self.known.get(name)
        if number is None:
            number, self.next_number = self.next_number, self.next_number + 1
            self.database.add("ledger_accounts", ("id", "kind", "owner", "number"), [(name, kind, owner, number)])
        self.ids.append(name)
        self.numbers.append(number)
        self.has_kinds.append(kind in ("app", "treasury", "issuance"))
        self.credited.append(0)
        self.debited.append(0)
        return len(self.ids) - 1

    def post(self, millis, kind, legs):
        """`legs`: from, to, amount. Returns the transaction's id."""
        millis = self.last_millis = max(millis, self.last_millis + 1)
        if millis // DAY != self.day:
            self.end_day()
            self.begin_day(millis // DAY)
        self.count += 1
        number, kind_number = millis << PLACE_BITS, self.number_of_kind(kind)
        name = uuid(millis, self.count)
        text, place = f"{name}\n{kind}\n{millis}", 0
        self.put("transactions", (number, millis << 16 | 0x7000, self.count - (1 << 63), kind_number, ""))
        for source, target, amount in legs:
            self.debited[source] += amount
            self.credited[target] += amount
            self.moved += amount
            for account, points in ((source, -amount), (target, amount)):
                text += f"\n{self.ids[account]}\n{points}"
                self.put("postings", (self.numbers[account], int(points > 0), number, place, kind_number, points))
                place += 1
                self.touched.add(account)
                if self.has_kinds[account]:
                    self.add_kind(account, kind, points)
        self.hash = hashlib.sha256((self.hash + "\n" + text).encode()).hexdigest()
        self.transactions, self.postings = self.transactions + 1, self.postings + place
        return name

    def number_of_kind(self, kind):
        if kind not in self.kinds:
            self.kinds[kind] = max(self.kinds.values(), default=0) + 1
            self.database.add("ledger_kinds", ("number", "kind"), [(self.kinds[kind], kind)])
        return self.kinds[kind]

    def add_kind(self, account, kind, points):
        sums = self.kind_sums[account, kind]
        sums[0] += 1
        sums[1 if points > 0 else 2] += abs(points)

    def begin_day(self, day):
        self.day, self.hash, self.transactions, self.postings, self.moved = day, "", 0, 0, 0
        self.touched, self.kind_sums = set(), collections.defaultdict(lambda: [0, 0, 0])

    def end_day(self):
        if self.day is None:
            return
        for account in self.touched:
            self.put("days", (self.ids[account], self.day, self.credited[account], self.debited[account]))
        for (account, kind), sums in self.kind_sums.items():
            self.put("kind_days", (self.ids[account], self.day, kind, *sums))
        if self.day <= self.newest_closed:
            row = f"{self.day}\n{self.transactions}\n{self.postings}\n{self.moved}\n{self.hash}"
            self.chain = hashlib.sha256((self.chain + "\n" + row).encode()).hexdigest()
            self.database.add("ledger_closed_days",
                              ("day", "closed_at", "transactions", "postings", "moved", "hash", "chain"),
                              [(self.day, (self.day + 1) * DAY + CLOSING_MARGIN, self.transactions, self.postings,
                                self.moved, self.hash, self.chain)])

    def close(self):
        self.end_day()
        sql = self.database.sql
        # What the accounts had before comes after what was posted here.
        changes = [(credited, debited, name)
                   for name, credited, debited in zip(self.ids, self.credited, self.debited)]
        sql.executemany("UPDATE ledger_days SET credited = credited + ?, debited = debited + ? WHERE account_id = ?",
                        (change for change in changes if change[2] in self.known))
        sql.executemany("UPDATE ledger_accounts SET credited = credited + ?1, debited = debited + ?2, "
                        "balance = balance + ?1 - ?2 WHERE id = ?3", changes)
        for name, key in (("transactions", "number"), ("postings", "1, 2, 3, 4"), ("days", "1, 2"),
                          ("kind_days", "1, 2, 3")):
            columns, rows = self.rows[name]
            self.database.add("scratch." + name, columns, rows)
            names = ", ".join(columns)
            sql.execute(f"INSERT INTO ledger_{name} ({names}) SELECT {names} FROM scratch.{name} ORDER BY {key}")
            sql.execute(f"DROP TABLE scratch.{name}")
