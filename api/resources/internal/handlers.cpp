// berthd itself, for the platform's administrators (x-internal-secret).
#include "api/resources/internal/handlers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "controller/base/log.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/clock_advance.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::api {
namespace {

Reply encode(const Clock& clock) {
  return {.body = {{"now", to_iso8601(clock.now())},
                   {"ahead_seconds", double(clock.ahead().count()) / 1000.0}}};
}

audit::Filter decode_filter(const Call& call) {
  return {.actor = call.query("actor"),
          .action = call.query("action"),
          .target = call.query("target"),
          .from = instant_query(call, "from"),
          .until = end_query(call, "to")};
}

}  // namespace

Reply audit_log(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("entries", audit::list(tx, decode_filter(call), call.page()),
                              [](const auto& entry) {
                                return json{{"id", entry.id},
                                            {"actor", entry.actor},
                                            {"action", entry.action},
                                            {"target", entry.target},
                                            {"details", json::parse(entry.details)},
                                            {"inserted_at", to_iso8601(entry.at)}};
                              })};
}

// Writes the mails with which people reset their passwords before it lists the outbox, although a
// loop would write them a moment later. A caller who has just asked for such a mail therefore finds
// it.
Reply outbox(const Call&, const Services& services) {
  services.db.write([&](db::Tx& tx) {
    accounts::answer_reset_requests(tx, services.keys, services.base_url, outbox::max_listed);
  });
  json messages = json::array();
  const auto mails =
      services.db.read([&](db::Tx& tx) { return outbox::list(tx, services.keys.data); });
  for (const outbox::Mail& mail : mails)
    messages.push_back({{"to", mail.to},
                        {"subject", mail.subject},
                        {"body", mail.body},
                        {"token", mail.token},
                        {"sent_at", or_null(mail.sent_at)},
                        {"attempts", mail.attempts},
                        {"failed_at", or_null(mail.failed_at)},
                        {"error", or_null(mail.error)}});
  return {.body = {{"messages", std::move(messages)}}};
}

Reply clock_state(const Call&, const Services& services) { return encode(services.clock); }

Reply advance_clock(const Call& call, const Services& services) {
  const std::chrono::seconds by(call.body.at("advance_seconds").get<std::int64_t>());
  // Stored first: a clock that went back at the next start would bring back what had expired.
  const Duration ahead =
      services.db.write([&](db::Tx& tx) { return clock_advance::store(tx, by); });
  clock_advance::catch_up(services.clock, ahead);
  return encode(services.clock);
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
          .headers = {{"X-Archive-Size", std::to_string(archive.bytes)}}};
}

}  // namespace berth::api
