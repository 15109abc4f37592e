#include "reconcilers/embedded/faults.h"

#include <algorithm>

namespace berth::embedded {

bool Recorded::writes() const {
  return verb == "create" || verb == "update" || verb == "apply" || verb == "patch" ||
         verb == "delete" || verb == "deletecollection";
}

void Faults::add(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

void Faults::clear() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

std::optional<Fault> Faults::next(const std::string& verb, const std::string& plural) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return (fault.match.verb.empty() || fault.match.verb == verb) &&
           (fault.match.plural.empty() || fault.match.plural == plural);
  });
  if (found == faults_.end()) return std::nullopt;
  Fault met = *found;
  if (--found->times <= 0) faults_.erase(found);
  return met;
}

void Faults::set_log_words(const std::string& words) {
  const std::lock_guard lock(mutex_);
  log_words_ = words;
}

void Faults::set_in_flight(std::optional<std::map<std::string, double>> requests) {
  const std::lock_guard lock(mutex_);
  in_flight_ = std::move(requests);
}

std::optional<std::map<std::string, double>> Faults::in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_;
}

std::string Faults::log_words() const {
  const std::lock_guard lock(mutex_);
  return log_words_;
}

void Faults::set_hanging(bool hanging) {
  const std::lock_guard lock(mutex_);
  hanging_ = hanging;
  changed_.notify_all();
}

void Faults::delay() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, latency_.load(), [&] { return interrupted_; });
  changed_.wait(lock, [&] { return interrupted_ || !hanging_; });
}

void Faults::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

void Faults::resume() {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
}

void Faults::record(Recorded request) {
  if (!remembers_) return;
  const std::lock_guard lock(mutex_);
  if (recorded_.size() < most_recorded) recorded_.push_back(std::move(request));
}

std::vector<Recorded> Faults::recorded() const {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

void Faults::forget_recorded() {
  const std::lock_guard lock(mutex_);
  recorded_.clear();
}

}  // namespace berth::embedded
