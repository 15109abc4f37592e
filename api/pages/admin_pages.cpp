// An admin's list of scope requests.
#include "api/pages/page.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/apps/app_mail.h"
#include "controller/domain/apps/apps.h"

namespace berth::api::pages {
namespace {

// Shows the newest hundred. Older ones appear after some of these are decided.
Page requests_page(const Visit& visit) {
  Page page = {.title = visit.say("Scope requests"), .content = "scope_requests"};
  visit.services.db.read([&](db::Tx& tx) {
    Values list(Values::type::list);
    const auto waiting = apps::list_requests(tx, std::nullopt, apps::RequestStatus::pending,
                                             {.page = 1, .page_size = PageRequest::max_size});
    for (const apps::ScopeRequest& request : waiting.items) {
      const auto app = apps::find(tx, request.app_id);
      Values entry(Values::type::object);
      entry.set("id", request.id);
      entry.set("app_name", app ? app->app_name : visit.say("a deleted app"));
      if (const auto owner = app ? accounts::find(tx, app->owner_id) : std::nullopt)
        entry.set("owner", owner->username);
      if (app && app->website_url) entry.set("website", *app->website_url);
      if (app && !app->app_description.empty()) entry.set("app_description", app->app_description);
      entry.set("since", in_words(visit, request.inserted_at));
      entry.set("scopes", scope_values(visit, request.requested));
      if (request.tier) entry.set("tier", *request.tier);
      list.push_back(entry);
    }
    if (waiting.items.empty()) page.values.set("none", Values(Values::type::bool_true));
    page.values.set("requests", list);
  });
  return page;
}

std::string actor(const Visit& visit) { return "user:" + visit.user().id; }

template <typename Work>
Page decide(Visit& visit, const std::string& done, Work&& work) {
  return unless_refused(
      visit,
      [&] {
        visit.services.db.write(work);
        Page page = requests_page(visit);
        page.values.set("done", done);
        return page;
      },
      [&] { return requests_page(visit); });
}

}  // namespace

Page show_scope_requests(Visit& visit) { return requests_page(visit); }

Page approve_scopes(Visit& visit) {
  return decide(visit, visit.say("The request was approved."), [&](db::Tx& tx) {
    apps::tell_decision(tx, apps::grant(tx, visit.field("id"), actor(visit)),
                        visit.services.keys.data);
  });
}

Page reject_scopes(Visit& visit) {
  constexpr size_t max_reason = 1000;
  return decide(visit, visit.say("The request was rejected."), [&](db::Tx& tx) {
    const std::string reason = composed(visit.field("reason"), Lines::several);
    if (reason.empty() || characters(reason) > max_reason)
      throw invalid_field("reason", "must have 1 to 1000 characters");
    if (const auto refusal = refusal_of_text(reason, Lines::several))
      throw invalid_field("reason", std::string(*refusal));
    apps::tell_decision(tx, apps::reject(tx, visit.field("id"), reason, actor(visit)),
                        visit.services.keys.data);
  });
}

}  // namespace berth::api::pages
