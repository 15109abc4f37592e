#include "api/gate/request_log.h"

#include <nlohmann/json.hpp>

#include "api/gate/encode.h"
#include "controller/base/address_range.h"
#include "controller/base/log.h"
#include "controller/base/shares.h"

namespace berth::api {

void log_request(const RequestLine& line, RequestKind kind) {
  const bool has_changed = kind == RequestKind::change && line.status < 400;
  const auto level = has_changed || line.status >= 500 ? log::Level::info : log::Level::debug;
  if (!log::enabled(level)) return;
  const Claimant& claimant = Claimant::of_thread();
  log::write(level, "request",
             {{"request_id", line.request_id},
              {"method", line.method},
              {"route", line.route},
              {"status", line.status},
              {"user", text_or_null(claimant.account)},
              {"app", text_or_null(claimant.app)},
              {"network", network_of(line.address)},
              {"duration_ms", std::chrono::duration<double, std::milli>(line.took).count()}});
}

}  // namespace berth::api
