#include "reconcilers/embedded/apiserver/log_stream.h"

#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {

LogStream::LogStream(Store& store, const Kubelet& kubelet, Key pod, LogRequest request)
    : store_(store),
      key_(std::move(pod)),
      request_(std::move(request)),
      bytes_left_(request_.limit_bytes) {
  const ObjectPtr found = store_.find(key_);
  const Run run = kubelet.logged_run(*found, request_.container, request_.previous);
  log_ = kubelet.runtime().log(run, request_.tail_lines);
  uid_ = uid_of(*found);
  watch_ = store_.watch(key_.kind, store_.version());
  if (log_) return;
  if (request_.previous)
    throw bad_request("previous terminated container \"" + run.container + "\" in pod \"" +
                      name_of(*found) + "\" not found");
  std::string id;
  for (const Json& status : at_path(*found, "/status/containerStatuses"))
    if (text_at(status, "name") == run.container) id = text_at(status, "containerID");
  unreadable_ = "unable to retrieve container logs for " + id;
}

std::string LogStream::text_of(const std::vector<OutputLine>& lines) {
  std::string text;
  for (const OutputLine& line : lines) {
    if (request_.since && line.at < *request_.since) continue;
    if (request_.timestamps) text += nano_timestamp(line.at) + " ";
    text += line.text + "\n";
  }
  if (bytes_left_) {
    text.resize(std::min<std::uint64_t>(text.size(), *bytes_left_));
    *bytes_left_ -= text.size();
  }
  return text;
}

api::Next LogStream::write(const api::Sink& sink) {
  const auto lines = log_->read(lines_at_once);
  sink(text_of(lines));
  if (bytes_left_ == 0) return api::Next::end;
  if (lines.size() == lines_at_once) return api::Next::more;
  if (!request_.follow || log_->over()) return api::Next::end;
  return wait();
}

api::Next LogStream::wait() {
  std::vector<Change> changes;
  const WatchState state = store_.next(watch_, changes_at_once, changes);
  if (state == WatchState::dropped || state == WatchState::stopped) return api::Next::break_off;
  const Lock lock(store_.mutex());
  if (state == WatchState::expired) watch_ = store_.watch(key_.kind, store_.version());
  const ObjectPtr pod = store_.find(key_);
  if (!pod || uid_of(*pod) != uid_) return api::Next::end;
  return api::Next::on_news(std::chrono::steady_clock::now() + tick);
}

}  // namespace berth::embedded
