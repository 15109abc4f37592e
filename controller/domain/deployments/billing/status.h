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

}  // namespace berth::billing
