#include "reconcilers/cluster/informer.h"

#include <pthread.h>

#include <algorithm>

#include "controller/base/log.h"

namespace berth::reconcilers {
namespace {

// A watch that ends sooner than this without any event counts as a failure, so that the informer
// pauses before the next try.
constexpr std::chrono::milliseconds shortest_watch{500};
constexpr size_t longest_thread_name = 15;  // pthread_setname_np(3)

}  // namespace

Informer::Informer(kube::Client& client, const kube::Resource& resource, Need need,
                   std::string label_selector, Listener listener)
    : client_(client),
      resource_(resource),
      need_(need),
      options_{.name_space = "", .label_selector = std::move(label_selector), .field_selector = ""},
      listener_(std::move(listener)) {
  state_.plural = resource.plural;
  state_.since = system_time();
}

void Informer::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  const std::string name = "watch " + std::string(resource_.plural);
  pthread_setname_np(thread_.native_handle(), name.substr(0, longest_thread_name).c_str());
}

InformerState Informer::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Informer::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      if (version_.empty())
        list();
      else if (doubts_)
        ask();
      watch(stop);
    } catch (const kube::ApiError& error) {
      if (stop.stop_requested()) return;
      if (means_absence(error)) {
        miss(error);
        wait(stop, absence_pause);
        continue;
      }
      if (error.unreachable())
        doubts_ = true;
      else if (error.expired() || ++refused_watches_ >= max_refused_watches)
        version_.clear();
      if (!error.expired()) count_failure(error.what());
    } catch (const std::exception& error) {
      if (stop.stop_requested()) return;
      version_.clear();
      count_failure(error.what());
    }
    if (failures_ > 0) pause(stop);
  }
}

void Informer::list() {
  const Instant asked_at = system_time();
  kube::List all = client_.list(resource_, options_, slimmed);
  const Instant last_seen = state().in_step_until;  // before this list
  const auto changed = store_.replace(std::move(all.items), all.resource_version);
  version_ = all.resource_version;
  refused_watches_ = 0;
  doubts_ = false;
  seen_before_outage_.reset();
  for (const ObjectPtr& object : changed) tell(*object, last_seen);
  {
    const std::lock_guard lock(mutex_);
    state_.synced = true;
    if (!state_.served) log::info("the cluster now serves this kind", {{"kind", state_.plural}});
    state_.served = true;
  }
  contact();
  in_step_until(asked_at);
}

void Informer::tell(const Object& object, Instant last_seen) const {
  if (listener_.gone && !store_.find(namespace_of(object), name_of(object)))
    listener_.gone(object, last_seen);
  listener_.changed(object);
}

// Only a list's 404 (or 403) means that the kind is absent: a watch may answer 404 too, and is then
// followed by a list.
bool Informer::means_absence(const kube::ApiError& error) const {
  return need_ == Need::where_served && version_.empty() &&
         (error.status == 404 || error.status == 403);
}

void Informer::miss(const kube::ApiError& error) {
  // If the kind is gone (404), so are all its objects; if we may not read it (403), they may still
  // be there.
  if (error.status == 404)
    for (const ObjectPtr& gone : store_.replace({}, "")) listener_.changed(*gone);
  failures_ = 0;
  {
    const std::lock_guard lock(mutex_);
    if (state_.served)
      log::warning("the cluster doesn't serve this kind",
                   {{"kind", state_.plural}, {"error", error.what()}});
    state_.served = false;
    state_.synced = true;
  }
  contact();
}

// A watch may be silent for a minute, so after a failure the informer first asks whether the server
// answers at all.
void Informer::ask() {
  client_.raw("/version");
  doubts_ = false;
  if (!seen_before_outage_) seen_before_outage_ = state().in_step_until;
  contact();
}

void Informer::watch(const std::stop_token& stop) {
  watching_since_ = SteadyClock::now();
  client_.watch(
      resource_, options_, version_,
      [&](kube::EventType type, const Object& object) { take(type, object); }, stop);
  if (SteadyClock::now() - shortest_watch >= *watching_since_)
    failures_ = 0;
  else
    ++failures_;
  watching_since_.reset();
  seen_before_outage_.reset();
  contact();
  in_step_until(system_time());
}

void Informer::take(kube::EventType type, const Object& object) {
  version_ = text_at(object, {"metadata", "resourceVersion"});
  // A watch that delivered an event counts as good, however short it was.
  watching_since_ = SteadyClock::time_point::min();
  refused_watches_ = 0;
  contact();
  const Instant received_at = state().last_contact;
  const Instant last_seen = seen_before_outage_.value_or(received_at);
  if (type == kube::EventType::bookmark) {
    seen_before_outage_.reset();
  } else if (type == kube::EventType::deleted) {
    // Before the store forgets it, so that nobody finds it neither there nor among those that went.
    if (listener_.gone) listener_.gone(object, last_seen);
    store_.erase(object);
    listener_.changed(object);
  } else if (store_.put(object)) {
    tell(object, last_seen);
  }
  // Only now, so that nobody takes the store to be in step who hasn't been told of the event.
  in_step_until(received_at);
}

void Informer::in_step_until(Instant at) {
  const std::lock_guard lock(mutex_);
  state_.in_step_until = at;
}

void Informer::contact() {
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    state_.last_contact = system_time();
    again = !state_.connected;
    if (again) state_.since = state_.last_contact;
    state_.connected = true;
  }
  if (again) listener_.connected();
}

void Informer::count_failure(const std::string& error) {
  // Watches break every now and then, so one that had lasted for a while resets the count of
  // failures; only failures in quick succession are a problem.
  if (watching_since_ && SteadyClock::now() - shortest_watch >= *watching_since_) failures_ = 0;
  watching_since_.reset();
  if (failures_++ == 0) return;
  const std::lock_guard lock(mutex_);
  if (state_.connected || state_.last_error.empty())
    log::warning("the cluster can't be watched", {{"kind", state_.plural}, {"error", error}});
  if (state_.connected) state_.since = system_time();
  state_.connected = false;
  state_.last_error = error;
}

void Informer::pause(const std::stop_token& stop) {
  auto length = first_pause;
  for (int i = 1; i < failures_ && length < longest_pause; ++i) length *= 2;
  length = std::min(length, longest_pause);
  length += std::chrono::milliseconds(
      std::uniform_int_distribution<std::int64_t>(0, length.count() / 2)(random_));
  wait(stop, length);
}

void Informer::wait(const std::stop_token& stop, std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  stopping_.wait_for(lock, stop, pause, [] { return false; });
}

}  // namespace berth::reconcilers
