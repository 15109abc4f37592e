// Chat: channels, messages, their stream, and moderation.
#include "controller/domain/social/chat.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/gate/next_link.h"
#include "api/resources/chat/chat_feed.h"
#include "api/resources/chat/encode.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

json encode(const chat::Channel& channel) {
  return {{"id", channel.id},
          {"type", channel.type},
          {"ref_id", or_null(channel.ref_id)},
          {"joined", channel.joined}};
}

Reply one(const chat::Channel& channel, int status = 200) {
  return {.status = status, .body = enveloped("channel", encode(channel))};
}

chat::ChannelQuery channel_query(const Call& call) {
  chat::ChannelQuery query = {.type = enum_query<chat::ChannelType>(call, "type")};
  if (const auto member = call.query("member")) {
    if (*member != "me") throw invalid_field("member", "must be me");
    query.only_joined = true;
  }
  return query;
}

Reply list_channels(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("channels",
                              chat::list(tx, call.user->id, channel_query(call), call.page()),
                              [](const chat::Channel& channel) { return encode(channel); })};
}

Reply open_channel(db::Tx& tx, const Call& call, const Services&) {
  return one(
      chat::open(tx, call.user->id, call.body.at("type"), text_or_nothing(call.body, "ref_id")),
      201);
}

Reply join_channel(db::Tx& tx, const Call& call, const Services&) {
  return one(chat::join(tx, call.user->id, call.id()));
}

Reply leave_channel(db::Tx& tx, const Call& call, const Services&) {
  return one(chat::leave(tx, call.user->id, call.id()));
}

Reply list_messages(db::Tx& tx, const Call& call, const Services& services) {
  const auto words = services.memory.chat_filter->at(tx);
  const chat::History history =
      chat::history(tx, call.user->id, call.id(),
                    {.before = call.query("before", Kind::uuid),
                     .limit = int(call.number("limit").value_or(chat::default_history))},
                    {.data_key = services.keys.data, .words = *words});
  json messages = json::array();
  for (const chat::Message& message : history.messages) messages.push_back(encode_message(message));
  Reply reply = {.body = {{"messages", std::move(messages)}, {"has_more", history.has_more}}};
  if (history.has_more && !history.messages.empty())
    if (auto link = next_link(call, services.base_url, "before", history.messages.front().id))
      reply.headers.emplace_back("Link", *std::move(link));
  return reply;
}

Reply send_message(db::Tx& tx, const Call& call, const Services& services) {
  const auto words = services.memory.chat_filter->at(tx);
  const chat::Message sent = chat::send(tx, call.user->id, call.id(), call.body.at("body"),
                                        {.data_key = services.keys.data, .words = *words});
  return {.status = 201, .body = enveloped("message", encode_message(sent))};
}

Reply chat_words(db::Tx& tx, const Call&, const Services&) {
  return {.body = {{"words", chat::words(tx)}}};
}

Reply set_chat_words(db::Tx& tx, const Call& call, const Services&) {
  chat::set_words(tx, call.body.at("words").get<std::vector<std::string>>(), call.admin);
  return {.body = {{"words", chat::words(tx)}}};
}

Reply delete_message(db::Tx& tx, const Call& call, const Services&) {
  chat::delete_message(tx, call.id(), call.admin);
  return message_reply("the message was deleted");
}

// Higher than the sender's own limit in domain/social/chat.h.
constexpr Rate messages = per_minute(150);

constexpr Param list_messages_query[] = {
    {.name = "before",
     .description = "The id of a message; only older ones are returned.",
     .example = "01936f5e-7c1a-7000-8000-00000000000c",
     .kind = Kind::uuid},
    {.name = "limit",
     .description = "How many messages to return, 1 to 100. The default is 50.",
     .example = "50",
     .kind = Kind::integer,
     .least = 1,
     .most = chat::max_history,
     .range_in_words = true}};

constexpr Access user_or_app = with_pages_of_apps(jwt_or_play_session());
constexpr Errors members_only = {Code::channel_not_found, Code::forbidden};

constexpr Param channel_params[] = {
    {.name = "type",
     .description = "The type of the channels: lobby or table. By default, both are returned.",
     .example = "lobby"},
    {.name = "member",
     .description = "If it is me, only channels that the user has joined are returned.",
     .example = "me"}};

constexpr Placeholder channel_in_path = {"ChannelId", "The id of the channel.",
                                         "01936f5e-7c1a-7000-8000-00000000000b"};
constexpr Placeholder message_in_path = {"MessageId", "The id of the message.",
                                         "01936f5e-7c1a-7000-8000-00000000000c"};

