// Guests: players whom an app starts without an address, and who become accounts.
#include "controller/domain/accounts/guests.h"

#include "api/gate/encode.h"
#include "api/gate/language.h"
#include "api/resources/accounts/encode_user.h"
#include "api/resources/accounts/new_password.h"
#include "api/resources/oauth/client_auth.h"
#include "api/resources/shared.h"
#include "controller/base/shares.h"
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

// For one address, which may be an app's server; there are limits for each day, too (guests.h).
constexpr Rate creations = per_minute(60);
// Each leaves a row for a day.
constexpr Rate session_starts = per_minute(10);

constexpr Access guests_token =
    with_pages_of_apps(oauth_token({Scope::profile_read}, Access::ForApp::none));

static_assert(guests::max_made_per_day == 1'000 && guests::max_living == 10'000 &&
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
             "app makes 1,000 guests a day and has 10,000 at a time. It authenticates as at the "
             "token endpoint.",
     .guards = {open_to_all(), creations, Shape::oauth_and_message},
     .stores = Stores::registration,
     .body = {"GuestRequest", Body::Form::json_or_form},
     .answer = {201, "Guest"},
     .errors = {Code::invalid_client, Code::invalid_request, Code::unauthorized_client},
     .event = {SecurityKind::account_registered, "guest"},
     .served_by = {.neither = called_by_apps},
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
};

}  // namespace

std::span<const Route> guests_routes() { return rows; }

}  // namespace berth::api
