#include "reconcilers/cluster/leader.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "controller/base/clock.h"
#include "controller/base/id.h"
#include "controller/base/log.h"
#include "reconcilers/cluster/differ.h"
#include "reconcilers/cluster/fields.h"

namespace berth::reconcilers {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Candidates wait up to this factor longer than the retry period, so that they don't all try at
// once (client-go's JitterFactor).
constexpr double jitter = 1.2;

// CLOCK_BOOTTIME goes on while a machine is suspended, unlike CLOCK_MONOTONIC, so a machine that
// slept no longer leads.
nanoseconds now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

// The API's MicroTime format has exactly six digits after the second.
std::string micro_time(Instant at) {
  std::string text = to_iso8601(at);
  return text.insert(text.size() - 1, "000");
}

// Differs between any two processes, even if pods keep their names.
std::string new_identity() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return std::string(host.data()) + "_" + new_uuid(system_time());
}

kube::ClientOptions client_options(const Leader::Options& options) {
  kube::ClientOptions client;
  // Two tries have to fit into the deadline.
  client.request_timeout =
      std::max(std::chrono::seconds(1),
               std::chrono::duration_cast<std::chrono::seconds>(options.renew_deadline / 2));
  client.connect_timeout = client.request_timeout;
  client.max_retries = 0;
  client.field_manager = field_manager;
  return client;
}

std::string holder_of(const kube::Object& lease) {
  return text_at(lease, {"spec", "holderIdentity"});
}

milliseconds duration_of(const kube::Object& lease, milliseconds fallback) {
  const std::int64_t seconds = number_at(lease, {"spec", "leaseDurationSeconds"});
  return seconds > 0 ? milliseconds(seconds * 1000) : fallback;
}

}  // namespace

Leader::Leader(const kube::Kubeconfig& cluster, std::string name_space, std::string name,
               std::function<void()> on_started, prometheus::Registry& registry, Options options)
    : options_(options),
      name_space_(std::move(name_space)),
      name_(std::move(name)),
      identity_(new_identity()),
      on_started_(std::move(on_started)),
      client_(cluster, client_options(options)),
      leading_gauge_(prometheus::BuildGauge()
                         .Name("leader_election_master_status")
                         .Help("1 in the process that holds the Lease")
                         .Register(registry)
                         .Add({{"name", name_}})) {
  if (options.retry_period <= Wait(0) || options.renew_deadline <= options.retry_period ||
      options.lease_duration <= options.renew_deadline + options.retry_period)
    throw std::invalid_argument(
        "leader election needs retry < deadline < lease, with at least a retry between deadline "
        "and lease");
  leading_gauge_.Set(0);
}

Leader::~Leader() { stop(); }

void Leader::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  pthread_setname_np(thread_.native_handle(), "lease");
}

void Leader::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  if (leading_) release();
}

std::optional<Leader::Wait> Leader::write_time() const {
  const std::lock_guard lock(mutex_);
  if (!renewed_at_) return std::nullopt;
  const auto passed = std::chrono::ceil<Wait>(now() - *renewed_at_);
  if (passed >= options_.renew_deadline) return std::nullopt;
  return options_.lease_duration - options_.retry_period - passed;
}

Leader::State Leader::state() const {
  const bool leading = write_time().has_value();
  const std::lock_guard lock(mutex_);
  return {leading, holder_, last_error_};
}

void Leader::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    attempt();
    std::unique_lock lock(mutex_);
    stopping_.wait_for(lock, stop, pause(), [] { return false; });
  }
}

void Leader::attempt() {
  const Moment began = now();
  try {
    take(began);
  } catch (const std::exception& error) {
    failed(error.what());
  }
  end_if_late();
}

void Leader::take(Moment began) {
  // The holder writes without reading first; if somebody else has written in the meantime, the
  // version doesn't match and the server answers 409.
  const bool mine = leading_ && known_;
  if (mine) {
    try {
      see(client_.update(next_version(identity_)));
      return succeeded(began);
    } catch (const kube::ApiError& error) {
      if (error.status != 404 && error.status != 409) throw;
    }
  }
  if (look_and_take()) succeeded(began);
}

