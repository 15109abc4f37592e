// The pages that links in mails lead to.
#include "api/pages/page.h"
#include "api/resources/accounts/new_password.h"
#include "controller/base/shares.h"
#include "controller/domain/accounts/email_changes.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::api::pages {
namespace {

// The token is used up by pressing a button and not by opening the link, because programs that scan
// mail open links.
Page token_page(std::string title, std::string_view content, const std::string& token) {
  Page page = {.title = std::move(title), .content = content};
  page.values.set("token", token);
  return page;
}

bool is_about_token(const Error& error) { return error.details.contains("token"); }

Page dead_link(const Visit& visit, const Error& error, const std::string& what_to_do,
               const std::string& link, const std::string& link_text) {
  Page page =
      message(visit.say("This link doesn’t work any more"),
              {visit.say("The link was used before, is too old, or is incomplete."), what_to_do},
              link, link_text);
  page.status = 422;
  page.event = security_event_of(error);
  return page;
}

Page forgot_page(const Visit& visit, const std::string& email) {
  Page page = {.title = visit.say("Forgotten password"), .content = "forgot_password"};
  page.values.set("email", email);
  const std::string next =
      safe_next(visit.form.empty() ? visit.query("next") : visit.field("next"));
  page.values.set("next", next);
  page.values.set("login_link", with_parameter("/login", "next", next));
  return page;
}

}  // namespace

namespace {

// In development the page has the link of the mail, because there may be no mail server. Whoever
// may register there may verify any address anyway (POST /api/auth/self-verify-email).
std::optional<std::string> token_of_mail(const Visit& visit) {
  const Services& services = visit.services;
  if (services.environment != Environment::development) return std::nullopt;
  const auto mails =
      services.db.read([&](db::Tx& tx) { return outbox::list(tx, services.keys.data); });
  for (const outbox::Mail& mail : mails)
    if (mail.to == visit.user().email && mail.token.starts_with("ev_")) return mail.token;
  return std::nullopt;
}

// What somebody sees who has an account and hasn't opened the link in the mail yet.
Page awaiting_page(const Visit& visit, const std::string& next) {
  const std::string& email = visit.user().email;
  Page page = {.title = visit.say("Verify your address"), .content = "awaiting_verification"};
  page.values.set("email", email);
  page.values.set("next", next);
  if (const std::string where = whereabouts_of_mail(visit); !where.empty())
    page.values.set("whereabouts", where);
  if (const auto token = token_of_mail(visit))
    page.values.set("link",
                    with_parameter(with_parameter("/verify-email", "token", *token), "next", next));
  return page;
}

}  // namespace

Page show_verification(Visit& visit) {
  const std::string next = next_of_newcomer(visit.query("next"));
  if (visit.query("token").empty()) {
    if (!visit.visitor) return go_to(with_parameter("/login", "next", next));
    if (visit.user().email_verified) return go_to(next);
    return awaiting_page(visit, next);
  }
  Page page = token_page(visit.say("Verify your address"), "verify_email", visit.query("token"));
  // The answer to this form may lead to an app, which learns why it gets no access.
  page.form_target = asking_in(visit, next).form_target;
  page.values.set("next", next);
  return page;
}

Page send_verification_again(Visit& visit) {
  const std::string next = next_of_newcomer(visit.field("next"));
  return unless_refused(
      visit,
      [&] {
        visit.services.db.write([&](db::Tx& tx) {
          accounts::resend_verification(tx, visit.user(), visit.services.keys,
                                        visit.services.base_url, next);
        });
        Page page = awaiting_page(visit, next);
        page.values.set("done", visit.say("We have sent you another mail."));
        return page;
      },
      [&] { return awaiting_page(visit, next); });
}

