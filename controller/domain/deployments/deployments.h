#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/container_spec.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/reserved_names.h"
#include "controller/domain/deployments/billing/status.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/kernel/page.h"

// Deployments: what an operator wants (an image, a port, variables, a name below apps-domain), and
// what the cluster has made of it. Functions throw berth::Error if they refuse.
//
// Two writers share a row. The API sets `status` and raises `generation` with each change of what
// is wanted. The reconcilers store what they saw with `record`, together with the generation that
// they acted on, so that an old observation never overwrites a newer change.
namespace berth::deployments {

enum class Status { pending, deploying, running, stopped, errored, destroyed };
constexpr auto texts_of(Status) {
  return EnumTexts<Status::destroyed>{"pending", "deploying", "running",
                                      "stopped", "errored",   "destroyed"};
}

// Why a deployment, or its newest rollout, isn't running. Published as a machine-readable reason.
enum class Reason {
  image_pull_failed,
  crash_loop,
  port_not_listening,
  out_of_memory,
  quota_exceeded,
  unschedulable,
  image_needs_root,
  image_too_large,        // the image's layers have more bytes than the platform allows
  runtime_class_missing,  // the cluster doesn't have the RuntimeClass of the deployment's tier
  rollout_failed,  // the old container keeps serving; `cause` says what is wrong with the new one
  suspended_by_admin,
  cluster_unreachable,
  cluster_refused,  // the API server answers berth's objects with 4xx; its words are in `message`
  // The deployment runs, but its custom domain doesn't lead to it (yet), see custom_domains.h:
  dns_not_pointing,
  domain_taken,
  certificate_failed,      // also if it is the sub-domain's own certificate that the issuer refused
  certificate_pending,     // the sub-domain's own certificate isn't issued yet, or can't be ordered
  cluster_refuses_writes,  // the API server answers berth's writes with 5xx, and that doesn't pass
  changed_by_others,       // somebody else keeps changing or deleting berth's objects
  // The release command of the newest rollout failed, so that it didn't begin (runs/releases.h).
  release_failed,
};
constexpr auto texts_of(Reason) {
  return EnumTexts<Reason::release_failed>{
      "image_pull_failed",  "crash_loop",          "port_not_listening",
      "out_of_memory",      "quota_exceeded",      "unschedulable",
      "image_needs_root",   "image_too_large",     "runtime_class_missing",
      "rollout_failed",     "suspended_by_admin",  "cluster_unreachable",
      "cluster_refused",    "dns_not_pointing",    "domain_taken",
      "certificate_failed", "certificate_pending", "cluster_refuses_writes",
      "changed_by_others",  "release_failed"};
}

enum class HealthStatus { healthy, unhealthy, unknown };
constexpr auto texts_of(HealthStatus) {
  return EnumTexts<HealthStatus::unknown>{"healthy", "unhealthy", "unknown"};
}

// How a change of the containers' memory or CPU came to them.
enum class Resize {
  in_place,  // they got it while they ran
  rollout    // they were replaced
};
constexpr auto texts_of(Resize) { return EnumTexts<Resize::rollout>{"in_place", "rollout"}; }

struct RegistryCredentials {
  std::string username;
  std::string password;
  bool operator==(const RegistryCredentials&) const = default;
};

// The part of a container that is stored encrypted and never shown.
struct Secrets {
  std::map<std::string, std::string> env;
  std::optional<RegistryCredentials> registry_credentials;
  // When each variable got its value. One without an entry gets the time at which it is stored.
  std::map<std::string, Instant> env_set_at = {};
  // Compares what the container gets.
  bool operator==(const Secrets& other) const {
    return env == other.env && registry_credentials == other.registry_credentials;
  }
};

// Names and values that an operator gives a deployment, to tell it from others. The cluster's
// objects have them too.
using Labels = std::map<std::string, std::string>;

struct Deployment {
  std::string id;
  std::string app_id;
  std::string owner_id;
  std::string tier_id;
  std::string tier_slug;
  std::string name;  // the sub-domain; unique among deployments that aren't destroyed
  ContainerSpec container;
  std::vector<std::string> env_keys;
  Labels labels;  // empty once it is destroyed
  std::optional<std::string> custom_domain;
  // custom_domain, but only while its certificate is active
  std::optional<std::string> served_domain;
  int memory_limit_mb = 0;
  int cpu_limit_millicores = 0;
  // The tier's price of an hour, which counts from the next UTC midnight on at the latest.
  std::optional<std::int64_t> points_per_hour;
  // How many containers of web the autoscaler wants, within the limits of its `scale`; empty
  // without one.
  std::optional<int> scaled_to = {};

