#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/gate/services.h"
#include "api/pages/templates.h"
#include "api/transport/http.h"
#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/scopes.h"

// What the hosted pages are made of.
namespace berth::api::pages {

// A request for a page. A form has passed the check of its token before the page sees it.
struct Visit {
  const Request& http;
  const Services& services;
  std::string address;
  Query form;                                 // the fields of a POST: UTF-8
  std::optional<accounts::SignedIn> visitor;  // by the session cookie
  std::string csrf;                           // for the forms of the page
  std::string form_id;                        // of this browser: the cookie that csrf is bound to

  // The first value; empty where there is none.
  std::string field(std::string_view name) const;
  std::string query(std::string_view name) const;
  std::string user_agent() const { return std::string(http.headers.get("User-Agent")); }
  const accounts::User& user() const { return visitor->user; }
};

struct Page {
  int status = 200;
  std::string title;
  std::string_view content = "message";  // a template
  Values values = Values(Values::type::object);
  // Instead of a page: 303 to there. A path of ours, or a redirect URI that an app has registered.
  std::string go_to = {};
  // Where a form may lead besides to us: browsers hold its redirects against form-action, too.
  std::string form_target = {};
  // For the session cookie: a JWT; empty: it ends.
  std::optional<std::string> session = {};
  std::optional<std::chrono::seconds> retry_after = {};
  std::optional<SecurityEvent> event = {};  // for the security log
};

Page go_to(std::string path);
Page message(std::string title, const std::vector<std::string>& paragraphs, std::string link = {},
             const std::string& link_text = {});
// Where a mail is that may not have been sent: in development berthd needs no mail server. Empty in
// production.
std::string whereabouts_of_mail(const Services& services);
// `page` with the reason why it is there again.
Page refused(Page page, const Error& error);
// Runs `work()`; what it refuses is shown on the page that `again()` makes.
template <typename Work, typename Again>
Page unless_refused(Work&& work, Again&& again) {
  try {
    return work();
  } catch (const Error& error) {
    return refused(again(), error);
  }
}

// Where to go after the login: a page of ours, or the authorization that was asked for; /account
// where `next` is anything else.
std::string safe_next(const std::string& next);
std::string with_parameter(const std::string& path, std::string_view name, std::string_view value);
// "21 November 2026, 14:05 UTC"
std::string in_words(Instant at);
// What the authorization in `next` (see safe_next) asks for, and where it may lead: the name of the
// app, and its redirect URI as the source that form-action takes. Empty where `next` is none, or
// is broken: that is said there.
struct Asking {
  std::string app_name;
  std::string form_target;
};
Asking asking_in(const Visit& visit, const std::string& next);
// What an app may do with the scope, for the user.
std::string_view in_words(Scope scope);
// A list for a template: name and words of each.
Values scope_values(const ScopeSet& scopes);

// login_pages.cpp
Page show_login(Visit& visit);
Page log_in(Visit& visit);
Page log_in_by_code(Visit& visit);
Page log_out(Visit& visit);
Page show_registration(Visit& visit);
Page register_account(Visit& visit);

// mail_pages.cpp
Page show_verification(Visit& visit);
Page verify_email(Visit& visit);
Page show_forgot_password(Visit& visit);
Page forgot_password(Visit& visit);
Page show_reset_password(Visit& visit);
Page reset_password(Visit& visit);

// account_pages.cpp
Page show_home(Visit& visit);
Page show_account(Visit& visit);
Page rename(Visit& visit);
Page change_password(Visit& visit);
Page resend_verification(Visit& visit);
Page end_session(Visit& visit);
Page delete_account(Visit& visit);

// totp_pages.cpp
Page show_totp(Visit& visit);
Page set_up_totp(Visit& visit);
Page enable_totp(Visit& visit);
Page disable_totp(Visit& visit);
Page new_recovery_codes(Visit& visit);

// consent_pages.cpp
Page show_consent(Visit& visit);
Page decide_consent(Visit& visit);

// connection_pages.cpp
Page show_connected_apps(Visit& visit);
Page limit_app(Visit& visit);
Page change_session_access(Visit& visit);
Page disconnect_app(Visit& visit);

// admin_pages.cpp
Page show_scope_requests(Visit& visit);
Page approve_scopes(Visit& visit);
Page reject_scopes(Visit& visit);

}  // namespace berth::api::pages
