#include <algorithm>

#include "reconcilers/simulated/discovery.h"
#include "reconcilers/simulated/http_text.h"
#include "reconcilers/simulated/rest.h"

// What pods tell: their logs and their metrics.
namespace berth::simulated {

void Rest::metrics(Call& call) {
  const auto parts = segments(call.target.raw.substr(std::string(metrics_prefix).size()));
  const bool of_namespace = parts.size() >= 3 && parts[0] == "namespaces" && parts[2] == "pods";
  if (!of_namespace && !(parts.size() == 1 && parts[0] == "pods")) throw no_such_resource();
  const Type& type = type_of(Kind::pods);
  const Selector selector(type, call.request.get_param_value("labelSelector"), "");
  std::vector<ObjectPtr> pods;
  {
    const Lock lock(store_.mutex());
    pods = store_.list(Kind::pods, of_namespace ? parts[1] : "");
  }
  std::erase_if(pods, [&](const ObjectPtr& pod) {
    return !selector.matches(*pod) || (parts.size() == 4 && name_of(*pod) != parts[3]);
  });
  const Json found = pod_metrics(pods);
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

void Rest::logs(Call& call) {
  std::string text;
  {
    const Lock lock(store_.mutex());
    const ObjectPtr pod =
        registry_.get(*call.target.type, call.target.name_space, call.target.name);
    // Nobody has a log of a pod without a node.
    if (text_at((*pod)["spec"], "nodeName").empty()) {
      call.response.status = 204;
      return;
    }
    text = kubelet_.log(*pod, call.request.get_param_value("container"),
                        flag(call.request, "previous"));
  }
  if (const auto lines = parse_number(call.request.get_param_value("tailLines"))) {
    auto left = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    size_t begin = 0;
    for (; left > *lines; --left) begin = text.find('\n', begin) + 1;
    text.erase(0, begin);
  }
  if (const auto bytes = parse_number(call.request.get_param_value("limitBytes")))
    text.resize(std::min<size_t>(text.size(), *bytes));
  call.response.set_content(text, "text/plain");
}

}  // namespace berth::simulated
