#include "controller/domain/accounts/given_up_names.h"

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"

namespace berth::accounts {
namespace {

// Usernames are compared by folding, as they are when somebody takes one. Names of apps, which
// needn't be unique, are compared by their looks.
std::string hash_of(NameKind kind, std::string_view name) {
  std::string compared = folded(name);
  if (const auto looks = looks_of_name(name); kind == NameKind::app && !looks.empty()) {
    compared = "looks:";
    for (const char32_t letter : looks) compared += std::to_string(std::uint32_t(letter)) + " ";
  }
  return hex(sha256(std::string(to_string(kind)) + ":" + compared));
}

}  // namespace

void give_up(db::Tx& tx, NameKind kind, std::string_view name, const std::string& owner_id) {
  tx.execute(
      R"(
      INSERT INTO given_up_names (kind, name_hash, owner_id, given_up_at)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (kind, name_hash) DO UPDATE
        SET owner_id = excluded.owner_id, given_up_at = excluded.given_up_at)",
      to_string(kind), hash_of(kind, name), owner_id, tx.now());
  tx.execute(
      R"(
      DELETE FROM given_up_names
      WHERE kind = $2 AND owner_id = $1
        AND name_hash NOT IN (SELECT name_hash
                              FROM given_up_names
                              WHERE owner_id = $1 AND kind = $2
                              ORDER BY given_up_at DESC, name_hash DESC
                              LIMIT $3))",
      owner_id, to_string(kind), max_given_up_names);
}

void take_up(db::Tx& tx, const std::string& field, NameKind kind, std::string_view name,
             const std::string& taker) {
  const std::string hash = hash_of(kind, name);
  {
    auto rows = tx.query(
        R"(
        SELECT owner_id
        FROM given_up_names
        WHERE kind = $1 AND name_hash = $2 AND given_up_at > $3)",
        to_string(kind), hash, tx.now() - name_reserved_for);
    if (!rows.next()) return;
    if (taker.empty() || rows.text_or_null("owner_id") != taker)
      throw invalid_field(field,
                          "was given up by somebody else less than 90 days ago; choose another");
  }
  tx.execute(R"(DELETE FROM given_up_names WHERE kind = $1 AND name_hash = $2)", to_string(kind),
             hash);
}

void forget_who_gave_up(db::Tx& tx, const std::string& owner_id) {
  tx.execute(R"(UPDATE given_up_names SET owner_id = NULL WHERE owner_id = $1)", owner_id);
}

}  // namespace berth::accounts
