#include "controller/domain/deployments/deployment_rows.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/container.h"
#include "controller/domain/deployments/owner_list.h"
#include "controller/domain/deployments/runs/crons.h"
#include "controller/domain/deployments/runs/releases.h"
#include "controller/domain/deployments/scales.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::deployments {
namespace {

// AES contexts: a sealed value can't be moved to another row or column.
std::string env_context(const std::string& deployment_id) { return "env:" + deployment_id; }
std::string credentials_context(const std::string& deployment_id) {
  return "credentials:" + deployment_id;
}

// The keys of the sealed variables: their values, and when they got them.
constexpr const char* stored_values = "values";
constexpr const char* stored_times = "set_at";

std::string seal_json(const nlohmann::json& plain, const std::string& data_key,
                      const std::string& context) {
  return base64(berth::seal(data_key, plain.dump(), context));
}

nlohmann::json open_json(const std::string& sealed, const std::string& data_key,
                         const std::string& context) {
  const auto bytes = parse_base64(sealed);
  const auto plain = bytes ? open_sealed(data_key, *bytes, context) : std::nullopt;
  if (!plain)
    throw std::runtime_error("a stored value can't be decrypted with this data key: " + context);
  return nlohmann::json::parse(*plain);
}

// Most deployments have neither variables nor labels, and every request reads them: parsing nothing
// takes as long as reading ten columns.
template <typename Value>
Value from_json(const std::string& text, std::string_view nothing) {
  return text == nothing ? Value() : nlohmann::json::parse(text).get<Value>();
}

}  // namespace

const std::string select_deployments = R"(
    SELECT d.id, d.app_id, d.owner_id, d.tier_id, t.slug AS tier_slug, t.points_per_hour, d.name,
           )" + std::string(container_columns) +
                                       R"(, d.env_keys, d.labels,
           d.custom_domain, c.domain AS served_domain,
           d.memory_limit_mb, d.cpu_limit_millicores, d.generation, d.rollout, d.resized, d.process_rollouts,
           d.status, d.phase, d.reason, d.cause, d.message,
           d.container_id, d.image_digest, d.host_server, d.health_status, d.billing_status,
           d.last_health_check, d.deployed_at, d.stopped_at, d.suspended_at, d.destroyed_at,
           d.removed_at, d.request_id, d.inserted_at, d.updated_at,
           (SELECT s.replicas
            FROM deployment_scales s
            WHERE s.deployment_id = d.id AND s.process = 'web') AS scaled_to
    FROM deployments d
    JOIN deploy_tiers t ON t.id = d.tier_id
    LEFT JOIN custom_domains c
      ON c.deployment_id = d.id AND c.released_at IS NULL AND c.state = 'active'
)";

namespace {

std::optional<int> scaled_to_of(const db::Query& row) {
  const auto replicas = row.integer_or_null("scaled_to");
  if (!replicas) return std::nullopt;
  for (const ProcessSpec& each : processes_of(container_of(row)))
    if (each.scale) return scales::within(*each.scale, int(*replicas));
  return std::nullopt;
}

}  // namespace

