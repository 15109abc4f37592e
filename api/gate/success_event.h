#pragma once

#include <string_view>

#include "controller/base/security_event.h"

namespace berth::api {

// The security log's entry for the success of an operation or of a form, as its row says; none if
// `reason` is empty.
struct SuccessEvent {
  SecurityKind kind = {};
  std::string_view reason = {};
};

}  // namespace berth::api