  std::int64_t generation = 0;  // raised by each change of what is wanted
  // Raised if the container has to be replaced although nothing else differs.
  std::int64_t rollout = 0;
  // How often each process was restarted by itself, by somebody or for its size, by their names;
  // those that never were aren't here.
  std::map<std::string, std::int64_t> process_rollouts = {};
  // How the newest change came to the containers, if it was one of size alone and has reached any.
  // With in_place and the status deploying, it is under way, and may become a rollout.
  std::optional<Resize> resized = {};
  Status status = Status::pending;
  std::string phase;  // pulling, starting, probing, …: finer than status; may be empty
  std::optional<Reason> reason;
  std::optional<Reason> cause;
  std::optional<std::string> message;  // in the cluster's own words
  std::optional<std::string> container_id;
  std::optional<std::string> image_digest;
  std::optional<std::string> host_server;  // the name of the node
  std::optional<HealthStatus> health_status;
  std::optional<billing::Status> billing_status;
  std::optional<Instant> last_health_check;
  std::optional<Instant> deployed_at;
  std::optional<Instant> stopped_at;
  std::optional<Instant> suspended_at;
  std::optional<Instant> destroyed_at;
  // The time at which nothing of a destroyed deployment was left on the cluster any more.
  std::optional<Instant> removed_at;
  std::string request_id;  // the id of the HTTP request that began the newest generation
  Instant inserted_at;
  Instant updated_at;
};

// Returns the name of the deployment's objects on the cluster; the API calls it container_name.
inline std::string object_name(const std::string& id) { return "berth-" + id; }

// ---- For the API --------------------------------------------------------------------------------

// What the configuration says about orders. `registries` are the allowed prefixes of images,
// without the slash at their ends (configuration key `registries`).
struct Rules {
  std::vector<std::string> registries;
  std::string apps_domain;
  std::string base_host;  // the host of base-url, which can't be a custom domain
  ReservedNames reserved_names = {};
  // Whether this berthd builds images, which are named localhost/APP/NAME (builds/builds.h).
  bool builds_images = false;
};

// Limits of the specification (section "Limits"). Those of the container are in its fields' rows.
inline constexpr size_t max_name_length = 32;
inline constexpr size_t max_env_keys = 50;
inline constexpr size_t max_env_key_length = 128;
// Sum of all keys and values; a Secret holds at most 1 MiB.
inline constexpr size_t max_env_bytes = 256 * 1024;
inline constexpr size_t max_labels = 20;
// The limit of a label's key, and that of its value, in characters (kubernetes.io, "Labels and
// Selectors").
inline constexpr size_t max_label_length = 63;
inline constexpr std::string_view reserved_env_prefix = "BERTH_";

struct Order {  // a decoded create request
  std::string name;
  std::string tier;
  std::optional<std::string> custom_domain;
  ContainerSpec container;
  Secrets secrets;
  Labels labels = {};
};

// A decoded change request. Members that aren't set stay as they are; a member that is set to an
// inner empty value is removed.
struct Change {
  // The container's fields that change, and their values.
  std::vector<const ContainerField*> fields;
  ContainerSpec container;
  // Merged with the present ones; an empty value removes the key.
  std::map<std::string, std::optional<std::string>> env;
  std::optional<std::optional<std::string>> custom_domain;
  std::optional<std::optional<RegistryCredentials>> registry_credentials;
  std::optional<std::string> tier;
  std::optional<Labels> labels = {};  // all of them

