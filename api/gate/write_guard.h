#pragma once

#include <optional>

#include "api/gate/services.h"
#include "controller/db/write_meter.h"
#include "controller/domain/kernel/write_budgets.h"

// Says whether a request may store anything, and counts what it has stored
// (kernel/write_budgets.h). The gate and the hosted pages ask it for every request.
namespace berth::api::write_guard {

using write_budgets::Stores;
using write_budgets::Writer;

// Returns email_not_verified, rate_limited or unavailable; nothing if the request
// may go on. The budgets count only where requests are limited. No transaction may be open, because
// the account is looked up if it matters whether its address is verified.
std::optional<Error> refusal(const Services& services, const Writer& writer, Stores stores);

// Counts what a request has stored.
void charge(const Services& services, const Writer& writer, Stores stores,
            const db::Written& stored);

// Whether the account's address is verified; for Writer::is_verified.
bool is_verified(const Services& services, const std::string& account_id);

}  // namespace berth::api::write_guard
