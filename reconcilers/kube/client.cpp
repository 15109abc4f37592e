#include "reconcilers/kube/client.h"

#include <algorithm>
#include <array>

#include "reconcilers/kube/answers.h"
#include "reconcilers/kube/lines.h"
#include "reconcilers/kube/paths.h"
#include "reconcilers/kube/requests.h"

namespace berth::kube {
namespace {

// etcd accepts objects up to 1.5 MiB, which managedFields and JSON escapes can multiply.
constexpr size_t max_object_bytes = 16 << 20;
// 100 objects, most of them a few kilobytes, some of them large.
constexpr size_t max_page_bytes = 64 << 20;
// As much of a container's log as a browser can still show.
constexpr size_t max_log_bytes = 4 << 20;
// A pod takes about 60 kB in memory, so a page takes 6 MB, and ten kinds are listed at the same
// time.
constexpr std::string_view page_size = "100";
// A million objects; a list that is longer never ends.
constexpr int max_pages = 10'000;

bool succeeded(const HttpAnswer& answer) { return answer.status >= 200 && answer.status < 300; }

Call read_call(std::string_view verb, const Resource& resource, std::string path, size_t limit) {
  return {verb, resource.plural, "GET", std::move(path), "", "", limit};
}

Call write_call(std::string_view verb, const Resource& resource, std::string method,
                std::string path, const Object& body, std::string content_type) {
  return {verb,        resource.plural,         std::move(method), std::move(path),
          body.dump(), std::move(content_type), max_object_bytes};
}

Object send_for_object(Requests& requests, const Call& call) {
  const HttpAnswer answer = requests.send(call);
  if (!succeeded(answer)) throw error_of(answer, call.name());
  return parse_object(answer.body, call.name());
}

std::string text_in(const Object& object, const char* key) {
  if (!object.is_object()) return "";
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

std::string metadata(const Object& object, const char* key) {
  const auto found = object.find("metadata");
  return found == object.end() ? "" : text_in(*found, key);
}

std::string path_of(const Resource& resource, const Object& object) {
  return object_path(resource, metadata(object, "namespace"), metadata(object, "name"));
}

void fill_type(const Resource& resource, Object& object) {
  if (!object.contains("apiVersion")) object["apiVersion"] = resource.api_version;
  if (!object.contains("kind")) object["kind"] = resource.kind;
}

Query selection(const ListOptions& options) {
  Query query;
  query.add("labelSelector", options.label_selector);
  query.add("fieldSelector", options.field_selector);
  return query;
}

// Adds one page to `list`. Returns the token of the next page, or "" after the last one.
std::string take_page(Object page, const Resource& resource, const std::string& what,
                      const ItemFilter& shorten, List& list) {
  const auto items = page.find("items");
  if (items == page.end() || !(items->is_array() || items->is_null()))
    throw ApiError(0, "", what + ": the answer isn't a list");
  for (Object& item : *items) {
    if (!item.is_object())
      throw ApiError(0, "", what + ": the list contains something that isn't an object");
    fill_type(resource, item);
    list.items.push_back(shorten ? shorten(std::move(item)) : std::move(item));
  }
  list.resource_version = metadata(page, "resourceVersion");
  return metadata(page, "continue");
}

List list_once(Requests& requests, const Resource& resource, const ListOptions& options,
               const ItemFilter& shorten) {
  List list;
  std::string next;
  for (int page = 0; page < max_pages; ++page) {
    const Query query = selection(options).add("limit", page_size).add("continue", next);
    const Call call =
        read_call("list", resource, collection_path(resource, options.name_space) + query.text(),
                  max_page_bytes);
    next = take_page(send_for_object(requests, call), resource, call.name(), shorten, list);
    if (next.empty()) return list;
  }
  throw ApiError(0, "", "the list of " + std::string(resource.plural) + " doesn't end");
}

EventType event_type(const std::string& type, const std::string& what) {
  if (type == "ADDED") return EventType::added;
  if (type == "MODIFIED") return EventType::modified;
  if (type == "DELETED") return EventType::deleted;
  if (type == "BOOKMARK") return EventType::bookmark;
  throw ApiError(0, "", what + ": received an event of an unknown type");
}

// Passes on one line of a watch: {"type": …, "object": …}.
void deliver(std::string_view line, const Resource& resource, const std::string& what,
             const std::function<void(EventType, const Object&)>& on_event) {
  Object event = parse_object(line, what);
  const auto object = event.find("object");
  const auto type = event.find("type");
  if (object == event.end() || !object->is_object() || type == event.end() || !type->is_string())
    throw ApiError(0, "", what + ": received something that isn't an event");
  if (*type == "ERROR") throw error_of_status(*object, what);
  const EventType known = event_type(type->get<std::string>(), what);
  fill_type(resource, *object);
  on_event(known, *object);
}

// What became of the object with `uid` whose DELETE was refused.
enum class Fate { stays, is_going, gone };

Fate fate_of(const std::optional<Object>& object, const std::string& uid) {
  if (!object || (!uid.empty() && metadata(*object, "uid") != uid)) return Fate::gone;
  return metadata(*object, "deletionTimestamp").empty() ? Fate::stays : Fate::is_going;
}

}  // namespace

struct Client::State {
  Requests requests;
};

Client::Client(Kubeconfig config, ClientOptions options)
    : state_(new State{{config, std::move(options)}}) {}

Client::~Client() = default;

std::optional<Object> Client::get(const Resource& resource, const std::string& name_space,
                                  const std::string& name) {
  const Call call =
      read_call("get", resource, object_path(resource, name_space, name), max_object_bytes);
  const HttpAnswer answer = state_->requests.send(call);
  if (says_not_found(answer)) return std::nullopt;
  if (!succeeded(answer)) throw error_of(answer, call.name());
  return parse_object(answer.body, call.name());
}

List Client::list(const Resource& resource, const ListOptions& options, const ItemFilter& shorten) {
  try {
    return list_once(state_->requests, resource, options, shorten);
  } catch (const ApiError& error) {
    if (!error.expired()) throw;  // the continue token has expired; starting over needs none
    return list_once(state_->requests, resource, options, shorten);
  }
}

Object Client::apply(const Object& object) {
  const Resource& resource = resource_of(object);
  const Query query =
      Query().add("fieldManager", state_->requests.options().field_manager).add("force", "true");
  return send_for_object(state_->requests, write_call("apply", resource, "PATCH",
                                                      path_of(resource, object) + query.text(),
                                                      object, "application/apply-patch+yaml"));
}

Object Client::create(const Object& object) {
  const Resource& resource = resource_of(object);
  const Query query = Query().add("fieldManager", state_->requests.options().field_manager);
  const std::string path = create_path(resource, metadata(object, "namespace")) + query.text();
  return send_for_object(state_->requests,
                         write_call("create", resource, "POST", path, object, "application/json"));
}

IssuedToken Client::request_token(const std::string& name_space, const std::string& account,
                                  std::chrono::seconds life) {
  const Object request = {{"apiVersion", "authentication.k8s.io/v1"},
                          {"kind", "TokenRequest"},
                          {"spec", {{"expirationSeconds", life.count()}}}};
  const Call call = write_call("create", service_accounts, "POST",
                               object_path(service_accounts, name_space, account) + "/token",
                               request, "application/json");
  const Object answer = send_for_object(state_->requests, call);
  const auto found = answer.find("status");
  const Object status = found == answer.end() ? Object::object() : *found;
  const std::string token = text_in(status, "token");
  const auto expires = parse_iso8601(text_in(status, "expirationTimestamp"));
  const bool printable = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 127; });
  if (token.empty() || !printable || !expires)
    throw ApiError(0, "", call.name() + ": the answer has no token");
  return {.token = token, .expires = *expires};
}

