#include <algorithm>
#include <span>

#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/http_text.h"
#include "reconcilers/embedded/apiserver/request_body.h"
#include "reconcilers/embedded/apiserver/rest.h"

// Lists, with paging, and the deletion of collections.
namespace berth::embedded {
namespace {

// The items of a list of a built-in type have no apiVersion and kind; the list has them.
std::string item_text(const Type& type, const Stored& object) {
  return type.origin == Origin::custom ? text_of(type, object) : "{" + object.members + "}";
}

std::string list_text(const Type& type, std::span<const std::pair<Key, StoredPtr>> items,
                      const Json& metadata) {
  std::string text = "{\"kind\":\"" + std::string(type.kind) + "List\",\"apiVersion\":\"" +
                     api_version(type) + "\",\"metadata\":" + metadata.dump() + ",\"items\":[";
  for (size_t i = 0; i < items.size(); ++i)
    text += (i > 0 ? "," : "") + item_text(type, *items[i].second);
  return text + "]}";
}

// The oldest version that a list may show.
std::uint64_t least_version(const std::string& text) {
  const auto version =
      text.empty() ? std::optional<std::uint64_t>(0) : parse_number<std::uint64_t>(text);
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

Rest::Page Rest::first_page(const Call& call, const Selector& selector) const {
  const Type& type = *call.target.type;
  const std::uint64_t least = least_version(parameter(call.request, "resourceVersion"));
  if (least > store_.version()) throw too_large_version(least, store_.version());
  const auto about = selector.required("/involvedObject/name");
  Items items = type.id == Kind::events && about && !call.target.name_space.empty()
                    ? store_.events_about(call.target.name_space, *about)
                    : store_.list_stored(type.id, call.target.name_space);
  if (!selector.empty())
    std::erase_if(items, [&](const auto& one) { return !selector.matches(*one.second); });
  return {"", store_.version(), std::make_shared<const Items>(std::move(items)), 0, {}};
}

Rest::Page Rest::continued(const std::string& token) const {
  const auto page = std::find_if(pages_.begin(), pages_.end(),
                                 [&](const Page& one) { return one.token == token; });
  if (page != pages_.end()) return *page;
  if (token.size() != token_length)
    throw bad_request("invalid continue token: continue key is not valid: " + token);
  throw expired(
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without the continue parameter, or use the continue token in this response "
      "to retrieve the remainder of the results. Continuing with the provided token results in an "
      "inconsistent list - objects that were created, modified, or deleted between the time the "
      "first chunk was returned and now may show up in the list.");
}

std::string Rest::keep_page(Page rest) {
  rest.token = registry_.name_suffix(token_length);
  rest.made = std::chrono::steady_clock::now();
  while (!pages_.empty() &&
         (pages_.size() >= most_pages || rest.made - pages_.front().made > longest_page))
    pages_.pop_front();
  pages_.push_back(std::move(rest));
  return pages_.back().token;
}

void Rest::list(Call& call) {
  const Type& type = *call.target.type;
  const Selector selector(type, parameter(call.request, "labelSelector"),
                          parameter(call.request, "fieldSelector"));
  const size_t limit = parse_number<std::uint64_t>(parameter(call.request, "limit")).value_or(0);
  const std::string token = parameter(call.request, "continue");
  Page page;
  Json metadata;
  size_t count = 0;
  {
    const Lock lock(store_.mutex());
    page = token.empty() ? first_page(call, selector) : continued(token);
    metadata["resourceVersion"] = std::to_string(page.version);
    if (type.origin == Origin::custom) metadata["continue"] = "";
    const size_t left = page.items->size() - page.begin;
    count = limit > 0 ? std::min(limit, left) : left;
    if (count < left) {
      metadata["continue"] =
          keep_page({"", page.version, page.items, page.begin + count, page.made});
      if (selector.empty()) metadata["remainingItemCount"] = left - count;
    } else if (!token.empty()) {
      std::erase_if(pages_, [&](const Page& one) { return one.items == page.items; });
    }
  }
  answer(call.response, 200,
         list_text(type, std::span(*page.items).subspan(page.begin, count), metadata));
}

void Rest::remove_collection(Call& call) {
  const Type& type = *call.target.type;
  if (type.id == Kind::namespaces || (type.namespaced() && call.target.name_space.empty()))
    throw method_not_allowed();
  const Selector selector(type, parameter(call.request, "labelSelector"),
                          parameter(call.request, "fieldSelector"));
  const DeleteOptions options = delete_options(call.request, call.request.body);
  Items items;
  Json metadata;
  {
    const Lock lock(store_.mutex());
    items = store_.list_stored(type.id, call.target.name_space);
    std::erase_if(items, [&](const auto& one) { return !selector.matches(*one.second); });
    for (const auto& [key, object] : items)
      registry_.remove(type, call.target.name_space, key.name, options);
    metadata["resourceVersion"] = std::to_string(store_.version());
  }
  answer(call.response, 200, list_text(type, items, metadata));
}

}  // namespace berth::embedded
