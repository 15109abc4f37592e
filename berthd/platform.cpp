// The composition root: the only file that knows all parts of berthd.
#include "berthd/platform.h"

#include <SQLiteCpp/Exception.h>
#include <prometheus/registry.h>
#include <sqlite3.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "berthd/cluster_work.h"
#include "berthd/exit_codes.h"
#include "berthd/gauges.h"
#include "berthd/handlers.h"
#include "berthd/listeners.h"
#include "berthd/notify_ready.h"
#include "berthd/ops_server.h"
#include "berthd/platform_parts.h"
#include "berthd/pushed_image.h"
#include "berthd/storage.h"
#include "controller/base/log.h"
#include "controller/base/version.h"
#include "controller/domain/ads/upkeep.h"
#include "controller/domain/deployments/custom_domains/suffix_list.h"
#include "controller/domain/kernel/audit_chain.h"
#include "controller/domain/ledger/pending.h"
#include "controller/domain/lifecycle/expiry.h"
#include "controller/domain/lifecycle/reset_requests.h"
#include "controller/domain/oauth/openid_keys.h"
#include "controller/domain/oauth/personal_tokens.h"
#include "controller/domain/points/refund_requests.h"
#include "reconcilers/loops/billing.h"
#include "reconcilers/loops/crons.h"
#include "reconcilers/loops/ledger.h"
#include "reconcilers/loops/logouts.h"
#include "reconcilers/loops/loops.h"
#include "reconcilers/loops/metering.h"
#include "reconcilers/loops/pushes.h"

namespace berth {
namespace {

// A first start needs about half of this room on the disk. A start that fails with less has
// probably failed because the disk is full.
constexpr std::uintmax_t room_to_start = 4 << 20;

bool is_out_of_room(const std::exception& failure, const std::filesystem::path& data_dir) {
  const auto* of_sqlite = dynamic_cast<const SQLite::Exception*>(&failure);
  if (of_sqlite != nullptr && (of_sqlite->getErrorCode() & 0xff) == SQLITE_FULL) return true;
  std::error_code unknown;
  const auto space = std::filesystem::space(data_dir, unknown);
  return !unknown && space.available < room_to_start;
}

// Everything that lives as long as berthd serves, in the order in which it is created.
class Platform {
 public:
  explicit Platform(const Config& config);
  // Serves until SIGTERM or SIGINT, which every thread has blocked.
  void run();

 private:
  void add_loops();
  void tell(db::Topic topic, const std::string& id);
  void reread_all();
  void follow();
  std::vector<Address> addresses() const;
  std::vector<Check> readiness();
  void announce();
  const char* wait() const;
  void stop();
  void stop_all();

  const Config& config_;
  Storage storage_{config_};
  db::Database& database_ = storage_.database;
  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  ClusterWork cluster_{{.config = config_,
                        .storage = storage_,
                        .registry = registry_,
                        .listeners = [this] { return addresses(); },
                        .wake = [this](std::string_view loop) { loops_.wake(loop); }}};
  Listeners listeners_{
      config_, storage_.internal_secret(),
      [this](const api::Request& request, api::Response& response) {
        handlers_.answer(request, response);
      },
      [this](const api::Request& request) { return handlers_.place_of_body(request); },
      cluster_.ingress_socket()};
  const std::string base_url_ = config_.base_url.value_or(
      cluster_.own_url().value_or("http://" + listeners_.addresses().front().text()));

  Handlers handlers_{storage_, cluster_, *registry_, base_url_};

