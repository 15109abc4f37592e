#pragma once

#include "controller/base/enum_text.h"
#include "controller/domain/kernel/scopes.h"

// What a person may do with an app that isn't theirs alone. docs/decisions/people.md says why there
// are these roles.
namespace berth::apps {

// Each role includes the ones before it. `viewer` reads; `billing` spends the app's points;
// `developer` changes deployments; `admin` changes members, webhooks and what the app asks for;
// `owner` deletes the app, and sees and replaces its secrets. The account that the app belongs to
// (App::owner_id) is always an owner.
enum class Role { viewer, billing, developer, admin, owner };
constexpr auto texts_of(Role) {
  return EnumTexts<Role::owner>{"viewer", "billing", "developer", "admin", "owner"};
}

// Whether the role `own` includes the role `least`.
constexpr bool includes(Role own, Role least) { return own >= least; }
// Whether somebody with the role `own` may give the role `other`, take it away, and change members
// who have it: owners may all of them, and admins those below owner.
constexpr bool may_manage(Role own, Role other) {
  return own == Role::owner || (own == Role::admin && other < Role::owner);
}
// Whether a member with the role may be limited to single deployments. What the roles above
// developer add concerns the whole app.
constexpr bool may_be_limited(Role role) { return role <= Role::developer; }

// Returns the scopes that a person with the role can use in an app for which these are approved.
// Operations ask for a role besides, so this only takes away what is of no use for anything but
// changes: deploy:exec below developer, and campaign:write below billing.
ScopeSet scopes_of(Role role, const ScopeSet& approved);

}  // namespace berth::apps
