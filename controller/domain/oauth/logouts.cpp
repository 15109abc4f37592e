#include "controller/domain/oauth/logouts.h"

#include <limits>

#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/oauth/openid_keys.h"

namespace berth::logouts {
namespace {

// The claim by which a logout token is one (Back-Channel Logout 1.0, section 2.4).
constexpr const char* logout_event = "http://schemas.openid.net/event/backchannel-logout";

std::int64_t in_seconds(Instant at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

}  // namespace

void note_disconnected(db::Tx& tx, const std::string& grant_id) {
  tx.execute(R"(
      INSERT INTO logout_notices (app_id, user_id, session_id, live_until)
      SELECT DISTINCT g.app_id, g.user_id, f.session_id, CAST($2 AS bigint)
      FROM token_families f
      JOIN grants g ON g.id = f.grant_id
      JOIN openid_clients o ON o.app_id = g.app_id
      WHERE f.grant_id = $1
        AND f.revoked_at IS NULL
        AND f.session_id IS NOT NULL
        AND o.backchannel_logout_uri IS NOT NULL)",
             grant_id, std::numeric_limits<std::int64_t>::max());
}

void note_tokens_ended(db::Tx& tx, const std::string& session_id) {
  tx.execute(R"(
      INSERT INTO logout_notices (app_id, user_id, session_id, live_until)
      SELECT DISTINCT g.app_id, g.user_id, f.session_id, CAST($2 AS bigint)
      FROM token_families f
      JOIN grants g ON g.id = f.grant_id
      JOIN openid_clients o ON o.app_id = g.app_id
      WHERE f.session_id = $1
        AND f.revoked_at IS NULL
        AND o.backchannel_logout_uri IS NOT NULL)",
             session_id, std::numeric_limits<std::int64_t>::max());
}

std::vector<Notice> due(db::Tx& tx, int most, int most_of_app) {
  std::vector<Notice> notices;
  auto rows = tx.query(R"(
      SELECT n.id, a.client_id, n.user_id, n.session_id, n.attempts, o.id_token_alg,
             CASE WHEN n.attempts > 0 OR n.live_until > $1 THEN o.backchannel_logout_uri END AS url
      FROM (SELECT id, app_id, user_id, session_id, attempts, live_until, next_attempt_at,
                   row_number() OVER (PARTITION BY app_id ORDER BY next_attempt_at, id) AS turn
            FROM logout_notices
            WHERE next_attempt_at <= $1) n
      JOIN apps a ON a.id = n.app_id
      LEFT JOIN openid_clients o ON o.app_id = n.app_id
      WHERE n.turn <= $3
      ORDER BY n.turn, n.next_attempt_at, n.id
      LIMIT $2)",
                       tx.now(), most, most_of_app);
  while (rows.next())
    notices.push_back({.id = rows.integer("id"),
                       .client_id = rows.text("client_id"),
                       .url = rows.text_or_null("url").value_or(""),
                       .alg = db::enum_or_null<apps::IdTokenAlg>(rows, "id_token_alg")
                                  .value_or(apps::IdTokenAlg::rs256),
                       .user_id = rows.text("user_id"),
                       .session_id = rows.text("session_id"),
                       .attempts = int(rows.integer("attempts"))});
  return notices;
}

bool begin_attempt(db::Tx& tx, std::int64_t id, Instant retry_at) {
  return tx.execute(R"(
      UPDATE logout_notices
      SET attempts = attempts + 1, next_attempt_at = $2
      WHERE id = $1 AND next_attempt_at <= $3)",
                    id, retry_at, tx.now()) == 1;
}

void forget(db::Tx& tx, std::int64_t id) {
  tx.execute(R"(DELETE FROM logout_notices WHERE id = $1)", id);
}

std::string logout_token(db::Tx& tx, const Notice& notice, const openid::Issuer& issuer) {
  // The login gave an ID token, so there are keys.
  const openid::SigningKeys keys = openid::signing_keys(tx, issuer.data_key).value();
  const nlohmann::json claims = {
      {"iss", issuer.url},
      {"sub", notice.user_id},
      {"aud", notice.client_id},
      {"iat", in_seconds(tx.now())},
      {"exp", in_seconds(tx.now() + openid::logout_token_lifetime)},
      {"jti", new_uuid(tx.now())},
      {"events", {{logout_event, nlohmann::json::object()}}},
      {"sid", openid::session_name(notice.session_id, notice.client_id)}};
  return openid::sign(keys, notice.alg, openid::logout_token_type, claims);
}

}  // namespace berth::logouts
