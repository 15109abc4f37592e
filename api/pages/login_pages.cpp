// Logging in, logging out, and registration.
#include <nlohmann/json.hpp>

#include "api/pages/page.h"
#include "api/resources/accounts/new_password.h"
#include "api/resources/accounts/own_machine.h"
#include "api/resources/accounts/sign_in.h"
#include "controller/base/crypto.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::api::pages {
namespace {

constexpr Duration pending_lifetime = std::chrono::minutes(5);

// Returns who has just entered the right password, encrypted for the second step, so that the
// password itself is never sent back. It is bound to the browser's form cookie and to the
// password's hash, so that it becomes invalid when the password changes.
std::string pending_of(const Visit& visit, const accounts::Credentials& account) {
  const nlohmann::json content = {
      {"user", account.user_id},
      {"password", hex(sha256(account.password_hash))},
      {"until", to_millis(visit.services.clock.now() + pending_lifetime)}};
  return base64(seal(visit.services.keys.data, content.dump(), "login:" + visit.form_id));
}

// Returns the account whose password the browser has entered; nothing if that is too long ago, or
// the password has changed since.
std::optional<accounts::Credentials> pending_user(const Visit& visit) {
  const auto sealed = parse_base64(visit.field("pending"));
  const auto text = sealed
                        ? open_sealed(visit.services.keys.data, *sealed, "login:" + visit.form_id)
                        : std::nullopt;
  if (!text) return std::nullopt;
  const auto content = nlohmann::json::parse(*text);
  if (content.at("until").get<std::int64_t>() <= to_millis(visit.services.clock.now()))
    return std::nullopt;
  const std::string user_id = content.at("user");
  const std::string hash =
      visit.services.db.read([&](db::Tx& tx) { return accounts::password_hash_of(tx, user_id); });
  if (hex(sha256(hash)) != content.at("password")) return std::nullopt;
  return accounts::Credentials{.user_id = user_id, .password_hash = hash};
}

Page code_page(const Visit& visit, const std::string& pending) {
  Page page = {.title = visit.say("Second factor"), .content = "login_code"};
  const std::string next = safe_next(visit.field("next"));
  page.form_target = asking_in(visit, next).form_target;
  page.values.set("next", next);
  page.values.set("pending", pending);
  page.values.set("login_link", with_parameter("/login", "next", next));
  set_passkey_login(visit, page);
  return page;
}

Page registration_page(const Visit& visit) {
  const std::string next =
      next_of_newcomer(visit.form.empty() ? visit.query("next") : visit.field("next"));
  Page page = {.title = visit.say("Create an account"), .content = "register"};
  page.form_target = asking_in(visit, next).form_target;
  page.values.set("next", next);
  page.values.set("login_link", with_parameter("/login", "next", next));
  for (const char* name : {"email", "username"}) page.values.set(name, visit.field(name));
  const std::string code = visit.field("referral_code");
  page.values.set("referral_code", code.empty() ? visit.query("referral_code") : code);
  return page;
}

}  // namespace

Page login_page(const Visit& visit, const std::string& next, const std::string& email) {
  Page page = {.title = visit.say("Log in"), .content = "login"};
  page.values.set("next", next);
  page.values.set("register_link", with_parameter("/register", "next", next));
  page.values.set("forgot_link", with_parameter("/forgot-password", "next", next));
  // If the user refuses, the answer to this form is a redirect to the app.
  const Asking asking = asking_in(visit, next);
  page.form_target = asking.form_target;
  // Whoever is logged in and has to log in again is expected to be the same person.
  std::string expected = visit.visitor ? visit.user().email : asking.login_hint;
  if (expected.size() > accounts::max_email_length) expected.clear();
  page.values.set("email", email.empty() ? expected : email);
  if (!asking.app_name.empty()) page.values.set("app_name", asking.app_name);
  set_focus(page, {"email", "password"});
  set_passkey_login(visit, page);
  return page;
}

// Whoever was logged in before logs in again if an app has asked for that (OpenID Connect: prompt,
// max_age). If it is the same user, their session goes on with the new proof, because the apps that
// they have logged in to know it; if it is another one, the session of the former ends.
Page enter(const Visit& visit, const SignedIn& signed_in) {
  Page page = go_to(safe_next(visit.field("next")));
  page.event = event_of(signed_in);
  if (visit.visitor) {
    const std::string& before = visit.visitor->session_id;
    const bool is_same = visit.user().id == signed_in.user.id;
    const bool goes_on = visit.services.db.write([&](db::Tx& tx) {
      // It may have ended meanwhile: the login ends the oldest of too many sessions.
      if (!accounts::authenticated_at(tx, before)) return false;
      if (!is_same) {
        accounts::end_session(tx, visit.user().id, before);
        return false;
      }
      accounts::note_proof(tx, before);
      if (signed_in.by_passkey || signed_in.user.totp_enabled)
        accounts::note_second_factor(tx, before);
      accounts::end_session(tx, signed_in.user.id, signed_in.session.id);
      return true;
    });
    if (goes_on) return page;
  }
  page.session = accounts::session_jwt(signed_in.session, visit.services.keys);
  return page;
}

