#include "controller/domain/social/presence.h"

#include <algorithm>

#include "controller/base/error.h"

namespace berth::presence {
namespace {

constexpr size_t flushed_at_once = 500;  // rows in one transaction, which takes some milliseconds

bool is_online(bool left, Instant last_seen, Instant now) {
  return !left && now - last_seen < online_for;
}

// Returns the claimant of the thread's request with the user as its account.
Claimant claimant_of(const std::string& user_id) {
  Claimant claimant = Claimant::of_thread();
  claimant.account = user_id;
  return claimant;
}

[[noreturn]] void refuse_full(const char* what) { throw Error(Code::unavailable, what); }

}  // namespace

// Returns null if there is no room for another user. The caller holds the mutex.
Board::Known* Board::find_or_add(const std::string& user_id) {
  if (const auto known = users_.find(user_id); known != users_.end()) return &known->second;
  Shares::Claim claim(user_shares_, claimant_of(user_id));
  if (claim.take() != Shares::Taken::yes) return nullptr;
  HeldUser& added = users_[user_id];
  added.claim = std::move(claim);
  return &added;
}

void Board::set(const std::string& user_id, const Place& place, Going going, Instant now) {
  const std::lock_guard lock(mutex_);
  Known* const user = find_or_add(user_id);
  if (user == nullptr) refuse_full("too many users are online; try again in a minute");
  *user = {.last_seen = now,
           .place = going == Going::leaves ? Place{} : place,
           .left = going == Going::leaves};
}

void Board::touch(const std::string& user_id, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto known = users_.find(user_id);
  if (known == users_.end()) {
    if (Known* const user = find_or_add(user_id); user != nullptr)
      *user = {.last_seen = now, .place = {}, .has_place = kept_ == Kept::in_memory};
    return;
  }
  Known& user = known->second;
  // A user who was offline may now be somewhere else, so the former place is dropped.
  if (!is_online(user.left, user.last_seen, now)) user.place = {};
  user.last_seen = now;
  user.left = user.written = false;
}

// The newer of what is stored and what isn't written yet.
Entry Board::shared_of(db::Tx& tx, const std::string& user_id) const {
  auto rows = tx.query(
      R"(
      SELECT coalesce(p.last_seen, u.created_at) AS last_seen, p.current_game, p.lobby,
             coalesce(p.has_left, 1) AS has_left
      FROM users u
      LEFT JOIN presence p ON p.user_id = u.id
      WHERE u.id = $1)",
      user_id);
  if (!rows.next()) throw Error(Code::user_not_found, "there is no such user");
  Known user = {.last_seen = rows.instant("last_seen"),
                .place = {.current_game = rows.text_or_null("current_game"),
                          .lobby = rows.text_or_null("lobby")},
                .left = rows.flag("has_left")};
  {
    const std::lock_guard lock(mutex_);
    const auto newer = users_.find(user_id);
    if (newer != users_.end() && newer->second.last_seen >= user.last_seen) {
      const bool keeps_place =
          !newer->second.has_place && is_online(user.left, user.last_seen, newer->second.last_seen);
      user = {.last_seen = newer->second.last_seen,
              .place = keeps_place ? user.place : newer->second.place,
              .left = newer->second.left};
    }
  }
  const bool online = is_online(user.left, user.last_seen, tx.now());
  return {.online = online, .last_seen = user.last_seen, .place = online ? user.place : Place{}};
}

Entry Board::of(db::Tx& tx, const std::string& user_id) const {
  if (kept_ == Kept::in_database) return shared_of(tx, user_id);
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

// Counts the seats in the database, because some may have been taken through other berthd
// processes.
void Board::require_seat(db::Tx& tx, const std::string& table_id,
                         const std::string& user_id) const {
  auto rows = tx.query(R"(
      SELECT count(*) AS taken, count(CASE WHEN user_id = $2 THEN 1 END) AS own
      FROM presence_seats
      WHERE table_id = $1 AND last_seen > $3)",
                       table_id, user_id, tx.now() - table_kept_for);
  if (rows.next() && rows.integer("own") == 0 &&
      rows.integer("taken") >= std::int64_t(max_at_table))
    refuse_full("there is no seat left; try again in a few minutes");
}

