// What stays of a deleted account. A user writes one word into every field that takes text and
// deletes the account; then every column of every table is searched for the word.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "api/gate/schema.h"
#include "controller/base/crypto.h"
#include "controller/domain/accounts/account_rows.h"
#include "controller/domain/apps/built_in.h"
#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "controller/domain/deployments/erasure.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/erasure.h"
#include "controller/domain/lifecycle/expiry.h"
#include "controller/domain/oauth/device.h"
#include "controller/domain/social/chat.h"
#include "controller/domain/webhooks/webhooks.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

const std::string word = "zqmarker";
const std::string password = "zqmarker correct horse battery";
constexpr int plenty = 1'000;

// Operations that take text which doesn't belong to the user, with the reason.
const std::map<std::string, std::string> none_of_theirs = {
    {"POST /api/auth/verify-email", "a token: its hash is looked up"},
    {"POST /api/auth/refresh", "a token: its hash is looked up"},
    {"POST /api/auth/guests", "an app's credentials, which are compared"},
    {"POST /api/auth/guests/upgrade", "the same as POST /api/auth/register"},
    {"POST /api/auth/guests/merge/preview", "a token: its hash is looked up"},
    {"POST /api/auth/guests/merge", "a token, a hash to compare, a password and a code"},
    {"POST /api/auth/reset-password", "a token and a password, of which a hash is kept"},
    {"POST /api/auth/change-password", "passwords, of which a hash is kept"},
    {"POST /api/auth/email-change/confirm", "a token: its hash is looked up"},
    {"POST /api/auth/email-change/stop", "a token: its hash is looked up"},
    {"POST /api/auth/totp/enable", "a code and a password"},
    {"POST /api/auth/totp/recovery-codes", "a password and a code"},
    {"POST /api/auth/totp/disable", "a code and a password"},
    {"POST /api/auth/step-up", "a password and a code"},
    {"POST /api/auth/passkeys/options", "a password and a code"},
    {"POST /api/auth/passkeys", "a name, which goes with the passkey (passkeys_test.cpp)"},
    {"PATCH /api/auth/passkeys/{id}", "a name, which goes with the passkey"},
    {"DELETE /api/auth/passkeys/{id}", "a password and a code"},
    {"POST /api/auth/login/passkey", "a signature, which isn't kept"},
    {"POST /api/oauth/device_authorization", "names of scopes, and who asked, for ten minutes"},
    {"POST /api/tokens/report", "a token: its hash is looked up"},
    {"POST /api/oauth/token/verify", "a token: its hash is looked up"},
    {"POST /api/oauth/introspect", "a token: its hash is looked up"},
    {"POST /api/oauth/revoke", "a token: its hash is looked up"},
    {"POST /api/oauth/my-apps/{app_id}/scope-request", "names of scopes alone"},
    {"PATCH /api/oauth/my-apps/{app_id}/members/{user_id}", "the name of a role, and ids"},
    {"POST /api/oauth/my-apps/{app_id}/transfer", "an id, a password and a code"},
    {"POST /api/internal/apps/{id}/scopes/revoke", "names of scopes alone"},
    {"POST /api/internal/apps/{app_id}/promote", "the slug of a tier"},
    {"POST /api/internal/users/{id}/promote", "the slug of a tier"},
    {"POST /api/social/blocks", "an id"},
    {"POST /api/avatars/me/equip", "ids"},
    {"POST /api/deploy/apps/{id}/rollback", "an id"},
    {"POST /api/deploy/apps/{id}/restart", "the name of one of the deployment's processes"},
    {"PUT /api/operator/budgets", "an id, a number, a password and a code"},
    {"POST /api/deploy/dry-run", "nothing is kept, because all of it is undone"},
    {"POST /api/external/ads/event", "an id and a token"},
    {"POST /api/internal/secrets", "an admin's name for a machine's secret"},
    {"POST /api/internal/backup", "a key that is used and not kept"},
    {"POST /api/internal/deploy/tiers", "the platform's own"},
    {"POST /api/internal/deploy/apps/{deployment_id}/refund", "an admin's reason"},
    {"PATCH /api/internal/deploy/tiers/{id}", "the platform's own"},
    {"POST /api/internal/ads/placements", "the platform's own"},
    {"PATCH /api/internal/ads/placements/{id}", "the platform's own"},
    {"POST /api/internal/ads/packages", "the platform's own"},
    {"PATCH /api/internal/ads/packages/{id}", "the platform's own"},
    {"POST /api/internal/ads/segments", "the platform's own"},
    {"PATCH /api/internal/ads/segments/{id}", "the platform's own"},
    {"POST /api/internal/cosmetics", "the platform's own"},
    {"PATCH /api/internal/cosmetics/{id}", "the platform's own"},
    {"POST /api/internal/learning/modules", "the platform's own"},
    {"PATCH /api/internal/learning/modules/{id}", "the platform's own"},
    {"PUT /api/internal/chat/words", "the platform's own"},
    {"POST /api/v1/ads/campaigns", "the same handler as POST /api/external/campaigns"},
    {"POST /api/v1/ads/purchases",
     "its name is given to campaigns, as in POST /api/external/campaigns"},
};

