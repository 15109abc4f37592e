#include "reconcilers/simulated/rest.h"

#include <algorithm>

#include "controller/base/log.h"
#include "reconcilers/simulated/discovery.h"
#include "reconcilers/simulated/request_body.h"
#include "reconcilers/simulated/watch_stream.h"

namespace berth::simulated {
namespace {

constexpr const char* json_type = "application/json";
constexpr const char* metrics_prefix = "/apis/metrics.k8s.io/v1beta1/";

std::vector<std::string> segments(const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void answer(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text, json_type);
}

bool flag(const httplib::Request& request, const char* name) {
  const std::string value = request.get_param_value(name);
  return value == "true" || value == "1";
}

// Items of a list of a built-in type don't say what they are: the list does.
std::string item_text(const Json& object, Origin origin) {
  if (origin == Origin::custom) return object.dump();
  std::string text = "{";
  for (const auto& [key, value] : object.items()) {
    if (key == "apiVersion" || key == "kind") continue;
    text += (text.size() > 1 ? ",\"" : "\"") + key + "\":" + value.dump();
  }
  return text + "}";
}

const char* reason_of(int status) {
  switch (status) {
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "NotFound";
    case 409: return "Conflict";
    case 410: return "Expired";
    case 422: return "Invalid";
    case 429: return "TooManyRequests";
    case 500: return "InternalError";
    case 503: return "ServiceUnavailable";
    case 504: return "Timeout";
    default: return "";
  }
}

// The oldest state that a list may show.
std::uint64_t least_version(const std::string& text) {
  const auto version = text.empty() ? std::optional<std::uint64_t>(0) : parse_number(text);
  if (!version)
    throw bad_request("invalid resource version: resourceVersion: Invalid value: \"" + text +
                      "\": strconv.ParseUint: parsing \"" + text + "\": invalid syntax");
  return *version;
}

Refusal too_large_version(std::uint64_t wanted, std::uint64_t current) {
  const Json cause{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}};
  return Refusal(status_failure(504, "Timeout",
                                "Timeout: Too large resource version: " + std::to_string(wanted) +
                                    ", current: " + std::to_string(current),
                                {{"causes", {cause}}, {"retryAfterSeconds", 1}}));
}

// A program that serves pods' metrics beside the API server: its lists are GETs of their own path.
bool is_metrics(const std::string& path) { return path.starts_with(metrics_prefix); }

}  // namespace

Rest::Target Rest::target_of(const std::string& path) {
  Target target;
  target.raw = path;
  const auto parts = segments(path);
  const bool core = parts.size() > 2 && parts[0] == "api";
  const bool grouped = parts.size() > 3 && parts[0] == "apis";
  if ((!core && !grouped) || is_metrics(path)) return target;
  const std::string group = core ? "" : parts[1];
  const std::string version = parts[core ? 1 : 2];
  size_t at = core ? 2 : 3;
  if (parts[at] == "namespaces" && parts.size() > at + 2 && parts[at + 2] != "status" && parts[at + 2] != "finalize") {
    target.name_space = parts[at + 1];
    at += 2;
  }
  target.type = find_type(group, version, parts[at]);
  if (parts.size() > at + 1) target.name = parts[at + 1];
  if (parts.size() > at + 2) target.subresource = parts[at + 2];
  const bool misplaced = target.type && !target.name_space.empty() && !target.type->namespaced();
  const bool nowhere = target.type && !target.name.empty() && target.name_space.empty() && target.type->namespaced();
  if (misplaced || nowhere || parts.size() > at + 3) target.type = nullptr;
  return target;
}

std::string Rest::verb_of(const httplib::Request& request, const Target& target) {
  if (!target.type) return "raw";
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH")
    return request.get_header_value("Content-Type").starts_with("application/apply-patch") ? "apply" : "patch";
  if (request.method == "DELETE") return target.name.empty() ? "deletecollection" : "delete";
  if (target.subresource == "log") return "logs";
  if (!target.name.empty()) return "get";
  return flag(request, "watch") ? "watch" : "list";
}

