#include "reconcilers/embedded/apiserver/watch_stream.h"

#include <algorithm>

#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

std::string line(const char* type, const std::string& object) {
  return std::string("{\"type\":\"") + type + "\",\"object\":" + object + "}\n";
}

}  // namespace

WatchStream::WatchStream(Store& store, const Type& type, Selector selector,
                         const WatchRequest& request)
    : store_(store),
      type_(type),
      selector_(std::move(selector)),
      request_(request),
      wakes_(store, type.id, waker_) {
  const auto now = std::chrono::steady_clock::now();
  ends_ = now + request.lasts;
  next_bookmark_ = now + std::min(first_bookmark, request.bookmark_interval);
  const auto version = request.version.empty() ? std::optional<std::uint64_t>(0)
                                               : parse_number<std::uint64_t>(request.version);
  if (!version)
    throw internal_error("resourceVersion: Invalid value: \"" + request.version +
                         "\": strconv.ParseUint: parsing \"" + request.version +
                         "\": invalid syntax");
  const Lock lock(store_.mutex());
  initial_pending_ = *version == 0 || request.initial_events;
  if (initial_pending_)
    for (auto& [key, object] : store_.list_stored(type_.id, request.name_space))
      initial_.push_back(std::move(object));
  watch_ = store_.watch(type_.id, initial_pending_ ? store_.version() : *version);
}

void WatchStream::write_initial(std::string& out) {
  for (const StoredPtr& object : initial_)
    if (selector_.matches(*object)) out += line("ADDED", text_of(type_, *object));
  initial_.clear();
  initial_pending_ = false;
  if (request_.initial_events && request_.bookmarks) write_bookmark(out, true);
}

// An object that starts to match the selector is ADDED for the client, and one that stops matching
// is DELETED.
void WatchStream::write_change(const Change& change, std::string& out) const {
  if (!request_.name_space.empty() && change.name_space != request_.name_space) return;
  const bool before = change.previous && selector_.matches(*change.previous);
  const bool after = change.type != ChangeType::deleted && selector_.matches(*change.object);
  if (after) {
    out += line(before ? "MODIFIED" : "ADDED", text_of(type_, *change.object));
  } else if (before && change.type == ChangeType::deleted) {
    out += line("DELETED", text_of(type_, *change.object));
  } else if (before) {
    Json last = tree_of(type_, *change.previous);
    last["metadata"]["resourceVersion"] = std::to_string(change.version);
    out += line("DELETED", text_of(last));
  }
}

void WatchStream::write_bookmark(std::string& out, bool end_of_initial) const {
  Json object{{"kind", type_.kind},
              {"apiVersion", api_version(type_)},
              {"metadata", {{"resourceVersion", std::to_string(watch_.position)}}}};
  if (end_of_initial) object["metadata"]["annotations"]["k8s.io/initial-events-end"] = "true";
  out += line("BOOKMARK", object.dump());
}

api::Next WatchStream::write(const api::Sink& sink) {
  std::string out;
  if (initial_pending_) {
    write_initial(out);
    sink(out);
    return api::Next::more;
  }
  std::vector<Change> changes;
  const WatchState state = store_.next(watch_, changes_at_once, changes);
  if (state == WatchState::dropped || state == WatchState::stopped) return api::Next::break_off;
  for (const Change& change : changes) write_change(change, out);
  if (state == WatchState::expired) {
    std::uint64_t oldest = 0;
    {
      const Lock lock(store_.mutex());
      oldest = store_.compacted(type_.id);
    }
    const std::string why = "too old resource version: " + std::to_string(watch_.position) + " (" +
                            std::to_string(oldest) + ")";
    out += line("ERROR", expired(why).status.dump());
  }
  const auto later = std::chrono::steady_clock::now();
  if (state == WatchState::open && request_.bookmarks && later >= next_bookmark_) {
    write_bookmark(out, false);
    next_bookmark_ = later + request_.bookmark_interval;
  }
  sink(out);
  if (state == WatchState::expired || later >= ends_) return api::Next::end;
  if (changes.size() == changes_at_once) return api::Next::more;
  return api::Next::on_news(request_.bookmarks ? std::min(ends_, next_bookmark_) : ends_);
}

}  // namespace berth::embedded