Deployment deployment_of(const db::Query& row) {
  return {.id = row.text("id"),
          .app_id = row.text("app_id"),
          .owner_id = row.text("owner_id"),
          .tier_id = row.text("tier_id"),
          .tier_slug = row.text("tier_slug"),
          .name = row.text("name"),
          .container = container_of(row),
          .env_keys = from_json<std::vector<std::string>>(row.text("env_keys"), "[]"),
          .labels = from_json<Labels>(row.text("labels"), "{}"),
          .custom_domain = row.text_or_null("custom_domain"),
          .served_domain = row.text_or_null("served_domain"),
          .memory_limit_mb = int(row.integer("memory_limit_mb")),
          .cpu_limit_millicores = int(row.integer("cpu_limit_millicores")),
          .points_per_hour = row.integer_or_null("points_per_hour"),
          .scaled_to = scaled_to_of(row),
          .generation = row.integer("generation"),
          .rollout = row.integer("rollout"),
          .process_rollouts =
              from_json<std::map<std::string, std::int64_t>>(row.text("process_rollouts"), "{}"),
          .resized = db::enum_or_null<Resize>(row, "resized"),
          .status = db::enum_of<Status>(row, "status"),
          .phase = row.text("phase"),
          .reason = db::enum_or_null<Reason>(row, "reason"),
          .cause = db::enum_or_null<Reason>(row, "cause"),
          .message = row.text_or_null("message"),
          .container_id = row.text_or_null("container_id"),
          .image_digest = row.text_or_null("image_digest"),
          .host_server = row.text_or_null("host_server"),
          .health_status = db::enum_or_null<HealthStatus>(row, "health_status"),
          .billing_status = db::enum_or_null<billing::Status>(row, "billing_status"),
          .last_health_check = row.instant_or_null("last_health_check"),
          .deployed_at = row.instant_or_null("deployed_at"),
          .stopped_at = row.instant_or_null("stopped_at"),
          .suspended_at = row.instant_or_null("suspended_at"),
          .destroyed_at = row.instant_or_null("destroyed_at"),
          .removed_at = row.instant_or_null("removed_at"),
          .request_id = row.text("request_id"),
          .inserted_at = row.instant("inserted_at"),
          .updated_at = row.instant("updated_at")};
}

