#pragma once

#include "controller/domain/deployments/billing/billing_rows.h"

// The mails that billing sends to a deployment's owner. The functions put them into the outbox, and
// do nothing if the owner's account was deleted.
namespace berth::billing {

// Returns the time in the form "2026-01-31 12:00 UTC".
std::string for_people(Instant at);

void mail_warning(db::Tx& tx, const Account& account, Instant stops_at,
                  const std::string& data_key);
void mail_failure(db::Tx& tx, const Account& account, const std::string& data_key);
void mail_reactivation(db::Tx& tx, const Account& account, const std::string& data_key);

}  // namespace berth::billing
