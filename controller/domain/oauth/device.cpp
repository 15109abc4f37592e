#include "controller/domain/oauth/device.h"

#include <cctype>

#include "controller/base/address_range.h"
#include "controller/base/crypto.h"
#include "controller/base/shares.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/oauth/token_rows.h"

namespace berth::oauth {
namespace {

constexpr size_t kept_of_user_agent = 256;
constexpr size_t kept_of_address = 64;     // more than any address has
constexpr int removed_at_once = 100;       // expired requests that a new one removes
constexpr size_t longest_typed_code = 64;  // as it is typed, with blanks and hyphens

// Each letter is one of 20 with the same probability: bytes of 240 and more are dropped.
std::string new_user_code() {
  constexpr size_t letters = user_code_alphabet.size();
  constexpr size_t usable = 256 - 256 % letters;
  std::string code;
  while (code.size() < user_code_length)
    for (const char c : random_bytes(2 * user_code_length)) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < usable && code.size() < user_code_length)
        code += user_code_alphabet[byte % letters];
    }
  return code;
}

std::string in_halves(const std::string& code) {
  return code.substr(0, user_code_length / 2) + "-" + code.substr(user_code_length / 2);
}

// Returns the code without what people add while they type it; empty if it can't be one.
std::string typed(const std::string& text) {
  if (text.size() > longest_typed_code) return "";
  std::string code;
  for (const unsigned char c : text)
    if (c != ' ' && c != '-') code += char(std::toupper(c));
  return code.size() == user_code_length ? code : "";
}

std::string user_code_hash(const std::string& code, const std::string& data_key) {
  const std::string key = hmac_sha256(data_key, "user codes of devices");
  return hex(hmac_sha256(key, code));
}

void remove(db::Tx& tx, const std::string& device_code_hash) {
  tx.execute(R"(DELETE FROM device_codes WHERE device_code_hash = $1)", device_code_hash);
}

ScopeSet asked_scopes_of(const apps::App& client, const std::optional<std::string>& scope) {
  const auto asked = scope ? parse_scopes(*scope) : std::optional(client.approved_scopes);
  if (!asked) throw Error(Code::invalid_scope, why_no_scopes(*scope));
  if (const ScopeSet missing = *asked - client.approved_scopes.with_included(); !missing.empty())
    throw Error(Code::invalid_scope,
                "these scopes aren't approved for this client: " + missing.text());
  return *asked;
}

Error no_room(Code code, const char* why) {
  Error refusal(code, why);
  refusal.retry_after = std::chrono::duration_cast<std::chrono::seconds>(device_code_lifetime);
  return refusal;
}

// How many requests of each network wait. Expired ones that nobody has removed yet don't count.
struct Waiting {
  std::int64_t of_narrow = 0, of_middle = 0, of_wide = 0;
};
Waiting waiting_of(db::Tx& tx, const Networks& networks) {
  constexpr std::string_view narrow = R"(
      SELECT count(*) FROM device_codes WHERE narrow_network = $1 AND expires_at > $2)";
  constexpr std::string_view middle = R"(
      SELECT count(*) FROM device_codes WHERE middle_network = $1 AND expires_at > $2)";
  constexpr std::string_view wide = R"(
      SELECT count(*) FROM device_codes WHERE wide_network = $1 AND expires_at > $2)";
  return {.of_narrow = tx.number(narrow, networks.narrow, tx.now()),
          .of_middle = tx.number(middle, networks.middle, tx.now()),
          .of_wide = tx.number(wide, networks.wide, tx.now())};
}

// The networks' shares of the table are computed as those of any pool (base/shares.h).
void require_room(db::Tx& tx, const Networks& networks) {
  tx.execute(
      R"(
      DELETE FROM device_codes
      WHERE device_code_hash IN (SELECT device_code_hash
                                 FROM device_codes
                                 WHERE expires_at <= $1
                                 LIMIT $2))",
      tx.now(), removed_at_once);
  const PoolLimits limits = limits_of(max_device_requests, info(Pool::device_requests).has_reserve);
  const auto reaches = [](std::int64_t number, std::size_t limit) {
    return number >= std::int64_t(limit);
  };
  const std::int64_t all = tx.number(R"(SELECT count(*) FROM device_codes)");
  if (reaches(all, limits.places))
    throw no_room(Code::unavailable, "too many devices wait for a login; try again later");
  if (!reaches(all, limits.binds_at)) return;
  const Waiting waiting = waiting_of(tx, networks);
  if (reaches(waiting.of_narrow, limits.of_narrow_network) ||
      (!networks.middle.empty() && reaches(waiting.of_middle, limits.of_middle_network)) ||
      (!networks.wide.empty() && reaches(waiting.of_wide, limits.of_wide_network)))
    throw no_room(Code::rate_limited,
                  "too many devices of your network wait for a login; try again later");
}

}  // namespace

DeviceAuthorization authorize_device(db::Tx& tx, const apps::App& client,
                                     const DeviceAsking& asking, const std::string& data_key) {
  tx.require_serializable();
  if (!client.built_in || client.suspended)
    throw Error(Code::unauthorized_client, "this client may not use the device grant");
  const ScopeSet scopes = asked_scopes_of(client, asking.scope);
  const Networks networks = networks_of(asking.address);
  require_room(tx, networks);
  const std::string device_code = random_token("dc_live_");
  const std::string user_code = new_user_code();
  tx.execute(
      R"(
      INSERT INTO device_codes (device_code_hash, user_code_hash, app_id, scopes, address,
                                narrow_network, middle_network, wide_network, user_agent,
                                created_at, expires_at, poll_interval)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12))",
      token_hash(device_code), user_code_hash(user_code, data_key), client.id, scopes.text(),
      cut(asking.address, kept_of_address), networks.narrow, networks.middle, networks.wide,
      cut(without_controls(asking.user_agent), kept_of_user_agent), tx.now(),
      tx.now() + device_code_lifetime, std::int64_t(device_poll_interval.count()));
  return {.device_code = device_code, .user_code = in_halves(user_code)};
}

