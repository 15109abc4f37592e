#include "api/resources/avatars/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Route rows[] = {
    {.request = "GET /api/avatars/me",
     .name = "myAvatar",
     .tag = "Avatars",
     .summary = "Show the caller's avatar, which is created if there is none",
     .text = "Returns the caller's avatar. An empty one is created at the first call.",
     .guards = {with_pages_of_apps(jwt_or_play_session()), account_reads},
     .stores = Stores::account,
     .answer = {200, "AvatarEnvelope"},
     .served_by = {.page = "/console/extras"},
     .run = FreeHandler{my_avatar}},
    {.request = "PUT /api/avatars/me",
     .name = "changeAvatar",
     .tag = "Avatars",
     .summary = "Change the avatar's name and appearance; fields that aren't sent stay",
     .text = "Changes the name or the appearance that all apps show. The appearance is replaced as "
             "a whole.",
     .guards = {with_pages_of_apps(jwt_or_play_session()), account_writes},
     .stores = Stores::account,
     .body = {"AvatarUpdate"},
     .answer = {200, "AvatarEnvelope"},
     .served_by = {.page = "/console/extras"},
     .run = WriteHandler{change_avatar}},
    {.request = "GET /api/avatars/{user_id}",
     .name = "avatarOf",
     .tag = "Avatars",
     .summary = "Show another user's avatar, which is created if there is none",
     .text = "Returns the avatar of a user. Users with a block between them and the caller aren't "
             "found.",
     .guards = {with_pages_of_apps(jwt_or_play_session()), account_reads},
     .stores = Stores::account,
     .in_path = {&user_in_path},
     .answer = {200, "AvatarEnvelope"},
     .errors = {Code::user_not_found},
     .served_by = {.neither = played_in_games},
     .run = FreeHandler{avatar_of}},
    {.request = "POST /api/avatars/me/equip",
     .name = "equipAvatar",
     .tag = "Avatars",
     .summary = "Put on these items and take off all others",
     .text = "Makes the avatar wear exactly the listed items, which the user must own, at most one "
             "of each category.",
     .guards = {with_pages_of_apps(jwt_or_play_session()), account_writes},
     .stores = Stores::account,
     .body = {"EquipRequest"},
     .answer = {200, "AvatarEnvelope"},
     .served_by = {.page = "/console/extras"},
     .run = WriteHandler{equip_avatar}},
};

}  // namespace

std::span<const Route> avatars_routes() { return rows; }

}  // namespace berth::api
