#include "controller/domain/apps/app_mail.h"

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/outbox.h"

namespace berth::apps {

void tell_decision(db::Tx& tx, const ScopeRequest& request, const std::string& data_key) {
  const auto app = find(tx, request.app_id);
  const auto owner = app ? accounts::find(tx, app->owner_id) : std::nullopt;
  if (!owner) return;
  std::string scopes;
  for (const auto& name : request.requested.names())
    scopes.append(scopes.empty() ? "" : ", ").append(name);
  const bool approved = request.status == RequestStatus::approved;
  if (request.tier)
    scopes.append(scopes.empty() ? "" : ", ").append("the tier ").append(*request.tier);
  std::string body = "Hello " + owner->username + ",\n\nwhat \"" + app->app_name +
                     "\" asked for was " + std::string(to_string(request.status)) + ": " + scopes +
                     ".\n";
  if (request.reason) body += "\nThe reason: " + *request.reason + "\n";
  if (approved && !request.requested.names().empty())
    body += "\nFrom now on, the app can ask users for these scopes.\n";
  outbox::put(tx, data_key,
              {.to = owner->email,
               .subject = approved ? "Your app's request was approved"
                                   : "Your app's request was not approved",
               .body = body});
}

}  // namespace berth::apps
