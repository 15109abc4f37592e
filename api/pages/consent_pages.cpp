// The page on which an app asks the visitor for access (RFC 6749, section 4.1.1, in a browser).
#include <algorithm>
#include <array>
#include <sstream>

#include "api/gate/browser_session.h"
#include "api/gate/errors.h"
#include "api/pages/page.h"
#include "api/resources/oauth/openid.h"
#include "api/resources/oauth/redirect.h"
#include "controller/base/ascii.h"
#include "controller/base/url.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/oauth.h"

namespace berth::api::pages {
namespace {

constexpr std::array parameters = {
    "response_type",  "client_id",  "redirect_uri",          "scope",     "state",
    "code_challenge", "nonce",      "code_challenge_method", "prompt",    "response_mode",
    "max_age",        "login_hint", "authenticated_since",   "ui_locales"};

// A form is answered with a redirect, whose address browsers and proxies limit.
constexpr size_t max_question_bytes = 4096;

// Redirects to the app's registered redirect URI, with the answer, the state and the issuer (RFC
// 9207).
Page back_to_app(const Visit& visit, const AuthorizationQuestion& question,
                 RedirectParameters answer) {
  if (question.state) answer.emplace_back("state", *question.state);
  answer.emplace_back("iss", visit.services.base_url);
  return go_to(redirect_to(question.request.redirect_uri, answer));
}

Page error_to_app(const Visit& visit, const AuthorizationQuestion& question, const Error& error) {
  return back_to_app(
      visit, question,
      {{"error", std::string(name(error.code))}, {"error_description", description_of(error)}});
}

// Shows errors that must not be sent to the redirect URI (RFC 6749, section 4.1.2.1).
Page broken(const Visit& visit, const Error& error) {
  Page page = message(visit.say("This app’s request isn’t valid"),
                      {visit.say("The app that sent you here made a mistake: {reason}.",
                                 {{"reason", error.what()}}),
                       visit.say("The app got no access. Please tell its makers about this.")});
  page.status = 400;
  return page;
}

}  // namespace

// Browsers apply the policy form-action also to the redirect that answers the form. A source is an
// origin or a scheme (CSP 3, section 2.3.1). Its grammar has no IPv6 addresses.
std::string form_target(const std::string& redirect_uri) {
  if (const auto url = parse_url(redirect_uri); url && url->is_web())
    return url->host.starts_with('[') ? url->scheme + ":" : url->origin();
  const std::string scheme = redirect_uri.substr(0, redirect_uri.find(':'));
  return apps::is_private_use_scheme(scheme) ? scheme + ":" : "";
}

namespace {

// Returns the place that the visitor returns to, in a form that they would recognize.
std::string destination(const Visit& visit, const std::string& redirect_uri) {
  const auto url = parse_url(redirect_uri);
  return url && url->is_web() ? url->authority() : visit.say("the app on this device");
}

Page consent_page(const Visit& visit, const AuthorizationQuestion& question, const Query& as_sent,
                  const apps::App& app, const ScopeSet& scopes) {
  Page page = {.title = visit.say("Allow access?"), .content = "consent"};
  page.form_target = form_target(question.request.redirect_uri);
  page.values.set("app_name", app.app_name);
  if (!app.app_description.empty() && !app.unregistered)
    page.values.set("app_description", app.app_description);
  page.values.set("account", visit.user().username);
  set_maker(visit, app, page);
  const Duration lifetime = visit.services.rules.oauth.family_lifetime;
  page.values.set(
      "lasts",
      duration_in_words(
          visit, app.unregistered ? std::min(lifetime, apps::unregistered_kept_for) : lifetime));
  page.values.set("destination", destination(visit, question.request.redirect_uri));
  Values hidden(Values::type::list);
  for (const char* parameter : parameters) {
    const auto value = as_sent.find(parameter);
    if (value == as_sent.end()) continue;
    Values entry(Values::type::object);
    entry.set("name", parameter);
    entry.set("value", value->second);
    hidden.push_back(entry);
  }
  page.values.set("manages",
                  Values(app.built_in ? Values::type::bool_true : Values::type::bool_false));
  page.values.set("scopes", scope_values(visit, scopes));
  page.values.set("parameters", hidden);
  if (app.session_tokens) {
    // The page preselects what the user chose before. Somebody else's app gets more than a look
    // only if the user says so.
    const auto chosen = visit.services.db.read(
        [&](db::Tx& tx) { return connections::session_access(tx, visit.user().id, app.id); });
    const bool acts =
        chosen ? *chosen == play::SessionAccess::full : app.owner_id == visit.user().id;
    Values session(Values::type::object);
    session.set("acts", Values(acts ? Values::type::bool_true : Values::type::bool_false));
    page.values.set("session", session);
  }
  return page;
}

std::string own_path(const Request& request) {
  return std::string(request.path) + "?" + std::string(request.raw_query);
}

// Whether the visitor has logged in as recently as the request wants it.
bool is_login_fresh(const Visit& visit, const oauth::AuthorizationRequest& request) {
  if (!visit.visitor) return false;
  const auto since = openid::login_needed_since(request, visit.services.clock.now());
  if (!since) return true;
  const auto proven = visit.services.db.read(
      [&](db::Tx& tx) { return accounts::authenticated_at(tx, visit.visitor->session_id); });
  return proven && *proven >= *since;
}

// The values of prompt that still mean something after a new login.
std::string without_login(const std::string& prompt) {
  std::string left, word;
  std::istringstream words(prompt);
  while (words >> word)
    if (word != "login" && word != "select_account") left.append(left.empty() ? "" : " ") += word;
  return left;
}

// Sends the visitor to the login, and from there back to the question that was `sent`. What it says
// about the login becomes the time since which the user must have logged in, so that the login that
// they make now is enough.
Page to_login(const Visit& visit, const Query& sent, const oauth::AuthorizationRequest& request) {
  RedirectParameters all;
  for (const std::string name : parameters) {
    const auto [first, last] = sent.equal_range(name);
    for (auto value = first; value != last; ++value)
      if (name != "prompt" && name != "max_age" && name != "authenticated_since")
        all.emplace_back(name, value->second);
  }
  if (const std::string prompt = without_login(request.prompt); !prompt.empty())
    all.emplace_back("prompt", prompt);
  all.emplace_back("authenticated_since", std::to_string(to_millis(visit.services.clock.now())));
  return go_to(with_parameter("/login", "next", redirect_to("/api/oauth/authorize", all)));
}

// Returns the app that asks. Nobody is sent to an app that is suspended, not even with an error,
// because its address may be what it was suspended for. Throws what oauth::asking_app() throws, and
// unauthorized_client.
apps::App app_to_answer(const Visit& visit, const AuthorizationQuestion& question) {
  apps::App app =
      visit.services.db.read([&](db::Tx& tx) { return oauth::asking_app(tx, question.request); });
  if (app.suspended) throw Error(Code::unauthorized_client, "the app is suspended");
  return app;
}

// With prompt=none, the app gets its code, or learns why it can't be given, and nobody sees a page.
Page answer_silently(const Visit& visit, const AuthorizationQuestion& question) {
  if (const auto wrong = openid::refuse_parameters(question.request))
    return error_to_app(visit, question, *wrong);
  if (!visit.visitor)
    return error_to_app(visit, question, Error(Code::login_required, "nobody is logged in"));
  const auto code = visit.services.db.write([&](db::Tx& tx) {
    auto made = code_for(tx, question, visit.user(), visit.visitor->session_id, visit.services);
    // The same entry as for GET /api/oauth/authorize of the API: the app gets a code for the
    // person.
    if (made) audit::record_operation(tx, "app", oauth::asking_app(tx, question.request).id);
    return made;
  });
  return code ? back_to_app(visit, question, {{"code", code->code}})
              : error_to_app(visit, question, code.error());
}

}  // namespace

void follow_locales(Visit& visit, const std::string& ui_locales) {
  if (!Cookies::language(visit.http).empty()) return;
  std::istringstream words(ui_locales);
  std::string tag;
  while (words >> tag)
    if (const auto language = parse_enum<Language>(lower_case(tag.substr(0, tag.find('-'))))) {
      visit.language = *language;
      return;
    }
}

bool wants_new_login(const Visit& visit, const std::string& next) {
  const size_t query = next.find('?');
  const auto sent = query == std::string::npos
                        ? std::nullopt
                        : parse_form(std::string_view(next).substr(query + 1));
  if (!sent || !sent->contains("client_id")) return false;
  try {
    return !is_login_fresh(visit, authorization_question(*sent).request);
  } catch (const Error&) {
    return false;  // the consent page says what is wrong
  }
}

std::string place_of_question(const Query& form) {
  std::string place = "/api/oauth/authorize";
  for (const char* parameter : parameters)
    if (const auto value = form.find(parameter); value != form.end())
      place = with_parameter(place, parameter, value->second);
  return place;
}

Asking asking_in(const Visit& visit, const std::string& next) {
  const size_t query = next.find('?');
  const auto sent = query == std::string::npos
                        ? std::nullopt
                        : parse_form(std::string_view(next).substr(query + 1));
  if (!sent || !sent->contains("client_id")) return {};
  try {
    const AuthorizationQuestion question = authorization_question(*sent);
    // Its document is fetched after the login. What is known of it is the host.
    if (const auto url = parse_url(question.request.client_id); url && url->is_web())
      return {.app_name = url->authority(),
              .form_target = {},
              .login_hint = question.login_hint,
              .ui_locales = question.ui_locales};
    const apps::App app =
        visit.services.db.read([&](db::Tx& tx) { return oauth::asking_app(tx, question.request); });
    return {.app_name = app.app_name,
            .form_target = form_target(question.request.redirect_uri),
            .login_hint = question.login_hint,
            .ui_locales = question.ui_locales};
  } catch (const Error&) {
    return {};
  }
}

Page show_consent(Visit& visit) {
  const Services& services = visit.services;
  const Query& query = visit.http.query;
  try {
    AuthorizationQuestion question = authorization_question(query);
    const bool is_unregistered = apps::is_client_url(question.request.client_id);
    // Nobody has looked at the redirect URIs of such a client, so nobody is sent to one before they
    // have decided something: a link to berth could lead anywhere (RFC 9700, section 4.11.2).
    if (is_unregistered && openid::prompts(question.request, "none"))
      throw Error(Code::invalid_request, "an app that isn't registered can't ask with prompt=none");
    // Nothing is fetched for strangers, who could have berthd ask any server as often as they like.
    if (is_unregistered && !visit.visitor) return to_login(visit, query, question.request);
    fetch_client(question, services);
    const apps::App app = app_to_answer(visit, question);
    follow_locales(visit, question.ui_locales);
    if (openid::prompts(question.request, "none")) return answer_silently(visit, question);
    const bool asks_for_login =
        openid::login_needed_since(question.request, services.clock.now()).has_value();
    if (asks_for_login && !is_login_fresh(visit, question.request))
      return to_login(visit, query, question.request);
    if (!visit.visitor) return go_to(with_parameter("/login", "next", own_path(visit.http)));
    const auto scopes = oauth::asked_scopes(app, visit.user(), question.request);
    if (!scopes && is_unregistered) return broken(visit, scopes.error());
    if (!scopes) return error_to_app(visit, question, scopes.error());
    return consent_page(visit, question, query, app, *scopes);
  } catch (const Error& error) {
    if (error.code == Code::unavailable) throw;
    return broken(visit, error);
  }
}

// OpenID Connect Core 1.0, section 3.1.2.1, has apps ask by a form, too. Browsers send no cookies
// with forms of other sites, but they do with the redirect that this answers. It does nothing by
// itself, and needs no token therefore.
Page lead_to_consent(Visit& visit) {
  const RedirectParameters sent(visit.form.begin(), visit.form.end());
  Page page = go_to(redirect_to("/api/oauth/authorize", sent));
  if (page.go_to.size() > max_question_bytes)
    return broken(visit, Error(Code::invalid_request, "the parameters are too long"));
  return page;
}

namespace {

// Grants what the page has shown. If the page didn't offer a session and the app asks for one by
// now, nothing is granted, and the page is shown again with what the app asks for.
Page allow(const Visit& visit, const AuthorizationQuestion& question) {
  const bool without_session = !visit.field("without_session").empty();
  const auto access = visit.field("session_access") == "full" ? play::SessionAccess::full
                                                              : play::SessionAccess::read;
  std::optional<apps::App> changed;
  const auto code = visit.services.db.write(
      [&](db::Tx& tx) -> std::optional<std::expected<oauth::AuthorizationCode, Error>> {
        changed.reset();  // an earlier run of this transaction may have set it
        const apps::App app = oauth::asking_app(tx, question.request);
        if (without_session && app.session_tokens) {
          changed = app;
          return std::nullopt;
        }
        auto made = code_for(tx, question, visit.user(), visit.visitor->session_id, visit.services,
                             app.session_tokens ? std::optional(access) : std::nullopt);
        // A client that isn't registered has an id by now.
        if (made) audit::record_operation(tx, "app", oauth::asking_app(tx, question.request).id);
        return made;
      });
  if (changed) {
    const auto scopes = oauth::asked_scopes(*changed, visit.user(), question.request);
    if (!scopes) return error_to_app(visit, question, scopes.error());
    return refused(visit, consent_page(visit, question, visit.form, *changed, *scopes),
                   Error(Code::invalid_state,
                         "the app has changed what it asks for; please look at it again"));
  }
  if (!*code) return error_to_app(visit, question, code->error());
  Page page = back_to_app(visit, question, {{"code", (*code)->code}});
  page.event = {.kind = SecurityKind::consent_changed, .reason = "allowed"};
  return page;
}

}  // namespace

Page decide_consent(Visit& visit) {
  try {
    AuthorizationQuestion question = authorization_question(visit.form);
    fetch_client(question, visit.services);
    (void)app_to_answer(visit, question);
    if (visit.field("decision") != "allow") {
      Page page = back_to_app(visit, question, {{"error", "access_denied"}});
      page.event = {.kind = SecurityKind::consent_changed, .reason = "denied"};
      return page;
    }
    // While the page was open, the login may have become too old.
    if (!is_login_fresh(visit, question.request))
      return to_login(visit, visit.form, question.request);
    return allow(visit, question);
  } catch (const Error& error) {
    if (error.code == Code::unavailable) throw;
    return broken(visit, error);
  }
}

}  // namespace berth::api::pages
