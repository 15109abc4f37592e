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

}  // namespace
