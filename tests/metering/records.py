"""What the database of a berthd on SQLite says was metered and charged."""
import contextlib
import sqlite3

from compare import Interval

LIMIT = 60  # seconds, while others hold the database


def rows(directory, sql, *values):
    """`directory` is berthd's data directory."""
    with contextlib.closing(sqlite3.connect(f"file:{directory}/berth.db?mode=ro", uri=True, timeout=LIMIT)) as database:
        return database.execute(sql, values).fetchall()


def intervals_of(directory):
    """Returns the runs that are metered: name -> Interval."""
    return {f"{pod}/{restart}": Interval(deployment, started / 1000, None if ended is None else ended / 1000, ending)
            for pod, restart, deployment, started, ended, ending in rows(
                directory, "SELECT pod, restart, deployment_id, started_at, ended_at, ending FROM meter_intervals")}


def open_runs(directory):
    return rows(directory, "SELECT count(*) FROM meter_intervals WHERE ended_at IS NULL")[0][0]


def charges_of(directory, given):
    """Returns what check_charges() takes, of all apps that had anything metered, each of which was given so many points."""
    return {app: (milliseconds, settled, given - balance) for app, milliseconds, settled, balance in rows(directory, """
        SELECT a.owner,
               (SELECT coalesce(sum(i.ended_at - i.started_at), 0)
                FROM meter_intervals i JOIN deployments d ON d.id = i.deployment_id WHERE d.app_id = a.owner),
               (SELECT coalesce(sum(s.points), 0) FROM meter_settlements s WHERE s.app_id = a.owner),
               a.balance
        FROM ledger_accounts a
        WHERE a.kind = 'app' AND a.owner IN (SELECT app_id FROM meter_apps)""")}
