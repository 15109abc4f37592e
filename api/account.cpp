// Accounts and sessions.
#include "api/encode.h"
#include "api/handlers.h"

namespace berth::api {
namespace {

json encode_login(const accounts::User& user) {
  return {{"id", user.id},
          {"email", user.email},
          {"username", user.username},
          {"tier", user.tier},
          {"is_admin", user.is_admin},
          {"email_verified", user.email_verified},
          {"totp_enabled", user.totp_enabled}};
}

constexpr const char* emoji(std::string_view tier) { return tier == "free" ? "🌱" : "⭐"; }

}  // namespace

Reply register_account(const Call& call, const Services& services) {
  const std::string password = call.body.at("password");
  accounts::Registration registration = {
      .email = call.body.at("email"),
      .username = call.body.at("username"),
      .password_hash = {},
      .referral_code = text_or_nothing(call.body, "referral_code")};
  // Before the transaction: a hash takes some 20 ms, and a bad request shouldn't cost that much.
  accounts::check_email(registration.email);
  accounts::check_username(registration.username);
  accounts::check_password(password);
  registration.password_hash = services.passwords.hash(password);
  const accounts::User user = services.db.write([&](db::Tx& tx) {
    return accounts::register_user(tx, registration, services.signup_bonus, services.keys,
                                   services.base_url);
  });
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
  const std::string email = call.body.at("email");
  const std::string password = call.body.at("password");
  const auto stored =
      services.db.read([&](db::Tx& tx) { return accounts::credentials(tx, email); });
  // As long for an address that nobody has as for a wrong password.
  const bool right = stored ? services.passwords.matches(password, stored->password_hash)
                            : services.passwords.matches_nobody(password);
  if (!right) throw Error(Code::invalid_credentials, "address or password are wrong");
  const std::string agent(call.http.headers.get("User-Agent"));
  struct LoggedIn {
    accounts::Session session;
    accounts::User user;
  };
  const LoggedIn result = services.db.write([&](db::Tx& tx) {
    auto session =
        accounts::open_session(tx, stored->user_id, std::string(call.http.remote_address), agent,
                               services.session_lifetime);
    return LoggedIn{std::move(session), *accounts::find(tx, stored->user_id)};
  });
  return {.body = {{"token", accounts::session_jwt(result.session, services.keys)},
                   {"user", encode_login(result.user)}},
          .headers = {{"Cache-Control", "no-store"}}};
}

Reply verify_email(db::Tx& tx, const Call& call, const Services&) {
  accounts::verify_email(tx, call.body.at("token"));
  return {.body = {{"message", "the email address is verified"}}};
}

Reply self_verify_email(db::Tx& tx, const Call& call, const Services&) {
  accounts::mark_verified(tx, call.user->id);
  return {.body = {{"message", "the email address is verified"}}};
}

Reply me(db::Tx& tx, const Call& call, const Services&) {
  const accounts::User& user = *call.user;
  const accounts::Stats stats = accounts::stats(tx, user.id);
  json body = encode_login(user);
  body.erase("is_admin");
  body.update({{"tier_emoji", emoji(user.tier)},
               {"points", user.points},
               {"referral_code", user.referral_code},
               {"signup_multiplier", user.signup_multiplier},
               {"stats",
                {{"direct_referrals", stats.direct_referrals},
                 {"connected_apps", stats.connected_apps},
                 {"total_earned", stats.total_earned},
                 {"total_spent", stats.total_spent}}}});
  return {.body = {{"user", std::move(body)}}};
}

}  // namespace berth::api
