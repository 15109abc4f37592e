#include "controller/domain/accounts/internal_secrets.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/kernel/audit.h"

namespace berth::internal_secrets {
namespace {

Secret secret_of(const db::Query& row) {
  return {.id = row.text("id"),
          .name = row.text("name"),
          .role = db::enum_of<accounts::AdminRole>(row, "role"),
          .made_by = row.text("made_by"),
          .inserted_at = row.instant("inserted_at"),
          .expires_at = row.instant_or_null("expires_at"),
          .last_used_at = row.instant_or_null("last_used_at")};
}

const std::string select_secrets = R"(
    SELECT id, name, role, made_by, inserted_at, expires_at, last_used_at
    FROM internal_secrets
    )";

Secret get(db::Tx& tx, const std::string& id) {
  auto rows = tx.query(select_secrets + R"(WHERE id = $1)", id);
  if (!rows.next()) throw Error(Code::not_found, "there is no such internal secret");
  return secret_of(rows);
}

void record(db::Tx& tx, const std::string& actor, const char* action, const Secret& secret) {
  audit::record(tx, actor, action, secret.id,
                nlohmann::json{{"name", secret.name}, {"role", secret.role}}.dump());
}

}  // namespace

bool is_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= max_name_length && name[0] >= 'a' && name[0] <= 'z' &&
         std::ranges::all_of(name, is_plain) && name != "internal" && name != "user";
}

Made make(db::Tx& tx, const std::string& name, accounts::AdminRole role,
          std::optional<Duration> lifetime, const std::string& actor) {
  tx.require_serializable();
  if (!is_name(name)) throw invalid_field("name", std::string(name_rule));
  if (tx.number(R"(SELECT count(*) FROM internal_secrets)") >= max_secrets)
    throw Error(Code::invalid_state, "there are " + std::to_string(max_secrets) +
                                         " internal secrets; revoke one that isn't used first");
  Made made = {
      .secret = {.id = new_uuid(tx.now()),
                 .name = name,
                 .role = role,
                 .made_by = actor,
                 .inserted_at = tx.now(),
                 .expires_at = lifetime ? std::optional(tx.now() + *lifetime) : std::nullopt},
      .text = random_token(prefix)};
  tx.execute(R"(
      INSERT INTO internal_secrets (id, name, secret_hash, role, made_by, inserted_at, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7))",
             made.secret.id, name, token_hash(made.text), to_string(role), actor, tx.now(),
             made.secret.expires_at);
  record(tx, actor, "internal_secret.make", made.secret);
  return made;
}

std::vector<Secret> list(db::Tx& tx) {
  auto rows = tx.query(select_secrets + R"(ORDER BY id DESC LIMIT $1)", max_secrets);
  std::vector<Secret> secrets;
  while (rows.next()) secrets.push_back(secret_of(rows));
  return secrets;
}

Secret revoke(db::Tx& tx, const std::string& id, const std::string& actor) {
  const Secret secret = get(tx, id);
  tx.execute(R"(DELETE FROM internal_secrets WHERE id = $1)", id);
  record(tx, actor, "internal_secret.revoke", secret);
  return secret;
}

std::optional<Secret> find_valid(db::Tx& tx, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  auto rows = tx.query(
      select_secrets + R"(WHERE secret_hash = $1 AND (expires_at IS NULL OR expires_at > $2))",
      token_hash(text), tx.now());
  return rows.next() ? std::optional(secret_of(rows)) : std::nullopt;
}

bool is_use_due(const Secret& secret, Instant now) {
  return !secret.last_used_at || now - *secret.last_used_at >= use_stored_every;
}

void store_use(db::Tx& tx, const std::string& id) {
  tx.execute(R"(UPDATE internal_secrets SET last_used_at = $2 WHERE id = $1)", id, tx.now());
}

}  // namespace berth::internal_secrets
