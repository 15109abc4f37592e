#include <algorithm>

#include "reconcilers/simulated/apiserver/http_text.h"
#include "reconcilers/simulated/apiserver/request_body.h"
#include "reconcilers/simulated/apiserver/rest.h"

// Lists, with paging, and the deletion of collections.
namespace berth::simulated {
namespace {

// The items of a list of a built-in type have no apiVersion and kind; the list has them.
std::string item_text(const Json& object, Origin origin) {
  if (origin == Origin::custom) return object.dump();
  std::string text = "{";
  for (const auto& [key, value] : object.items()) {
    if (key == "apiVersion" || key == "kind") continue;
    text += (text.size() > 1 ? ",\"" : "\"") + key + "\":" + value.dump();
  }
  return text + "}";
}

// The oldest version that a list may show.
std::uint64_t least_version(const std::string& text) {
  const auto version = text.empty() ? std::optional<std::uint64_t>(0) : parse_number(text);
  if (!version)
    throw bad_request("invalid resource version: resourceVersion: Invalid value: \"" + text +
                      "\": strconv.ParseUint: parsing \"" + text + "\": invalid syntax");
  return *version;
}

Refusal too_large_version(std::uint64_t wanted, std::uint64_t current) {
  const Json cause{{"reason", "ResourceVersionTooLarge"},
                   {"message", "Too large resource version"}};
  return Refusal(status_failure(504, "Timeout",
                                "Timeout: Too large resource version: " + std::to_string(wanted) +
                                    ", current: " + std::to_string(current),
                                {{"causes", {cause}}, {"retryAfterSeconds", 1}}));
}

}  // namespace

std::vector<ObjectPtr> Rest::continued(const std::string& token, std::uint64_t& version) {
  const auto page = std::find_if(pages_.begin(), pages_.end(),
                                 [&](const Page& one) { return one.token == token; });
  const bool well_formed = token.size() == token_length;
  if (page == pages_.end() && !well_formed)
    throw bad_request("invalid continue token: continue key is not valid: " + token);
  if (page == pages_.end())
    throw expired(
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new "
        "list without the continue parameter, or use the continue token in this response to "
        "retrieve the "
        "remainder of the results. Continuing with the provided token results in an inconsistent "
        "list - "
        "objects that were created, modified, or deleted between the time the first chunk was "
        "returned and "
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
  const Selector selector(type, parameter(call.request, "labelSelector"),
                          parameter(call.request, "fieldSelector"));
  const size_t limit = parse_number(parameter(call.request, "limit")).value_or(0);
  const std::string token = parameter(call.request, "continue");
  const std::uint64_t least = least_version(parameter(call.request, "resourceVersion"));
  std::vector<ObjectPtr> items;
  std::uint64_t version = 0;
  std::string next;
  size_t left = 0;
  {
    const Lock lock(store_.mutex());
    version = store_.version();
    if (least > version) throw too_large_version(least, version);
    items =
        token.empty() ? store_.list(type.id, call.target.name_space) : continued(token, version);
    if (token.empty())
      std::erase_if(items, [&](const ObjectPtr& one) { return !selector.matches(*one); });
    if (limit > 0 && items.size() > limit) {
      std::vector<ObjectPtr> rest(items.begin() + static_cast<std::ptrdiff_t>(limit), items.end());
      items.resize(limit);
      left = rest.size();
      next = keep_page(version, std::move(rest));
    }
  }
  answer_list(call, items, version, next,
              selector.empty() && left > 0 ? std::optional(left) : std::nullopt);
}

void Rest::answer_list(Call& call, const std::vector<ObjectPtr>& items, std::uint64_t version,
                       const std::string& token, std::optional<size_t> remaining) {
  const Type& type = *call.target.type;
  Json metadata{{"resourceVersion", std::to_string(version)}};
  if (type.origin == Origin::custom) metadata["continue"] = "";
  if (!token.empty()) metadata["continue"] = token;
  if (remaining) metadata["remainingItemCount"] = *remaining;
  std::string text = "{\"kind\":\"" + std::string(type.kind) + "List\",\"apiVersion\":\"" +
                     api_version(type) + "\",\"metadata\":" + metadata.dump() + ",\"items\":[";
  for (size_t i = 0; i < items.size(); ++i)
    text += (i > 0 ? "," : "") + item_text(*items[i], type.origin);
  answer(call.response, 200, text + "]}");
}

void Rest::remove_collection(Call& call) {
  const Type& type = *call.target.type;
  if (type.id == Kind::namespaces || (type.namespaced() && call.target.name_space.empty()))
    throw method_not_allowed();
  const Selector selector(type, parameter(call.request, "labelSelector"),
                          parameter(call.request, "fieldSelector"));
  const DeleteOptions options = delete_options(call.request, call.request.body);
  std::vector<ObjectPtr> items;
  std::uint64_t version = 0;
  {
    const Lock lock(store_.mutex());
    items = store_.list(type.id, call.target.name_space);
    std::erase_if(items, [&](const ObjectPtr& one) { return !selector.matches(*one); });
    for (const ObjectPtr& one : items)
      registry_.remove(type, call.target.name_space, name_of(*one), options);
    version = store_.version();
  }
  answer_list(call, items, version, "", std::nullopt);
}

}  // namespace berth::simulated