Page verify_email(Visit& visit) {
  try {
    visit.services.db.write([&](db::Tx& tx) {
      ClaimantOfThread::set_account(
          accounts::verify_email(tx, visit.field("token"), visit.services.rules.signup_bonus));
    });
  } catch (const Error& error) {
    if (!is_about_token(error)) throw;
    return dead_link(
        visit, error,
        visit.say("If your address isn’t verified yet, you can ask for another mail on the page "
                  "of your account."),
        "/account", visit.say("Go to your account"));
  }
  const std::string next = next_of_newcomer(visit.field("next"));
  if (visit.visitor) return go_to(next);
  return message(visit.say("Your address is verified"), {visit.say("Thank you.")},
                 with_parameter("/login", "next", next), visit.say("Log in"));
}

Page show_email_change(Visit& visit) {
  return token_page(visit.say("Confirm your new address"), "email_change", visit.query("token"));
}

Page confirm_email_change(Visit& visit) {
  const Services& services = visit.services;
  try {
    services.db.write([&](db::Tx& tx) {
      ClaimantOfThread::set_account(accounts::email_changes::confirm(tx, visit.field("token"),
                                                                     services.rules.signup_bonus,
                                                                     services.keys)
                                        .id);
    });
  } catch (const Error& error) {
    if (!is_about_token(error)) throw;
    return dead_link(visit, error,
                     visit.say("You can ask for another mail on the page of your account."),
                     "/account", visit.say("Go to your account"));
  }
  return message(visit.say("Your address was changed"),
                 {visit.say("You log in with this address from now on.")}, "/account",
                 visit.say("Go to your account"));
}

Page show_email_change_stop(Visit& visit) {
  return token_page(visit.say("Keep your old address"), "email_change_stop", visit.query("token"));
}

Page stop_email_change(Visit& visit) {
  accounts::email_changes::Stopped stopped;
  try {
    visit.services.db.write(
        [&](db::Tx& tx) { stopped = accounts::stop_email_change(tx, visit.field("token")); });
    ClaimantOfThread::set_account(stopped.user_id);
  } catch (const Error& error) {
    if (!is_about_token(error)) throw;
    return dead_link(visit, error,
                     visit.say("If somebody else uses your account, choose a new password."),
                     "/forgot-password", visit.say("Choose a new password"));
  }
  const std::string kept =
      stopped.was_confirmed
          ? visit.say("Your account has this address again, and everybody is logged out.")
          : visit.say("Nothing was changed.");
  return message(
      visit.say("Your old address stays"),
      {kept, visit.say("If it wasn’t you who asked for another one, somebody else knows your "
                       "password: choose a new one now.")},
      "/forgot-password", visit.say("Choose a new password"));
}

Page show_forgot_password(Visit& visit) { return forgot_page(visit, ""); }

Page forgot_password(Visit& visit) {
  const Services& services = visit.services;
  services.db.write([&](db::Tx& tx) { accounts::request_reset(tx, visit.field("email")); });
  std::vector<std::string> paragraphs = {
      visit.say("If somebody has an account with the address {address}, a mail is on its way to "
                "it. The link in it works for an hour.",
                {{"address", visit.field("email")}})};
  if (const std::string where = whereabouts_of_mail(visit); !where.empty())
    paragraphs.push_back(where);
  return message(visit.say("Check your mailbox"), paragraphs,
                 with_parameter("/login", "next", safe_next(visit.field("next"))),
                 visit.say("Back to login"));
}

Page show_reset_password(Visit& visit) {
  return token_page(visit.say("Choose a new password"), "reset_password", visit.query("token"));
}

Page reset_password(Visit& visit) {
  const std::string token = visit.field("token");
  try {
    api::reset_password(token, visit.field("password"), visit.services);
  } catch (const Error& error) {
    if (is_about_token(error))
      return dead_link(visit, error, visit.say("You can ask for another mail."), "/forgot-password",
                       visit.say("Forgotten password"));
    return refused(visit, token_page(visit.say("Choose a new password"), "reset_password", token),
                   error);
  }
  Page page = message(visit.say("Your password was changed"),
                      {visit.say("You are logged out everywhere.")}, "/login", visit.say("Log in"));
  page.session = "";
  return page;
}

}  // namespace berth::api::pages
