#include "api/pages/pages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "api/gate/authenticate.h"
#include "api/gate/client_address.h"
#include "api/gate/language.h"
#include "api/gate/repeated_field.h"
#include "api/gate/request_log.h"
#include "api/gate/write_guard.h"
#include "api/pages/page.h"
#include "api/resources/oauth/openid.h"
#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/base/log.h"
#include "controller/base/requester.h"
#include "controller/base/shares.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api::pages {

using write_budgets::Stores;

namespace {

const Rate shown = per_minute(120);  // page views from one network
const Rate sent = per_minute(20);    // forms of one kind

constexpr SuccessEvent noted(SecurityKind kind, std::string_view reason) { return {kind, reason}; }

bool wants_html(const Request& request) {
  return request.headers.mentions("Accept", "text/html") && !request.headers.find("Authorization");
}

Page refuse(int status, const std::string& title, const std::string& text) {
  Page page = message(title, {text});
  page.status = status;
  return page;
}

}  // namespace

struct Pages::Row : PageRow {
  Page (*run)(Visit&);
};

std::span<const Pages::Row> Pages::table() {
  static constexpr Row rows[] = {
      {{"GET", "/login", "page_login", Who::anybody, Stores::nothing}, show_login},
      {{"POST", "/login", "page_login", Who::anybody, Stores::sign_in}, log_in},
      {{"POST", "/login/code", "page_login_code", Who::anybody, Stores::sign_in}, log_in_by_code},
      {{"POST", "/login/passkey", "page_login_passkey", Who::anybody, Stores::sign_in},
       log_in_by_passkey},
      {{"POST", "/logout", "page_logout", Who::anybody, Stores::nothing,
        noted(SecurityKind::session_ended, "logout")},
       log_out},
      {{"GET", "/register", "page_register", Who::anybody, Stores::nothing}, show_registration},
      {{"POST", "/register", "page_register", Who::anybody, Stores::registration,
        noted(SecurityKind::account_registered, "registered")},
       register_account},
      {{"GET", "/verify-email", "page_verify_email", Who::anybody, Stores::nothing},
       show_verification},
      {{"POST", "/verify-email", "page_verify_email", Who::anybody, Stores::registration,
        noted(SecurityKind::account_changed, "address_verified")},
       verify_email},
      {{"POST", "/verify-email/again", "page_verify_email_again", Who::user, Stores::registration,
        noted(SecurityKind::account_changed, "verification_mailed")},
       send_verification_again},
      {{"GET", "/forgot-password", "page_forgot_password", Who::anybody, Stores::nothing},
       show_forgot_password},
      {{"POST", "/forgot-password", "page_forgot_password", Who::anybody, Stores::registration,
        noted(SecurityKind::password_reset_requested, "asked")},
       forgot_password},
      {{"GET", "/reset-password", "page_reset_password", Who::anybody, Stores::nothing},
       show_reset_password},
      {{"POST", "/reset-password", "page_reset_password", Who::anybody, Stores::registration,
        noted(SecurityKind::password_changed, "by_mail")},
       reset_password},
      {{"GET", "/email-change", "page_email_change", Who::anybody, Stores::nothing},
       show_email_change},
      {{"POST", "/email-change", "page_email_change", Who::anybody, Stores::registration,
        noted(SecurityKind::account_changed, "address_changed")},
       confirm_email_change},
      {{"GET", "/email-change/stop", "page_stop_email_change", Who::anybody, Stores::nothing},
       show_email_change_stop},
      {{"POST", "/email-change/stop", "page_stop_email_change", Who::anybody, Stores::registration,
        noted(SecurityKind::account_changed, "address_kept")},
       stop_email_change},
      {{"GET", "/", "page_home", Who::anybody, Stores::nothing}, show_home},
      {{"GET", "/account", "page_account", Who::user, Stores::nothing}, show_account},
      {{"POST", "/account/username", "page_username", Who::user, Stores::account,
        noted(SecurityKind::account_changed, "renamed")},
       rename},
      {{"POST", "/account/password", "page_password", Who::user, Stores::account,
        noted(SecurityKind::password_changed, "by_password")},
       change_password},
      {{"POST", "/account/email", "page_change_email", Who::user, Stores::registration,
        noted(SecurityKind::account_changed, "address_asked")},
       change_email},
      {{"POST", "/account/resend-verification", "page_resend", Who::user, Stores::registration,
        noted(SecurityKind::account_changed, "verification_mailed")},
       resend_verification},
      {{"POST", "/account/sessions/end", "page_end_session", Who::user, Stores::nothing,
        noted(SecurityKind::session_ended, "by_user")},
       end_session},
      {{"POST", "/account/sessions/end-others", "page_end_other_sessions", Who::user,
        Stores::nothing, noted(SecurityKind::session_ended, "by_user")},
       end_other_sessions},
      {{"POST", "/account/devices/end", "page_end_device", Who::user, Stores::nothing,
        noted(SecurityKind::session_ended, "device")},
       end_device},
      {{"POST", "/account/delete", "page_delete_account", Who::user, Stores::nothing,
        noted(SecurityKind::account_deleted, "by_user")},
       delete_account},
      {{"GET", "/account/totp", "page_totp", Who::user, Stores::nothing}, show_totp},
      {{"POST", "/account/totp/setup", "page_set_up_totp", Who::user, Stores::account,
        noted(SecurityKind::second_factor_changed, "set_up")},
       set_up_totp},
      {{"POST", "/account/totp/enable", "page_enable_totp", Who::user, Stores::account,
        noted(SecurityKind::second_factor_changed, "enabled")},
       enable_totp},
      {{"POST", "/account/totp/disable", "page_disable_totp", Who::user, Stores::account,
        noted(SecurityKind::second_factor_changed, "disabled")},
       disable_totp},
      {{"POST", "/account/totp/recovery-codes", "page_recovery_codes", Who::user, Stores::account,
        noted(SecurityKind::second_factor_changed, "new_recovery_codes")},
       new_recovery_codes},
      {{"POST", "/account/totp/prove", "page_prove_totp", Who::user, Stores::sign_in,
        noted(SecurityKind::proof_given, "step_up")},
       prove_totp},
      {{"GET", "/account/passkeys", "page_passkeys", Who::user, Stores::nothing}, show_passkeys},
      {{"POST", "/account/passkeys/start", "page_start_passkey", Who::user, Stores::sign_in,
        noted(SecurityKind::proof_given, "passkey_options")},
       start_passkey},
      {{"POST", "/account/passkeys/add", "page_add_passkey", Who::user, Stores::account,
        noted(SecurityKind::second_factor_changed, "passkey_added")},
       add_passkey},
      {{"POST", "/account/passkeys/rename", "page_rename_passkey", Who::user, Stores::account,
        noted(SecurityKind::second_factor_changed, "passkey_renamed")},
       rename_passkey},
      {{"POST", "/account/passkeys/remove", "page_remove_passkey", Who::user, Stores::account,
        noted(SecurityKind::second_factor_changed, "passkey_removed")},
       remove_passkey},
      {{"POST", "/account/passkeys/prove", "page_prove_passkey", Who::user, Stores::sign_in,
        noted(SecurityKind::proof_given, "step_up")},
       prove_passkey},
      {{"GET", "/api/oauth/authorize", "page_authorize", Who::anybody, Stores::sign_in},
       show_consent},
      {{.method = "POST",
        .path = "/api/oauth/authorize",
        .name = "page_authorize_by_post",
        .stores = Stores::nothing,
        .is_from_apps = true},
       lead_to_consent},
      {{"POST", consent_form, "page_consent", Who::user, Stores::sign_in}, decide_consent},
      {{"GET", api::end_session_path, "page_end_session", Who::anybody, Stores::nothing},
       show_end_session},
      {{.method = "POST",
        .path = api::end_session_path,
        .name = "page_end_session",
        .stores = Stores::nothing,
        .is_from_apps = true},
       lead_to_end_session},
      {{"POST", "/end-session/confirm", "page_confirm_end_session", Who::anybody, Stores::nothing,
        noted(SecurityKind::session_ended, "logout")},
       end_session_of_app},
      {{"GET", "/device", "page_device", Who::user, Stores::nothing}, show_device},
      {{"POST", "/device", "page_device_code", Who::user, Stores::sign_in}, enter_device_code},
      {{"POST", "/device/decide", "page_decide_device", Who::user, Stores::sign_in}, decide_device},
      {{"GET", "/connected-apps", "page_connected_apps", Who::user, Stores::nothing},
       show_connected_apps},
      {{"POST", "/connected-apps/limit", "page_limit_app", Who::user, Stores::account,
        noted(SecurityKind::consent_changed, "limited")},
       limit_app},
      {{"POST", "/connected-apps/session", "page_session_access", Who::user, Stores::account,
        noted(SecurityKind::consent_changed, "session_access")},
       change_session_access},
      {{"POST", "/connected-apps/disconnect", "page_disconnect", Who::user, Stores::nothing,
        noted(SecurityKind::consent_changed, "withdrawn")},
       disconnect_app},
      {{"POST", "/language", "page_language", Who::anybody, Stores::account}, choose_language},
      {{"GET", "/receipts/verify", "page_verify_receipt", Who::anybody, Stores::nothing},
       show_receipt_check},
      {{"GET", "/ads/click", "page_ad_click", Who::anybody, Stores::ads}, follow_ad},
      {{"GET", "/admin/scope-requests", "page_scope_requests", Who::admin, Stores::nothing},
       show_scope_requests},
      {{"POST", "/admin/scope-requests/approve", "page_approve", Who::admin, Stores::administration,
        noted(SecurityKind::admin_action, "page_approve")},
       approve_scopes},
      {{"POST", "/admin/scope-requests/reject", "page_reject", Who::admin, Stores::administration,
        noted(SecurityKind::admin_action, "page_reject")},
       reject_scopes},
  };
  return rows;
}

