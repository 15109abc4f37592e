#pragma once

#include "api/gate/call.h"

// Chat: channels, messages, their stream, and moderation.
namespace berth::api {

Reply list_channels(db::Tx& tx, const Call& call, const Services& services);
Reply open_channel(db::Tx& tx, const Call& call, const Services& services);
Reply join_channel(db::Tx& tx, const Call& call, const Services& services);
Reply leave_channel(db::Tx& tx, const Call& call, const Services& services);
Reply list_messages(db::Tx& tx, const Call& call, const Services& services);
Reply send_message(db::Tx& tx, const Call& call, const Services& services);
Reply follow_channel(const Call& call, const Services& services);
Reply chat_words(db::Tx& tx, const Call& call, const Services& services);
Reply set_chat_words(db::Tx& tx, const Call& call, const Services& services);
Reply delete_message(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
