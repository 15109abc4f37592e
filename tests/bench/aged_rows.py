"""Fills a database of berthd with the rows of some years of use, made from a seed.

The rows are written to the file in bulk, while no berthd uses it. What berthd keeps beside the rows (balances, sums by
day, hashes of closed days, counts) is computed from them here, and `berthd verify` compares it with them. The rows belong
to the objects that a Scene has made before; those get the most of everything."""

import base64
import collections
import dataclasses
import hashlib
import heapq
import itertools
import json
import random
import time

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from aged_ledger import DAY, HOUR, PLACE_BITS, Database, Ledger, uuid

MINUTE = 60_000  # milliseconds
HEAVY = 0.2  # of the transactions are of the heaviest app, which gives it a tenth of the postings
BOT = 0.1  # of the transactions are of the heaviest user
MINTED = 1_000_000
MINTED_FOR_HEAVY = 1_000_000_000_000
PERIOD = 30 * DAY  # of a deployment's charge
CAMPAIGN_DAYS = 30
AD_EVENT_DAYS = 80  # ad events of which there are rows; older ones are gone, their sums stay
PAYOUT = 10
CHAT_DAYS = 80
MOST_FRIENDS, MOST_REQUESTS, MOST_BLOCKS, MOST_CHANNELS, MOST_SESSIONS = 1_990, 490, 990, 190, 90
MOST_LOGS = 9_900  # of a deployment
PAGE = 110  # more than a full page
ADMINS_OWN = 100  # rows of tables that admins fill by hand


@dataclasses.dataclass
class Sizes:
    users: int
    apps: int
    deployments: int
    living: int
    postings: int
    ad_events: int
    messages: int
    audit_rows: int
    deliveries: int
    days: int

    def scaled(self, scale):
        return Sizes(**{name: value if name == "days" else int(value * scale)
                        for name, value in dataclasses.asdict(self).items()})


FULL = Sizes(users=1_000_000, apps=100_000, deployments=100_000, living=20_000, postings=20_000_000,
             ad_events=10_000_000, messages=2_000_000, audit_rows=1_000_000, deliveries=100_000, days=3650)
# Enough for a full page of each list, and for each day of a window of a year.
SMALL = Sizes(users=1_500, apps=150, deployments=1_200, living=1_100, postings=40_000, ad_events=1_000, messages=500,
              audit_rows=300, deliveries=300, days=370)


@dataclasses.dataclass
class Subjects:
    """The ids of the objects that get the most rows."""

    user: str
    other: str
    operator: str
    app: str
    deployment: str
    campaign: str
    channel: str
    webhook: str


