#pragma once

#include <string>
#include <utility>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/oauth/oauth.h"
#include "tests/store.h"
#include "tests/temp_dir.h"

// What tests of the domain share: a real store (tests/store.h), and a clock that stands still until
// it is moved.
namespace berth::test {

inline const std::string redirect_uri = "https://game.example.org/callback";
inline const std::string code_verifier =
    "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";  // RFC 7636, appendix B

// Returns how `work` is refused, such as "422 validation_failed"; empty if it isn't refused.
template <typename Work>
std::string refusal(Work&& work) {
  try {
    work();
    return "";
  } catch (const Error& error) {
    return std::to_string(status(error.code)) + " " + std::string(name(error.code));
  }
}
template <typename Work>
Details details(Work&& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return error.details;
  }
}
inline std::string refusal_of(const oauth::Answer& answer) {
  return answer ? ""
                : std::to_string(status(answer.error().code)) + " " +
                      std::string(name(answer.error().code));
}

// Returns the code. Throws the refusal, whether or not it may be sent to the redirect URI.
inline oauth::AuthorizationCode authorized(db::Tx& tx, const accounts::User& user,
                                           const oauth::AuthorizationRequest& request) {
  auto answer = oauth::authorize(tx, user, request);
  if (!answer) throw Error(answer.error());
  return *std::move(answer);
}

inline std::vector<tiers::Tier> default_tiers() {
  return {
      {.id = {},
       .name = "Free",
       .slug = "free",
       .description = "",
       .monthly_cost_points = 0,
       .monthly_cost_sats = {},
       .memory_limit_mb = 512,
       .cpu_limit_millicores = 500,
       .max_deployments = 1,
       .auto_approve = true},
      {.id = {},
       .name = "Basic",
       .slug = "basic",
       .description = "",
       .monthly_cost_points = 100,
       .monthly_cost_sats = {},
       .memory_limit_mb = 1024,
       .cpu_limit_millicores = 1000,
       .max_deployments = 1,
       .custom_domain_allowed = true},
      {.id = {},
       .name = "Wide",
       .slug = "wide",
       .description = "",
       .monthly_cost_points = 0,
       .monthly_cost_sats = {},
       .memory_limit_mb = 128,
       .cpu_limit_millicores = 100,
       .max_deployments = {},
       .auto_approve = true,
       .max_replicas = 10},
      {.id = {},
       .name = "Sats",
       .slug = "sats",
       .description = "",
       .payment_method = tiers::PaymentMethod::bitcoin,
       .monthly_cost_points = {},
       .monthly_cost_sats = 5'000,
       .memory_limit_mb = 128,
       .cpu_limit_millicores = 100,
       .max_deployments = {},
       .auto_approve = true},
  };
}

class World {
 public:
  World() {
    db.write([](db::Tx& tx) {
      tiers::seed(tx, default_tiers());
      ledger::open_account(tx, ledger::treasury());
      ledger::open_account(tx, ledger::issuance());
    });
  }

  TempDir dir;
  Clock clock = Clock::standing_at(*parse_iso8601("2026-01-31T12:00:00Z"));
  Keys keys = {.data = std::string(32, 'd'),
               .session = {{.id = "new", .secret = std::string(32, 's')}}};
  const Store store{dir / "berth.db", clock};
  db::Database& db = *store;
  oauth::Policy policy;
  accounts::SignupBonus bonus;
  deployments::Rules rules = {
      .registries = {"registry.example.org", "docker.io/library", "ghcr.io"},
      .apps_domain = "apps.example.org",
      .base_host = "api.example.org"};

  template <typename Work>
  auto write(Work&& work) -> std::invoke_result_t<Work, db::Tx&> {
    return db.write(std::forward<Work>(work));
  }
  template <typename Work>
  auto read(Work&& work) -> std::invoke_result_t<Work, db::Tx&> {
    return db.read(std::forward<Work>(work));
  }

  accounts::User new_user(const std::string& username,
                          const std::optional<std::string>& referral_code = {}) {
    return write([&](db::Tx& tx) {
      return accounts::register_user(tx,
                                     {.email = username + "@example.org",
                                      .username = username,
                                      .password_hash = "no hash",
                                      .referral_code = referral_code},
                                     bonus, keys, "https://api.example.org");
    });
  }
  accounts::User verified_user(const std::string& username) {
    const auto user = new_user(username);
    write([&](db::Tx& tx) { accounts::mark_verified(tx, user.id); });
    return find_user(user.id);
  }
  accounts::User find_user(const std::string& id) {
    return read([&](db::Tx& tx) { return *accounts::find(tx, id); });
  }
  void suspend_user(const std::string& id) {
    write([&](db::Tx& tx) {
      tx.execute("UPDATE users SET suspended_at = $2 WHERE id = $1", id, tx.now());
    });
  }
  accounts::Session log_in(const accounts::User& user, Duration lifetime = std::chrono::hours(24)) {
    return write([&](db::Tx& tx) {
      return accounts::open_session(tx, user.id, "127.0.0.1", "test", lifetime);
    });
  }
  std::string jwt(const accounts::User& user) { return accounts::session_jwt(log_in(user), keys); }

