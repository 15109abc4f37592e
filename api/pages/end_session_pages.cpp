// The page to which apps send a browser to log out (OpenID Connect RP-Initiated Logout 1.0).
#include <algorithm>
#include <array>

#include "api/pages/page.h"
#include "api/resources/oauth/openid.h"
#include "api/resources/oauth/redirect.h"
#include "controller/domain/accounts/sessions.h"

namespace berth::api::pages {
namespace {

constexpr std::array logout_parameters = {"id_token_hint", "client_id", "post_logout_redirect_uri",
                                          "state", "ui_locales"};
// What the page after the question needs to know. The ID token has nothing to add there.
constexpr std::array asked_again = {"client_id", "post_logout_redirect_uri", "state"};
// A form is answered with a redirect, whose address browsers and proxies limit.
constexpr size_t max_parameter_bytes = 4096;

std::string value_of(const Query& query, const char* name) {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

struct Ending {
  std::optional<apps::App> app;          // which asks, if it says so
  std::optional<openid::Hint> hint;      // nothing if it was missing or isn't ours
  std::string back;                      // where to go afterwards; empty: nowhere
  std::string post_logout_redirect_uri;  // the same without the state
};

// Reads what is asked. Throws invalid_request if the app isn't known for sure to which the browser
// would be sent: nothing may be sent there then.
Ending ending_of(const Visit& visit, const Query& query) {
  const Services& services = visit.services;
  const std::string id_token = value_of(query, "id_token_hint");
  const std::string uri = value_of(query, "post_logout_redirect_uri");
  std::string client_id = value_of(query, "client_id");
  return services.db.read([&](db::Tx& tx) {
    Ending ending;
    if (!id_token.empty()) ending.hint = openid::read_hint(tx, id_token, issuer_of(services));
    if (ending.hint) {
      if (!client_id.empty() && client_id != ending.hint->client_id)
        throw Error(Code::invalid_request, "client_id isn't the client that id_token_hint is for");
      client_id = ending.hint->client_id;
    }
    if (!client_id.empty()) ending.app = apps::find_by_client_id(tx, client_id);
    // Nobody is sent to an app that is suspended: its address may be what it was suspended for.
    if (uri.empty() || (ending.app && ending.app->suspended)) return ending;
    if (!ending.app)
      throw Error(Code::invalid_request,
                  "post_logout_redirect_uri needs an id_token_hint or a client_id");
    const auto settings = apps::openid_settings(tx, ending.app->id);
    if (std::ranges::find(settings.post_logout_redirect_uris, uri) ==
        settings.post_logout_redirect_uris.end())
      throw Error(Code::invalid_request, "post_logout_redirect_uri isn't registered for the app");
    const std::string state = value_of(query, "state");
    ending.post_logout_redirect_uri = uri;
    ending.back = state.empty() ? uri : redirect_to(uri, {{"state", state}});
    return ending;
  });
}

Page broken_logout(const Visit& visit, const Error& error) {
  Page page = message(visit.say("This app’s request isn’t valid"),
                      {visit.say("The app that sent you here made a mistake: {reason}.",
                                 {{"reason", error.what()}})},
                      "/account", visit.say("Account"));
  page.status = 400;
  return page;
}

Page afterwards(const Visit& visit, const Ending& ending) {
  if (!ending.back.empty()) return go_to(ending.back);
  return message(visit.say("You are logged out"), {visit.say("You can close this page.")}, "/login",
                 visit.say("Log in"));
}

Page log_out_and_leave(const Visit& visit, const Ending& ending) {
  visit.services.db.write(
      [&](db::Tx& tx) { accounts::end_session(tx, visit.user().id, visit.visitor->session_id); });
  Page page = afterwards(visit, ending);
  page.session = "";
  page.event = {.kind = SecurityKind::session_ended, .reason = "logout"};
  return page;
}

// Whether the ID token is of a login that was made in the visitor's session, so that its app may
// end the session without a question. An ID token that has expired says so as well.
bool is_of_session(const Visit& visit, const openid::Hint& hint) {
  return hint.user_id == visit.user().id &&
         hint.session_name == openid::session_name(visit.visitor->session_id, hint.client_id);
}

Page logout_question(const Visit& visit, const Query& query, const Ending& ending) {
  Page page = {.title = visit.say("Log out?"), .content = "end_session"};
  page.form_target = form_target(ending.post_logout_redirect_uri);
  if (ending.app) page.values.set("app_name", ending.app->app_name);
  page.values.set("account", visit.user().username);
  Values hidden(Values::type::list);
  for (const char* name : asked_again) {
    std::string value = value_of(query, name);
    if (std::string_view(name) == "client_id") value = ending.app ? ending.app->client_id : "";
    if (value.empty()) continue;
    Values entry(Values::type::object);
    entry.set("name", name);
    entry.set("value", value);
    hidden.push_back(entry);
  }
  page.values.set("parameters", hidden);
  return page;
}

}  // namespace

Page show_end_session(Visit& visit) {
  try {
    const Query& query = visit.http.query;
    follow_locales(visit, value_of(query, "ui_locales"));
    const Ending ending = ending_of(visit, query);
    if (!visit.visitor) return afterwards(visit, ending);
    return ending.hint && is_of_session(visit, *ending.hint)
               ? log_out_and_leave(visit, ending)
               : logout_question(visit, query, ending);
  } catch (const Error& error) {
    return broken_logout(visit, error);
  }
}

// Browsers send no cookies with forms of other sites, but they do with the redirect that this
// answers. It does nothing by itself, and needs no token therefore.
Page lead_to_end_session(Visit& visit) {
  RedirectParameters sent;
  for (const char* name : logout_parameters) {
    std::string value = visit.field(name);
    if (value.size() > max_parameter_bytes)
      return broken_logout(visit, Error(Code::invalid_request, std::string(name) + " is too long"));
    if (!value.empty()) sent.emplace_back(name, std::move(value));
  }
  return go_to(redirect_to(end_session_path, sent));
}

Page end_session_of_app(Visit& visit) {
  try {
    const Ending ending = ending_of(visit, visit.form);
    if (!visit.visitor) return afterwards(visit, ending);
    if (visit.field("decision") != "log_out") return go_to("/account");
    return log_out_and_leave(visit, ending);
  } catch (const Error& error) {
    return broken_logout(visit, error);
  }
}

}  // namespace berth::api::pages
