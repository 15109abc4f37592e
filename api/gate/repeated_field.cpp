#include "api/gate/repeated_field.h"

#include <array>

namespace berth::api {
namespace {

// The fields that a request may have only once. The transport checks Host, Content-Length,
// Transfer-Encoding, Content-Encoding and Expect.
constexpr std::array<std::string_view, 10> single_fields = {
    "Authorization", "Berth-App", "Berth-Console",  "Content-Type",  "Idempotency-Key",
    "Last-Event-ID", "Origin",    "Sec-Fetch-Site", "X-Admin-Actor", "X-Internal-Secret"};

}  // namespace

std::optional<std::string_view> repeated_field(const Headers& headers) {
  std::array<bool, single_fields.size()> seen{};
  for (const auto& [name, value] : headers)
    for (std::size_t i = 0; i < single_fields.size(); ++i) {
      if (!same_name(name, single_fields[i])) continue;
      if (seen[i]) return single_fields[i];
      seen[i] = true;
    }
  return std::nullopt;
}

}  // namespace berth::api
