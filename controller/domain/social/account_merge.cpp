#include "controller/domain/social/account_merge.h"

#include <algorithm>
#include <unordered_set>

#include "controller/db/enum_column.h"
#include "controller/domain/social/blocks.h"
#include "controller/domain/social/chat.h"
#include "controller/domain/social/friends.h"

namespace berth::social {
namespace {

using friends::Status;
using Ids = std::unordered_set<std::string>;

// A friendship or request of the guest, with what the account has with the same person.
struct Pair {
  std::string friendship_id;
  std::string other_id;
  bool is_friend = false;  // otherwise a request
  bool asked_by_guest = false;
  bool has_friend = false, has_request = false;  // of the account
  bool asked_by_account = false;
};

// $1 is the guest, $2 the account. The rows of two people begin with the lower id.
std::vector<Pair> pairs_of(db::Tx& tx, const std::string& guest_id, const std::string& account_id) {
  std::vector<Pair> pairs;
  auto rows = tx.query(R"(
      SELECT f.id, f.other_id, f.status, f.requester_id, m.status AS held_status,
             m.requester_id AS held_requester_id
      FROM (SELECT id, high_id AS other_id, status, requester_id
            FROM friendships
            WHERE low_id = $1 AND status IN ('pending', 'accepted')
            UNION ALL
            SELECT id, low_id, status, requester_id
            FROM friendships
            WHERE high_id = $1 AND status IN ('pending', 'accepted')) f
      LEFT JOIN friendships m
        ON m.low_id = CASE WHEN f.other_id < $2 THEN f.other_id ELSE $2 END
          AND m.high_id = CASE WHEN f.other_id < $2 THEN $2 ELSE f.other_id END)",
                       guest_id, account_id);
  while (rows.next()) {
    Pair pair = {.friendship_id = rows.text("id"), .other_id = rows.text("other_id")};
    pair.is_friend = db::enum_of<Status>(rows, "status") == Status::accepted;
    pair.asked_by_guest = rows.text("requester_id") == guest_id;
    const auto held = db::enum_or_null<Status>(rows, "held_status");
    pair.has_friend = held == Status::accepted;
    pair.has_request = held == Status::pending;
    pair.asked_by_account = rows.text("held_requester_id") == account_id;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

bool comes_to_account(const Pair& pair) {
  if (pair.has_friend) return false;
  if (pair.is_friend || !pair.has_request) return true;
  return !pair.asked_by_guest && pair.asked_by_account;
}

std::vector<std::string> ids_in(db::Query rows) {
  std::vector<std::string> ids;
  while (rows.next()) ids.push_back(rows.text("id"));
  std::ranges::sort(ids);
  return ids;
}

// Those of $1 that $2 doesn't have, but for $2 itself.
std::vector<std::string> new_blocked(db::Tx& tx, const AccountMerge& plan) {
  return ids_in(tx.query(R"(
      SELECT blocked_id AS id
      FROM blocks
      WHERE blocker_id = $1
        AND blocked_id <> $2
        AND NOT EXISTS (
          SELECT 1
          FROM blocks b
          WHERE b.blocker_id = $2 AND b.blocked_id = blocks.blocked_id))",
                         plan.guest_id, plan.account_id));
}

std::vector<std::string> new_blockers(db::Tx& tx, const AccountMerge& plan) {
  return ids_in(tx.query(R"(
      SELECT blocker_id AS id
      FROM blocks
      WHERE blocked_id = $1
        AND blocker_id <> $2
        AND NOT EXISTS (
          SELECT 1
          FROM blocks b
          WHERE b.blocked_id = $2 AND b.blocker_id = blocks.blocker_id))",
                         plan.guest_id, plan.account_id));
}

std::vector<std::string> new_channels(db::Tx& tx, const AccountMerge& plan) {
  return ids_in(tx.query(R"(
      SELECT channel_id AS id
      FROM chat_members
      WHERE user_id = $1
        AND NOT EXISTS (
          SELECT 1
          FROM chat_members m
          WHERE m.user_id = $2 AND m.channel_id = chat_members.channel_id))",
                         plan.guest_id, plan.account_id));
}

// What the account has at present, and may have no more of.
struct Held {
  std::int64_t friends = 0, requests = 0, blocks = 0, channels = 0;
};
Held held_by(db::Tx& tx, const std::string& account_id) {
  return {
      .friends = tx.number(R"(
      SELECT (SELECT count(*) FROM friendships WHERE low_id = $1 AND status = 'accepted')
           + (SELECT count(*) FROM friendships WHERE high_id = $1 AND status = 'accepted'))",
                           account_id),
      .requests = tx.number(R"(
      SELECT (SELECT count(*)
              FROM friendships
              WHERE low_id = $1 AND status = 'pending' AND requester_id = $1)
           + (SELECT count(*)
              FROM friendships
              WHERE high_id = $1 AND status = 'pending' AND requester_id = $1))",
                            account_id),
      .blocks = tx.number(R"(SELECT count(*) FROM blocks WHERE blocker_id = $1)", account_id),
      .channels = tx.number(R"(SELECT count(*) FROM chat_members WHERE user_id = $1)", account_id)};
}

