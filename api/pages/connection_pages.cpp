// The apps that have access to the visitor's account.
#include "api/pages/page.h"
#include "controller/domain/connections.h"

namespace berth::api::pages {
namespace {

Page connections_page(const Visit& visit) {
  Page page = {.title = "Connected apps", .content = "connected_apps"};
  visit.services.db.read([&](db::Tx& tx) {
    const auto connected =
        connections::list(tx, visit.user().id, {.page = 1, .page_size = PageRequest::max_size});
    Values list(Values::type::list);
    for (const connections::Connection& connection : connected.items) {
      Values entry(Values::type::object);
      entry.set("app_id", connection.app_id);
      entry.set("app_name", connection.app_name);
      entry.set("scopes", scope_values(connection.scopes));
      entry.set("since", in_words(connection.connected_at));
      if (connection.last_used) entry.set("last_used", in_words(*connection.last_used));
      list.push_back(entry);
    }
    if (connected.items.empty()) page.values.set("none", Values(Values::type::bool_true));
    page.values.set("apps", list);
  });
  return page;
}

}  // namespace

Page show_connected_apps(Visit& visit) { return connections_page(visit); }

Page disconnect_app(Visit& visit) {
  return unless_refused(
      [&] {
        visit.services.db.write([&](db::Tx& tx) {
          connections::disconnect(tx, visit.user().id, visit.field("app_id"));
        });
        Page page = connections_page(visit);
        page.values.set("done", "The app has no access any more.");
        return page;
      },
      [&] { return connections_page(visit); });
}

}  // namespace berth::api::pages
