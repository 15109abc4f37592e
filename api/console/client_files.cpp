#include "api/console/client_files.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <utility>

#include "api/pages/templates.h"

namespace berth::api::console {
namespace {

constexpr std::string_view script_path = "/install.sh";
constexpr std::string_view downloads = "/download/";
// The only names that are looked for in the folder.
constexpr std::array<std::string_view, 4> names = {
    "berth-linux-amd64.tar.gz", "berth-linux-amd64.tar.gz.sha256", "berth-linux-arm64.tar.gz",
    "berth-linux-arm64.tar.gz.sha256"};
constexpr size_t chunk = 64 * 1024;  // bytes of an archive that are in memory for a download

std::string script_for(const std::string& base_url) {
  static constexpr std::string_view place = "%BASE_URL%";
  std::string text = pages::install_script();
  // A URL has no quotes that would end the script's text (berthd checks base-url).
  text.replace(text.find(place), place.size(), base_url);
  return text;
}

void refuse(Response& response, int status, const std::string& text) {
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = text + "\n";
}

}  // namespace

ClientFiles::ClientFiles(std::filesystem::path folder, std::string base_url)
    : folder_(std::move(folder)), base_url_(std::move(base_url)) {}

bool ClientFiles::handle(const Request& request, Response& response) const {
  const bool is_script = request.path == script_path;
  if (!is_script && !request.path.starts_with(downloads)) return false;
  response.add_header("Cache-Control", "no-cache");
  if (request.method != "GET" && request.method != "HEAD") {
    response.add_header("Allow", "GET, HEAD");
    refuse(response, 405, "this can only be read");
    return true;
  }
  if (folder_.empty()) {
    refuse(response, 404,
           "this berth has no client to download; ask its admin for the key client-files");
    return true;
  }
  if (is_script) {
    response.content_type = "text/plain; charset=utf-8";
    response.body = script_for(base_url_);
    return true;
  }
  const std::string_view name = request.path.substr(downloads.size());
  const auto file = std::make_shared<std::ifstream>();
  if (std::ranges::find(names, name) != names.end())
    file->open(folder_ / std::string(name), std::ios::binary);
  if (!file->is_open()) {
    refuse(response, 404, "there is no such file here");
    return true;
  }
  response.content_type = name.ends_with(".gz") ? "application/gzip" : "text/plain; charset=utf-8";
  response.stream = [file](const Sink& sink) {
    std::string part(chunk, '\0');
    file->read(part.data(), std::streamsize(part.size()));
    part.resize(size_t(file->gcount()));
    if (part.empty()) return file->bad() ? Next::break_off : Next::end;
    sink(part);
    return Next::more;
  };
  return true;
}

}  // namespace berth::api::console
