#pragma once

#include "controller/domain/deployments/billing/billing_rows.h"

// The letters that billing writes to a deployment's owner. Nothing is written if the account was
// deleted.
namespace berth::billing {

void tell_warning(db::Tx& tx, const Account& account, Instant stops_at,
                  const std::string& data_key);
void tell_failure(db::Tx& tx, const Account& account, const std::string& data_key);
void tell_reactivation(db::Tx& tx, const Account& account, const std::string& data_key);

}  // namespace berth::billing
