#include "berthd/storage.h"

#include "berthd/backup/newest.h"
#include "berthd/exit_codes.h"
#include "berthd/move/marks.h"
#include "berthd/move/move.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/log.h"
#include "controller/db/postgres/failure.h"
#include "controller/domain/apps/built_in.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/kernel/clock_advance.h"
#include "controller/domain/kernel/meta.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/pending.h"

namespace berth {
namespace {

std::string instance_of(db::Tx& tx) {
  constexpr std::string_view key = "instance";
  if (auto known = meta::find(tx, key)) return *std::move(known);
  const std::string id = new_uuid(tx.now());
  meta::put(tx, key, id);
  return id;
}

void first_start(db::Tx& tx, const Config& config) {
  tiers::seed(tx, config.tiers);
  apps::add_built_in(tx);
  ledger::fold_foreign(tx);
  if (tx.number(R"(SELECT count(*) FROM ledger_accounts WHERE kind = 'treasury')") > 0) return;
  ledger::open_account(tx, ledger::treasury());
  ledger::open_account(tx, ledger::issuance());
  if (config.treasury_genesis > 0)
    ledger::mint(tx, ledger::treasury(), config.treasury_genesis, "genesis");
}

std::int64_t bytes_in(const std::filesystem::path& file) {
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(file, missing);
  return missing ? 0 : std::int64_t(bytes);
}

}  // namespace

Storage::Storage(const Config& configuration) : config(configuration) {
  if (!replicas) return;
  replicas->beat();
  shared_keys.reread();
}

std::string Storage::first_write() {
  // In production, data that comes from a development machine is served with the machine's own
  // time.
  if (!config.production) clock.advance(database.read(clock_advance::stored));
  return database.write([this](db::Tx& tx) {
    require_own_keys(tx, config, data, keys);
    first_start(tx, config);
    return instance_of(tx);
  });
}

// On PostgreSQL, too, an archive has a SQLite file, so that it can be restored to either engine.
backup::Source Storage::rows_for_backups() {
  if (!is_on_postgres()) return backup::file_of(data);
  return {.copy =
              [this](const std::filesystem::path& to, const db::sqlite::GoOn& go_on) {
                try {
                  move::copy_to_file(*config.database, to, go_on);
                } catch (const db::postgres::Unusable& failure) {
                  log::error("the database couldn't be copied for a backup",
                             {{"error", failure.what()}});
                  throw Error(Code::unavailable, "the database can't be reached at the moment");
                }
              },
          .bytes = [this] { return std::uintmax_t(database_bytes()); }};
}

std::string Storage::internal_secret() const {
  return config.internal_secret ? *config.internal_secret : data.internal_secret();
}

std::string Storage::rotate_session_key() {
  return is_on_postgres() ? shared_keys.rotate(clock.now(), config.session_lifetime)
                          : data.rotate_session_key(keys, clock.now(), config.session_lifetime);
}

std::optional<DiskSpace> Storage::disk_space() const {
  std::error_code unknown;
  const auto space = std::filesystem::space(data.path(), unknown);
  if (unknown) return std::nullopt;
  return DiskSpace{.total = std::int64_t(space.capacity), .free = std::int64_t(space.available)};
}

std::int64_t Storage::bytes_of(const char* name) const {
  const std::filesystem::path file = data.path() / name;
  return bytes_in(file) + bytes_in(file.string() + "-wal");
}

std::int64_t Storage::database_bytes() const {
  return is_on_postgres() ? opened.postgres->bytes() : bytes_of(database_name);
}

std::optional<Duration> Storage::backup_age() {
  return database.read([this](db::Tx& tx) {
    return is_on_postgres() ? backup::since_newest(tx) : std::optional(backup::age_of_newest(tx));
  });
}

void Storage::follow(const std::function<void()>& missed) {
  database.read(move::require_not_moved);
  if (replicas->beat()) missed();
  if (!config.production) clock_advance::catch_up(clock, database.read(clock_advance::stored));
  shared_keys.reread();
}

void Storage::leave() {
  if (!replicas) return;
  try {
    replicas->leave();
  } catch (const std::exception& failure) {
    log::warning("the other processes weren't told that this one stops",
                 {{"error", failure.what()}});
  }
}

}  // namespace berth