  apps::AppWithSecret new_app(const accounts::User& owner,
                              const ScopeSet& allowed = {Scope::profile_read}) {
    return write([&](db::Tx& tx) {
      return apps::create(tx, owner.id,
                          {.app_name = "My game",
                           .app_description = "",
                           .logo_url = {},
                           .website_url = {},
                           .redirect_uris = {redirect_uri},
                           .allowed_scopes = allowed});
    });
  }
  // Creates an app for which these scopes are approved.
  apps::App approved_app(const accounts::User& owner, const ScopeSet& scopes) {
    const auto app = new_app(owner).app;
    write([&](db::Tx& tx) {
      const auto request = apps::request_scopes(tx, app, scopes);
      if (request.status == apps::RequestStatus::pending) apps::approve(tx, request.id, "test");
    });
    return find_app(app.id);
  }
  apps::App find_app(const std::string& id) {
    return read([&](db::Tx& tx) { return *apps::find(tx, id); });
  }

  oauth::AuthorizationRequest authorization(const apps::App& app,
                                            const std::string& scope = "profile:read") {
    return {.client_id = app.client_id,
            .redirect_uri = redirect_uri,
            .response_type = "code",
            .scope = scope,
            .code_challenge = base64url(sha256(code_verifier)),
            .code_challenge_method = "S256"};
  }
  std::string authorize(const apps::App& app, const accounts::User& user,
                        const std::string& scope = "profile:read") {
    return write([&](db::Tx& tx) { return authorized(tx, user, authorization(app, scope)).code; });
  }
  oauth::Answer exchange(const apps::App& app, const std::string& code,
                         const std::string& verifier = code_verifier,
                         const std::string& uri = redirect_uri) {
    return write(
        [&](db::Tx& tx) { return oauth::exchange_code(tx, app, code, uri, verifier, policy); });
  }
  oauth::Tokens tokens(const apps::App& app, const accounts::User& user,
                       const std::string& scope = "profile:read") {
    return exchange(app, authorize(app, user, scope)).value();
  }
  oauth::Answer refresh(const std::optional<apps::App>& app, const std::string& token) {
    return write([&](db::Tx& tx) { return oauth::refresh(tx, app, token, policy); });
  }
  oauth::Caller check(const std::string& access_token) {
    return read([&](db::Tx& tx) { return oauth::check_access_token(tx, access_token); });
  }

  std::int64_t balance(const ledger::Account& account) {
    return read([&](db::Tx& tx) { return ledger::balance(tx, account); });
  }
  void mint(const ledger::Account& to, std::int64_t amount) {
    write([&](db::Tx& tx) { ledger::mint(tx, to, amount, "test"); });
  }

  deployments::Actor actor(const apps::App& app) {
    return {.user_id = app.owner_id, .app_id = app.id, .request_id = "request-1"};
  }
  deployments::Deployment deploy(const apps::App& app, const deployments::Order& order) {
    return db.write_with_row_locks(
        [&](db::Tx& tx) { return deployments::create(tx, actor(app), order, rules, keys.data); });
  }
  deployments::Deployment stop(const apps::App& app, const std::string& id) {
    return write([&](db::Tx& tx) { return deployments::stop(tx, actor(app), id); });
  }
  deployments::Deployment restart(const apps::App& app, const std::string& id) {
    return write([&](db::Tx& tx) { return deployments::restart(tx, actor(app), id); });
  }
  deployments::Deployment destroy(const apps::App& app, const std::string& id) {
    return write([&](db::Tx& tx) { return deployments::destroy(tx, actor(app), id); });
  }
  deployments::Deployment find_deployment(const std::string& id) {
    return read([&](db::Tx& tx) { return *deployments::find(tx, id); });
  }
  bool record(const std::string& id, std::int64_t generation,
              const deployments::Observation& seen) {
    return write([&](db::Tx& tx) { return deployments::record(tx, id, generation, seen); });
  }
  std::vector<deployments::LogEntry> logs(const std::string& id) {
    return read([&](db::Tx& tx) { return deployments::newest_logs(tx, id); });
  }
  // Returns, for example, "create succeeded, deploy started".
  std::string history(const std::string& id) {
    std::string text;
    for (const auto& entry : logs(id))
      text += (text.empty() ? "" : ", ") + std::string(to_string(entry.action)) + " " +
              std::string(to_string(entry.status));
    return text;
  }
};

inline deployments::Order order(const std::string& name = "shop",
                                const std::string& tier = "wide") {
  return {.name = name,
          .tier = tier,
          .custom_domain = {},
          .container = {.image = "ghcr.io/acme/web:1", .health_path = {}},
          .secrets = {}};
}

}  // namespace berth::test
