#include "api/resources/routes.h"

#include "api/resources/avatars/handlers.h"

namespace berth::api {

std::vector<Route> avatars_routes() {
  return {
      {.method = "GET",
       .path = "/api/avatars/me",
       .name = "myAvatar",
       .tag = "Avatars",
       .summary = "Show the caller's avatar, which is created if there is none",
       .access = jwt_or_play_session(),
       .rate = account_reads,
       .stores = Stores::account,
       .answer = {200, "AvatarEnvelope"},
       .run = FreeHandler{my_avatar}},
      {.method = "PUT",
       .path = "/api/avatars/me",
       .name = "changeAvatar",
       .tag = "Avatars",
       .summary = "Change the avatar's name and appearance; fields that aren't sent stay",
       .access = jwt_or_play_session(),
       .rate = account_writes,
       .stores = Stores::account,
       .body_kind = Body::only_json,
       .body = "AvatarUpdate",
       .answer = {200, "AvatarEnvelope"},
       .run = WriteHandler{change_avatar}},
      {.method = "GET",
       .path = "/api/avatars/{user_id}",
       .name = "avatarOf",
       .tag = "Avatars",
       .summary = "Show another user's avatar, which is created if there is none",
       .access = jwt_or_play_session(),
       .rate = account_reads,
       .stores = Stores::account,
       .answer = {200, "AvatarEnvelope"},
       .errors = {Code::user_not_found},
       .run = FreeHandler{avatar_of}},
      {.method = "POST",
       .path = "/api/avatars/me/equip",
       .name = "equipAvatar",
       .tag = "Avatars",
       .summary = "Put on these items and take off all others",
       .access = jwt_or_play_session(),
       .rate = account_writes,
       .stores = Stores::account,
       .body_kind = Body::only_json,
       .body = "EquipRequest",
       .answer = {200, "AvatarEnvelope"},
       .run = WriteHandler{equip_avatar}},
  };
}

}  // namespace berth::api
