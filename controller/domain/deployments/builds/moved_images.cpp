// Images that builds made on one machine, when its deployments move to a cluster.
#include <map>
#include <nlohmann/json.hpp>

#include "controller/domain/deployments/builds/builds.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/revisions.h"

namespace berth::builds {
namespace {

using deployments::Deployment;

// What berthd does it for, instead of the id of a request.
constexpr const char* request_id = "local-push";

std::vector<std::string> wanting(db::Tx& tx, const std::string& app_id, const std::string& image) {
  auto rows = tx.query(R"(
      SELECT id
      FROM deployments
      WHERE app_id = $1 AND image = $2 AND status <> 'destroyed'
      ORDER BY inserted_at, id)",
                       app_id, image);
  std::vector<std::string> ids;
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

void roll_out(db::Tx& tx, const Deployment& row, const std::string& to) {
  tx.require_change(R"(
      UPDATE deployments
      SET image = $2
      WHERE id = $1 AND image = $3)",
                    row.id, to, row.container.image);
  const bool is_stopped = row.status == deployments::Status::stopped;
  deployments::begin_generation(tx, row.id,
                                {.status = deployments::status_with_new_container(row.status),
                                 .request_id = request_id,
                                 .reason = is_stopped ? row.reason : std::nullopt,
                                 .message = is_stopped ? row.message : std::nullopt});
  deployments::begin_revision(tx, row.id, deployments::RolloutKind::patch, std::nullopt);
  const nlohmann::json details = {
      {"kind", "patch"}, {"fields", {"image"}}, {"generation", row.generation + 1}};
  deployments::write_log(
      tx, row.id,
      {.action = deployments::LogAction::deploy,
       .status = is_stopped ? deployments::LogStatus::succeeded : deployments::LogStatus::started,
       .initiated_by = {},
       .details = details.dump()});
}

}  // namespace

std::vector<ImageInUse> images_in_use(db::Tx& tx) {
  auto rows = tx.query(R"(
      SELECT b.image, b.app_id, b.name AS build_name, d.name
      FROM builds b
      JOIN deployments d ON d.app_id = b.app_id AND d.image = b.image AND d.status <> 'destroyed'
      WHERE b.image IS NOT NULL AND b.image_removed_at IS NULL
      ORDER BY b.id, d.id)");
  std::vector<ImageInUse> images;
  while (rows.next()) {
    const std::string image = rows.text("image");
    if (images.empty() || images.back().image != image)
      images.push_back({.image = image,
                        .app_id = rows.text("app_id"),
                        .name = rows.text("build_name"),
                        .deployments = {}});
    images.back().deployments.push_back(rows.text("name"));
  }
  return images;
}

int replace_image(db::Tx& tx, const std::string& app_id, const std::string& from,
                  const std::string& to) {
  tx.require_serializable();
  const auto ids = wanting(tx, app_id, from);
  for (const std::string& id : ids) roll_out(tx, *deployments::find(tx, id), to);
  for (const std::string& id : ids)
    tx.execute(R"(
        UPDATE deployment_revisions
        SET image = $3
        WHERE deployment_id = $1 AND image = $2)",
               id, from, to);
  return int(ids.size());
}

}  // namespace berth::builds
