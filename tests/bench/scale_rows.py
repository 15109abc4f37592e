"""Fills berthd's database on PostgreSQL with the rows of a large installation, by statements that the server runs by
itself.

The rows belong to objects that berthd has made before (Subjects), which get the most of everything, and to others that
are made here. Balances, day sums and sums by kind are computed from the postings. So the sums of the ledger are right,
as far as they are stored. What isn't as berthd would have it:

- Half of the users have no account, and an account of a user has a day sum for its newest day only.
- Closed days have hashes, but not those of their rows, so `berthd verify` refuses the database.
- One user of SUFFIXES_OF has the rows by which the middle of a name is found.
- Consents, sessions and tokens belong to one user of CONSENTS_OF. Nobody is a friend, and nobody has said anything.
- Campaigns have ended and have no accounts, except those of the scene. Impressions have no holds and no events.
"""

import dataclasses
import subprocess
import time

from postgresql import postgresql_program

HOUR, DAY = 3_600_000, 86_400_000  # milliseconds
PLACE_BITS = 20  # ledger/numbers.h
DAYS = 1000  # in which everything was posted
ACCOUNTS_OF, CONSENTS_OF, SUFFIXES_OF = 2, 50, 100
SELLERS_OF = 50  # one app of so many is paid
OWNERS_OF = 10  # one user of so many may have apps
MINTED = 100_000_000
BOT = 128  # one movement of so many is the heaviest user's
VIEWERS_OF, OPEN_OF = 20, 20
CHARGES = 12  # of a deployment that is alive
BETWEEN = "\x1f"  # columns of psql's output
KINDS = ("mint", "spend", "transfer")
TIER_RATE = 100
ACCESS_PREFIX, REFRESH_PREFIX = "at_live_", "rt_live_"  # of the tokens, which go on with the user's number


@dataclasses.dataclass
class Sizes:
    users: int
    transactions: int  # of two postings each
    apps: int
    deployments: int
    living: int

    def scaled(self, scale):
        """The deployments stay as many, since they are few."""
        return dataclasses.replace(self, users=int(self.users * scale), transactions=int(self.users * scale) * 5,
                                   apps=max(int(self.apps * scale), 1_000))


FULL = Sizes(users=10_000_000, transactions=50_000_000, apps=100_000, deployments=100_000, living=20_000)


@dataclasses.dataclass
class Subjects:
    """The ids of the objects that get the most rows; of the campaigns, those that are shown."""

    user: str
    app: str
    deployment: str
    campaigns: list


class Psql:
    def __init__(self, address):
        self.command = [postgresql_program("psql"), "-X", "-q", "-t", "-A", "-F", BETWEEN, "-v", "ON_ERROR_STOP=1",
                        address]

    def run(self, script):
        done = subprocess.run(self.command, input=script, capture_output=True, text=True, cwd="/")
        if done.returncode:
            raise RuntimeError(f"{done.stderr.strip()}\nin: {script[:2000]}")
        return done.stdout.strip()

    def rows(self, script):
        return [line.split(BETWEEN) for line in self.run(script).splitlines()]

    def number(self, script):
        return int(self.run(script))


class Without:
    """A database without foreign keys, keys and indexes, which are made again by restore(). Constraints of single rows
    stay."""

    CONSTRAINTS = """
        SELECT conrelid::regclass, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND contype IN ({}) ORDER BY conrelid::regclass::text, conname;"""
    INDEXES = """
        SELECT tablename, quote_ident(indexname), indexdef FROM pg_indexes WHERE schemaname = 'public'
        ORDER BY tablename, indexname;"""

    def __init__(self, psql):
        self.psql = psql
        foreign = psql.rows(self.CONSTRAINTS.format("'f'"))
        keys = psql.rows(self.CONSTRAINTS.format("'p', 'u'"))
        psql.run("".join(f"ALTER TABLE {table} DROP CONSTRAINT {name};" for table, name, _ in foreign + keys))
        indexes = psql.rows(self.INDEXES)
        psql.run("".join(f"DROP INDEX {name};" for _, name, _ in indexes))
        self.later = {}
        for table, name, text in keys:
            self.later.setdefault(table, []).append(f"ALTER TABLE {table} ADD CONSTRAINT {name} {text};")
        for table, _, text in indexes:
            self.later.setdefault(table, []).append(text + ";")
        self.foreign = [f"ALTER TABLE {table} ADD CONSTRAINT {name} {text};" for table, name, text in foreign]

    def restore(self, table):
        for statement in self.later.pop(table, []):
            self.psql.run(statement)

    def restore_all(self):
        for table in list(self.later):
            self.restore(table)

    def restore_foreign_keys(self):
        for statement in self.foreign:
            self.psql.run(statement)


