#include "controller/domain/webhooks/backlog.h"

#include <algorithm>

namespace berth::webhooks {

Backlog backlog(db::Tx& tx) {
  db::Query row = tx.query(R"(
      SELECT count(*) AS waiting, min(next_attempt_at) AS first
      FROM webhook_deliveries
      WHERE state = 'waiting')");
  row.next();
  const std::int64_t waiting = row.integer("waiting");
  const auto first = row.instant_or_null("first");
  return {.waiting = waiting,
          .overdue = first ? std::max(Duration(0), tx.now() - *first) : Duration(0)};
}

}  // namespace berth::webhooks
