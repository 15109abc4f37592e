#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"

// What alerts say of an event, in plain English. The texts contain what users have written, as it
// is; whoever sends them escapes them for the channel (alert_messages.h).
namespace berth::alerts {

// Beside the types of webhooks: the states of deployments and certificates that are a trouble
// (0017_runs.sql).
inline constexpr std::array<std::string_view, 16> types = {
    "deployment.failed",
    "deployment.crashed",
    "deployment.run_failed",
    "certificate.failed",
    "billing.warning",
    "billing.failed",
    "billing.reactivated",
    "balance.low",
    "budget.reached",
    "charge.settled",
    "points.spent",
    "points.refunded",
    "payout",
    "campaign.exhausted",
    "campaign.ended",
    "scope_request.decided",
};
inline constexpr std::string_view test_type = "alert.test";

struct Event {
  std::string id;  // that of the event, also in webhooks
  std::string type;
  std::string app_id;    // empty for a test
  std::string app_name;  // the same
  nlohmann::json data;   // a JSON object, as webhooks get it
  Instant at;
};

enum class Weight { bad, warning, info };
struct Text {
  std::string title;   // a sentence without its full stop, in one line
  std::string detail;  // sentences in one line; may be empty
  // Where the console shows it, such as /console/apps/<id>.
  std::string path;
  Weight weight = Weight::info;
};
// Never throws for data that lacks a field. Title and detail have at most max_title and max_detail
// characters, and no control characters.
inline constexpr size_t max_title = 150;
inline constexpr size_t max_detail = 350;
Text text_of(const Event& event);

// At most the first `most` characters; if the text was longer, the last one is an ellipsis.
std::string shortened(const std::string& utf8, size_t most);

}  // namespace berth::alerts
