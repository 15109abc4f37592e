#include "reconcilers/embedded/apiserver/log_stream.h"

#include <algorithm>

#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

// The index of the first line after the last one that was written; lines before it may be gone.
size_t behind(const std::vector<OutputLine>& lines, const std::optional<OutputLine>& last,
              size_t of_that_time) {
  if (!last) return 0;
  const auto same = std::ranges::lower_bound(lines, last->at, {}, &OutputLine::at);
  return std::min(lines.size(), size_t(same - lines.begin()) + of_that_time);
}

}  // namespace

LogStream::LogStream(Store& store, const Kubelet& kubelet, Key pod, const LogRequest& request)
    : store_(store), kubelet_(kubelet), key_(std::move(pod)), request_(request) {
  const ObjectPtr found = store_.find(key_);
  const PodLog log = kubelet_.log(*found, request_.container, request_.previous);
  uid_ = uid_of(*found);
  run_ = log.run;
  watch_ = store_.watch(key_.kind, store_.version());
}

api::Next LogStream::write(const api::Sink& sink) {
  std::string text;
  bool over = true;
  {
    const Lock lock(store_.mutex());
    const ObjectPtr pod = store_.find(key_);
    if (pod && uid_of(*pod) == uid_) {
      PodLog log = kubelet_.run_log(*pod, request_.container, run_);
      over = log.over;
      size_t first = behind(log.lines, last_, of_that_time_);
      if (!last_ && request_.tail_lines)
        first = log.lines.size() - std::min<size_t>(log.lines.size(), *request_.tail_lines);
      text = shown_lines(log.lines, request_, first);
      if (!log.lines.empty()) {
        last_ = log.lines.back();
        of_that_time_ = size_t(std::ranges::count(log.lines, last_->at, &OutputLine::at));
      }
    }
  }
  if (!sink(text)) return api::Next::break_off;
  if (over) return api::Next::end;
  std::vector<Change> changes;
  const WatchState state =
      store_.next(watch_, std::chrono::steady_clock::now() + tick, 100, changes);
  if (state == WatchState::expired) {
    const Lock lock(store_.mutex());
    watch_ = store_.watch(key_.kind, store_.version());
  }
  const bool broken = state == WatchState::dropped || state == WatchState::stopped;
  return broken ? api::Next::break_off : api::Next::more;
}

}  // namespace berth::embedded
