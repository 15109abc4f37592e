#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/oauth/oauth.h"

// The device authorization grant (RFC 8628), for machines without a browser: the device shows a
// short code, and the person enters it in a browser on another machine. Both codes work once.
namespace berth::oauth {

inline constexpr Duration device_code_lifetime = std::chrono::minutes(10);
// How long a device waits between two polls, and how much longer after one that came too early (RFC
// 8628, section 3.5).
inline constexpr Duration device_poll_interval = std::chrono::seconds(5);
inline constexpr Duration slow_down_by = std::chrono::seconds(5);
// A code has 20^8 values, which is 34 bits (RFC 8628, section 6.1, which also gives the reason for
// the alphabet: no vowels that could make words, nothing that looks alike).
inline constexpr size_t user_code_length = 8;
inline constexpr std::string_view user_code_alphabet = "BCDFGHJKLMNPQRSTVWXZ";
// How many requests may exist at a time. Each network has a share of them (base/shares.h).
inline constexpr std::size_t max_device_requests = 10'000;

struct DeviceAuthorization {
  std::string device_code;
  std::string user_code;  // in two halves, such as "WDJB-MJHT"
};
struct DeviceAsking {
  std::optional<std::string> scope;  // empty: all scopes that the client may have
  std::string address;               // the device's, which the person who decides is shown
  std::string user_agent;
};
// Creates the two codes. Only berth's own client may ask, because somebody could send their code to
// a victim (RFC 8628, section 5.4); other apps can redirect a browser. Throws
// unauthorized_client, invalid_scope, unavailable if too many requests wait, or rate_limited if too
// many of the device's network do.
DeviceAuthorization authorize_device(db::Tx& tx, const apps::App& client,
                                     const DeviceAsking& asking, const std::string& data_key);

// A request that waits for a decision.
struct DeviceRequest {
  std::string user_code;  // in two halves
  apps::App app;
  ScopeSet scopes;
  std::string address;
  std::string user_agent;
  Instant asked_at;
};
// Returns the request with this code, in whichever way it was typed: upper and lower case, blanks
// and hyphens don't matter. Returns nothing if there is none, or it has expired or was decided.
std::optional<DeviceRequest> find_device_request(db::Tx& tx, const std::string& user_code,
                                                 const std::string& data_key);
enum class DeviceDecision { allow, deny };
// Records what the user decided. Returns false if there is no such request any more.
bool decide_device_request(db::Tx& tx, const accounts::User& user, const std::string& user_code,
                           DeviceDecision decision, const std::string& data_key);

// Why a device gets no tokens yet, or never (RFC 8628, section 3.5).
enum class DeviceRefusal { authorization_pending, slow_down, access_denied, expired_token };
constexpr auto texts_of(DeviceRefusal) {
  return EnumTexts<DeviceRefusal::expired_token>{"authorization_pending", "slow_down",
                                                 "access_denied", "expired_token"};
}
// Gives the device its tokens once the person has allowed it. A refusal is returned instead of
// thrown, because its effects must be kept: the time of the poll. Throws invalid_grant if the code
// is unknown, was used or belongs to another client.
std::expected<Tokens, DeviceRefusal> exchange_device_code(db::Tx& tx, const apps::App& client,
                                                          const std::string& device_code,
                                                          const Policy& policy);

}  // namespace berth::oauth
