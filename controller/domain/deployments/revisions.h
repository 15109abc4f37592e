#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployment_rows.h"

// Revisions: what each rollout was meant to run. Each belongs to a generation of its deployment; a
// rollback returns to one that ran. Private to this module.
namespace berth::deployments {

enum class RolloutKind { create, patch, restart, rollback };
constexpr auto texts_of(RolloutKind) {
  return EnumTexts<RolloutKind::rollback>{"create", "patch", "restart", "rollback"};
}

// How many revisions that ran are kept for each deployment. Each contains the variables, up to 256
// KiB.
inline constexpr int max_revisions = 10;

struct Revision {
  std::int64_t generation = 0;
  RolloutKind kind = RolloutKind::create;
  std::optional<std::string> initiated_by;
  ContainerSpec container;
  SealedSecrets secrets;
  std::optional<std::string> image_digest;
  Instant started_at;
  bool succeeded = false;
};

// A rollout that hasn't ended well (yet), for the log.
struct BegunRollout {
  std::string kind;
  std::optional<std::string> initiated_by;
  std::string image;
  Instant started_at;
};

// Stores what the deployment is now meant to run as its newest revision. Earlier revisions that
// never ran are deleted, since their rollouts can't be completed any more.
void begin_revision(db::Tx& tx, const std::string& deployment_id, RolloutKind kind,
                    const std::optional<std::string>& initiated_by);
// Returns the deployment's revisions, newest first.
std::vector<Revision> revisions(db::Tx& tx, const std::string& deployment_id);
std::optional<Revision> revision_of(db::Tx& tx, const std::string& deployment_id,
                                    std::int64_t generation);
// Returns the newest one that ran.
std::optional<Revision> newest_that_ran(db::Tx& tx, const std::string& deployment_id);
// Records that the newest revision runs, if that isn't recorded yet. Deletes the oldest revisions
// if there are more than max_revisions.
void revision_succeeded(db::Tx& tx, const std::string& deployment_id,
                        const std::optional<std::string>& image_digest);
// Deletes all revisions of the deployment.
void forget_revisions(db::Tx& tx, const std::string& deployment_id);

// Returns `image` with the digest that it was pulled with, which the container runtime reports in
// the form `ghcr.io/acme/web@sha256:…`. The tag is kept for people; registries use the digest
// (kubernetes.io, "Images"). Returns `image` unchanged if the digest is unknown, belongs to another
// repository, or would make the reference too long.
std::string pinned(const std::string& image, const std::optional<std::string>& image_digest);

}  // namespace berth::deployments