// Whether a request with this schema can contain a user's text.
bool takes_text(const json& schema) {
  if (schema.contains("enum") || schema.value("format", "") == "uuid" ||
      schema.value("format", "") == "date-time")
    return false;
  const json type = schema.value("type", json("object"));
  const auto is = [&](const char* name) {
    return type == name || (type.is_array() && std::ranges::find(type, name) != type.end());
  };
  if (is("string")) return true;
  if (is("array")) return takes_text(schema.at("items"));
  if (!is("object")) return false;
  if (!schema.contains("properties")) return true;
  return std::ranges::any_of(schema.at("properties"), takes_text);
}

struct Found {
  std::string place;  // table and column, with a dot between them
  std::string text;
};

std::optional<std::string> opened(const std::string& sealed, const std::string& key,
                                  const std::vector<std::string>& row) {
  const auto bytes = parse_base64(sealed);
  if (!bytes) return std::nullopt;
  for (const std::string& value : row)
    for (const char* prefix : {"", "env:", "credentials:", "webhook:", "alert:", "totp:"})
      if (auto plain = open_sealed(key, *bytes, prefix + value)) return plain;
  for (const std::string& app : row)
    for (const std::string& name : row)
      if (auto plain = open_sealed(key, *bytes, "app-variable:" + app + ":" + name)) return plain;
  return std::nullopt;
}

// Returns every column of every table that contains the word, after decrypting what is encrypted.
std::set<std::string> places_of(World& world, const std::string& wanted) {
  SQLite::Database file((world.dir / "berth.db").string(), SQLite::OPEN_READONLY);
  std::vector<std::string> tables;
  SQLite::Statement names(file, "SELECT name FROM sqlite_schema WHERE type = 'table'");
  while (names.executeStep()) tables.push_back(names.getColumn(0).getString());
  REQUIRE(tables.size() > 50);
  std::set<std::string> places;
  for (const std::string& table : tables) {
    SQLite::Statement rows(file, "SELECT * FROM " + table);
    while (rows.executeStep()) {
      std::vector<std::string> row;
      for (int i = 0; i < rows.getColumnCount(); ++i) row.push_back(rows.getColumn(i).getString());
      for (int i = 0; i < rows.getColumnCount(); ++i) {
        const std::string column = rows.getColumnName(i);
        std::string text = row[size_t(i)];
        if (column.find("sealed") != std::string::npos && !text.empty()) {
          const auto plain = opened(text, world.keys.data, row);
          INFO(table << "." << column << " can't be opened by this test");
          REQUIRE(plain);
          text += *plain;
        }
        if (accounts::folded(text).find(wanted) != std::string::npos)
          places.insert(table + "." + column);
      }
    }
  }
  return places;
}

class Life {
 public:
  GateWorld g;
  accounts::User bob = g.world.verified_user("bob");
  apps::App bobs =
      g.world.approved_app(bob, {Scope::profile_read, Scope::points_spend, Scope::points_transfer});
  std::string jwt, user_id;
  std::set<std::string> asked;  // such as "POST /api/…", with placeholders