std::vector<PageRow> Pages::rows() { return {table().begin(), table().end()}; }

const Pages::Row* Pages::find(const Request& request, std::string_view path) {
  const std::string_view method = request.method == "HEAD" ? "GET" : request.method;
  for (const Row& row : table())
    if (row.method == method && row.path == path &&
        (wants_html(request) || !(row.path == "/" || row.path.starts_with("/api/"))))
      return &row;
  return nullptr;
}

namespace {

// The files beside the pages.
struct Asset {
  std::string_view path;
  const char* content_type;
  const std::string& (*content)();
};
constexpr std::array<Asset, 4> assets = {{
    {"/assets/pages.css", "text/css; charset=utf-8", stylesheet},
    {"/assets/berth.svg", "image/svg+xml", icon},
    // What browsers ask for on their own, such as for a file of JSON that is opened in a tab.
    {"/favicon.ico", "image/svg+xml", icon},
    {"/robots.txt", "text/plain; charset=utf-8", robots},
}};

// Whether the text is exactly one source of a policy: an origin or a scheme (CSP 3, section 2.3.1).
bool is_source(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || std::string_view("+-.:/[]").contains(char(c)));
  });
}

// `script` is the hash of the page's script; empty if it has none.
std::string policy_for(const std::string& form_target, const std::string& script = {}) {
  // Almost no page has a script that could connect to anything. connect-src is for tools that audit
  // a site: they fetch robots.txt from within the page.
  std::string policy =
      "default-src 'none'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
      "frame-ancestors 'none'; form-action 'self'";
  if (is_source(form_target)) policy += " " + form_target;
  if (!script.empty()) policy += "; script-src 'sha256-" + script + "'";
  return policy;
}

