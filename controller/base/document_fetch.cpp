#include "controller/base/document_fetch.h"

#include <sys/socket.h>

#include <stdexcept>

#include "controller/base/curl.h"

namespace berth {
namespace {

constexpr long status_ok = 200;

struct DocumentTransfer {
  const std::function<bool(const sockaddr&)>& allows;
  std::string text = {};
  bool is_address_closed = false;
  bool is_too_large = false;

  static curl_socket_t open(void* self, curlsocktype, curl_sockaddr* address) noexcept {
    auto& transfer = *static_cast<DocumentTransfer*>(self);
    if (!transfer.allows(address->addr)) {
      transfer.is_address_closed = true;
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }
  static std::size_t take(char* data, std::size_t, std::size_t count, void* self) noexcept {
    auto& transfer = *static_cast<DocumentTransfer*>(self);
    if (transfer.text.size() + count > DocumentFetch::max_bytes) {
      transfer.is_too_large = true;
      return 0;
    }
    transfer.text.append(data, count);
    return count;
  }
};

}  // namespace

std::string DocumentFetch::get(const std::string& url) const {
  DocumentTransfer transfer{.allows = allows_};
  curl::Lines headers;
  headers.add("Accept: application/json");
  curl::Easy easy;
  easy.set(CURLOPT_URL, url);
  easy.set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy.set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  easy.set(CURLOPT_FOLLOWLOCATION, 0L);
  easy.set(CURLOPT_PROXY, "");
  easy.set(CURLOPT_NOSIGNAL, 1L);
  easy.set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  easy.set(CURLOPT_TIMEOUT_MS, long(time_limit_.count()));
  easy.set(CURLOPT_CONNECTTIMEOUT_MS, long(time_limit_.count()));
  easy.set(CURLOPT_QUICK_EXIT, 1L);
  easy.set(CURLOPT_FRESH_CONNECT, 1L);
  easy.set(CURLOPT_FORBID_REUSE, 1L);
  easy.set(CURLOPT_USERAGENT, "berth");
  easy.set(CURLOPT_HTTPHEADER, headers);
  easy.set(CURLOPT_WRITEFUNCTION, &DocumentTransfer::take);
  easy.set(CURLOPT_WRITEDATA, &transfer);
  easy.set(CURLOPT_OPENSOCKETFUNCTION, &DocumentTransfer::open);
  easy.set(CURLOPT_OPENSOCKETDATA, &transfer);
  const CURLcode result = easy.perform();
  if (transfer.is_address_closed) throw std::runtime_error("its host has no public address");
  if (transfer.is_too_large) throw std::runtime_error("its answer is too large");
  if (result != CURLE_OK) throw std::runtime_error(curl_easy_strerror(result));
  const long status = easy.status();
  if (status >= 300 && status < 400)
    throw std::runtime_error("it answered with a redirect, which isn't followed");
  if (status != status_ok) throw std::runtime_error("it answered with " + std::to_string(status));
  return std::move(transfer.text);
}

}  // namespace berth