void Rest::handle(const httplib::Request& request, const std::string& body, httplib::Response& response) {
  Call call{request, body, response, target_of(request.path), ""};
  call.verb = verb_of(request, call.target);
  faults_.delay();
  response.status = 200;
  try {
    if (!meets_fault(call)) dispatch(call);
  } catch (const Refusal& refusal) {
    answer(response, refusal.code(), refusal.status.dump());
  } catch (const Json::exception& failure) {
    // A field of another type than the kind has.
    const std::string why = std::string("json: cannot unmarshal: ") + failure.what();
    answer(response, 400, (call.target.type ? undecodable(*call.target.type, why) : bad_request(why)).status.dump());
  } catch (const std::exception& failure) {
    log::error("the simulated API server failed", {{"path", request.path}, {"error", failure.what()}});
    answer(response, 500, status_failure(500, "InternalError", failure.what()).dump());
  }
  record(call);
}

void Rest::record(const Call& call) {
  Recorded recorded{call.verb,
                    call.target.type ? std::string(call.target.type->plural) : call.target.raw,
                    call.target.name_space,
                    call.target.name,
                    call.target.subresource,
                    "",
                    call.response.status};
  if (recorded.writes()) recorded.manager = write_options(call.request, "").writer.manager;
  faults_.record(std::move(recorded));
}

bool Rest::meets_fault(Call& call) {
  const auto fault = faults_.next(call.verb, call.target.type ? std::string(call.target.type->plural) : "");
  if (!fault) return false;
  if (fault->retry_after) call.response.set_header("Retry-After", std::to_string(*fault->retry_after));
  answer(call.response, fault->status,
         status_failure(fault->status, reason_of(fault->status), "a fault that the simulated cluster was told to have").dump());
  return true;
}

void Rest::dispatch(Call& call) {
  if (!call.target.type) return raw(call);
  const std::string& part = call.target.subresource;
  const bool log = part == "log" && call.target.type->id == Kind::pods;
  if (!part.empty() && part != "status" && !log) throw no_such_resource();
  if (part == "status" && call.target.type->status == HasStatus::no) throw no_such_resource();
  if (call.verb == "logs") return logs(call);
  if (call.verb == "get") return get(call);
  if (call.verb == "list") return list(call);
  if (call.verb == "watch") return watch(call);
  if (log || (part == "status" && (call.verb == "create" || call.verb == "delete"))) throw method_not_allowed();
  if (call.verb == "create") return create(call);
  if (call.verb == "update") return update(call);
  if (call.verb == "delete") return remove(call);
  if (call.verb == "deletecollection") return remove_collection(call);
  patch(call);
}

void Rest::raw(Call& call) {
  const std::string& path = call.target.raw;
  if (call.request.method != "GET") throw no_such_resource();
  if (path == "/readyz" || path == "/livez" || path == "/healthz") {
    call.response.set_content("ok", "text/plain; charset=utf-8");
    return;
  }
  if (is_metrics(path)) return metrics(call);
  if (const auto document = discovery(path)) return answer(call.response, 200, document->dump());
  const auto parts = segments(path);
  const bool known_group = parts.size() > 2 && (parts[0] == "api" || discovery("/apis/" + parts[1]).has_value());
  if (known_group) throw no_such_resource();
  call.response.status = 404;
  call.response.set_content("404 page not found\n", "text/plain; charset=utf-8");
}

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

void Rest::get(Call& call) {
  ObjectPtr found;
  {
    const Lock lock(store_.mutex());
    found = registry_.get(*call.target.type, call.target.name_space, call.target.name);
  }
  answer(call.response, 200, found->dump());
}

std::vector<ObjectPtr> Rest::continued(const std::string& token, std::uint64_t& version) {
  const auto page = std::find_if(pages_.begin(), pages_.end(), [&](const Page& one) { return one.token == token; });
  const bool well_formed = token.size() == token_length;
  if (page == pages_.end() && !well_formed)
    throw bad_request("invalid continue token: continue key is not valid: " + token);
  if (page == pages_.end())
    throw expired("The provided continue parameter is too old to display a consistent list result. You can start a new "
                  "list without the continue parameter, or use the continue token in this response to retrieve the "
                  "remainder of the results. Continuing with the provided token results in an inconsistent list - "
                  "objects that were created, modified, or deleted between the time the first chunk was returned and "
                  "now may show up in the list.");
  version = page->version;
  return page->rest;
}

