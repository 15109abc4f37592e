#include "api/gate/admin_caller.h"

#include <algorithm>

namespace berth::api {
namespace {

// "admin", "admin or support", "admin, support or finance".
std::string names_of(const Few<accounts::AdminRole, 3>& roles) {
  std::string names;
  for (std::size_t i = 0; i < roles.size(); ++i)
    names.append(i == 0 ? "" : i + 1 < roles.size() ? ", " : " or ").append(to_string(roles[i]));
  return names;
}

}  // namespace

AdminCaller by_made_secret(const internal_secrets::Secret& secret, const Request& request) {
  return {.way = AdminCaller::Way::made_secret,
          .role = secret.role,
          .actor = admin_actor(request, secret.name),
          .token_id = secret.id};
}

AdminCaller by_person(Bearer person, AdminCaller::Way way) {
  return {.way = way,
          .role = person.user->admin_role.value(),
          .actor = std::string(actor_of_console) + person.user->id,
          .token_id = person.admin_token_id,
          .person = std::move(person)};
}

void require_admin(const Access& access, const AdminCaller& caller) {
  using Way = AdminCaller::Way;
  if (access.first_party == Access::FirstParty::none && caller.way != Way::configured_secret)
    throw Error(Code::forbidden, "this needs the platform's internal secret");
  if (std::ranges::find(access.admin_roles, caller.role) == access.admin_roles.end())
    throw Error(Code::forbidden, "this needs the role " + names_of(access.admin_roles) +
                                     "; the caller has the role " +
                                     std::string(to_string(caller.role)));
  if (access.in_person && (caller.way == Way::made_secret || caller.way == Way::personal_token))
    throw Error(Code::forbidden,
                "this gives others access or needs a second person: it takes an admin in the "
                "console, or a secret of berthd's configuration");
}

}  // namespace berth::api