AtTable Board::sit(db::Tx& tx, const std::string& table_id, const std::string& user_id,
                   Going going) {
  const Instant now = tx.now();
  const bool leaves = going == Going::leaves;
  const bool is_shared = kept_ == Kept::in_database;
  if (is_shared && !leaves) require_seat(tx, table_id, user_id);
  const std::lock_guard lock(mutex_);
  const auto table = tables_.find(table_id);
  if (table != tables_.end()) {
    const auto seat = std::ranges::find(table->second, user_id, &Seat::user_id);
    if (seat != table->second.end()) {
      seat->last_seen = now;
      seat->left = leaves;
      return {.user_id = user_id, .online = !leaves, .last_seen = now};
    }
  }
  // The seat may be in the database.
  if (leaves && !is_shared) return {.user_id = user_id, .online = false, .last_seen = now};
  Shares::Claim claim(seat_shares_, claimant_of(user_id));
  if ((table != tables_.end() && table->second.size() >= max_at_table) ||
      claim.take() != Shares::Taken::yes)
    refuse_full("there is no seat left; try again in a few minutes");
  tables_[table_id].emplace_back(Seat{.user_id = user_id, .last_seen = now, .left = leaves},
                                 std::move(claim));
  return {.user_id = user_id, .online = !leaves, .last_seen = now};
}

void Board::add_stored_seats(db::Tx& tx, const std::string& table_id,
                             std::vector<AtTable>& seats) const {
  auto rows = tx.query(R"(
      SELECT user_id, last_seen, has_left
      FROM presence_seats
      WHERE table_id = $1 AND last_seen > $2
      ORDER BY sat_at, user_id)",
                       table_id, tx.now() - table_kept_for);
  while (rows.next())
    seats.push_back(
        {.user_id = rows.text("user_id"),
         .online = is_online(rows.flag("has_left"), rows.instant("last_seen"), tx.now()),
         .last_seen = rows.instant("last_seen")});
}

std::vector<AtTable> Board::at_table(db::Tx& tx, const std::string& table_id) const {
  const Instant now = tx.now();
  std::vector<AtTable> result;
  if (kept_ == Kept::in_database) add_stored_seats(tx, table_id, result);
  const std::lock_guard lock(mutex_);
  const auto table = tables_.find(table_id);
  if (table == tables_.end()) return result;
  for (const Seat& seat : table->second) {
    if (now - seat.last_seen >= table_kept_for) continue;
    const AtTable shown = {.user_id = seat.user_id,
                           .online = is_online(seat.left, seat.last_seen, now),
                           .last_seen = seat.last_seen};
    const auto stored = std::ranges::find(result, seat.user_id, &AtTable::user_id);
    if (stored == result.end())
      result.push_back(shown);
    else if (stored->last_seen <= shown.last_seen)
      *stored = shown;
  }
  return result;
}

void Board::forget(const std::string& user_id) {
  const std::lock_guard lock(mutex_);
  users_.erase(user_id);
  for (auto& [id, seats] : tables_)
    std::erase_if(seats, [&](const Seat& seat) { return seat.user_id == user_id; });
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
    std::erase_if(seats, [&](const Seat& seat) { return now - seat.last_seen >= table_kept_for; });
  std::erase_if(tables_, [](const auto& table) { return table.second.empty(); });
}

namespace {

// Changes nothing if the row is newer, because the user's latest heartbeat may have reached another
// berthd process.
void write_place(db::Tx& tx, const std::string& user_id, const Place& place, bool left,
                 Instant at) {
  tx.execute(
      R"(
      INSERT INTO presence (user_id, last_seen, current_game, lobby, has_left)
      SELECT id, CAST($2 AS bigint), $3, $4, CAST($5 AS bigint)
      FROM users
      WHERE id = $1 AND deleted_at IS NULL
      ON CONFLICT (user_id) DO UPDATE
      SET last_seen = excluded.last_seen, current_game = excluded.current_game,
          lobby = excluded.lobby, has_left = excluded.has_left
      WHERE presence.last_seen <= excluded.last_seen)",
      user_id, at, place.current_game, place.lobby, left);
}

// The place stays unless the user was offline before.
void write_heartbeat(db::Tx& tx, const std::string& user_id, Instant at) {
  tx.execute(
      R"(
      INSERT INTO presence (user_id, last_seen)
      SELECT id, CAST($2 AS bigint)
      FROM users
      WHERE id = $1 AND deleted_at IS NULL
      ON CONFLICT (user_id) DO UPDATE
      SET last_seen = excluded.last_seen, has_left = 0,
          current_game = CASE WHEN presence.has_left = 0 AND presence.last_seen > $3
                              THEN presence.current_game END,
          lobby = CASE WHEN presence.has_left = 0 AND presence.last_seen > $3
                       THEN presence.lobby END
      WHERE presence.last_seen <= excluded.last_seen)",
      user_id, at, at - online_for);
}

