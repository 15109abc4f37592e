#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"

// Deploy tiers: the sizes and prices of deployments. They are rows of a table, which the
// configuration fills at the first start and admins change later.
namespace berth::tiers {

enum class PaymentMethod { service_points, bitcoin };
constexpr auto texts_of(PaymentMethod) {
  return EnumTexts<PaymentMethod::bitcoin>{"service_points", "bitcoin"};
}

// How the containers of a tier are kept apart from the node and from other tenants, beyond what
// holds for all containers.
struct Confinement {
  // The RuntimeClass of the containers, such as gVisor's; the cluster's default runtime if empty.
  std::optional<std::string> runtime_class;
  // Whether root and all other users of a container are mapped to users that the node doesn't have
  // (kubernetes.io, "User Namespaces"). If it isn't set, they are where all nodes can do that and
  // the containers have no runtime class, which may have namespaces of its own.
  std::optional<bool> user_namespaces = {};
  bool smtp = false;             // whether containers may connect to TCP port 25
  std::optional<int> bandwidth;  // Mbit/s in each direction; empty if there is no limit
  bool operator==(const Confinement&) const = default;
};

inline constexpr int default_max_replicas = 3;

struct Tier {
  std::string id;
  std::string name;
  std::string slug;
  std::string description;
  PaymentMethod payment_method = PaymentMethod::service_points;
  std::optional<std::int64_t> monthly_cost_points;
  std::optional<std::int64_t> monthly_cost_sats;
  int memory_limit_mb = 0;
  int cpu_limit_millicores = 0;
  std::optional<int> max_deployments;  // for each owner's account; empty if there is no limit
  bool custom_domain_allowed = false;
  bool auto_approve = false;  // if false, an admin has to promote an app before it can use the tier
  std::int64_t monthly_stipend_points = 0;
  std::string ad_reach_multiplier = "1.0";  // a decimal number
  Confinement confinement = {};
  // What a minute of building an image costs (builds/builds.h).
  std::int64_t build_points_per_minute = 0;
  // What an hour of each container costs while it runs (metering/settlement.h), for tiers that are
  // paid with points; 1 to metering::max_points_per_hour, empty for none. A new price applies from
  // the next UTC midnight.
  std::optional<std::int64_t> points_per_hour = {};
  // How many containers of its processes a deployment may have at once; 1 to
  // deployments::max_replicas. Those of jobs don't count.
  int max_replicas = default_max_replicas;
  // Whether owners may run commands in containers that run (exec.h).
  bool exec_allowed = false;
};
// The most that a minute of building may cost.
inline constexpr std::int64_t max_build_points_per_minute = 1'000'000;

// Returns all tiers in their order.
std::vector<Tier> list(db::Tx& tx);
std::optional<Tier> find_by_slug(db::Tx& tx, const std::string& slug);
std::optional<Tier> find(db::Tx& tx, const std::string& id);
// Adds a tier at the end of the list. Throws validation_failed if the slug is taken, or the price
// doesn't fit the payment method.
Tier create(db::Tx& tx, const Tier& tier);
// Stores every field of `tier` except id, slug and payment method. A new price applies from each
// deployment's next period, and one by the hour from the next UTC midnight; new sizes apply to
// deployments that move to the tier later; another confinement applies to all of the tier's
// deployments at once, and replaces their containers. Throws what create() throws.
Tier update(db::Tx& tx, const Tier& tier);
// Fills an empty table. Changes nothing if the table has rows.
void seed(db::Tx& tx, const std::vector<Tier>& tiers);

}  // namespace berth::tiers
