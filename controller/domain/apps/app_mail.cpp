#include "controller/domain/apps/app_mail.h"

#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/outbox.h"

namespace berth::apps {

using messages::say;

void tell_decision(db::Tx& tx, const ScopeRequest& request, const std::string& data_key) {
  const auto app = find(tx, request.app_id);
  const auto owner = app ? accounts::find(tx, app->owner_id) : std::nullopt;
  if (!owner) return;
  const Language in = owner->language;
  std::string scopes;
  for (const auto& name : request.requested.names())
    scopes.append(scopes.empty() ? "" : ", ").append(name);
  const bool approved = request.status == RequestStatus::approved;
  if (request.tier)
    scopes.append(scopes.empty() ? "" : ", ")
        .append(say(in, "the tier {tier}", {{"tier", *request.tier}}));
  std::string body = accounts::greeting(*owner);
  if (approved)
    body += say(in, "what \"{app}\" asked for was approved: {scopes}.",
                {{"app", app->app_name}, {"scopes", scopes}});
  else
    body += say(in, "what \"{app}\" asked for was rejected: {scopes}.",
                {{"app", app->app_name}, {"scopes", scopes}});
  body += '\n';
  if (request.reason)
    body += "\n" + say(in, "The reason: {reason}", {{"reason", *request.reason}}) + "\n";
  if (approved && !request.requested.names().empty())
    body += "\n" + say(in, "From now on, the app can ask users for these scopes.") + "\n";
  outbox::put(tx, data_key,
              {.to = owner->email,
               .subject = approved ? say(in, "Your app's request was approved")
                                   : say(in, "Your app's request was not approved"),
               .body = body});
}

}  // namespace berth::apps
