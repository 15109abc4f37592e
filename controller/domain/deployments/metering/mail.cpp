#include "controller/domain/deployments/metering/mail.h"

#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/deployments/billing/mail.h"
#include "controller/domain/kernel/outbox.h"

namespace berth::metering {

using messages::say;

namespace {

struct Message {
  std::string subject, sentences;
};
template <typename Write>
void tell(db::Tx& tx, const AppState& app, const std::string& data_key, Write&& write) {
  const auto owner = accounts::find(tx, app.owner_id);
  if (!owner || owner->email.empty()) return;
  const Message message = write(owner->language);
  outbox::put(tx, data_key,
              {.to = owner->email,
               .subject = message.subject,
               .body = accounts::greeting(*owner) + message.sentences + "\n"});
}

std::string has_spent(Language in, const AppState& app, const BudgetRow& budget,
                      const std::string& spent) {
  const std::string& deployment = budget.deployment_name;
  const std::string limit = std::to_string(budget.limit);
  const bool is_day = budget.period == BudgetPeriod::day;
  if (deployment.empty())
    return is_day ? say(in,
                        "your app \"{app}\" has spent {spent} of the {limit} points of its budget "
                        "for a day.",
                        {{"app", app.name}, {"spent", spent}, {"limit", limit}})
                  : say(in,
                        "your app \"{app}\" has spent {spent} of the {limit} points of its budget "
                        "for 30 days.",
                        {{"app", app.name}, {"spent", spent}, {"limit", limit}});
  return is_day ? say(in,
                      "your deployment \"{name}\" has spent {spent} of the {limit} points of its "
                      "budget for a day.",
                      {{"name", deployment}, {"spent", spent}, {"limit", limit}})
                : say(in,
                      "your deployment \"{name}\" has spent {spent} of the {limit} points of its "
                      "budget for 30 days.",
                      {{"name", deployment}, {"spent", spent}, {"limit", limit}});
}

std::string what_stops(Language in, AtLimit at_limit) {
  return at_limit == AtLimit::stop_all
             ? say(in,
                   "Everything that the budget is for was stopped. It starts again when you raise "
                   "the budget or its period moves on.")
             : say(in,
                   "What is charged by the hour was stopped. It starts again when you raise the "
                   "budget or its period moves on.");
}

}  // namespace

void mail_low(db::Tx& tx, const AppState& app, std::int64_t points_per_hour, Instant lasts_until,
              const std::string& data_key) {
  tell(tx, app, data_key, [&](Language in) {
    return Message{
        say(in, "The points of your app {app} run out", {{"app", app.name}}),
        say(in,
            "the points of your app \"{app}\" last until about {time}. What is charged by the hour "
            "will be stopped then, unless more points arrive.",
            {{"app", app.name}, {"time", billing::for_people(lasts_until)}}) +
            "\n\n" +
            say(in, "The app has {points} points; what runs costs {price} points an hour.",
                {{"points", std::to_string(app.balance)},
                 {"price", std::to_string(points_per_hour)}})};
  });
}

void mail_stopped(db::Tx& tx, const AppState& app, const std::string& data_key) {
  tell(tx, app, data_key, [&](Language in) {
    return Message{
        say(in, "Deployments of your app {app} were stopped", {{"app", app.name}}),
        say(in,
            "the deployments of your app \"{app}\" that are charged by the hour were stopped, "
            "because the points for the next hour are missing. They will start again by themselves "
            "as soon as they arrive.",
            {{"app", app.name}})};
  });
}

void mail_budget(db::Tx& tx, const AppState& app, const BudgetRow& budget, std::int64_t spent,
                 int mark, const std::string& data_key) {
  tell(tx, app, data_key, [&](Language in) {
    Message message = {say(in, "{percent} % of a budget of your app {app} are spent",
                           {{"percent", std::to_string(mark)}, {"app", app.name}}),
                       has_spent(in, app, budget, std::to_string(spent))};
    if (mark == 100) message.sentences += "\n\n" + what_stops(in, budget.at_limit);
    return message;
  });
}

}  // namespace berth::metering