  reconcilers::BillingLoop billing_{storage_.keys.data};
  reconcilers::MeteringLoop metering_{storage_.keys.data};
  reconcilers::CronLoop crons_;
  reconcilers::LedgerLoop ledger_;
  reconcilers::PushLoop pushes_{{.data_key = storage_.keys.data,
                                 .rules = handlers_.services().rules.deployments,
                                 .ask = pushed_image},
                                *registry_};
  reconcilers::LogoutLoop logouts_{logout_parts(storage_, base_url_), *registry_};
  MoneyWatch money_;
  const std::unique_ptr<reconcilers::MailLoop> mail_ = mail_loop(storage_, registry_);
  const std::unique_ptr<reconcilers::WebhookLoop> webhooks_ =
      webhook_loop(storage_, handlers_.services(), registry_);
  const std::shared_ptr<Gauges> gauges_ = std::make_shared<Gauges>(
      Gauges::Sources{.database = database_,
                      .postgres = storage_.opened.postgres,
                      .replicas = storage_.replicas.get(),
                      .data_dir = config_.data_dir,
                      .http = [this] { return listeners_.counters(); },
                      .isolation = [this] { return cluster_.isolation_gauge(); },
                      .billing = [this] { return billing_.outcomes(); },
                      .metering = [this] { return metering_.totals(); },
                      .crons = [this] { return crons_.outcomes(); },
                      .anomalies = [this] { return money_.counts(); }});
  OpsServer ops_{config_.metrics_listen, common_headers(config_), *registry_, gauges_,
                 [this] { return readiness(); }};
  std::atomic<bool> is_moved_ = false;  // the database, so that berthd has to end
  api::Drained drained_ = api::Drained::all;
  reconcilers::Loops loops_{database_, storage_.replicas.get(), *registry_};
};

Platform::Platform(const Config& config) : config_(config) {
  add_loops();
  // Nothing has been written before this, so no notification is missed.
  database_.subscribe([this](db::Topic topic, const std::string& id) { tell(topic, id); });
  if (storage_.is_on_postgres())
    storage_.opened.postgres->exchange_notices([this] { reread_all(); });
}

// Each ends before those above it. The first one keeps the leases of the others until they have
// ended.
void Platform::add_loops() {
  if (storage_.is_on_postgres())
    loops_.add({.name = "following",
                .interval = Replicas::beat_interval,
                .round = [this](Round&) { follow(); },
                .failure = "what other berthd processes have changed couldn't be read"});
  cluster_.add_to(loops_);
  handlers_.add_to(loops_);
  if (mail_) loops_.add(mail_->loop());
  loops_.add(webhooks_->loop());
  loops_.add(expiry::loop());
  loops_.add(audit::chain_loop());
  loops_.add(accounts::reset_loop(storage_.keys, base_url_));
  loops_.add(personal_tokens::warning_loop(storage_.keys, base_url_));
  loops_.add(billing_.loop());
  loops_.add(metering_.loop());
  loops_.add(pushes_.loop());
  loops_.add(logouts_.loop());
  loops_.add(openid::keys_loop(storage_.keys.data));
  loops_.add(crons_.loop());
  loops_.add(ads::upkeep_loop());
  loops_.add(refund_requests::loop(storage_.keys));
  loops_.add(money_.loop());
  loops_.add(ledger_.loop());
  if (storage_.is_on_postgres()) loops_.add(ledger::pending_loop());
  loops_.add(reconcilers::Loops::Part{.start = [this] { listeners_.start(); },
                                      .stop = [this] { drained_ = listeners_.stop(); }});
}

// Runs after a commit on a thread of the database, one call at a time. On PostgreSQL it also runs
// after commits of other berthd processes.
void Platform::tell(db::Topic topic, const std::string& id) {
  handlers_.changed(topic, id);
  cluster_.changed(topic, id);
  if (topic == db::Topic::app_balance) {
    billing_.credited(id);
    loops_.wake(reconcilers::BillingLoop::name);
  }
  // Deliveries are created by webhooks::emit or by the triggers on deployments, which use these
  // topics.
  if (topic == db::Topic::webhook || topic == db::Topic::deployment ||
      topic == db::Topic::deployment_seen || topic == db::Topic::custom_domain) {
    webhooks_->wake();
    handlers_.changed(db::Topic::webhook, api::events_of_all_apps);
  }
}

// Treats everything as changed, because notices may have been lost.
void Platform::reread_all() {
  handlers_.any_changed();
  cluster_.any_changed();
  billing_.any_credited();
  webhooks_->wake();
}

void Platform::follow() {
  try {
    storage_.follow([this] { reread_all(); });
    cluster_.reread();
  } catch (const StartError& moved) {
    log::error("berthd ends", {{"error", moved.what()}});
    is_moved_ = true;
  }
}

std::vector<Address> Platform::addresses() const {
  std::vector<Address> all = listeners_.addresses();
  all.push_back({.host = config_.metrics_listen.host, .port = ops_.port()});
  return all;
}

std::vector<Check> Platform::readiness() {
  // A probe doesn't wait for a database that can't be reached.
  return db::limited(db::RequestLimits(), [this] {
    std::vector<Check> checks = cluster_.readiness();
    checks.insert(
        checks.begin(),
        Check{.name = "database", .ok = database_.takes_writes(), .detail = {}, .decides = true});
    return checks;
  });
}

void Platform::announce() {
  const std::vector<Address>& listening = listeners_.addresses();
  const std::string metrics = addresses().back().text();
  storage_.data.write(address_name, listening.front().text() + "\n");
  if (listening.size() > 1) {
    const std::string internal = listening.back().text();
    storage_.data.write("berthd.internal.addr", internal + "\n");
    log::info("the internal API has a listener of its own", {{"listen", internal}});
  }
  storage_.data.write("berthd.metrics.addr", metrics + "\n");
  notify_ready();
  suffix_list::announce(storage_.clock.now());
  log_what_to_know(config_);
  log::info("ready", {{"listen", listening.front().text()},
                      {"base_url", base_url_},
                      {"metrics", metrics},
                      {"version", version},
                      {"kubernetes", to_string(cluster_.state())},
                      {"instance", storage_.instance}});
}

// Waits for SIGTERM or SIGINT, which every thread has blocked, or until the database was moved.
// Returns what ended the wait.
const char* Platform::wait() const {
  constexpr timespec look_again = {.tv_sec = 1, .tv_nsec = 0};
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  while (!is_moved_) {
    const int received = sigtimedwait(&signals, nullptr, &look_again);
    if (received == SIGTERM) return "SIGTERM";
    if (received == SIGINT) return "SIGINT";
  }
  return "none";
}

// Also called after a start that failed halfway.
void Platform::stop() {
  // The last writes don't wait for a server that is away, but SQLite's wait for one another.
  if (storage_.is_on_postgres())
    db::limited(db::RequestLimits(), [this] { stop_all(); });
  else
    stop_all();
}

void Platform::stop_all() {
  storage_.backups.stop();
  loops_.stop();
  // A handler that doesn't return would keep berthd from ending. Its request hasn't been answered,
  // and the database can be closed at any moment.
  if (const auto running = listeners_.running_handlers(); running > 0) {
    log::error("berthd stopped although some handlers hadn't returned", {{"handlers", running}});
    std::_Exit(EXIT_FAILURE);
  }
  if (storage_.is_on_postgres()) storage_.opened.postgres->end_notices();
  storage_.leave();
  log::info("stopped", {{"drained", drained_ == api::Drained::all}});
}

void Platform::run() {
  try {
    handlers_.warm_up();
    loops_.start();
    announce();
  } catch (...) {
    stop();
    throw;
  }
  log::info("draining", {{"signal", wait()}});
  stop();
}

}  // namespace

void serve(const Config& config) {
  try {
    Platform(config).run();
  } catch (const StartError&) {
    throw;
  } catch (const std::exception& failure) {
    if (!is_out_of_room(failure, config.data_dir)) throw;
    throw StartError(exit_disk_full, "the disk of the data directory " + config.data_dir.string() +
                                         " is full; make room and start again (" + failure.what() +
                                         ")");
  }
}

}  // namespace berth
