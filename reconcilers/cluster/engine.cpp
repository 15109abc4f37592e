#include "reconcilers/cluster/engine.h"

#include <pthread.h>

#include "controller/base/log.h"
#include "controller/base/url.h"
#include "controller/db/request_limits.h"
#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "controller/domain/deployments/metering/meter.h"
#include "reconcilers/cluster/differ.h"
#include "reconcilers/cluster/failures.h"

namespace berth::reconcilers {
namespace {

constexpr const char* controller_name = "deployment";
// client-go refreshes its workqueue gauges at the same interval.
constexpr std::chrono::milliseconds keeper_tick{500};
constexpr std::chrono::milliseconds gathering{50};

std::string host_of(const std::string& server) {
  const auto url = parse_url(server);
  return url ? url->authority() + url->rest : server;
}

kube::ClientOptions complete(kube::ClientOptions options, Metrics& metrics, const Leader* leader) {
  options.field_manager = field_manager;
  options.observer = [ours = metrics.request_observer(), theirs = std::move(options.observer)](
                         std::string_view verb, std::string_view plural, int status,
                         std::chrono::nanoseconds took) {
    ours(verb, plural, status, took);
    if (theirs) theirs(verb, plural, status, took);
  };
  if (leader) options.write_time = [leader] { return leader->write_time(); };
  return options;
}

std::string words_of(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::unchanged:
      return "unchanged";
    case Outcome::Kind::applied:
      return "applied " + std::to_string(outcome.writes);
    case Outcome::Kind::waiting:
      return "waiting";
    case Outcome::Kind::removed:
      return "removed";
    case Outcome::Kind::refused:
      return "refused";
    case Outcome::Kind::orphaned:
      return "orphaned";
  }
  return "";
}

void log_reconciled(log::Level level, const std::string& id, const DeploymentLoop::Subject& subject,
                    const std::string& outcome, const std::string& reason, Took took) {
  log::write(level, "reconciled",
             {{"deployment", id},
              {"namespace", subject.name_space},
              {"generation", subject.generation},
              {"request_id", subject.request_id},
              {"outcome", outcome},
              {"reason", reason},
              {"duration_ms", took.count()}});
}

}  // namespace

Engine::Engine(Parts parts, Options options)
    : options_(std::move(options)),
      database_(parts.database),
      settings_(std::move(parts.settings)),
      data_key_(std::move(parts.data_key)),
      metrics_(parts.registry, controller_name, host_of(parts.cluster.server), options_.workers),
      queue_(metrics_.queue_observer()),
      leader_(parts.lease_namespace
                  ? std::make_unique<Leader>(
                        parts.cluster, *parts.lease_namespace, "berth-" + settings_.instance,
                        [this] { begin_to_lead(); }, *parts.registry, options_.leader)
                  : nullptr),
      client_(parts.cluster, complete(std::move(parts.client), metrics_, leader_.get())),
      cache_(client_, manifests::selector(settings_),
             {.deployment_changed = [this](const std::string& id,
                                           const Object& object) { notice(id, object); },
              .app_changed = [this](const std::string& app_id) { loop_.app_changed(app_id); },
              .connected = [this] { wake_stalled(); },
              .pod_left = [this](const Object& pod,
                                 Instant last_seen) { runs_.left(pod, last_seen); }}),
      runs_(database_, cache_, *parts.registry),
      usage_({.cache = cache_,
              .cluster = parts.cluster,
              .observer = metrics_.request_observer(),
              .requests = options_.requests}),
      images_(
          options_.images, [this](const std::string& id) { queue_.add(id); }, *parts.registry),
      user_namespaces_(client_, settings_.node_selector),
      loop_({.database = database_,
             .client = client_,
             .cache = cache_,
             .settings = settings_,
             .data_key = data_key_,
             .patience = options_.patience,
             .deployments = deployments_,
             .wake = [this](const std::string& id) { queue_.add(id); },
             .images = images_,
             .runs = runs_,
             .has_user_namespaces = [this] { return has_user_namespaces(); },
             .why_new_ones_wait = std::move(parts.why_new_ones_wait)}),
      resolver_(options_.dns),
      domain_loop_({.database = database_,
                    .client = client_,
                    .cache = cache_,
                    .settings = settings_,
                    .resolver = resolver_,
                    .deployments = deployments_,
                    .domain_changed = [this](const std::string& id) { queue_.add(id); }}),
      domains_(parts.registry, host_of(parts.cluster.server), domain_loop_,
               [this] { return leads(); }),
      job_loop_({.database = database_,
                 .client = client_,
                 .cache = cache_,
                 .settings = settings_,
                 .data_key = data_key_,
                 .patience = options_.patience,
                 .has_user_namespaces = [this] { return has_user_namespaces(); },
                 .registry = *parts.registry}),
      jobs_(parts.registry, host_of(parts.cluster.server), job_loop_, [this] { return leads(); }) {}