  // Asks for another value of a field of the container.
  template <typename Value>
  void set(Value ContainerSpec::*member, const std::type_identity_t<Value>& value) {
    container.*member = value;
    fields.push_back(&field_of(member));
  }
};

// Who acts, and in which HTTP request.
struct Actor {
  std::string user_id;
  std::string app_id;
  std::string request_id;
};

// Creates a deployment with the status pending; on a paid tier, its first period is charged. Throws
// app_not_found, and in this order of precedence: validation_failed, unsupported_registry,
// unknown_tier, payment_method_unsupported; tier_not_allowed; subdomain_taken, domain_taken;
// deployment_limit_reached; insufficient_balance. May be called in a write with row locks.
Deployment create(db::Tx& tx, const Actor& actor, const Order& order, const Rules& rules,
                  const std::string& data_key);

// Returns why no deployment may have the name; nothing if one may. Who has it isn't looked at.
std::optional<std::string> refusal_of_name(const std::string& name, const Rules& rules);
// Returns a name that nobody has: `name` itself, or one that begins like it.
std::string free_name(db::Tx& tx, const std::string& name);
// Returns the app's deployment. Throws deployment_not_found, or forbidden if another app owns it.
Deployment get_owned(db::Tx& tx, const std::string& app_id, const std::string& id);
// Returns the deployment, even if it is destroyed; nothing if there never was one.
std::optional<Deployment> find(db::Tx& tx, const std::string& id);
struct Label {
  std::string key;
  std::string value;
};
// Parses KEY=VALUE. Throws validation_failed for the field `label`.
Label parse_label(std::string_view text);
// Returns the app's deployments that aren't destroyed, newest first; those with the label, if one
// is given.
Page<Deployment> list(db::Tx& tx, const std::string& app_id, const PageRequest& page,
                      const std::optional<Label>& label = {});

// Return the deployment as it is afterwards. Both throw deployment_destroyed. `restart` also starts
// a deployment that is pending, errored or stopped; it charges the current period if that isn't
// paid, and throws insufficient_balance, and deployment_suspended if an admin stopped the
// deployment. `stop` changes nothing if the owner has stopped the deployment already; one that was
// stopped by billing or an admin is no longer started again by them.
Deployment stop(db::Tx& tx, const Actor& actor, const std::string& id);
Deployment restart(db::Tx& tx, const Actor& actor, const std::string& id);
// Restarts one process, and leaves the containers of the others. Like any restart it is a rollout,
// with its release command. Throws as restart() does, validation_failed for a process that the
// deployment doesn't have, and invalid_state if the deployment is stopped.
Deployment restart_process(db::Tx& tx, const Actor& actor, const std::string& id,
                           const std::string& process);
// Changes a deployment. If its container is affected, it is replaced and the status is deploying;
// but a stopped deployment stays stopped, and a pending one pending. Naming the present custom
// domain again has its DNS checked at once. Another tier brings its memory and CPU, and its price
// for the rest of the period, as does another number of containers; the current period is charged
// first if it isn't paid (billing.h).
// Throws deployment_destroyed, deployment_suspended, validation_failed (also for a custom domain on
// a tier that allows none), unsupported_registry, unknown_tier, payment_method_unsupported,
// tier_not_allowed, domain_taken, deployment_limit_reached or insufficient_balance.
Deployment change(db::Tx& tx, const Actor& actor, const std::string& id, const Change& change,
                  const Rules& rules, const std::string& data_key);
// Deletes the deployment, whatever its status; deleting it again changes nothing. The name and the
// custom domain are free at once.
Deployment destroy(db::Tx& tx, const Actor& actor, const std::string& id);

// An action of an admin of the platform, and the HTTP request it came with.
struct AdminAction {
  std::string admin;
  std::string request_id;
};
// `suspend` stops the deployment until an admin reactivates it, with the reason suspended_by_admin;
// meanwhile its owner can only stop and delete it. After `reactivate`, it starts again if it ran
// before and its owner hasn't stopped it since. On a paid tier, the current period is charged
// first; if the points are missing, the deployment waits for them (billing.h). Repeating either
// changes nothing. Both throw deployment_not_found and deployment_destroyed.
Deployment suspend(db::Tx& tx, const AdminAction& action, const std::string& id);
Deployment reactivate(db::Tx& tx, const AdminAction& action, const std::string& id);

enum class LogAction {
  create,
  deploy,
  stop,
  restart,
  destroy,
  suspend,
  reactivate,
  billing_warning,
  billing_failed,
  run,
  exec
};
constexpr auto texts_of(LogAction) {
  return EnumTexts<LogAction::exec>{"create",         "deploy",  "stop",       "restart",
                                    "destroy",        "suspend", "reactivate", "billing_warning",
                                    "billing_failed", "run",     "exec"};
}
enum class LogStatus { started, succeeded, failed, info };
constexpr auto texts_of(LogStatus) {
  return EnumTexts<LogStatus::info>{"started", "succeeded", "failed", "info"};
}

struct LogEntry {
  std::string id;
  LogAction action = LogAction::deploy;
  LogStatus status = LogStatus::info;
  std::optional<std::string> initiated_by;
  std::optional<std::string> details;  // a JSON object
  Instant inserted_at;
};
// Both return entries in chronological order; newest_logs() the newest max_log_entries.
inline constexpr int max_log_entries = 1000;
std::vector<LogEntry> newest_logs(db::Tx& tx, const std::string& id);
Page<LogEntry> logs(db::Tx& tx, const std::string& id, const PageRequest& page);

struct Allowance {  // the answer of GET /api/deploy/sandbox-status
  bool eligible = false;
  std::string tier;
  int used = 0;
  std::optional<int> most;  // empty if there is no limit
  std::vector<std::string> reasons;
  // The deployments that count against the cap, whichever of the owner's apps they belong to: the
  // newest max_listed_in_allowance of them.
  struct Use {
    std::string deployment_id;
    std::string name;
    Status status = Status::pending;
    std::string app_id;
    std::string app_name;
  };
  std::vector<Use> uses;
  // What the tier allows each of its deployments: so many containers at once, and commands in them.
  int max_replicas = 0;
  bool exec_allowed = false;
};
inline constexpr int max_listed_in_allowance = 100;
// Returns how many deployments on the free tier the app's owner has and may have. The free tier is
// the first one that costs nothing and needs no approval; if there is none, the reason is
// tier_not_found.
Allowance sandbox_allowance(db::Tx& tx, const std::string& app_id);

// ---- For the reconcilers ------------------------------------------------------------------------

// What a container may use.
struct ContainerSize {
  int memory_mb = 0;
  int cpu_millicores = 0;
  bool operator==(const ContainerSize&) const = default;
};

// A deployment with its secrets decrypted: everything that its objects are made of.
struct DesiredState {
  Deployment deployment;
  Secrets secrets;                 // with the variables that it inherits (app_variables.h)
  tiers::Confinement confinement;  // the confinement of its tier
  // Whether another, destroyed deployment of the same name still has objects on the cluster. If so,
  // this deployment's Ingress has to wait.
  bool host_is_held = false;
  // How many containers the autoscaler wants of each process that has `scale`; a process that isn't
  // here has its least number.
  std::map<std::string, int> scaled = {};
  // The sizes that the pod templates of these processes keep, because their running containers get
  // another size in place (reconcilers/cluster/resizing.h).
  std::map<std::string, ContainerSize> template_sizes = {};
};
// Returns nothing if the deployment doesn't exist or is destroyed. Throws std::runtime_error if the
// data key isn't the one that encrypted the secrets.
std::optional<DesiredState> desired_state(db::Tx& tx, const std::string& id,
                                          const std::string& data_key);

// What the app's deployments that aren't destroyed need together, for the quota of its namespace:
// as many containers as they may have at once.
struct AppSize {
  int deployments = 0;
  int containers = 0;
  std::int64_t memory_mb = 0;
  std::int64_t cpu_millicores = 0;
  int largest_memory_mb = 0;  // the largest of any one container
  int largest_cpu_millicores = 0;
  bool operator==(const AppSize&) const = default;
};
AppSize size_of_app(db::Tx& tx, const std::string& app_id);
// Whether containers of an earlier size may be left of one of the app's deployments: it is on the
// way, or can't go on.
bool app_is_changing(db::Tx& tx, const std::string& app_id);

// Returns the ids of all deployments that may have objects on the cluster: all but those that are
// destroyed and removed.
std::vector<std::string> all_with_objects(db::Tx& tx);
// Returns the id of the deployment with this name that isn't destroyed, if there is one.
std::optional<std::string> holder_of_name(db::Tx& tx, const std::string& name);
// Whether the app has a deployment that may have objects on the cluster.
bool app_has_objects(db::Tx& tx, const std::string& app_id);
// Returns how many deployments have each status, without destroyed ones.
std::map<Status, int> count_by_status(db::Tx& tx);
// Returns the deployments that failed last, the latest first; at most max_newest_failed.
inline constexpr int max_newest_failed = 20;
std::vector<Deployment> newest_failed(db::Tx& tx);

struct Observation {
  Status status = Status::pending;  // any but destroyed
  std::string phase;
  std::optional<Reason> reason;
  std::optional<Reason> cause;
  std::optional<std::string> message;
  std::optional<std::string> container_id;
  std::optional<std::string> image_digest;
  std::optional<std::string> host_server;
  std::optional<HealthStatus> health_status;
  bool operator==(const Observation&) const = default;
};
// The greatest length of `message` that is stored; longer ones are cut.
inline constexpr size_t max_message_length = 2048;

// Stores what was seen for this generation, and writes log entries for changes to deploying,
// running and errored. Returns false, and changes nothing, if the deployment has another generation
// by now or is destroyed. It always writes, so it should be called only if differs() returns true.
bool record(db::Tx& tx, const std::string& id, std::int64_t generation, const Observation& seen);
// Stores how a change of size comes to the containers of this generation. With a rollout, those of
// the processes `replaced` are replaced, although nothing else of them may differ; it isn't undone
// by a later in_place. Returns false, and changes nothing, if that is stored already, or if the
// deployment has another generation by now, or is stopped or destroyed.
bool record_resize(db::Tx& tx, const std::string& id, std::int64_t generation, Resize how,
                   const std::vector<std::string>& replaced = {});
// Whether storing `seen` would change the row.
bool differs(const Deployment& row, const Observation& seen);
// Records that a destroyed deployment has nothing left on the cluster.
void mark_removed(db::Tx& tx, const std::string& id);

}  // namespace berth::deployments
