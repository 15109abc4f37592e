#include "reconcilers/embedded/controllers/event_recorder.h"

#include "controller/base/text.h"

namespace berth::embedded {
namespace {

size_t same_as(const std::string& uid, const std::string& component, const Happening& happening) {
  return std::hash<std::string>()(uid + '\n' + component + '\n' + happening.reason + '\n' +
                                  happening.container + '\n' + happening.message);
}

size_t same_as(const Json& object, const std::string& component, const Happening& happening) {
  return same_as(uid_of(object), component, happening);
}

// What same_as() returned when the event was recorded.
size_t same_as(const Json& event) {
  const std::string path = text_at(event["involvedObject"], "fieldPath");
  const size_t brace = path.find('{');
  Happening happening{.type = EventType::normal,
                      .reason = text_at(event, "reason"),
                      .message = text_at(event, "message"),
                      .container = {}};
  if (brace != std::string::npos)
    happening.container = path.substr(brace + 1, path.size() - brace - 2);
  const std::string component = text_at(event, "reportingComponent");
  return same_as(text_at(event["involvedObject"], "uid"), component, happening);
}

std::string hex_suffix(std::mt19937_64& random) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 16; ++i) text += digits[random() % 16];
  return text;
}

}  // namespace

Json EventRecorder::skeleton(const Json& object, const Happening& happening) {
  const std::string name_space = namespace_of(object);
  Json about{{"apiVersion", text_at(object, "apiVersion")},
             {"kind", text_at(object, "kind")},
             {"name", name_of(object)},
             {"uid", uid_of(object)},
             {"resourceVersion", text_at(object["metadata"], "resourceVersion")}};
  if (!name_space.empty()) about["namespace"] = name_space;
  if (!happening.container.empty())
    about["fieldPath"] = "spec.containers{" + happening.container + "}";
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata",
           {{"name", name_of(object) + "." + hex_suffix(registry_.random())},
            {"namespace", name_space.empty() ? "default" : name_space},
            {"uid", registry_.uuid()},
            {"creationTimestamp", timestamp()}}},
          {"involvedObject", std::move(about)},
          {"reason", happening.reason},
          {"message", happening.message},
          {"type", happening.type == EventType::normal ? "Normal" : "Warning"}};
}

void EventRecorder::store(Json event, size_t same) {
  const std::string name_space = namespace_of(event);
  const ObjectPtr home = store_.find({Kind::namespaces, "", name_space});
  if (!home || !at_path(*home, "/metadata/deletionTimestamp").is_null()) return;
  const Key key{Kind::events, name_space, name_of(event)};
  oldest_.push_back({same, key, text_at(event["involvedObject"], "uid")});
  known_[same] = key;
  store_.put(key, std::move(event));
  forget_some();
}

// Looks at more events than there are new ones, so that their number falls as long as it is too
// high.
void EventRecorder::forget_some() {
  for (int looks = 0; looks < 2 && oldest_.size() > most_about_deleted; ++looks) {
    const Recorded one = std::move(oldest_.front());
    oldest_.pop_front();
    if (oldest_.size() < most_events && store_.has_uid(one.about)) {
      oldest_.push_back(one);
      continue;
    }
    if (const auto found = known_.find(one.same); found != known_.end() && found->second == one.key)
      known_.erase(found);
    if (store_.contains(one.key)) store_.erase(one.key);
  }
}

void EventRecorder::adopt() {
  std::map<std::uint64_t, Recorded> in_order;  // by version
  for (const auto& [key, stored] : store_.list_stored(Kind::events, "")) {
    const ObjectPtr event = store_.find(key);
    const size_t same = same_as(*event);
    known_[same] = key;
    const auto version =
        parse_number<std::uint64_t>(text_at((*event)["metadata"], "resourceVersion")).value_or(0);
    in_order.insert({version, {same, key, text_at((*event)["involvedObject"], "uid")}});
  }
  for (auto& [version, one] : in_order) oldest_.push_back(std::move(one));
}

void EventRecorder::record(const Json& object, const std::string& component,
                           const Happening& happening) {
  const size_t same = same_as(object, component, happening);
  if (const auto known = known_.find(same); known != known_.end())
    if (const ObjectPtr before = store_.find(known->second)) {
      Json again = *before;
      again["count"] = number_at(again, "/count", 1) + 1;
      again["lastTimestamp"] = timestamp();
      store_.put(known->second, std::move(again));
      return;
    }
  Json event = skeleton(object, happening);
  const std::string now = timestamp();
  event["source"] = {{"component", component}};
  if (component == "kubelet") event["source"]["host"] = node_;
  event["firstTimestamp"] = now;
  event["lastTimestamp"] = now;
  event["count"] = 1;
  event["eventTime"] = nullptr;
  event["reportingComponent"] = component;
  event["reportingInstance"] = component == "kubelet" ? node_ : "";
  store(std::move(event), same);
}

void EventRecorder::record_scheduling(const Json& pod, const std::string& action,
                                      const Happening& happening) {
  Json event = skeleton(pod, happening);
  event["source"] = Json::object();
  event["firstTimestamp"] = nullptr;
  event["lastTimestamp"] = nullptr;
  event["eventTime"] = micro_timestamp();
  event["action"] = action;
  event["reportingComponent"] = "default-scheduler";
  event["reportingInstance"] = "default-scheduler-" + node_;
  store(std::move(event), same_as(pod, "default-scheduler", happening));
}

}  // namespace berth::embedded