namespace {

void read_value(std::string& value, const db::Query& row, std::string_view column) {
  value = row.text(column);
}
void read_value(int& value, const db::Query& row, std::string_view column) {
  value = int(row.integer(column));
}
void read_value(Texts& value, const db::Query& row, std::string_view column) {
  value = from_json<Texts>(row.text(column), "[]");
}

void read_value(bool& value, const db::Query& row, std::string_view column) {
  value = row.flag(column);
}
void read_value(std::optional<Scale>& value, const db::Query& row, std::string_view column) {
  if (!row.null(column)) value = nlohmann::json::parse(row.text(column)).get<Scale>();
}
void read_value(Processes& value, const db::Query& row, std::string_view column) {
  value = from_json<Processes>(row.text(column), "{}");
}
void read_value(Crons& value, const db::Query& row, std::string_view column) {
  value = from_json<Crons>(row.text(column), "[]");
}

// A field's value in a column of texts.
std::optional<std::string> text_of(const nlohmann::json& value) {
  if (value.is_null()) return std::nullopt;
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

ContainerSpec container_of(const db::Query& row) {
  ContainerSpec container;
  for (const ContainerField& field : container_fields)
    std::visit([&](auto member) { read_value(container.*member, row, field.name); }, field.member);
  return container;
}

SealedSecrets sealed_secrets_of(const db::Query& row) {
  return {.env_keys = row.text("env_keys"),
          .env = row.text("env_sealed"),
          .credentials = row.text_or_null("credentials_sealed")};
}

SealedSecrets seal(const Secrets& secrets, const std::string& deployment_id,
                   const std::string& data_key, Instant now) {
  nlohmann::json keys = nlohmann::json::array();
  nlohmann::json times = nlohmann::json::object();
  for (const auto& [key, value] : secrets.env) {
    keys.push_back(key);
    const auto set_at = secrets.env_set_at.find(key);
    times[key] = to_millis(set_at == secrets.env_set_at.end() ? now : set_at->second);
  }
  SealedSecrets sealed = {.env_keys = keys.dump(),
                          .env = seal_json({{stored_values, secrets.env}, {stored_times, times}},
                                           data_key, env_context(deployment_id)),
                          .credentials = {}};
  if (const auto& credentials = secrets.registry_credentials)
    sealed.credentials =
        seal_json({{"username", credentials->username}, {"password", credentials->password}},
                  data_key, credentials_context(deployment_id));
  return sealed;
}

Secrets open(const SealedSecrets& sealed, const std::string& deployment_id,
             const std::string& data_key) {
  Secrets secrets;
  const auto stored = open_json(sealed.env, data_key, env_context(deployment_id));
  secrets.env = stored.at(stored_values);
  for (const auto& [key, value] : secrets.env)
    secrets.env_set_at[key] = from_millis(stored.at(stored_times).at(key).get<std::int64_t>());
  if (sealed.credentials) {
    const auto plain = open_json(*sealed.credentials, data_key, credentials_context(deployment_id));
    secrets.registry_credentials =
        RegistryCredentials{.username = plain.at("username"), .password = plain.at("password")};
  }
  return secrets;
}

Secrets own_secrets(db::Tx& tx, const std::string& id, const std::string& data_key) {
  auto rows = tx.query(
      R"(SELECT env_keys, env_sealed, credentials_sealed FROM deployments WHERE id = $1)", id);
  rows.next();
  return open(sealed_secrets_of(rows), id, data_key);
}

std::optional<Deployment> find(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_deployments + R"(WHERE d.id = $1)";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(deployment_of(rows)) : std::nullopt;
}

namespace {

void forget_labels(db::Tx& tx, const std::string& id) {
  tx.execute(R"(DELETE FROM deployment_labels WHERE deployment_id = $1)", id);
}

// Writes the labels, and those of the rows by which a deployment is found that differ.
void store_labels(db::Tx& tx, const std::string& id, const Labels& before, const Labels& labels) {
  Labels gone;
  Labels added;
  std::ranges::set_difference(before, labels, std::inserter(gone, gone.end()));
  std::ranges::set_difference(labels, before, std::inserter(added, added.end()));
  tx.execute_later(R"(UPDATE deployments SET labels = $2, updated_at = $3 WHERE id = $1)", id,
                   nlohmann::json(labels).dump(), tx.now());
  for (const auto& [key, value] : gone)
    tx.execute_later(R"(DELETE FROM deployment_labels WHERE deployment_id = $1 AND label = $2)", id,
                     key);
  for (const auto& [key, value] : added)
    tx.execute_later(R"(
        INSERT INTO deployment_labels (deployment_id, label, value, app_id, inserted_at)
        SELECT id, $2, $3, app_id, inserted_at
        FROM deployments
        WHERE id = $1)",
                     id, key, value);
}

// Seals and writes the variables, the credentials, or both.
void store_secrets(db::Tx& tx, const std::string& id, const Secrets& before, const Secrets& secrets,
                   const std::string& data_key) {
  const bool same_env = before.env == secrets.env && before.env_set_at == secrets.env_set_at;
  const bool same_credentials = before.registry_credentials == secrets.registry_credentials;
  if (same_env && same_credentials) return;
  const SealedSecrets sealed = seal(secrets, id, data_key, tx.now());
  if (!same_env)
    tx.execute_later(R"(
        UPDATE deployments
        SET env_keys = $2, env_sealed = $3, updated_at = $4
        WHERE id = $1)",
                     id, sealed.env_keys, sealed.env, tx.now());
  if (!same_credentials)
    tx.execute_later(R"(
        UPDATE deployments
        SET credentials_sealed = $2, updated_at = $3
        WHERE id = $1)",
                     id, sealed.credentials, tx.now());
}

const std::vector<SortColumn> newest_first = {{SortColumn::Type::integer, "inserted_at"},
                                              {SortColumn::Type::text, "id"}};

}  // namespace

