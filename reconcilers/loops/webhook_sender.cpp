#include "reconcilers/loops/webhook_sender.h"

#include <unistd.h>

#include <new>
#include <stdexcept>

#include "controller/base/curl.h"

namespace berth::reconcilers {
namespace {

// An answer's body is cut off after this many bytes; its status is known by then.
constexpr size_t read_over_bytes = 64 * 1024;

}  // namespace

struct WebhookSender::Transfer {
  curl::Easy easy;
  WebhookRequest request;
  curl::Lines headers;
  const WebhookSender* sender = nullptr;
  bool closed_address = false;
  size_t received = 0;

  static curl_socket_t open(void* self, curlsocktype, curl_sockaddr* address) noexcept {
    auto& transfer = *static_cast<Transfer*>(self);
    if (!transfer.sender->addresses_.allows(address->addr)) {
      transfer.closed_address = true;
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }
  static size_t drop(char*, size_t, size_t count, void* self) noexcept {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.received += count;
    return transfer.received > read_over_bytes ? 0 : count;
  }

  std::string words_for(CURLcode code) const {
    // The message doesn't say which address it was: the webhook's owner shouldn't learn that from
    // us.
    if (closed_address) return "its host has no public address";
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
      return "its answer isn't HTTP/1.1";
    return curl_easy_strerror(code);
  }

  WebhookAnswer answer(CURLcode code) const {
    const long status = easy.status();
    WebhookAnswer answer{.key = request.key};
    // Nothing after the response's head matters, and a body may never begin or end.
    const bool breaks_off =
        code == CURLE_OPERATION_TIMEDOUT || code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR;
    const bool has_head = code == CURLE_OK || received > 0 || (breaks_off && status >= 200);
    if (!has_head) {
      answer.error = words_for(code);
      return answer;
    }
    answer.status = int(status);
    answer.retry_after = easy.retry_after();
    if (status < 200 || status >= 300)
      answer.error = status >= 300 && status < 400
                         ? "it answered with a redirect, which isn't followed"
                         : "it answered with " + std::to_string(status);
    return answer;
  }
};

WebhookSender::WebhookSender(Reach reach, std::vector<AddressRange> closed,
                             std::chrono::milliseconds limit)
    : addresses_(reach, std::move(closed)), limit_(limit), multi_(nullptr, curl_multi_cleanup) {
  curl::initialise();
  multi_.reset(curl_multi_init());
  if (!multi_) throw std::bad_alloc();
}

WebhookSender::~WebhookSender() {
  for (const auto& [easy, transfer] : transfers_) curl_multi_remove_handle(multi_.get(), easy);
}

void WebhookSender::prepare(Transfer& transfer) const {
  curl::Easy& easy = transfer.easy;
  for (const std::string& header : transfer.request.headers) transfer.headers.add(header);
  easy.set(CURLOPT_URL, transfer.request.url);
  easy.set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy.set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  easy.set(CURLOPT_FOLLOWLOCATION, 0L);
  easy.set(CURLOPT_PROXY, "");
  easy.set(CURLOPT_NOSIGNAL, 1L);
  easy.set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  easy.set(CURLOPT_TIMEOUT_MS, long(limit_.count()));
  easy.set(CURLOPT_CONNECTTIMEOUT_MS, long(limit_.count()));
  easy.set(CURLOPT_QUICK_EXIT, 1L);
  easy.set(CURLOPT_FRESH_CONNECT, 1L);
  easy.set(CURLOPT_FORBID_REUSE, 1L);
  easy.set(CURLOPT_USERAGENT, "berth-webhooks");
  easy.set(CURLOPT_HTTPHEADER, transfer.headers);
  easy.set(CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(transfer.request.body.size()));
  easy.set(CURLOPT_POSTFIELDS, transfer.request.body.c_str());
  easy.set(CURLOPT_WRITEFUNCTION, &Transfer::drop);
  easy.set(CURLOPT_WRITEDATA, &transfer);
  easy.set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::open);
  easy.set(CURLOPT_OPENSOCKETDATA, &transfer);
}

void WebhookSender::send(WebhookRequest request) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->sender = this;
  prepare(*transfer);
  CURL* const easy = transfer->easy.get();
  if (curl_multi_add_handle(multi_.get(), easy) != CURLM_OK)
    throw std::runtime_error("libcurl can't add a handle");
  transfers_.emplace(easy, std::move(transfer));
}

std::vector<WebhookAnswer> WebhookSender::collect() {
  std::vector<WebhookAnswer> answers;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    const auto found = transfers_.find(easy);
    answers.push_back(found->second->answer(message->data.result));
    curl_multi_remove_handle(multi_.get(), easy);
    transfers_.erase(found);
  }
  return answers;
}

std::vector<WebhookAnswer> WebhookSender::wait(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    auto answers = collect();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (!answers.empty() || left.count() <= 0) return answers;
    int heard = 0;
    curl_multi_poll(multi_.get(), nullptr, 0, int(left.count()), &heard);
    // The wait was ended by wake() or nothing came, so the caller looks for what is due.
    if (heard == 0) {
      curl_multi_perform(multi_.get(), &running);
      return collect();
    }
  }
}

void WebhookSender::wake() { curl_multi_wakeup(multi_.get()); }

}  // namespace berth::reconcilers
