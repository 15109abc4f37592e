// Handlers of berthd itself, for administrators: the outbox, the clock and backups.
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
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

constexpr Route rows[] = {
    {.request = "GET /api/internal/outbox",
     .name = "outbox",
     .tag = "Internal",
     .summary = "List mails that were or will be sent (development only)",
     .text = "Lists the newest 200 mails with their tokens, so that tests need no mailbox. It "
             "exists in development only.",
     .guards = admins,
     .answer = {200, "Outbox"},
     .availability = Availability::development_only,
     .served_by = {"berth admin outbox"},
     .run = FreeHandler{outbox}},
    {.request = "GET /api/internal/clock",
     .name = "clock",
     .tag = "Internal",
     .summary = "Show berthd's clock (development only)",
     .text = "Returns the time that berthd goes by. It exists in development only.",
     .guards = every_admin,
     .answer = {200, "ClockState"},
     .availability = Availability::development_only,
     .served_by = {"berth admin clock"},
     .run = FreeHandler{clock_state}},
    {.request = "POST /api/internal/clock",
     .name = "advanceClock",
     .tag = "Internal",
     .summary = "Move berthd's clock ahead (development only)",
     .text = "Moves the clock ahead, so that renewals and expiry happen now. It can't be moved "
             "back, and exists in development only.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"AdvanceRequest"},
     .answer = {200, "ClockState"},
     .availability = Availability::development_only,
     .served_by = {"berth admin clock"},
     .run = FreeHandler{advance_clock}},
    {.request = "POST /api/internal/backup",
     .name = "backup",
     .tag = "Internal",
     .summary = "Back up the database and the keys, encrypted",
     .text = "Returns the chunks of an archive that is encrypted with the key. `berthd backup` "
             "writes such archives, and `berthd restore` restores them.",
     .guards = {internal_secret(), internal_calls, Shape::nested_but_access},
     .stores = Stores::administration,
     .body = {"BackupRequest"},
     .answer = {.schema = "BackupArchive",
                .content_type = "application/octet-stream",
                .header = "X-Archive-Size"},
     .errors = {Code::unavailable},
     .served_by =
         {.neither = "`berthd backup` calls it, on the machine of the berthd whose data it saves."},
     .run = FreeHandler{backup}},
};

}  // namespace

std::span<const Route> internal_routes() { return rows; }

}  // namespace berth::api