// Fills the page in and puts it into the response. The form in which a language is chosen needs the
// token in `csrf`.
void show_html(Page page, Language language, Response& response) {
  page.values.set("title", page.title);
  Values languages(Values::type::list);
  for (const Language one : all_languages) {
    Values entry(Values::type::object);
    entry.set("code", std::string(to_string(one)));
    entry.set("language_name", std::string(messages::own_name(one)));
    entry.set("chosen",
              Values(one == language ? Values::type::bool_true : Values::type::bool_false));
    languages.push_back(entry);
  }
  page.values.set("languages", languages);
  response.content_type = "text/html; charset=utf-8";
  add_language_headers(response, language);
  response.body = render(page.content, language, page.values);
}

void show(const Visit& visit, Page page, Response& response) {
  response.status = page.status;
  const std::string script = page.script.empty() ? "" : hash_of_script(page.script);
  add_security_headers(response, policy_for(page.form_target, script));
  response.add_header("Cache-Control", "no-store");
  if (page.retry_after)
    response.add_header("Retry-After", std::to_string(page.retry_after->count()));
  if (!page.go_to.empty()) {
    response.status = 303;
    response.add_header("Location", page.go_to);
    return;
  }
  page.values.set("csrf", visit.csrf);
  if (!page.is_shown_once) page.values.set("place", place_of(visit));
  if (visit.visitor) {
    Values user(Values::type::object);
    user.set("username", visit.user().username);
    const bool decides = visit.user().admin_role == accounts::AdminRole::admin;
    user.set("is_admin", Values(decides ? Values::type::bool_true : Values::type::bool_false));
    page.values.set("user", user);
  }
  show_html(std::move(page), visit.language, response);
}