std::string Rest::keep_page(std::uint64_t version, std::vector<ObjectPtr> rest) {
  pages_.push_back({registry_.name_suffix(token_length), version, std::move(rest)});
  if (pages_.size() > most_pages) pages_.pop_front();
  return pages_.back().token;
}

void Rest::list(Call& call) {
  const Type& type = *call.target.type;
  const Selector selector(type, call.request.get_param_value("labelSelector"),
                          call.request.get_param_value("fieldSelector"));
  const size_t limit = parse_number(call.request.get_param_value("limit")).value_or(0);
  const std::string token = call.request.get_param_value("continue");
  const std::uint64_t least = least_version(call.request.get_param_value("resourceVersion"));
  std::vector<ObjectPtr> items;
  std::uint64_t version = 0;
  std::string next;
  size_t left = 0;
  {
    const Lock lock(store_.mutex());
    version = store_.version();
    if (least > version) throw too_large_version(least, version);
    items = token.empty() ? store_.list(type.id, call.target.name_space) : continued(token, version);
    if (token.empty()) std::erase_if(items, [&](const ObjectPtr& one) { return !selector.matches(*one); });
    if (limit > 0 && items.size() > limit) {
      std::vector<ObjectPtr> rest(items.begin() + static_cast<std::ptrdiff_t>(limit), items.end());
      items.resize(limit);
      left = rest.size();
      next = keep_page(version, std::move(rest));
    }
  }
  answer_list(call, items, version, next, selector.empty() && left > 0 ? std::optional(left) : std::nullopt);
}

void Rest::answer_list(Call& call, const std::vector<ObjectPtr>& items, std::uint64_t version, const std::string& token,
                       std::optional<size_t> remaining) {
  const Type& type = *call.target.type;
  Json metadata{{"resourceVersion", std::to_string(version)}};
  if (type.origin == Origin::custom) metadata["continue"] = "";
  if (!token.empty()) metadata["continue"] = token;
  if (remaining) metadata["remainingItemCount"] = *remaining;
  std::string text = "{\"kind\":\"" + std::string(type.kind) + "List\",\"apiVersion\":\"" + api_version(type) +
                     "\",\"metadata\":" + metadata.dump() + ",\"items\":[";
  for (size_t i = 0; i < items.size(); ++i) text += (i > 0 ? "," : "") + item_text(*items[i], type.origin);
  answer(call.response, 200, text + "]}");
}