Page<Deployment> list(db::Tx& tx, const std::string& app_id, const PageRequest& page,
                      const std::optional<Label>& label) {
  static const ListSql all = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM deployments
            WHERE app_id = $1 AND status <> 'destroyed'
            LIMIT $2) counted)",
                              .rows = select_deployments + R"(
      WHERE d.app_id = $1 AND d.status <> 'destroyed' AND (d.inserted_at, d.id) < ($2, $3)
      ORDER BY d.inserted_at DESC, d.id DESC
      LIMIT $4 OFFSET $5)",
                              .sorted_by = newest_first};
  // A destroyed deployment has no rows of labels, so its status needn't be checked.
  static const ListSql labelled = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM deployment_labels
            WHERE app_id = $1 AND label = $2 AND value = $3
            LIMIT $4) counted)",
                                   .rows = select_deployments + R"(
      JOIN deployment_labels l ON l.deployment_id = d.id
      WHERE l.app_id = $1 AND l.label = $2 AND l.value = $3
        AND (l.inserted_at, l.deployment_id) < ($4, $5)
      ORDER BY l.inserted_at DESC, l.deployment_id DESC
      LIMIT $6 OFFSET $7)",
                                   .sorted_by = newest_first};
  if (label) return read_page(tx, labelled, page, deployment_of, app_id, label->key, label->value);
  return read_page(tx, all, page, deployment_of, app_id);
}

Page<Deployment> list_of_owner(db::Tx& tx, const std::string& owner_id, const PageRequest& page,
                               const std::optional<Label>& label) {
  static const ListSql all = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM deployments
            WHERE owner_id = $1 AND status <> 'destroyed'
            LIMIT $2) counted)",
                              .rows = select_deployments + R"(
      WHERE d.owner_id = $1 AND d.status <> 'destroyed' AND (d.inserted_at, d.id) < ($2, $3)
      ORDER BY d.inserted_at DESC, d.id DESC
      LIMIT $4 OFFSET $5)",
                              .sorted_by = newest_first};
  // Goes through the owner's deployments in their order and looks each one's label up.
  static const ListSql labelled = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM deployments d
            JOIN deployment_labels l ON l.deployment_id = d.id AND l.label = $2
            WHERE d.owner_id = $1 AND d.status <> 'destroyed' AND l.value = $3
            LIMIT $4) counted)",
                                   .rows = select_deployments + R"(
      JOIN deployment_labels l ON l.deployment_id = d.id AND l.label = $2
      WHERE d.owner_id = $1 AND d.status <> 'destroyed' AND l.value = $3
        AND (d.inserted_at, d.id) < ($4, $5)
      ORDER BY d.inserted_at DESC, d.id DESC
      LIMIT $6 OFFSET $7)",
                                   .sorted_by = newest_first};
  if (label)
    return read_page(tx, labelled, page, deployment_of, owner_id, label->key, label->value);
  return read_page(tx, all, page, deployment_of, owner_id);
}

namespace {

// The ids of the deployments of all apps that the user $1 owns or is a member of, and of these
// those that a member may use. The column has a JSON list of ids.
const std::string of_member = R"(
        SELECT id FROM deployments WHERE owner_id = $1 AND status <> 'destroyed'
        UNION
        SELECT o.id
        FROM app_members m
        JOIN deployments o ON o.app_id = m.app_id AND o.status <> 'destroyed'
        WHERE m.user_id = $1
          AND (m.deployments IS NULL OR m.deployments LIKE '%"' || o.id || '"%'))";
// Whether a deployment has the label $2 with the value $3. Without a label, $2 is empty.
const std::string labelled_so = R"(
        AND ($2 = '' OR EXISTS (SELECT 1
                                FROM deployment_labels l
                                WHERE l.deployment_id = d.id AND l.label = $2 AND l.value = $3)))";

}  // namespace

Page<Deployment> list_of_member(db::Tx& tx, const std::string& user_id, const PageRequest& page,
                                const std::optional<Label>& label) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM deployments d WHERE d.id IN ()" +
                                       of_member + R"())" + labelled_so + R"( LIMIT $4) counted)",
                              .rows = select_deployments + R"(
      WHERE d.id IN ()" + of_member + R"())" +
                                      labelled_so + R"(
        AND (d.inserted_at, d.id) < ($4, $5)
      ORDER BY d.inserted_at DESC, d.id DESC
      LIMIT $6 OFFSET $7)",
                              .sorted_by = newest_first};
  return read_page(tx, sql, page, deployment_of, user_id, label ? label->key : "",
                   label ? label->value : "");
}

