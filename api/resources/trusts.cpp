// An app's trusts in CI services, whose jobs then need no secret.
#include "controller/domain/oauth/trusts.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

json encode(const oauth::Trust& trust) {
  return {{"id", trust.id},
          {"name", trust.name},
          {"issuer", trust.issuer},
          {"audience", trust.audience},
          {"claims", trust.claims},
          {"allow_wildcards", trust.wildcards},
          {"deployments", trust.deployments.empty() ? json(nullptr) : json(trust.deployments)},
          {"scopes", trust.scopes.names()},
          {"inserted_at", to_iso8601(trust.inserted_at)},
          {"last_used_at", or_null(trust.last_used_at)}};
}

oauth::ClaimTexts decode_claims(const json& claims) {
  oauth::ClaimTexts all;
  for (const auto& [name, texts] : claims.items())
    all[name] = texts.is_string() ? std::vector{texts.get<std::string>()}
                                  : texts.get<std::vector<std::string>>();
  return all;
}

std::vector<std::string> texts_in(const json& body, const char* field) {
  const auto found = body.find(field);
  return found == body.end() || found->is_null() ? std::vector<std::string>()
                                                 : found->get<std::vector<std::string>>();
}

Reply list_trusts(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = apps::membership(tx, call.user->id, call.id("app_id")).app;
  json trusts = json::array();
  for (const oauth::Trust& trust : oauth::trusts(tx, app.id)) trusts.push_back(encode(trust));
  return {.body = {{"trusts", std::move(trusts)}}};
}

Reply create_trust(db::Tx& tx, const Call& call, const Services& services) {
  const apps::App app = apps::membership(tx, call.user->id, call.id("app_id")).app;
  const json& body = call.body;
  const std::vector<std::string> deployments = texts_in(body, "deployments");
  // The tokens of containers are for no other audience.
  if (body.at("issuer") == oauth::containers_issuer && body.at("audience") != services.base_url)
    throw invalid_field("audience", "must be " + services.base_url + " for the issuer berth");
  for (const std::string& id : deployments) deployments::get_owned(tx, app.id, id);
  const auto allows = body.find("allow_wildcards");
  const auto made = oauth::create_trust(tx, app,
                                        {.name = text_or_nothing(body, "name").value_or(""),
                                         .issuer = body.at("issuer"),
                                         .audience = body.at("audience"),
                                         .claims = decode_claims(body.at("claims")),
                                         .allow_wildcards = allows != body.end() && *allows == true,
                                         .deployments = deployments,
                                         .scopes = texts_in(body, "scopes")});
  audit::record(tx, call.user->id, "trust.create", app.id,
                json{{"trust_id", made.trust.id},
                     {"issuer", made.trust.issuer},
                     {"scopes", made.trust.scopes.text()}}
                    .dump());
  Reply reply = {.status = 201, .body = {{"trust", encode(made.trust)}}};
  if (!made.warnings.empty()) reply.body["warnings"] = made.warnings;
  return reply;
}

Reply delete_trust(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = apps::membership(tx, call.user->id, call.id("app_id")).app;
  oauth::remove_trust(tx, app.id, call.id("trust_id"));
  audit::record(tx, call.user->id, "trust.delete", app.id,
                json{{"trust_id", call.id("trust_id")}}.dump());
  return {.body = {{"message", "the trust was deleted, and its tokens have ended"},
                   {"id", call.id("trust_id")}}};
}

constexpr Placeholder trust_in_path = {"TrustId", "The id of the trust.",
                                       "01936f5e-7c1a-7000-8000-00000000000a"};

constexpr Route rows[] = {
    {.request = "GET /api/oauth/my-apps/{app_id}/trusts",
     .name = "listTrusts",
     .tag = "OAuth",
     .summary = "List the app's trusts in CI services",
     .text = "Lists which ID tokens of CI jobs may be exchanged for access tokens of the app, "
             "oldest first, and when each trust was last used.",
     .guards = {to_developers(person()), account_reads},
     .in_path = {&my_app_in_path},
     .answer = {200, "TrustList"},
     .errors = {Code::app_not_found, Code::forbidden},
     .served_by = {"berth trusts list", "/console/apps"},
     .run = ReadHandler{list_trusts}},
    {.request = "POST /api/oauth/my-apps/{app_id}/trusts",
     .name = "createTrust",
     .tag = "OAuth",
     .summary = "Trust a CI service's ID tokens, so that its jobs need no secret",
     .text = "Lets jobs whose ID tokens have this issuer, this audience and these claims exchange "
             "them at POST /api/oauth/token for an access token of 15 minutes, which acts as the "
             "app with these scopes. At least one claim must be an id that never changes hands: "
             "GitHub's repository_id or repository_owner_id, GitLab's project_id or namespace_id, "
             "another issuer's sub. `warnings` says how much the trust allows. An app has at most "
             "20 trusts.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&my_app_in_path},
     .body = {"CreateTrustRequest"},
     .answer = {201, "CreatedTrust"},
     .errors = {Code::app_not_found, Code::forbidden, Code::deployment_not_found,
                Code::invalid_state},
     .event = {SecurityKind::app_changed, "trust_created"},
     .served_by = {"berth trusts create", "/console/apps"},
     .run = WriteHandler{create_trust}},
    {.request = "DELETE /api/oauth/my-apps/{app_id}/trusts/{trust_id}",
     .name = "deleteTrust",
     .tag = "OAuth",
     .summary = "End a trust, and the tokens that it gave",
     .text = "Deletes the trust. Access tokens that it gave stop working at once.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::nothing,
     .in_path = {&my_app_in_path, &trust_in_path},
     .answer = {200, "DeletedTrust"},
     .errors = {Code::app_not_found, Code::forbidden, Code::trust_not_found},
     .event = {SecurityKind::app_changed, "trust_deleted"},
     .served_by = {"berth trusts delete", "/console/apps"},
     .run = WriteHandler{delete_trust}},
};

}  // namespace

std::span<const Route> trusts_routes() { return rows; }

}  // namespace berth::api
