"""The most used statements, as they stand in the sources: how long they take on a filled database with many different
values, and by which plans."""

import dataclasses
import hashlib
import json
import math
import random
import re
import statistics
import sys
import tomllib
import typing

from common import ROOT, fail
from scale_rows import ACCESS_PREFIX, CONSENTS_OF, DAY, DAYS, HOUR, PLACE_BITS, VIEWERS_OF, Psql, Sizes, \
    Subjects

sys.path.insert(0, str(ROOT / "tests/sql"))
from plans import one_line  # noqa: E402
from prepare import sources  # noqa: E402
from statements import Problem, Sources  # noqa: E402

TIMES = 50  # that each statement runs, with other values each time
MOST, LEAST = 2 ** 63 - 1, -2 ** 63
COUNTED = 10_001  # entries of a list, at most
PAGE = 51  # rows that a page of 50 reads
YEAR = 365  # days
LOOKED_AT = 4_000  # rows of an index, by a search
LEDGER = "controller/domain/ledger/"
FEW_ROWS = 2_000  # up to which a table may be read as a whole
# Besides those of plan_exceptions.toml. SQLite never scans it, so it isn't named there.
SMALL_TABLES = {"ledger_kinds": "One row for each kind of movement."}

WITHOUT_MEANING = {"Result", "Limit", "Append", "Subquery Scan", "Materialize"}  # nodes that cost nothing by themselves
READ_EVERYTHING = {"Sort", "Aggregate", "Hash", "WindowAgg", "Bitmap Heap Scan"}
EXPLAINED = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
TIME = re.compile(r"^Time: ([\d.]+) ms", re.MULTILINE)


@dataclasses.dataclass
class Statement:
    """A statement by its file and a part of its text, and values that it is run with."""

    name: str
    file: str
    part: str
    values: typing.Callable  # returns a tuple, each time another one
    writes: bool = False


@dataclasses.dataclass
class Measured:
    name: str
    first: list  # milliseconds
    again: list  # of the same values
    plan: str
    blocks: int  # pages of 8 KiB
    scans: list  # tables that grow and are read as a whole


