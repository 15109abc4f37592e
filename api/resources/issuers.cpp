// The issuers of ID tokens that apps may trust, which admins list.
#include "controller/domain/oauth/issuers.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

json encode(const oauth::Issuer& issuer) {
  return {{"id", issuer.id},
          {"issuer", issuer.issuer},
          {"name", issuer.name},
          {"kind", issuer.kind},
          {"jwks_uri", or_null(issuer.jwks_uri)},
          {"inserted_at", to_iso8601(issuer.inserted_at)}};
}

oauth::IssuerSchemes schemes(const Services& services) {
  return services.environment == Environment::production ? oauth::IssuerSchemes::only_https
                                                         : oauth::IssuerSchemes::loopback_too;
}

Reply list_issuers(db::Tx& tx, const Call&, const Services&) {
  json issuers = json::array();
  for (const oauth::Issuer& issuer : oauth::issuers(tx)) issuers.push_back(encode(issuer));
  return {.body = {{"issuers", std::move(issuers)}}};
}

Reply add_issuer(db::Tx& tx, const Call& call, const Services& services) {
  const json& body = call.body;
  const auto kind = parse_enum<oauth::IssuerKind>(body.at("kind").get<std::string>());
  const auto issuer = oauth::add_issuer(tx,
                                        {.issuer = body.at("issuer"),
                                         .name = body.at("name"),
                                         .kind = kind.value_or(oauth::IssuerKind::other),
                                         .jwks_uri = text_or_nothing(body, "jwks_uri")},
                                        schemes(services), call.admin);
  return {.status = 201, .body = {{"issuer", encode(issuer)}}};
}

Reply remove_issuer(db::Tx& tx, const Call& call, const Services&) {
  oauth::remove_issuer(tx, call.id("issuer_id"), call.admin);
  return {.body = {{"message", "the issuer was removed, and no trust in it gives tokens"},
                   {"id", call.id("issuer_id")}}};
}

constexpr Placeholder issuer_in_path = {"IssuerId", "The id of the issuer.",
                                        "01936f5e-7c1a-7000-8000-00000000000a"};
constexpr std::string_view listed_once =
    "An admin lists an issuer once; the guide for admins has the request.";

constexpr Route rows[] = {
    {.request = "GET /api/internal/issuers",
     .name = "listIssuers",
     .tag = "Internal",
     .summary = "List the issuers of ID tokens that apps may trust",
     .text =
         "Lists the CI services and other issuers whose ID tokens apps may trust, oldest first.",
     .guards = admins,
     .answer = {200, "IssuerList"},
     .served_by = {.neither = listed_once},
     .run = ReadHandler{list_issuers}},
    {.request = "POST /api/internal/issuers",
     .name = "addIssuer",
     .tag = "Internal",
     .summary = "Allow apps to trust an issuer of ID tokens, such as GitHub Actions",
     .text = "Lists an issuer. berthd gets its keys by its discovery document, or from jwks_uri, "
             "when a token needs them. At most 50 are listed.",
     .guards = admins,
     .stores = Stores::administration,
     .body = {"AddIssuerRequest"},
     .answer = {201, "IssuerEnvelope"},
     .errors = {Code::invalid_state},
     .served_by = {.neither = listed_once},
     .run = WriteHandler{add_issuer}},
    {.request = "DELETE /api/internal/issuers/{issuer_id}",
     .name = "removeIssuer",
     .tag = "Internal",
     .summary = "Remove an issuer; the access tokens that were given for its ID tokens end",
     .text = "Removes an issuer from the list. The trusts of apps in it stay, give no tokens, and "
             "work again if it is listed again.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&issuer_in_path},
     .answer = {200, "RemovedIssuer"},
     .errors = {Code::issuer_not_found},
     .served_by = {.neither = listed_once},
     .run = WriteHandler{remove_issuer}},
};

}  // namespace

std::span<const Route> issuers_routes() { return rows; }

}  // namespace berth::api