class Installation:
    """Makes the rows. The functions scale_user(), scale_app() and so on return the ids of those with a number."""

    def __init__(self, psql, sizes, subjects, progress):
        self.psql, self.sizes, self.subjects, self.progress = psql, sizes, subjects, progress
        self.now = int(time.time() * 1000)
        self.end = self.now // DAY * DAY  # the scene has the day of today for itself
        self.start = self.end - DAYS * DAY
        self.holders, self.sellers = sizes.users // ACCOUNTS_OF, max(sizes.apps // SELLERS_OF, 20)
        self.numbers = {name: psql.number(f"SELECT number FROM ledger_accounts WHERE id = '{name}';") for name in (
            "issuance", "user:" + subjects.user, "app:" + subjects.app)}
        self.first = psql.number("SELECT max(number) FROM ledger_accounts;")
        psql.run("".join(f"""
            INSERT INTO ledger_kinds (number, kind) SELECT coalesce(max(number), 0) + 1, '{kind}' FROM ledger_kinds
            ON CONFLICT DO NOTHING;""" for kind in KINDS))
        self.kinds = {kind: int(number) for number, kind in psql.rows("SELECT number, kind FROM ledger_kinds;")}

    def fill(self):
        self.functions()
        self.without = Without(self.psql)
        for step in (self.postings, self.transactions, self.indexes_of_postings, self.sums, self.accounts, self.days,
                     self.closed_days, self.users, self.suffixes, self.apps, self.deployments, self.consents,
                     self.ads, self.keys, self.indexes, self.foreign_keys, self.statistics):
            before = time.monotonic()
            step()
            self.progress(f"{step.__name__.replace('_', ' ')}: {time.monotonic() - before:.0f} s, the database has "
                          f"{self.psql.number('SELECT pg_database_size(current_database());') / 2**30:.2f} GiB")

    def functions(self):
        """Functions that the server inlines, and copies of the rows that others are like."""
        subjects, sizes = self.subjects, self.sizes
        self.psql.run(f"""
            CREATE SCHEMA scale;
            CREATE FUNCTION scale.random(n bigint, seed bigint) RETURNS double precision LANGUAGE sql IMMUTABLE AS
              'SELECT (hashint8extended(n, seed) & 2147483647) / 2147483648.0::float8';
            CREATE FUNCTION scale.uuid(at bigint, n bigint, kind text) RETURNS text LANGUAGE sql IMMUTABLE AS
              $$ SELECT substr(lpad(to_hex(at), 12, '0'), 1, 8) || '-' || substr(lpad(to_hex(at), 12, '0'), 9)
                   || '-7' || kind || '-8000-' || lpad(to_hex(n), 12, '0') $$;
            CREATE FUNCTION scale.user_at(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
              'SELECT {self.start - DAYS * DAY} + n * {DAYS * DAY} / {sizes.users}';
            CREATE FUNCTION scale.user(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
              $$ SELECT CASE n WHEN 1 THEN '{subjects.user}' ELSE scale.uuid(scale.user_at(n), n, '001') END $$;
            CREATE FUNCTION scale.app(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
              $$ SELECT CASE n WHEN 1 THEN '{subjects.app}' ELSE scale.uuid({self.start}, n, '002') END $$;
            CREATE FUNCTION scale.owner(app bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
              'SELECT scale.user(CASE app WHEN 1 THEN 1 ELSE 2 + app % {max(sizes.users // OWNERS_OF - 2, 1)} END)';
            CREATE TABLE scale.users AS SELECT * FROM users WHERE id = '{subjects.user}';
            CREATE TABLE scale.apps AS SELECT * FROM apps WHERE id = '{subjects.app}';
            CREATE TABLE scale.deployments AS SELECT * FROM deployments WHERE id = '{subjects.deployment}';
            CREATE TABLE scale.campaigns AS SELECT * FROM campaigns WHERE id = '{subjects.campaigns[0]}';
            """)

    def add(self, table, columns, query):
        """Adds rows to a table without keys. It is emptied in the transaction that fills it, because such rows aren't
        written to the log as well (wal_level=minimal)."""
        self.psql.run(f"""
            BEGIN;
            SET LOCAL session_replication_role = replica;
            CREATE TEMP TABLE before ON COMMIT DROP AS TABLE {table};
            TRUNCATE {table};
            INSERT INTO {table} TABLE before;
            INSERT INTO {table} ({columns}) {query};
            COMMIT;""")

    def add_like(self, table, values, rows):
        """Adds copies of the scene's row with other values for some columns, for each row `r` of a query."""
        columns = self.psql.run(f"""
            SELECT string_agg(column_name, ',' ORDER BY ordinal_position) FROM information_schema.columns
            WHERE table_schema = 'public' AND table_name = '{table}';""").split(",")
        self.add(table, ", ".join(columns), f"""
            SELECT {', '.join(values.get(column, 'l.' + column) for column in columns)}
            FROM ({rows}) r, scale.{table} l""")

    def movements(self):
        """A query: the number of each transaction, its kind and amount, and the numbers of the accounts."""
        one_user = "1 + floor({0} * scale.random(t, {1}) * scale.random(t, {1}))::bigint".format
        tail_app = f"2 + floor({self.sellers - 1} * scale.random(t, 5) ^ 3)::bigint"
        user = "CASE {0} WHEN 1 THEN {1} ELSE {2} + {0} END".format
        me, first_app = self.numbers["user:" + self.subjects.user], self.first + self.sizes.users
        mint, spend, transfer = (self.kinds[kind] for kind in KINDS)
        return f"""
            SELECT t, at << {PLACE_BITS} AS number, at, kind,
                   CASE kind WHEN {mint} THEN {self.numbers['issuance']}
                             ELSE {user('who', me, self.first)} END AS source,
                   CASE kind WHEN {mint} THEN {user('whom', me, self.first)}
                             WHEN {transfer} THEN {user('whom', me, self.first)}
                             ELSE CASE app WHEN 1 THEN {self.numbers['app:' + self.subjects.app]}
                                           ELSE {first_app} + app END END AS target,
                   CASE kind WHEN {mint} THEN {MINTED} ELSE 1 + t % 100 END AS amount
            FROM (SELECT t, {self.start} + t * {DAYS * DAY - HOUR} / {self.sizes.transactions} AS at,
                         CASE WHEN t % 5 = 0 THEN {mint} WHEN t % 10 = 4 THEN {transfer} ELSE {spend} END AS kind,
                         CASE WHEN t % {BOT} = 1 THEN 1 ELSE {one_user(self.holders, 1)} END AS who,
                         CASE WHEN t % 5 = 0 THEN 1 + (t / 5 - 1) % {self.holders}
                              ELSE {one_user(self.holders, 2)} END AS whom,
                         CASE WHEN t % 5 = 1 THEN 1 ELSE {tail_app} END AS app
                  FROM (SELECT generate_series(1, {self.sizes.transactions}::bigint) AS t) s) parties"""

    def postings(self):
        self.add("ledger_postings", "account_number, incoming, transaction_number, leg, kind, amount", f"""
            SELECT CASE leg WHEN 0 THEN source ELSE target END, leg, number, leg, kind,
                   CASE leg WHEN 0 THEN -amount ELSE amount END
            FROM ({self.movements()}) m, (VALUES (0), (1)) legs (leg)""")

    def transactions(self):
        self.add("ledger_transactions", "number, id_high, id_low, kind, memo", f"""
            SELECT number, (at << 16) | 28672, t - 9223372036854775807 - 1, kind, 'item ' || t % 1000
            FROM ({self.movements()}) m""")

    def indexes_of_postings(self):
        self.without.restore("ledger_transactions")
        self.without.restore("ledger_postings")

    def sums(self):
        first_app, of_today = self.first + self.sizes.users, self.end << PLACE_BITS
        self.psql.run(f"""
            CREATE UNLOGGED TABLE scale.sums AS
            SELECT account_number, sum(amount) FILTER (WHERE incoming = 1)::bigint AS credited,
                   -sum(amount) FILTER (WHERE incoming = 0)::bigint AS debited,
                   max(transaction_number) >> {PLACE_BITS} AS last_at
            FROM ledger_postings WHERE transaction_number < {of_today} GROUP BY account_number;
            UPDATE scale.sums SET credited = coalesce(credited, 0), debited = coalesce(debited, 0)
            WHERE credited IS NULL OR debited IS NULL;
            CREATE UNLOGGED TABLE scale.days AS
            SELECT account_number, (transaction_number >> {PLACE_BITS}) / {DAY} AS day, kind, count(*) AS postings,
                   coalesce(sum(amount) FILTER (WHERE incoming = 1), 0)::bigint AS credited,
                   -coalesce(sum(amount) FILTER (WHERE incoming = 0), 0)::bigint AS debited
            FROM ledger_postings
            WHERE transaction_number < {of_today}
              AND (account_number > {first_app} OR account_number IN ({self.numbers['issuance']},
                   {self.numbers['app:' + self.subjects.app]}))
            GROUP BY 1, 2, 3;""")

    def accounts(self):
        self.psql.run("""
            SET session_replication_role = replica;
            UPDATE ledger_days d SET credited = d.credited + s.credited, debited = d.debited + s.debited
            FROM scale.sums s, ledger_accounts a WHERE a.number = s.account_number AND d.account_id = a.id;
            UPDATE ledger_accounts a SET balance = a.balance + s.credited - s.debited,
                   credited = a.credited + s.credited, debited = a.debited + s.debited
            FROM scale.sums s WHERE s.account_number = a.number;""")
        self.add("ledger_accounts", "id, kind, owner, balance, credited, debited, number", f"""
            SELECT kind || ':' || owner, kind, owner, coalesce(credited - debited, 0), coalesce(credited, 0),
                   coalesce(debited, 0), number
            FROM (SELECT 'user' AS kind, scale.user(n) AS owner, {self.first} + n AS number
                  FROM generate_series(2, {self.holders}::bigint) n
                  UNION ALL
                  SELECT 'app', scale.app(n), {self.first + self.sizes.users} + n
                  FROM generate_series(2, {self.sizes.apps}::bigint) n) a
            LEFT JOIN scale.sums s ON s.account_number = a.number""")
        self.without.restore("ledger_accounts")

    def days(self):
        """Sums of a day include those of all days before it, as berthd has them; those of a kind don't."""
        self.add("ledger_days", "account_id, day, credited, debited", f"""
            SELECT a.id, d.day, sum(d.credited) OVER so_far, sum(d.debited) OVER so_far
            FROM (SELECT account_number, day, sum(credited) AS credited, sum(debited) AS debited
                  FROM scale.days GROUP BY 1, 2) d
            JOIN ledger_accounts a ON a.number = d.account_number
            WINDOW so_far AS (PARTITION BY d.account_number ORDER BY d.day)
            UNION ALL
            SELECT a.id, s.last_at / {DAY}, s.credited, s.debited
            FROM scale.sums s JOIN ledger_accounts a ON a.number = s.account_number
            WHERE a.kind = 'user' AND a.number > {self.first}""")
        self.add("ledger_kind_days", "account_id, day, kind, postings, credited, debited", """
            SELECT a.id, d.day, k.kind, d.postings, d.credited, d.debited
            FROM scale.days d JOIN ledger_accounts a ON a.number = d.account_number
            JOIN ledger_kinds k ON k.number = d.kind""")
        self.psql.run("DROP TABLE scale.days; DROP TABLE scale.sums;")

    def closed_days(self):
        first = self.start // DAY
        self.add("ledger_closed_days", "day, closed_at, transactions, postings, moved, hash, chain", f"""
            SELECT day, (day + 1) * {DAY} + {HOUR}, {self.sizes.transactions // DAYS},
                   {2 * self.sizes.transactions // DAYS}, 0, encode(sha256(day::text::bytea), 'hex'),
                   encode(sha256(('chain' || day)::bytea), 'hex')
            FROM generate_series({first}::bigint, {first + DAYS - 1}) day""")

    def users(self):
        """Names are two syllables of 64 and a number, so that they aren't in the order of the registrations."""
        first = self.psql.number("SELECT max(registration_number) FROM users;")
        self.add_like("users", {
            "id": "scale.user(n)", "email": "name || '@example.org'", "email_key": "name || '@example.org'",
            "username": "name", "username_key": "name", "referral_code": "lpad(to_hex(n), 8, '0')",
            "registration_number": f"{first} + n", "email_verified_at": "scale.user_at(n)",
            "created_at": "scale.user_at(n)", "updated_at": "scale.user_at(n)"}, f"""
            SELECT n, {' || '.join(self.syllable(seed) for seed in (1, 2))} || n AS name
            FROM (SELECT generate_series(2, {self.sizes.users}::bigint) AS n) s""")

    def syllable(self, seed):
        return (f"substr('bcdfghjklmnprstz', 1 + floor(16 * scale.random(n, {seed}))::integer, 1) "
                f"|| substr('aeio', 1 + floor(4 * scale.random(n, {seed + 10}))::integer, 1)")

    def suffixes(self):
        self.add("username_suffixes", "suffix, user_id, username", f"""
            SELECT substr(username_key, position::integer), id, username
            FROM users, suffix_positions
            WHERE position < length(username_key) AND registration_number % {SUFFIXES_OF} = 1
              AND id <> '{self.subjects.user}'
              AND NOT EXISTS (SELECT 1 FROM before b WHERE b.user_id = users.id)""")

    def apps(self):
        self.add_like("apps", {
            "id": "scale.app(n)", "owner_id": "scale.owner(n)", "app_name": "'Game ' || n",
            "client_id": "'client' || n", "listed": "n % 2", "inserted_at": str(self.start),
            "updated_at": str(self.start)}, f"SELECT generate_series(2, {self.sizes.apps}::bigint) AS n")

    def deployments(self):
        """Every tenth one is the heaviest app's. The newest ones are alive."""
        sizes = self.sizes
        alive = f"(n > {sizes.deployments - sizes.living})"
        app = f"CASE WHEN n % 10 = 0 THEN 1 ELSE 2 + floor({sizes.apps - 2} * scale.random(n, 3) ^ 3)::bigint END"
        query = f"""
            SELECT n, at, app, alive, scale.uuid(at, n, '004') AS name, scale.app(app) AS app_name
            FROM (SELECT n, {self.start} + n * {DAYS * DAY} / {sizes.deployments} AS at, {app} AS app, {alive} AS alive
                  FROM (SELECT generate_series(2, {sizes.deployments}::bigint) AS n) s) d"""
        gone = "CASE WHEN alive THEN NULL ELSE at + {0} END".format(DAY)
        self.add_like("deployments", {
            "id": "r.name", "app_id": "app_name", "owner_id": "scale.owner(app)", "name": "'web-' || n",
            "status": "CASE WHEN alive THEN 'running' ELSE 'destroyed' END", "inserted_at": "at", "updated_at": "at",
            "deployed_at": "at", "stopped_at": gone, "destroyed_at": gone, "removed_at": gone}, query)
        self.add("deployment_billing", "deployment_id, app_id, paid_until, rate, due_at", f"""
            SELECT name, app_name, CASE WHEN alive THEN {self.now + DAY} + n % 720 * {HOUR} ELSE at + {30 * DAY} END, 0,
                   CASE WHEN alive THEN {self.now + DAY} + n % 720 * {HOUR} END
            FROM ({query}) d""")
        self.add("deployment_charges", "deployment_id, period_start, transaction_id, amount, tier_id", f"""
            SELECT name, {self.now} - period * {30 * DAY}, scale.uuid({self.now} - period * {30 * DAY}, n, '006'),
                   {TIER_RATE}, (SELECT tier_id FROM scale.deployments)
            FROM ({query}) d, generate_series(1, {CHARGES}) period WHERE alive""")
        self.add("deployment_tier_changes", "id, deployment_id, period_start, from_tier_id, to_tier_id, amount, at",
                 f"""
            SELECT scale.uuid({self.now - DAY}, n, '008'), d.name, {self.now - 30 * DAY}, t.tier_id, t.tier_id, 0,
                   {self.now - DAY} FROM ({query}) d, scale.deployments t WHERE alive AND n % 2 = 0""")
        self.add("custom_domains", "id, deployment_id, app_id, owner_id, domain, is_apex, state, claimed_at, asked_at, "
                 "next_check_at", f"""
            SELECT scale.uuid(at, n, '007'), name, app_name, scale.owner(app), 'www.game' || n || '.example.org', 0,
                   'active', at, at, {self.now + DAY} FROM ({query}) d WHERE alive AND n % 5 = 1""")

    def consents(self):
        """Those of users with even numbers are for the heaviest app. Their tokens and sessions are valid for days."""
        count, user = self.sizes.users // CONSENTS_OF, "scale.user(n)"
        ids = {kind: f"scale.uuid(scale.user_at(n), n, '{number:03x}')"
               for number, kind in enumerate(("grant", "family", "session"), 16)}
        some = f"FROM generate_series(2, {count}::bigint) n"
        other = f"2 + floor({self.sellers - 1} * scale.random(n, 4))::bigint"
        app = f"scale.app(CASE WHEN n % 2 = 0 THEN 1 ELSE {other} END)"
        self.add("grants", "id, app_id, user_id, scopes, connected_at", f"""
            SELECT {ids['grant']}, {app}, {user}, 'points:spend', {self.start} {some}""")
        self.add("token_families", "id, grant_id, scopes, created_at, expires_at", f"""
            SELECT {ids['family']}, {ids['grant']}, 'points:spend', {self.start}, {self.now + 30 * DAY} {some}""")
        for table, prefix, days in (("access_tokens", ACCESS_PREFIX, 10), ("refresh_tokens", REFRESH_PREFIX, 30)):
            self.add(table, "token_hash, family_id, expires_at", f"""
                SELECT encode(sha256(('{prefix}' || n)::bytea), 'hex'), {ids['family']}, {self.now + days * DAY}
                {some}""")
        self.add("sessions", "id, user_id, address, user_agent, created_at, expires_at, authenticated_at", f"""
            SELECT {ids['session']}, {user}, '192.0.2.' || n % 256, 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0)',
                   {self.now - DAY}, {self.now + 30 * DAY}, {self.now - DAY} {some}""")
        self.add("user_apps", "user_id, apps", f"SELECT {user}, 1 {some}")
        self.add("app_users", "app_id, users", """
            SELECT app_id, count(*) FROM grants g
            WHERE NOT EXISTS (SELECT 1 FROM before b WHERE b.app_id = g.app_id) GROUP BY app_id""")

    def ads(self):
        """One impression of OPEN_OF hasn't been reported. It stays open for days, so that nobody removes it."""
        sizes, views = self.sizes, self.sizes.users // VIEWERS_OF
        campaign = "(ARRAY['" + "', '".join(self.subjects.campaigns) + f"'])[1 + n % {len(self.subjects.campaigns)}]"
        self.add_like("campaigns", {
            "id": "scale.uuid({0}, n, '005')".format(self.start), "app_id": "scale.app(2 + n * 9)",
            "owner_id": "scale.owner(2 + n * 9)", "name": "'Campaign ' || n", "status": "'exhausted'",
            "end_reason": "'exhausted'", "ended_at": str(self.end), "inserted_at": str(self.start),
            "updated_at": str(self.end)}, f"SELECT generate_series(1, {sizes.apps // 10 - 1}::bigint) AS n")
        self.add("ad_views", "user_id, day, campaign_id, impressions", f"""
            SELECT scale.user(n), {self.now // DAY}, {campaign}, 1 + n % 5
            FROM generate_series(2, {views}::bigint) n""")
        self.add("ad_impressions", "id, token_hash, campaign_id, app_id, user_id, created_at, expires_at, used_at", f"""
            SELECT scale.uuid({self.end - 80 * DAY} + n, n, '006'), encode(sha256(('impression' || n)::bytea), 'hex'),
                   {campaign}, scale.app(1 + n % {self.sellers}), scale.user(n), {self.end}, {self.now + 10 * DAY},
                   CASE WHEN n % {OPEN_OF} <> 0 THEN {self.end} END FROM generate_series(2, {views}::bigint) n""")

    def keys(self):
        """One day's keys of requests that may be sent again."""
        self.add("idempotency_keys", "principal, method, path, key, request_hash, status, body, created_at", f"""
            SELECT 'app:' || scale.app(1) || ':user:' || scale.user(n), 'POST', '/api/external/points/spend',
                   'key-' || n, encode(sha256(n::text::bytea), 'hex'), 200, repeat('x', 120), {self.now}
            FROM generate_series(2, {self.sizes.transactions // DAYS}::bigint) n""")

    def indexes(self):
        self.without.restore_all()

    def foreign_keys(self):
        self.without.restore_foreign_keys()

    def statistics(self):
        self.psql.run("DROP SCHEMA scale CASCADE;")
        self.psql.run("VACUUM (FREEZE, ANALYZE);")


def fill(address, sizes, subjects, progress=lambda text: None):
    """Fills a database that no berthd uses. `progress` gets a text for each part that is done."""
    Installation(Psql(address), sizes, subjects, progress).fill()
