// Endpoints for the platform's administrators (x-internal-secret).
#include "api/resources/handlers.h"

#include "api/gate/encode.h"
#include "controller/base/log.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/ledger_audit.h"

namespace berth::api {
namespace {

ledger::Account decode_account(db::Tx& tx, const json& account) {
  const std::string kind = account.at("kind");
  if (kind == "treasury") return ledger::treasury();
  const auto id = text_or_nothing(account, "id");
  if (!id) throw invalid_field("account.id", "is required");
  if (kind == "user") {
    if (!accounts::find(tx, *id)) throw Error(Code::user_not_found, "there is no such user");
    return ledger::user_account(*id);
  }
  if (!apps::find(tx, *id)) throw Error(Code::app_not_found, "there is no such app");
  return ledger::app_account(*id);
}

Reply encode(const Clock& clock) {
  return {.body = {{"now", to_iso8601(clock.now())},
                   {"ahead_seconds", double(clock.ahead().count()) / 1000.0}}};
}

}  // namespace

Reply mint(db::Tx& tx, const Call& call, const Services&) {
  const ledger::Account account = decode_account(tx, call.body.at("account"));
  const std::int64_t amount = call.body.at("amount");
  const std::string reason = call.body.at("reason");
  const std::string transaction = ledger::mint(tx, account, amount, reason);
  audit::record(tx, call.admin, "points.mint", account.id(),
                json{{"amount", amount}, {"reason", reason}}.dump());
  return {.status = 201,
          .body = {{"transaction_id", transaction}, {"balance", ledger::balance(tx, account)}}};
}

Reply treasury(db::Tx& tx, const Call&, const Services&) {
  return {.body = {{"balance", ledger::balance(tx, ledger::treasury())},
                   {"minted", -ledger::balance(tx, ledger::issuance())}}};
}

Reply ledger_audit(db::Tx& tx, const Call&, const Services&) {
  bool ok = true;
  json checks = json::array();
  for (const ledger::Check& check : ledger::audit(tx)) {
    ok = ok && check.ok;
    checks.push_back({{"name", check.name}, {"ok", check.ok}, {"detail", check.detail}});
  }
  return {.body = {{"ok", ok}, {"checks", std::move(checks)}}};
}

Reply audit_log(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("entries", audit::list(tx, call.page()), [](const auto& entry) {
            return json{{"id", entry.id},
                        {"actor", entry.actor},
                        {"action", entry.action},
                        {"target", entry.target},
                        {"details", json::parse(entry.details)},
                        {"inserted_at", to_iso8601(entry.at)}};
          })};
}

Reply outbox(db::Tx& tx, const Call&, const Services& services) {
  json messages = json::array();
  for (const outbox::Mail& mail : outbox::list(tx, services.keys.data))
    messages.push_back({{"to", mail.to},
                        {"subject", mail.subject},
                        {"body", mail.body},
                        {"token", mail.token},
                        {"sent_at", or_null(mail.sent_at)},
                        {"attempts", mail.attempts},
                        {"failed_at", or_null(mail.failed_at)},
                        {"error", or_null(mail.error)}});
  return {.body = {{"messages", std::move(messages)}}, .headers = {{"Cache-Control", "no-store"}}};
}

Reply clock_state(const Call&, const Services& services) { return encode(services.clock); }

Reply advance_clock(const Call& call, const Services& services) {
  services.clock.advance(std::chrono::seconds(call.body.at("advance_seconds").get<std::int64_t>()));
  return encode(services.clock);
}

Reply list_orphans(const Call&, const Services& services) {
  return {.body = {{"deployments", services.orphans()}}};
}

Reply backup(const Call& call, const Services& services) {
  constexpr size_t key_bytes = 32;
  const auto key = parse_base64(call.body.at("key").get<std::string>());
  if (!key || key->size() != key_bytes) throw invalid_field("key", "must be 32 bytes in base64");
  // Recorded first, so that the archive contains the entry too.
  services.db.write([&](db::Tx& tx) { audit::record(tx, call.admin, "backup", "database"); });
  log::info("a backup was requested", {{"request_id", call.request_id}, {"actor", call.admin}});
  Backup archive = services.backup(*key);
  return {.stream = std::move(archive.stream),
          .headers = {{"Cache-Control", "no-store"},
                      {"X-Archive-Size", std::to_string(archive.bytes)}}};
}

}  // namespace berth::api
