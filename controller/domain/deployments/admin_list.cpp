// The deployments of all apps, as admins list and find them.
#include "controller/domain/deployments/admin_list.h"

#include "controller/base/ascii.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::deployments {
namespace {

// The status, the slug of the tier, the billing, the app and the owner (empty: any).
const std::string filtered = R"(
        AND d.status <> 'destroyed'
        AND ($1 = '' OR d.status = $1)
        AND ($2 = '' OR d.tier_id = (SELECT id FROM deploy_tiers WHERE slug = $2))
        AND ($3 = '' OR d.billing_status = $3)
        AND ($4 = '' OR d.app_id = $4) AND ($5 = '' OR d.owner_id = $5))";
// $6 and $7 are the ends of the range of texts that begin with the words, $8 is the words
// themselves, and $9 their form as a username.
const std::string matching = R"(
      SELECT id
      FROM (SELECT id
            FROM deployments
            WHERE name >= $6 AND name < $7 AND status <> 'destroyed'
            ORDER BY name
            LIMIT 1000) e
      UNION
      SELECT id
      FROM (SELECT id
            FROM deployments
            WHERE custom_domain >= $6 AND custom_domain < $7 AND status <> 'destroyed'
            ORDER BY custom_domain
            LIMIT 1000) f
      UNION
      SELECT id
      FROM deployments
      WHERE id = $8
      UNION
      SELECT id
      FROM (SELECT o.id
            FROM users u
            JOIN deployments o ON o.owner_id = u.id AND o.status <> 'destroyed'
            WHERE u.username_key = $9
            ORDER BY o.inserted_at DESC, o.id DESC
            LIMIT 1000) g)";
const std::string count_deployments = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM deployments d)";
const std::string end_of_count = R"(
            LIMIT $6) counted)";
const std::string page_of_deployments = R"(
        AND (d.inserted_at, d.id) < ($6, $7)
      ORDER BY d.inserted_at DESC, d.id DESC
      LIMIT $8 OFFSET $9)";
const std::vector<SortColumn> newest_living_first = {{SortColumn::Type::integer, "inserted_at"},
                                                     {SortColumn::Type::text, "id"}};

const ListSql& of_all() {
  static const ListSql sql = {
      .count = count_deployments + R"( WHERE d.inserted_at >= 0)" + filtered + end_of_count,
      .rows = select_deployments + R"( WHERE d.inserted_at >= 0)" + filtered + page_of_deployments,
      .sorted_by = newest_living_first};
  return sql;
}
const ListSql& of_status() {
  static const ListSql sql = {
      .count = count_deployments + R"( WHERE d.status = $1)" + filtered + end_of_count,
      .rows = select_deployments + R"( WHERE d.status = $1)" + filtered + page_of_deployments,
      .sorted_by = newest_living_first};
  return sql;
}
const ListSql& of_app() {
  static const ListSql sql = {
      .count = count_deployments + R"( WHERE d.app_id = $4)" + filtered + end_of_count,
      .rows = select_deployments + R"( WHERE d.app_id = $4)" + filtered + page_of_deployments,
      .sorted_by = newest_living_first};
  return sql;
}
const ListSql& of_owner() {
  static const ListSql sql = {
      .count = count_deployments + R"( WHERE d.owner_id = $5)" + filtered + end_of_count,
      .rows = select_deployments + R"( WHERE d.owner_id = $5)" + filtered + page_of_deployments,
      .sorted_by = newest_living_first};
  return sql;
}
const ListSql& of_search() {
  static const ListSql sql = {
      .count = count_deployments + R"( WHERE d.id IN ()" + matching + R"())" + filtered + R"(
            LIMIT $10) counted)",
      .rows = select_deployments + R"( WHERE d.id IN ()" + matching + R"())" + filtered + R"(
        AND (d.inserted_at, d.id) < ($10, $11)
      ORDER BY d.inserted_at DESC, d.id DESC
      LIMIT $12 OFFSET $13)",
      .sorted_by = newest_living_first};
  return sql;
}

}  // namespace

Page<Deployment> list_for_admin(db::Tx& tx, const AdminFilter& filter, const PageRequest& page) {
  const std::string status = filter.status ? std::string(to_string(*filter.status)) : "";
  const std::string billing = filter.billing ? std::string(to_string(*filter.billing)) : "";
  const std::string tier = filter.tier.value_or(""), app = filter.app_id.value_or(""),
                    owner = filter.owner_id.value_or("");
  if (filter.search) {
    const std::string begin = lower_case(*filter.search);
    return read_page(tx, of_search(), page, deployment_of, status, tier, billing, app, owner, begin,
                     end_of_prefix(begin), begin, accounts::folded(*filter.search));
  }
  const ListSql& sql = !app.empty()      ? of_app()
                       : !owner.empty()  ? of_owner()
                       : !status.empty() ? of_status()
                                         : of_all();
  return read_page(tx, sql, page, deployment_of, status, tier, billing, app, owner);
}

}  // namespace berth::deployments
