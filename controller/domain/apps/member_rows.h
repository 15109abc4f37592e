#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/apps/members.h"

// Rows of app_members and app_invitations. Private to this module.
namespace berth::apps {

// Reads and writes the column `deployments`: a JSON list, or NULL for all of the app's.
std::optional<std::vector<std::string>> deployments_of(const db::Query& row);
std::optional<std::string> stored_deployments(
    const std::optional<std::vector<std::string>>& deployments);
Role role_in(const db::Query& row);

// The row of a member; nothing if there is none. The account that the app belongs to may have one,
// which doesn't count while it does.
std::optional<Member> find_member(db::Tx& tx, const std::string& app_id,
                                  const std::string& user_id);

// Throws validation_failed if the role can't be limited to these deployments, or they are none or
// too many.
void check_deployments(Role role, const std::optional<std::vector<std::string>>& deployments);

// Returns the app and the actor's role in it, in a transaction that changes its members. Throws
// like require_member() with the role admin.
Membership manage(db::Tx& tx, const MemberChange& by, const std::string& app_id);
// Throws forbidden unless somebody with the role `own` may manage `other`.
void require_manages(Role own, Role other);

}  // namespace berth::apps
