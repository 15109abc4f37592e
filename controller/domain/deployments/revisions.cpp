#include "controller/domain/deployments/revisions.h"

#include <algorithm>

#include "controller/db/enum_column.h"
#include "controller/domain/deployments/runs/releases.h"

namespace berth::deployments {
namespace {

const std::string select_revisions = R"(
    SELECT generation, kind, initiated_by, )" +
                                     std::string(container_columns) +
                                     R"(, env_keys, env_sealed,
           credentials_sealed, image_digest, started_at, succeeded_at
    FROM deployment_revisions
    WHERE deployment_id = $1
)";

Revision revision(const db::Query& row) {
  return {.generation = row.integer("generation"),
          .kind = db::enum_of<RolloutKind>(row, "kind"),
          .initiated_by = row.text_or_null("initiated_by"),
          .container = container_of(row),
          .secrets = sealed_secrets_of(row),
          .image_digest = row.text_or_null("image_digest"),
          .started_at = row.instant("started_at"),
          .succeeded = !row.null("succeeded_at")};
}

// Returns the image without tag and digest. A colon before the last slash belongs to the registry's
// port.
std::string repository_of(const std::string& image) {
  const std::string named = image.substr(0, image.find('@'));
  const size_t slash = named.rfind('/');
  return named.substr(0, named.find(':', slash == std::string::npos ? 0 : slash));
}

constexpr std::string_view digest_mark = "@sha256:";
constexpr size_t digest_digits = 64;

bool is_digest(std::string_view text) {
  return text.starts_with(digest_mark) && text.size() == digest_mark.size() + digest_digits &&
         text.substr(digest_mark.size()).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

}  // namespace

void begin_revision(db::Tx& tx, const std::string& deployment_id, RolloutKind kind,
                    const std::optional<std::string>& initiated_by) {
  tx.execute(
      R"(DELETE FROM deployment_revisions WHERE deployment_id = $1 AND succeeded_at IS NULL)",
      deployment_id);
  static const std::string copied =
      R"(env_keys, env_sealed, credentials_sealed, )" + std::string(container_columns);
  static const std::string sql = R"(
      INSERT INTO deployment_revisions
        (deployment_id, generation, kind, initiated_by, started_at, )" +
                                 copied + R"()
      SELECT id, generation, $2, $3, CAST($4 AS BIGINT), )" +
                                 copied + R"(
      FROM deployments
      WHERE id = $1)";
  tx.execute(sql, deployment_id, to_string(kind), initiated_by, tx.now());
  if (kind != RolloutKind::create) releases::rollout_begins(tx, deployment_id);
}

std::vector<Revision> revisions(db::Tx& tx, const std::string& deployment_id) {
  static const std::string sql = select_revisions + R"(ORDER BY generation DESC)";
  std::vector<Revision> result;
  auto rows = tx.query(sql, deployment_id);
  while (rows.next()) result.push_back(revision(rows));
  return result;
}

std::optional<Revision> revision_of(db::Tx& tx, const std::string& deployment_id,
                                    std::int64_t generation) {
  static const std::string sql = select_revisions + R"(AND generation = $2)";
  auto rows = tx.query(sql, deployment_id, generation);
  return rows.next() ? std::optional(revision(rows)) : std::nullopt;
}

std::optional<Revision> newest_that_ran(db::Tx& tx, const std::string& deployment_id) {
  static const std::string sql = select_revisions + R"(
      AND succeeded_at IS NOT NULL
    ORDER BY generation DESC
    LIMIT 1)";
  auto rows = tx.query(sql, deployment_id);
  return rows.next() ? std::optional(revision(rows)) : std::nullopt;
}

void revision_succeeded(db::Tx& tx, const std::string& deployment_id,
                        const std::optional<std::string>& image_digest) {
  const int succeeded = tx.execute(R"(
      UPDATE deployment_revisions
      SET succeeded_at = $2, image_digest = $3
      WHERE deployment_id = $1 AND succeeded_at IS NULL)",
                                   deployment_id, tx.now(), image_digest);
  if (succeeded == 0) return;
  // If there are fewer revisions, the inner SELECT returns NULL, and nothing is deleted.
  tx.execute(R"(
      DELETE FROM deployment_revisions
      WHERE deployment_id = $1 AND succeeded_at IS NOT NULL
        AND generation < (SELECT generation
                          FROM deployment_revisions
                          WHERE deployment_id = $1 AND succeeded_at IS NOT NULL
                          ORDER BY generation DESC
                          LIMIT 1 OFFSET $2))",
             deployment_id, max_revisions - 1);
}

void forget_revisions(db::Tx& tx, const std::string& deployment_id) {
  tx.execute(R"(DELETE FROM deployment_revisions WHERE deployment_id = $1)", deployment_id);
}

std::string pinned(const std::string& image, const std::optional<std::string>& image_digest) {
  constexpr std::string_view docker = "docker-pullable://";  // the form that Docker itself uses
  if (!image_digest || image.find('@') != std::string::npos) return image;
  const std::string pulled =
      image_digest->starts_with(docker) ? image_digest->substr(docker.size()) : *image_digest;
  const size_t at = std::min(pulled.find('@'), pulled.size());
  const std::string digest = pulled.substr(at);
  const bool fits = image.size() + digest.size() <= max_image_length;
  const bool is_known = is_digest(digest) && repository_of(image) == pulled.substr(0, at);
  return is_known && fits ? image + digest : image;
}

}  // namespace berth::deployments
