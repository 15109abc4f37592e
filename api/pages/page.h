#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/gate/services.h"
#include "api/pages/templates.h"
#include "api/resources/accounts/sign_in.h"
#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/messages.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/transport/http.h"

// What the hosted pages have in common, and the declarations of their handlers.
namespace berth::api::pages {

// Adds the Content-Security-Policy, and the other fields that all HTML of berth has for security.
void add_security_headers(Response& response, std::string policy);
// Says which language the HTML is in, and what of the request has chosen it.
void add_language_headers(Response& response, Language language);

// A request for a page. If it is a form, its token was checked before the handler is called.
struct Visit {
  const Request& http;
  const Services& services;
  std::string address;
  Query form;                                 // the fields of a POST, in UTF-8
  std::optional<accounts::SignedIn> visitor;  // who is logged in, by the session cookie
  std::string csrf;                           // the token to put into the page's forms
  std::string form_id;  // the value of the browser's form cookie, which `csrf` is bound to
  Language language = Language::en;  // of the page

  // Return the first value of that name; empty if there is none.
  std::string field(std::string_view name) const;
  std::string query(std::string_view name) const;
  std::string user_agent() const { return std::string(http.headers.get("User-Agent")); }
  const accounts::User& user() const { return visitor->user; }
  // Returns the text in the page's language; see messages::say().
  std::string say(std::string_view english,
                  std::initializer_list<messages::Insert> values = {}) const {
    return messages::say(language, english, values);
  }
};

struct Page {
  int status = 200;
  std::string title;
  std::string_view content = "message";  // the name of a template
  Values values = Values(Values::type::object);
  // If set, the answer is 303 to this place instead of a page: a path of berth's own, a redirect
  // URI that an app has registered, or the link of an ad.
  std::string go_to = {};
  // A source, besides berth itself, that the page's forms may lead to. Browsers apply the policy
  // form-action also to redirects that answer a form.
  std::string form_target = {};
  // If set, the session cookie is set to this JWT; if it is set to an empty text, the cookie is
  // deleted.
  std::optional<std::string> session = {};
  std::optional<Language> choice = {};  // if set, the browser's choice of a language
  // Whether the page can't be opened again, so that no language is chosen on it.
  bool is_shown_once = false;
  // The name of the template that has the page's script, the only one that the browser may run
  // there; empty if it has none.
  std::string_view script = {};
  std::optional<std::chrono::seconds> retry_after = {};
  std::optional<SecurityEvent> event = {};  // entry for the security log
};

// Returns a redirect to `path`; see Page::go_to.
Page go_to(std::string path);
// Returns a page that consists of a title, paragraphs and, unless `link` is empty, a link.
Page message(std::string title, const std::vector<std::string>& paragraphs,
             const std::string& link = {}, const std::string& link_text = {});
// Returns a sentence that says where to find a mail in development, where berthd needs no mail
// server; empty in production.
std::string whereabouts_of_mail(const Visit& visit);
// Returns `page` with the error's message on it, in the page's language, and the error's status.
// The value `wrong_FIELD` says what is wrong with that field of the form, for the place beside it.
Page refused(const Visit& visit, Page page, const Error& error);
// Returns `work()`. If that throws an Error, returns the page that `again()` makes, with the error
// on it.
template <typename Work, typename Again>
Page unless_refused(const Visit& visit, Work&& work, Again&& again) {
  try {
    return work();
  } catch (const Error& error) {
    return refused(visit, again(), error);
  }
}

inline constexpr const char* admins_page = "/admin/scope-requests";

// Returns where to go after the login: `next` if it is the console, one of berth's own pages or an
// authorization request, and /account if it is anything else.
std::string safe_next(const std::string& next);
// The same for people who have just signed up: the console unless `next` leads elsewhere.
std::string next_of_newcomer(const std::string& next);
// Sets the value `focus_FIELD` for the first of the form's fields that is wrong or, if none is,
// empty. The page has what was typed as values of the fields' names.
void set_focus(Page& page, std::initializer_list<const char*> fields);
// Returns the path with one more parameter in its query, percent-encoded.
std::string with_parameter(const std::string& path, std::string_view name, std::string_view value);
// Returns the time in the page's language, such as "21 November 2026, 14:05 UTC".
std::string in_words(const Visit& visit, Instant at);
// Returns the time in days, hours or seconds, the largest of which it is a whole number, such as
// "90 days".
std::string duration_in_words(const Visit& visit, Duration time);
// Returns what the authorization request in `next` (see safe_next) is about: the app's name, and
// its redirect URI as a source for the policy form-action. Returns empty texts if `next` is no such
// request or the request is wrong, which the consent page then reports.
struct Asking {
  std::string app_name;
  std::string form_target;
  // Of OpenID Connect: the address that the app expects, and the languages that it wishes. They may
  // be any text.
  std::string login_hint;
  std::string ui_locales;
};
Asking asking_in(const Visit& visit, const std::string& next);
// Shows the page in the first of these languages (RFC 5646) that there is, unless a language was
// chosen in the browser.
void follow_locales(Visit& visit, const std::string& ui_locales);
// Whether `next` is an authorization request that wants the visitor to log in again.
bool wants_new_login(const Visit& visit, const std::string& next);
// Returns the redirect URI as a source for the policy form-action (Page::form_target); empty if it
// can't be one.
std::string form_target(const std::string& redirect_uri);
// Returns the name of the program that sent this User-Agent, in the page's language.
std::string program_in_words(const Visit& visit, const std::string& user_agent);
// Puts one of the values `maker`, `built_in` and `unregistered` into the page, which say whose the
// app is and since when it exists, that it belongs to the platform, or that nobody has registered
// it.
void set_maker(const Visit& visit, const apps::App& app, Page& page);
// Returns a description, for users, of what an app may do with the scope.
std::string in_words(const Visit& visit, Scope scope);
// Returns the names and descriptions of the scopes as a list for a template.
Values scope_values(const Visit& visit, const ScopeSet& scopes);

// In login_pages.cpp:
Page show_login(Visit& visit);
Page log_in(Visit& visit);
Page log_in_by_code(Visit& visit);
// The page of the login form, and what leads on from a login.
Page login_page(const Visit& visit, const std::string& next, const std::string& email);
Page enter(const Visit& visit, const SignedIn& signed_in);
Page log_out(Visit& visit);
Page show_registration(Visit& visit);
Page register_account(Visit& visit);

// In mail_pages.cpp:
Page show_verification(Visit& visit);
Page verify_email(Visit& visit);
Page send_verification_again(Visit& visit);
Page show_forgot_password(Visit& visit);
Page forgot_password(Visit& visit);
Page show_reset_password(Visit& visit);
Page reset_password(Visit& visit);
Page show_email_change(Visit& visit);
Page confirm_email_change(Visit& visit);
Page show_email_change_stop(Visit& visit);
Page stop_email_change(Visit& visit);

// In account_pages.cpp:
Page show_home(Visit& visit);
Page show_account(Visit& visit);
Page rename(Visit& visit);
Page change_password(Visit& visit);
Page change_email(Visit& visit);
Page resend_verification(Visit& visit);
Page end_session(Visit& visit);
Page end_other_sessions(Visit& visit);
// Adds a button that ends the visitor's other sessions to a page which says that they have changed
// what logs them in; nothing if they are logged in nowhere else.
void offer_to_end_others(const Visit& visit, Page& page);
Page end_device(Visit& visit);
Page delete_account(Visit& visit);

// In totp_pages.cpp:
Page show_totp(Visit& visit);
Page set_up_totp(Visit& visit);
Page enable_totp(Visit& visit);
Page disable_totp(Visit& visit);
Page new_recovery_codes(Visit& visit);
Page prove_totp(Visit& visit);
// Returns a page on which the visitor proves their second factor again, by a code or a passkey. It
// leads to `next`: an admin's page, or one on which second factors are changed.
Page prove_totp_page(const Visit& visit, const std::string& next);

// In passkey_pages.cpp:
Page log_in_by_passkey(Visit& visit);
Page show_passkeys(Visit& visit);
Page start_passkey(Visit& visit);
Page add_passkey(Visit& visit);
Page rename_passkey(Visit& visit);
Page remove_passkey(Visit& visit);
Page prove_passkey(Visit& visit);
// Puts the button for a login with a passkey on the page. It does nothing if the platform has none.
void set_passkey_login(const Visit& visit, Page& page);
// Puts the button on the page with which the visitor proves their second factor by a passkey, if
// they have one.
void set_passkey_proof(const Visit& visit, Page& page);
// Returns what follows a refusal: if it asks for a second factor that the visitor has, the page on
// which they prove it, which leads to `next`; otherwise the page that `again()` makes, with the
// error on it.
Page refused_or_prove(const Visit& visit, const Error& error, const std::string& next,
                      const std::function<Page()>& again);

// In consent_pages.cpp:
Page show_consent(Visit& visit);
Page decide_consent(Visit& visit);
// The path of the form on the consent page.
inline constexpr const char* consent_form = "/consent";
// Returns the path of the consent page for the request in its form.
std::string place_of_question(const Query& form);

// In end_session_pages.cpp:
Page show_end_session(Visit& visit);
Page lead_to_consent(Visit& visit);
Page lead_to_end_session(Visit& visit);
Page end_session_of_app(Visit& visit);

// In device_pages.cpp:
Page show_device(Visit& visit);
Page enter_device_code(Visit& visit);
Page decide_device(Visit& visit);

// In connection_pages.cpp:
Page show_connected_apps(Visit& visit);
Page limit_app(Visit& visit);
Page change_session_access(Visit& visit);
Page disconnect_app(Visit& visit);

// In ad_pages.cpp:
Page follow_ad(Visit& visit);

// In receipt_pages.cpp:
Page show_receipt_check(Visit& visit);

// In language_pages.cpp:
Page choose_language(Visit& visit);
// Returns where the choice of a language on this page leads: to the page itself or, after a form,
// to the page that the form is on, with the form's `next` and `token`, or with what the app asks.
std::string place_of(const Visit& visit);

// In admin_pages.cpp:
Page show_scope_requests(Visit& visit);
Page approve_scopes(Visit& visit);
Page reject_scopes(Visit& visit);

}  // namespace berth::api::pages