Page show_login(Visit& visit) {
  const std::string next = safe_next(visit.query("next"));
  if (visit.visitor && !wants_new_login(visit, next)) return go_to(next);
  follow_locales(visit, asking_in(visit, next).ui_locales);
  return login_page(visit, next, "");
}

Page log_in(Visit& visit) {
  const std::string email = visit.field("email");
  try {
    return enter(visit, sign_in({.email = email,
                                 .password = visit.field("password"),
                                 .totp_code = {},
                                 .address = visit.address,
                                 .user_agent = visit.user_agent(),
                                 .idle_timeout = visit.services.logins.browser_idle_timeout},
                                visit.services));
  } catch (const Error& error) {
    if (error.code != Code::totp_required)
      return refused(visit, login_page(visit, safe_next(visit.field("next")), email), error);
  }
  const auto account =
      visit.services.db.read([&](db::Tx& tx) { return accounts::credentials(tx, email); });
  return account ? code_page(visit, pending_of(visit, *account))
                 : go_to(with_parameter("/login", "next", safe_next(visit.field("next"))));
}

Page log_in_by_code(Visit& visit) {
  const auto account = pending_user(visit);
  if (!account)
    return refused(visit, login_page(visit, safe_next(visit.field("next")), ""),
                   Error(Code::validation_failed, "that took too long; start again"));
  return unless_refused(
      visit,
      [&] {
        return enter(visit,
                     sign_in_by_code({.user_id = account->user_id,
                                      .password_hash = account->password_hash,
                                      .code = visit.field("code"),
                                      .address = visit.address,
                                      .user_agent = visit.user_agent(),
                                      .idle_timeout = visit.services.logins.browser_idle_timeout},
                                     visit.services));
      },
      // The value is returned unchanged, so that a wrong code doesn't extend its life.
      [&] { return code_page(visit, visit.field("pending")); });
}

Page log_out(Visit& visit) {
  if (visit.visitor)
    visit.services.db.write(
        [&](db::Tx& tx) { accounts::end_session(tx, visit.user().id, visit.visitor->session_id); });
  Page page = go_to("/login");
  page.session = "";
  return page;
}

namespace {

Page with_focus(Page page) {
  set_focus(page, {"email", "username", "password", "referral_code"});
  return page;
}

}  // namespace

Page show_registration(Visit& visit) {
  return visit.visitor ? go_to(next_of_newcomer(visit.query("next")))
                       : with_focus(registration_page(visit));
}

// Signing up logs in. The address is verified by the link in a mail, to which the next page leads;
// that of the admin of their own machine counts as verified, since nobody else can be meant.
Page register_account(Visit& visit) {
  const Services& services = visit.services;
  const std::string next = next_of_newcomer(visit.field("next"));
  const std::string email = visit.field("email"), password = visit.field("password");
  try {
    const accounts::User user =
        sign_up({.email = email,
                 .username = visit.field("username"),
                 .password_hash = {},
                 .referral_code = visit.field("referral_code"),
                 .next = next,
                 .may_be_admin = services.rules.first_account_admin &&
                                 comes_from_this_machine(visit.http, visit.address),
                 .language = visit.language},
                password, services);
    const bool is_known = is_own_admin(user, services);
    if (is_known)
      services.db.write(
          [&](db::Tx& tx) { accounts::mark_verified(tx, user.id, services.rules.signup_bonus); });
    const SignedIn signed_in = sign_in({.email = email,
                                        .password = password,
                                        .totp_code = {},
                                        .address = visit.address,
                                        .user_agent = visit.user_agent(),
                                        .idle_timeout = services.logins.browser_idle_timeout},
                                       services);
    Page page = go_to(is_known ? next : with_parameter("/verify-email", "next", next));
    page.session = accounts::session_jwt(signed_in.session, services.keys);
    return page;
  } catch (const Error& error) {
    return with_focus(refused(visit, registration_page(visit), error));
  }
}

}  // namespace berth::api::pages
