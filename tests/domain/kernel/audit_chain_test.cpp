// The audit log's chain: what was removed or changed is found, and what was erased isn't.
#include "controller/domain/kernel/audit_chain.h"

#include <catch2/catch.hpp>

#include "controller/domain/lifecycle/expiry.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace std::chrono_literals;
using berth::test::World;

struct Log {
  World world;

  // Records `entries` entries as requests of a person do, and chains them.
  void record(int entries, const std::string& user_id = "ada") {
    Requester who = {.actor = "user:" + user_id,
                     .user_id = user_id,
                     .token_kind = "session",
                     .token_id = "s1",
                     .network = "192.0.2.1",
                     .request_id = "r1",
                     .operation = "updateMe"};
    const RequesterOfThread scope(who);
    for (int i = 0; i < entries; ++i)
      world.write([](db::Tx& tx) { audit::record_operation(tx, "user", "target"); });
    CHECK(who.is_recorded);
    CHECK(who.has_changed);
    chain();
  }
  void chain() {
    while (world.write(audit::chain_some) > 0) {
    }
  }
  void run(const std::string& sql) {
    world.write([&](db::Tx& tx) { CHECK(tx.execute(sql) > 0); });
  }
  audit::Check check(std::int64_t after = 0) {
    return world.read([&](db::Tx& tx) { return audit::check(tx, after); });
  }
  std::vector<std::string> violations() { return check().violations; }
};

using Sentences = std::vector<std::string>;

TEST_CASE("entries get numbers without gaps, and a chain that is as it was") {
  Log log;
  log.record(audit::chained_at_once + 3);
  const audit::Check found = log.check();
  CHECK(found.violations.empty());
  CHECK(found.first == 1);
  CHECK(found.last == audit::chained_at_once + 3);
  CHECK(found.is_end);
  CHECK(found.erased == 0);
  CHECK(log.world.read(audit::head).number == found.last);
  CHECK_FALSE(log.world.read(audit::is_any_unchained));
  CHECK(log.check(100).first == 101);
  CHECK(log.check(100).violations.empty());
}

TEST_CASE("an entry that was changed is found, whichever of its columns it is") {
  for (const char* change :
       {"actor = 'user:bob'", "action = 'x'", "target = 'x'", "at = at + 1", "app_id = 'x'",
        "token_kind = 'console'", "user_id = 'bob'", "network = '192.0.2.2'", "token_id = 's2'",
        "request_id = 'r2'", "details = '{\"a\":1}'", "operation = 'x'", "target_kind = 'x'",
        "salt = 'x'"}) {
    INFO(change);
    Log log;
    log.record(3);
    log.run(std::string("UPDATE audit_log SET ") + change + " WHERE number = 2");
    CHECK(log.violations() == Sentences{"entry 2 was changed, or the one before it"});
  }
}

TEST_CASE("an entry that was removed is found: within the chain, at its beginning and its end") {
  for (const auto& [which, sentence] : {std::pair("number = 2", "entry 2 was removed"),
                                        {"number = 1", "entry 1 was removed"},
                                        {"number IN (2, 3)", "the entries 2 to 3 were removed"},
                                        {"number = 4", "the entries 4 to 4 were removed"}}) {
    Log log;
    log.record(4);
    log.run(std::string("DELETE FROM audit_log WHERE ") + which);
    CHECK(log.violations() == Sentences{sentence});
    // What comes later doesn't take the place of what was removed.
    log.record(1);
    CHECK(log.violations().size() == 1);
    CHECK(log.check().last == 5);
  }
}

TEST_CASE("an end of the chain that isn't its end is found") {
  Log log;
  log.record(2);
  log.run("DELETE FROM meta WHERE key = 'audit_head'");
  CHECK(log.violations() == Sentences{"the chain ends at 0, before its last entries"});
}

TEST_CASE("a new chain differs from the checkpoints") {
  Log log;
  log.record(2);
  log.world.clock.advance(24h);
  log.record(1);
  REQUIRE(log.world.read([](db::Tx& tx) { return audit::checkpoints(tx, 0, 10); }).size() == 1);
  CHECK(log.violations().empty());
  log.run("UPDATE audit_checkpoints SET chain = 'x' WHERE number = 2");
  CHECK(log.violations() == Sentences{"checkpoint 2 has another hash"});
}