std::optional<std::string> Client::review_token(const std::string& token,
                                                const std::string& audience) {
  const Object review = {{"apiVersion", "authentication.k8s.io/v1"},
                         {"kind", token_reviews.kind},
                         {"spec", {{"token", token}, {"audiences", {audience}}}}};
  const Object answer = send_for_object(
      state_->requests, write_call("create", token_reviews, "POST",
                                   collection_path(token_reviews, ""), review, "application/json"));
  const auto found = answer.find("status");
  const Object status = found == answer.end() ? Object::object() : *found;
  // An API server that knows no audiences accepts a token for any, and doesn't name one.
  const auto audiences = status.find("audiences");
  const bool is_for_it = audiences != status.end() && audiences->is_array() &&
                         std::ranges::find(*audiences, Object(audience)) != audiences->end();
  const auto user = status.find("user");
  if (!is_for_it || user == status.end() || status.value("authenticated", Object()) != true)
    return std::nullopt;
  const std::string name = text_in(*user, "username");
  return name.empty() ? std::nullopt : std::optional(name);
}

Object Client::merge(const Object& change) {
  const Resource& resource = resource_of(change);
  const Query query = Query().add("fieldManager", state_->requests.options().field_manager);
  return send_for_object(state_->requests, write_call("merge", resource, "PATCH",
                                                      path_of(resource, change) + query.text(),
                                                      change, "application/merge-patch+json"));
}

