#pragma once

#include "controller/base/enum_text.h"

namespace berth::billing {

// Whether a deployment is paid for.
enum class Status {
  current,
  warning,    // the next renewal would fail with the present balance
  suspended,  // stopped for lack of points; starts again as soon as the balance suffices
  exempt,     // its tier costs nothing
};
constexpr auto texts_of(Status) {
  return EnumTexts<Status::exempt>{"current", "warning", "suspended", "exempt"};
}

// Why a suspended deployment was stopped, if not because the points for 30 days are missing.
enum class StoppedFor {
  points,  // those for the next hour are missing (metering/settlement.h)
  budget   // one is spent (metering/budgets.h)
};
constexpr auto texts_of(StoppedFor) { return EnumTexts<StoppedFor::budget>{"points", "budget"}; }

}  // namespace berth::billing
