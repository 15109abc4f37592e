#include <algorithm>

#include "controller/base/clock.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/discovery.h"
#include "reconcilers/embedded/apiserver/http_text.h"
#include "reconcilers/embedded/apiserver/log_stream.h"
#include "reconcilers/embedded/apiserver/rest.h"

// The logs and metrics of pods.
namespace berth::embedded {

void Rest::metrics(Call& call) {
  const auto parts = segments(call.target.raw.substr(std::string(metrics_prefix).size()));
  const bool of_namespace = parts.size() >= 3 && parts[0] == "namespaces" && parts[2] == "pods";
  if (!of_namespace && !(parts.size() == 1 && parts[0] == "pods")) throw no_such_resource();
  const Type& type = type_of(Kind::pods);
  const Selector selector(type, parameter(call.request, "labelSelector"), "");
  Items found_pods;
  {
    const Lock lock(store_.mutex());
    found_pods = store_.list_stored(Kind::pods, of_namespace ? parts[1] : "");
  }
  std::vector<Json> pods;
  for (const auto& [key, pod] : found_pods)
    if ((parts.size() != 4 || key.name == parts[3]) && selector.matches(*pod))
      pods.push_back(tree_of(type, *pod));
  const Json found = pod_metrics(pods, [this](const Json& pod, const Json& container) {
    const Lock lock(store_.mutex());
    return kubelet_.usage(pod, container);
  });
  if (parts.size() != 4) return answer(call.response, 200, found.dump());
  if (found["items"].empty()) {
    Type metrics_type = type;
    metrics_type.group = "metrics.k8s.io";
    metrics_type.plural = "podmetrics";
    throw not_found(metrics_type, parts[1] + "/" + parts[3]);
  }
  Json one = found["items"][0];
  one["kind"] = "PodMetrics";
  one["apiVersion"] = "metrics.k8s.io/v1beta1";
  answer(call.response, 200, one.dump());
}

namespace {

// Parses RFC 3339 in UTC or with an offset, and drops fractions of a second: the API server passes
// on no more than whole seconds to the kubelet.
std::optional<std::int64_t> whole_seconds(const std::string& text) {
  const auto at =
      parse_iso8601(text.size() > 24 && text.find('.') != std::string::npos && text.ends_with('Z')
                        ? text.substr(0, text.find('.')) + "Z"
                        : text);
  if (!at) return std::nullopt;
  return std::chrono::floor<std::chrono::seconds>(*at).time_since_epoch().count() * 1'000'000'000;
}

LogRequest log_request(const api::Request& request) {
  LogRequest wanted{.container = parameter(request, "container"),
                    .previous = flag(request, "previous"),
                    .follow = flag(request, "follow"),
                    .timestamps = flag(request, "timestamps"),
                    .since = {},
                    .tail_lines = parse_number<std::uint64_t>(parameter(request, "tailLines")),
                    .limit_bytes = parse_number<std::uint64_t>(parameter(request, "limitBytes"))};
  const auto seconds = parse_number<std::uint64_t>(parameter(request, "sinceSeconds"));
  const std::string time = parameter(request, "sinceTime");
  if (seconds && !time.empty())
    throw bad_request("at most one of `sinceTime` or `sinceSeconds` may be specified");
  if (seconds)
    wanted.since = nanoseconds_now() - static_cast<std::int64_t>(*seconds) * 1'000'000'000;
  if (!time.empty()) {
    wanted.since = whole_seconds(time);
    if (!wanted.since) throw bad_request("parsing time \"" + time + "\" failed");
  }
  return wanted;
}

}  // namespace

void Rest::logs(Call& call) {
  const LogRequest wanted = log_request(call.request);
  if (const std::string words = faults_.log_words(); !words.empty())
    return answer(call.response, 200, "text/plain", words);
  std::shared_ptr<LogStream> stream;
  {
    const Lock lock(store_.mutex());
    const ObjectPtr pod =
        registry_.get(*call.target.type, call.target.name_space, call.target.name);
    // A pod without a node has no log.
    if (text_at((*pod)["spec"], "nodeName").empty()) {
      call.response.status = 204;
      return;
    }
    stream = std::make_shared<LogStream>(
        store_, kubelet_, Key{Kind::pods, call.target.name_space, call.target.name}, wanted);
  }
  if (!stream->unreadable().empty())
    return answer(call.response, 200, "text/plain", stream->unreadable());
  call.response.content_type = "text/plain";
  call.response.stream = [stream](const api::Sink& sink) { return stream->write(sink); };
}

}  // namespace berth::embedded