void Rest::watch(Call& call) {
  const Type& type = *call.target.type;
  const auto& request = call.request;
  Selector selector(type, request.get_param_value("labelSelector"), request.get_param_value("fieldSelector"));
  // The API server picks something between 30 and 60 minutes itself.
  const auto seconds = parse_number(request.get_param_value("timeoutSeconds")).value_or(1800);
  const WatchRequest wanted{call.target.name_space,
                            request.get_param_value("resourceVersion"),
                            flag(request, "allowWatchBookmarks"),
                            flag(request, "sendInitialEvents"),
                            std::chrono::seconds(std::min<std::uint64_t>(seconds, 86'400)),
                            bookmark_interval_};
  const auto stream = std::make_shared<WatchStream>(store_, type, std::move(selector), wanted);
  call.response.set_chunked_content_provider(
      json_type, [stream](size_t, httplib::DataSink& sink) { return stream->write(sink); });
}

void Rest::create(Call& call) {
  if (!call.target.name.empty()) throw method_not_allowed();
  Json object = parse_object(std::string(call.target.type->kind), call.body);
  const Request options = write_options(call.request, call.target.subresource);
  ObjectPtr made;
  {
    const Lock lock(store_.mutex());
    made = registry_.create(*call.target.type, call.target.name_space, std::move(object), options);
  }
  answer(call.response, 201, made->dump());
}

void Rest::update(Call& call) {
  if (call.target.name.empty()) throw method_not_allowed();
  Json object = parse_object(std::string(call.target.type->kind), call.body);
  const Request options = write_options(call.request, call.target.subresource);
  Applied stored;
  {
    const Lock lock(store_.mutex());
    stored = registry_.put(*call.target.type, call.target.name_space, call.target.name, std::move(object), options);
  }
  answer(call.response, stored.created ? 201 : 200, stored.object->dump());
}

void Rest::patch(Call& call) {
  if (call.target.name.empty()) throw method_not_allowed();
  const Type& type = *call.target.type;
  const std::string content = call.request.get_header_value("Content-Type");
  const std::string kind = content.substr(0, content.find(';'));
  const Request options = write_options(call.request, call.target.subresource);
  if (call.verb == "apply") {
    if (!call.request.has_param("fieldManager"))
      throw invalid_options("PatchOptions", required("fieldManager", "is required for apply patch"));
    const Json config = parse_yaml_object(std::string(type.kind), call.body);
    const Force force = flag(call.request, "force") ? Force::yes : Force::no;
    const Lock lock(store_.mutex());
    const Applied applied = registry_.apply(type, call.target.name_space, call.target.name, config, options, force);
    return answer(call.response, applied.created ? 201 : 200, applied.object->dump());
  }
  const bool custom_strategic = kind == "application/strategic-merge-patch+json" && type.origin == Origin::custom;
  PatchType how = PatchType::merge;
  if (kind == "application/strategic-merge-patch+json" && !custom_strategic) {
    how = PatchType::strategic;
  } else if (kind == "application/json-patch+json") {
    how = PatchType::json;
  } else if (kind != "application/merge-patch+json" || custom_strategic) {
    throw unsupported_media_type();
  }
  const Json body = how == PatchType::json ? Json::parse(call.body, nullptr, false)
                                               : parse_object(std::string(type.kind), call.body);
  const Lock lock(store_.mutex());
  const ObjectPtr stored = registry_.patch(how, type, call.target.name_space, call.target.name, body, options);
  answer(call.response, 200, stored->dump());
}

void Rest::remove(Call& call) {
  const DeleteOptions options = delete_options(call.request, call.body);
  Json result;
  {
    const Lock lock(store_.mutex());
    result = registry_.remove(*call.target.type, call.target.name_space, call.target.name, options);
  }
  answer(call.response, 200, result.dump());
}

void Rest::remove_collection(Call& call) {
  const Type& type = *call.target.type;
  if (type.id == Kind::namespaces || (type.namespaced() && call.target.name_space.empty())) throw method_not_allowed();
  const Selector selector(type, call.request.get_param_value("labelSelector"),
                          call.request.get_param_value("fieldSelector"));
  const DeleteOptions options = delete_options(call.request, call.body);
  std::vector<ObjectPtr> items;
  std::uint64_t version = 0;
  {
    const Lock lock(store_.mutex());
    items = store_.list(type.id, call.target.name_space);
    std::erase_if(items, [&](const ObjectPtr& one) { return !selector.matches(*one); });
    for (const ObjectPtr& one : items) registry_.remove(type, call.target.name_space, name_of(*one), options);
    version = store_.version();
  }
  answer_list(call, items, version, "", std::nullopt);
}

void Rest::logs(Call& call) {
  std::string text;
  {
    const Lock lock(store_.mutex());
    const ObjectPtr pod = registry_.get(*call.target.type, call.target.name_space, call.target.name);
    // Nobody has a log of a pod without a node.
    if (text_at((*pod)["spec"], "nodeName").empty()) {
      call.response.status = 204;
      return;
    }
    text = kubelet_.log(*pod, call.request.get_param_value("container"), flag(call.request, "previous"));
  }
  if (const auto lines = parse_number(call.request.get_param_value("tailLines"))) {
    auto left = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    size_t begin = 0;
    for (; left > *lines; --left) begin = text.find('\n', begin) + 1;
    text.erase(0, begin);
  }
  if (const auto bytes = parse_number(call.request.get_param_value("limitBytes"))) text.resize(std::min<size_t>(text.size(), *bytes));
  call.response.set_content(text, "text/plain");
}

}  // namespace berth::simulated