bool Leader::look_and_take() {
  auto live = client_.get(kube::leases, name_space_, name_);
  bool written = false;
  try {
    if (!live) {
      known_.reset();
      see(client_.create(next_version(identity_)));
      written = true;
    } else {
      see(std::move(*live));
      if (may_be_taken()) {
        see(client_.update(next_version(identity_)));
        written = true;
      }
    }
  } catch (const kube::ApiError& error) {
    if (error.status != 409) throw;
    // Another candidate was faster; the next attempt sees who it was.
  }
  if (leading_ && known_ && holder_of(*known_) != identity_)
    ended("another process holds the Lease");
  const std::lock_guard lock(mutex_);
  last_error_.clear();
  return written;
}

bool Leader::may_be_taken() const {
  const std::string holder = holder_of(*known_);
  if (holder.empty() || holder == identity_) return true;
  return now() >= seen_at_ + duration_of(*known_, options_.lease_duration);
}

// Takes in the Lease as the server has it. A holder changes it with each renewal, so a Lease that
// stays the same has a dead holder.
void Leader::see(kube::Object lease) {
  if (!known_ || known_->value("spec", kube::Object()) != lease.value("spec", kube::Object()))
    seen_at_ = now();
  known_ = std::move(lease);
  const std::lock_guard lock(mutex_);
  holder_ = holder_of(*known_);
}

kube::Object Leader::next_version(const std::string& holder) const {
  kube::Object lease = known_.value_or(
      kube::Object{{"apiVersion", kube::leases.api_version},
                   {"kind", kube::leases.kind},
                   {"metadata",
                    {{"name", name_},
                     {"namespace", name_space_},
                     {"labels", {{"app.kubernetes.io/managed-by", field_manager}}}}}});
  kube::Object& spec = lease["spec"];
  const std::string time = micro_time(system_time());
  if (!known_ || holder_of(lease) != holder) {
    spec["acquireTime"] = time;
    spec["leaseTransitions"] =
        known_ ? number_at(lease, {"spec", "leaseTransitions"}) + (holder.empty() ? 0 : 1) : 0;
  }
  spec["holderIdentity"] = holder;
  spec["renewTime"] = time;
  // A Lease without a holder still needs a duration, and the API refuses zero.
  spec["leaseDurationSeconds"] =
      holder.empty()
          ? 1
          : std::chrono::duration_cast<std::chrono::seconds>(options_.lease_duration).count();
  return lease;
}

void Leader::succeeded(Moment began) {
  const bool lapsed = leading_ && !write_time();
  {
    const std::lock_guard lock(mutex_);
    renewed_at_ = began;
    last_error_.clear();
  }
  if (leading_ && !lapsed) return;
  leading_ = true;
  leading_gauge_.Set(1);
  log::info("this process now leads",
            {{"lease", name_space_ + "/" + name_}, {"identity", identity_}});
  on_started_();
}

void Leader::failed(const std::string& error) {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = last_error_.empty();
    last_error_ = error;
  }
  if (is_new)
    log::warning("the Lease can't be acquired or renewed",
                 {{"lease", name_space_ + "/" + name_}, {"error", error}});
}

void Leader::end_if_late() {
  if (leading_ && !write_time()) ended("the Lease couldn't be renewed in time");
}

void Leader::ended(const std::string& why) {
  leading_ = false;
  leading_gauge_.Set(0);
  {
    const std::lock_guard lock(mutex_);
    renewed_at_.reset();
  }
  log::warning("this process no longer leads and doesn't write to the cluster",
               {{"lease", name_space_ + "/" + name_}, {"why", why}});
}

void Leader::release() {
  leading_ = false;
  leading_gauge_.Set(0);
  {
    const std::lock_guard lock(mutex_);
    renewed_at_.reset();
  }
  try {
    client_.update(next_version(""));
    log::info("the Lease was released", {{"lease", name_space_ + "/" + name_}});
  } catch (const std::exception& error) {
    log::warning("the Lease couldn't be released; the next leader has to wait until it expires",
                 {{"lease", name_space_ + "/" + name_}, {"error", error.what()}});
  }
}

Leader::Wait Leader::pause() {
  if (leading_) return options_.retry_period;
  const auto most = Wait::rep(double(options_.retry_period.count()) * jitter);
  const Wait pause =
      options_.retry_period + Wait(std::uniform_int_distribution<Wait::rep>(0, most)(random_));
  if (!known_ || may_be_taken()) return pause;
  // The Lease of a holder that died is taken as soon as it may be, and not up to a pause later.
  const Moment left = seen_at_ + duration_of(*known_, options_.lease_duration) - now();
  return std::min(pause, std::chrono::ceil<Wait>(left));
}

}  // namespace berth::reconcilers
