// Handlers of accounts: registration, login, sessions, and the user's own account.
#include "api/gate/encode.h"
#include "api/gate/language.h"
#include "api/resources/accounts/deletion.h"
#include "api/resources/accounts/encode_user.h"
#include "api/resources/accounts/new_password.h"
#include "api/resources/accounts/own_machine.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/shared.h"
#include "api/resources/users.h"
#include "controller/base/shares.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/accounts/sessions.h"

namespace berth::api {
namespace {

json encode_me(db::Tx& tx, const accounts::User& user) {
  const accounts::Stats stats = accounts::stats(tx, user.id);
  json body = encode_user(user);
  body.update({{"tier_emoji", tier_emoji(user.tier)},
               {"points", user.points},
               {"referral_code", user.referral_code},
               {"signup_multiplier", user.signup_multiplier},
               {"language", user.language},
               {"stats",
                {{"direct_referrals", stats.direct_referrals},
                 {"connected_apps", stats.connected_apps},
                 {"total_earned", stats.total_earned},
                 {"total_spent", stats.total_spent}}}});
  return {{"user", std::move(body)}};
}

Reply register_account(const Call& call, const Services& services) {
  const accounts::User user =
      sign_up({.email = call.body.at("email"),
               .username = call.body.at("username"),
               .password_hash = {},
               .referral_code = text_or_nothing(call.body, "referral_code"),
               .may_be_admin = services.rules.first_account_admin &&
                               comes_from_this_machine(call.http, call.address),
               .language = language_of(call.http)},
              call.body.at("password"), services);
  return {.status = 201, .body = {{"user", encode_new_user(user)}}};
}

Reply login(const Call& call, const Services& services) {
  const SignedIn result = sign_in({.email = call.body.at("email"),
                                   .password = call.body.at("password"),
                                   .totp_code = text_or_nothing(call.body, "totp_code"),
                                   .address = call.address,
                                   .user_agent = std::string(call.http.headers.get("User-Agent")),
                                   .idle_timeout = services.logins.jwt_idle_timeout},
                                  services);
  services.security.note(
      event_of(result),
      {.address = call.address, .route = call.route->name, .request_id = call.request_id});
  return {.body = {{"token", accounts::session_jwt(result.session, services.keys)},
                   {"user", encode_user(result.user)}}};
}

Reply verify_email(db::Tx& tx, const Call& call, const Services& services) {
  ClaimantOfThread::set_account(
      accounts::verify_email(tx, call.body.at("token"), services.rules.signup_bonus));
  return message_reply("the email address is now verified");
}

Reply self_verify_email(db::Tx& tx, const Call& call, const Services& services) {
  accounts::mark_verified(tx, call.user->id, services.rules.signup_bonus);
  return message_reply("the email address is now verified");
}

Reply resend_verification(db::Tx& tx, const Call& call, const Services& services) {
  accounts::resend_verification(tx, *call.user, services.keys, services.base_url);
  return message_reply("a mail with a new token will be sent");
}

Reply logout(db::Tx& tx, const Call& call, const Services&) {
  accounts::end_session(tx, call.user->id, call.session_id);
  return message_reply("the session has ended");
}

Reply list_sessions(db::Tx& tx, const Call& call, const Services&) {
  const auto page = accounts::list_sessions(tx, call.user->id, call.page());
  return {.body = encode_page("sessions", page, [&](const accounts::SessionInfo& session) {
            return json{{"id", session.id},
                        {"address", session.address},
                        {"user_agent", session.user_agent},
                        {"created_at", to_iso8601(session.created_at)},
                        {"expires_at", to_iso8601(session.expires_at)},
                        {"current", session.id == call.session_id}};
          })};
}

Reply end_session(db::Tx& tx, const Call& call, const Services&) {
  accounts::end_session(tx, call.user->id, call.id());
  return message_reply("the session has ended");
}

Reply me(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_me(tx, *call.user)};
}

Reply update_me(db::Tx& tx, const Call& call, const Services& services) {
  if (call.body.contains("language"))
    accounts::set_language(tx, call.user->id, call.body.at("language").get<Language>());
  const accounts::User user = call.body.contains("username")
                                  ? accounts::rename(tx, call.user->id, call.body.at("username"),
                                                     services.rules.reserved_names)
                                  : *accounts::find(tx, call.user->id);
  return {.body = encode_me(tx, user)};
}

Reply delete_me(const Call& call, const Services& services) {
  delete_account(*call.user, call.body.at("password"), call.address, services);
  return message_reply("the account was deleted");
}

// What an app may know of its user, which includes neither their address nor their points.
Reply external_profile(db::Tx& tx, const Call& call, const Services&) {
  json profile = encode_profile(tx, *accounts::find(tx, call.caller->user_id), {});
  profile["is_guest"] = call.caller->is_guest;
  profile["guest_ids"] = guests::merged_into(tx, call.caller->user_id, call.caller->app_id);
  return {.body = {{"user", std::move(profile)}}};
}

constexpr Placeholder session_in_path = {"SessionId", "The id of the session.",
                                         "01936f5e-7c1a-7000-8000-000000000008"};

constexpr Route rows[] = {
    {.request = "POST /api/auth/register",
     .name = "register",
     .tag = "Account",
     .summary = "Create an account",
     .text = "Creates an account with no points and mails a token for verify-email. A referral "
             "code counts for the user who gave it. Registering doesn't log in.",
     .guards = {open_to_all(), registrations},
     .stores = Stores::registration,
     .body = {"RegisterRequest"},
     .answer = {201, "RegisterResponse"},
     .errors = {Code::validation_failed},
     .event = {SecurityKind::account_registered, "registered"},
     .served_by = {"berth register", "/register"},
     .run = FreeHandler{register_account}},
    {.request = "POST /api/auth/verify-email",
     .name = "verifyEmail",
     .tag = "Account",
     .summary = "Verify the email address with a mailed token",
     .text = "Verifies the address that the token was mailed to. The token works once. The sign-up "
             "bonus is paid then, if one is configured.",
     .guards = {open_to_all(), account_writes},
     .stores = Stores::registration,
     .body = {"TokenRequest"},
     .answer = {200, "Message"},
     .event = {SecurityKind::account_changed, "address_verified"},
     .served_by = {"berth verify", "/verify-email"},
     .run = WriteHandler{verify_email}},
    {.request = "POST /api/auth/self-verify-email",
     .name = "selfVerifyEmail",
     .tag = "Account",
     .summary = "Verify the caller's address without a mail (development only)",
     .text = "Does what verify-email does, without a mail, so that tests need no mailbox. It "
             "exists in development only.",
     .guards = {session(), account_writes, Shape::nested_but_access},
     .stores = Stores::registration,
     .answer = {200, "Message"},
     .availability = Availability::development_only,
     .event = {SecurityKind::account_changed, "address_verified"},
     .served_by = {"berth register"},
     .run = WriteHandler{self_verify_email}},
    {.request = "POST /api/auth/resend-verification",
     .name = "resendVerification",
     .tag = "Account",
     .summary = "Mail another verification token; at most five in an hour",
     .text = "Mails another token to the account's address; it is refused once the address is "
             "verified.",
     .guards = {session(), account_writes, Shape::nested_but_access},
     .stores = Stores::registration,
     .answer = {200, "Message"},
     .errors = {Code::invalid_state},
     .event = {SecurityKind::account_changed, "verification_mailed"},
     .served_by = {"berth account resend-verification", "/console/account"},
     .run = WriteHandler{resend_verification}},
    {.request = "POST /api/auth/login",
     .name = "login",
     .tag = "Account",
     .summary = "Log in and get a session JWT",
     .text = "Checks the password, and a code if the account has a second factor, and begins a "
             "session. Repeated failures are slowed down and then refused for a while.",
     .guards = {open_to_all(), logins, Shape::simple},
     .stores = Stores::sign_in,
     .body = {"LoginRequest"},
     .answer = {200, "AuthResponse"},
     .errors = {Code::invalid_credentials, Code::totp_required, Code::invalid_totp,
                Code::account_suspended},
     .served_by = {"berth login", "/login"},
     .run = FreeHandler{login}},
    {.request = "POST /api/auth/logout",
     .name = "logout",
     .tag = "Account",
     .summary = "End this session",
     .text = "Ends the session of the token, which stops working at once. Other sessions continue.",
     .guards = {session(), account_writes, Shape::nested_but_access},
     .stores = Stores::nothing,
     .answer = {200, "Message"},
     .errors = {Code::session_not_found},
     .event = {SecurityKind::session_ended, "logout"},
     .served_by = {"berth logout", "/login"},
     .run = WriteHandler{logout}},
    {.request = "GET /api/auth/sessions",
     .name = "listSessions",
     .tag = "Account",
     .summary = "List the caller's sessions",
     .text = "Lists the sessions that haven't ended, newest first, with the address and the "
             "program that they began from.",
     .guards = {person(), account_reads, Shape::nested_but_access},
     .paged = true,
     .answer = {200, "SessionList"},
     .served_by = {"berth sessions list", "/console/account"},
     .run = ReadHandler{list_sessions}},
    {.request = "DELETE /api/auth/sessions/{id}",
     .name = "endSession",
     .tag = "Account",
     .summary = "End one of the caller's sessions",
     .text = "Ends one session, whose token stops working at once. It may be the session of this "
             "request.",
     .guards = {session(), account_writes, Shape::nested_but_access},
     .stores = Stores::nothing,
     .in_path = {&session_in_path},
     .answer = {200, "Message"},
     .errors = {Code::session_not_found},
     .event = {SecurityKind::session_ended, "by_user"},
     .served_by = {"berth sessions end", "/console/account"},
     .run = WriteHandler{end_session}},
    {.request = "GET /api/auth/me",
     .name = "me",
     .tag = "Account",
     .summary = "Show the caller's account",
     .text = "Returns the caller's account with its balance, its referral code and statistics.",
     .guards = {person(), account_reads, Shape::nested_but_access},
     .answer = {200, "MeResponse"},
     .served_by = {"berth account show", "/console/account"},
     .run = ReadHandler{me}},
    {.request = "PATCH /api/auth/me",
     .name = "updateMe",
     .tag = "Account",
     .summary = "Change the caller's username, or the language of the mails to them",
     .text = "Gives the account another username, which must be free; friends and apps see the new "
             "one from then on. `language` is that of the mails to the caller. What isn't sent "
             "stays as it is.",
     .guards = {person(), account_writes, Shape::nested_but_access},
     .stores = Stores::account,
     .body = {"UpdateMeRequest"},
     .answer = {200, "MeResponse"},
     .event = {SecurityKind::account_changed, "profile"},
     .served_by = {"berth account rename", "/console/account"},
     .run = WriteHandler{update_me}},
    {.request = "DELETE /api/auth/me",
     .name = "deleteMe",
     .tag = "Account",
     .summary = "Delete the caller's account for good: personal data is removed, the ledger's "
                "entries stay",
     .text = "Removes the personal data, the caller's apps, and all sessions, tokens and "
             "connections. Points go to the treasury; the ledger keeps its entries without a name. "
             "It is refused while an app has deployments or campaigns.",
     .guards = {session(), password_calls, Shape::nested_but_access},
     .stores = Stores::nothing,
     .body = {"PasswordRequest"},
     .answer = {200, "Message"},
     .errors = {Code::invalid_credentials, Code::invalid_state},
     .event = {SecurityKind::account_deleted, "by_user"},
     .served_by = {"berth account delete", "/console/account"},
     .run = FreeHandler{delete_me}},
    {.request = "GET /api/external/profile",
     .name = "externalProfile",
     .tag = "Account",
     .summary = "Show the user's profile to an app",
     .text = "Returns the profile of the user who authorized the app, as other users see it, "
             "whether they are a guest of the app, and which of its guests were merged into the "
             "account.",
     .guards = {with_pages_of_apps(keeping_to_deployments(
                    oauth_token({Scope::profile_read}, Access::ForApp::none))),
                account_reads},
     .answer = {200, "UserProfile"},
     .served_by = {.neither = called_by_apps},
     .run = ReadHandler{external_profile}},
};

}  // namespace

std::span<const Route> accounts_routes() { return rows; }

}  // namespace berth::api
