// Blocks.
#include "api/resources/blocks/handlers.h"

#include "api/gate/encode.h"
#include "controller/domain/social/blocks.h"

namespace berth::api {
namespace {

json encode(const blocks::Block& block) {
  return {{"user_id", block.user_id},
          {"username", block.username},
          {"blocked_at", to_iso8601(block.blocked_at)}};
}

}  // namespace

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
  return message_reply("the user isn't blocked any more");
}

}  // namespace berth::api
