#pragma once

#include <cstdint>

#include "controller/db/database.h"

namespace berth::custom_domains {

// For how many domains the issuer has refused a certificate that was ordered within the last 24
// hours. The budgets of certificate_orders.h bound what this costs.
std::int64_t refused_certificates(db::Tx& tx);

}  // namespace berth::custom_domains
