// Redirect URIs that apps register or that requests contain, compared with what another parser
// reads.
#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "controller/base/ascii.h"
#include "controller/domain/apps/apps.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

const apps::App& game() {
  static const apps::App app = [] {
    apps::App one;
    one.redirect_uris = {"https://game.example.org/callback?from=berth",
                         "http://127.0.0.1/callback", "http://[::1]/callback",
                         "com.example.game:/callback"};
    return one;
  }();
  return app;
}

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part_of(const Url& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, 0) != CURLUE_OK) return "";
  const std::string result = text;
  curl_free(text);
  return result;
}

bool is_loopback(const std::string& text) {
  const std::string host = lower_case(text);
  return host == "127.0.0.1" || host == "[::1]" || host == "localhost";
}

void look_at_accepted(const std::string& uri, const Url& url) {
  hold(std::ranges::all_of(uri, [](unsigned char c) { return c > 0x20 && c < 0x7f; }),
       "a redirect URI is printable");
  hold(uri.find_first_of("#\\") == uri.npos, "a redirect URI has no fragment and no backslash");
  if (!url) return;
  hold(part_of(url, CURLUPART_USER).empty(), "a redirect URI names no user");
  if (part_of(url, CURLUPART_SCHEME) == "http")
    hold(is_loopback(part_of(url, CURLUPART_HOST)), "http is for this machine alone");
}

void look_at_registered(const std::string& uri, const Url& url) {
  hold(!apps::refuse_redirect_uri(uri), "what is registered may be redirected to");
  if (std::ranges::find(game().redirect_uris, uri) != game().redirect_uris.end()) return;
  hold(url && part_of(url, CURLUPART_SCHEME) == "http" &&
           is_loopback(part_of(url, CURLUPART_HOST)) &&
           part_of(url, CURLUPART_PATH) == "/callback" && part_of(url, CURLUPART_QUERY).empty(),
       "but for its port, a loopback URI is one that is registered");
}

}  // namespace

void run(std::string_view input) {
  const std::string uri(input);
  Url url(curl_url(), curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, uri.c_str(), 0) != CURLUE_OK) url.reset();
  if (!apps::refuse_redirect_uri(uri)) look_at_accepted(uri, url);
  if (apps::is_registered(game(), uri)) look_at_registered(uri, url);
}

}  // namespace berth::fuzz
