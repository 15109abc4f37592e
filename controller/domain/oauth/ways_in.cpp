#include "controller/domain/oauth/ways_in.h"

#include "controller/domain/oauth/personal_tokens.h"
#include "controller/domain/oauth/token_rows.h"

namespace berth::oauth {
namespace {

std::vector<std::string> programs_of(db::Tx& tx, const std::string& user_id) {
  std::vector<std::string> names;
  auto rows = tx.query(R"(
      SELECT coalesce(d.name, '') AS name, coalesce(d.program, '') AS program
      FROM token_families f
      LEFT JOIN devices d ON d.family_id = f.id
      WHERE f.grant_id = $1 AND f.revoked_at IS NULL AND f.expires_at > $2
      ORDER BY f.created_at DESC, f.id DESC
      LIMIT $3)",
                       built_in_grant(tx, user_id), tx.now(), max_named + 1);
  while (rows.next()) {
    const std::string name = rows.text("name"), program = rows.text("program");
    names.push_back((name.empty() ? "unnamed" : name) +
                    (program.empty() ? "" : " (" + program + ")"));
  }
  return names;
}

std::vector<std::string> apps_of(db::Tx& tx, const std::string& user_id) {
  std::vector<std::string> names;
  auto rows = tx.query(R"(
      SELECT a.app_name
      FROM grants g
      JOIN apps a ON a.id = g.app_id
      WHERE g.user_id = $1
        AND g.revoked_at IS NULL
        AND g.scopes <> ''
        AND a.built_in = 0
        AND a.deleted_at IS NULL
        AND EXISTS (SELECT 1
                    FROM token_families f
                    WHERE f.grant_id = g.id AND f.revoked_at IS NULL AND f.expires_at > $2)
      ORDER BY g.connected_at DESC, g.id DESC
      LIMIT $3)",
                       user_id, tx.now(), max_named + 1);
  while (rows.next()) names.push_back(rows.text("app_name"));
  return names;
}

}  // namespace

EndedTokens end_all_tokens(db::Tx& tx, const std::string& user_id) {
  EndedTokens ended = {.programs = programs_of(tx, user_id),
                       .apps = apps_of(tx, user_id),
                       .personal_tokens = personal_tokens::end_all(tx, user_id, max_named)};
  for (auto* names : {&ended.programs, &ended.apps, &ended.personal_tokens})
    if (names->size() > size_t(max_named)) {
      names->resize(size_t(max_named));
      ended.has_more = true;
    }
  tx.execute(R"(
      UPDATE token_families
      SET revoked_at = $2
      WHERE grant_id IN (SELECT id FROM grants WHERE user_id = $1) AND revoked_at IS NULL)",
             user_id, tx.now());
  tx.execute(R"(
      DELETE FROM authorization_codes
      WHERE grant_id IN (SELECT id FROM grants WHERE user_id = $1) AND family_id IS NULL)",
             user_id);
  tx.execute(R"(
      UPDATE device_codes
      SET denied_at = $2
      WHERE grant_id IN (SELECT id FROM grants WHERE user_id = $1) AND denied_at IS NULL)",
             user_id, tx.now());
  return ended;
}

}  // namespace berth::oauth
