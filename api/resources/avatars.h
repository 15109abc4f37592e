#pragma once

#include "api/gate/encode.h"
#include "controller/domain/items/avatars.h"

namespace berth::api {

inline nlohmann::json encode_avatar(const avatars::Avatar& avatar) {
  return {{"id", avatar.id},
          {"user_id", avatar.user_id},
          {"display_name", or_null(avatar.display_name)},
          {"appearance", nlohmann::json::parse(avatar.appearance)},
          {"equipped_cosmetics", avatar.equipped}};
}

}  // namespace berth::api
