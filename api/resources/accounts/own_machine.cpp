#include "api/resources/accounts/own_machine.h"

#include "controller/base/url.h"
#include "controller/domain/kernel/messages.h"

namespace berth::api {
namespace {

constexpr const char* actor = "first-account-admin";
// What the owner reads as the reason, in the language of their account.
std::string why(const accounts::User& owner) {
  return messages::say(
      owner.language,
      "Approved at once: this berth is for its own machine, and you are its admin.");
}

// The host of a Host field, without its port.
std::string_view host_of(std::string_view field) {
  const size_t bracket = field.rfind(']');
  const size_t colon = field.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return has_port ? field.substr(0, colon) : field;
}

}  // namespace

bool comes_from_this_machine(const Request& request, const std::string& address) {
  return is_loopback(address) && is_loopback(host_of(request.host));
}

bool is_own_admin(const accounts::User& user, const Services& services) {
  return services.rules.first_account_admin && user.admin_role == accounts::AdminRole::admin &&
         user.registration_number == 1;
}

void approve_own(db::Tx& tx, const std::optional<apps::ScopeRequest>& request,
                 const accounts::User& owner, const Services& services) {
  if (request && request->status == apps::RequestStatus::pending && is_own_admin(owner, services))
    apps::grant(tx, request->id, actor, why(owner));
}

}  // namespace berth::api
