// One search for admins over users, apps and deployments.
#include "api/gate/encode.h"
#include "api/resources/internal.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/admin_list.h"
#include "controller/domain/points/points.h"

namespace berth::api {

json encode_movements(db::Tx& tx, const ledger::Account& account) {
  json movements = json::array();
  const auto page = points::history(tx, account, {}, {.page = 1, .page_size = shown_movements});
  for (const points::Entry& entry : page.items) {
    const bool has_owner = !entry.counterparty.owner.empty();
    movements.push_back({{"transaction_id", entry.transaction_id},
                         {"kind", entry.kind},
                         {"amount", entry.amount},
                         {"counterparty",
                          {{"kind", entry.counterparty.kind},
                           {"id", has_owner ? json(entry.counterparty.owner) : json(nullptr)},
                           {"name", or_null(entry.counterparty_name)}}},
                         {"inserted_at", to_iso8601(entry.at)}});
  }
  return movements;
}

namespace {

// How many of each kind are found.
constexpr int most_of_kind = 8;

Reply search(db::Tx& tx, const Call& call, const Services& services) {
  const std::string words = call.query("q").value_or("");
  if (words.empty()) throw invalid_field("q", "is required");
  const PageRequest first = {.page = 1, .page_size = most_of_kind};
  json users = json::array(), apps = json::array(), rows = json::array();
  for (const auto& user : accounts::list_users(tx, words, first).items)
    users.push_back(encode_for_admin(user));
  for (const auto& app : apps::list_all(tx, words, first).items)
    apps.push_back(encode_for_admin(tx, app));
  for (const auto& row : deployments::list_for_admin(tx, {.search = words}, first).items)
    rows.push_back(encode_for_admin(tx, row, services));
  return {.body = {{"users", std::move(users)},
                   {"apps", std::move(apps)},
                   {"deployments", std::move(rows)}}};
}

constexpr Param search_query[] = {
    {.name = "q",
     .description = "The beginning of an address, a name or a custom domain, a part of a username, "
                    "or an id.",
     .example = "ada",
     .required = true}};

constexpr Route rows[] = {
    {.request = "GET /api/internal/search",
     .name = "internalSearch",
     .tag = "Internal",
     .summary = "Find users, apps and deployments",
     .text =
         "Searches as the lists of users, of apps and of deployments do, and returns the newest "
         "8 of each.",
     .guards = every_admin,
     .query = search_query,
     .answer = {200, "InternalSearchResult"},
     .errors = {Code::validation_failed},
     .served_by = {"berth admin search", "/console/admin"},
     .run = ReadHandler{search}},
};

}  // namespace

std::span<const Route> internal_search_routes() { return rows; }

}  // namespace berth::api
