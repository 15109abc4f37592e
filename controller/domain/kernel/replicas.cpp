#include "controller/domain/kernel/replicas.h"

#include <algorithm>
#include <vector>

#include "controller/base/id.h"
#include "controller/base/log.h"

namespace berth {
namespace {

void remove_replica(db::Tx& tx, const std::string& id) {
  tx.execute(R"(DELETE FROM loop_leases WHERE owner_id = $1)", id);
  tx.execute(R"(DELETE FROM replicas WHERE id = $1)", id);
}

void remove_old_replicas(db::Tx& tx, Instant before) {
  std::vector<std::string> ids;
  {
    auto rows = tx.query(R"(SELECT id FROM replicas WHERE beaten_at < $1)", before);
    while (rows.next()) ids.push_back(rows.text("id"));
  }
  for (const std::string& id : ids) remove_replica(tx, id);
}

}  // namespace

Replicas::Replicas(db::Database& database) : database_(database), id_(new_uuid(system_time())) {}

bool Replicas::beat() {
  const std::lock_guard one_at_a_time(looking_mutex_);
  const bool is_first = !has_looked_;
  database_.write([&](db::Tx& tx) {
    if (is_first) remove_old_replicas(tx, tx.now() - kept_for);
    tx.execute(R"(
        INSERT INTO replicas (id, beats, beaten_at)
        VALUES ($1, 1, $2)
        ON CONFLICT (id) DO UPDATE
        SET beats = replicas.beats + 1, beaten_at = excluded.beaten_at)",
               id_, tx.now());
  });
  look();
  return remove_dead();
}

void Replicas::look() {
  std::map<std::string, std::int64_t> beats;
  std::map<std::string, std::string> owners;
  database_.read([&](db::Tx& tx) {
    auto alive = tx.query(R"(SELECT id, beats FROM replicas WHERE id <> $1)", id_);
    while (alive.next()) beats[alive.text("id")] = alive.integer("beats");
    auto held = tx.query(R"(SELECT name, owner_id FROM loop_leases)");
    while (held.next()) owners[held.text("name")] = held.text("owner_id");
  });
  const std::lock_guard lock(mutex_);
  std::map<std::string, Other> others;
  for (const auto& [id, count] : beats) {
    const auto known = others_.find(id);
    const bool is_same = known != others_.end() && known->second.beats == count;
    others[id] = {.beats = count, .unchanged = is_same ? known->second.unchanged + 1 : 0};
  }
  others_ = std::move(others);
  owners_ = std::move(owners);
  has_looked_ = true;
}

// Removes the processes that have stopped beating. One that has beaten since the last look stays.
bool Replicas::remove_dead() {
  std::map<std::string, Other> dead;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, other] : others_)
      if (other.unchanged >= looks_until_dead) dead.emplace(id, other);
  }
  for (const auto& [id, other] : dead) {
    const bool removed = database_.write([&, id = id, beats = other.beats](db::Tx& tx) {
      const bool is_same = tx.number(R"(SELECT beats FROM replicas WHERE id = $1)", id) == beats;
      if (is_same) remove_replica(tx, id);
      return is_same;
    });
    if (removed)
      log::warning("another berthd on this database has died; its loops are taken over",
                   {{"replica", id}});
  }
  if (!dead.empty()) look();
  return !dead.empty();
}

void Replicas::leave() {
  const std::lock_guard one_at_a_time(looking_mutex_);
  database_.write([&](db::Tx& tx) { remove_replica(tx, id_); });
}

int Replicas::live() const {
  const std::lock_guard lock(mutex_);
  return int(others_.size()) + 1;
}

bool Replicas::holds(const std::string& loop) {
  const auto owner = [&]() -> std::string {
    const std::lock_guard lock(mutex_);
    const auto found = owners_.find(loop);
    return found == owners_.end() ? "" : found->second;
  };
  if (const std::string known = owner(); !known.empty()) return known == id_;
  const std::lock_guard one_at_a_time(looking_mutex_);
  if (!has_looked_) return false;
  if (const std::string known = owner(); !known.empty()) return known == id_;
  // Inserts nothing if another process has taken this one for dead and removed its row. This
  // process takes no loop until its next beat adds the row again.
  const std::string holder = database_.write([&](db::Tx& tx) {
    tx.execute(R"(
        INSERT INTO loop_leases (name, owner_id, taken_at)
        SELECT $1, id, CAST($3 AS bigint)
        FROM replicas
        WHERE id = $2
        ON CONFLICT (name) DO NOTHING)",
               loop, id_, tx.now());
    auto rows = tx.query(R"(SELECT owner_id FROM loop_leases WHERE name = $1)", loop);
    return rows.next() ? rows.text("owner_id") : std::string();
  });
  const std::lock_guard lock(mutex_);
  owners_[loop] = holder;
  return holder == id_;
}

void Replicas::require(db::Tx& tx, const std::string& loop) const {
  auto rows = tx.query(R"(SELECT owner_id FROM loop_leases WHERE name = $1)", loop);
  if (!rows.next() || rows.text("owner_id") != id_)
    throw LoopLost("another berthd has taken the loop \"" + loop + "\"");
}

}  // namespace berth