constexpr Route rows[] = {
    {.request = "GET /api/social/chat/channels",
     .name = "listChannels",
     .tag = "Chat",
     .summary = "List the chat channels",
     .text = "Lists the channels of lobbies and tables, newest first, and whether the caller has "
             "joined them.",
     .guards = {user_or_app, account_reads},
     .paged = true,
     .query = channel_params,
     .answer = {200, "ChatChannelList"},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{list_channels}},
    {.request = "POST /api/social/chat/channels",
     .name = "openChannel",
     .tag = "Chat",
     .summary = "Open the channel of a lobby or table; if there is none, it is created and joined",
     .text = "Returns the channel of this place. If there is none yet, it is created, and the "
             "caller joins it.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::people,
     .body = {"OpenChannelRequest"},
     .answer = {201, "ChatChannelEnvelope"},
     .errors = {Code::invalid_state},
     .idempotency = Idempotency::kept,
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{open_channel}},
    {.request = "POST /api/social/chat/channels/{id}/members/me",
     .name = "joinChannel",
     .tag = "Chat",
     .summary = "Join a channel; may be repeated",
     .text = "Makes the caller a member, who may read and write. Joining again changes nothing.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::people,
     .in_path = {&channel_in_path},
     .answer = {200, "ChatChannelEnvelope"},
     .errors = {Code::channel_not_found, Code::invalid_state},
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{join_channel}},
    {.request = "DELETE /api/social/chat/channels/{id}/members/me",
     .name = "leaveChannel",
     .tag = "Chat",
     .summary = "Leave a channel; may be repeated",
     .text = "Ends the membership. The caller's messages stay.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::nothing,
     .in_path = {&channel_in_path},
     .answer = {200, "ChatChannelEnvelope"},
     .errors = {Code::channel_not_found},
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{leave_channel}},
    {.request = "GET /api/social/chat/channels/{id}/messages",
     .name = "listMessages",
     .tag = "Chat",
     .summary = "List the newest messages, or those before a message",
     .text = "Returns messages oldest first, without those of users with a block between them and "
             "the caller. Only members may read.",
     .guards = {user_or_app, account_reads},
     .in_path = {&channel_in_path},
     .query = list_messages_query,
     .answer = {200, "ChatMessageList"},
     .errors = members_only,
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{list_messages}},
    {.request = "POST /api/social/chat/channels/{id}/messages",
     .name = "sendMessage",
     .tag = "Chat",
     .summary = "Send a message",
     .text = "Sends a text to the channel. What the platform filters is replaced by asterisks for "
             "everybody. Only members may write.",
     .guards = {user_or_app, messages},
     .stores = Stores::chat,
     .in_path = {&channel_in_path},
     .body = {"SendMessageRequest"},
     .answer = {201, "ChatMessageEnvelope"},
     .errors = members_only,
     .idempotency = Idempotency::kept,
     .unaudited = "The message says who wrote it and when.",
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{send_message}},
    {.request = "GET /api/social/chat/channels/{id}/events",
     .name = "followChannel",
     .tag = "Chat",
     .summary = "Follow new messages, or those since Last-Event-ID, as server-sent events",
     .text = "Sends each new message of the channel as it comes, until the token ends. Only "
             "members may read. A stream that broke is resumed with Last-Event-ID.",
     .guards = {user_or_app, account_reads},
     .in_path = {&channel_in_path},
     .answer = {200, "ChatEvents", "text/event-stream"},
     .errors = {Code::channel_not_found, Code::forbidden, Code::malformed_request},
     .served_by = {.neither = played_in_games},
     .run = FreeHandler{follow_channel}},
    {.request = "GET /api/internal/chat/words",
     .name = "chatWords",
     .tag = "Internal",
     .summary = "List the words that are filtered from the chat",
     .text = "Returns the filtered words as they were set.",
     .guards = every_admin,
     .answer = {200, "ChatWords"},
     .served_by = {"berth admin words list", "/console/admin"},
     .run = ReadHandler{chat_words}},
    {.request = "PUT /api/internal/chat/words",
     .name = "setChatWords",
     .tag = "Internal",
     .summary = "Replace the list of filtered words, which also applies to older messages",
     .text = "Replaces the whole list. It applies at once, also to messages that were sent before.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"ChatWords"},
     .answer = {200, "ChatWords"},
     .served_by = {"berth admin words add", "/console/admin"},
     .run = WriteHandler{set_chat_words}},
    {.request = "DELETE /api/internal/chat/messages/{id}",
     .name = "deleteMessage",
     .tag = "Internal",
     .summary = "Delete a message for good",
     .text = "Deletes the message. Streams send `deleted` with its id.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&message_in_path},
     .answer = {200, "Message"},
     .errors = {Code::message_not_found},
     .served_by = {"berth admin delete-message", "/console/admin"},
     .run = WriteHandler{delete_message}},
};

}  // namespace

std::span<const Route> chat_routes() { return rows; }

}  // namespace berth::api
