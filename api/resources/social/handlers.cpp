// Users, friends, blocks, presence.
#include "api/resources/handlers.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/encode_profile.h"
#include "api/resources/accounts/encode_user.h"
#include "api/resources/items/encode_avatar.h"
#include "controller/base/visible_text.h"
#include "controller/domain/social/blocks.h"
#include "controller/domain/social/friends.h"
#include "controller/domain/social/presence.h"
#include "controller/domain/social/user_search.h"

namespace berth::api {
namespace {

constexpr size_t max_table_id_bytes = 128;

Reply friendship(const friends::Friendship& friendship, int status = 200) {
  return {.status = status,
          .body = {{"friendship_id", friendship.id},
                   {"status", friends::to_string(friendship.status)}}};
}

json encode(const blocks::Block& block) {
  return {{"user_id", block.user_id},
          {"username", block.username},
          {"blocked_at", to_iso8601(block.blocked_at)}};
}

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

// A text that others see beside the user's name.
std::optional<std::string> line(const json& body, const char* field) {
  auto text = text_or_nothing(body, field);
  if (text && has_controls(*text, Lines::one))
    throw invalid_field(field, "must be a line without control characters");
  return text;
}

const std::string& table_id(const Call& call) {
  const std::string& id = call.id("table_id");
  if (id.size() > max_table_id_bytes) throw Error(Code::not_found, "there is no such table");
  return id;
}

// The user that the body names by id or by name; it must have exactly one of the two.
std::string asked_user(db::Tx& tx, const json& body) {
  const auto id = text_or_nothing(body, "user_id");
  const auto username = text_or_nothing(body, "username");
  if (id.has_value() == username.has_value())
    throw invalid_field("user_id", "is required, or username, but not both");
  if (id) return *id;
  const auto found = user_search::find(tx, *username);
  if (!found) throw Error(Code::user_not_found, "there is no such user");
  return found->id;
}

friends::Direction direction(const Call& call) {
  const std::string name = call.query("direction").value_or("incoming");
  if (name != "incoming" && name != "outgoing")
    throw invalid_field("direction", "must be incoming or outgoing");
  return name == "incoming" ? friends::Direction::incoming : friends::Direction::outgoing;
}

}  // namespace

json encode_profile(db::Tx& tx, const accounts::User& user,
                    const std::optional<std::string>& viewer_id) {
  const auto known = viewer_id ? friends::between(tx, *viewer_id, user.id) : std::nullopt;
  const auto avatar = avatars::find(tx, user.id);
  return {{"id", user.id},
          {"username", user.username},
          {"tier", user.tier},
          {"tier_emoji", tier_emoji(user.tier)},
          {"avatar", avatar ? encode_avatar(*avatar) : json(nullptr)},
          {"created_at", to_iso8601(user.created_at)},
          {"friendship_status", known ? json(friends::to_string(known->status)) : json(nullptr)},
          {"friendship_id", known ? json(known->id) : json(nullptr)}};
}

Reply search_users(db::Tx& tx, const Call& call, const Services&) {
  json users = json::array();
  for (const auto& found : user_search::search(tx, call.user->id, call.query("q").value_or("")))
    users.push_back({{"id", found.id}, {"username", found.username}});
  return {.body = {{"users", std::move(users)}}};
}

Reply get_user(db::Tx& tx, const Call& call, const Services&) {
  blocks::require_visible(tx, call.user->id, call.id());
  return {.body = {{"user", encode_profile(tx, *accounts::find(tx, call.id()), call.user->id)}}};
}

Reply list_friends(db::Tx& tx, const Call& call, const Services&) {
  // An app that acts for the user isn't told the email addresses of their friends.
  const bool to_user_himself = !call.play;
  return {.body = encode_page("friends", friends::list(tx, call.user->id, call.page()),
                              [&](const friends::Friend& other) {
                                return json{
                                    {"id", other.user_id},
                                    {"username", other.username},
                                    {"email", to_user_himself ? json(other.email) : json(nullptr)}};
                              })};
}

Reply request_friend(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::ask(tx, call.user->id, asked_user(tx, call.body)), 201);
}

Reply list_friend_requests(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page(
              "requests", friends::list_requests(tx, call.user->id, direction(call), call.page()),
              [](const friends::Request& request) {
                return json{{"id", request.user_id},
                            {"friendship_id", request.friendship_id},
                            {"username", request.username},
                            {"sent_at", to_iso8601(request.sent_at)}};
              })};
}

Reply accept_friend(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::accept(tx, call.user->id, call.id("friendship_id")));
}

Reply reject_friend(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::reject(tx, call.user->id, call.id("friendship_id")));
}

Reply withdraw_friend_request(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::withdraw(tx, call.user->id, call.id("friendship_id")));
}

Reply remove_friend(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::end(tx, call.user->id, call.id("user_id")));
}

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
  return {.body = {{"message", "the user isn't blocked any more"}}};
}

Reply set_presence(db::Tx& tx, const Call& call, const Services& services) {
  services.presence->set(
      call.user->id,
      {.current_game = line(call.body, "current_game"), .lobby = line(call.body, "lobby")},
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
  return {.body = enveloped("entry", encode(services.presence->sit(table_id(call), call.user->id,
                                                                   going(call.body), tx.now())))};
}

Reply table_presence(db::Tx& tx, const Call& call, const Services& services) {
  const auto hidden = blocks::around(tx, call.user->id);
  const PageRequest page = call.page();
  Page<presence::AtTable> result = {
      .items = {}, .page = page.page, .page_size = page.page_size, .total = 0};
  for (const auto& seat : services.presence->at_table(table_id(call), tx.now())) {
    if (hidden.contains(seat.user_id)) continue;
    const std::int64_t at = result.total++;
    if (at >= page.offset() && at < page.offset() + page.page_size) result.items.push_back(seat);
  }
  return {.body = encode_page("entries", result,
                              [](const presence::AtTable& seat) { return encode(seat); })};
}

}  // namespace berth::api
