// The web origins of apps' pages.
#include "controller/base/url.h"
#include "controller/domain/apps/app_rows.h"

namespace berth::apps {
namespace {

// No origin that parse_origin() returns is longer: a scheme, a host name and a port.
constexpr size_t max_origin_length = 300;

}  // namespace

std::optional<std::string> parse_origin(const std::string& text) {
  if (text.size() > max_origin_length) return std::nullopt;
  auto url = parse_url(text);
  if (!url || !url->is_web() || url->has_user() || !url->rest.empty()) return std::nullopt;
  if (url->scheme == "http" && !is_loopback(url->host)) return std::nullopt;
  if (url->port == port_of_scheme(url->scheme)) url->port = 0;
  return url->origin();
}

std::vector<std::string> allowed_origins(db::Tx& tx, const std::string& app_id) {
  std::vector<std::string> origins;
  auto rows = tx.query(R"(
    SELECT origin FROM app_origins
    WHERE app_id = $1
    ORDER BY origin)",
                       app_id);
  while (rows.next()) origins.push_back(rows.text("origin"));
  return origins;
}

bool allows_origin(db::Tx& tx, const std::string& app_id, std::string_view origin) {
  if (origin.size() > max_origin_length) return false;
  return tx.number(R"(
    SELECT count(*) FROM app_origins
    WHERE app_id = $1 AND origin = $2)",
                   app_id, std::string(origin)) > 0;
}

bool is_origin_of_any(db::Tx& tx, std::string_view origin) {
  if (origin.size() > max_origin_length) return false;
  return tx.number(R"(SELECT 1 FROM app_origins WHERE origin = $1 LIMIT 1)", origin) > 0;
}

void store_origins(db::Tx& tx, const std::string& app_id, const std::vector<std::string>& origins) {
  tx.execute(R"(DELETE FROM app_origins WHERE app_id = $1)", app_id);
  for (const std::string& origin : origins)
    tx.execute(R"(
      INSERT INTO app_origins (app_id, origin) VALUES ($1, $2)
      ON CONFLICT (app_id, origin) DO NOTHING)",
               app_id, parse_origin(origin).value());
}

}  // namespace berth::apps