Object Client::resize(const std::string& name_space, const std::string& pod,
                      const std::string& container, const Object& resources) {
  const Query query = Query().add("fieldManager", state_->requests.options().field_manager);
  const Object change = {
      {"spec", {{"containers", Object::array({{{"name", container}, {"resources", resources}}})}}}};
  return send_for_object(state_->requests,
                         write_call("merge", pods, "PATCH",
                                    object_path(pods, name_space, pod) + "/resize" + query.text(),
                                    change, "application/strategic-merge-patch+json"));
}

Object Client::update(const Object& object) {
  const Resource& resource = resource_of(object);
  if (metadata(object, "resourceVersion").empty())
    throw std::invalid_argument("an update requires metadata.resourceVersion");
  const Query query = Query().add("fieldManager", state_->requests.options().field_manager);
  return send_for_object(state_->requests, write_call("update", resource, "PUT",
                                                      path_of(resource, object) + query.text(),
                                                      object, "application/json"));
}

bool Client::remove(const Resource& resource, const std::string& name_space,
                    const std::string& name, const std::string& uid) {
  Object options = {
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Background"}};
  if (!uid.empty()) options["preconditions"] = {{"uid", uid}};
  const Call call =
      write_call("delete", resource, "DELETE", object_path(resource, name_space, name), options,
                 "application/json");
  const HttpAnswer answer = state_->requests.send(call);
  if (says_not_found(answer)) return false;
  if (answer.status == 409) {
    const Fate fate = fate_of(get(resource, name_space, name), uid);
    if (fate != Fate::stays) return fate == Fate::is_going;
  }
  if (!succeeded(answer)) throw error_of(answer, call.name());
  return true;
}

void Client::watch(const Resource& resource, const ListOptions& options,
                   const std::string& resource_version,
                   const std::function<void(EventType, const Object&)>& on_event,
                   std::stop_token stop) {
  const Query query = selection(options)
                          .add("watch", "true")
                          .add("allowWatchBookmarks", "true")
                          .add("resourceVersion", resource_version);
  const Call call =
      read_call("watch", resource, collection_path(resource, options.name_space) + query.text(),
                max_object_bytes);
  LineReader lines(max_object_bytes);
  const auto on_line = [&](std::string_view line) {
    if (stop.stop_requested()) throw Stopped();
    deliver(line, resource, call.name(), on_event);
  };
  try {
    const HttpAnswer answer = state_->requests.stream(
        call, [&](std::string_view piece) { lines.feed(piece, on_line); }, stop);
    if (answer.status != 200) throw error_of(answer, call.name());
    lines.finish(on_line);
  } catch (const Stopped&) {
  } catch (const LineTooLong& error) {
    throw ApiError(0, "", call.name() + ": " + error.what());
  }
}

std::string Client::logs(const std::string& name_space, const std::string& pod, int tail_lines,
                         bool previous) {
  Query query;
  query.add("tailLines", std::to_string(std::max(tail_lines, 0)))
      .add("limitBytes", std::to_string(max_log_bytes));
  if (previous) query.add("previous", "true");
  const Call call = read_call(
      "logs", pods, object_path(pods, name_space, pod) + "/log" + query.text(), max_log_bytes + 1);
  HttpAnswer answer = state_->requests.send(call);
  if (!succeeded(answer)) throw error_of(answer, call.name());
  return std::move(answer.body);
}

void Client::stream_logs(const std::string& name_space, const std::string& pod,
                         const LogOptions& options,
                         const std::function<void(std::string_view)>& on_piece,
                         const std::stop_token& stop) {
  Query query;
  query.add("timestamps", "true").add("sinceTime", options.since_time);
  if (options.tail_lines) query.add("tailLines", std::to_string(std::max(*options.tail_lines, 0)));
  if (options.previous) query.add("previous", "true");
  if (options.follow) query.add("follow", "true");
  const Call call = read_call(
      "logs", pods, object_path(pods, name_space, pod) + "/log" + query.text(), max_log_bytes);
  try {
    const HttpAnswer answer = state_->requests.stream(call, on_piece, stop, options.within);
    if (!succeeded(answer)) throw error_of(answer, call.name());
  } catch (const Stopped&) {
  }
}

std::string Client::raw(const std::string& path) {
  const bool printable =
      std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < 127 && c != '#'; });
  if (!path.starts_with('/') || !printable)
    throw std::invalid_argument("the path isn't one of the API server's");
  const Call call{"get", "", "GET", path, "", "", max_object_bytes};
  HttpAnswer answer = state_->requests.send(call);
  if (!succeeded(answer)) throw error_of(answer, call.name());
  return std::move(answer.body);
}

}  // namespace berth::kube
