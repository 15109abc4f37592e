// Members of apps, for tests of the gate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/apps/invitations.h"
#include "tests/api/gate_world.h"

namespace berth::api::test {

inline apps::MemberChange change_by(const GateWorld& g, const accounts::User& user) {
  return {.actor = user, .keys = g.world.keys, .base_url = g.services.base_url};
}

// `by` invites the user, who accepts.
inline void add_member(GateWorld& g, const apps::App& app, const accounts::User& by,
                       const accounts::User& user, apps::Role role,
                       const std::optional<std::vector<std::string>>& deployments = {}) {
  const auto invitation = g.world.write([&](db::Tx& tx) {
    return apps::invite(
        tx, change_by(g, by), app.id,
        {.email = {}, .username = user.username, .role = role, .deployments = deployments});
  });
  g.world.write([&](db::Tx& tx) { apps::accept(tx, change_by(g, user), invitation.id); });
}

}  // namespace berth::api::test