class Ids:
    """The ids and numbers of the rows that scale_rows.py has made, or of some of them."""

    def __init__(self, psql, sizes: Sizes, subjects: Subjects, seed=1):
        self.sizes, self.subjects, self.random = sizes, subjects, random.Random(seed)
        self.start = psql.number("SELECT min(day) FROM ledger_closed_days;") * DAY
        self.end = self.start + DAYS * DAY
        second = self.uuid(self.user_at(2), 2, 1)
        self.first = psql.number(f"SELECT number FROM ledger_accounts WHERE id = 'user:{second}';") - 2
        self.me, self.app = (psql.number(f"SELECT number FROM ledger_accounts WHERE id = '{name}';") for name in (
            "user:" + subjects.user, "app:" + subjects.app))
        self.spend = psql.number("SELECT number FROM ledger_kinds WHERE kind = 'spend';")
        self.owners = [row[0] for row in psql.rows("""
            SELECT DISTINCT owner_id FROM deployments WHERE status <> 'destroyed';""")]
        self.tier = psql.run(f"SELECT tier_id FROM deployments WHERE id = '{subjects.deployment}';")

    @staticmethod
    def uuid(at, number, kind):
        digits = f"{at:012x}"
        return f"{digits[:8]}-{digits[8:]}-7{kind:03x}-8000-{number:012x}"

    def user_at(self, number):
        return self.start - DAYS * DAY + number * DAYS * DAY // self.sizes.users

    def some(self, count):
        return self.random.randrange(2, count + 1)

    def consenting(self):
        """The number of a user who has a consent, a session and tokens."""
        return self.some(self.sizes.users // CONSENTS_OF)

    def user(self, number=None):
        number = number or self.some(self.sizes.users // 2)
        return self.uuid(self.user_at(number), number, 1)

    def of_user(self, kind):
        """The id of a user's consent (16), family of tokens (17) or session (18)."""
        number = self.consenting()
        return self.uuid(self.user_at(number), number, kind)

    def account(self):
        """The number of a user's account."""
        return self.first + self.some(self.sizes.users // 2)

    def token_hash(self):
        return hashlib.sha256(f"{ACCESS_PREFIX}{self.consenting()}".encode()).hexdigest()

    def living(self, of_heaviest=False):
        """The id of a deployment that is alive."""
        sizes = self.sizes
        number = self.random.randrange(sizes.deployments - sizes.living + 1, sizes.deployments + 1)
        if of_heaviest:
            number = number // 10 * 10 if number // 10 * 10 > sizes.deployments - sizes.living else sizes.deployments
        return self.uuid(self.start + number * DAYS * DAY // sizes.deployments, number, 4)

    def number(self):
        """A transaction's number at some time."""
        return self.random.randrange(self.start, self.end) << PLACE_BITS

    def moment_of_living(self):
        """A time at which one of the living deployments was made."""
        return self.end - self.random.randrange(DAYS * DAY * self.sizes.living // self.sizes.deployments)

    def prefix(self, syllables):
        return "".join(self.random.choice("bcdfghjklmnprstz") + self.random.choice("aeio") for _ in range(syllables))


def of_callers(ids):
    """What nearly every request begins with."""
    return [
        Statement("access token", "controller/domain/oauth/introspection.cpp",
                  "t.scopes, t.expires_at, t.revoked_at FROM", lambda: (ids.token_hash(),)),
        Statement("session", "controller/domain/accounts/session_jwt.cpp", "FROM sessions WHERE id = $1",
                  lambda: (ids.of_user(18),)),
        Statement("user with balance", "controller/domain/accounts/accounts.cpp", "a.owner = u.id WHERE u.id = $1",
                  lambda: (ids.user(),)),
    ]


def of_points(ids):
    points, days = "controller/domain/points/points.cpp", LEDGER + "days.cpp"
    page, app, today = "AND (transaction_number, leg) < ($5, $6)", "app:" + ids.subjects.app, ids.end // DAY
    counted = "AND transaction_number >= $3 AND transaction_number < $4 LIMIT $5) counted"

    def first_page(account):
        return lambda: (account(), "", 0, MOST, MOST, LEAST, PAGE, 0)

    def page_in_the_middle(account):
        return lambda: (account(), "", 0, MOST, ids.number(), 0, PAGE, 0)

    def some_year():
        return app, today - YEAR - ids.random.randrange(YEAR), today

    return [
        Statement("balance", LEDGER + "ledger.cpp", "SELECT balance AS points FROM ledger_accounts",
                  lambda: ("user:" + ids.user(),)),
        Statement("a user's history: count", points, counted, lambda: (ids.account(), "", 0, MOST, COUNTED)),
        Statement("a user's history: first page", points, page, first_page(ids.account)),
        Statement("heaviest user's history: count", points, counted,
                  lambda: (ids.me, "", ids.number(), MOST, COUNTED)),
        Statement("heaviest user's history: first page", points, page, first_page(lambda: ids.me)),
        Statement("heaviest user's history: page by cursor", points, page, page_in_the_middle(lambda: ids.me)),
        Statement("heaviest app's history: first page", points, page, first_page(lambda: ids.app)),
        Statement("heaviest app's history: page by cursor", points, page, page_in_the_middle(lambda: ids.app)),
        Statement("heaviest app: days of a year", days, "SELECT day, credited, debited FROM ledger_days", some_year),
        Statement("heaviest app: sums by kind", days, "sum(postings) AS postings", some_year),
    ]


def of_a_spend(ids):
    """In the order in which a spend runs them, without those of the caller."""
    now, today, app = ids.end + HOUR, ids.end // DAY, ids.subjects.app

    def number():
        return ids.random.randrange(now, now + HOUR) << PLACE_BITS

    return [
        Statement("spend: key", "controller/domain/kernel/idempotency_keys.cpp", "INSERT INTO idempotency_keys",
                  lambda: (f"app:{app}:user:{ids.user()}", "POST", "/api/external/points/spend", str(ids.number()),
                           "0" * 64, 0, "", now, ids.start), writes=True),
        Statement("spend: the user's account", LEDGER + "ledger.cpp", "balance - $2 >= $3)) RETURNING",
                  lambda: ("user:" + ids.user(), 1, LEAST), writes=True),
        Statement("spend: transaction", LEDGER + "transaction_rows.cpp", "INSERT INTO ledger_transactions",
                  lambda: (number(), 1, 1, ids.spend, "benchmark"), writes=True),
        Statement("spend: posting", LEDGER + "ledger.cpp", "INSERT INTO ledger_postings",
                  lambda: (ids.account(), 0, number(), 0, ids.spend, -1), writes=True),
        Statement("spend: sums of the user's day", LEDGER + "days.cpp", "DO UPDATE SET credited = excluded.credited, d",
                  lambda: ("user:" + ids.user(), today, 1, 1), writes=True),
        Statement("spend: the app's pending credit", LEDGER + "pending.cpp", "INSERT INTO ledger_pending",
                  lambda: (ids.app, ids.number(), 1, ids.spend, 1), writes=True),
        Statement("spend: limit of the consent", "controller/domain/oauth/connections.cpp",
                  "UPDATE grants SET spent_day", lambda: (ids.of_user(16), today, 1, 2 ** 53 - 1), writes=True),
    ]


def of_deployments(ids):
    rows, billing = "controller/domain/deployments/deployment_rows.cpp", "controller/domain/deployments/billing/"
    page = "WHERE d.owner_id = $1 AND d.status <> 'destroyed' AND (d.inserted_at, d.id) <"
    soon = ids.end + 2 * DAY
    return [
        Statement("an operator's deployments: count", rows, "WHERE owner_id = $1 AND status <> 'destroyed' LIMIT $2)",
                  lambda: (ids.random.choice(ids.owners), COUNTED)),
        Statement("an operator's deployments: first page", rows, page,
                  lambda: (ids.random.choice(ids.owners), MOST, "", PAGE, 0)),
        Statement("heaviest operator's deployments: page by cursor", rows, page,
                  lambda: (ids.subjects.user, ids.moment_of_living(), "", PAGE, 0)),
        Statement("status of a deployment", rows, "WHERE d.id = $1", lambda: (ids.living(),)),
        Statement("renewals that are due", billing + "renewals.cpp", "WHERE due_at IS NOT NULL AND due_at <= $1",
                  lambda: (soon + ids.random.randrange(DAY), 100)),
        Statement("receipts of a deployment", billing + "view.cpp", "'charge' AS kind", lambda: (ids.living(), 200)),
    ]


def of_searches(ids):
    search = "controller/domain/social/user_search.cpp"

    def prefix(syllables, *more):
        def values():
            begin = ids.prefix(syllables)
            return begin, begin + "\x7f", *more
        return values

    return [
        Statement("search: prefix", search, "ORDER BY username_key LIMIT $3", prefix(2, LOOKED_AT)),
        Statement("search: middle of the name", search, "FROM username_suffixes", prefix(1, LOOKED_AT)),
        Statement("admin's search", "controller/domain/accounts/user_list.cpp", "AND f.registration_number < $3",
                  prefix(2, MOST, PAGE, 0)),
    ]


def of_ads(ids):
    serving, now, campaigns = "controller/domain/ads/serving.cpp", ids.end + HOUR, ids.subjects.campaigns
    return [
        Statement("ad: what the user has seen", serving, "SELECT campaign_id FROM ad_views",
                  lambda: (ids.user(ids.some(ids.sizes.users // VIEWERS_OF)), ids.end // DAY, 1)),
        Statement("ad: the app's open impressions", serving, "SELECT 1 AS one FROM ad_impressions",
                  lambda: (ids.random.choice(campaigns), ids.subjects.app, now, 100)),
        Statement("ad: campaign", "controller/domain/ads/campaigns.cpp", "FROM campaigns c WHERE c.id = $1",
                  lambda: (ids.random.choice(campaigns),)),
    ]


def most_used(ids):
    """Returns the statements in the order of the table. The time of the end of all rows stands for the present."""
    return [one for of in (of_callers, of_points, of_a_spend, of_deployments, of_searches, of_ads) for one in of(ids)]


def found_in_sources(statements):
    """Returns the texts of the statements, which have to be in the sources once each."""
    known = [one for one in Sources(sources()).statements() if not isinstance(one, Problem)]
    texts = []
    for wanted in statements:
        fitting = {one.text for one in known if one.file == wanted.file and wanted.part in one_line(one.text)}
        if len(fitting) != 1:
            fail(f"{len(fitting)} statements of {wanted.file} have: {wanted.part}")
        texts.append(fitting.pop())
    return texts


def literal(value):
    if isinstance(value, int):
        return f"({value})::bigint"
    return "'" + value.replace("'", "''") + "'"


def inside(statement, lines):
    """Statements that write are undone, each in a transaction as berthd has them."""
    if not statement.writes:
        return lines
    return [f"BEGIN ISOLATION LEVEL SERIALIZABLE;\n{line}\nROLLBACK;" for line in lines]


def run(psql, statement, text):
    """Runs the statement as berthd does: prepared, so that the server may keep one plan for all values."""
    values = [statement.values() for _ in range(TIMES)]
    types = ", ".join("bigint" if isinstance(value, int) else "text" for value in values[0])
    calls = [f"EXECUTE one ({', '.join(map(literal, each))});" for each in values]
    explained = inside(statement, [EXPLAINED + calls[0]])
    output = psql.run("\n".join([
        "\\o /dev/null", f"PREPARE one ({types}) AS {text};", "\\timing on",
        *inside(statement, calls), *inside(statement, calls), "\\timing off", "\\o", *explained]))
    times = [float(found) for found in TIME.findall(output)]
    if statement.writes:
        times = times[1::3]
    if len(times) != 2 * TIMES:
        fail(f"{statement.name}: {len(times)} times of {2 * TIMES} calls")
    return times[:TIMES], times[TIMES:], json.loads(output[output.index("["):output.rindex("]") + 1])[0]["Plan"]


def nodes(plan):
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def short(plan):
    """Returns the kinds of nodes in their order, each with its tables or indexes."""
    kinds = {}
    for node in nodes(plan):
        name = node.get("Index Name") or node.get("Relation Name", "")
        kind = node["Operation"] if node["Node Type"] == "ModifyTable" else node["Node Type"]
        if kind not in WITHOUT_MEANING:
            kinds.setdefault(kind, {})[name] = None
    return "; ".join(f"{kind} {', '.join(names)}".strip() for kind, names in kinds.items())


def scanned(node, growing, is_limited=False, above=None):
    """Yields the tables that grow of which the plan reads all rows, or all entries of an index. If a LIMIT ends the
    reading of an index, nothing may stand between the two that reads everything first. `above` is the table of the node
    above, because those below a bitmap's heap scan don't name it."""
    kind, table = node["Node Type"], node.get("Relation Name", above)
    is_whole = kind == "Seq Scan" or ("Index Name" in node and "Index Cond" not in node and not is_limited)
    if is_whole and table in growing:
        yield table
    goes_on = kind not in READ_EVERYTHING and (is_limited or kind == "Limit")
    for below in node.get("Plans", ()):
        yield from scanned(below, growing, goes_on, table if "Bitmap" in kind else None)


def growing_tables(psql):
    """Returns the tables that may not be read as a whole. For one with few rows that would be the best plan."""
    named = tomllib.loads((ROOT / "tests/sql/plan_exceptions.toml").read_text())["small_tables"]
    rows = psql.rows("SELECT relname, reltuples::bigint FROM pg_class WHERE relkind = 'r' "
                     "AND relnamespace = 'public'::regnamespace;")
    return {name for name, count in rows if int(count) > FEW_ROWS} - set(named) - set(SMALL_TABLES)


def measure(psql: Psql, ids):
    statements, growing = most_used(ids), growing_tables(psql)
    for statement, text in zip(statements, found_in_sources(statements)):
        first, again, plan = run(psql, statement, text)
        blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        yield Measured(statement.name, first, again, short(plan), blocks, list(scanned(plan, growing)))


def p99(times):
    return sorted(times)[math.ceil(len(times) * 0.99) - 1]


def table(small, large):
    """Returns the table of what was measured on a small and on the large database, and one of the plans on the large
    one."""
    lines = ["| statement | small, again | large, first | p99 | again | p99 | pages |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    plans = {}
    for few, many in zip(small, large):
        times = [statistics.median(few.again), statistics.median(many.first), p99(many.first),
                 statistics.median(many.again), p99(many.again)]
        lines.append(f"| {many.name} | " + " | ".join(f"{time:.2f} ms" for time in times) + f" | {many.blocks:,} |")
        plans.setdefault(many.plan, []).append(many.name)
    lines += ["", "| statements | plan |", "| --- | --- |"]
    return "\n".join(lines + [f"| {'; '.join(names)} | {plan} |" for plan, names in plans.items()])