// Returns why the visitor isn't admitted as an admin, by the same rule as for the API.
std::optional<Error> refusal_of_admin(const Visit& visit) {
  try {
    visit.services.db.read([&](db::Tx& tx) {
      admit_admin(tx, visit.user(), visit.visitor->session_id, AdminAccess::changes);
      if (visit.user().admin_role != accounts::AdminRole::admin)
        throw Error(Code::forbidden, "this page needs the role admin");
    });
    return std::nullopt;
  } catch (const Error& refusal) {
    return refusal;
  }
}

// Returns the page that a visitor sees in place of an admin's page. It says what they can do about
// it.
Page no_admins_page(const Visit& visit, const Error& refusal) {
  const auto step_up = refusal.details.find("step_up");
  Page page;
  if (step_up == refusal.details.end())
    page = message(visit.say("No access"), {visit.say("This page is for admins of the platform.")});
  else if (step_up->second.front() == "prove_second_factor")
    page = prove_totp_page(visit, admins_page);
  else
    page = message(visit.say("No access"), {visit.say("Admins need a second factor.")},
                   "/account/totp", visit.say("Set up the second factor"));
  page.status = status(refusal.code);
  page.event = security_event_of(refusal);
  return page;
}

write_budgets::Writer writer_of(const Visit& visit) {
  write_budgets::Writer writer = {.account_id = {}, .is_verified = {}, .address = visit.address};
  if (!visit.visitor) return writer;
  writer.account_id = visit.user().id;
  writer.is_verified = [is = visit.user().email_verified] { return is; };
  return writer;
}

Requester requester_of(const Visit& visit, std::string_view form, const std::string& request_id) {
  Requester who;
  who.operation = form;
  who.network = accounts::network_of(visit.address);
  who.request_id = request_id;
  if (!visit.visitor) return who;
  who.actor = std::string(actor_of_console) + visit.user().id;
  who.user_id = visit.user().id;
  who.token_kind = "console";
  who.token_id = visit.visitor->session_id;
  return who;
}

// Records a form that has changed something in the audit log, unless its module has. A form that
// was refused may have changed something, too, such as the count of wrong passwords.
void record_form(const Visit& visit, const Page& page, Requester& requester) {
  constexpr int first_error = 400;
  const bool is_refused =
      page.status >= first_error || (page.event && is_limited(page.event->kind));
  if (is_refused || !requester.has_changed || requester.is_recorded) return;
  visit.services.db.write([&](db::Tx& tx) {
    const std::string& account = Claimant::of_thread().account;
    audit::record_operation(tx, account.empty() ? "" : "user", account);
  });
}

// Returns the page of a row, or the page that says why it can't be shown.
Page answer(Visit& visit, Who who, Stores stores, Page (*run)(Visit&)) {
  if (who != Who::anybody && !visit.visitor) {
    const std::string path(visit.http.path);
    return go_to(visit.http.method == "POST" ? "/login" : with_parameter("/login", "next", path));
  }
  try {
    if (who == Who::admin) {
      const auto refusal = refusal_of_admin(visit);
      if (refusal) return no_admins_page(visit, *refusal);
    }
    if (auto refusal = write_guard::refusal(visit.services, writer_of(visit), stores))
      throw Error(*std::move(refusal));
    return run(visit);
  } catch (const Error& error) {
    return refused(visit, message(visit.say("That didn’t work"), {}), error);
  }
}

// Whether a browser looks for a page where there is none. What is below these paths, or has a route
// of its own, such as an ad's picture that is opened in a tab, is the API's to answer.
bool seeks_page(const Request& request, const Router& api) {
  constexpr std::array of_programs = {"/api/", "/.well-known/", "/health"};
  const bool reads = request.method == "GET" || request.method == "HEAD";
  return reads && wants_html(request) &&
         std::ranges::none_of(of_programs,
                              [&](const char* path) { return request.path.starts_with(path); }) &&
         api.find(request.method, request.path).route == nullptr;
}