  Life() {
    g.world.write([](db::Tx& tx) {
      tx.execute("UPDATE deploy_tiers SET custom_domain_allowed = 1 WHERE slug = 'wide'");
    });
    g.world.mint(ledger::treasury(), 1'000'000);
    g.world.mint(ledger::user_account(bob.id), 1'000);
  }

  // `path` has placeholders, and `ids` has their values.
  json ask(const std::vector<Header>& who, const std::string& method, const std::string& path,
           const std::vector<std::string>& ids, const json& body = nullptr) {
    std::string target = path;
    for (const std::string& id : ids) {
      const size_t at = target.find('{');
      target.replace(at, target.find('}') + 1 - at, id);
    }
    std::vector<Header> headers = who;
    headers.push_back({"User-Agent", word});
    headers.push_back({"Idempotency-Key", word + std::to_string(++keys_)});
    const auto answered = g.ask(method, target, headers, body.is_null() ? "" : body.dump());
    INFO(method << " " << target << ": " << answered.text);
    REQUIRE(answered.status < 300);
    asked.insert(method + " " + path);
    return answered.body;
  }
  json mine(const std::string& method, const std::string& path, const std::vector<std::string>& ids,
            const json& body = nullptr) {
    return ask({bearer(jwt), {"X-Request-Id", word}}, method, path, ids, body);
  }
  Header token(const apps::App& app, const accounts::User& user, const std::string& scopes) {
    return bearer(g.world.tokens(app, user, scopes).access_token);
  }

  void sign_up() {
    ask({}, "POST", "/api/auth/register", {},
        {{"email", word + "@example.org"}, {"username", word}, {"password", password}});
    const json in = ask({}, "POST", "/api/auth/login", {},
                        {{"email", word + "@example.org"}, {"password", password}});
    jwt = in["token"];
    user_id = in["user"]["id"];
    g.world.write([&](db::Tx& tx) { accounts::mark_verified(tx, user_id); });
    mine("PATCH", "/api/auth/me", {}, {{"username", word + "2"}});
    mine("POST", "/api/auth/email-change", {},
         {{"new_email", word + "@example.net"}, {"password", password}});
    ask({}, "POST", "/api/auth/forgot-password", {}, {{"email", word + "@example.org"}});
    ask({g.admin}, "GET", "/api/internal/outbox", {});  // as the loop that writes the mail
    mine("POST", "/api/auth/tokens", {}, {{"name", word}, {"scopes", {"profile:read"}}});
    connect_device();
  }

  // A login by berth's own client, on a machine whose name is the word.
  void connect_device() {
    g.world.write([](db::Tx& tx) { apps::add_built_in(tx); });
    const json codes = ask({}, "POST", "/api/oauth/device_authorization", {},
                           {{"client_id", "berth"}, {"scope", "profile:read"}});
    const std::string user_code = codes.at("user_code"), device_code = codes.at("device_code");
    g.world.write([&](db::Tx& tx) {
      oauth::decide_device_request(tx, *accounts::find(tx, user_id), user_code,
                                   oauth::DeviceDecision::allow, g.world.keys.data);
    });
    ask({}, "POST", "/api/oauth/token", {},
        {{"grant_type", "urn:ietf:params:oauth:grant-type:device_code"},
         {"device_code", device_code},
         {"client_id", "berth"},
         {"device_name", word}});
  }

  void meet_people() {
    mine("PUT", "/api/avatars/me", {}, {{"display_name", word}, {"appearance", {{word, word}}}});
    mine("PUT", "/api/learning/path", {}, {{"learning_path", word}});
    mine("PUT", "/api/social/presence", {}, {{"current_game", word}, {"lobby", word}});
    mine("PUT", "/api/social/tables/{table_id}/presence", {word}, {{"status", "online"}});
    mine("POST", "/api/social/friends/requests", {}, {{"username", "bob"}});
    const Header bobs_jwt = bearer(g.world.jwt(bob));
    ask({bobs_jwt}, "POST", "/api/social/friends/requests", {}, {{"username", word + "2"}});
    const json channel = mine("POST", "/api/social/chat/channels", {},
                              {{"type", "lobby"}, {"ref_id", word}})["channel"];
    const std::string channel_id = channel["id"];
    mine("POST", "/api/social/chat/channels/{id}/messages", {channel_id}, {{"body", word}});
    mint("user", user_id);
    mine("POST", "/api/points/transfer", {},
         {{"to_username", "bob"}, {"amount", 1}, {"description", word}});
    ask({bobs_jwt}, "POST", "/api/points/transfer", {},
        {{"to_username", word + "2"}, {"amount", 1}, {"description", word}});
    const auto me = g.world.find_user(user_id);
    const Header in_bobs = token(bobs, me, "points:spend points:transfer profile:read");
    const json spent = ask({in_bobs}, "POST", "/api/external/points/spend", {},
                           {{"amount", 6}, {"description", word}});
    const json refund = {{"spend_id", spent["spend_id"]}, {"amount", 1}, {"reason", word}};
    const Header bobs_own = token(bobs, bob, "profile:read points:read");
    ask({bobs_own}, "POST", "/api/external/points/refunds", {}, refund);
    const json given = ask(g.admin, "POST", "/api/internal/points/refunds", {}, refund)["refund"];
    ask(g.admin, "POST", "/api/internal/points/claw-backs", {},
        {{"transaction_id", given["id"]}, {"amount", 1}, {"reason", word}});
    const auto request = [&] {
      return mine("POST", "/api/points/refund-requests", {}, refund)["request"]["id"]
          .get<std::string>();
    };
    ask({bobs_own}, "POST", "/api/operator/refund-requests/{id}/answer", {request()},
        {{"approve", true}, {"note", word}});
    ask(g.admin, "POST", "/api/internal/refund-requests/{id}/answer", {request()},
        {{"approve", false}, {"note", word}});
    ask({in_bobs}, "POST", "/api/external/points/transfer", {},
        {{"to_username", "bob"}, {"amount", 1}, {"description", word}});
    mine("PATCH", "/api/oauth/connected-apps/{app_id}", {bobs.id}, {{"daily_spend_limit", 100}});
  }

  void mint(const std::string& kind, const std::string& id) {
    ask(g.admin, "POST", "/api/internal/points/mint", {},
        {{"account", {{"kind", kind}, {"id", id}}}, {"amount", 100'000}, {"reason", word}});
  }

  void operate() {
    const json app = mine("POST", "/api/oauth/apps", {},
                          {{"app_name", word},
                           {"redirect_uris", {berth::test::redirect_uri}},
                           {"allowed_scopes",
                            {"profile:read", "points:spend", "deploy:manage", "campaigns:manage",
                             "campaign:write"}}})["app"];
    app_id = app["id"];
    mine("PUT", "/api/operator/apps/{id}", {app_id},
         {{"app_name", word},
          {"app_description", word},
          {"website_url", "https://zqmarker.example.org"},
          {"logo_url", "https://zqmarker.example.org/logo.png"},
          {"redirect_uris", {berth::test::redirect_uri, "https://zqmarker.example.org/callback"}}});
    const auto request = [&] {
      return mine("POST", "/api/oauth/my-apps/{app_id}/scope-request", {app_id},
                  {{"requested_scopes",
                    {"deploy:manage", "campaigns:manage", "campaign:write", "points:spend"}}})["id"]
          .get<std::string>();
    };
    ask(g.admin, "POST", "/api/internal/scope-requests/{id}/reject", {request()},
        {{"reason", word}});
    ask(g.admin, "POST", "/api/internal/scope-requests/{id}/approve", {request()});
    ask(g.admin, "POST", "/api/internal/users/{id}/promote", {user_id}, {{"tier", "wide"}});
    mine("POST", "/api/oauth/my-apps/{app_id}/members", {app_id},
         {{"email", word + ".friend@example.org"}, {"role", "viewer"}});
    ask(g.admin, "POST", "/api/internal/issuers", {},
        {{"issuer", "https://ci.example.org"}, {"name", "CI"}, {"kind", "other"}});
    mine("POST", "/api/oauth/my-apps/{app_id}/trusts", {app_id},
         {{"name", word},
          {"issuer", "https://ci.example.org"},
          {"audience", "https://zqmarker.example.org"},
          {"claims", {{"sub", word}}},
          {"scopes", {"deploy:manage"}}});
    const json hook =
        mine("POST", "/api/operator/apps/{id}/webhooks", {app_id},
             {{"url", "https://zqmarker.example.org/hook"},
              {"events", {"deployment.status", "deployment.domain", "campaign.ended"}}});
    const std::string hook_id = hook["webhook"]["id"];
    mine("PATCH", "/api/operator/apps/{id}/webhooks/{webhook_id}", {app_id, hook_id},
         {{"url", "https://zqmarker.example.org/other"}});
    const json alert = mine("POST", "/api/operator/alerts", {},
                            {{"channel", "discord"},
                             {"name", word},
                             {"target", {{"url", "https://zqmarker.example.org/hook"}}},
                             {"events", {"deployment.failed", "certificate.failed"}}});
    mine("PATCH", "/api/operator/alerts/{id}", {alert["alert"]["id"]},
         {{"name", word}, {"target", {{"url", "https://zqmarker.example.org/other"}}}});
    mint("app", app_id);
    mine("POST", "/api/points/top-up", {},
         {{"app_id", app_id}, {"amount", 1}, {"description", word}});
    const auto bobs_in_mine = token(g.world.find_app(app_id), bob, "points:spend profile:read");
    ask({bobs_in_mine}, "POST", "/api/external/points/spend", {},
        {{"amount", 1}, {"description", word}});
  }

  // Creates a deployment that runs, has a domain with a certificate, and has a message from the
  // cluster.
  std::string deploy(const std::string& name) {
    const auto me = g.world.find_user(user_id);
    const std::vector<Header> manage = {token(g.world.find_app(app_id), me, "deploy:manage"),
                                        {"X-Request-Id", word}};
    const json credentials = {{"username", word}, {"password", word}};
    json order = {{"name", name},
                  {"image", "ghcr.io/zqmarker/web:1"},
                  {"tier", "wide"},
                  {"custom_domain", name + ".zqmarker.org"},
                  {"health_path", "/zqmarker"},
                  {"labels", {{word, word}}},  // gone with the deployment
                  {"env_vars", {{"ZQMARKER", word}}},
                  {"registry_credentials", credentials}};
    for (const auto& field : deployments::container_fields)
      if (field.kind() == deployments::ContainerField::Kind::texts)
        order[std::string(field.name)] = json::array({word});
    ask(manage, "PATCH", "/api/deploy/variables", {}, {{"variables", {{"ZQMARKER", word}}}});
    const std::string id = ask(manage, "POST", "/api/deploy/apps", {}, order)["id"];
    ask(manage, "PATCH", "/api/deploy/apps/{id}", {id},
        {{"image", "ghcr.io/zqmarker/web:2"}, {"env_vars", {{"ZQMARKER", word + "2"}}}});
    g.world.write([&](db::Tx& tx) {
      const auto claim = custom_domains::living(tx, id).value();
      custom_domains::record_check(tx, claim.id, claim.generation,
                                   {.outcome = custom_domains::Outcome::refuted,
                                    .reason = custom_domains::Reason::dns_not_pointing,
                                    .message = word,
                                    .addresses = {}});
      custom_domains::record_check(tx, claim.id, claim.generation,
                                   {.outcome = custom_domains::Outcome::proven,
                                    .reason = {},
                                    .message = {},
                                    .addresses = {}});
      REQUIRE(custom_domains::begin_issuing(tx, claim.id, claim.generation));
      const auto row = deployments::find(tx, id).value();
      deployments::Observation runs;
      runs.status = deployments::Status::running;
      REQUIRE(deployments::record(tx, id, row.generation, runs));
    });
    ask(manage, "POST", "/api/deploy/apps/{id}/runs", {id}, {{"command", {word}}});
    const std::string preview = ask(
        manage, "POST", "/api/deploy/apps/{id}/previews", {id},
        {{"name", name + "-2"}, {"env_vars", {{"ZQMARKER", word}}}})["preview"]["deployment"]["id"];
    ask(manage, "DELETE", "/api/deploy/apps/{id}", {preview});
    g.world.write([&](db::Tx& tx) {
      deployments::mark_removed(tx, preview);
      const auto row = deployments::find(tx, id).value();
      REQUIRE(deployments::record(tx, id, row.generation,
                                  {.status = deployments::Status::errored,
                                   .phase = "pulling",
                                   .reason = deployments::Reason::image_pull_failed,
                                   .cause = {},
                                   .message = "no image " + word,
                                   .container_id = word,
                                   .image_digest = word,
                                   .host_server = {},
                                   .health_status = {}}));
    });
    ask(manage, "DELETE", "/api/deploy/apps/{id}", {id});
    return id;
  }
  void leave_cluster(const std::string& deployment) {
    g.world.write([&](db::Tx& tx) {
      for (const auto& claim : custom_domains::leaving(tx, deployment))
        custom_domains::mark_removed(tx, claim.id);
      deployments::mark_removed(tx, deployment);
    });
  }

  void advertise() {
    const auto me = g.world.find_user(user_id);
    const std::vector<Header> manage = {token(g.world.find_app(app_id), me, "campaigns:manage"),
                                        {"X-Request-Id", word}};
    const std::string placement =
        ask(g.admin, "POST", "/api/internal/ads/placements", {},
            {{"name", "Lobby"}, {"surface_type", "banner"}})["placement"]["id"];
    ask(manage, "POST", "/api/v1/ads/segments", {},
        {{"name", word}, {"geography", word}, {"metadata", {{word, word}}}});
    const std::string campaign =
        ask(manage, "POST", "/api/external/campaigns", {},
            {{"name", word},
             {"surface_type", "banner"},
             {"total_payment", 1'000},
             {"payout_rate", 10},
             {"targeting_metadata", {{"geography", word}}}})["campaign"]["id"];
    const std::string placed =
        ask(manage, "POST", "/api/v1/ads/campaigns/{id}/placements", {campaign},
            {{"ad_placement_id", placement}, {"allocated_budget", 100}})["placement"]["id"];
    ask(manage, "POST", "/api/v1/ads/campaigns/{id}/placements/{placement_id}/segments",
        {campaign, placed}, {{"segment_type", "geography"}, {"segment_value", word}});
    ask(manage, "POST", "/api/external/campaigns/{id}/creatives", {campaign},
        {{"title", word}, {"text", word}, {"link", "https://" + word + ".example.org/"}});
    ask(manage, "DELETE", "/api/external/campaigns/{id}", {campaign});
  }

  void end() { mine("DELETE", "/api/auth/me", {}, {{"password", password}}); }

  // Does what the loops do, until nothing is due.
  void run_loops() {
    while (g.world.read([](db::Tx& tx) { return expiry::is_anything_due(tx); }))
      REQUIRE(g.world.write([](db::Tx& tx) { return expiry::remove_some(tx, plenty); }) > 0);
    while (g.world.write([](db::Tx& tx) { return webhooks::remove_old(tx, plenty); }) > 0) {
    }
  }

  std::string app_id;

 private:
  int keys_ = 0;
};

TEST_CASE("nothing that the user wrote is left of a deleted account") {
  Life life;
  life.sign_up();
  life.meet_people();
  life.operate();
  const std::string gone = life.deploy("zqmarker-gone");
  life.leave_cluster(gone);
  const std::string leaving = life.deploy("zqmarker-leaving");
  life.advertise();
  // Makes sure that the word was written at all, so that the search below means something.
  const auto before = places_of(life.g.world, word);
  for (const char* place : {"ad_creatives.link",
                            "ad_creatives.text",
                            "ad_creatives.title",
                            "alerts.name",
                            "alerts.target_sealed",
                            "app_invitations.email",
                            "app_trusts.audience",
                            "app_trusts.claims",
                            "app_trusts.name",
                            "app_variables.name",
                            "app_variables.value_sealed",
                            "apps.app_description",
                            "apps.redirect_uris",
                            "audience_segments.metadata",
                            "audit_log.details",
                            "audit_log.request_id",
                            "avatars.appearance",
                            "campaigns.targeting_metadata",
                            "chat_entries.sealed_body",
                            "custom_domains.domain",
                            "deploy_logs.details",
                            "deployments.image",
                            "idempotency_keys.body",
                            "learning_paths.path",
                            "ledger_transactions.memo",
                            "outbox.sealed",
                            "personal_tokens.name",
                            "placement_segments.segment_value",
                            "scope_requests.reason",
                            "sessions.user_agent",
                            "users.username",
                            "username_suffixes.username",
                            "webhooks.url"}) {
    INFO(place);
    CHECK(before.contains(place));
  }
  life.end();

  using Places = std::set<std::string>;
  // What may be left then: answers to others, what the cluster still needs, and a name that others
  // use.
  life.run_loops();
  const Places of_leaving = {
      "app_events.data",           "custom_domains.domain", "deploy_logs.details",
      "deployment_runs.command",   "deployment_runs.image", "deployments.container_id",
      "deployments.custom_domain", "deployments.image",     "deployments.image_digest",
      "deployments.name",          "deployments.request_id"};
  // Kept for a day: the keys of others' requests, which contain the word in this test, and the
  // answers to them, such as those of whoever answered the person's refund request. Kept for a
  // week: orders of certificates, for their limits. Kept until they are sent or too old: the letter
  // that confirms the deletion, and letters to others that name the app in their subject.
  const Places for_days = {"idempotency_keys.key",
                           "idempotency_keys.body",
                           "certificate_orders.domain",
                           "certificate_orders.registered_domain",
                           "outbox.sealed",
                           "outbox.subject",
                           "outbox.to_address"};
  // Kept until nobody has been there for long: a channel belongs to everybody who knows the name of
  // its lobby or table, and nothing tells who opened it.
  const Places for_months = {"chat_channels.ref_id"};
  Places expected = of_leaving;
  expected.insert(for_days.begin(), for_days.end());
  expected.insert(for_months.begin(), for_months.end());
  CHECK(places_of(life.g.world, word) == expected);

  life.leave_cluster(leaving);
  life.g.world.clock.advance(std::max(outbox::unsent_kept_for, chat::kept_for) + 24h);
  life.run_loops();
  CHECK(places_of(life.g.world, word) == Places());
  CHECK(life.g.world.read([](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM erasures") +
           tx.number("SELECT count(*) FROM memo_erasures");
  }) == 0);
}

// Of what the tables of an app and its deployments say; the rest belongs to the living account.
std::set<std::string> places_of_operator(World& world) {
  std::set<std::string> places;
  for (const std::string& place : places_of(world, word))
    for (const char* table : {"app", "audience_", "campaign", "custom_domains", "deploy",
                              "placement_", "scope_requests", "webhook"})
      if (place.starts_with(table)) places.insert(place);
  return places;
}

TEST_CASE("deleted deployments, campaigns, placements, webhooks and apps keep what receipts need") {
  using Places = std::set<std::string>;
  Life life;
  World& world = life.g.world;
  life.sign_up();
  life.operate();
  const std::string id = life.deploy("zqmarker");
  CHECK(world.read([&](db::Tx& tx) {
    return tx.number(
               "SELECT count(*) FROM deployments WHERE id = $1 AND env_sealed = '' AND "
               "credentials_sealed IS NULL AND env_keys = '[]'",
               id) +
           tx.number("SELECT count(*) FROM deployment_revisions");
  }) == 1);
  const auto left = world.find_deployment(id).container;
  CHECK(left == deployments::ContainerSpec{.image = left.image, .port = left.port});
  life.leave_cluster(id);
  life.advertise();
  // The deployment answers as before, and what it has become is said for some weeks.
  const auto manage =
      life.token(world.find_app(life.app_id), world.find_user(life.user_id), "deploy:manage");
  const auto get = [&] { return life.g.ask("GET", "/api/deploy/apps/" + id, {manage}); };
  CHECK(get().body["status"] == "destroyed");
  CHECK(get().body["container_image"] == "ghcr.io/zqmarker/web:2");
  world.clock.advance(deployments::words_kept_for);
  life.run_loops();
  const auto of_deployments = [&] {
    Places found;
    for (const std::string& place : places_of_operator(world))
      if (place.starts_with("deploy") || place.starts_with("custom_domains")) found.insert(place);
    return found;
  };
  CHECK(of_deployments() == Places{"deployments.name"});

  life.jwt = world.jwt(world.find_user(life.user_id));
  life.mine("DELETE", "/api/operator/apps/{id}", {life.app_id});
  life.run_loops();
  CHECK(places_of_operator(world) == Places{"deployments.name"});
  CHECK(world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM app_erasures"); }) == 0);
}

TEST_CASE("the texts of a large app that was deleted are erased in batches") {
  Life life;
  World& world = life.g.world;
  life.sign_up();
  life.operate();
  world.write([&](db::Tx& tx) {
    for (int i = 0; i < 2 * erasure::first_batch; ++i)
      tx.execute(R"(
          INSERT INTO audience_segments (id, app_id, name, inserted_at) VALUES ($1, $2, $3, 0))",
                 std::to_string(i), life.app_id, word);
  });
  life.mine("DELETE", "/api/operator/apps/{id}", {life.app_id});
  const auto left = [&] {
    return world.read(
        [](db::Tx& tx) { return tx.number("SELECT count(*) FROM audience_segments"); });
  };
  CHECK(left() > 0);
  CHECK(left() <= 2 * erasure::first_batch);
  life.run_loops();
  CHECK(left() == 0);
}

TEST_CASE("the test of deleted accounts knows every operation that takes text") {
  Life life;
  life.sign_up();
  life.meet_people();
  life.operate();
  life.deploy("zqmarker");
  life.advertise();
  life.end();
  for (const Route& route : routes()) {
    if (!route.has_body() || !takes_text(all_schemas().at(std::string(route.body.schema))))
      continue;
    const std::string operation = std::string(route.method()) + " " + std::string(route.path());
    INFO(operation << " takes text: fill it in, or say why it isn't the person's");
    CHECK((life.asked.contains(operation) || none_of_theirs.contains(operation)));
  }
}

}  // namespace