Page<Deployment> list_of_app(db::Tx& tx, const std::string& app_id,
                             const std::vector<std::string>& ids, const PageRequest& page,
                             const std::optional<Label>& label) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM deployments d
            WHERE d.app_id = $1 AND d.status <> 'destroyed' AND $4 LIKE '%"' || d.id || '"%')" +
                                       labelled_so + R"(
            LIMIT $5) counted)",
                              .rows = select_deployments + R"(
      WHERE d.app_id = $1 AND d.status <> 'destroyed' AND $4 LIKE '%"' || d.id || '"%')" +
                                      labelled_so + R"(
        AND (d.inserted_at, d.id) < ($5, $6)
      ORDER BY d.inserted_at DESC, d.id DESC
      LIMIT $7 OFFSET $8)",
                              .sorted_by = newest_first};
  return read_page(tx, sql, page, deployment_of, app_id, label ? label->key : "",
                   label ? label->value : "", nlohmann::json(ids).dump());
}

void insert(db::Tx& tx, const std::string& id, const Actor& actor, const Order& order,
            const tiers::Tier& tier, const std::string& owner_id, const std::string& data_key) {
  const auto billing_status = tier.monthly_cost_points.value_or(0) == 0 ? billing::Status::exempt
                                                                        : billing::Status::current;
  const SealedSecrets secrets = seal(order.secrets, id, data_key, tx.now());
  tx.execute(R"(
      INSERT INTO deployments
        (id, app_id, owner_id, tier_id, name, image, port, env_keys, env_sealed, credentials_sealed,
         memory_limit_mb, cpu_limit_millicores, status, billing_status,
         request_id, inserted_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, '', $6, $7, $8, $9, $10, $11, 'pending', $12, $13, $14, $14))",
             id, actor.app_id, owner_id, tier.id, order.name, order.container.port,
             secrets.env_keys, secrets.env, secrets.credentials, tier.memory_limit_mb,
             tier.cpu_limit_millicores, to_string(billing_status), actor.request_id, tx.now());
  Order inserted;
  inserted.secrets = order.secrets;
  store(tx, id, inserted, order, data_key);
}

void store_container(db::Tx& tx, const std::string& id, const ContainerSpec& container) {
  static const std::string sql = R"(
      UPDATE deployments
      SET updated_at = $2, )" + std::string(container_values) +
                                 R"(
      WHERE id = $1)";
  auto query = tx.query(sql, id, tx.now());
  int number = first_container_value;
  for (const ContainerField& field : container_fields) {
    const nlohmann::json value = value_of(container, field);
    if (value.is_number())
      query.bind(number++, value.get<std::int64_t>());
    else if (value.is_boolean())
      query.bind(number++, value.get<bool>());
    else
      query.bind(number++, text_of(value));
  }
  query.run();
  store_most(tx, id, container);
  scales::container_changed(tx, id, container);
}

void store_most(db::Tx& tx, const std::string& id, const ContainerSpec& container) {
  std::int64_t containers = 0;
  // Of those that have limits of their own, and how many have the deployment's.
  std::int64_t memory = 0, cpu = 0, with_memory_of_tier = 0, with_cpu_of_tier = 0;
  for (const ProcessSpec& process : processes_of(container)) {
    const std::int64_t number = process.most_replicas();
    containers += number;
    memory += number * process.memory_mb.value_or(0);
    cpu += number * process.cpu_millicores.value_or(0);
    if (!process.memory_mb) with_memory_of_tier += number;
    if (!process.cpu_millicores) with_cpu_of_tier += number;
  }
  tx.execute(R"(
      UPDATE deployments
      SET most_containers = $2,
          most_memory_mb = $3 + $4 * memory_limit_mb,
          most_cpu_millicores = $5 + $6 * cpu_limit_millicores
      WHERE id = $1)",
             id, containers, memory, with_memory_of_tier, cpu, with_cpu_of_tier);
}

