// The page on which an app asks the visitor for access (RFC 6749, section 4.1.1, in a browser).
#include <array>

#include "api/gate/errors.h"
#include "api/pages/page.h"
#include "api/resources/oauth/redirect.h"
#include "controller/base/url.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/oauth.h"

namespace berth::api::pages {
namespace {

constexpr std::array parameters = {
    "response_type", "client_id",      "redirect_uri",          "scope",
    "state",         "code_challenge", "code_challenge_method", "response_mode"};

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

// Returns the source that the policy form-action has to allow, since browsers apply it also to the
// redirect that answers the form: an origin or a scheme (CSP 3, section 2.3.1). Empty if the URI
// has neither.
std::string form_target(const std::string& redirect_uri) {
  if (const auto url = parse_url(redirect_uri); url && url->is_web()) return url->origin();
  const std::string scheme = redirect_uri.substr(0, redirect_uri.find(':'));
  return apps::is_private_use_scheme(scheme) ? scheme + ":" : "";
}

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
  if (!app.app_description.empty()) page.values.set("app_description", app.app_description);
  page.values.set("account", visit.user().username);
  set_maker(visit, app, page);
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

}  // namespace

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
    const apps::App app =
        visit.services.db.read([&](db::Tx& tx) { return oauth::asking_app(tx, question.request); });
    return {.app_name = app.app_name, .form_target = form_target(question.request.redirect_uri)};
  } catch (const Error&) {
    return {};
  }
}

Page show_consent(Visit& visit) {
  const Services& services = visit.services;
  const Query& query = visit.http.query;
  try {
    const AuthorizationQuestion question = authorization_question(query);
    const apps::App app =
        services.db.read([&](db::Tx& tx) { return oauth::asking_app(tx, question.request); });
    if (!visit.visitor) return go_to(with_parameter("/login", "next", own_path(visit.http)));
    const auto scopes = oauth::asked_scopes(app, visit.user(), question.request);
    if (!scopes) return error_to_app(visit, question, scopes.error());
    return consent_page(visit, question, query, app, *scopes);
  } catch (const Error& error) {
    return broken(visit, error);
  }
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
        return oauth::authorize(tx, visit.user(), question.request,
                                app.session_tokens ? std::optional(access) : std::nullopt);
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
    const AuthorizationQuestion question = authorization_question(visit.form);
    visit.services.db.read([&](db::Tx& tx) { oauth::asking_app(tx, question.request); });
    if (visit.field("decision") != "allow") {
      Page page = back_to_app(visit, question, {{"error", "access_denied"}});
      page.event = {.kind = SecurityKind::consent_changed, .reason = "denied"};
      return page;
    }
    return allow(visit, question);
  } catch (const Error& error) {
    return broken(visit, error);
  }
}

}  // namespace berth::api::pages