// It has no form for the language, since nobody has looked at the browser's cookies.
void show_no_page(const Request& request, Response& response) {
  const Language language = language_of(request);
  Page page =
      message(messages::say(language, "There is no such page"),
              {messages::say(language,
                             "The address may be mistyped, or what it led to may be gone. The "
                             "console is at /console, the documentation at /docs.")},
              "/", messages::say(language, "Go to the start page"));
  response.status = 404;
  add_security_headers(response, policy_for(page.form_target));
  response.add_header("Cache-Control", "no-store");
  show_html(std::move(page), language, response);
}

std::string refusal_of_form(const Visit& visit) {
  const std::string expected = visit.csrf;
  const bool ours = is_same_origin(visit.http) && visit.form.count("csrf") == 1 &&
                    equal_in_constant_time(visit.field("csrf"), expected);
  return ours ? ""
              : visit.say(
                    "The form is too old, or wasn’t sent from this site. Go back, reload the page "
                    "and send it again. Your browser must accept cookies from this site.");
}

}  // namespace

Pages::Pages(const Services& services, HttpMetrics& metrics)
    : services_(services),
      metrics_(metrics),
      cookies_(services.base_url),
      api_(routes(), services.environment) {
  check_templates();
}

bool Pages::handle(const Request& request, Response& response) {
  const auto asset = std::ranges::find(assets, request.path, &Asset::path);
  if (asset != assets.end() && request.method == "GET") {
    response.content_type = asset->content_type;
    response.add_header("Cache-Control", "max-age=300");
    response.body = asset->content();
    return true;
  }
  const Row* row = find(request, request.path);
  if (row == nullptr) {
    if (redirect_from_slash(request, response)) return true;
    if (!seeks_page(request, api_)) return false;
    show_no_page(request, response);
    response.add_header("X-Request-Id", new_uuid(services_.clock.now()));
    return true;
  }
  const auto started = std::chrono::steady_clock::now();
  const std::string request_id = new_uuid(services_.clock.now());
  const ClaimantOfThread claimant(Claimant::of_thread());  // a copy, in which the user is named
  try {
    db::limited(db::RequestLimits(), [&] { serve(*row, request, request_id, response); });
  } catch (const db::TooSlow&) {
    response = Response();
    response.status = 503;
    response.content_type = "text/plain; charset=utf-8";
    response.body = "berthd is too busy for this page at the moment; please try again later\n";
  } catch (const std::exception& failure) {
    log::error("a page failed",
               {{"request_id", request_id}, {"path", request.path}, {"error", failure.what()}});
    response = Response();
    response.status = 500;
    response.content_type = "text/plain; charset=utf-8";
    response.body = "berthd failed; its log has an entry with the request id " + request_id + "\n";
  }
  response.add_header("X-Request-Id", request_id);
  const auto took = std::chrono::steady_clock::now() - started;
  metrics_.observe(std::string(request.method), std::string(row->name), response.status, took);
  log_request({.request_id = request_id,
               .method = request.method,
               .route = row->name,
               .address = client_address(request, services_.admission.trusted_proxies),
               .status = response.status,
               .took = took},
              request.method == "POST" ? RequestKind::change : RequestKind::read);
  return true;
}

// Redirects from an address with a slash at its end to the page without it. The target is always an
// address of the table, and so never one like //example.org/.
bool Pages::redirect_from_slash(const Request& request, Response& response) const {
  if (!request.path.ends_with('/')) return false;
  const Row* row = find(request, request.path.substr(0, request.path.size() - 1));
  if (row == nullptr) return false;
  constexpr int permanent_redirect = 308;
  response.status = permanent_redirect;
  const std::string query = request.raw_query.empty() ? "" : "?" + std::string(request.raw_query);
  response.add_header("Location", std::string(row->path) + query);
  response.add_header("X-Request-Id", new_uuid(services_.clock.now()));
  return true;
}

