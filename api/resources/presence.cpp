// Handlers of presence: which users are online, and which users are at a table (users who play
// together in an app).
#include "controller/domain/social/presence.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/social/blocks.h"

namespace berth::api {
namespace {

constexpr size_t max_table_id_bytes = 128;

const char* status_name(bool online) { return online ? "online" : "offline"; }

Reply encode(const presence::Entry& entry) {
  return {.body = enveloped("presence", {{"status", status_name(entry.online)},
                                         {"last_seen", to_iso8601(entry.last_seen)},
                                         {"current_game", or_null(entry.place.current_game)},
                                         {"lobby", or_null(entry.place.lobby)}})};
}

json encode(const presence::AtTable& seat) {
  return {{"user_id", seat.user_id},
          {"status", status_name(seat.online)},
          {"last_seen", to_iso8601(seat.last_seen)}};
}

presence::Going going(const json& body) {
  return body.value("status", "online") == "offline" ? presence::Going::leaves
                                                     : presence::Going::stays;
}

const std::string& table_id(const Call& call) {
  const std::string& id = call.id("table_id");
  if (id.size() > max_table_id_bytes) throw Error(Code::not_found, "there is no such table");
  return id;
}

Reply set_presence(db::Tx& tx, const Call& call, const Services& services) {
  services.memory.presence->set(call.user->id,
                                {.current_game = text_or_nothing(call.body, "current_game"),
                                 .lobby = text_or_nothing(call.body, "lobby")},
                                going(call.body), tx.now());
  return encode(services.memory.presence->of(tx, call.user->id));
}

Reply own_presence(db::Tx& tx, const Call& call, const Services& services) {
  return encode(services.memory.presence->of(tx, call.user->id));
}

Reply user_presence(db::Tx& tx, const Call& call, const Services& services) {
  blocks::require_visible(tx, call.user->id, call.id("user_id"));
  return encode(services.memory.presence->of(tx, call.id("user_id")));
}

Reply set_table_presence(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = enveloped("entry", encode(services.memory.presence->sit(
                                         tx, table_id(call), call.user->id, going(call.body))))};
}

Reply table_presence(db::Tx& tx, const Call& call, const Services& services) {
  const auto hidden = blocks::around(tx, call.user->id);
  auto seats = services.memory.presence->at_table(tx, table_id(call));
  std::erase_if(seats, [&](const auto& seat) { return hidden.contains(seat.user_id); });
  return {.body = encode_page("entries", page_of(std::move(seats), call.page()),
                              [](const presence::AtTable& seat) { return encode(seat); })};
}

constexpr Rate heartbeats = per_minute(120);  // one every few seconds

constexpr Access user_or_app = with_pages_of_apps(jwt_or_play_session());

constexpr Placeholder table_in_path = {"TableId", "The name of the table, which apps choose.",
                                       "table-1", Kind::text};

constexpr Route rows[] = {
    {.request = "PUT /api/social/presence",
     .name = "setPresence",
     .tag = "Social",
     .summary = "Report that the user is online, and where; to be repeated at least once a minute",
     .text = "Makes the user online for 60 seconds, in this game and lobby, or offline at once.",
     .guards = {user_or_app, heartbeats},
     .stores = Stores::people,
     .body = {"PresenceUpdate", Body::Form::optional_json},
     .answer = {200, "PresenceEnvelope"},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{set_presence}},
    {.request = "GET /api/social/presence",
     .name = "ownPresence",
     .tag = "Social",
     .summary = "Show the caller's presence as others see it",
     .text = "Returns whether others see the caller online.",
     .guards = {user_or_app, account_reads},
     .answer = {200, "PresenceEnvelope"},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{own_presence}},
    {.request = "GET /api/social/presence/{user_id}",
     .name = "userPresence",
     .tag = "Social",
     .summary = "Show whether a user is online, and where",
     .text = "Returns whether a user is online, and in which game. Users with a block between them "
             "and the caller aren't found.",
     .guards = {user_or_app, account_reads},
     .in_path = {&user_in_path},
     .answer = {200, "PresenceEnvelope"},
     .errors = {Code::user_not_found},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{user_presence}},
    {.request = "PUT /api/social/tables/{table_id}/presence",
     .name = "setTablePresence",
     .tag = "Social",
     .summary = "Report that the user is at a table; to be repeated at least once a minute",
     .text = "Makes the user present at the table for 60 seconds, or absent at once. Apps name the "
             "tables.",
     .guards = {user_or_app, heartbeats},
     .stores = Stores::people,
     .in_path = {&table_in_path},
     .body = {"TablePresenceUpdate", Body::Form::optional_json},
     .answer = {200, "TablePresenceEnvelope"},
     .errors = {Code::not_found},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{set_table_presence}},
    {.request = "GET /api/social/tables/{table_id}/presence",
     .name = "tablePresence",
     .tag = "Social",
     .summary = "List who is at a table, or was in the last ten minutes",
     .text = "Lists the users at a table, those who arrived first first.",
     .guards = {user_or_app, account_reads},
     .in_path = {&table_in_path},
     .paged = true,
     .answer = {200, "TablePresenceList"},
     .errors = {Code::not_found},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{table_presence}},
};

}  // namespace

std::span<const Route> presence_routes() { return rows; }

}  // namespace berth::api