// What the new blocks end of the account's own.
void separate(db::Tx& tx, AccountMerge& plan, const Ids& around_guest, const Ids& around_account,
              Held& after) {
  for (const std::string& other : around_guest) {
    if (other == plan.account_id || around_account.contains(other)) continue;
    plan.separated.push_back(other);
    const auto held = friends::between(tx, plan.account_id, other);
    if (!held) continue;
    if (held->status == Status::accepted) {
      ++plan.friends_ended;
      --after.friends;
    } else if (held->status == Status::pending) {
      ++plan.requests_ended;
    }
  }
  std::ranges::sort(plan.separated);
}

void refuse_beyond(AccountMerge& plan, std::int64_t after, int most, const char* of_what) {
  if (after > most)
    plan.refusals.push_back("the account would have " + std::to_string(after) + " " + of_what +
                            "; the limit is " + std::to_string(most));
}

void move(db::Tx& tx, const AccountMerge& plan, const AccountMerge::Move& one) {
  const std::string& low = std::min(plan.account_id, one.other_id);
  const std::string& high = std::max(plan.account_id, one.other_id);
  tx.execute(R"(DELETE FROM friendships WHERE low_id = $1 AND high_id = $2)", low, high);
  tx.require_change(R"(
      UPDATE friendships
      SET low_id = $2,
          high_id = $3,
          requester_id = CASE WHEN requester_id = $4 THEN $5 ELSE requester_id END
      WHERE id = $1 AND (low_id = $4 OR high_id = $4))",
                    one.friendship_id, low, high, plan.guest_id, plan.account_id);
}

}  // namespace

std::string AccountMerge::contents() const {
  std::string text;
  const auto add = [&](const char* what, const std::vector<std::string>& ids) {
    text += std::string(what) + ":";
    for (const std::string& id : ids) text += " " + id;
    text += "\n";
  };
  std::vector<std::string> moved;
  moved.reserve(moves.size());
  for (const Move& one : moves) moved.push_back(one.friendship_id);
  add("friendships", moved);
  add("blocked", blocked);
  add("separated", separated);
  add("channels", channels);
  for (const int number : {friends_moved, friends_shared, friends_ended, requests_moved,
                           requests_shared, requests_ended})
    text += std::to_string(number) + "\n";
  return text;
}

AccountMerge plan_merge(db::Tx& tx, const std::string& guest_id, const std::string& account_id) {
  AccountMerge plan = {.guest_id = guest_id, .account_id = account_id};
  const Ids around_guest = blocks::around(tx, guest_id);
  const Ids around_account = blocks::around(tx, account_id);
  Held after = held_by(tx, account_id);
  for (const Pair& pair : pairs_of(tx, guest_id, account_id)) {
    if (pair.other_id == account_id) continue;
    if (around_account.contains(pair.other_id)) {
      ++(pair.is_friend ? plan.friends_ended : plan.requests_ended);
    } else if (!comes_to_account(pair)) {
      ++(pair.is_friend ? plan.friends_shared : plan.requests_shared);
    } else {
      ++(pair.is_friend ? plan.friends_moved : plan.requests_moved);
      if (pair.is_friend) ++after.friends;
      if (!pair.is_friend && pair.asked_by_guest) ++after.requests;
      if (pair.has_request && pair.asked_by_account) --after.requests;
      plan.moves.push_back({.friendship_id = pair.friendship_id, .other_id = pair.other_id});
    }
  }
  std::ranges::sort(plan.moves, {}, &AccountMerge::Move::friendship_id);
  plan.blocked = new_blocked(tx, plan);
  plan.blockers = new_blockers(tx, plan);
  plan.channels = new_channels(tx, plan);
  separate(tx, plan, around_guest, around_account, after);
  refuse_beyond(plan, after.friends, friends::max_friends, "friends");
  refuse_beyond(plan, after.requests, friends::max_open_requests, "unanswered requests");
  refuse_beyond(plan, after.blocks + std::int64_t(plan.blocked.size()), blocks::max_blocks_per_user,
                "blocked users");
  refuse_beyond(plan, after.channels + std::int64_t(plan.channels.size()),
                chat::max_channels_of_user, "channels");
  return plan;
}

void merge(db::Tx& tx, const AccountMerge& plan) {
  tx.require_serializable();
  for (const AccountMerge::Move& one : plan.moves) move(tx, plan, one);
  const auto block = [&](const std::string& blocker, const std::string& blocked,
                         const std::string& old_blocker, const std::string& old_blocked) {
    tx.execute(R"(
        INSERT INTO blocks (blocker_id, blocked_id, created_at)
        SELECT CAST($1 AS text), CAST($2 AS text), created_at
        FROM blocks
        WHERE blocker_id = $3 AND blocked_id = $4
        ON CONFLICT DO NOTHING)",
               blocker, blocked, old_blocker, old_blocked);
  };
  for (const std::string& other : plan.blocked) block(plan.account_id, other, plan.guest_id, other);
  for (const std::string& other : plan.blockers)
    block(other, plan.account_id, other, plan.guest_id);
  for (const std::string& other : plan.separated) friends::end_between(tx, plan.account_id, other);
  for (const std::string& channel : plan.channels)
    tx.execute(R"(
        INSERT INTO chat_members (channel_id, user_id, joined_at)
        SELECT channel_id, CAST($2 AS text), joined_at
        FROM chat_members
        WHERE channel_id = $1 AND user_id = $3
        ON CONFLICT DO NOTHING)",
               channel, plan.account_id, plan.guest_id);
}

}  // namespace berth::social