void Pages::serve(const Row& row, const Request& request, const std::string& request_id,
                  Response& response) {
  Visit visit = {.http = request,
                 .services = services_,
                 .address = client_address(request, services_.admission.trusted_proxies),
                 .form = {},
                 .visitor = {},
                 .csrf = {},
                 .form_id = cookies_.form(request),
                 .language = language_of(request)};
  const auto note = [&](const SecurityEvent& event) {
    services_.security.note(
        event, {.address = visit.address, .route = row.name, .request_id = request_id});
  };
  const std::string jwt = cookies_.session(request);
  if (!jwt.empty()) try {
      visit.visitor = services_.db.read([&](db::Tx& tx) {
        return accounts::check_signed_in(tx, jwt, services_.keys, &services_.logins.session_uses);
      });
      ClaimantOfThread::set_account(visit.user().id);
      if (visit.visitor->ends_idle)
        services_.logins.session_uses.note(visit.visitor->session_id, services_.clock.now());
    } catch (const Error& refusal) {
      response.add_header("Set-Cookie", cookies_.end_session());
      SecurityEvent event = refusal.event.value_or(
          SecurityEvent{.kind = SecurityKind::token_rejected, .reason = name(refusal.code)});
      event.token_kind = "session_cookie";
      note(event);
    }
  const bool new_browser = visit.form_id.empty();
  if (new_browser) visit.form_id = random_token("");
  const auto bind_forms = [&] {
    visit.csrf = csrf_token(services_.keys, visit.form_id,
                            visit.visitor ? visit.visitor->session_id : std::string());
  };
  bind_forms();
  Page page;
  const bool is_form = request.method == "POST";
  const Rate rate = share_of(is_form ? sent : shown, services_.live_replicas());
  const std::string key = std::string(row.name) + (is_form ? " sent " : " shown ") +
                          accounts::network_of(visit.address);
  RateLimiter::Verdict verdict;
  if (services_.rate_limits) verdict = limiter_.take(key, rate, std::chrono::steady_clock::now());
  if (is_form)
    if (auto form = parse_form(request.body); form && is_utf8(*form)) visit.form = std::move(*form);
  if (!verdict.allowed) {
    page = refuse(429, visit.say("Too many requests"), visit.say("Wait a moment, then try again."));
    page.retry_after = verdict.reset;
  } else if (const auto repeated = repeated_field(request.headers)) {
    page = refuse(400, visit.say("That didn’t work"),
                  visit.say("Your browser sent {header} more than once.",
                            {{"header", std::string(*repeated)}}));
  } else if (!is_utf8(request.query)) {
    page = refuse(400, visit.say("That didn’t work"),
                  visit.say("The address of this page isn’t valid."));
  } else if (const std::string why = is_form && !row.is_from_apps ? refusal_of_form(visit) : "";
             !why.empty()) {
    page = refuse(403, visit.say("Please try again"), why);
    page.event = {.kind = SecurityKind::form_rejected, .reason = "wrong_form_token"};
  } else {
    const write_budgets::Writer writer = writer_of(visit);
    const db::WriteMeter meter;
    Requester requester = requester_of(visit, row.name, request_id);
    const RequesterOfThread scope(requester);
    page = answer(visit, row.who, row.stores, row.run);
    if (is_form) record_form(visit, page, requester);
    write_guard::charge(services_, writer, row.stores, meter.total());
  }
  if (!page.event && is_form && page.status < 400)
    page.event = security_event_of_success(row.event);
  if (!page.event && page.status == 403)
    page.event = {.kind = SecurityKind::access_refused, .reason = name(Code::forbidden)};
  if (page.event) note(*page.event);
  if (page.session) {
    // Each new session gets a new form cookie, so that one that somebody planted becomes useless at
    // login.
    visit.form_id = random_token("");
    response.add_header("Set-Cookie", cookies_.set_form(visit.form_id));
    response.add_header(
        "Set-Cookie", page.session->empty()
                          ? cookies_.end_session()
                          : cookies_.set_session(*page.session, services_.logins.session_lifetime));
    if (page.session->empty()) visit.visitor.reset();
    bind_forms();
  } else if (new_browser && (!is_form || is_same_origin(visit.http))) {
    // Browsers send no cookies with forms of other sites, so that these look like those of a new
    // browser. A cookie in the answer would take the place of the one that the other pages' forms
    // need.
    response.add_header("Set-Cookie", cookies_.set_form(visit.form_id));
  }
  if (page.choice) response.add_header("Set-Cookie", cookies_.set_language(*page.choice));
  response.caller_is_known = visit.visitor.has_value();
  show(visit, std::move(page), response);
}

}  // namespace berth::api::pages