class Past:
    """Everything that happened in the years before the objects of the scene were made."""

    def __init__(self, directory, sizes, seed, subjects, progress=lambda text: None):
        self.sizes, self.subjects, self.progress = sizes, subjects, progress
        self.random = random.Random(seed)
        self.cipher = AESGCM(base64.b64decode(json.loads((directory / "keys.json").read_text())["data"]))
        self.database = Database(directory / "berth.db")
        first = self.database.number("SELECT min(number) FROM ledger_transactions") >> PLACE_BITS
        self.now = int(time.time() * 1000)
        self.end = first // DAY * DAY  # so that the ledger's days don't overlap with those of the scene
        self.start = self.end - sizes.days * DAY
        self.template = {
            "users": self.row("users", subjects.other), "apps": self.row("apps", subjects.app),
            "deployments": self.row("deployments", subjects.deployment),
            "campaigns": self.row("campaigns", subjects.campaign)}

    def row(self, table, name):
        return self.database.row(table, "id = ?", name)

    def sealed(self, text, context):
        """What seal() of crypto.h makes of it: nonce, tag and ciphertext."""
        nonce = self.random.randbytes(12)
        data = self.cipher.encrypt(nonce, text.encode(), context.encode())
        return base64.b64encode(nonce + data[-16:] + data[:-16]).decode()

    def at(self, share):
        return int(self.start + (self.end - self.start) * share)

    def recently(self, number, count, length):
        """The time of one of `count` rows within the last `length` milliseconds, less an hour."""
        return self.now - HOUR - length + length * number // max(count, 1)

    def tail(self, count):
        """A place of `count`, of which the first ones come most often."""
        return int(count * self.random.random() ** 3)

    def fill(self):
        for step in (self.users, self.apps, self.deployments, self.campaigns, self.ledger, self.ad_events,
                     self.consents, self.people, self.chat, self.admins, self.webhooks, self.of_deployments,
                     self.items, self.market):
            before = time.monotonic()
            step()
            self.progress(f"{step.__name__.replace('_', ' ')}: {time.monotonic() - before:.1f} s")
        before = time.monotonic()
        self.database.close()
        self.progress(f"indexes: {time.monotonic() - before:.1f} s")

    def users(self):
        count, taken = self.sizes.users, self.database.number("SELECT max(registration_number) FROM users")
        self.user_times = [self.at(0.9 * i / count) for i in range(count)]
        self.user_ids = [self.subjects.user] + [uuid(at, i, 1) for i, at in enumerate(self.user_times)][1:]
        referred = count // 100

        def rows():
            for i in range(1, count):
                at, name = self.user_times[i], f"player{self.random.randrange(100):02d}{i}"
                by = self.subjects.user if i <= referred else None
                yield {"id": self.user_ids[i], "email": name + "@example.org", "email_key": name + "@example.org",
                       "username": name, "username_key": name, "referral_code": f"code{i}", "referred_by": by,
                       "registration_number": taken + i, "email_verified_at": at, "created_at": at, "updated_at": at,
                       "direct_referrals": 0}

        self.database.add_like("users", self.template["users"], rows())
        self.database.sql.execute("UPDATE users SET direct_referrals = ? WHERE id = ?",
                                  (referred, self.subjects.user))
        self.database.sql.execute("DELETE FROM username_suffixes")
        self.database.sql.execute(
            "INSERT INTO username_suffixes (suffix, user_id, username) "
            "SELECT substr(username_key, position) AS suffix, id, username FROM users, suffix_positions "
            "WHERE position < length(username_key) AND deleted_at IS NULL ORDER BY suffix, id")

    def apps(self):
        count = self.sizes.apps
        self.app_times = [self.at(0.9 * i / count) for i in range(count)]
        self.app_ids = [self.subjects.app] + [uuid(at, i, 2) for i, at in enumerate(self.app_times)][1:]
        # An owner has a few apps, and had registered before.
        self.app_owners = [self.subjects.operator] + [
            self.user_ids[min(1 + i * (self.sizes.users - 1) // count, i + 1)] for i in range(1, count)]
        self.database.add_like("apps", self.template["apps"], (
            {"id": self.app_ids[i], "owner_id": self.app_owners[i], "app_name": f"Game {i}", "client_id": f"client{i}",
             "listed": i % 2, "inserted_at": self.app_times[i], "updated_at": self.app_times[i]}
            for i in range(1, count)))
        self.database.add("app_origins", ("app_id", "origin"), (
            (self.app_ids[i], f"https://game{i}.example.org") for i in range(1, count)))
        statuses = ("approved", "rejected", "withdrawn")
        of_heavy = max(count // 20, PAGE)
        self.database.add("scope_requests", ("id", "app_id", "requested_scopes", "status", "inserted_at"), (
            (uuid(self.app_times[i], i, 3), self.app_ids[0 if i <= of_heavy else i], "deploy:manage",
             "pending" if i > of_heavy and i % 10 == 0 else statuses[i % 3], self.app_times[i])
            for i in range(1, count)))

    def deployments(self):
        count, living = self.sizes.deployments, self.sizes.living
        template = self.template["deployments"]
        self.deployment_apps = [0] + [0 if i % 10 == 0 else self.tail(self.sizes.apps) for i in range(1, count)]
        self.deployment_times = [self.at(0)] + [
            max(self.at(i / count), self.app_times[self.deployment_apps[i]]) for i in range(1, count)]
        self.deployment_ids = [self.subjects.deployment] + [
            uuid(self.deployment_times[i], i, 4) for i in range(1, count)]
        is_living = [i >= count - living for i in range(count)]
        is_living[0] = True
        self.living = [i for i in range(count) if is_living[i]]

        def rows():
            for i in range(1, count):
                at, app = self.deployment_times[i], self.deployment_apps[i]
                row = {"id": self.deployment_ids[i], "app_id": self.app_ids[app], "owner_id": self.app_owners[app],
                       "name": f"aged-{i}", "status": "running", "inserted_at": at, "updated_at": at,
                       "deployed_at": at}
                if not is_living[i]:
                    row |= {"status": "destroyed", "stopped_at": at + DAY, "destroyed_at": at + DAY,
                            "removed_at": at + DAY}
                yield row

        self.database.add_like("deployments", template, rows())
        self.database.add_sorted(
            "deployment_billing", ("deployment_id", "app_id", "paid_until", "rate", "due_at"), (
                (self.deployment_ids[i], self.app_ids[self.deployment_apps[i]],
                 self.now + DAY + i * HOUR if is_living[i] else self.deployment_times[i] + PERIOD, 0,
                 self.now + DAY + i * HOUR if is_living[i] else None) for i in range(1, count)), "deployment_id")

    def campaigns(self):
        count = max(self.sizes.apps // 10, 120)
        template = self.template["campaigns"]
        self.campaign_times = [self.at(0)] + [self.at(i / count) for i in range(1, count)]
        # Every second one is the heaviest app's.
        self.campaign_apps = [0] + [0 if i % 2 else self.apps_until(self.campaign_times[i]) for i in range(1, count)]
        self.campaign_ids = [self.subjects.campaign] + [
            uuid(self.campaign_times[i], i, 5) for i in range(1, count)]
        self.ad_days = {}  # campaign and day: impressions, clicks
        self.event_days = []  # those of which there are rows
        first_with_rows = self.end // DAY - min(AD_EVENT_DAYS, self.sizes.days)
        with_rows = [(i, day) for i in range(1, count) for day in self.days_of(i) if day >= first_with_rows]
        of_heavy = [(0, day) for day in range(first_with_rows, self.end // DAY)]
        for days, events in ((with_rows, self.sizes.ad_events * 9 // 10), (of_heavy, self.sizes.ad_events // 10)):
            self.event_days += [(i, day, max(events // max(len(days), 1), 1)) for i, day in days]
        for i, day, events in self.event_days:
            self.ad_days[i, day] = (max(events * 6 // 10, 1), events // 10)
        for i in range(count):
            for day in self.days_of(i):
                self.ad_days.setdefault((i, day), (self.random.randrange(1, 50), 1))
        self.spent = collections.Counter()
        for (i, _), (impressions, _) in self.ad_days.items():
            self.spent[i] += impressions * PAYOUT
        self.database.add_like("campaigns", template, (self.campaign_row(i) for i in range(1, count)))
        self.database.add_sorted(
            "ad_days", ("campaign_id", "day", "impressions", "clicks", "spend"), (
                (self.campaign_ids[i], day, impressions, clicks, impressions * PAYOUT)
                for (i, day), (impressions, clicks) in self.ad_days.items()), "campaign_id, day")
        # The scene's own campaign got its budget raised.
        self.database.sql.execute(
            "UPDATE campaigns SET spent = spent + ?1, budget = budget + ?1, total_payment = total_payment + ?1, "
            "payout_rate = ?2 WHERE id = ?3", (self.spent[0], PAYOUT, self.subjects.campaign))

    def apps_until(self, at):
        """An app that existed then."""
        return self.tail(max(1, int(self.sizes.apps * min(1, (at - self.start) / (self.end - self.start)))))

    def days_of(self, campaign):
        first = self.start // DAY if campaign == 0 else self.campaign_times[campaign] // DAY + 1
        length = self.sizes.days if campaign == 0 else CAMPAIGN_DAYS
        return range(first, min(first + length, self.end // DAY))

    def is_active(self, campaign):
        return campaign % 10 == 0 and self.campaign_times[campaign] + CAMPAIGN_DAYS * DAY > self.end

    def campaign_row(self, i):
        at, app, spent = self.campaign_times[i], self.campaign_apps[i], self.spent[i]
        active, budget = self.is_active(i), spent + (MINTED if self.is_active(i) else 0)
        return {"id": self.campaign_ids[i], "app_id": self.app_ids[app], "owner_id": self.app_owners[app],
                "name": f"Campaign {i}", "payout_rate": PAYOUT, "total_payment": budget + budget // 10,
                "rake": budget // 10, "budget": budget, "spent": spent, "refunded": 0, "viewer_rewards": 0,
                "status": "active" if active else "exhausted", "end_reason": None if active else "exhausted",
                "ended_at": None if active else at + CAMPAIGN_DAYS * DAY, "inserted_at": at, "updated_at": at}

    def ledger(self):
        self.books = Ledger(self.database)
        self.issuance, self.treasury = self.books.account("issuance", ""), self.books.account("treasury", "")
        self.charges = []
        self.opened = {"user": [], "app": [], "campaign": {}}
        self.books.post(self.start, "mint", [(self.issuance, self.treasury, MINTED_FOR_HEAVY)])
        known = self.registrations(), self.creations(), self.payments(), self.impressions(), self.renewals()
        known = [sorted(events, key=lambda event: event[0]) for events in known]
        rest = max(self.sizes.postings // 2 - sum(map(len, known)), 0)
        everyday = ((self.at((i + 1) / (rest + 1)), self.everyday, ()) for i in range(rest))
        for at, post, values in heapq.merge(*known, everyday, key=lambda event: event[0]):
            post(at, *values)
        self.books.close()
        self.database.add_sorted(
            "deployment_charges", ("deployment_id", "period_start", "transaction_id", "amount", "tier_id"),
            self.charges, "deployment_id, period_start")

    def registrations(self):
        return [(at, self.open, ("user", self.user_ids[i], i == 0)) for i, at in enumerate(self.user_times)]

    def creations(self):
        return [(at, self.open, ("app", self.app_ids[i], i == 0)) for i, at in enumerate(self.app_times)]

    def open(self, at, kind, owner, is_heavy):
        account = self.books.account(kind, owner)
        self.opened[kind].append(account)
        self.books.post(at, "mint", [(self.issuance, account, MINTED_FOR_HEAVY if is_heavy else MINTED * 100)])

    def payments(self):
        return [(at, self.pay, (i,)) for i, at in enumerate(self.campaign_times)]

    def pay(self, at, i):
        account = self.opened["campaign"][i] = self.books.account("campaign", self.campaign_ids[i])
        budget = self.spent[i] + (MINTED if i and self.is_active(i) else 0)
        legs = [(self.opened["app"][self.campaign_apps[i]], account, budget)] if budget else []
        if i and budget >= 10:
            legs.append((self.opened["app"][self.campaign_apps[i]], self.treasury, budget // 10))
        if legs:
            self.books.post(at, "campaign_payment", legs)

    def impressions(self):
        return [((day + 1) * DAY - MINUTE, self.show, (i, count)) for (i, day), (count, _) in self.ad_days.items()
                if count]

    def show(self, at, i, count):
        app = self.opened["app"][self.tail(len(self.opened["app"]))]
        self.books.post(at, "impression", [(self.opened["campaign"][i], app, count * PAYOUT)])

    def renewals(self):
        events = [(at + 1, self.charge, (i, at)) for i, at in enumerate(self.deployment_times) if i and i % 2]
        return events + [(at, self.charge, (0, at)) for at in range(self.start + MINUTE, self.end - PERIOD, PERIOD)]

    def charge(self, at, i, period_start):
        app = self.opened["app"][self.deployment_apps[i]]
        name = self.books.post(at, "deployment", [(app, self.treasury, 100)])
        tier = self.template["deployments"]["tier_id"]
        self.charges.append((self.deployment_ids[i], period_start, name, 100, tier))

    def everyday(self, at):
        """A spend, a transfer or a reward."""
        chance, users, apps = self.random.random, self.opened["user"], self.opened["app"]
        user = users[0] if chance() < BOT else users[self.tail(len(users))]
        kind, amount = chance(), 1 + int(chance() * 9)
        if kind < HEAVY:
            self.books.post(at, "spend", [(user, apps[0], amount)])
        elif kind < 0.8:
            self.books.post(at, "spend", [(user, apps[self.tail(len(apps))], amount)])
        elif kind < 0.9 or len(users) < 2:
            self.books.post(at, "session", [(self.treasury, user, amount)])
        else:
            other = users[self.tail(len(users))]
            if other != user:
                self.books.post(at, "transfer", [(user, other, amount)])

    def ad_events(self):
        columns = ("id", "campaign_id", "app_id", "user_id", "event_type", "surface_type", "payout_rate_snapshot",
                   "counted", "unpaid_reason", "clicked_event_id", "inserted_at")

        def rows():
            number = itertools.count()
            for i, day, events in self.event_days:
                impressions, clicks = self.ad_days[i, day]
                seen = []
                for place in range(events):
                    at = day * DAY + (DAY - 1) * place // events
                    name = uuid(at, next(number), 6)
                    is_paid, is_click = place < impressions, impressions <= place < impressions + clicks
                    if is_paid:
                        app, user = self.app_ids[self.tail(len(self.app_ids))], self.tail(len(self.user_ids))
                        seen.append((name, app, self.user_ids[user]))
                    clicked, app, user = seen[(place - impressions if is_click else place) % len(seen)]
                    yield (name, self.campaign_ids[i], app, user, "click" if is_click else "impression", "banner",
                           PAYOUT, int(is_paid or is_click), None if is_paid or is_click else "viewer_cap",
                           clicked if is_click else None, at)

        self.database.add("ad_events", columns, rows())
        self.database.add("meta", ("key", "value"), [("ad_events_since", str(min(day for _, day, _ in self.event_days)))])

    def consents(self):
        users, apps = len(self.user_ids), len(self.app_ids)
        scopes = "points:spend profile:read"

        def pairs():
            yield from ((0, i) for i in range(1, users) if i % 3 == 0)
            yield from ((i, 0) for i in range(1, min(apps, users // 10)))
            yield from ((1 + i * 31 % (apps - 1), i) for i in range(1, users) if i % 3 == 1 and apps > 1)

        granted = [(uuid(self.user_times[user], app, 7), self.app_ids[app], self.user_ids[user], scopes,
                    max(self.user_times[user], self.app_times[app])) for app, user in pairs()]
        # A tenth of all were active lately.
        self.database.add("grants", ("id", "app_id", "user_id", "scopes", "connected_at", "last_used_at"), (
            (*grant, self.recently(i, len(granted), 7 * DAY) if i % 10 == 0 else None)
            for i, grant in enumerate(granted)))
        self.database.sql.execute("DELETE FROM app_users")
        self.database.sql.execute("INSERT INTO app_users (app_id, users) SELECT app_id, count(*) FROM grants "
                                  "WHERE revoked_at IS NULL AND scopes <> '' GROUP BY app_id")
        self.database.sql.execute("DELETE FROM user_apps")
        self.database.sql.execute("INSERT INTO user_apps (user_id, apps) SELECT user_id, count(*) FROM grants "
                                  "WHERE revoked_at IS NULL AND scopes <> '' GROUP BY user_id")
        living = granted[::5]
        families = [(uuid(self.recently(i, len(living), 29 * DAY), i, 8), grant[0], scopes,
                     self.recently(i, len(living), 29 * DAY), self.now + 60 * DAY) for i, grant in enumerate(living)]
        self.database.add("token_families", ("id", "grant_id", "scopes", "created_at", "expires_at"), families)
        self.database.add_sorted("refresh_tokens", ("token_hash", "family_id", "expires_at"), (
            (hashlib.sha256(f"refresh{i}".encode()).hexdigest(), family[0], self.now + DAY + i)
            for i, family in enumerate(families)), "token_hash")
        self.database.add_sorted("access_tokens", ("token_hash", "family_id", "expires_at"), (
            (hashlib.sha256(f"access{i}".encode()).hexdigest(), family[0], self.now + HOUR + i)
            for i, family in enumerate(families[::10])), "token_hash")
        self.database.add_sorted(
            "play_sessions", ("id", "family_id", "token_hash", "started_at", "expires_at"), (
                (uuid(self.now - HOUR, i, 9), family[0], hashlib.sha256(f"session{i}".encode()).hexdigest(),
                 self.now - HOUR, self.now + HOUR + i) for i, family in enumerate(families[::10])), "id")

    def people(self):
        users, heavy = self.user_ids, self.subjects.user
        like = self.database.row("sessions", "user_id = ? LIMIT 1", heavy)
        logged_in = [heavy] * MOST_SESSIONS + users[1::10]
        self.database.add_like("sessions", like, (
            {"id": uuid(self.now - HOUR, i, 10), "user_id": user, "created_at": self.now - HOUR,
             "expires_at": self.now + HOUR + 20 * HOUR * i // len(logged_in)} for i, user in enumerate(logged_in)))
        pairs = [(heavy, users[i], "accepted") for i in range(1, min(MOST_FRIENDS, len(users) // 4))]
        at = len(pairs) + 1
        pairs += [(heavy, users[i], "pending") for i in range(at, min(at + MOST_REQUESTS, len(users) // 2))]
        pairs += [(users[i], users[i + 1], "accepted") for i in range(1, len(users) - 1)]
        self.database.add(
            "friendships", ("id", "low_id", "high_id", "requester_id", "status", "asked_at", "changed_at"), (
                (uuid(self.now - DAY, i, 11), min(pair[:2]), max(pair[:2]), pair[1], pair[2], self.now - DAY + i,
                 self.now - DAY + i) for i, pair in enumerate(pairs)))
        blocks = [(heavy, user) for user in users[1:][-MOST_BLOCKS:][: len(users) // 4]]
        blocks += [(users[i], users[i - 1]) for i in range(2, len(users), 10)]
        self.database.add_sorted("blocks", ("blocker_id", "blocked_id", "created_at"), (
            (*pair, self.now - DAY + i) for i, pair in enumerate(blocks)), "1, 2")
        for table, columns in (("presence", ("user_id", "last_seen")), ("play_time", ("user_id", "counted_until"))):
            self.database.sql.execute(f"DELETE FROM {table}")
            self.database.add_sorted(table, columns, (
                (user, self.now - DAY - i) for i, user in enumerate(users)), "user_id")
        self.database.add_sorted("login_networks", ("user_id", "network", "last_at"), (
            (user, "192.0.2.0/24", self.recently(i, len(users), 80 * DAY)) for i, user in enumerate(users)), "1")
        self.database.add_sorted(
            "idempotency_keys", ("principal", "method", "path", "key", "request_hash", "status", "body",
                                 "created_at"), (
                ("user:" + user, "POST", "/api/points/transfer", f"key{i}", "0" * 64, 200, "{}",
                 self.recently(i, len(users) // 10, 20 * HOUR)) for i, user in enumerate(users[1::10])), "1, 2, 3, 4")
        mails = len(users) // 20
        like = self.database.row("outbox", "1 = 1 LIMIT 1")
        letter = json.dumps({"body": "Welcome", "token": "none"})

        def letters():
            for i in range(mails):
                at = self.recently(i, mails, 80 * DAY)
                name = uuid(at, i, 12)
                yield {"id": name, "to_address": f"player{i}@example.org", "sealed": self.sealed(letter, name),
                       "created_at": at}

        self.database.add_like("outbox", like, letters())

    def chat(self):
        count, channels = self.sizes.messages, max(self.sizes.messages // 200, MOST_CHANNELS)
        ids = [self.subjects.channel] + [uuid(self.at(i / channels), i, 13) for i in range(1, channels)]
        self.database.add("chat_channels", ("id", "type", "ref_id", "created_at"), (
            (ids[i], "table" if i % 2 else "lobby", f"old-{i}", self.at(i / channels)) for i in range(1, channels)))
        members = {(ids[i], self.subjects.user) for i in range(1, MOST_CHANNELS)}
        members |= {(ids[0], user) for user in self.user_ids[1::10]}
        members |= {(ids[i * 7 % channels], user) for i, user in enumerate(self.user_ids[1:])}
        self.database.add_sorted("chat_members", ("channel_id", "user_id", "joined_at"), (
            (*pair, self.now - DAY) for pair in members), "1, 2")
        like = self.database.row("chat_entries", "channel_id = ? AND kind = 'message' LIMIT 1", ids[0])
        length = min(CHAT_DAYS, self.sizes.days) * DAY
        self.database.sql.execute("UPDATE chat_entries SET seq = seq + ?", (count,))
        self.database.sql.execute("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'chat_entries'", (count,))

        def messages():
            for i in range(count):
                at = self.recently(i, count, length)
                name = uuid(at, i, 14)
                yield {"seq": i + 1, "channel_id": ids[0 if i % 10 == 0 else self.tail(channels)],
                       "message_id": name, "sender_id": self.user_ids[self.tail(len(self.user_ids))],
                       "sealed_body": self.sealed("Hello", name), "sent_at": at}

        self.database.add_like("chat_entries", like, messages())

    def admins(self):
        count = self.sizes.audit_rows
        self.database.add("audit_log", ("id", "actor", "action", "target", "details", "at"), (
            (uuid(self.at(i / count), i, 15), "internal", "user_promoted",
             "user:" + self.user_ids[self.tail(len(self.user_ids))], '{"tier":"basic"}', self.at(i / count))
            for i in range(count)))

    def webhooks(self):
        count, hooks = self.sizes.deliveries, max(self.sizes.apps // 10, 1)
        like = self.row("webhooks", self.subjects.webhook)
        ids = [self.subjects.webhook] + [uuid(self.app_times[i], i, 16) for i in range(1, hooks)]
        self.database.add_like("webhooks", like, (
            {"id": ids[i], "app_id": self.app_ids[i], "created_at": self.app_times[i]} for i in range(1, hooks)))
        newest = self.database.number("SELECT coalesce(max(id), 0) FROM app_events")
        events = max(count, len(self.living) * 10)
        data = json.dumps({"id": "", "status": "running"})
        self.database.add("app_events", ("id", "app_id", "type", "subject", "data", "at"), (
            (newest + i + 1, self.app_ids[self.deployment_apps[self.living[i % len(self.living)]]],
             "deployment.status", self.deployment_ids[self.living[i % len(self.living)]], data,
             self.recently(i, events, min(6, self.sizes.days) * DAY)) for i in range(events)))
        self.database.add(
            "webhook_deliveries", ("webhook_id", "event_id", "subject", "state", "attempts", "next_attempt_at",
                                   "last_attempt_at", "response_status", "created_at", "done_at"), (
                (ids[0 if i % 2 else self.tail(hooks)], newest + i + 1, self.deployment_ids[0], "delivered", 1,
                 self.recently(i, count, 2 * DAY), self.recently(i, count, 2 * DAY), 200,
                 self.recently(i, count, 2 * DAY), self.recently(i, count, 2 * DAY)) for i in range(count)))

    def of_deployments(self):
        of_heavy = min(max(self.sizes.deployments, 200), MOST_LOGS)
        self.database.sql.execute("UPDATE deploy_logs SET number = number + ? WHERE deployment_id = ?",
                                  (of_heavy, self.subjects.deployment))
        columns = ("id", "deployment_id", "action", "status", "initiated_by", "inserted_at", "number")
        self.database.add("deploy_logs", columns, (
            (uuid(self.at(i / of_heavy), i, 17), self.subjects.deployment, "restart", "succeeded",
             self.subjects.operator, self.at(i / of_heavy), i + 1) for i in range(of_heavy)))
        self.database.add("deploy_logs", columns, (
            (uuid(at, i * 5 + number, 18), self.deployment_ids[i], "restart", "succeeded", None, at + number, number)
            for i, at in enumerate(self.deployment_times) if i for number in range(1, 6)))
        like = self.database.row("deployment_revisions", "deployment_id = ? LIMIT 1", self.subjects.deployment)
        self.database.add_like("deployment_revisions", like, (
            {"deployment_id": self.deployment_ids[i], "generation": 1} for i in self.living if i))
        self.database.add_sorted(
            "deployment_labels", ("deployment_id", "label", "value", "app_id", "inserted_at"), (
                (self.deployment_ids[i], "stage", "test", self.app_ids[self.deployment_apps[i]],
                 self.deployment_times[i]) for i in self.living if i), "1, 2")
        self.database.add("custom_domains", (
            "id", "deployment_id", "app_id", "owner_id", "domain", "is_apex", "state", "claimed_at", "asked_at",
            "next_check_at", "released_at", "removed_at"), (
            (uuid(at, i, 19), self.deployment_ids[i], self.app_ids[self.deployment_apps[i]],
             self.app_owners[self.deployment_apps[i]], f"game{i}.example.org", 0, "waiting_for_dns", at, at,
             at, at + DAY, at + DAY) for i, at in enumerate(self.deployment_times) if i % 5 == 1))
        self.database.add_sorted("used_names", ("name_hash", "owner_id"), (
            (hashlib.sha256(f"name{i}".encode()).hexdigest(), self.app_owners[self.deployment_apps[i]])
            for i in range(len(self.deployment_ids))), "1")

    def items(self):
        like = self.database.row("cosmetic_items", "1 = 1 LIMIT 1")
        ids = [uuid(self.start, i, 20) for i in range(ADMINS_OWN)]
        self.database.add_like("cosmetic_items", like, (
            {"id": ids[i], "name": f"Old hat {i}", "inserted_at": self.start + i} for i in range(ADMINS_OWN)))
        columns = ("id", "user_id", "item_id", "acquired_at", "acquired_via")
        self.database.add("user_cosmetics", columns, (
            (uuid(self.start, i, 21), self.subjects.user, name, self.start + i, "purchase")
            for i, name in enumerate(ids)))
        self.database.add("user_cosmetics", columns, (
            (uuid(self.start, i, 22), user, ids[i % len(ids)], self.now - DAY, "purchase")
            for i, user in enumerate(self.user_ids) if i))
        self.database.add("avatars", ("id", "user_id", "created_at", "updated_at"), (
            (uuid(self.start, i, 23), user, self.start, self.start) for i, user in enumerate(self.user_ids[1:])))
        module = self.database.row("learning_modules", "1 = 1 LIMIT 1")["id"]
        self.database.add_sorted("learning_progress", ("user_id", "module_id", "started_at", "completed"), (
            (user, module, self.now - DAY, 1) for user in self.user_ids[1:]), "1, 2")

    def market(self):
        surfaces = ("banner", "video", "interstitial", "native", "rewarded")
        placements = [uuid(self.start, i, 24) for i in range(ADMINS_OWN)]
        self.database.add("ad_placements", (
            "id", "name", "surface_type", "description", "is_active", "inserted_at", "updated_at"), (
            (name, f"Place {i}", surfaces[i % 5], "", 1, self.start + i, self.start + i)
            for i, name in enumerate(placements)))
        self.database.add("ad_pricing", (
            "id", "ad_placement_id", "base_rate", "min_rate", "max_rate", "effective_from", "inserted_at",
            "updated_at"), ((uuid(self.start, i, 25), placements[i], 10, 5, 50, self.start, self.start, self.start)
                            for i in range(ADMINS_OWN)))
        packages = [uuid(self.start, i, 26) for i in range(ADMINS_OWN)]
        self.database.add("ad_packages", (
            "id", "name", "discount_percentage", "min_surfaces", "min_impressions", "is_active", "inserted_at",
            "updated_at"), ((name, f"Package {i}", 10, 1, 1, 1, self.start + i, self.start + i)
                            for i, name in enumerate(packages)))
        count = max(self.sizes.apps // 5, 150)
        self.database.add("ad_package_purchases", (
            "id", "ad_package_id", "app_id", "surfaces", "subtotal", "discount_amount", "rake_amount",
            "total_charged", "status", "inserted_at", "updated_at"), (
            (uuid(self.at(i / count), i, 27), packages[i % ADMINS_OWN],
             self.app_ids[0 if i % 2 else i % len(self.app_ids)], "[]", 100, 10, 9, 99, "completed",
             self.at(i / count), self.at(i / count)) for i in range(count)))
        self.database.add("audience_segments", ("id", "app_id", "name", "game_type", "inserted_at"), (
            (uuid(at, i, 28), self.app_ids[0 if i % 10 == 0 or i < PAGE else i], f"Segment {i}", "puzzle", at)
            for i, at in enumerate(self.app_times)))
        self.database.add("campaign_placements", (
            "id", "campaign_id", "ad_placement_id", "allocated_budget", "impressions_target", "status",
            "inserted_at", "updated_at"), (
            (uuid(at, i, 29), self.campaign_ids[i], placements[i % ADMINS_OWN], 100, 10, "depleted", at, at)
            for i, at in enumerate(self.campaign_times) if i))


def fill(directory, sizes, seed, subjects, progress=lambda text: None):
    """Fills the database of a data directory that no process uses. `progress` gets a text for each part that is done."""
    Past(directory, sizes, seed, subjects, progress).fill()
