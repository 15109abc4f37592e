// Accounts and sessions.
#include "api/resources/accounts/handlers.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/deletion.h"
#include "api/resources/accounts/encode_user.h"
#include "api/resources/accounts/new_password.h"
#include "api/resources/accounts/sign_in.h"
#include "api/resources/users/encode_profile.h"
#include "controller/base/shares.h"
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
               {"stats",
                {{"direct_referrals", stats.direct_referrals},
                 {"connected_apps", stats.connected_apps},
                 {"total_earned", stats.total_earned},
                 {"total_spent", stats.total_spent}}}});
  return {{"user", std::move(body)}};
}

}  // namespace

Reply register_account(const Call& call, const Services& services) {
  const accounts::User user =
      sign_up({.email = call.body.at("email"),
               .username = call.body.at("username"),
               .password_hash = {},
               .referral_code = text_or_nothing(call.body, "referral_code")},
              call.body.at("password"), services);
  return {.status = 201,
          .body = {{"user",
                    {{"id", user.id},
                     {"email", user.email},
                     {"username", user.username},
                     {"tier", user.tier},
                     {"points", user.points},
                     {"referral_code", user.referral_code},
                     {"email_verified", user.email_verified},
                     {"registration_number", user.registration_number}}}}};
}

Reply login(const Call& call, const Services& services) {
  const SignedIn result = sign_in({.email = call.body.at("email"),
                                   .password = call.body.at("password"),
                                   .totp_code = text_or_nothing(call.body, "totp_code"),
                                   .address = call.address,
                                   .user_agent = std::string(call.http.headers.get("User-Agent")),
                                   .idle_timeout = services.jwt_idle_timeout},
                                  services);
  services.security.note(
      event_of(result),
      {.address = call.address, .route = call.route->name, .request_id = call.request_id});
  return {.body = {{"token", accounts::session_jwt(result.session, services.keys)},
                   {"user", encode_user(result.user)}}};
}

Reply verify_email(db::Tx& tx, const Call& call, const Services& services) {
  ClaimantOfThread::set_account(
      accounts::verify_email(tx, call.body.at("token"), services.signup_bonus));
  return message_reply("the email address is now verified");
}

Reply self_verify_email(db::Tx& tx, const Call& call, const Services& services) {
  accounts::mark_verified(tx, call.user->id, services.signup_bonus);
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
  return {.body = encode_me(tx, accounts::rename(tx, call.user->id, call.body.at("username"),
                                                 services.reserved_names))};
}

Reply delete_me(const Call& call, const Services& services) {
  delete_account(*call.user, call.body.at("password"), call.address, services);
  return message_reply("the account was deleted");
}

// What an app may know of its user, which includes neither their address nor their points.
Reply external_profile(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"user", encode_profile(tx, *accounts::find(tx, call.caller->user_id), {})}}};
}

}  // namespace berth::api
