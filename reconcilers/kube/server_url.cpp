#include "reconcilers/kube/server_url.h"

#include <curl/curl.h>

#include <memory>
#include <stdexcept>

#include "controller/base/url.h"

namespace berth::kube {
namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part(const Url& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return "";
  const std::string result = text;
  curl_free(text);
  return result;
}

Url parse(const std::string& text) {
  Url url(curl_url(), curl_url_cleanup);
  if (!url) throw std::bad_alloc();
  if (text.find("://") == std::string::npos ||
      curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    throw std::invalid_argument("isn't a URL such as https://host:6443");
  return url;
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

Endpoint endpoint_of(const std::string& server, const std::string& tls_server_name) {
  const Url url = parse(server);
  const std::string scheme = part(url, CURLUPART_SCHEME);
  const std::string host = part(url, CURLUPART_HOST);
  if (scheme != "https" && scheme != "http")
    throw std::invalid_argument("is neither an https:// nor an http:// URL");
  if (!part(url, CURLUPART_USER).empty() || !part(url, CURLUPART_PASSWORD).empty())
    throw std::invalid_argument("contains a user; put it under users");
  if (!part(url, CURLUPART_QUERY).empty() || !part(url, CURLUPART_FRAGMENT).empty())
    throw std::invalid_argument("contains a query or a fragment");
  if (scheme == "http" && !is_loopback(host))
    throw std::invalid_argument("is http:// to another machine, where only https:// is allowed");

  Endpoint endpoint{without_slash(part(url, CURLUPART_URL)), "", ""};
  if (tls_server_name.empty()) return endpoint;
  const std::string port = part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  endpoint.host = host + ":" + port;
  endpoint.connect_to = "::" + endpoint.host;
  if (curl_url_set(url.get(), CURLUPART_HOST, tls_server_name.c_str(), 0) != CURLUE_OK)
    throw std::invalid_argument("has a tls-server-name that isn't a host name");
  endpoint.base_url = without_slash(part(url, CURLUPART_URL));
  return endpoint;
}

}  // namespace berth::kube