void store(db::Tx& tx, const std::string& id, const Order& before, const Order& order,
           const std::string& data_key) {
  if (order.container != before.container) store_container(tx, id, order.container);
  if (order.container.crons != before.container.crons) crons::follow(tx, id, order.container.crons);
  store_secrets(tx, id, before.secrets, order.secrets, data_key);
  if (order.custom_domain != before.custom_domain)
    tx.execute_later(R"(UPDATE deployments SET custom_domain = $2, updated_at = $3 WHERE id = $1)",
                     id, order.custom_domain, tx.now());
  if (order.labels != before.labels) store_labels(tx, id, before.labels, order.labels);
}

namespace {

// Commands end with the deployment that runs them, and begin again with it.
void follow_status(db::Tx& tx, const std::string& id, Status status) {
  if (status == Status::stopped || status == Status::destroyed) {
    crons::deployment_stops(tx, id);
    runs::deployment_stops(tx, id);
  } else {
    crons::deployment_starts(tx, id);
    releases::deployment_starts(tx, id);
  }
}

}  // namespace

std::map<std::string, std::int64_t> next_rollouts(const Deployment& row,
                                                  const std::vector<std::string>& replaced) {
  std::map<std::string, std::int64_t> rollouts;
  for (const ProcessSpec& one : processes_of(row.container))
    if (const auto known = row.process_rollouts.find(one.name); known != row.process_rollouts.end())
      rollouts.insert(*known);
  for (const std::string& process : replaced) ++rollouts[process];
  return rollouts;
}

void begin_generation(db::Tx& tx, const std::string& id, const NewGeneration& next) {
  tx.require_serializable();
  tx.execute(R"(
      UPDATE deployments
      SET generation = generation + 1,
          rollout = rollout + $3,
          resized = NULL,
          process_rollouts = CASE WHEN $2 = 'destroyed' THEN '{}' ELSE process_rollouts END,
          status = $2,
          phase = '', reason = $4, cause = NULL, message = $5, health_status = NULL,
          stopped_at = CASE WHEN $2 = 'stopped' AND status <> 'stopped' THEN $7
                            WHEN $2 IN ('stopped', 'destroyed') THEN stopped_at END,
          destroyed_at = CASE WHEN $2 = 'destroyed' THEN $7 END,
          labels = CASE WHEN $2 = 'destroyed' THEN '{}' ELSE labels END,
          request_id = $6,
          updated_at = $7
      WHERE id = $1)",
             id, to_string(next.status), next.replace == Replace::always ? 1 : 0,
             to_string(next.reason), next.message, next.request_id, tx.now());
  if (next.status == Status::destroyed) forget_labels(tx, id);
  follow_status(tx, id, next.status);
  tx.notify(db::Topic::deployment, id);
}

Status status_with_new_container(Status status) {
  return status == Status::stopped || status == Status::pending ? status : Status::deploying;
}

void write_log(db::Tx& tx, const std::string& deployment_id, const NewLogEntry& entry) {
  tx.execute_later(R"(
      INSERT INTO deploy_logs
        (id, deployment_id, number, action, status, initiated_by, details, inserted_at)
      VALUES ($1, $2,
              (SELECT coalesce(max(number), 0) + 1 FROM deploy_logs WHERE deployment_id = $2),
              $3, $4, $5, $6, $7))",
                   new_uuid(tx.now()), deployment_id, to_string(entry.action),
                   to_string(entry.status), entry.initiated_by, entry.details, tx.now());
  tx.execute_later(R"(
      DELETE FROM deploy_logs
      WHERE deployment_id = $1
        AND number <= (SELECT max(number) FROM deploy_logs WHERE deployment_id = $1) - $2)",
                   deployment_id, kept_log_entries);
}

}  // namespace berth::deployments
