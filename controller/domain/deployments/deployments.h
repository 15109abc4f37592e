#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/reserved_names.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/kernel/page.h"

// Deployments: the wish of an operator (an image, a port, variables, a name under apps-domain) and
// what the cluster made of it. Functions throw berth::Error where they refuse.
//
// Two writers share a row. The API sets `status` as the wish changes and raises `generation`; the
// reconcilers record what they saw with `record`, for the generation that they acted on, so that an
// old observation never overwrites a new wish.
namespace berth::deployments {

enum class Status { pending, deploying, running, stopped, errored, destroyed };
std::string_view to_string(Status status);
Status parse_status(std::string_view text);  // throws std::invalid_argument

// Why a deployment isn't running (or its newest rollout isn't): one machine-readable reason.
enum class Reason {
  image_pull_failed,
  crash_loop,
  port_not_listening,
  out_of_memory,
  quota_exceeded,
  unschedulable,
  image_needs_root,
  rollout_failed,  // the old container goes on serving; `cause` says what is wrong with the new one
  suspended_by_admin,
  cluster_unreachable,
  cluster_refused,  // the API server answers our objects with 4xx; its words are in `message`
  // It runs, and its custom domain doesn't lead to it (yet), see custom_domains.h:
  dns_not_pointing,
  domain_taken,
  certificate_failed,
};
std::string_view to_string(Reason reason);
std::optional<Reason> parse_reason(std::string_view text);

struct RegistryCredentials {
  std::string username;
  std::string password;
};

struct Deployment {
  std::string id;
  std::string app_id;
  std::string owner_id;
  std::string tier_id;
  std::string tier_slug;
  std::string name;  // the sub-domain; unique among all that aren't destroyed
  std::string image;
  int port = 0;
  std::optional<std::string> custom_domain;
  std::optional<std::string> served_domain;  // custom_domain, while its certificate is active
  std::optional<std::string> health_path;
  std::vector<std::string> env_keys;
  int memory_limit_mb = 0;
  int cpu_limit_millicores = 0;

