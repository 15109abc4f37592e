#include "controller/berthd/backup/verify.h"

#include <catch2/catch.hpp>

#include "controller/domain/ledger/old_postings.h"
#include "tests/backup/archive_world.h"
#include "tests/domain/ledger/old_ledger.h"

namespace {

using namespace berth;
using namespace berth::test;
using Catch::Contains;

// A database that an older berthd wrote and this one opened, half of whose ledger is moved.
struct HalfWay {
  ArchiveWorld world;
  HalfWay() {
    world.database.reset();
    const auto file = world.data.database_file();
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + end);
    make_old_ledger(file);
    world.database.emplace(file, world.clock);
    while (world.database->read(ledger::old_rows)->moved == 0)
      world.database->write(
          [](db::Tx& tx) { ledger::move_old_rows(tx, int(old_transactions().size()) / 2); });
  }
};

TEST_CASE("verify says that a ledger can't be checked while older postings are moved") {
  HalfWay half;
  std::ostringstream out;
  CHECK(backup::verify_database(half.world.data.database_file(), out, silent) ==
        backup::Verdict::unsound);
  CHECK_THAT(out.str(), Contains("older postings still have to be moved"));
  CHECK_THAT(out.str(), Contains("ok    foreign keys"));
  while (half.world.database->read(ledger::has_old_tables))
    half.world.database->write([](db::Tx& tx) { ledger::move_old_rows(tx, 100); });
  std::ostringstream later;
  CHECK(backup::verify_database(half.world.data.database_file(), later, silent) ==
        backup::Verdict::sound);
  CHECK_THAT(later.str(), !Contains("FAIL"));
}

TEST_CASE("verify moves the older postings of an archive, and checks them then") {
  HalfWay half;
  const auto archive = half.world.write("archive", half.world.archive());
  std::ostringstream out;
  CHECK(backup::verify_archive(archive, passphrase, out, silent) == backup::Verdict::sound);
  CHECK_THAT(out.str(), Contains("each closed day is what it was closed with: 1 closed days"));
  CHECK_THAT(out.str(), !Contains("FAIL"));
  CHECK(half.world.database->read(ledger::has_old_tables));
}

}  // namespace
