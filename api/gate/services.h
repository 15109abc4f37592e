#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/gate/cluster_view.h"
#include "api/gate/container_sessions.h"
#include "api/gate/environment.h"
#include "api/gate/event_stream.h"
#include "api/gate/login_throttle.h"
#include "api/gate/security_log.h"
#include "controller/base/address_range.h"
#include "controller/base/clock.h"
#include "controller/base/crypto.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/accounts/internal_secrets.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/ads/serving.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/disk_room.h"
#include "controller/domain/kernel/keys.h"
#include "controller/domain/kernel/replicas.h"
#include "controller/domain/kernel/write_budgets.h"
#include "controller/domain/ledger/rewards.h"
#include "controller/domain/oauth/client_documents.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/devices.h"
#include "controller/domain/oauth/issuer_keys.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/oauth/personal_tokens.h"
#include "controller/domain/social/chat_words.h"
#include "controller/domain/social/presence.h"
#include "controller/transport/http.h"

namespace berth::api {

class ChatFeeds;
// Returns an empty set of feeds. It is defined with the routes of the chat, because nothing else
// knows what ChatFeeds contains.
std::shared_ptr<ChatFeeds> make_chat_feeds();

// An encrypted copy of the database and the keys that is being sent.
struct Backup {
  std::uint64_t bytes = 0;
  Stream stream;
};

// How logins are made, and how long they last.
struct Logins {
  PasswordHasher& passwords;
  connections::UseLog& uses;
  accounts::SessionUses& session_uses;
  devices::UseLog& device_uses;
  personal_tokens::UseLog& personal_token_uses;
  LoginThrottle& throttle;
  Duration session_lifetime = std::chrono::hours(24);
  // How long a login through the API, and one in a browser, may be idle before it ends. If empty,
  // there is no limit.
  std::optional<Duration> jwt_idle_timeout = {};
  std::optional<Duration> browser_idle_timeout = {};
  bool password_blocklist = true;  // whether passwords that are easy to guess are refused
  // Returns the new key's id; throws if that fails.
  std::function<std::string()> rotate_session_key = {};
};

// The operator's rules, which the configuration sets.
struct Rules {
  ReservedNames reserved_names = {};
  accounts::SignupBonus signup_bonus = {};
  rewards::Rules rewards = {};
  ads::Rules ads = {};
  oauth::Policy oauth = {};
  deployments::Rules deployments = {};
  // How many points one admin may give back and take back on a UTC day; above it, two have to
  // (controller/domain/points/proposals.h).
  std::int64_t refund_two_admins_above = 10'000;
  // The same for one with the role `support`, if it is less.
  std::int64_t support_refund_limit = 500;
  // Whether the first account, if it is made on this machine, becomes the admin, whose own requests
  // are approved at once (resources/accounts/own_machine.h).
  bool first_account_admin = false;
};

// What requests share that isn't kept in the database, or only later.
struct SharedMemory {
  ads::CampaignIndex& campaign_index;
  std::shared_ptr<ads::PictureWork> pictures = std::make_shared<ads::PictureWork>();
  // The place where streams wait for commits.
  std::shared_ptr<EventHub> events = std::make_shared<EventHub>();
  std::shared_ptr<ContainerSessions> container_sessions = std::make_shared<ContainerSessions>();
  std::shared_ptr<presence::Board> presence = std::make_shared<presence::Board>();
  std::shared_ptr<chat::Filter> chat_filter = std::make_shared<chat::Filter>();
  std::shared_ptr<ChatFeeds> chat_feeds = make_chat_feeds();
  // The keys of issuers of ID tokens. A request that needs them waits while they are fetched.
  std::shared_ptr<oauth::IssuerKeys> issuer_keys = {};
  // The documents of clients that aren't registered; empty if there can be none.
  std::shared_ptr<oauth::ClientDocuments> client_documents = {};
};

// By what the gate decides who gets in, and whether there is room for what they write.
struct Admission {
  std::string internal_secret = {};  // without a name
  std::vector<internal_secrets::Configured> named_secrets = {};
  std::vector<AddressRange> trusted_proxies = {};  // whose X-Forwarded-For is trusted
  bool write_limits = true;  // whether the budgets of kernel/write_budgets.h are kept
  std::shared_ptr<write_budgets::Counts> write_counts;
  std::shared_ptr<DiskRoom> disk_room = std::make_shared<DiskRoom>();
};

// What the handlers work with. Created by berthd/handlers.cpp; lives as long as the server.
struct Services {
  // The number of living berthd processes on the database, which share the limits of requests.
  int live_replicas() const { return replicas == nullptr ? 1 : replicas->live(); }

  db::Database& db;
  Clock& clock;
  const Keys& keys;
  SecurityLog& security;
  // The living berthd processes on this database; null on SQLite, which has only this one.
  const Replicas* replicas = nullptr;
  Environment environment = Environment::development;
  std::string base_url;  // the issuer, without a slash at its end
  bool rate_limits = true;

  // What only some resources ask for.
  Admission admission;
  Logins logins;
  Rules rules = {};
  SharedMemory memory;
  ClusterView cluster = {};
  // Makes a backup encrypted with this key of 32 bytes (base/sealed_file.h). Throws Error
  // `unavailable`.
  std::function<Backup(const std::string& key)> backup = {};
};

}  // namespace berth::api
