#pragma once

#include <nlohmann/json.hpp>

#include "controller/domain/social/chat.h"

namespace berth::api {

inline nlohmann::json encode_message(const chat::Message& message) {
  return {{"id", message.id},
          {"channel_id", message.channel_id},
          {"sender_id", message.sender_id},
          {"sender_username", message.sender_username},
          {"filtered_body", message.filtered_body},
          {"sent_at", to_iso8601(message.sent_at)}};
}

}  // namespace berth::api
