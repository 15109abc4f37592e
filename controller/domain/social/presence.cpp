#include "controller/domain/social/presence.h"

#include <algorithm>

#include "controller/base/error.h"

namespace berth::presence {
namespace {

constexpr size_t flushed_at_once = 500;  // rows in one transaction, which takes some milliseconds

bool is_online(bool left, Instant last_seen, Instant now) {
  return !left && now - last_seen < online_for;
}

[[noreturn]] void refuse_full(const char* what) { throw Error(Code::unavailable, what); }

}  // namespace

void Board::set(const std::string& user_id, const Place& place, Going going, Instant now) {
  const std::lock_guard lock(mutex_);
  if (users_.size() >= max_users && !users_.contains(user_id))
    refuse_full("too many users are online; try again in a minute");
  users_[user_id] = {.last_seen = now,
                     .place = going == Going::leaves ? Place{} : place,
                     .left = going == Going::leaves};
}

void Board::touch(const std::string& user_id, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto known = users_.find(user_id);
  if (known == users_.end()) {
    if (users_.size() < max_users) users_[user_id].last_seen = now;
    return;
  }
  Known& user = known->second;
  // A user who was offline may now be somewhere else, so the former place is dropped.
  if (!is_online(user.left, user.last_seen, now)) user.place = {};
  user.last_seen = now;
  user.left = user.written = false;
}

Entry Board::of(db::Tx& tx, const std::string& user_id) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = users_.find(user_id);
    if (known != users_.end()) {
      const Known& user = known->second;
      const bool online = is_online(user.left, user.last_seen, tx.now());
      return {
          .online = online, .last_seen = user.last_seen, .place = online ? user.place : Place{}};
    }
  }
  auto rows = tx.query(
      R"(
      SELECT coalesce(p.last_seen, u.created_at) AS last_seen
      FROM users u
      LEFT JOIN presence p ON p.user_id = u.id
      WHERE u.id = $1)",
      user_id);
  if (!rows.next()) throw Error(Code::user_not_found, "there is no such user");
  return {.online = false, .last_seen = rows.instant("last_seen"), .place = {}};
}

AtTable Board::sit(const std::string& table_id, const std::string& user_id, Going going,
                   Instant now) {
  const std::lock_guard lock(mutex_);
  const bool leaves = going == Going::leaves;
  const auto table = tables_.find(table_id);
  if (table != tables_.end()) {
    const auto seat = std::ranges::find(table->second, user_id, &Seat::user_id);
    if (seat != table->second.end()) {
      seat->last_seen = now;
      seat->left = leaves;
      return {.user_id = user_id, .online = !leaves, .last_seen = now};
    }
  }
  if (leaves) return {.user_id = user_id, .online = false, .last_seen = now};
  if (seats_ >= max_seats || (table != tables_.end() && table->second.size() >= max_at_table))
    refuse_full("there is no seat left; try again in a few minutes");
  tables_[table_id].push_back({.user_id = user_id, .last_seen = now});
  ++seats_;
  return {.user_id = user_id, .online = true, .last_seen = now};
}

std::vector<AtTable> Board::at_table(const std::string& table_id, Instant now) const {
  const std::lock_guard lock(mutex_);
  std::vector<AtTable> result;
  const auto table = tables_.find(table_id);
  if (table == tables_.end()) return result;
  for (const Seat& seat : table->second)
    if (now - seat.last_seen < table_kept_for)
      result.push_back({.user_id = seat.user_id,
                        .online = is_online(seat.left, seat.last_seen, now),
                        .last_seen = seat.last_seen});
  return result;
}

void Board::forget(const std::string& user_id) {
  const std::lock_guard lock(mutex_);
  users_.erase(user_id);
  for (auto& [id, seats] : tables_)
    seats_ -= std::erase_if(seats, [&](const Seat& seat) { return seat.user_id == user_id; });
}

std::vector<Board::Seen> Board::unwritten() const {
  const std::lock_guard lock(mutex_);
  std::vector<Seen> all;
  for (const auto& [id, user] : users_)
    if (!user.written) all.push_back({id, user.last_seen});
  return all;
}

void Board::mark_written(std::span<const Seen> some) {
  const std::lock_guard lock(mutex_);
  for (const Seen& seen : some) {
    const auto user = users_.find(seen.user_id);
    if (user != users_.end() && user->second.last_seen == seen.at) user->second.written = true;
  }
}

void Board::drop_gone(Instant now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(users_, [&](const auto& entry) {
    const Known& user = entry.second;
    return user.written && !is_online(user.left, user.last_seen, now);
  });
  for (auto& [id, seats] : tables_)
    seats_ -= std::erase_if(
        seats, [&](const Seat& seat) { return now - seat.last_seen >= table_kept_for; });
  std::erase_if(tables_, [](const auto& table) { return table.second.empty(); });
}

void Board::flush(db::Database& database) {
  const std::vector<Seen> all = unwritten();
  for (size_t at = 0; at < all.size(); at += flushed_at_once) {
    const auto some = std::span(all).subspan(at, std::min(flushed_at_once, all.size() - at));
    database.write([&](db::Tx& tx) {
      for (const Seen& seen : some)
        tx.execute(
            R"(
            INSERT INTO presence (user_id, last_seen)
            SELECT id, CAST($2 AS bigint)
            FROM users
            WHERE id = $1 AND deleted_at IS NULL
            ON CONFLICT (user_id) DO UPDATE SET last_seen = excluded.last_seen)",
            seen.user_id, seen.at);
    });
    mark_written(some);
  }
  drop_gone(database.read([](db::Tx& tx) { return tx.now(); }));
}

}  // namespace berth::presence
