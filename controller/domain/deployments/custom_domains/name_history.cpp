#include "controller/domain/deployments/custom_domains/name_history.h"

#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/crypto.h"
#include "controller/domain/kernel/meta.h"

namespace berth::name_history {
namespace {

constexpr std::string_view done_key = "older_names_remembered";

std::string hash_of(Kind kind, const std::string& name, const std::string& data_key) {
  const std::string prefix = kind == Kind::subdomain ? "used sub-domain:" : "used domain:";
  return base64url(hmac_sha256(data_key, prefix + name));
}

void remember_rows(db::Tx& tx, Kind kind, std::string_view select, const std::string& data_key) {
  std::vector<std::pair<std::string, std::string>> rows;
  {
    auto found = tx.query(select);
    while (found.next()) rows.emplace_back(found.text("name"), found.text("owner_id"));
  }
  for (const auto& [name, owner_id] : rows) remember(tx, kind, name, owner_id, data_key);
}

}  // namespace

void remember(db::Tx& tx, Kind kind, const std::string& name, const std::string& owner_id,
              const std::string& data_key) {
  tx.execute(R"(
      INSERT INTO used_names (name_hash, owner_id)
      VALUES ($1, $2)
      ON CONFLICT (name_hash) DO UPDATE
        SET owner_id = NULL
        WHERE used_names.owner_id <> excluded.owner_id)",
             hash_of(kind, name, data_key), owner_id);
}

bool was_anothers(db::Tx& tx, Kind kind, const std::string& name, const std::string& owner_id,
                  const std::string& data_key) {
  return tx.number(R"(
      SELECT count(*)
      FROM used_names
      WHERE name_hash = $1 AND (owner_id IS NULL OR owner_id <> $2))",
                   hash_of(kind, name, data_key), owner_id) > 0;
}

void remember_older(db::Tx& tx, const std::string& data_key) {
  if (meta::find(tx, done_key)) return;
  meta::put(tx, done_key, "yes");
  remember_rows(tx, Kind::subdomain, R"(SELECT DISTINCT name, owner_id FROM deployments)",
                data_key);
  remember_rows(tx, Kind::domain, R"(SELECT DISTINCT domain AS name, owner_id FROM custom_domains)",
                data_key);
}

}  // namespace berth::name_history
