#include "controller/domain/deployments/billing/mail.h"

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::billing {
namespace {

// Returns the time in the form "2026-01-31 12:00 UTC".
std::string for_people(Instant at) {
  std::string text = to_iso8601(at).substr(0, 16);
  text[10] = ' ';
  return text + " UTC";
}

void tell(db::Tx& tx, const Account& account, const std::string& subject,
          const std::string& sentences, const std::string& data_key) {
  const auto owner = accounts::find(tx, account.owner_id);
  const auto app = apps::find(tx, account.app_id);
  if (!owner || !app || owner->email.empty()) return;
  outbox::put(
      tx, data_key,
      {.to = owner->email,
       .subject = subject,
       .body = "Hello " + owner->username + ",\n\n" + sentences + "\n\nThe app \"" + app->app_name +
               "\" has " + std::to_string(ledger::balance(tx, ledger::app_account(app->id))) +
               " points; 30 days on the tier " + account.tier_slug + " cost " +
               std::to_string(account.price) + ".\n"});
}

}  // namespace

void mail_warning(db::Tx& tx, const Account& account, Instant stops_at,
                  const std::string& data_key) {
  tell(tx, account, "Your deployment " + account.name + " will be stopped",
       "the points for the next 30 days of your deployment \"" + account.name +
           "\" are missing. It will be stopped if they haven't arrived on the app's account by " +
           for_people(stops_at) + ".",
       data_key);
}

void mail_failure(db::Tx& tx, const Account& account, const std::string& data_key) {
  tell(tx, account, "Your deployment " + account.name + " was stopped",
       "your deployment \"" + account.name +
           "\" was stopped, because the points for its next 30 days are missing. It will start "
           "again by itself as soon as they arrive.",
       data_key);
}

void mail_reactivation(db::Tx& tx, const Account& account, const std::string& data_key) {
  tell(tx, account, "Your deployment " + account.name + " starts again",
       "your deployment \"" + account.name + "\" is paid until " + for_people(account.paid_until) +
           " and starts again.",
       data_key);
}

}  // namespace berth::billing
