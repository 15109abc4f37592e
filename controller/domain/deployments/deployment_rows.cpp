#include "controller/domain/deployments/deployment_rows.h"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/id.h"

namespace berth::deployments {
namespace {

constexpr std::array<std::string_view, 6> status_names = {"pending", "deploying", "running",
                                                          "stopped", "errored",   "destroyed"};
constexpr std::array<std::string_view, 14> reason_names = {
    "image_pull_failed",  "crash_loop",          "port_not_listening", "out_of_memory",
    "quota_exceeded",     "unschedulable",       "image_needs_root",   "rollout_failed",
    "suspended_by_admin", "cluster_unreachable", "cluster_refused",    "dns_not_pointing",
    "domain_taken",       "certificate_failed"};
static_assert(size_t(Status::destroyed) + 1 == status_names.size());
static_assert(size_t(Reason::certificate_failed) + 1 == reason_names.size());

std::optional<Reason> reason_or_null(const db::Query& row, int column) {
  return row.null(column) ? std::nullopt : parse_reason(row.text(column));
}

}  // namespace

std::string_view to_string(Status status) { return status_names.at(size_t(status)); }
std::string_view to_string(Reason reason) { return reason_names.at(size_t(reason)); }

Status parse_status(std::string_view text) {
  for (size_t i = 0; i < status_names.size(); ++i)
    if (status_names[i] == text) return static_cast<Status>(i);
  throw std::invalid_argument("not a deployment status: " + std::string(text));
}

std::optional<Reason> parse_reason(std::string_view text) {
  for (size_t i = 0; i < reason_names.size(); ++i)
    if (reason_names[i] == text) return static_cast<Reason>(i);
  return std::nullopt;
}

const std::string select_deployments =
    "SELECT d.id, d.app_id, d.owner_id, d.tier_id, t.slug, d.name, d.image, d.port, "
    "d.custom_domain, d.health_path, "
    "d.env_keys, d.memory_limit_mb, d.cpu_limit_millicores, d.generation, d.rollout, d.status, "
    "d.phase, d.reason, "
    "d.cause, d.message, d.container_id, d.image_digest, d.host_server, d.health_status, "
    "d.billing_status, "
    "d.last_health_check, d.deployed_at, d.stopped_at, d.suspended_at, d.destroyed_at, "
    "d.removed_at, d.request_id, "
    "d.inserted_at, d.updated_at, c.domain FROM deployments d JOIN deploy_tiers t ON t.id = "
    "d.tier_id "
    "LEFT JOIN custom_domains c ON c.deployment_id = d.id AND c.released_at IS NULL AND c.state = "
    "'active' ";

Deployment deployment_of(const db::Query& row) {
  return {.id = row.text(0),
          .app_id = row.text(1),
          .owner_id = row.text(2),
          .tier_id = row.text(3),
          .tier_slug = row.text(4),
          .name = row.text(5),
          .image = row.text(6),
          .port = int(row.integer(7)),
          .custom_domain = row.text_or_null(8),
          .served_domain = row.text_or_null(34),
          .health_path = row.text_or_null(9),
          .env_keys = nlohmann::json::parse(row.text(10)).get<std::vector<std::string>>(),
          .memory_limit_mb = int(row.integer(11)),
          .cpu_limit_millicores = int(row.integer(12)),
          .generation = row.integer(13),
          .rollout = row.integer(14),
          .status = parse_status(row.text(15)),
          .phase = row.text(16),
          .reason = reason_or_null(row, 17),
          .cause = reason_or_null(row, 18),
          .message = row.text_or_null(19),
          .container_id = row.text_or_null(20),
          .image_digest = row.text_or_null(21),
          .host_server = row.text_or_null(22),
          .health_status = row.text_or_null(23),
          .billing_status = row.text_or_null(24),
          .last_health_check = row.instant_or_null(25),
          .deployed_at = row.instant_or_null(26),
          .stopped_at = row.instant_or_null(27),
          .suspended_at = row.instant_or_null(28),
          .destroyed_at = row.instant_or_null(29),
          .removed_at = row.instant_or_null(30),
          .request_id = row.text(31),
          .inserted_at = row.instant(32),
          .updated_at = row.instant(33)};
}

void write_log(db::Tx& tx, const std::string& deployment_id, const NewLogEntry& entry) {
  tx.execute(
      "INSERT INTO deploy_logs (id, deployment_id, action, status, initiated_by, details, "
      "inserted_at) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7)",
      new_uuid(tx.now()), deployment_id, entry.action, entry.status, entry.initiated_by,
      entry.details, tx.now());
}

SealedEnv seal_env(const std::string& deployment_id, const std::map<std::string, std::string>& env,
                   const std::string& data_key) {
  nlohmann::json keys = nlohmann::json::array();
  for (const auto& [key, value] : env) keys.push_back(key);
  const std::string plain = nlohmann::json(env).dump();
  return {.keys = keys.dump(), .values = base64(seal(data_key, plain, env_context(deployment_id)))};
}

std::string seal_credentials(const std::string& deployment_id,
                             const RegistryCredentials& credentials, const std::string& data_key) {
  const nlohmann::json plain = {{"username", credentials.username},
                                {"password", credentials.password}};
  return base64(seal(data_key, plain.dump(), credentials_context(deployment_id)));
}

nlohmann::json open_json(const std::string& sealed, const std::string& data_key,
                         const std::string& context) {
  const auto bytes = parse_base64(sealed);
  const auto plain = bytes ? open_sealed(data_key, *bytes, context) : std::nullopt;
  if (!plain)
    throw std::runtime_error("a stored value can't be decrypted with this data key: " + context);
  return nlohmann::json::parse(*plain);
}

std::string env_context(const std::string& deployment_id) { return "env:" + deployment_id; }
std::string credentials_context(const std::string& deployment_id) {
  return "credentials:" + deployment_id;
}

}  // namespace berth::deployments
