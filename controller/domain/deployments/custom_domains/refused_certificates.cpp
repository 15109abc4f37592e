#include "controller/domain/deployments/custom_domains/refused_certificates.h"

namespace berth::custom_domains {

std::int64_t refused_certificates(db::Tx& tx) {
  constexpr Duration day = std::chrono::hours(24);
  return tx.number(R"(
      SELECT count(DISTINCT domain) AS refused
      FROM certificate_orders
      WHERE ordered_at > $1 AND outcome = 'failed')",
                   tx.now() - day);
}

}  // namespace berth::custom_domains
