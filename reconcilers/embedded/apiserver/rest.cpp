#include "reconcilers/embedded/apiserver/rest.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/apiserver/discovery.h"
#include "reconcilers/embedded/apiserver/http_text.h"
#include "reconcilers/embedded/apiserver/object_life.h"
#include "reconcilers/embedded/apiserver/request_body.h"
#include "reconcilers/embedded/apiserver/watch_stream.h"

namespace berth::embedded {
namespace {

constexpr const char* token_reviews_path = "/apis/authentication.k8s.io/v1/tokenreviews";

const char* reason_of(int status) {
  switch (status) {
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 500:
      return "InternalError";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "";
  }
}

}  // namespace

Rest::Target Rest::target_of(const std::string& path) {
  Target target;
  target.raw = path;
  const auto parts = segments(path);
  const bool core = parts.size() > 2 && parts[0] == "api";
  const bool grouped = parts.size() > 3 && parts[0] == "apis";
  if ((!core && !grouped) || path.starts_with(metrics_prefix)) return target;
  const std::string group = core ? "" : parts[1];
  const std::string& version = parts[core ? 1 : 2];
  size_t at = core ? 2 : 3;
  if (parts[at] == "namespaces" && parts.size() > at + 2 && parts[at + 2] != "status" &&
      parts[at + 2] != "finalize") {
    target.name_space = parts[at + 1];
    at += 2;
  }
  target.type = find_type(group, version, parts[at]);
  if (parts.size() > at + 1) target.name = parts[at + 1];
  if (parts.size() > at + 2) target.subresource = parts[at + 2];
  const bool misplaced = target.type && !target.name_space.empty() && !target.type->namespaced();
  const bool nowhere =
      target.type && !target.name.empty() && target.name_space.empty() && target.type->namespaced();
  if (misplaced || nowhere || parts.size() > at + 3) target.type = nullptr;
  return target;
}

std::string Rest::verb_of(const api::Request& request, const Target& target) {
  if (!target.type) return "raw";
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH")
    return request.headers.get("Content-Type").starts_with("application/apply-patch") ? "apply"
                                                                                      : "patch";
  if (request.method == "DELETE") return target.name.empty() ? "deletecollection" : "delete";
  if (target.subresource == "log") return "logs";
  if (!target.name.empty()) return "get";
  return flag(request, "watch") ? "watch" : "list";
}

bool Rest::is_authentic(const api::Request& request) const {
  return token_.empty() ||
         equal_in_constant_time(request.headers.get("Authorization"), "Bearer " + token_);
}

void Rest::handle(const api::Request& request, api::Response& response) {
  if (!is_authentic(request)) {
    constexpr int unauthorized = 401;
    return answer(response, unauthorized,
                  status_failure(unauthorized, "Unauthorized", "Unauthorized").dump());
  }
  const std::string path(request.path);
  Call call{request, response, target_of(percent_decode(path, Plus::is_plus).value_or(path)), ""};
  call.verb = verb_of(request, call.target);
  faults_.delay();
  response.status = 200;
  try {
    if (!meets_fault(call)) dispatch(call);
  } catch (const Refusal& refusal) {
    answer(response, refusal.code(), refusal.status.dump());
  } catch (const Json::exception& failure) {
    // A field doesn't have the type that the kind gives it.
    const std::string why = std::string("json: cannot unmarshal: ") + failure.what();
    answer(
        response, 400,
        (call.target.type ? undecodable(*call.target.type, why) : bad_request(why)).status.dump());
  } catch (const std::exception& failure) {
    log::error("the embedded API server failed",
               {{"path", request.path}, {"error", failure.what()}});
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
  const auto fault =
      faults_.next(call.verb, call.target.type ? std::string(call.target.type->plural) : "");
  if (!fault) return false;
  if (fault->retry_after)
    call.response.add_header("Retry-After", std::to_string(*fault->retry_after));
  answer(call.response, fault->status,
         status_failure(fault->status, reason_of(fault->status),
                        "a fault that the simulated cluster was told to have")
             .dump());
  return true;
}

void Rest::dispatch(Call& call) {
  if (!call.target.type) return raw(call);
  const std::string& part = call.target.subresource;
  const bool log = part == "log" && call.target.type->id == Kind::pods;
  const bool resize = part == "resize" && call.target.type->id == Kind::pods;
  if (!part.empty() && part != "status" && !log && !resize) throw no_such_resource();
  if (part == "status" && call.target.type->status == HasStatus::no) throw no_such_resource();
  if (call.verb == "logs") return logs(call);
  if (call.verb == "get") return get(call);
  if (call.verb == "list") return list(call);
  if (call.verb == "watch") return watch(call);
  if (resize && call.verb != "patch") throw method_not_allowed();
  if (log || (part == "status" && (call.verb == "create" || call.verb == "delete")))
    throw method_not_allowed();
  if (call.verb == "create") return create(call);
  if (call.verb == "update") return update(call);
  if (call.verb == "delete") return remove(call);
  if (call.verb == "deletecollection") return remove_collection(call);
  patch(call);
}

// A TokenReview is asked and never stored.
void Rest::review_token(Call& call) {
  Json review = parse_object("TokenReview", call.request.body);
  {
    const Lock lock(store_.mutex());
    review = tokens_.review(std::move(review), store_, system_time());
  }
  answer(call.response, 201, review.dump());
}

void Rest::raw(Call& call) {
  const std::string& path = call.target.raw;
  if (path == token_reviews_path && call.request.method == "POST") return review_token(call);
  if (call.request.method != "GET") throw no_such_resource();
  if (path == "/readyz" || path == "/livez" || path == "/healthz") {
    return answer(call.response, 200, "text/plain; charset=utf-8", "ok");
  }
  if (path.starts_with(metrics_prefix)) return metrics(call);
  if (const auto document = discovery(path)) return answer(call.response, 200, document->dump());
  const auto parts = segments(path);
  const bool known_group =
      parts.size() > 2 && (parts[0] == "api" || discovery("/apis/" + parts[1]).has_value());
  if (known_group) throw no_such_resource();
  answer(call.response, 404, "text/plain; charset=utf-8", "404 page not found\n");
}

void Rest::get(Call& call) {
  const Type& type = *call.target.type;
  StoredPtr found;
  {
    const Lock lock(store_.mutex());
    found = store_.find_stored(key_of(type, call.target.name_space, call.target.name));
  }
  if (!found) throw not_found(type, call.target.name);
  answer(call.response, 200, text_of(type, *found));
}

void Rest::watch(Call& call) {
  const Type& type = *call.target.type;
  const auto& request = call.request;
  Selector selector(type, parameter(request, "labelSelector"), parameter(request, "fieldSelector"));
  // The API server picks something between 30 and 60 minutes itself.
  const auto seconds =
      parse_number<std::uint64_t>(parameter(request, "timeoutSeconds")).value_or(1800);
  const WatchRequest wanted{call.target.name_space,
                            parameter(request, "resourceVersion"),
                            flag(request, "allowWatchBookmarks"),
                            flag(request, "sendInitialEvents"),
                            std::chrono::seconds(std::min<std::uint64_t>(seconds, 86'400)),
                            bookmark_interval_};
  const auto stream = std::make_shared<WatchStream>(store_, type, std::move(selector), wanted);
  call.response.content_type = "application/json";
  call.response.stream =
      api::Stream([stream](const api::Sink& sink) { return stream->write(sink); }, stream->waker());
}

void Rest::create(Call& call) {
  if (!call.target.name.empty()) throw method_not_allowed();
  Json object = parse_object(std::string(call.target.type->kind), call.request.body);
  const Request options = write_options(call.request, call.target.subresource);
  ObjectPtr made;
  {
    const Lock lock(store_.mutex());
    made = registry_.create(*call.target.type, call.target.name_space, std::move(object), options);
  }
  answer(call.response, 201, text_of(*made));
}

void Rest::update(Call& call) {
  if (call.target.name.empty()) throw method_not_allowed();
  Json object = parse_object(std::string(call.target.type->kind), call.request.body);
  const Request options = write_options(call.request, call.target.subresource);
  Applied stored;
  {
    const Lock lock(store_.mutex());
    stored = registry_.put(*call.target.type, call.target.name_space, call.target.name,
                           std::move(object), options);
  }
  answer(call.response, stored.created ? 201 : 200, text_of(*stored.object));
}

void Rest::patch(Call& call) {
  if (call.target.name.empty()) throw method_not_allowed();
  const Type& type = *call.target.type;
  const std::string content(call.request.headers.get("Content-Type"));
  const std::string kind = content.substr(0, content.find(';'));
  const Request options = write_options(call.request, call.target.subresource);
  if (call.verb == "apply") {
    if (!call.request.query.contains("fieldManager"))
      throw invalid_options("PatchOptions",
                            required("fieldManager", "is required for apply patch"));
    const Json config = parse_yaml_object(std::string(type.kind), call.request.body);
    const Force force = flag(call.request, "force") ? Force::yes : Force::no;
    Applied applied;
    {
      const Lock lock(store_.mutex());
      applied =
          registry_.apply(type, call.target.name_space, call.target.name, config, options, force);
    }
    return answer(call.response, applied.created ? 201 : 200, text_of(*applied.object));
  }
  const bool custom_strategic =
      kind == "application/strategic-merge-patch+json" && type.origin == Origin::custom;
  PatchType how = PatchType::merge;
  if (kind == "application/strategic-merge-patch+json" && !custom_strategic) {
    how = PatchType::strategic;
  } else if (kind == "application/json-patch+json") {
    how = PatchType::json;
  } else if (kind != "application/merge-patch+json" || custom_strategic) {
    throw unsupported_media_type();
  }
  const Json body = how == PatchType::json
                        ? Json::parse(call.request.body, nullptr, false)
                        : parse_object(std::string(type.kind), call.request.body);
  ObjectPtr stored;
  {
    const Lock lock(store_.mutex());
    stored =
        call.target.subresource == "resize"
            ? registry_.resize(how, call.target.name_space, call.target.name, body, options)
            : registry_.patch(how, type, call.target.name_space, call.target.name, body, options);
  }
  answer(call.response, 200, text_of(*stored));
}

void Rest::remove(Call& call) {
  const DeleteOptions options = delete_options(call.request, call.request.body);
  Json result;
  {
    const Lock lock(store_.mutex());
    result = registry_.remove(*call.target.type, call.target.name_space, call.target.name, options);
  }
  answer(call.response, 200, text_of(result));
}

}  // namespace berth::embedded
