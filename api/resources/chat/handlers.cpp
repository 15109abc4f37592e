// Chat: channels, messages and moderation.
#include "api/resources/chat/handlers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/gate/next_link.h"
#include "api/resources/chat/encode.h"
#include "controller/domain/social/chat.h"

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

}  // namespace

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
  const auto words = services.chat_filter->at(tx);
  const chat::History history = chat::history(
      tx, call.user->id, call.id(), {.before = call.query("before", Kind::uuid),
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
  const auto words = services.chat_filter->at(tx);
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

}  // namespace berth::api
