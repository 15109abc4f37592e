#include "controller/domain/deployments/custom_domains/name_history.h"

#include "controller/base/crypto.h"

namespace berth::name_history {
namespace {

std::string hash_of(Kind kind, const std::string& name, const std::string& data_key) {
  const std::string prefix = kind == Kind::subdomain ? "used sub-domain:" : "used domain:";
  return base64url(hmac_sha256(data_key, prefix + name));
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

}  // namespace berth::name_history
