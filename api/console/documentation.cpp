#include "api/console/documentation.h"

#include "api/console/answers.h"
#include "api/gate/language.h"
#include "api/pages/page.h"

namespace berth::api::console {

using messages::say;

namespace {

constexpr std::string_view docs_root = "/docs";
constexpr std::string_view docs_assets = "assets/";
constexpr std::string_view ending = ".html";

const File* page_of(std::string_view address) {
  return find(documentation(),
              std::string(address.empty() ? std::string_view("index") : address).append(ending));
}

// Returns the address without endings that its page doesn't have, such as those of the Markdown
// file's name.
std::string_view without_end(std::string_view address) {
  for (const std::string_view end : {"/", ".md", ".html", "/README"})
    if (address.ends_with(end)) return without_end(address.substr(0, address.size() - end.size()));
  return address;
}

}  // namespace

bool answer_documentation(const Request& request, Response& response) {
  std::string_view address = request.path;
  if (!address.starts_with(docs_root)) return false;
  address.remove_prefix(docs_root.size());
  if (!address.empty() && address.front() != '/') return false;
  if (!address.empty()) address.remove_prefix(1);
  const Language in = language_of(request);
  if (request.method != "GET" && request.method != "HEAD") {
    refuse_page(response, 405, in, say(in, "This page can only be read"),
                say(in, "The documentation has no operations. The API is below /api."));
    response.add_header("Allow", "GET, HEAD");
    return true;
  }
  const bool is_asset = address.starts_with(docs_assets);
  const File* file = is_asset ? find(documentation(), address) : page_of(address);
  const std::string_view meant = without_end(address);
  const bool exact = meant == address && !request.path.ends_with('/');
  if (!is_asset && !exact && page_of(meant) != nullptr) {
    response.status = 308;
    response.add_header("Location",
                        std::string(docs_root) + (meant.empty() ? "" : "/") + std::string(meant));
  } else if (documentation().empty()) {
    refuse_page(
        response, 404, in, say(in, "There is no documentation here"),
        say(in, "This berthd was built without it. It is in the folder docs of the source."));
  } else if (file == nullptr) {
    refuse_page(
        response, 404, in, say(in, "There is no such page"),
        say(in, "berthd may have been upgraded since the link was made. All pages are at /docs."));
  } else {
    pages::add_security_headers(response, policy);
    response.add_header("Cache-Control", is_asset ? forever : "no-cache");
    send_file(*file, request, response);
  }
  return true;
}

}  // namespace berth::api::console
