#include "controller/domain/kernel/outbox.h"

#include <catch2/catch.hpp>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  std::string put(const std::string& to) {
    return world.write([&](db::Tx& tx) {
      return outbox::put(tx, world.keys.data, {.to = to, .subject = "s", .body = "the body"});
    });
  }
  std::vector<std::string> due() {
    return world.read([](db::Tx& tx) { return outbox::due(tx, 10); });
  }
  std::optional<outbox::Attempt> begin(const std::string& id, Duration wait = 1min) {
    return world.write([&](db::Tx& tx) {
      return outbox::begin_attempt(tx, world.keys.data, id, tx.now() + wait);
    });
  }
  outbox::Mail row() {
    return world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); }).at(0);
  }
};

TEST_CASE("a letter waits, is decrypted with the data key, and isn't due while it is tried") {
  Fixture f;
  const std::string id = f.put("ada@example.org");
  CHECK(f.due() == std::vector<std::string>{id});
  const auto attempt = f.begin(id);
  REQUIRE(attempt);
  CHECK(attempt->letter.to == "ada@example.org");
  CHECK(attempt->letter.body == "the body");
  CHECK(attempt->number == 1);
  CHECK(f.due().empty());
  f.world.clock.advance(1min);
  CHECK(f.due() == std::vector<std::string>{id});
  CHECK(f.begin(id)->number == 2);
}

TEST_CASE("of two who found a letter due, one begins the attempt") {
  Fixture f;
  const std::string id = f.put("ada@example.org");
  CHECK(f.begin(id));
  CHECK_FALSE(f.begin(id));
  CHECK(f.row().attempts == 1);
  f.world.clock.advance(1min);
  CHECK(f.begin(id)->number == 2);
}

TEST_CASE("letters that were sent or have failed aren't tried again") {
  Fixture f;
  const std::string sent = f.put("a@example.org"), failed = f.put("b@example.org");
  f.world.write([&](db::Tx& tx) {
    outbox::sent(tx, sent);
    outbox::failed(tx, failed, std::string(1'000, 'x'));
  });
  CHECK(f.due().empty());
  CHECK_FALSE(f.begin(sent));
  CHECK_FALSE(f.begin(failed));
  CHECK(f.row().error->size() == 300);
  CHECK(f.world.read(outbox::waiting) == 0);
}

TEST_CASE("a letter that can't be decrypted fails, and the others are sent") {
  Fixture f;
  const std::string id = f.put("a@example.org");
  f.world.write(
      [&](db::Tx& tx) { tx.execute("UPDATE outbox SET sealed = 'AAAA' WHERE id = $1", id); });
  CHECK_FALSE(f.begin(id));
  CHECK(f.due().empty());
  CHECK(f.world.read([&](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM outbox WHERE failed_at IS NOT NULL");
  }) == 1);
}

TEST_CASE("those that waited longest come first, and finished ones are removed in batches") {
  Fixture f;
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(f.put(std::to_string(i) + "@example.org"));
    f.world.clock.advance(1s);
  }
  CHECK(f.due() == ids);
  f.world.write([&](db::Tx& tx) {
    for (int i = 0; i < 3; ++i) outbox::sent(tx, ids[size_t(i)]);
    outbox::failed(tx, ids[3], "no");
  });
  f.world.clock.advance(1h);
  const auto remove = [&](Duration sent, Duration failed, int most) {
    return f.world.write([&](db::Tx& tx) {
      return outbox::remove_done(tx, tx.now() - sent, tx.now() - failed, most);
    });
  };
  CHECK(remove(2h, 2h, 10) == 0);
  CHECK(remove(1min, 2h, 2) == 2);
  CHECK(remove(1min, 2h, 10) == 1);
  CHECK(remove(1min, 1min, 10) == 1);
  CHECK(f.due() == std::vector<std::string>{ids[4]});
}

}  // namespace
