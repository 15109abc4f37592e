#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/domain/deployments/builds/builds.h"
#include "controller/domain/deployments/container_logs.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/exec.h"
#include "controller/domain/deployments/identity.h"
#include "controller/domain/deployments/instances.h"
#include "controller/domain/deployments/isolation.h"
#include "controller/domain/deployments/usage_history.h"

// What handlers may ask of the cluster. The functions are passed in, because the API never includes
// the reconcilers.
namespace berth::api {

// Whether there is a cluster and whether it answers.
enum class KubernetesState { simulated, connected, unreachable };
constexpr auto texts_of(KubernetesState) {
  return EnumTexts<KubernetesState::unreachable>{"simulated", "connected", "unreachable"};
}

// What a deployment's readiness probe last reported, and how long ago.
struct Health {
  bool ready = false;
  Duration age{0};
};

// What a deployment uses; numbers that the cluster doesn't report are empty.
struct Usage {
  std::optional<std::int64_t> cpu_millicores;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> restarts;
  std::optional<std::int64_t> requests;
  std::optional<double> in_flight;  // requests, of a deployment with `scale`
};

// What berthd knows of its work for the cluster, and of its own files.
struct Fleet {
  std::string leader;  // the process that reconciles, as it is named in the Lease; may be empty
  bool leads = true;   // whether this process reconciles
  std::string cluster_error;  // empty while the cluster answers
  std::int64_t waiting = 0;   // deployments that wait to be reconciled
  // Deployments that wait until the cluster can be reached, or until this process leads.
  std::int64_t stalled = 0;
  double longest_seconds = 0;  // how long the oldest of the reconciles that run has run
  std::int64_t errors = 0;     // reconciles that have failed since the start of the process
  // The time since the newest backup, or since the first start; nothing if there are no archives,
  // because the database is on PostgreSQL.
  std::optional<Duration> backup_age;
  std::int64_t database_bytes = 0;  // with its write-ahead log
  std::int64_t history_bytes = 0;   // of the deployments' usage
  std::int64_t disk_bytes = 0;      // the file system of the data directory; 0 if it is unknown
  std::int64_t disk_free_bytes = 0;
};

// What is known of the isolation of tenants on the cluster.
struct Isolation {
  isolation::Mode mode = isolation::Mode::warn;
  // Shared by all who ask for it: a report may be long, and anybody may request /health.
  std::shared_ptr<const isolation::Known> known = std::make_shared<const isolation::Known>();
  bool is_busy = false;  // whether a probe is under way or was asked for
  isolation::State state = isolation::State::simulated;
};

// Builds of images on this machine. All functions may be called from any thread.
struct Builds {
  std::filesystem::path uploads;     // the directory in which sources are received
  std::size_t max_source_bytes = 0;  // of an archive, as it is sent
  builds::Limits limits;
  // Moves a source that was received to the place where the build with this id will look for it.
  std::function<void(const std::string& id, const std::filesystem::path& source)> keep = {};
  // Removes everything of a build that doesn't exist.
  std::function<void(const std::string& id)> forget = {};
  // Returns what the log of a build has from this byte on, `most` bytes at most.
  std::function<std::string(const std::string& id, std::uint64_t from, std::size_t most)> log = {};
};

// All functions may be called from any thread.
struct ClusterView {
  // The public URL of a deployment's host: scheme, host and port.
  std::function<std::string(const std::string& host)> url_of = {};
  std::function<KubernetesState()> state = {};
  // Returns the ids of deployments that have objects on the cluster but no row in the database.
  std::function<std::vector<std::string>()> orphans = {};
  // Answers from memory. The result is empty if no container was started. If the function is empty,
  // the health is unknown.
  std::function<std::optional<Health>(const std::string& deployment_id)> health_of = {};
  // If the function is empty, nothing is known.
  instances::Of instances_of = {};
  // Takes a few seconds at most. If the function is empty, the usage is unknown.
  std::function<Usage(const deployments::Deployment& deployment)> usage_of = {};
  // If the function is empty, nothing is known.
  usage_history::Read usage_history = {};
  // Answers from memory and the database. If the function is empty, nothing is known.
  std::function<Fleet()> fleet = {};
  // Answers from memory. If the function is empty, the cluster counts as simulated.
  std::function<Isolation()> isolation = {};
  // Asks for a run of the isolation probe. Throws Error `invalid_state` if there is none, and
  // `unavailable` if another process would have to run it.
  std::function<Isolation()> probe_isolation = {};
  container_logs::Open container_logs = {};
  // Runs commands in containers, and connects to their ports. If the function is empty, there is no
  // cluster.
  exec::Open open_session = {};
  // Returns what a container's token says of it, and whether the cluster says the same; see
  // reconcilers::ContainerTokens. If the functions are empty, containers have no tokens.
  std::function<std::optional<deployments::Identity>(std::string_view token)> identity_in = {};
  std::function<bool(const std::string& token)> proves_identity = {};
  // Whether certificates of custom domains can be ordered; without an issuer none is ever served.
  bool has_issuer = false;
  // Null if this berthd builds no images.
  std::shared_ptr<const Builds> builds = {};
  // What this machine can't do as it should, as sentences. Answers from memory. If the function is
  // empty, there is nothing, or containers don't run on this machine.
  std::function<std::vector<std::string>()> findings = {};
};

}  // namespace berth::api
