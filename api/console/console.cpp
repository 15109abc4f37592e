#include "api/console/console.h"

#include "api/console/answers.h"
#include "api/console/sample.h"
#include "api/gate/language.h"
#include "api/pages/page.h"
#include "api/resources/oauth/redirect.h"

namespace berth::api::console {

using messages::say;

namespace {

constexpr std::string_view root = "/console";
constexpr std::string_view assets = "/console/assets/";
constexpr std::string_view page = "index.html";
constexpr std::string_view sample_path = "/console/sample.tar.gz";

void send_asset(const Request& request, Response& response) {
  const File* file = find(files(), request.path.substr(assets.size()));
  if (file == nullptr || file->name == page) {
    const Language in = language_of(request);
    refuse_page(response, 404, in, say(in, "There is no such file"),
                say(in, "berthd may have been upgraded since this page was opened. Reload it."));
    return;
  }
  response.add_header("Cache-Control", forever);
  send_file(*file, request, response);
}

}  // namespace

bool Console::handle(const Request& request, Response& response) const {
  const std::string_view path = request.path;
  if (!path.starts_with(root) || (path.size() > root.size() && path[root.size()] != '/'))
    return false;
  const Language in = language_of(request);
  if (request.method != "GET" && request.method != "HEAD") {
    refuse_page(response, 405, in, say(in, "This page can only be read"),
                say(in, "The console has no operations of its own. The API is below /api."));
    response.add_header("Allow", "GET, HEAD");
    return true;
  }
  if (path.starts_with(assets)) {
    send_asset(request, response);
    return true;
  }
  if (path == sample_path) {
    response.content_type = "application/gzip";
    response.add_header("Cache-Control", "no-cache");
    response.body = sample();
    return true;
  }
  const File* file = find(files(), page);
  if (file == nullptr) {
    refuse_page(
        response, 404, in, say(in, "There is no console here"),
        say(in,
            "This berthd was built without the console. Your account is at /account, and the "
            "client berth does everything else."));
    return true;
  }
  pages::add_security_headers(response, policy);
  if (cookies_.session(request).empty()) {
    response.status = 303;
    response.add_header("Cache-Control", "no-store");
    response.add_header("Location", redirect_to("/login", {{"next", std::string(path)}}));
    return true;
  }
  response.add_header("Cache-Control", "no-cache");
  send_file(*file, request, response);
  return true;
}

}  // namespace berth::api::console
