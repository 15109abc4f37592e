// The audit log: for a person what they did, for an app what was done to it, for admins all of it;
// its chain, and its entries for a SIEM.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>

#include "api/gate/authenticate.h"
#include "api/gate/encode.h"
#include "api/gate/event_stream.h"
#include "api/resources/shared.h"
#include "api/resources/text_forms.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/audit_chain.h"

namespace berth::api {
namespace {

// How many entries are read and kept in memory at once; those that match are sent.
constexpr int entries_of_step = 500;

// Who reads. An operator learns who did something to their app, but not which admin, nor from where
// its users came.
enum class Reader { person, app_admin, platform_admin };

bool is_of_platform(const audit::Entry& entry) {
  const std::string kind = entry.token_kind.value_or("");
  return kind.starts_with("admin_") || kind == "internal_secret";
}

bool is_hidden(Reader reader, const audit::Entry& entry) {
  return reader == Reader::app_admin && is_of_platform(entry);
}

// What was done from a member's own programs. What an app's own tokens and clients did may have
// come from the browsers of its users.
bool is_of_member(const audit::Entry& entry) {
  constexpr std::array kinds =
      std::to_array<std::string_view>({"session", "console", "client_token", "personal_token"});
  return std::ranges::find(kinds, entry.token_kind.value_or("")) != kinds.end();
}

// The username of the person behind an actor; nothing for secrets and deleted accounts. A page has
// few different ones, each of which is looked up once.
class ActorNames {
 public:
  std::optional<std::string> find(db::Tx& tx, const std::string& actor) {
    if (!actor.starts_with(actor_of_console)) return std::nullopt;
    const auto [known, is_new] = names_.try_emplace(actor);
    if (is_new)
      if (const auto user = accounts::find(tx, actor.substr(actor_of_console.size())))
        known->second = user->username;
    return known->second;
  }

 private:
  std::map<std::string, std::optional<std::string>> names_;
};

json encode(db::Tx& tx, const audit::Entry& entry, Reader reader, ActorNames& names) {
  json object = {{"id", entry.id},
                 {"number", or_null(entry.number)},
                 {"actor", entry.actor},
                 {"actor_name", or_null(names.find(tx, entry.actor))},
                 {"action", entry.action},
                 {"operation", text_or_null(entry.operation)},
                 {"target_kind", or_null(entry.target_kind)},
                 {"target", entry.target},
                 {"app_id", or_null(entry.app_id)},
                 {"user_id", or_null(entry.user_id)},
                 {"token_kind", or_null(entry.token_kind)},
                 {"token_id", or_null(entry.token_id)},
                 {"network", or_null(entry.network)},
                 {"request_id", or_null(entry.request_id)},
                 {"details", json::parse(entry.details)},
                 {"inserted_at", to_iso8601(entry.at)}};
  if (is_hidden(reader, entry)) {
    object["actor"] = "platform";
    for (const char* field : {"actor_name", "user_id", "token_id", "network", "request_id"})
      object[field] = nullptr;
    object["details"] = json::object();
  }
  if (reader == Reader::app_admin && !is_of_member(entry)) object["network"] = nullptr;
  return object;
}

constexpr std::string_view csv_fields[] = {"id",         "number",  "inserted_at", "actor",
                                           "actor_name", "action",  "operation",   "target_kind",
                                           "target",     "app_id",  "user_id",     "token_kind",
                                           "token_id",   "network", "request_id",  "details"};

std::string csv_head() {
  std::string line;
  for (const std::string_view field : csv_fields)
    line.append(line.empty() ? "" : ",").append(field);
  return line + "\r\n";
}

std::string csv_line(const json& entry) {
  std::string line;
  for (const std::string_view field : csv_fields) {
    const json& value = entry.at(std::string(field));
    if (field != csv_fields[0]) line += ',';
    if (value.is_string())
      line += csv_text(value.get<std::string>());
    else if (!value.is_null())
      line += value.is_number() ? value.dump() : csv_text(dump(value));
  }
  return line + "\r\n";
}

// Sends entries part by part, as fast as the caller takes them. The caller's token, secret and role
// are looked at again and again; once they don't suffice, the answer is cut off.
class ExportStream {
 public:
  // Appends the next part to the text. Returns whether it was the last one.
  using Part = std::function<bool(db::Tx& tx, std::string& text)>;

