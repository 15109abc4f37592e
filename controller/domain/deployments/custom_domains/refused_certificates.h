#pragma once

#include <cstdint>

#include "controller/db/database.h"

namespace berth::custom_domains {

// Returns for how many domains the issuer has refused a certificate that was ordered within the
// last 24 hours. Reads a row for each order of that time, whose number certificate_orders.h limits.
std::int64_t refused_certificates(db::Tx& tx);

}  // namespace berth::custom_domains