Engine::~Engine() { stop(); }

bool Engine::has_user_namespaces() const {
  return options_.user_namespaces.value_or(user_namespaces_.known().possible);
}

void Engine::start() {
  if (leader_) leader_->start();
  cache_.start();
  queue_.serve("deployments", std::size_t(options_.workers),
               [this](const std::string& id) { handle(id); });
  domains_.start();
  jobs_.start();
  images_.start();
  keeper_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
  pthread_setname_np(keeper_.native_handle(), "keeper");
}

void Engine::stop() {
  queue_.shut_down();
  resolver_.stop();
  queue_.stop();
  images_.stop();
  domains_.stop();
  jobs_.stop();
  if (keeper_.joinable()) {
    keeper_.request_stop();
    keeper_.join();
  }
  if (leader_) leader_->stop();
  cache_.stop();
}

// Changes to objects of a custom domain wake the domain loop, those of a run its own loop, and all
// others the deployment loop, which also tells the meter of the pods of runs. A rollout changes
// several objects within moments, which one reconciliation handles together.
void Engine::notice(const std::string& id, const Object& object) {
  if (is_of_domain(object)) {
    domains_.enqueue(id);
    return;
  }
  if (const std::string run = label_of(object, manifests::run_label); !run.empty()) {
    jobs_.enqueue_after(run, gathering);
    if (text_at(object, {"kind"}) == kube::jobs.kind) return;
  }
  if (text_at(object, {"kind"}) == kube::pods.kind) runs_.changed(object);
  queue_.add_after(id, gathering);
}

std::optional<Leader::State> Engine::leadership() const {
  if (!leader_) return std::nullopt;
  return leader_->state();
}

bool Engine::is_leading() const {
  const auto state = leadership();
  return !state || state->leading;
}

std::optional<Health> Engine::health(const std::string& deployment_id) const {
  const InformerState pods = cache_.state(kube::pods);
  const Instant now = system_time();
  const Duration silence =
      pods.connected ? Duration(0) : std::max(now - pods.last_contact, Duration(0));
  return health_of(containers_of(cache_, deployment_id), now, silence);
}

Engine::Work Engine::work_now() {
  const std::lock_guard lock(mutex_);
  return {.waiting = queue_.depth(),
          .stalled = stalled_.size(),
          .longest = queue_.longest_running(),
          .errors = metrics_.errors()};
}

void Engine::handle(const std::string& id) {
  Metrics::Reconcile reconcile(metrics_);
  DeploymentLoop::Subject subject;
  const auto failed = [&](const std::exception& failure, std::optional<std::chrono::seconds> wait) {
    queue_.retry(id, wait);
    log_reconciled(log::Level::warning, id, subject, "error", failure.what(), reconcile.took());
  };
  try {
    const Outcome outcome = leads() ? loop_.reconcile(id, subject) : stand_by(id, subject);
    reconcile.ended(settle(id, outcome));
    log_reconciled(level_of(outcome), id, subject, words_of(outcome), outcome.reason,
                   reconcile.took());
  } catch (const kube::Fenced& fenced) {
    reconcile.ended("requeue");
    stall_until_leading(id);
    log_reconciled(log::Level::info, id, subject, "waiting", fenced.what(), reconcile.took());
  } catch (const kube::ApiError& error) {
    if (meaning_of(error) == Failure::unreachable) stall(id);
    failed(error, error.retry_after);
  } catch (const std::exception& error) {
    failed(error, std::nullopt);
  }
}

// Writes nothing to the cluster, but may record on the row that the cluster is unreachable.
Outcome Engine::stand_by(const std::string& id, DeploymentLoop::Subject& subject) {
  const Outcome outcome = loop_.stand_by(id, subject);
  if (!outcome.again) stall_until_leading(id);
  return outcome;
}

void Engine::stall_until_leading(const std::string& id) {
  stall(id);
  if (leads()) wake_stalled();  // leadership may have begun before the id was stalled
}

void Engine::begin_to_lead() {
  runs_.begin_to_lead();
  has_looked_at_runs_ = false;
  scan_again_ = true;
  wake_stalled();
}

std::string_view Engine::settle(const std::string& id, const Outcome& outcome) {
  queue_.forget(id);
  if (!outcome.again) return "success";
  queue_.add_after(id, *outcome.again);
  return "requeue_after";
}

void Engine::look_at_all() { scan_again_ = true; }

void Engine::stall(const std::string& id) {
  const std::lock_guard lock(mutex_);
  stalled_.insert(id);
}

