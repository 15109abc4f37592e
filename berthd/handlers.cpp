#include "berthd/handlers.h"

#include "api/console/documentation.h"
#include "berthd/backup/newest.h"
#include "controller/base/address_range.h"
#include "controller/base/document_fetch.h"
#include "controller/base/url.h"
#include "reconcilers/loops/webhook_addresses.h"

namespace berth {
namespace {

// A crash loses at most what was noted in memory in this time.
constexpr std::chrono::seconds uses_interval{10};
constexpr std::chrono::seconds presence_interval{10};
// On PostgreSQL, other processes know after this time what one has heard.
constexpr std::chrono::seconds shared_presence_interval{2};
// How often the security log reports what it left out.
constexpr std::chrono::seconds summaries_interval{10};
// After many changes no ad request has to wait until campaigns are read.
constexpr std::chrono::seconds campaigns_interval{1};

bool is_loopback_address(const sockaddr& address) {
  static const auto ipv4 = *parse_address_range("127.0.0.0/8");
  static const auto ipv6 = *parse_address_range("::1");
  return contains(ipv4, address) || contains(ipv6, address);
}

std::unique_ptr<api::LoginThrottle> login_throttle(Storage& storage) {
  return storage.is_on_postgres()
             ? std::make_unique<api::LoginThrottle>(storage.database, storage.keys.data)
             : std::make_unique<api::LoginThrottle>();
}

std::string base_host(const Config& config, const std::string& base_url) {
  const auto url = parse_url(base_url);
  return url ? url->host : config.listen.host;
}

// Documents of others are fetched from the addresses that webhooks may be sent to; in development
// also from this machine.
DocumentFetch document_fetch(const Config& config) {
  const reconcilers::WebhookAddresses addresses(config.webhook_allow_private
                                                    ? reconcilers::Reach::private_too
                                                    : reconcilers::Reach::public_only,
                                                config.cluster_ranges);
  return DocumentFetch([addresses, is_development = !config.production](const sockaddr& address) {
    return (is_development && is_loopback_address(address)) || addresses.allows(address);
  });
}

std::shared_ptr<oauth::IssuerKeys> issuer_keys(const Config& config, const Clock& clock) {
  return std::make_shared<oauth::IssuerKeys>(
      clock, [fetch = document_fetch(config)](const std::string& url) { return fetch.get(url); },
      config.production ? oauth::IssuerSchemes::only_https : oauth::IssuerSchemes::loopback_too);
}

std::shared_ptr<oauth::ClientDocuments> client_documents(const Config& config, const Clock& clock) {
  return std::make_shared<oauth::ClientDocuments>(
      clock, [fetch = document_fetch(config)](const std::string& url) { return fetch.get(url); },
      config.production ? apps::ClientUrls::only_https : apps::ClientUrls::loopback_too);
}

}  // namespace

Handlers::Handlers(Storage& storage, ClusterWork& cluster, prometheus::Registry& registry,
                   const std::string& base_url)
    : storage_(storage),
      cluster_(cluster),
      login_throttle_(login_throttle(storage)),
      security_log_(registry),
      services_(make_services(cluster, registry, base_url)),
      metrics_(registry),
      gate_(services_, metrics_),
      pages_(services_, metrics_),
      console_(services_.base_url),
      client_files_(storage_.config.client_files, services_.base_url) {}

api::Services Handlers::make_services(ClusterWork& cluster, prometheus::Registry& registry,
                                      const std::string& base_url) {
  const Config& config = storage_.config;
  const bool is_on_postgres = storage_.is_on_postgres();
  return {.db = storage_.database,
          .clock = storage_.clock,
          .keys = storage_.keys,
          .security = security_log_,
          .replicas = storage_.replicas.get(),
          .environment =
              config.production ? api::Environment::production : api::Environment::development,
          .base_url = base_url,
          .rate_limits = config.rate_limits,
          .admission = {.internal_secret = storage_.internal_secret(),
                        .named_secrets = config.internal_secrets,
                        .trusted_proxies = config.trusted_proxies,
                        .write_limits = config.rate_limits,
                        .write_counts = std::make_shared<write_budgets::Counts>(storage_.keys.data),
                        // PostgreSQL's disk is on another machine, and its free space is unknown.
                        .disk_room = is_on_postgres ? std::make_shared<DiskRoom>()
                                                    : std::make_shared<DiskRoom>([this] {
                                                        return storage_.disk_space();
                                                      })},
          .logins = {.passwords = passwords_,
                     .uses = uses_,
                     .session_uses = session_uses_,
                     .device_uses = device_uses_,
                     .personal_token_uses = personal_token_uses_,
                     .throttle = *login_throttle_,
                     .session_lifetime = config.session_lifetime,
                     .jwt_idle_timeout = config.jwt_idle_timeout,
                     .browser_idle_timeout = config.session_idle_timeout,
                     .password_blocklist = config.password_blocklist,
                     .rotate_session_key = [this] { return storage_.rotate_session_key(); }},
          .rules = {.reserved_names = config.reserved_names,
                    .signup_bonus = config.signup_bonus,
                    .rewards = config.reward_rules,
                    .ads = config.ad_rules,
                    .oauth = {.refresh_reuse_grace = config.refresh_reuse_grace,
                              .family_lifetime = config.refresh_family_lifetime,
                              .secret_grace = config.secret_grace},
                    .deployments = {.registries = config.registries,
                                    .apps_domain = config.apps_domain,
                                    .base_host = base_host(config, base_url),
                                    .reserved_names = config.reserved_names,
                                    .builds_images = cluster.view().builds != nullptr},
                    .refund_two_admins_above = config.refund_two_admins_above,
                    .support_refund_limit = config.support_refund_limit,
                    .first_account_admin = config.first_account_admin},
          .memory = {.campaign_index = campaign_index_,
                     .events = std::make_shared<api::EventHub>(
                         api::EventHub::Limits{.streams = size_t(config.max_connections) * 3 / 4}),
                     .container_sessions = std::make_shared<api::ContainerSessions>(&registry),
                     .presence = std::make_shared<presence::Board>(
                         is_on_postgres ? presence::Kept::in_database : presence::Kept::in_memory),
                     .issuer_keys = issuer_keys(config, storage_.clock),
                     .client_documents = client_documents(config, storage_.clock)},
          .cluster = cluster.view(),
          .backup = [this](const std::string& key) { return begin_backup(key); }};
}

api::Backup Handlers::begin_backup(const std::string& key) {
  const std::shared_ptr<backup::Outgoing> archive = storage_.backups.begin(key);
  // The backup counts as made once its last bytes were sent.
  const auto step = [this, archive](const api::Sink& sink) {
    if (archive->is_complete()) {
      storage_.database.write(backup::note_made);
      return api::Next::end;
    }
    archive->step(sink);
    return api::Next::more;
  };
  return {.bytes = archive->size(), .stream = step};
}

void Handlers::answer(const api::Request& request, api::Response& response) {
  if (!cluster_.answer_page(request, response) && !console_.handle(request, response) &&
      !api::console::answer_documentation(request, response) &&
      !client_files_.handle(request, response) && !pages_.handle(request, response))
    gate_.handle(request, response);
}

void Handlers::add_to(reconcilers::Loops& loops) {
  loops.add({.name = "last uses",
             .interval = uses_interval,
             .round =
                 [this](Round& round) {
                   for (UseLog* uses : std::initializer_list<UseLog*>{
                            &uses_, &session_uses_, &device_uses_, &personal_token_uses_})
                     uses->flush(round.database());
                 },
             .at_end = true,
             .failure = "the times when apps and sessions were last used couldn't be written"});
  loops.add({.name = "presence",
             .interval = storage_.is_on_postgres() ? shared_presence_interval : presence_interval,
             .round = [this](Round& round) { services_.memory.presence->flush(round.database()); },
             .at_end = true,
             .failure = "the times when users were last seen couldn't be written"});
  loops.add({.name = "write counts",
             .interval = write_budgets::Counts::flush_interval,
             .round =
                 [this](Round& round) {
                   services_.admission.write_counts->flush(round.database(), storage_.clock.now());
                 },
             .at_end = true,
             .failure = "how much was stored today couldn't be written down"});
  loops.add({.name = "security log",
             .interval = summaries_interval,
             .round =
                 [this](Round& round) {
                   security_log_.write_summaries();
                   security_log_.write_entries(round.database());
                 },
             .at_end = true,
             .failure = "the audit log's entries of failed logins couldn't be written"});
  loops.add({.name = "campaign index",
             .interval = campaigns_interval,
             .round = [this](Round& round) { campaign_index_.refresh(round.database()); },
             .failure = "the campaigns that have changed couldn't be read"});
}

void Handlers::changed(db::Topic topic, const std::string& id) {
  services_.memory.events->wake(topic, id);
  if (topic == db::Topic::campaign) campaign_index_.changed(id);
  // A change of what is wanted also changes the status that streams show.
  if (topic == db::Topic::deployment) services_.memory.events->wake(db::Topic::deployment_seen, id);
}

void Handlers::any_changed() {
  campaign_index_.any_changed();
  services_.memory.events->wake_all();
}

}  // namespace berth
