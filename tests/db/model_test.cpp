// Random writes with random failures leave the same contents as a std::map.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/db/sqlite/database.h"
#include "tests/db/fault_vfs.h"
#include "tests/db/groups.h"
#include "tests/db/rows.h"
#include "tests/temp_dir.h"

namespace {

using namespace berth;
using namespace berth::test;

enum class Step { put, remove, put_then_throw, nested_throw, full_disk, failed_sync, restart };

TEST_CASE("the database is a map that survives failures and restarts") {
  FaultVfs disk;
  CHECK(rc::check([&] {
    const TempDir dir;
    const auto file = dir / "berth.db";
    const Clock clock = Clock::standing_at(from_millis(1'000));
    std::optional<db::sqlite::Database> database;
    const auto open = [&] {
      database.emplace(file, clock, db::sqlite::Options{.readers = 1, .vfs = disk.name()});
    };
    open();
    Rows model;
    const auto steps = *rc::gen::resize(
        20, rc::gen::container<std::vector<Step>>(rc::gen::element(
                Step::put, Step::put, Step::remove, Step::put_then_throw, Step::nested_throw,
                Step::full_disk, Step::failed_sync, Step::restart)));
    for (const Step step : steps) {
      const std::string key(1, char('a' + *rc::gen::inRange(0, 5)));
      const std::string value = std::to_string(*rc::gen::inRange(0, 1'000));
      switch (step) {
        case Step::put:
          RC_ASSERT(outcome_of(*database, [&](db::Tx& tx) { put(tx, key, value); }).stored());
          model[key] = value;
          break;
        case Step::remove:
          RC_ASSERT(outcome_of(*database, [&](db::Tx& tx) { remove(tx, key); }).stored());
          model.erase(key);
          break;
        case Step::put_then_throw:
          RC_ASSERT(outcome_of(*database, [&](db::Tx& tx) {
                      put(tx, key, value);
                      throw invalid_field("key", "is wrong");
                    }).refused == Code::validation_failed);
          break;
        case Step::nested_throw:
          RC_ASSERT(outcome_of(*database, [&](db::Tx& tx) {
                      put(tx, key, value);
                      try {
                        tx.nested([&] {
                          remove(tx, key);
                          throw std::runtime_error("mine");
                        });
                      } catch (const std::runtime_error&) {
                      }
                    }).stored());
          model[key] = value;
          break;
        case Step::full_disk:
        case Step::failed_sync: {
          const bool full = step == Step::full_disk;
          disk.fail(full ? FaultVfs::Operation::write : FaultVfs::Operation::sync, 1,
                    full ? SQLITE_FULL : SQLITE_IOERR_FSYNC, FaultVfs::Lasting::once);
          // A value that isn't stored yet, so that there is something to write.
          const auto outcome =
              outcome_of(*database, [&](db::Tx& tx) { put(tx, key, value + " lost"); });
          RC_ASSERT(outcome.refused == Code::unavailable);
          disk.heal();
          RC_ASSERT(database->takes_writes());
          break;
        }
        case Step::restart:
          database.reset();
          open();
          break;
      }
      RC_ASSERT(database->read(all) == model);
    }
    database.reset();
    RC_ASSERT(seen_from_outside(file) == model);
  }));
}

}  // namespace
