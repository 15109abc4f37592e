// Secrets for x-internal-secret that admins make, beside those of the configuration.
#include "controller/domain/accounts/internal_secrets.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

json encode(const internal_secrets::Secret& secret) {
  return {{"id", secret.id},
          {"name", secret.name},
          {"role", secret.role},
          {"made_by", secret.made_by},
          {"inserted_at", to_iso8601(secret.inserted_at)},
          {"expires_at", or_null(secret.expires_at)},
          {"last_used_at", or_null(secret.last_used_at)}};
}

Reply list_secrets(db::Tx& tx, const Call&, const Services&) {
  json secrets = json::array();
  for (const auto& secret : internal_secrets::list(tx)) secrets.push_back(encode(secret));
  return {.body = {{"secrets", std::move(secrets)}}};
}

Reply make_secret(db::Tx& tx, const Call& call, const Services&) {
  const auto days = integer_or_nothing(call.body, "expires_in_days");
  const internal_secrets::Made made = internal_secrets::make(
      tx, call.body.at("name"),
      call.body.contains("role") ? call.body["role"].get<accounts::AdminRole>()
                                 : accounts::AdminRole::admin,
      days ? std::optional<Duration>(std::chrono::days(*days)) : std::nullopt, call.admin);
  return {.status = 201, .body = {{"secret", made.text}, {"internal_secret", encode(made.secret)}}};
}

Reply revoke_secret(db::Tx& tx, const Call& call, const Services&) {
  return {
      .body = {{"internal_secret", encode(internal_secrets::revoke(tx, call.id(), call.admin))}}};
}

constexpr Placeholder secret_in_path = {"InternalSecretId", "The id of the internal secret.",
                                        "01936f5e-7c1a-7000-8000-000000000018"};

constexpr Route rows[] = {
    {.request = "GET /api/internal/secrets",
     .name = "listInternalSecrets",
     .tag = "Internal",
     .summary = "List the internal secrets that admins have made",
     .text = "Lists them with their roles and when they were used last, never the secrets "
             "themselves.",
     .guards = admins,
     .answer = {200, "InternalSecretList"},
     .served_by = {"berth admin secrets list", "/console/admin"},
     .run = ReadHandler{list_secrets}},
    {.request = "POST /api/internal/secrets",
     .name = "makeInternalSecret",
     .tag = "Internal",
     .summary = "Make an internal secret with a name and a role",
     .text = "Makes a secret of 256 random bits, which works at once and is shown in this answer "
             "alone. To replace one without a gap, make another of the same name, use that, and "
             "revoke the old one. At most 50 exist.",
     .guards = admins_in_person,
     .stores = Stores::administration,
     .body = {"MakeInternalSecretRequest"},
     .answer = {201, "MadeInternalSecret"},
     .errors = {Code::invalid_state},
     .served_by = {"berth admin secrets make", "/console/admin"},
     .run = WriteHandler{make_secret}},
    {.request = "DELETE /api/internal/secrets/{id}",
     .name = "revokeInternalSecret",
     .tag = "Internal",
     .summary = "Revoke an internal secret",
     .text = "The secret opens nothing any more from the next request on. What it has done stays "
             "in the audit log.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&secret_in_path},
     .answer = {200, "InternalSecretEnvelope"},
     .errors = {Code::not_found},
     .served_by = {"berth admin secrets revoke", "/console/admin"},
     .run = WriteHandler{revoke_secret}},
};

}  // namespace

std::span<const Route> internal_secrets_routes() { return rows; }

}  // namespace berth::api
