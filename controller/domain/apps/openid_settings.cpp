#include "controller/domain/apps/openid_settings.h"

#include <nlohmann/json.hpp>

#include "controller/db/enum_column.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/webhooks/webhooks.h"

namespace berth::apps {

void check_openid(const OpenIdSettings& settings, Details& wrong) {
  if (settings.post_logout_redirect_uris.size() > max_post_logout_redirect_uris)
    wrong["post_logout_redirect_uris"].push_back("must have 10 URIs at most");
  for (const std::string& uri : settings.post_logout_redirect_uris)
    if (const auto refusal = refuse_redirect_uri(uri))
      wrong["post_logout_redirect_uris"].push_back(*refusal);
  // Whether http is possible, too, depends on the environment, which the API knows.
  if (settings.backchannel_logout_uri)
    if (const auto refusal =
            webhooks::refuse_url(*settings.backchannel_logout_uri, webhooks::Schemes::http_too))
      wrong["backchannel_logout_uri"].push_back(*refusal);
}

OpenIdSettings openid_settings(db::Tx& tx, const std::string& app_id) {
  auto rows = tx.query(R"(
      SELECT id_token_alg, post_logout_redirect_uris, backchannel_logout_uri
      FROM openid_clients
      WHERE app_id = $1)",
                       app_id);
  if (!rows.next()) return {};
  return {.id_token_alg = db::enum_of<IdTokenAlg>(rows, "id_token_alg"),
          .post_logout_redirect_uris = nlohmann::json::parse(rows.text("post_logout_redirect_uris"))
                                           .get<std::vector<std::string>>(),
          .backchannel_logout_uri = rows.text_or_null("backchannel_logout_uri")};
}

void store_openid_settings(db::Tx& tx, const std::string& app_id, const OpenIdSettings& settings) {
  if (settings == OpenIdSettings()) {
    tx.execute(R"(DELETE FROM openid_clients WHERE app_id = $1)", app_id);
    return;
  }
  tx.execute(R"(
      INSERT INTO openid_clients (app_id, id_token_alg, post_logout_redirect_uris,
                                  backchannel_logout_uri)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (app_id) DO UPDATE
      SET id_token_alg = excluded.id_token_alg,
          post_logout_redirect_uris = excluded.post_logout_redirect_uris,
          backchannel_logout_uri = excluded.backchannel_logout_uri)",
             app_id, to_string(settings.id_token_alg),
             nlohmann::json(settings.post_logout_redirect_uris).dump(),
             settings.backchannel_logout_uri);
}

}  // namespace berth::apps