  std::int64_t generation = 0;  // raised by each change of the wish
  std::int64_t rollout = 0;  // raised where the container has to be replaced though nothing differs
  Status status = Status::pending;
  std::string phase;  // pulling, starting, probing, …: finer than status; may be empty
  std::optional<Reason> reason;
  std::optional<Reason> cause;
  std::optional<std::string> message;  // the cluster's own words
  std::optional<std::string> container_id;
  std::optional<std::string> image_digest;
  std::optional<std::string> host_server;  // the node
  std::optional<std::string> health_status;
  std::optional<std::string> billing_status;
  std::optional<Instant> last_health_check;
  std::optional<Instant> deployed_at;
  std::optional<Instant> stopped_at;
  std::optional<Instant> suspended_at;
  std::optional<Instant> destroyed_at;
  std::optional<Instant> removed_at;  // destroyed, and nothing is left of it on the cluster
  std::string request_id;             // of the HTTP request that set the newest generation
  Instant inserted_at;
  Instant updated_at;
};

// The name of its objects on the cluster: container_name in the API.
inline std::string object_name(const std::string& id) { return "berth-" + id; }

// ---- What the API does -------------------------------------------------------------------------

// The allowed image prefixes, each without the slash behind it (configuration key `registries`).
struct Rules {
  std::vector<std::string> registries;
  std::string apps_domain;
  std::string base_host;  // the host of base-url: no custom domain may be it
  ReservedNames reserved_names = {};
};

// Limits of the specification, "Limits".
inline constexpr size_t max_name_length = 32;
inline constexpr size_t max_env_keys = 50;
inline constexpr size_t max_env_key_length = 128;
inline constexpr size_t max_env_bytes = 256 * 1024;  // of all keys and values; a Secret takes 1 MiB
inline constexpr size_t max_image_length = 512;
inline constexpr size_t max_health_path_length = 256;
inline constexpr int default_port = 3000;
inline constexpr std::string_view reserved_env_prefix = "BERTH_";

struct Order {  // a create request, decoded
  std::string name;
  std::string image;
  std::string tier;
  int port = default_port;
  std::optional<std::string> custom_domain;
  std::optional<std::string> health_path;
  std::map<std::string, std::string> env;
  std::optional<RegistryCredentials> registry_credentials;
};

// A change request, decoded: what isn't set stays. Within, nothing means "none any more".
struct Change {
  std::optional<std::string> image;
  std::optional<int> port;
  std::map<std::string, std::optional<std::string>> env;  // merged; nothing removes the key
  std::optional<std::optional<std::string>> custom_domain;
  std::optional<std::optional<std::string>> health_path;
  std::optional<std::optional<RegistryCredentials>> registry_credentials;
  std::optional<std::string> tier;
};

// Who acts, and in which request.
struct Actor {
  std::string user_id;
  std::string app_id;
  std::string request_id;
};

// A new deployment in status pending. Refuses in the order of api.md: validation_failed,
// unsupported_registry, unknown_tier, payment_method_unsupported; tier_not_allowed;
// subdomain_taken, domain_taken; deployment_limit_reached; insufficient_balance (a paid tier
// charges its first period).
Deployment create(db::Tx& tx, const Actor& actor, const Order& order, const Rules& rules,
                  const std::string& data_key);

// The app's deployment. Throws deployment_not_found, or forbidden where another app owns it.
Deployment get_owned(db::Tx& tx, const std::string& app_id, const std::string& id);
std::optional<Deployment> find(db::Tx& tx, const std::string& id);
// The app's deployments that aren't destroyed, newest first.
Page<Deployment> list(db::Tx& tx, const std::string& app_id, const PageRequest& page);

// Each returns the row as it is after; each is refused with deployment_destroyed where it was
// deleted. `restart` also from pending, errored and stopped; it charges the current period where it
// isn't paid; it is refused with deployment_suspended where an admin stopped it, and with
// insufficient_balance. `stop` of one that its owner stopped changes nothing; what billing or an
// admin stopped isn't started again by them after it.
Deployment stop(db::Tx& tx, const Actor& actor, const std::string& id);
Deployment restart(db::Tx& tx, const Actor& actor, const std::string& id);
// Replaces the container where something of it differs: deploying, but a stopped one stays stopped
// and a pending one pending. The same custom domain again: its DNS is looked at at once.
// Another tier brings its memory and CPU, and its price for the rest of the period; the current
// period is charged first where it isn't paid (billing.h). Refused with deployment_destroyed,
// deployment_suspended, validation_failed (also for a custom domain that the tier doesn't have),
// unsupported_registry, unknown_tier, payment_method_unsupported, tier_not_allowed, domain_taken,
// deployment_limit_reached, insufficient_balance.
Deployment change(db::Tx& tx, const Actor& actor, const std::string& id, const Change& change,
                  const Rules& rules, const std::string& data_key);
// From any state; a second time changes nothing. The name and the custom domain are free at once.
Deployment destroy(db::Tx& tx, const Actor& actor, const std::string& id);

// By an admin of the platform.
struct AdminAction {
  std::string admin;
  std::string request_id;
};
// Stops the deployment until an admin reactivates it: reason suspended_by_admin; its owner may stop
// and delete it, nothing else. Reactivated, it starts again if it ran before and its owner hasn't
// stopped it since; on a paid tier the current period is charged first, and where the points for
// that are missing it waits for them (billing.h). Both may be repeated. Throw deployment_not_found,
// deployment_destroyed.
Deployment suspend(db::Tx& tx, const AdminAction& action, const std::string& id);
Deployment reactivate(db::Tx& tx, const AdminAction& action, const std::string& id);

struct LogEntry {
  std::string id;
  std::string action;  // create, deploy, stop, restart, destroy, suspend, reactivate, billing_…
  std::string status;  // started, succeeded, failed, info
  std::optional<std::string> initiated_by;
  std::optional<std::string> details;  // a JSON object
  Instant inserted_at;
};
// Chronological. Without a page: the newest `max_log_entries`, oldest first.
inline constexpr int max_log_entries = 1000;
std::vector<LogEntry> newest_logs(db::Tx& tx, const std::string& id);
Page<LogEntry> logs(db::Tx& tx, const std::string& id, const PageRequest& page);

struct Allowance {  // GET /api/deploy/sandbox-status
  bool eligible = false;
  std::string tier;
  int used = 0;
  std::optional<int> most;  // nothing: no limit
  std::vector<std::string> reasons;
  // Those that count against the cap, whichever app of the owner's they belong to: the newest
  // max_listed_in_allowance of them.
  struct Use {
    std::string deployment_id;
    std::string name;
    std::string status;
    std::string app_id;
    std::string app_name;
  };
  std::vector<Use> uses;
};
inline constexpr int max_listed_in_allowance = 100;
Allowance sandbox_allowance(db::Tx& tx, const std::string& app_id);

// ---- What the reconcilers do --------------------------------------------------------------------

// A deployment with its secrets opened: everything that its objects are made of.
struct Wish {
  Deployment deployment;
  std::map<std::string, std::string> env;
  std::optional<RegistryCredentials> registry_credentials;
  // Another, destroyed deployment of the same name isn't off the cluster yet: our Ingress waits.
  bool host_is_held = false;
};
std::optional<Wish> wish(db::Tx& tx, const std::string& id, const std::string& data_key);

// What the app's deployments need together, for the quota of its namespace: all that aren't
// destroyed.
struct AppSize {
  int deployments = 0;
  std::int64_t memory_mb = 0;
  std::int64_t cpu_millicores = 0;
  int largest_memory_mb = 0;  // of one deployment
  int largest_cpu_millicores = 0;
  bool operator==(const AppSize&) const = default;
};
AppSize size_of_app(db::Tx& tx, const std::string& app_id);

// Ids of everything that may have objects: all but those that are destroyed and removed.
std::vector<std::string> all_with_objects(db::Tx& tx);
// Ids of the deployments of `name` that aren't destroyed (at most one).
std::optional<std::string> holder_of_name(db::Tx& tx, const std::string& name);
// Whether the app has a deployment that isn't both destroyed and removed.
bool app_has_objects(db::Tx& tx, const std::string& app_id);
// How many deployments there are of each status, but destroyed ones.
std::map<std::string, int> count_by_status(db::Tx& tx);

struct Observation {
  Status status = Status::pending;  // pending, deploying, running, stopped or errored
  std::string phase;
  std::optional<Reason> reason;
  std::optional<Reason> cause;
  std::optional<std::string> message;
  std::optional<std::string> container_id;
  std::optional<std::string> image_digest;
  std::optional<std::string> host_server;
  std::optional<std::string> health_status;  // healthy, unhealthy, unknown
  bool operator==(const Observation&) const = default;
};
// The longest `message` that is kept; a longer one is cut.
inline constexpr size_t max_message_length = 2048;

// Stores what was seen for this generation. False where the row has another generation by now, or
// is destroyed: then nothing changed. Writes log entries for moves into deploying, running and
// errored. Call it only where `differs` says so: it always writes.
bool record(db::Tx& tx, const std::string& id, std::int64_t generation, const Observation& seen);
// Whether the row says something else than `seen`.
bool differs(const Deployment& row, const Observation& seen);
// A destroyed deployment has nothing left on the cluster.
void mark_removed(db::Tx& tx, const std::string& id);

}  // namespace berth::deployments