TEST_CASE("what a person did is erased, and the chain still fits") {
  Log log;
  log.record(2, "ada");
  log.record(1, "bob");
  log.world.write([](db::Tx& tx) {
    audit::record(tx, "user:root", "user.suspend", "ada", R"({"reason":"ada was rude"})");
  });
  log.chain();
  // Not in the chain yet.
  log.world.write([](db::Tx& tx) {
    audit::record(tx, "user:root", "user.suspend", "ada", R"({"reason":"ada again"})");
  });
  log.world.write([](db::Tx& tx) {
    CHECK(audit::erase_of_user(tx, "ada", 1) == 1);
    CHECK(audit::erase_of_user(tx, "ada", 10) == 1);
    CHECK(audit::erase_of_user(tx, "ada", 10) == 0);
    CHECK(audit::erase_details(tx, {"ada"}, 10) == 2);
    CHECK(audit::erase_details(tx, {"ada"}, 10) == 0);
  });
  log.chain();
  const audit::Check found = log.check();
  CHECK(found.violations.empty());
  CHECK(found.erased == 3);
  CHECK(found.last == 5);
  log.world.read([](db::Tx& tx) {
    CHECK(tx.number(R"(SELECT count(*) FROM audit_log WHERE details LIKE '%ada%')") == 0);
    CHECK(tx.number(R"(SELECT count(*) FROM audit_log WHERE network IS NOT NULL)") == 1);
    CHECK(tx.number(R"(SELECT count(*) FROM audit_log WHERE salt IS NULL)") == 3);
    const auto kept = audit::list(tx, {.actor = "user:ada"}, {.page = 1, .page_size = 10}).items;
    REQUIRE(kept.size() == 2);
    CHECK(kept[0].operation == "updateMe");
    CHECK_FALSE(kept[0].user_id);
    CHECK_FALSE(kept[0].request_id);
  });
  // What is left of it is still covered.
  log.run("UPDATE audit_log SET action = 'x' WHERE number = 1");
  CHECK(log.violations().size() == 1);
}

TEST_CASE("entries go after 400 days, and the rest of the chain is checked from a checkpoint") {
  Log log;
  log.record(2);
  log.world.clock.advance(24h);
  log.record(2);
  log.world.clock.advance(audit::kept_for - 1h);
  Round round(log.world.db);
  expiry::remove_all(round);
  CHECK(log.check().first == 1);
  log.world.clock.advance(24h);
  log.record(1);
  // The first checkpoint with entries before it was made after two.
  expiry::remove_all(round);
  const audit::Check found = log.check();
  CHECK(found.violations.empty());
  CHECK(found.first == 3);
  CHECK(found.last == 5);
  CHECK_FALSE(log.world.read(audit::is_any_old));
  // Somebody else who removes the beginning has no checkpoint that is old enough.
  log.run("DELETE FROM audit_checkpoints WHERE number < 4");
  log.run("DELETE FROM audit_log WHERE number < 5");
  CHECK(log.violations() == Sentences{"the entries up to 4 were removed before their time"});
}

TEST_CASE("entries before a quiet time go after 400 days, too") {
  Log log;
  log.record(2);
  Round round(log.world.db);
  const auto run_loop = [&] { audit::chain_loop().round(round); };
  const auto checkpoints = [&] {
    return log.world.read([](db::Tx& tx) { return audit::checkpoints(tx, 0, 10); });
  };
  run_loop();
  CHECK(checkpoints().empty());  // the day isn't over
  log.world.clock.advance(24h);
  run_loop();
  REQUIRE(checkpoints().size() == 1);
  CHECK(checkpoints()[0].number == 2);
  log.world.clock.advance(24h);
  run_loop();
  CHECK(checkpoints().size() == 1);  // nothing has followed
  log.world.clock.advance(audit::kept_for - 24h);
  expiry::remove_all(round);
  CHECK(log.check().last == 0);
  CHECK(log.violations().empty());
  CHECK_FALSE(log.world.read(audit::is_any_old));
  log.record(1);
  CHECK(log.check().first == 3);
  CHECK(log.violations().empty());
}

TEST_CASE("an empty chain gets no checkpoint from the loop") {
  Log log;
  Round round(log.world.db);
  log.world.clock.advance(24h);
  audit::chain_loop().round(round);
  CHECK(log.world.read([](db::Tx& tx) { return audit::checkpoints(tx, -1, 10); }).empty());
}

TEST_CASE("a write that is rolled back leaves no entry, and its requester knows") {
  World world;
  Requester who;
  who.operation = "updateMe";
  const RequesterOfThread scope(who);
  CHECK_THROWS_AS(world.write([](db::Tx& tx) {
    audit::record_operation(tx, "user", "ada");
    throw Error(Code::invalid_state, "no");
  }),
                  Error);
  CHECK_FALSE(who.is_recorded);
  CHECK_FALSE(who.has_changed);
  // Nothing was changed.
  world.write([](db::Tx& tx) { tx.execute("UPDATE meta SET value = 'x' WHERE key = 'none'"); });
  CHECK_FALSE(who.has_changed);
  world.write([](db::Tx& tx) { tx.nested([&] { audit::record(tx, "root", "x", "y"); }); });
  CHECK(who.is_recorded);
  CHECK(who.has_changed);
}

}  // namespace
