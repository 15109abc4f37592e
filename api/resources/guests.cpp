// Guests: players whom an app starts without an address, and who become accounts or are merged into
// one.
#include "controller/domain/accounts/guests.h"

#include "api/gate/encode.h"
#include "api/gate/language.h"
#include "api/resources/accounts/encode_user.h"
#include "api/resources/accounts/new_password.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/oauth/client_auth.h"
#include "api/resources/shared.h"
#include "controller/base/shares.h"
#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/lifecycle/guest_merges.h"
#include "controller/domain/oauth/guest_tokens.h"

namespace berth::api {
namespace {

Reply create_guest(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = confidential_client(tx, call);
  const oauth::Guest guest = oauth::add_guest(tx, app);
  const oauth::Tokens& tokens = guest.tokens;
  const auto expires_in =
      std::chrono::duration_cast<std::chrono::seconds>(tokens.access_token_expires_at - tx.now());
  Reply reply = {.status = 201,
                 .body = {{"user",
                           {{"id", guest.user.id},
                            {"email", guest.user.email},
                            {"username", guest.user.username},
                            {"tier", guest.user.tier},
                            {"points", guest.user.points},
                            {"is_guest", guest.user.is_guest}}},
                          {"access_token", tokens.access_token},
                          {"token_type", "Bearer"},
                          {"expires_in", expires_in.count()},
                          {"refresh_token", tokens.refresh_token},
                          {"scope", tokens.scopes.text()},
                          {"player_id", guest.user.id}},
                 .headers = {{"Pragma", "no-cache"}}};
  if (tokens.session_token) {
    reply.body["session_token"] = *tokens.session_token;
    reply.body["session_token_expires_at"] = to_iso8601(*tokens.session_token_expires_at);
  }
  return reply;
}

Reply start_guest_session(db::Tx& tx, const Call& call, const Services&) {
  const play::Token token = oauth::start_guest_session(tx, *call.caller);
  return {.body = {{"session_token", token.token}, {"expires_at", to_iso8601(token.expires_at)}}};
}

Reply upgrade_guest(const Call& call, const Services& services) {
  // Before the password is hashed, which takes long.
  if (!call.caller->is_guest)
    throw Error(Code::invalid_state, "this account isn't a guest's, or no longer one");
  const accounts::User user = upgrade_guest(call.caller->user_id,
                                            {.email = call.body.at("email"),
                                             .username = call.body.at("username"),
                                             .password_hash = {},
                                             .referral_code = {},
                                             .language = language_of(call.http)},
                                            call.body.at("password"), services);
  return {.body = {{"user", encode_new_user(user)}}};
}

// The guest of the access token in the body. The caller shows a session as well, so a token that
// doesn't work is a wrong field and not a caller who isn't logged in.
std::string guest_of_token(db::Tx& tx, const Call& call) {
  try {
    const oauth::Caller guest = oauth::check_access_token(tx, call.body.at("guest_token"));
    if (!guest.is_guest)
      throw Error(Code::invalid_state, "the guest_token isn't a guest's, or no longer one");
    if (!guest.scopes.has(Scope::profile_read))
      throw invalid_field("guest_token", "must have the scope profile:read");
    return guest.user_id;
  } catch (const Error& error) {
    if (error.code == Code::invalid_state || error.code == Code::validation_failed) throw;
    Error refusal = invalid_field("guest_token", "doesn't work: " + std::string(error.what()));
    refusal.event = error.event;
    throw refusal;
  }
}

Reply preview_guest_merge(db::Tx& tx, const Call& call, const Services&) {
  const guests::Merge merge = guests::preview_merge(tx, guest_of_token(tx, call), call.user->id);
  json obstacles = json::array();
  for (const Error& error : merge.obstacles)
    obstacles.push_back({{"code", name(error.code)}, {"message", error.what()}});
  const social::AccountMerge& people = merge.people;
  const items::AccountMerge& items = merge.items;
  return {.body = {{"preview", merge.fingerprint},
                   {"guest_id", merge.guest.id},
                   {"user_id", merge.account.id},
                   {"app_id", merge.app_id},
                   {"possible", merge.obstacles.empty()},
                   {"obstacles", std::move(obstacles)},
                   {"points", {{"moved", merge.points}, {"refunded", items.refund}}},
                   {"friends",
                    {{"moved", people.friends_moved},
                     {"shared", people.friends_shared},
                     {"ended", people.friends_ended}}},
                   {"friend_requests",
                    {{"moved", people.requests_moved},
                     {"shared", people.requests_shared},
                     {"ended", people.requests_ended}}},
                   {"blocks", people.blocked.size()},
                   {"channels", people.channels.size()},
                   {"cosmetics", {{"moved", items.moved.size()}, {"shared", items.both.size()}}},
                   {"avatar",
                    {{"display_name", or_null(items.display_name)},
                     {"appearance", items.appearance.has_value()},
                     {"worn", items.put_on.size()},
                     {"dropped_display_name", items.drops_display_name},
                     {"dropped_appearance", items.drops_appearance}}},
                   {"learning",
                    {{"moved", items.modules.size()},
                     {"kept", items.modules_kept},
                     {"path", or_null(items.path)}}}}};
}

Reply merge_guest(const Call& call, const Services& services) {
  require_factor_proof(*call.user, call.session_id,
                       {.password = text_or_nothing(call.body, "password"),
                        .totp_code = text_or_nothing(call.body, "totp_code"),
                        .address = call.address},
                       services);
  const guests::Merge merge = services.db.write([&](db::Tx& tx) {
    return guests::merge(tx, guest_of_token(tx, call), call.user->id, call.body.at("preview"));
  });
  services.memory.presence->forget(merge.guest.id);
  return {.body = {{"message", "the guest was merged into the account"},
                   {"guest_id", merge.guest.id},
                   {"user_id", merge.account.id},
                   {"app_id", merge.app_id},
                   {"points", merge.account.points}}};
}

// For one address, which may be an app's server; there are limits for each day, too (guests.h).
constexpr Rate creations = per_minute(60);
// Each leaves a row for a day.
constexpr Rate session_starts = per_minute(10);
// Each reads all friends of the guest.
constexpr Rate merge_previews = per_minute(10);

constexpr Access guests_token =
    with_pages_of_apps(oauth_token({Scope::profile_read}, Access::ForApp::none));

constexpr std::string_view made_by_servers =
    "An app's server calls it, with the app's credentials; on the command line nobody plays.";
constexpr std::string_view merged_in_games =
    "A game offers it to a guest who logs in; on the command line nobody plays.";

static_assert(guests::max_made_per_day == 1'000 && guests::max_living == 10'000 &&
                  guests::max_made_per_day_by_owner == 2 * guests::max_made_per_day &&
                  guests::max_living_of_owner == 2 * guests::max_living &&
                  oauth::refresh_token_lifetime == std::chrono::days(30),
              "createGuest publishes these limits");

constexpr Route rows[] = {
    {.request = "POST /api/auth/guests",
     .name = "createGuest",
     .tag = "Account",
     .summary = "Start a player as a guest, without an address and a password",
     .text = "Makes an account that only this app can use, by the tokens in the answer, which are "
             "refreshed as others are. Guests have friends and items, get no rewards, and neither "
             "send nor receive points or gifts. One who isn't refreshed for 30 days is removed. An "
             "app makes 1,000 guests a day and has 10,000 at a time, and the apps of one account "
             "together twice as many. It authenticates as at the token endpoint.",
     .guards = {open_to_all(), creations, Shape::oauth_and_message},
     .stores = Stores::registration,
     .body = {"GuestRequest", Body::Form::json_or_form},
     .answer = {201, "Guest"},
     .errors = {Code::invalid_client, Code::invalid_request, Code::unauthorized_client},
     .event = {SecurityKind::account_registered, "guest"},
     .served_by = {.neither = made_by_servers},
     .run = WriteHandler{create_guest}},
    {.request = "POST /api/auth/guests/session",
     .name = "startGuestSession",
     .tag = "Account",
     .summary = "Start another session of a guest",
     .text = "Gives the app a session token for its guest, such as others get with their "
             "authorization codes, which guests don't have. Earlier sessions go on.",
     .guards = {guests_token, session_starts},
     .stores = Stores::sign_in,
     .answer = {200, "SessionRefreshResponse"},
     .errors = {Code::invalid_state},
     .event = {SecurityKind::token_issued, "guest_session"},
     .served_by = {.neither = called_by_apps},
     .run = WriteHandler{start_guest_session}},
    {.request = "POST /api/auth/guests/upgrade",
     .name = "upgradeGuest",
     .tag = "Account",
     .summary = "Make a guest an account, in place",
     .text = "Gives the guest of the token an address, a username and a password, with the rules "
             "of registering, and mails a token for verify-email. Id, points, friends and items "
             "stay, and so do the app's tokens, but for points:spend: the app has to ask the user "
             "for it. It works once; later calls are refused with invalid_state.",
     .guards = {guests_token, password_calls, Shape::nested_but_access},
     .stores = Stores::registration,
     .body = {"UpgradeGuestRequest"},
     .answer = {200, "RegisterResponse"},
     .errors = {Code::validation_failed, Code::invalid_state},
     .event = {SecurityKind::account_registered, "guest_upgraded"},
     .served_by = {.neither = called_by_apps},
     .run = FreeHandler{upgrade_guest}},
    {.request = "POST /api/auth/guests/merge/preview",
     .name = "previewGuestMerge",
     .tag = "Account",
     .summary = "Show what merging a guest into the caller's account would do",
     .text = "Says what would come to the account of the session from the guest of the access "
             "token in the body, what both have, what would be dropped, and why it isn't possible, "
             "if it isn't. Nothing changes. `preview` has to be sent to mergeGuest.",
     .guards = {session(), merge_previews, Shape::nested_but_access},
     .stores = Stores::nothing,
     .body = {"GuestMergePreviewRequest"},
     .answer = {200, "GuestMergePreview"},
     .errors = {Code::invalid_state},
     .served_by = {.neither = merged_in_games},
     .run = ReadHandler{preview_guest_merge}},
    {.request = "POST /api/auth/guests/merge",
     .name = "mergeGuest",
     .tag = "Account",
     .summary = "Merge a guest into the caller's account",
     .text = "Does what a preview has shown, at once and for good: points, friends, requests, "
             "blocks, channels, items and progress of the guest come to the account. The guest's "
             "tokens and sessions end; the app gets its own for the account by the authorization. "
             "The app is told both ids by the event guest.merged. The password, and the second "
             "factor if there is one, must have been proven within the last 10 minutes.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::account,
     .body = {"MergeGuestRequest"},
     .answer = {200, "MergedGuest"},
     .errors = {Code::invalid_state, Code::preview_outdated, Code::email_not_verified,
                Code::invalid_credentials, Code::invalid_totp,
                Code::insufficient_user_authentication},
     .event = {SecurityKind::account_changed, "guest_merged"},
     .served_by = {.neither = merged_in_games},
     .run = FreeHandler{merge_guest}},
};

}  // namespace

std::span<const Route> guests_routes() { return rows; }

}  // namespace berth::api
