#include "controller/domain/deployments/billing/mail.h"

#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::billing {

using messages::say;

std::string for_people(Instant at) {
  std::string text = to_iso8601(at).substr(0, 16);
  text[10] = ' ';
  return text + " UTC";
}

namespace {

std::string price_line(Language in, const Account& account, const std::string& app,
                       std::int64_t points) {
  const std::string balance = std::to_string(points), price = std::to_string(account.price);
  if (account.containers == 1)
    return say(in,
               "The app \"{app}\" has {points} points; 30 days on the tier {tier} cost {price}.",
               {{"app", app}, {"points", balance}, {"tier", account.tier_slug}, {"price", price}});
  return say(in,
             "The app \"{app}\" has {points} points; 30 days of {containers} containers on the "
             "tier {tier} cost {price}.",
             {{"app", app},
              {"points", balance},
              {"containers", std::to_string(account.containers)},
              {"tier", account.tier_slug},
              {"price", price}});
}

// Puts the letter into the outbox that `write` returns for the owner's language: the subject, and
// the sentences that say what has happened.
struct Message {
  std::string subject, sentences;
};
template <typename Write>
void tell(db::Tx& tx, const Account& account, const std::string& data_key, Write&& write) {
  const auto owner = accounts::find(tx, account.owner_id);
  const auto app = apps::find(tx, account.app_id);
  if (!owner || !app || owner->email.empty()) return;
  const Language in = owner->language;
  const Message message = write(in);
  const std::int64_t points = ledger::balance(tx, ledger::app_account(app->id));
  outbox::put(tx, data_key,
              {.to = owner->email,
               .subject = message.subject,
               .body = accounts::greeting(*owner) + message.sentences + "\n\n" +
                       price_line(in, account, app->app_name, points) + "\n"});
}

}  // namespace

void mail_warning(db::Tx& tx, const Account& account, Instant stops_at,
                  const std::string& data_key) {
  tell(tx, account, data_key, [&](Language in) {
    return Message{say(in, "Your deployment {name} will be stopped", {{"name", account.name}}),
                   say(in,
                       "the points for the next 30 days of your deployment \"{name}\" are missing. "
                       "It will be stopped if they haven't arrived on the app's account by {time}.",
                       {{"name", account.name}, {"time", for_people(stops_at)}})};
  });
}

void mail_failure(db::Tx& tx, const Account& account, const std::string& data_key) {
  tell(tx, account, data_key, [&](Language in) {
    return Message{say(in, "Your deployment {name} was stopped", {{"name", account.name}}),
                   say(in,
                       "your deployment \"{name}\" was stopped, because the points for its next 30 "
                       "days are missing. It will start again by itself as soon as they arrive.",
                       {{"name", account.name}})};
  });
}

void mail_reactivation(db::Tx& tx, const Account& account, const std::string& data_key) {
  tell(tx, account, data_key, [&](Language in) {
    return Message{say(in, "Your deployment {name} starts again", {{"name", account.name}}),
                   say(in, "your deployment \"{name}\" is paid until {time} and starts again.",
                       {{"name", account.name}, {"time", for_people(account.paid_until)}})};
  });
}

}  // namespace berth::billing
