#include "controller/domain/kernel/idempotency_keys.h"

#include <catch2/catch.hpp>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

const idempotency_keys::Slot slot = {.principal = idempotency_keys::user_principal("u"),
                                     .method = "POST",
                                     .path = "/api/points/transfer",
                                     .key = "k",
                                     .request_hash = "hash"};

std::optional<std::string> answer(World& world) {
  return world.read([](db::Tx& tx) -> std::optional<std::string> {
    const auto kept = idempotency_keys::find(tx, slot);
    return kept ? std::optional(kept->body) : std::nullopt;
  });
}
// Returns the answer that was there, or keeps the new one.
std::string answer_once(World& world, const std::string& body) {
  return world.write([&](db::Tx& tx) {
    if (const auto kept = idempotency_keys::find_or_reserve(tx, slot)) return kept->body;
    idempotency_keys::keep(tx, slot, 200, body);
    return std::string();
  });
}

TEST_CASE("the first answer to a key is kept for a day, and then replaced") {
  World world;
  CHECK(answer_once(world, "first").empty());
  CHECK(answer(world) == "first");
  CHECK(answer_once(world, "second") == "first");
  world.clock.advance(idempotency_keys::kept_for);
  CHECK_FALSE(answer(world));
  CHECK(answer_once(world, "third").empty());
  CHECK(answer(world) == "third");
}

TEST_CASE("a key whose request failed is free again") {
  World world;
  CHECK_THROWS_AS(world.write([](db::Tx& tx) {
    CHECK_FALSE(idempotency_keys::find_or_reserve(tx, slot));
    throw Error(Code::unavailable, "not now");
  }),
                  Error);
  CHECK_FALSE(answer(world));
  CHECK(answer_once(world, "first").empty());
}

TEST_CASE("a long answer is kept once for all keys, byte for byte, and as long as one of them") {
  World world;
  const std::string body = "{\"text\":\"" + std::string(20'000, 'x') + "\"}";
  const auto bytes = [&] {
    return world.read([](db::Tx& tx) {
      return tx.number("SELECT coalesce(sum(length(body)), 0) FROM idempotency_keys") +
             tx.number("SELECT coalesce(sum(length(body)), 0) FROM idempotency_bodies");
    });
  };
  const auto slot_of = [&](int key) {
    idempotency_keys::Slot one = slot;
    one.key = std::to_string(key);
    return one;
  };
  const auto kept = [&](int key) {
    return world.read([&](db::Tx& tx) {
      const auto found = idempotency_keys::find(tx, slot_of(key));
      return found ? found->body : "";
    });
  };
  for (int key = 0; key < 50; ++key) {
    world.write([&](db::Tx& tx) { idempotency_keys::keep(tx, slot_of(key), 200, body); });
    if (key == 24) world.clock.advance(std::chrono::hours(12));
  }
  CHECK(kept(0) == body);
  CHECK(kept(49) == body);
  CHECK(bytes() < 20'100 + 50 * 80);
  world.clock.advance(std::chrono::hours(12));
  CHECK(world.write([](db::Tx& tx) { return idempotency_keys::remove_old(tx, 1'000); }) == 25);
  CHECK(kept(49) == body);
  world.clock.advance(std::chrono::hours(12));
  CHECK(world.read(idempotency_keys::is_any_old));
  CHECK(world.write([](db::Tx& tx) { return idempotency_keys::remove_old(tx, 1'000); }) == 26);
  CHECK(bytes() == 0);
  world.write([&](db::Tx& tx) { idempotency_keys::keep(tx, slot_of(1), 200, body); });
  world.write([](db::Tx& tx) { idempotency_keys::forget(tx, slot.principal, 1'000); });
  CHECK(bytes() == 0);
}

TEST_CASE("what admins were answered stays in the rows, where it is looked for by ids") {
  World world;
  idempotency_keys::Slot of_admin = slot;
  of_admin.principal = idempotency_keys::internal_principal;
  const std::string body = "{\"id\":\"u-1\",\"text\":\"" + std::string(20'000, 'x') + "\"}";
  world.write([&](db::Tx& tx) { idempotency_keys::keep(tx, of_admin, 200, body); });
  CHECK(world.write([](db::Tx& tx) { return idempotency_keys::forget_internal(tx, "u-1", 10); }) ==
        1);
}

}  // namespace