std::optional<DeviceRequest> find_device_request(db::Tx& tx, const std::string& user_code,
                                                 const std::string& data_key) {
  const std::string code = typed(user_code);
  if (code.empty()) return std::nullopt;
  auto rows = tx.query(
      R"(
      SELECT app_id, scopes, address, user_agent, created_at
      FROM device_codes
      WHERE user_code_hash = $1 AND expires_at > $2 AND grant_id IS NULL AND denied_at IS NULL)",
      user_code_hash(code, data_key), tx.now());
  if (!rows.next()) return std::nullopt;
  const auto app = apps::find(tx, rows.text("app_id"));
  if (!app || app->suspended) return std::nullopt;
  return DeviceRequest{.user_code = in_halves(code),
                       .app = *app,
                       .scopes = stored_scopes(rows.text("scopes")).cut_to(app->approved_scopes),
                       .address = rows.text("address"),
                       .user_agent = rows.text("user_agent"),
                       .asked_at = rows.instant("created_at")};
}

bool decide_device_request(db::Tx& tx, const accounts::User& user, const std::string& user_code,
                           DeviceDecision decision, const std::string& data_key) {
  const auto request = find_device_request(tx, user_code, data_key);
  if (!request) return false;
  const std::string hash = user_code_hash(typed(user_code), data_key);
  // The consent begins now and not when the device polls, so that the person sees it at once, and
  // a device that is disconnected before it polls gets nothing.
  if (decision == DeviceDecision::allow)
    tx.require_change(R"(
        UPDATE device_codes
        SET grant_id = $2
        WHERE user_code_hash = $1 AND grant_id IS NULL AND denied_at IS NULL)",
                      hash, consent(tx, request->app.id, user.id, request->scopes));
  else
    tx.require_change(R"(
        UPDATE device_codes
        SET denied_at = $2
        WHERE user_code_hash = $1 AND grant_id IS NULL AND denied_at IS NULL)",
                      hash, tx.now());
  return true;
}

namespace {

// Records a poll of a request that nobody has decided yet.
DeviceRefusal poll(db::Tx& tx, const std::string& hash, const db::Query& row) {
  const auto polled = row.instant_or_null("polled_at");
  const Duration interval(row.integer("poll_interval"));
  const bool is_early = polled && tx.now() - *polled < interval;
  tx.require_change(R"(
      UPDATE device_codes
      SET polled_at = $2, poll_interval = $3
      WHERE device_code_hash = $1 AND grant_id IS NULL AND denied_at IS NULL
        AND polled_at IS NOT DISTINCT FROM $4)",
                    hash, tx.now(),
                    std::int64_t((is_early ? interval + slow_down_by : interval).count()), polled);
  return is_early ? DeviceRefusal::slow_down : DeviceRefusal::authorization_pending;
}

// Returns the user of a consent that can still be used; empty if it can't.
std::string user_of_grant(db::Tx& tx, const std::string& grant_id) {
  auto rows = tx.query(
      R"(
      SELECT g.user_id
      FROM grants g
      JOIN users u ON u.id = g.user_id
      WHERE g.id = $1 AND g.revoked_at IS NULL AND u.suspended_at IS NULL)",
      grant_id);
  return rows.next() ? rows.text("user_id") : "";
}

}  // namespace

std::expected<Tokens, DeviceRefusal> exchange_device_code(db::Tx& tx, const apps::App& client,
                                                          const std::string& device_code,
                                                          const Policy& policy) {
  const std::string hash = token_hash(device_code);
  auto rows = tx.query(
      R"(
      SELECT app_id, scopes, expires_at, poll_interval, polled_at, grant_id, denied_at
      FROM device_codes
      WHERE device_code_hash = $1)",
      hash);
  if (!rows.next() || rows.text("app_id") != client.id)
    throw with_event(
        Error(Code::invalid_grant, "the device code is unknown or was used"),
        {.kind = SecurityKind::token_rejected, .reason = "unknown", .token_kind = "device_code"});
  const auto finish = [&](DeviceRefusal refusal) {
    remove(tx, hash);
    return std::unexpected(refusal);
  };
  if (rows.instant("expires_at") <= tx.now()) return finish(DeviceRefusal::expired_token);
  if (!rows.null("denied_at") || client.suspended) return finish(DeviceRefusal::access_denied);
  const auto grant_id = rows.text_or_null("grant_id");
  if (!grant_id) return std::unexpected(poll(tx, hash, rows));
  const std::string user_id = user_of_grant(tx, *grant_id);
  const ScopeSet consented = stored_scopes(rows.text("scopes"));
  const ScopeSet scopes = usable(consented, client.approved_scopes, client.built_in);
  if (user_id.empty() || scopes.empty()) return finish(DeviceRefusal::access_denied);
  tx.require_change(R"(
      DELETE FROM device_codes
      WHERE device_code_hash = $1 AND grant_id = $2 AND denied_at IS NULL)",
                    hash, *grant_id);
  const Family family = open_family(tx, *grant_id, consented, policy.family_lifetime);
  Tokens tokens = add_tokens(tx, family, scopes, user_id);
  tokens.first_party = client.built_in;
  return tokens;
}

}  // namespace berth::oauth
