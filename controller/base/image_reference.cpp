#include "controller/base/image_reference.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "controller/base/ascii.h"
#include "controller/base/url.h"

namespace berth {
namespace {

constexpr std::string_view docker_hub = "docker.io";
constexpr std::string_view official = "library/";

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find('/'), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// The address of a page: where it is, the parts of its path, and the tag that it names, if any.
struct PageAddress {
  std::string host;
  std::vector<std::string> path;
  std::string tag;  // empty, or with the colon before it
};

std::optional<PageAddress> page_address(std::string_view text) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
  PageAddress page;
  constexpr std::string_view tag_parameter = "tag=";
  if (const size_t mark = text.find_first_of("?#"); mark != std::string_view::npos) {
    std::string_view query = text.substr(mark + 1);
    if (const size_t at = query.find(tag_parameter); at != std::string_view::npos) {
      query.remove_prefix(at + tag_parameter.size());
      page.tag = ":" + std::string(query.substr(0, query.find_first_of("&#")));
    }
    text = text.substr(0, mark);
  }
  const auto decoded = percent_decode(text, Plus::is_plus);
  if (!decoded) return std::nullopt;
  page.path = split(*decoded);
  if (page.path.empty()) return std::nullopt;
  page.host = lower_case(page.path.front());
  page.path.erase(page.path.begin());
  return page;
}

std::string joined(const std::vector<std::string>& parts, size_t from) {
  std::string all;
  for (size_t at = from; at < parts.size(); ++at)
    all.append(at == from ? "" : "/").append(parts[at]);
  return all;
}

// hub.docker.com/_/nginx, …/r/user/image and what is below them, …/layers/user/image/TAG/….
std::string image_of_hub(const PageAddress& page) {
  const auto& path = page.path;
  const std::string kind = path.empty() ? "" : path[0];
  if (kind == "_" && path.size() >= 2) return "docker.io/library/" + path[1] + page.tag;
  if (kind == "r" && path.size() >= 3) return "docker.io/" + path[1] + "/" + path[2] + page.tag;
  if (kind == "layers" && path.size() >= 4)
    return "docker.io/" + path[1] + "/" + path[2] + ":" + path[3];
  if (kind == "repository" && path.size() >= 4)
    return "docker.io/" + path[2] + "/" + path[3] + page.tag;
  return "";
}

// github.com/OWNER/REPOSITORY/pkgs/container/NAME, and
// github.com/orgs/OWNER/packages/container/NAME and …/container/package/NAME, with /NUMBER?tag=TAG
// behind them or without.
std::string image_of_github(const PageAddress& page) {
  const auto container = std::ranges::find(page.path, "container");
  if (container == page.path.end() || page.path.size() < 2) return "";
  const bool of_group = page.path[0] == "orgs" || page.path[0] == "users";
  std::vector<std::string> name(container + 1, page.path.end());
  if (!name.empty() && name.front() == "package") name.erase(name.begin());
  const bool has_version = name.size() > 1 && std::ranges::all_of(name.back(), [](char c) {
                             return c >= '0' && c <= '9';
                           });
  if (has_version) name.pop_back();
  if (name.empty()) return "";
  return lower_case("ghcr.io/" + page.path[of_group ? 1 : 0] + "/" + joined(name, 0)) + page.tag;
}

// The name of an image that an address leads to; empty if the text is no such address.
std::string image_at(std::string_view text) {
  const auto page = page_address(text);
  if (!page) return "";
  const bool is_hub = page->host == "hub.docker.com";
  const bool is_github = page->host == "github.com" || page->host == "www.github.com";
  std::string image = is_hub ? image_of_hub(*page) : is_github ? image_of_github(*page) : "";
  if (!image.empty()) return image;
  const bool is_address = text.starts_with("https://") || text.starts_with("http://");
  if (!is_address || page->path.empty()) return "";
  return page->host + "/" + joined(page->path, 0) + page->tag;
}

// Whether the first part of a name is a registry: it couldn't be a user of Docker Hub.
bool is_registry(std::string_view part) {
  return part == "localhost" || part.find_first_of(".:") != std::string_view::npos;
}

}  // namespace

std::string normalized_image(std::string_view text) {
  const std::string_view plain = without_blanks(text);
  std::string name = image_at(plain);
  if (name.empty()) name = plain;
  if (name.empty()) return name;
  const size_t slash = name.find('/');
  std::string registry = slash == std::string::npos ? "" : name.substr(0, slash);
  std::string rest = slash == std::string::npos ? name : name.substr(slash + 1);
  if (!is_registry(registry)) {
    registry = docker_hub;
    rest = name;
  }
  if (registry == "index.docker.io" || registry == "registry-1.docker.io") registry = docker_hub;
  if (registry == docker_hub && rest.find('/') == std::string::npos) rest.insert(0, official);
  return registry + "/" + rest;
}

std::string with_tag(const std::string& image) {
  if (image.find('@') != std::string::npos) return image;
  const size_t slash = image.rfind('/');  // a colon before it belongs to the registry's port
  const bool has_tag = image.find(':', slash == std::string::npos ? 0 : slash) != std::string::npos;
  return has_tag ? image : image + ":latest";
}

}  // namespace berth