  ExportStream(const Call& call, const Services& services, Part part)
      : services_(services),
        part_(std::move(part)),
        bearer_(call, services),
        permit_(services.memory.events->admit_export(bearer_.holder())) {}

  Next step(const Sink& sink) {
    if (!bearer_.still_good()) return Next::break_off;
    std::string text;
    const bool is_last = services_.db.read([&](db::Tx& tx) { return part_(tx, text); });
    if (!text.empty()) sink(text);
    return is_last ? Next::end : Next::more;
  }

 private:
  const Services& services_;
  const Part part_;
  BearerCheck bearer_;
  const std::unique_ptr<EventHub::Permit> permit_;
};

Reply export_of(const Call& call, const Services& services, ExportStream::Part part) {
  const auto stream = std::make_shared<ExportStream>(call, services, std::move(part));
  return {.stream = [stream](const Sink& sink) { return stream->step(sink); }};
}

// All entries that match, newest first.
ExportStream::Part matching(const audit::Filter& filter, Reader reader, TextForm form) {
  return [=, before = std::string()](db::Tx& tx, std::string& text) mutable {
    if (before.empty() && form == TextForm::csv) text = csv_head();
    ActorNames names;
    const audit::Part part = audit::read(tx, filter, before, entries_of_step);
    for (const audit::Entry& entry : part.entries) {
      const json object = encode(tx, entry, reader, names);
      text += form == TextForm::csv ? csv_line(object) : dump(object) + "\n";
    }
    before = part.last;
    return part.is_end;
  };
}

// An empty parameter is none: the entries without a target are very many.
std::optional<std::string> named(const Call& call, std::string_view parameter) {
  auto text = call.query(parameter);
  return text && text->empty() ? std::nullopt : text;
}

// An address stands for its network, which is what the entries have.
std::optional<std::string> network_in(const Call& call) {
  const auto text = named(call, "network");
  return text ? std::optional(accounts::network_of(*text)) : std::nullopt;
}

audit::Filter decode_filter(const Call& call) {
  return {.actor = named(call, "actor"),
          .action = named(call, "action"),
          .target = named(call, "target"),
          .user_id = named(call, "user_id"),
          .app_id = named(call, "app_id"),
          .network = network_in(call),
          .token_id = named(call, "token_id"),
          .from = instant_query(call, "from"),
          .until = end_query(call, "to")};
}

Reply answer(db::Tx& tx, const Call& call, const Services& services, const audit::Filter& filter,
             Reader reader) {
  const TextForm form = text_form(call);
  if (form == TextForm::object) {
    ActorNames names;
    return {.body = encode_page(
                "entries", audit::list(tx, filter, call.page()),
                [&](const audit::Entry& entry) { return encode(tx, entry, reader, names); })};
  }
  Reply reply = export_of(call, services, matching(filter, reader, form));
  reply.content_type = content_type_of(form);
  reply.headers = {{"Content-Disposition",
                    "attachment; filename=\"audit." + std::string(to_string(form)) + "\""}};
  return reply;
}

Reply all_entries(db::Tx& tx, const Call& call, const Services& services) {
  const audit::Filter filter = decode_filter(call);
  // It has no index of its own.
  if (filter.token_id && !filter.user_id && !filter.app_id && !filter.network)
    throw invalid_field("token_id", "needs user_id, app_id or network beside it");
  return answer(tx, call, services, filter, Reader::platform_admin);
}

Reply own_entries(db::Tx& tx, const Call& call, const Services& services) {
  audit::Filter filter = decode_filter(call);
  filter.actor = std::nullopt;
  filter.user_id = call.user->id;
  return answer(tx, call, services, filter, Reader::person);
}

// Only what the reader sees of an entry may be asked for: otherwise the filter would tell the rest.
Reply entries_of_app(db::Tx& tx, const Call& call, const Services& services) {
  audit::Filter filter = decode_filter(call);
  filter.actor = filter.user_id = filter.network = filter.token_id = std::nullopt;
  filter.app_id = call.id("app_id");
  return answer(tx, call, services, filter, Reader::app_admin);
}

// The entries behind a number in the order of their numbers, up to the newest one.
Reply stream_of_entries(db::Tx&, const Call& call, const Services& services) {
  const std::int64_t first = call.number("after").value_or(0);
  return export_of(call, services, [after = first](db::Tx& tx, std::string& text) mutable {
    ActorNames names;
    const auto links = audit::links(tx, after, entries_of_step);
    for (const audit::Link& link : links) {
      json object = encode(tx, link.entry, Reader::platform_admin, names);
      object["chain"] = link.chain;
      text += dump(object) + "\n";
      after = *link.entry.number;
    }
    return int(links.size()) < entries_of_step;
  });
}

Reply check_chain(db::Tx& tx, const Call& call, const Services&) {
  const audit::Check check = audit::check(tx, call.number("after").value_or(0));
  const audit::Head head = audit::head(tx);
  return {.body = {{"first", check.first},
                   {"last", check.last},
                   {"erased", check.erased},
                   {"violations", check.violations},
                   {"is_end", check.is_end},
                   {"head", {{"number", head.number}, {"chain", head.chain}}}}};
}

constexpr Param by_actor = {
    .name = "actor", .description = "Returns only what this actor did.", .example = "internal"};
constexpr Param by_action = {.name = "action",
                             .description = "Returns only actions of this kind.",
                             .example = "points.mint"};
constexpr Param by_target = {
    .name = "target", .description = "Returns only what was done to this.", .example = "treasury"};
constexpr Param by_user = {.name = "user_id",
                           .description = "Returns only what this person did.",
                           .example = "01936f5e-7c1a-7000-8000-000000000001",
                           .kind = Kind::uuid};
constexpr Param by_app = {.name = "app_id",
                          .description = "Returns only what is about this app.",
                          .example = "01936f5e-7c1a-7000-8000-000000000002",
                          .kind = Kind::uuid};
constexpr Param by_network = {
    .name = "network",
    .description =
        "Returns only what came from this network: an IPv4 address, or the /64 of an "
        "IPv6 address, of which any address may be named.",
    .example = "192.0.2.1"};
constexpr Param by_token = {
    .name = "token_id",
    .description = "Returns only what was done with this token: the `token_id` of an entry.",
    .example = "01936f5e-7c1a-7000-8000-000000000003"};
constexpr Param since = {.name = "from",
                         .description = "Returns only entries at or after this time (ISO 8601).",
                         .example = "2026-01-01T00:00:00Z",
                         .kind = Kind::time};
constexpr Param until = {.name = "to",
                         .description = "Returns only entries before this time (ISO 8601).",
                         .example = "2027-01-01T00:00:00Z",
                         .kind = Kind::time};
constexpr Param in_form = {
    .name = "format",
    .description =
        "json for a page; csv or jsonl for all entries that match, in lines. In CSV, a "
        "text that begins like a formula gets an apostrophe before it.",
    .example = "json",
    .limits = "{\"enum\": [\"json\", \"csv\", \"jsonl\"]}"};
constexpr Param after_number = {.name = "after",
                                .description =
                                    "The number of the last entry that the caller has; "
                                    "0 for all.",
                                .example = "0",
                                .kind = Kind::integer,
                                .least = 0,
                                .most = (std::int64_t(1) << 53) - 1};

constexpr Param query_of_all[] = {by_actor,   by_action, by_target, by_user, by_app,
                                  by_network, by_token,  since,     until,   in_form};
constexpr Param query_of_person[] = {by_action, by_target, by_app, by_network,
                                     by_token,  since,     until,  in_form};
constexpr Param query_of_app[] = {by_action, by_target, since, until, in_form};
constexpr Param after_query[] = {after_number};

constexpr Answer entries_answer = {
    .status = 200, .schema = "AuditLog", .or_texts = {"text/csv", "application/x-ndjson"}};

constexpr Route rows[] = {
    {.request = "GET /api/auth/audit",
     .name = "ownAudit",
     .tag = "Account",
     .summary = "List what one has done, with which token and from where",
     .text = "Lists what the user did, and what apps did for them, newest first: each login and "
             "each operation that has changed something, with the token and the network from which "
             "it came. Entries are kept for 400 days.",
     .guards = {person(), account_reads},
     .paged = true,
     .query = query_of_person,
     .answer = entries_answer,
     .errors = {Code::validation_failed},
     .served_by = {"berth audit", "/console/account"},
     .run = ReadHandler{own_entries}},
    {.request = "GET /api/oauth/my-apps/{app_id}/audit",
     .name = "appAudit",
     .tag = "OAuth",
     .summary = "List what was done to the app",
     .text = "Lists each operation that has changed something of the app, newest first, with who "
             "did it. What the platform's admins did has the actor `platform`. Entries are kept "
             "for 400 days.",
     .guards = {to_app_admins(person()), account_reads},
     .in_path = {&my_app_in_path},
     .paged = true,
     .query = query_of_app,
     .answer = entries_answer,
     .errors = {Code::app_not_found, Code::forbidden, Code::validation_failed},
     .served_by = {"berth apps audit", "/console/apps"},
     .run = ReadHandler{entries_of_app}},
    {.request = "GET /api/internal/audit",
     .name = "auditLog",
     .tag = "Internal",
     .summary = "List who did what",
     .text = "Lists each operation that has changed something, of users, apps and administrators, "
             "newest first, with who acted, on what, and from where. With several filters, entries "
             "have to match all of them.",
     .guards = every_admin,
     .paged = true,
     .query = query_of_all,
     .answer = entries_answer,
     .errors = {Code::validation_failed},
     .served_by = {"berth admin audit", "/console/admin"},
     .run = ReadHandler{all_entries}},
    {.request = "GET /api/internal/audit/stream",
     .name = "auditStream",
     .tag = "Internal",
     .summary = "Send the entries of the audit log behind a number, for a SIEM",
     .text = "Sends a line of JSON for each entry with a greater number, in the order of their "
             "numbers, up to the newest one. Numbers have no gaps, and whoever has read up to one "
             "misses nothing that comes later: a collector asks every few seconds for what is "
             "behind the last number that it has stored. An entry has a number about a second "
             "after the operation.",
     .guards = every_admin,
     .query = after_query,
     .answer = {.schema = "AuditLines", .content_type = "application/x-ndjson"},
     .errors = {Code::validation_failed},
     .served_by = {"berth admin audit"},
     .run = ReadHandler{stream_of_entries}},
    {.request = "GET /api/internal/audit/check",
     .name = "checkAudit",
     .tag = "Internal",
     .summary = "Say whether entries of the audit log were removed or changed",
     .text = "Computes the hashes of up to 5,000 entries anew. To check all of them, send `last` "
             "as `after` until `is_end` is true.",
     .guards = every_admin,
     .query = after_query,
     .answer = {200, "AuditCheck"},
     .errors = {Code::validation_failed},
     .readers = db::Readers::heavy,
     .served_by = {"berth admin audit"},
     .run = ReadHandler{check_chain}},
};

}  // namespace

std::span<const Route> audit_routes() { return rows; }

}  // namespace berth::api
