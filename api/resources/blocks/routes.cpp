#include "api/resources/routes.h"

#include "api/resources/blocks/handlers.h"

namespace berth::api {

std::vector<Route> blocks_routes() {
  const Access user_or_app = jwt_or_play_session();
  return {
      {.method = "GET",
       .path = "/api/social/blocks",
       .name = "listBlocks",
       .tag = "Social",
       .summary = "List the users whom the caller has blocked",
       .access = user_or_app,
       .rate = account_reads,
       .query = paged,
       .answer = {200, "BlockList"},
       .run = ReadHandler{list_blocks}},
      {.method = "POST",
       .path = "/api/social/blocks",
       .name = "blockUser",
       .tag = "Social",
       .summary = "Block a user: neither of the two can find, befriend, read or pay the other",
       .access = user_or_app,
       .rate = account_writes,
       .stores = Stores::people,
       .body_kind = Body::only_json,
       .body = "BlockRequest",
       .answer = {201, "BlockEnvelope"},
       .errors = {Code::user_not_found},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{block_user}},
      {.method = "DELETE",
       .path = "/api/social/blocks/{user_id}",
       .name = "unblockUser",
       .tag = "Social",
       .summary = "Unblock a user; what the block ended isn't restored",
       .access = user_or_app,
       .rate = account_writes,
       .stores = Stores::nothing,
       .answer = {200, "Message"},
       .errors = {Code::user_not_found},
       .run = WriteHandler{unblock_user}},
  };
}

}  // namespace berth::api
