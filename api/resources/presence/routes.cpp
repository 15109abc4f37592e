#include "api/resources/presence/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

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
