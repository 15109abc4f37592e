#include "api/gate/admin_caller.h"

#include <algorithm>
#include <utility>

#include "api/gate/admin_token.h"
#include "api/gate/browser_session.h"
#include "controller/domain/oauth/personal_tokens.h"

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

std::function<void(db::Tx&)> admin_check(const Call& call, const Services& services) {
  using Way = AdminCaller::Way;
  const Route* const route = call.route;
  if (!call.session_id.empty()) {
    const auto access = is_read(call.http.method) ? AdminAccess::reads : AdminAccess::changes;
    return [&services, route, access, jwt = console_jwt(call.http, services.base_url)](db::Tx& tx) {
      require_admin(route->guards.access,
                    by_person(check_admin(tx, jwt, services, access), Way::console));
    };
  }
  if (call.user)
    return [route, token = bearer_token(call.http)](db::Tx& tx) {
      Bearer admin = {.user = admin_of(tx, personal_tokens::check(tx, token))};
      require_admin(route->guards.access, by_person(std::move(admin), Way::personal_token));
    };
  if (!call.admin_token_id.empty())
    return [route, secret = std::string(call.http.headers.get("x-internal-secret"))](db::Tx& tx) {
      const auto made = internal_secrets::find_valid(tx, secret);
      if (!made) throw Error(Code::forbidden, "the internal secret has ended");
      require_admin(route->guards.access,
                    {.way = Way::made_secret, .role = made->role, .actor = made->name});
    };
  return [](db::Tx&) {};
}

}  // namespace berth::api
