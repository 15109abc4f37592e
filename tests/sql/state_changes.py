#!/usr/bin/env python3
"""Checks that each change of a state is made on a condition: one of the columns below may only be set by an UPDATE whose
WHERE names that column.

A write with row locks (Database::write_with_row_locks) may be overtaken between reading a row and changing it. Then an
UPDATE without the condition uses a token, a code or a hold twice, and nobody notices. tests/domain/kernel/isolation_test.cpp
lets some of them race. Prints each statement that lacks the condition, and ends with 1 if there is one.
"""
import pathlib
import re
import sys

from statements import Problem, Sources

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# The columns that say whether something was used, decided, ended or claimed, by their tables.
STATES = {
    "access_tokens": ["revoked_at"],
    "ad_creatives": ["removed_at"],
    "ad_impressions": ["used_at"],
    "ad_package_purchases": ["status"],
    "apps": ["deleted_at"],
    "authorization_codes": ["used_at"],
    "builds": ["status", "cancel_asked_at", "image_removed_at"],
    "campaigns": ["status"],
    "certificate_orders": ["outcome"],
    "custom_domains": ["released_at", "removed_at", "state"],
    "deployment_revisions": ["succeeded_at"],
    "deployments": ["suspended_at", "removed_at"],
    "device_codes": ["grant_id", "denied_at"],
    "email_changes": ["confirm_hash"],
    "email_tokens": ["used_at"],
    "friendships": ["status"],
    "grants": ["revoked_at"],
    "ledger_closed_days": ["hash"],
    "ledger_holds": ["state"],
    "outbox": ["sent_at", "failed_at"],
    "play_sessions": ["ended_at", "last_heartbeat_at"],
    "refresh_tokens": ["consumed_at"],
    "scope_requests": ["status"],
    "token_families": ["revoked_at"],
    "totp_secrets": ["last_step"],
    "users": ["deleted_at", "email_verified_at", "guest_of", "merged_into", "referral_rewarded_at",
              "signup_bonus_at", "totp_enabled_at"],
    "webhook_deliveries": ["state"],
    "webhooks": ["ended_at"],
}
# Changes that are right whatever the state was, with the reason.
UNCONDITIONAL = {
    ("custom_domains", "state", "SET released_at = $2, state = 'failed'"): "the claim ends, on the condition that it hadn't",
    ("grants", "revoked_at", "SET revoked_at = $2, scopes = ''"): "an end of a consent; the function needs serializability",
    ("email_changes", "confirm_hash", "SET confirm_hash = NULL WHERE user_id"): "all open changes of a user are withdrawn",
    ("users", "email_verified_at", "email_verified_at = NULL"): "the account is deleted",
    ("users", "totp_enabled_at", "SET totp_enabled_at = NULL"): "the second factor is switched off, after a code was taken",
    ("webhooks", "ended_at", "ended_at = NULL"): "the owner changes the webhook, which begins again",
}
UPDATE = re.compile(r"\s*UPDATE\s+(\w+)\s+SET\s(.*?)\sWHERE\s(.*)", re.DOTALL)


def flat(text):
    return re.sub(r"\s+", " ", text)


def sets(assignments, column):
    """Returns whether the part between SET and WHERE assigns to the column."""
    return re.search(rf"(^|,)\s*{column}\s*=", assignments) is not None


def faults(statements):
    """Returns how many states the statements set, and for each that is set without its condition the statement and the
    column."""
    checked, found, used = 0, [], set()
    for one in statements:
        update = UPDATE.match(one.text)
        if not update or update[1] not in STATES:
            continue
        table, assignments, condition = update.groups()
        for column in STATES[table]:
            if not sets(assignments, column):
                continue
            checked += 1
            excuse = [key for key in UNCONDITIONAL if key[:2] == (table, column) and key[2] in flat(one.text)]
            used |= set(excuse)
            if not excuse and not re.search(rf"\b{column}\b", condition):
                found.append((one, column))
    return checked, found, sorted(set(UNCONDITIONAL) - used)


def main():
    files = [(str(file.relative_to(ROOT)), file.read_text()) for folder in ("controller/domain", "api", "reconcilers")
             for file in sorted((ROOT / folder).rglob("*")) if file.suffix in (".h", ".cpp")]
    statements = [one for one in Sources(files).statements() if not isinstance(one, Problem)]
    checked, found, unused = faults(statements)
    for one, column in found:
        print(f"{one.file}:{one.line}: sets {column}, and its WHERE doesn't say what that has to be")
    for key in unused:
        print(f"tests/sql/state_changes.py: no statement needs the exception {key}")
    print(f"{checked} changes of a state, {len(UNCONDITIONAL)} without a condition for a reason, {len(found)} faults")
    return 1 if found or unused or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
