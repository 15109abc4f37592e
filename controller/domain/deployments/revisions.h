#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployment_rows.h"

// Revisions: what each rollout was asked to run. Each begins with a generation of its deployment;
// those that came to run are what a rollback goes back to. For the files of this folder alone.
namespace berth::deployments {

enum class RolloutKind { create, patch, restart, rollback };
std::string_view to_string(RolloutKind kind);

// So many that ran are kept of a deployment: its variables are in each, up to 256 KiB.
inline constexpr int max_revisions = 10;

struct Revision {
  std::int64_t generation = 0;
  std::string kind;
  std::optional<std::string> initiated_by;
  ContainerSpec container;
  SealedSecrets secrets;
  std::optional<std::string> image_digest;
  Instant started_at;
  bool succeeded = false;
};

// The row's wish, as it is now, becomes the newest revision. Those before it that never ran are
// forgotten: their rollouts can't end any more.
void begin_revision(db::Tx& tx, const std::string& deployment_id, RolloutKind kind,
                    const std::optional<std::string>& initiated_by);
// Newest first.
std::vector<Revision> revisions(db::Tx& tx, const std::string& deployment_id);
std::optional<Revision> revision_of(db::Tx& tx, const std::string& deployment_id,
                                    std::int64_t generation);
// The wish as it is now runs: its revision, the newest, has succeeded, if it hadn't before. Forgets
// the oldest where there are more than `max_revisions`.
void revision_succeeded(db::Tx& tx, const std::string& deployment_id,
                        const std::optional<std::string>& image_digest);
void forget_revisions(db::Tx& tx, const std::string& deployment_id);

// `image` with the digest that it was pulled with, as the container runtime tells it
// (`ghcr.io/acme/web@sha256:…`): the tag stays for people, registries go by the digest
// (kubernetes.io, "Images"). `image` itself where the digest isn't known, is of another repository,
// or would make the reference too long.
std::string pinned(const std::string& image, const std::optional<std::string>& image_digest);

}  // namespace berth::deployments
