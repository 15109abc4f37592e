#pragma once

#include "controller/domain/deployments/metering/app_state.h"

// The mails of metering to an app's owner. The functions put them into the outbox, and do nothing
// if the owner's account was deleted. Private to metering.
namespace berth::metering {

// The points last until about `lasts_until` at so many points an hour.
void mail_low(db::Tx& tx, const AppState& app, std::int64_t points_per_hour, Instant lasts_until,
              const std::string& data_key);
// What is charged by the hour was stopped for want of points.
void mail_stopped(db::Tx& tx, const AppState& app, const std::string& data_key);
// A mark of a budget was passed.
void mail_budget(db::Tx& tx, const AppState& app, const BudgetRow& budget, std::int64_t spent,
                 int mark, const std::string& data_key);

}  // namespace berth::metering
