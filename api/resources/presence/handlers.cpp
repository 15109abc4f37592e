// Presence.
#include "api/resources/presence/handlers.h"

#include "api/gate/encode.h"
#include "controller/domain/social/blocks.h"
#include "controller/domain/social/presence.h"

namespace berth::api {
namespace {

constexpr size_t max_table_id_bytes = 128;

const char* status_name(bool online) { return online ? "online" : "offline"; }

Reply encode(const presence::Entry& entry) {
  return {.body = enveloped("presence", {{"status", status_name(entry.online)},
                                         {"last_seen", to_iso8601(entry.last_seen)},
                                         {"current_game", or_null(entry.place.current_game)},
                                         {"lobby", or_null(entry.place.lobby)}})};
}

json encode(const presence::AtTable& seat) {
  return {{"user_id", seat.user_id},
          {"status", status_name(seat.online)},
          {"last_seen", to_iso8601(seat.last_seen)}};
}

presence::Going going(const json& body) {
  return body.value("status", "online") == "offline" ? presence::Going::leaves
                                                     : presence::Going::stays;
}

const std::string& table_id(const Call& call) {
  const std::string& id = call.id("table_id");
  if (id.size() > max_table_id_bytes) throw Error(Code::not_found, "there is no such table");
  return id;
}

}  // namespace

Reply set_presence(db::Tx& tx, const Call& call, const Services& services) {
  services.presence->set(call.user->id,
                         {.current_game = text_or_nothing(call.body, "current_game"),
                          .lobby = text_or_nothing(call.body, "lobby")},
                         going(call.body), tx.now());
  return encode(services.presence->of(tx, call.user->id));
}

Reply own_presence(db::Tx& tx, const Call& call, const Services& services) {
  return encode(services.presence->of(tx, call.user->id));
}

Reply user_presence(db::Tx& tx, const Call& call, const Services& services) {
  blocks::require_visible(tx, call.user->id, call.id("user_id"));
  return encode(services.presence->of(tx, call.id("user_id")));
}

Reply set_table_presence(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = enveloped("entry", encode(services.presence->sit(
                                         tx, table_id(call), call.user->id, going(call.body))))};
}

Reply table_presence(db::Tx& tx, const Call& call, const Services& services) {
  const auto hidden = blocks::around(tx, call.user->id);
  auto seats = services.presence->at_table(tx, table_id(call));
  std::erase_if(seats, [&](const auto& seat) { return hidden.contains(seat.user_id); });
  return {.body = encode_page("entries", page_of(std::move(seats), call.page()),
                              [](const presence::AtTable& seat) { return encode(seat); })};
}

}  // namespace berth::api
