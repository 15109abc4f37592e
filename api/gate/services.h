#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/gate/event_stream.h"
#include "api/gate/login_throttle.h"
#include "api/gate/security_log.h"
#include "controller/base/address_range.h"
#include "controller/base/clock.h"
#include "controller/base/crypto.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/ads/serving.h"
#include "controller/domain/deployments/container_logs.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/isolation.h"
#include "controller/domain/deployments/usage_history.h"
#include "controller/domain/kernel/disk_room.h"
#include "controller/domain/kernel/keys.h"
#include "controller/domain/kernel/replicas.h"
#include "controller/domain/kernel/write_budgets.h"
#include "controller/domain/ledger/rewards.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/devices.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/social/chat_words.h"
#include "controller/domain/social/presence.h"
#include "controller/transport/http.h"

namespace berth::api {

class ChatFeeds;
// Returns an empty set of feeds. It is defined with the routes of the chat, because nothing else
// knows what ChatFeeds contains.
std::shared_ptr<ChatFeeds> make_chat_feeds();

enum class Environment { development, production };

// Whether there is a cluster and whether it answers.
enum class KubernetesState { simulated, connected, unreachable };
constexpr auto texts_of(KubernetesState) {
  return EnumTexts<KubernetesState::unreachable>{"simulated", "connected", "unreachable"};
}

// An encrypted copy of the database and the keys that is being sent.
struct Backup {
  std::uint64_t bytes = 0;
  Stream stream;
};

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

// What the handlers work with. Created by berthd/platform.cpp; lives as long as the
// server. The cluster's functions are passed in, because the API never includes the reconcilers.
struct Services {
  // The number of living berthd processes on the database, which share the limits of requests.
  int live_replicas() const { return replicas == nullptr ? 1 : replicas->live(); }

  db::Database& db;
  Clock& clock;
  const Keys& keys;
  PasswordHasher& passwords;
  connections::UseLog& uses;
  accounts::SessionUses& session_uses;
  devices::UseLog& device_uses;
  SecurityLog& security;
  // The living berthd processes on this database; null on SQLite, which has only this one.
  const Replicas* replicas = nullptr;
  std::shared_ptr<presence::Board> presence = std::make_shared<presence::Board>();
  std::shared_ptr<chat::Filter> chat_filter = std::make_shared<chat::Filter>();
  std::shared_ptr<ChatFeeds> chat_feeds = make_chat_feeds();
  std::shared_ptr<write_budgets::Counts> write_counts =
      std::make_shared<write_budgets::Counts>(keys.data);
  std::shared_ptr<DiskRoom> disk_room = std::make_shared<DiskRoom>();

  Environment environment = Environment::development;
  std::string base_url;  // the issuer, without a slash at its end
  std::string internal_secret;
  bool rate_limits = true;
  bool write_limits = true;  // whether the budgets of kernel/write_budgets.h are kept
  std::vector<AddressRange> trusted_proxies;  // the proxies whose X-Forwarded-For is trusted
  Duration session_lifetime = std::chrono::hours(24);
  ReservedNames reserved_names = {};
  bool password_blocklist = true;  // whether passwords that are easy to guess are refused
  // How long a login through the API, and one in a browser, may be idle before it ends. If empty,
  // there is no limit.
  std::optional<Duration> jwt_idle_timeout = {};
  std::optional<Duration> browser_idle_timeout = {};
  accounts::SignupBonus signup_bonus;
  rewards::Rules reward_rules;
  ads::CampaignIndex& campaign_index;
  ads::Rules ad_rules;
  oauth::Policy oauth_policy;
  deployments::Rules deployment_rules;
  LoginThrottle& login_throttle;
  // Returns the new key's id; throws if that fails.
  std::function<std::string()> rotate_session_key;
  // The place where streams wait for commits.
  std::shared_ptr<EventHub> events = std::make_shared<EventHub>();
  // The public URL of a deployment's host: scheme, host and port.
  std::function<std::string(const std::string& host)> url_of;

  std::function<KubernetesState()> kubernetes_state;
  // Returns the ids of deployments that have objects on the cluster but no row in the database.
  std::function<std::vector<std::string>()> orphans;
  // Answers from memory. The result is empty if no container was started. If the function is empty,
  // the health is unknown.
  std::function<std::optional<Health>(const std::string& deployment_id)> deployment_health = {};
  // Takes a few seconds at most. If the function is empty, the usage is unknown.
  std::function<Usage(const deployments::Deployment& deployment)> deployment_usage = {};
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
  // Makes a backup encrypted with this key of 32 bytes (base/sealed_file.h). Throws Error
  // `unavailable`.
  std::function<Backup(const std::string& key)> backup;
};

}  // namespace berth::api