// Called when the cluster answers again or this process becomes the leader: everything that was
// stalled goes back into the queues.
void Engine::wake_stalled() {
  std::set<std::string> stalled;
  {
    const std::lock_guard lock(mutex_);
    stalled.swap(stalled_);
    something_connected_ = true;
  }
  for (const std::string& id : stalled) {
    queue_.forget(id);
    queue_.add(id);
  }
  domains_.try_again();
  jobs_.try_again();
  keeper_wakes_.notify_all();
}

void Engine::keep(const std::stop_token& stop) {
  using SteadyClock = std::chrono::steady_clock;
  std::minstd_rand random{std::random_device{}()};
  // The interval varies by up to a tenth either way, so that several berthd processes don't all
  // resync at the same moment.
  const auto next_resync = [&] {
    const auto tenth = options_.resync.count() / 10;
    const std::chrono::milliseconds jitter(
        std::uniform_int_distribution<std::int64_t>(-tenth, tenth)(random));
    return SteadyClock::now() + options_.resync + jitter;
  };
  std::optional<SteadyClock::time_point> resync_at;  // empty until the first scan has succeeded
  SteadyClock::time_point look_at_nodes_at;
  while (!stop.stop_requested()) {
    metrics_.refresh(queue_);
    domains_.refresh_metrics();
    jobs_.refresh_metrics();
    cache_.drop_old_trees();
    keep_watch();
    if (scan_again_.exchange(false)) resync_at.reset();
    // This comes before the first scan, so that new objects use user namespaces if the nodes have
    // them.
    if (!options_.user_namespaces && cache_.synced() && SteadyClock::now() >= look_at_nodes_at) {
      const bool answered = user_namespaces_.refresh();
      look_at_nodes_at = SteadyClock::now() + (answered ? UserNamespaceWatch::interval
                                                        : UserNamespaceWatch::after_no_answer);
    }
    if ((!resync_at && cache_.synced()) || (resync_at && SteadyClock::now() >= *resync_at))
      if (scan()) resync_at = next_resync();
    std::unique_lock lock(mutex_);
    keeper_wakes_.wait_for(lock, stop, keeper_tick, [this] { return something_connected_; });
    something_connected_ = false;
  }
}

// Says until when the meter has what the cluster says. Doesn't wait for a database that is away.
void Engine::keep_watch() {
  try {
    db::limited(db::RequestLimits(), [this] { runs_.keep_watch(leads()); });
  } catch (const std::exception& error) {
    log::warning("until when pods were watched couldn't be stored", {{"error", error.what()}});
  }
}

// The runs that aren't over, and those that still have a Job.
void Engine::scan_runs() {
  constexpr int page = 500;
  std::string after;
  while (true) {
    const auto open = database_.read([&](db::Tx& tx) { return runs::open_runs(tx, after, page); });
    for (const runs::Run& run : open) jobs_.enqueue(run.id);
    if (open.size() < std::size_t(page)) break;
    after = open.back().id;
  }
  const Store& jobs = cache_.store(kube::jobs);
  for (const std::string& id : jobs.deployments())
    for (const ObjectPtr& job : jobs.of_deployment(id))
      if (const std::string run = label_of(*job, manifests::run_label); !run.empty())
        jobs_.enqueue(run);
}

// Tells the meter what runs of the deployments with open runs and of those with pods, before the
// reconciles of all deployments have their turn: until the meter has everything, what ends while
// nobody leads is charged only up to the time at which the process before this one was in step.
void Engine::look_at_runs(const std::vector<std::string>& open) {
  if (!leads() || has_looked_at_runs_.exchange(true) || open.empty()) return;
  try {
    std::set<std::string> ids = cache_.store(kube::pods).deployments();
    ids.insert(open.begin(), open.end());
    for (const std::string& id : ids) loop_.look_at_runs(id);
  } catch (const std::exception&) {
    has_looked_at_runs_ = false;
    throw;
  }
}

bool Engine::scan() {
  runs_.doubt();
  try {
    const auto metered =
        database_.read([](db::Tx& tx) { return metering::deployments_with_open(tx); });
    look_at_runs(metered);
    const auto rows = database_.read([](db::Tx& tx) { return deployments::all_with_objects(tx); });
    for (const std::string& id : rows) queue_.add(id);
    for (const std::string& id : metered) queue_.add(id);
    const auto claimed =
        database_.read([](db::Tx& tx) { return custom_domains::deployments_with_claims(tx); });
    for (const std::string& id : claimed) domains_.enqueue(id);
    for (const std::string& id : cache_.deployments()) queue_.add(id);
    scan_runs();
    return true;
  } catch (const std::exception& error) {
    log::warning("the deployments couldn't be listed", {{"error", error.what()}});
    return false;
  }
}

}  // namespace berth::reconcilers
