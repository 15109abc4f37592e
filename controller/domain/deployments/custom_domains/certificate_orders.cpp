#include "controller/domain/deployments/custom_domains/certificate_orders.h"

#include "controller/base/id.h"
#include "controller/domain/deployments/custom_domains/domain_names.h"

namespace berth::certificate_orders {
namespace {

// Each query returns the times `at` of the orders that count, newest first, and skips all but one
// of the orders that the budget allows. If a row is left, its order has to leave the window before
// another order is possible.
std::optional<Refusal> spent(db::Query rows, Duration window, const std::string& what) {
  if (!rows.next()) return std::nullopt;
  return Refusal{.message = what, .again_at = rows.instant("at") + window};
}

std::optional<Refusal> owner_spent(db::Tx& tx, const Purchase& purchase) {
  return spent(tx.query(R"(
      SELECT ordered_at AS at
      FROM certificate_orders
      WHERE owner_id = $1 AND ordered_at > $2 AND kind = 'first'
      ORDER BY ordered_at DESC
      LIMIT 1 OFFSET $3)",
                        purchase.owner_id, tx.now() - week, per_owner_and_week - 1),
               week,
               "the account has ordered " + std::to_string(per_owner_and_week) +
                   " certificates within a week, which is the limit");
}

std::optional<Refusal> platform_spent(db::Tx& tx) {
  return spent(tx.query(R"(
      SELECT ordered_at AS at
      FROM certificate_orders
      WHERE ordered_at > $1
      ORDER BY ordered_at DESC
      LIMIT 1 OFFSET $2)",
                        tx.now() - on_platform_window, on_platform - 1),
               on_platform_window,
               "the platform has ordered as many certificates within 3 hours as it may");
}

std::optional<Refusal> registered_domain_spent(db::Tx& tx, const std::string& registered) {
  return spent(tx.query(R"(
      SELECT ordered_at AS at
      FROM certificate_orders
      WHERE registered_domain = $1 AND ordered_at > $2
      ORDER BY ordered_at DESC
      LIMIT 1 OFFSET $3)",
                        registered, tx.now() - week, per_registered_domain_and_week - 1),
               week,
               std::to_string(per_registered_domain_and_week) +
                   " certificates were ordered below " + registered +
                   " within a week, which is the limit");
}

std::optional<Refusal> domain_spent(db::Tx& tx, const std::string& domain) {
  return spent(tx.query(R"(
      SELECT ordered_at AS at
      FROM certificate_orders
      WHERE domain = $1 AND ordered_at > $2
      ORDER BY ordered_at DESC
      LIMIT 1 OFFSET $3)",
                        domain, tx.now() - week, per_domain_and_week - 1),
               week,
               std::to_string(per_domain_and_week) + " certificates were ordered for " + domain +
                   " within a week, which is the limit");
}

std::optional<Refusal> failed_too_often(db::Tx& tx, const std::string& domain) {
  constexpr Duration hour = std::chrono::hours(1);
  return spent(tx.query(R"(
      SELECT ended_at AS at
      FROM certificate_orders
      WHERE domain = $1 AND outcome = 'failed' AND ended_at > $2
      ORDER BY ended_at DESC
      LIMIT 1 OFFSET $3)",
                        domain, tx.now() - hour, failures_per_domain_and_hour - 1),
               hour,
               std::to_string(failures_per_domain_and_hour) + " certificates were refused for " +
                   domain + " within an hour");
}

enum class Kind { first, renewal };
constexpr auto texts_of(Kind) { return EnumTexts<Kind::renewal>{"first", "renewal"}; }

// An order whose `result` isn't known yet still runs.
void write(db::Tx& tx, const Purchase& purchase, Kind kind, std::optional<Result> result) {
  tx.execute(R"(
      INSERT INTO certificate_orders
        (id, owner_id, app_id, domain, registered_domain, kind, outcome, ordered_at, ended_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9))",
             new_uuid(tx.now()), purchase.owner_id, purchase.app_id, purchase.domain,
             domain_names::registered(purchase.domain), to_string(kind), to_string(result),
             tx.now(), result ? std::optional(tx.now()) : std::nullopt);
}

}  // namespace

std::optional<Refusal> take(db::Tx& tx, const Purchase& purchase) {
  tx.require_serializable();
  if (auto refusal = failed_too_often(tx, purchase.domain)) return refusal;
  if (auto refusal = domain_spent(tx, purchase.domain)) return refusal;
  if (auto refusal = registered_domain_spent(tx, domain_names::registered(purchase.domain)))
    return refusal;
  if (auto refusal = owner_spent(tx, purchase)) return refusal;
  if (auto refusal = platform_spent(tx)) return refusal;
  write(tx, purchase, Kind::first, std::nullopt);
  return std::nullopt;
}

std::int64_t count_on_platform(db::Tx& tx) {
  return tx.number(R"(SELECT count(*) FROM certificate_orders WHERE ordered_at > $1)",
                   tx.now() - on_platform_window);
}

void note_renewal(db::Tx& tx, const Purchase& purchase) {
  write(tx, purchase, Kind::renewal, Result::issued);
}

void note_result(db::Tx& tx, const std::string& domain, Result result) {
  tx.execute(R"(
      UPDATE certificate_orders
      SET outcome = $2, ended_at = $3
      WHERE outcome IS NULL
        AND id = (SELECT id
                  FROM certificate_orders
                  WHERE domain = $1 AND outcome IS NULL
                  ORDER BY ordered_at DESC
                  LIMIT 1))",
             domain, to_string(result), tx.now());
}

bool is_any_old(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM certificate_orders WHERE ordered_at <= $1 LIMIT 1)",
                   tx.now() - kept_for) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM certificate_orders
      WHERE id IN (SELECT id FROM certificate_orders WHERE ordered_at <= $1 LIMIT $2))",
      tx.now() - kept_for, limit);
}

}  // namespace berth::certificate_orders
