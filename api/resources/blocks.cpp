// Handlers of blocks: two users of whom one has blocked the other can't see or reach each other.
#include "controller/domain/social/blocks.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

json encode(const blocks::Block& block) {
  return {{"user_id", block.user_id},
          {"username", block.username},
          {"blocked_at", to_iso8601(block.blocked_at)}};
}

Reply list_blocks(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("blocks", blocks::list(tx, call.user->id, call.page()),
                              [](const blocks::Block& block) { return encode(block); })};
}

Reply block_user(db::Tx& tx, const Call& call, const Services&) {
  return {.status = 201,
          .body = {{"block", encode(blocks::add(tx, call.user->id, call.body.at("user_id")))}}};
}

Reply unblock_user(db::Tx& tx, const Call& call, const Services&) {
  blocks::remove(tx, call.user->id, call.id("user_id"));
  return message_reply("the user is no longer blocked");
}

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