void write_seat(db::Tx& tx, const std::string& table_id, const std::string& user_id, bool left,
                Instant at) {
  if (left)
    tx.execute(R"(
        UPDATE presence_seats
        SET has_left = 1, last_seen = $3
        WHERE table_id = $1 AND user_id = $2 AND last_seen <= $3)",
               table_id, user_id, at);
  else
    tx.execute(
        R"(
        INSERT INTO presence_seats (table_id, user_id, sat_at, last_seen, has_left)
        SELECT $1, id, CAST($3 AS bigint), CAST($3 AS bigint), 0
        FROM users
        WHERE id = $2 AND deleted_at IS NULL
        ON CONFLICT (table_id, user_id) DO UPDATE
        SET last_seen = excluded.last_seen, has_left = 0
        WHERE presence_seats.last_seen <= excluded.last_seen)",
        table_id, user_id, at);
}

}  // namespace

void Board::flush_all(db::Database& database) {
  std::vector<std::pair<std::string, Known>> users;
  Seats seats;
  {
    const std::lock_guard lock(mutex_);
    users.assign(users_.begin(), users_.end());
    for (const auto& [table_id, of_table] : tables_)
      for (const Seat& seat : of_table) seats.emplace_back(table_id, seat);
  }
  for (size_t at = 0; at < users.size(); at += flushed_at_once) {
    const auto some = std::span(users).subspan(at, std::min(flushed_at_once, users.size() - at));
    database.write([&](db::Tx& tx) {
      for (const auto& [id, user] : some)
        if (user.has_place)
          write_place(tx, id, user.place, user.left, user.last_seen);
        else
          write_heartbeat(tx, id, user.last_seen);
    });
  }
  for (size_t at = 0; at < seats.size(); at += flushed_at_once) {
    const auto some = std::span(seats).subspan(at, std::min(flushed_at_once, seats.size() - at));
    database.write([&](db::Tx& tx) {
      for (const auto& [table_id, seat] : some)
        write_seat(tx, table_id, seat.user_id, seat.left, seat.last_seen);
    });
  }
  drop_written(users, seats);
}

// Entries that have changed since they were written stay until the next flush.
void Board::drop_written(const std::vector<std::pair<std::string, Known>>& users,
                         const Seats& seats) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, written] : users) {
    const auto user = users_.find(id);
    if (user != users_.end() && user->second.last_seen == written.last_seen &&
        user->second.left == written.left && user->second.has_place == written.has_place &&
        user->second.place == written.place)
      users_.erase(user);
  }
  for (const auto& [table_id, written] : seats) {
    const auto table = tables_.find(table_id);
    if (table == tables_.end()) continue;
    std::erase_if(table->second, [&](const Seat& seat) {
      return seat.user_id == written.user_id && seat.last_seen == written.last_seen &&
             seat.left == written.left;
    });
    if (table->second.empty()) tables_.erase(table);
  }
}

void Board::flush(db::Database& database) {
  if (kept_ == Kept::in_database) return flush_all(database);
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

bool is_any_old(db::Tx& tx) {
  return tx.number(R"(
             SELECT 1
             FROM presence
             WHERE (current_game IS NOT NULL OR lobby IS NOT NULL) AND last_seen <= $1
             LIMIT 1)",
                   tx.now() - online_for) > 0 ||
         tx.number(R"(SELECT 1 FROM presence_seats WHERE last_seen <= $1 LIMIT 1)",
                   tx.now() - table_kept_for) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  const int places = tx.execute(R"(
      UPDATE presence
      SET current_game = NULL, lobby = NULL
      WHERE user_id IN (
        SELECT user_id
        FROM presence
        WHERE (current_game IS NOT NULL OR lobby IS NOT NULL) AND last_seen <= $1
        LIMIT $2))",
                                tx.now() - online_for, limit);
  if (places >= limit) return places;
  return places + tx.execute(R"(
      DELETE FROM presence_seats
      WHERE (table_id, user_id) IN (
        SELECT table_id, user_id
        FROM presence_seats
        WHERE last_seen <= $1
        LIMIT $2))",
                             tx.now() - table_kept_for, limit - places);
}

}  // namespace berth::presence
