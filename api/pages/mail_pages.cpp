// What the links in mails lead to.
#include "api/new_password.h"
#include "api/pages/page.h"
#include "controller/domain/passwords.h"

namespace berth::api::pages {
namespace {

// The token is used up by a button, not by the link: programs that look at mail follow links.
Page token_page(std::string title, std::string_view content, const std::string& token) {
  Page page = {.title = std::move(title), .content = content};
  page.values.set("token", token);
  return page;
}

Page forgot_page(const std::string& email) {
  Page page = {.title = "Forgotten password", .content = "forgot_password"};
  page.values.set("email", email);
  return page;
}

}  // namespace

Page show_verification(Visit& visit) {
  return token_page("Verify your address", "verify_email", visit.query("token"));
}

Page verify_email(Visit& visit) {
  visit.services.db.write([&](db::Tx& tx) {
    accounts::verify_email(tx, visit.field("token"), visit.services.signup_bonus);
  });
  return message("Your address is verified", {"Thank you."}, "/account", "To your account");
}

Page show_forgot_password(Visit&) { return forgot_page(""); }

Page forgot_password(Visit& visit) {
  const Services& services = visit.services;
  services.db.write([&](db::Tx& tx) {
    accounts::request_reset(tx, visit.field("email"), services.keys, services.base_url);
  });
  return message("Look into your mailbox",
                 {"If somebody has an account with the address " + visit.field("email") +
                  ", a mail is on its way to it. The link in it works for an hour."},
                 "/login", "Back to login");
}

Page show_reset_password(Visit& visit) {
  return token_page("Choose a new password", "reset_password", visit.query("token"));
}

Page reset_password(Visit& visit) {
  const std::string token = visit.field("token");
  return unless_refused(
      [&] {
        api::reset_password(token, visit.field("password"), visit.services);
        Page page = message("The password is changed", {"You are logged out everywhere."}, "/login",
                            "Log in");
        page.session = "";
        return page;
      },
      [&] { return token_page("Choose a new password", "reset_password", token); });
}

}  // namespace berth::api::pages
