#include "api/resources/blocks/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Access user_or_app = with_pages_of_apps(jwt_or_play_session());

constexpr Route rows[] = {
    {.request = "GET /api/social/blocks",
     .name = "listBlocks",
     .tag = "Social",
     .summary = "List the users whom the caller has blocked",
     .text = "Lists the users whom the caller has blocked, newest first.",
     .guards = {user_or_app, account_reads},
     .paged = true,
     .answer = {200, "BlockList"},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{list_blocks}},
    {.request = "POST /api/social/blocks",
     .name = "blockUser",
     .tag = "Social",
     .summary = "Block a user: neither of the two can find, befriend, read or pay the other",
     .text = "Blocks a user. A friendship or a request between the two ends. Blocking again "
             "changes nothing.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::people,
     .body = {"BlockRequest"},
     .answer = {201, "BlockEnvelope"},
     .errors = {Code::user_not_found},
     .idempotency = Idempotency::kept,
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{block_user}},
    {.request = "DELETE /api/social/blocks/{user_id}",
     .name = "unblockUser",
     .tag = "Social",
     .summary = "Unblock a user; what the block ended isn't restored",
     .text = "Ends a block. The friendship that it ended isn't restored.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::nothing,
     .in_path = {&user_in_path},
     .answer = {200, "Message"},
     .errors = {Code::user_not_found},
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{unblock_user}},
};

}  // namespace

std::span<const Route> blocks_routes() { return rows; }

}  // namespace berth::api
