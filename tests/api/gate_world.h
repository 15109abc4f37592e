#pragma once

#include <prometheus/registry.h>

#include <string>
#include <utility>
#include <vector>

#include "api/gate/gate.h"
#include "tests/domain/world.h"

// The whole API without its sockets: a gate over a real database.
namespace berth::api::test {

using berth::test::World;

struct Header {
  std::string name, value;
};

// An answer whose body was read.
struct Answered {
  int status = 0;
  std::string text;  // the body as it was sent
  json body;
  std::vector<std::pair<std::string, std::string>> headers;

  // Returns all values of the field, joined by commas; empty if there is none.
  std::string header(const std::string& name) const {
    std::string all;
    for (const auto& [key, value] : headers)
      if (key == name) all += (all.empty() ? "" : ", ") + value;
    return all;
  }
  bool has(const std::string& name) const { return !header(name).empty(); }
  // Returns, for example, "403 forbidden", from a body of the nested, simple or OAuth form.
  std::string error() const {
    const json& error = body.at("error");
    return std::to_string(status) + " " +
           (error.is_string() ? error : error.at("code")).get<std::string>();
  }
};

class GateWorld {
 public:
  World world;
  PasswordHasher passwords;
  LoginThrottle throttle;
  connections::UseLog uses;
  accounts::SessionUses session_uses;
  devices::UseLog device_uses;
  personal_tokens::UseLog personal_token_uses;
  prometheus::Registry registry_;
  SecurityLog security{registry_};
  ads::CampaignIndex campaign_index;
  Services services = {
      .db = world.db,
      .clock = world.clock,
      .keys = world.keys,
      .security = security,
      .environment = Environment::development,
      .base_url = "https://api.example.org",
      .rate_limits = false,
      .admission = {.internal_secret = "internal secret",
                    .write_counts = std::make_shared<write_budgets::Counts>(world.keys.data)},
      .logins = {.passwords = passwords,
                 .uses = uses,
                 .session_uses = session_uses,
                 .device_uses = device_uses,
                 .personal_token_uses = personal_token_uses,
                 .throttle = throttle,
                 .rotate_session_key =
                     [this] {
                       world.keys.session.replace(rotated(
                           *world.keys.session.all(), world.clock.now(), std::chrono::hours(24)));
                       return world.keys.session[0].id;
                     }},
      .rules = {.deployments = world.rules},
      .memory = {.campaign_index = campaign_index},
      .cluster = {.url_of = [](const std::string& name) { return "https://" + name; },
                  .state = [] { return KubernetesState::simulated; },
                  .orphans = [] { return std::vector<std::string>(); }},
  };
  std::string remote_address = "192.0.2.1";
  std::string host = "api.example.org";

  GateWorld() {
    world.db.subscribe([this](db::Topic topic, const std::string& id) {
      if (topic == db::Topic::campaign) campaign_index.changed(id);
    });
  }

  // `target` is a path with or without a query.
  Answered ask(const std::string& method, const std::string& target,
               const std::vector<Header>& headers = {}, const std::string& body = "") {
    const Response response = respond(method, target, headers, body);
    Answered answered = {
        .status = response.status, .text = response.body, .body = {}, .headers = response.headers};
    // Some answers are no JSON: pictures.
    if (!response.body.empty()) answered.body = json::parse(response.body, nullptr, false);
    return answered;
  }
  // Does the same, and returns the answer that the gate gives to the transport.
  Response respond(const std::string& method, const std::string& target,
                   const std::vector<Header>& headers = {}, const std::string& body = "") {
    if (!gate_) gate_.emplace(services, metrics_);
    const size_t mark = std::min(target.find('?'), target.size());
    Request request = {.method = method,
                       .path = std::string_view(target).substr(0, mark),
                       .raw_query = {},
                       .query = {},
                       .headers = {},
                       .host = host,
                       .remote_address = remote_address,
                       .body = body};
    if (mark < target.size()) {
      request.raw_query = std::string_view(target).substr(mark + 1);
      request.query = parse_form(request.raw_query).value();
    }
    for (const Header& header : headers) request.headers.add(header.name, header.value);
    Response response;
    gate_->handle(request, response);
    return response;
  }

  const std::vector<Header> admin = {{"x-internal-secret", "internal secret"}};
  const prometheus::Registry& registry() const { return registry_; }

 private:
  HttpMetrics metrics_{registry_};
  // Created by the first request, so that services can be changed before.
  std::optional<Gate> gate_;
};

inline Header bearer(const std::string& token) { return {"Authorization", "Bearer " + token}; }

// Returns the operation's path with this app where it names one of the caller's apps, and with an
// id that nothing has in its other placeholders.
inline std::string path_with(const Route& route, const std::string& app_id) {
  std::string path(route.path());
  for (const Placeholder* placeholder : route.in_path) {
    const bool is_own_app =
        placeholder->component == "OwnAppId" || placeholder->component == "MyAppId";
    const size_t open = path.find('{');
    path.replace(open, path.find('}') - open + 1,
                 is_own_app ? app_id : "01936f5e-7c1a-7000-8000-00000000000c");
  }
  return path;
}

// An operator with an app and an access token of it.
struct Operator {
  GateWorld g;
  accounts::User user = g.world.verified_user("ada");
  apps::AppWithSecret registered = g.world.new_app(user);
  apps::App app = [this] {
    g.world.write([&](db::Tx& tx) {
      apps::approve(
          tx,
          apps::request_scopes(tx, registered.app, {Scope::deploy_manage, Scope::app_balance_read})
              .id,
          "root");
    });
    return g.world.find_app(registered.app.id);
  }();
  std::string jwt = g.world.jwt(user);
  oauth::Tokens tokens = g.world.tokens(app, user, "profile:read deploy:manage");
  Header token = bearer(tokens.access_token);

  std::string order(const std::string& name = "shop") const {
    return json{{"name", name}, {"image", "ghcr.io/acme/web:1"}, {"tier", "wide"}}.dump();
  }
};

}  // namespace berth::api::test
