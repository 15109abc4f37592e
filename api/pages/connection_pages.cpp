// The apps that have access to the visitor's account.

#include "api/pages/page.h"
#include "controller/base/text.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/oauth/connections.h"

namespace berth::api::pages {
namespace {

Values spending(const connections::Connection& connection) {
  const auto& limit = connection.daily_spend_limit;
  Values values(Values::type::object);
  values.set("limit", limit ? std::to_string(*limit) : std::string());
  values.set("today", std::to_string(connection.spent_today));
  return values;
}

Values session_values(const connections::Connection& connection) {
  const bool acts = connection.session_access == play::SessionAccess::full;
  Values values(Values::type::object);
  values.set("acts", Values(acts ? Values::type::bool_true : Values::type::bool_false));
  return values;
}

// Returns nothing, which means no limit, if the text is empty.
std::optional<std::int64_t> typed_limit(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto limit = parse_number<std::int64_t>(text);
  if (!limit || *limit < 0 || *limit > ledger::max_points)
    throw invalid_field("daily_spend_limit", "must be a whole number of points, or empty");
  return limit;
}

Page connections_page(const Visit& visit) {
  Page page = {.title = visit.say("Connected apps"), .content = "connected_apps"};
  visit.services.db.read([&](db::Tx& tx) {
    const auto connected =
        connections::list(tx, visit.user().id, {.page = 1, .page_size = PageRequest::max_size});
    Values list(Values::type::list);
    for (const connections::Connection& connection : connected.items) {
      Values entry(Values::type::object);
      entry.set("app_id", connection.app_id);
      entry.set("app_name", connection.app_name);
      entry.set("scopes", scope_values(visit, connection.scopes));
      entry.set("since", in_words(visit, connection.connected_at));
      if (connection.last_used) entry.set("last_used", in_words(visit, *connection.last_used));
      if (connection.scopes.has(Scope::points_spend)) entry.set("spending", spending(connection));
      if (connection.takes_session_tokens) entry.set("session", session_values(connection));
      list.push_back(entry);
    }
    if (connected.items.empty()) page.values.set("none", Values(Values::type::bool_true));
    page.values.set("apps", list);
  });
  return page;
}

}  // namespace

Page show_connected_apps(Visit& visit) { return connections_page(visit); }

Page limit_app(Visit& visit) {
  return unless_refused(
      visit,
      [&] {
        const auto limit = typed_limit(visit.field("daily_spend_limit"));
        visit.services.db.write([&](db::Tx& tx) {
          connections::set_daily_spend_limit(tx, visit.user().id, visit.field("app_id"), limit);
        });
        Page page = connections_page(visit);
        page.values.set(
            "done", limit ? visit.say("The limit was set.") : visit.say("There is no limit now."));
        return page;
      },
      [&] { return connections_page(visit); });
}

Page change_session_access(Visit& visit) {
  return unless_refused(
      visit,
      [&] {
        const auto access = parse_enum<play::SessionAccess>(visit.field("session_access"));
        if (!access) throw invalid_field("session_access", "isn't one of the choices");
        visit.services.db.write([&](db::Tx& tx) {
          connections::set_session_access(tx, visit.user().id, visit.field("app_id"), *access);
        });
        Page page = connections_page(visit);
        page.values.set("done", *access == play::SessionAccess::full
                                    ? visit.say("The app may act as you now.")
                                    : visit.say("The app can’t act as you any more."));
        return page;
      },
      [&] { return connections_page(visit); });
}

Page disconnect_app(Visit& visit) {
  return unless_refused(
      visit,
      [&] {
        visit.services.db.write([&](db::Tx& tx) {
          connections::disconnect(tx, visit.user().id, visit.field("app_id"));
          audit::record_operation(tx, "app", visit.field("app_id"));
        });
        Page page = connections_page(visit);
        page.values.set("done", visit.say("The app has no access to your account any more."));
        return page;
      },
      [&] { return connections_page(visit); });
}

}  // namespace berth::api::pages
