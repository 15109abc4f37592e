#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/points/points.h"
#include "tests/domain/world.h"

namespace berth::test {

// A world with an app of Ada's in which Bob and others spend points. At its end, the ledger's audit
// has to find nothing.
struct SpendsWorld {
  World world;
  rewards::Rules rules;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::profile_read, Scope::points_spend});
  accounts::User bob = world.verified_user("bob");

  ~SpendsWorld() {
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(check.name << ": " << check.detail);
      CHECK(check.ok);
    }
  }

  // Returns the id of the spend.
  std::string spend(const accounts::User& from, std::int64_t points) {
    const auto caller = world.check(world.tokens(app, from, "points:spend").access_token);
    return world.write([&](db::Tx& tx) {
      return points::spend(tx,
                           {.grant_id = caller.grant_id,
                            .user_id = caller.user_id,
                            .app_id = caller.app_id,
                            .amount = points,
                            .description = "a hat"},
                           rules)
          .id;
    });
  }
};

}  // namespace berth::test
