#include "controller/domain/oauth/issuers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/url.h"
#include "controller/db/enum_column.h"
#include "controller/domain/kernel/audit.h"

namespace berth::oauth {
namespace {

const std::string select_issuers = R"(
    SELECT id, issuer, name, kind, jwks_uri, inserted_at
    FROM id_token_issuers )";

Issuer issuer_of(const db::Query& row) {
  return {.id = row.text("id"),
          .issuer = row.text("issuer"),
          .name = row.text("name"),
          .kind = db::enum_of<IssuerKind>(row, "kind"),
          .jwks_uri = row.text_or_null("jwks_uri"),
          .inserted_at = row.instant("inserted_at")};
}

}  // namespace

std::optional<std::string> refuse_issuer_url(const std::string& url, IssuerSchemes schemes) {
  if (url.size() > max_issuer_length)
    return "must have at most " + std::to_string(max_issuer_length) + " characters";
  const bool is_printable =
      std::ranges::all_of(url, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '\\'; });
  const auto read = is_printable ? parse_url(url) : std::nullopt;
  if (!read) return "must be a URL with a host";
  if (read->has_user()) return "must not contain a user name";
  const bool is_local =
      schemes == IssuerSchemes::loopback_too && read->scheme == "http" && is_loopback(read->host);
  if (read->scheme != "https" && !is_local) return "must begin with https://";
  // RFC 8414, section 2: an issuer has neither a query nor a fragment.
  if (url.find_first_of("?#") != std::string::npos) return "must have no query and no fragment";
  return std::nullopt;
}

Issuer add_issuer(db::Tx& tx, const IssuerOrder& order, IssuerSchemes schemes,
                  const std::string& actor) {
  tx.require_serializable();
  if (const auto why = refuse_issuer_url(order.issuer, schemes))
    throw invalid_field("issuer", *why);
  if (order.jwks_uri)
    if (const auto why = refuse_issuer_url(*order.jwks_uri, schemes))
      throw invalid_field("jwks_uri", *why);
  if (find_issuer(tx, order.issuer)) throw invalid_field("issuer", "is listed already");
  if (tx.number(R"(SELECT count(*) FROM id_token_issuers)") >= max_issuers)
    throw Error(Code::invalid_state,
                "at most " + std::to_string(max_issuers) + " issuers can be listed");
  const Issuer issuer = {.id = new_uuid(tx.now()),
                         .issuer = order.issuer,
                         .name = order.name,
                         .kind = order.kind,
                         .jwks_uri = order.jwks_uri,
                         .inserted_at = tx.now()};
  tx.execute(R"(
      INSERT INTO id_token_issuers (id, issuer, name, kind, jwks_uri, inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6))",
             issuer.id, issuer.issuer, issuer.name, to_string(issuer.kind), issuer.jwks_uri,
             issuer.inserted_at);
  audit::record(tx, actor, "issuer.add", issuer.id,
                nlohmann::json{{"issuer", issuer.issuer}, {"kind", issuer.kind}}.dump());
  return issuer;
}

std::vector<Issuer> issuers(db::Tx& tx) {
  static const std::string sql = select_issuers + R"(ORDER BY inserted_at, id)";
  std::vector<Issuer> all;
  auto rows = tx.query(sql);
  while (rows.next()) all.push_back(issuer_of(rows));
  return all;
}

std::optional<Issuer> find_issuer(db::Tx& tx, const std::string& issuer) {
  static const std::string sql = select_issuers + R"(WHERE issuer = $1)";
  auto rows = tx.query(sql, issuer);
  return rows.next() ? std::optional(issuer_of(rows)) : std::nullopt;
}

void remove_issuer(db::Tx& tx, const std::string& id, const std::string& actor) {
  tx.require_serializable();
  static const std::string sql = select_issuers + R"(WHERE id = $1)";
  auto rows = tx.query(sql, id);
  if (!rows.next()) throw Error(Code::issuer_not_found, "there is no such issuer");
  const Issuer issuer = issuer_of(rows);
  tx.execute(R"(DELETE FROM id_token_issuers WHERE id = $1)", id);
  tx.execute(R"(
      UPDATE token_families
      SET revoked_at = $2
      WHERE trust_id IN (SELECT id FROM app_trusts WHERE issuer = $1) AND revoked_at IS NULL)",
             issuer.issuer, tx.now());
  audit::record(tx, actor, "issuer.remove", id, nlohmann::json{{"issuer", issuer.issuer}}.dump());
}

}  // namespace berth::oauth
