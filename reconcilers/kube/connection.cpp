#include "reconcilers/kube/connection.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string_view>

namespace berth::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The longest time that poll sleeps. A requested stop wakes it at once; this limit is for noticing
// silence.
constexpr milliseconds longest_poll{500};

}  // namespace

struct Connection::Transfer {
  curl::Lines headers;
  curl::Lines connect_to;
  std::string received;
  size_t max_bytes = 0;
  enum class Refused { no, too_large, out_of_memory } refused = Refused::no;
  bool heard = false;  // something has arrived since this was last reset
  CURLcode result = CURLE_OK;
  std::string silent;  // the error message if nothing arrived for too long
  char error[CURL_ERROR_SIZE] = "";

  static size_t take(char* data, size_t, size_t count, void* self) noexcept {
    auto& transfer = *static_cast<Transfer*>(self);
    transfer.heard = true;
    if (count > transfer.max_bytes - std::min(transfer.max_bytes, transfer.received.size())) {
      transfer.refused = Refused::too_large;
      return 0;
    }
    try {
      transfer.received.append(data, count);
    } catch (const std::exception&) {
      transfer.refused = Refused::out_of_memory;
      return 0;
    }
    return count;
  }
  static size_t take_header(char*, size_t, size_t count, void* self) noexcept {
    static_cast<Transfer*>(self)->heard = true;
    return count;
  }
};

Connection::Connection() : multi_(curl_multi_init(), curl_multi_cleanup) {
  if (!multi_) throw std::bad_alloc();
}

void Connection::prepare(const Endpoint& endpoint, const HttpRequest& request, Transfer& transfer) {
  easy_.reset();
  easy_.set(CURLOPT_URL, endpoint.base_url + request.path);
  easy_.set(CURLOPT_PATH_AS_IS, 1L);
  easy_.set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy_.set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  easy_.set(CURLOPT_FOLLOWLOCATION, 0L);
  easy_.set(CURLOPT_PROXY, endpoint.proxy);  // if it is empty, the environment's is ignored too
  easy_.set(CURLOPT_NOPROXY, "");            // and so are the environment's exceptions
  easy_.set(CURLOPT_NOSIGNAL, 1L);
  easy_.set(CURLOPT_TCP_NODELAY, 1L);
  easy_.set(CURLOPT_TCP_KEEPALIVE, 1L);
  easy_.set(CURLOPT_QUICK_EXIT, 1L);  // a stop doesn't wait for the thread that resolves the name
  easy_.set(CURLOPT_CONNECTTIMEOUT_MS, long(request.connect_timeout.count()));
  easy_.set(CURLOPT_TIMEOUT_MS, long(request.timeout.count()));
  easy_.set(CURLOPT_USERAGENT, "berth");
  easy_.set(CURLOPT_ERRORBUFFER, &transfer.error[0]);
  easy_.set(CURLOPT_WRITEFUNCTION, &Transfer::take);
  easy_.set(CURLOPT_WRITEDATA, &transfer);
  easy_.set(CURLOPT_HEADERFUNCTION, &Transfer::take_header);
  easy_.set(CURLOPT_HEADERDATA, &transfer);
  if (!endpoint.connect_to.empty()) {
    transfer.connect_to.add(endpoint.connect_to);
    easy_.set(CURLOPT_CONNECT_TO, transfer.connect_to);
  }
  easy_.set(CURLOPT_CUSTOMREQUEST, request.method);
  if (!request.content_type.empty()) {
    easy_.set(CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.size()));
    easy_.set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
}

void Connection::prepare_tls(const Access& access, bool verify_tls) {
  easy_.set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  if (!verify_tls) {
    easy_.set(CURLOPT_SSL_VERIFYPEER, 0L);
    easy_.set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!access.ca.empty()) {
    easy_.set_blob(CURLOPT_CAINFO_BLOB, access.ca);
    // The blob replaces only the system's bundle file, not its folder.
    easy_.set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (!access.certificate.empty()) {
    easy_.set(CURLOPT_SSLCERTTYPE, "PEM");
    easy_.set_blob(CURLOPT_SSLCERT_BLOB, access.certificate);
    easy_.set(CURLOPT_SSLKEYTYPE, "PEM");
    easy_.set_blob(CURLOPT_SSLKEY_BLOB, access.key);
  }
}

void Connection::prepare_headers(const Endpoint& endpoint, const Access& access,
                                 const HttpRequest& request, Transfer& transfer) {
  curl::Lines& headers = transfer.headers;
  headers.add("Accept: application/json, */*");
  headers.add("Expect:");  // no 100-continue, which costs a round trip
  if (!endpoint.host.empty()) headers.add("Host: " + endpoint.host);
  if (!access.authorization.empty()) headers.add("Authorization: " + access.authorization);
  for (const std::string& field : access.impersonation) headers.add(field);
  if (!request.content_type.empty()) headers.add("Content-Type: " + request.content_type);
  easy_.set(CURLOPT_HTTPHEADER, headers);
}

void Connection::drive(const HttpRequest& request, const AnswerReader& reader, Transfer& transfer,
                       const std::stop_token& stop) {
  auto last_heard = steady_clock::now();
  for (int running = 1;;) {
    if (stop.stop_requested()) throw Stopped();
    const CURLMcode result = curl_multi_perform(multi_.get(), &running);
    if (result != CURLM_OK)
      throw std::runtime_error(std::string("libcurl: ") + curl_multi_strerror(result));
    const auto now = steady_clock::now();
    if (std::exchange(transfer.heard, false)) {
      last_heard = now;
      if (const int code = int(easy_.status()); reader && code >= 200)
        reader(code, transfer.received);
    }
    if (running == 0) break;
    if (request.silence.count() > 0 && now - last_heard >= request.silence) {
      transfer.silent =
          "nothing was received for " + std::to_string(request.silence.count()) + " ms";
      return;
    }
    curl_multi_poll(multi_.get(), nullptr, 0, int(longest_poll.count()), nullptr);
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left))
    if (message->msg == CURLMSG_DONE) transfer.result = message->data.result;
}

HttpAnswer Connection::answer_of(Transfer& transfer) {
  HttpAnswer answer;
  if (!transfer.silent.empty()) {
    answer.failure = transfer.silent;
    answer.was_silent = true;
  } else if (transfer.refused == Transfer::Refused::too_large) {
    answer.failure = "the answer is larger than " + std::to_string(transfer.max_bytes) + " bytes";
  } else if (transfer.refused == Transfer::Refused::out_of_memory) {
    throw std::bad_alloc();
  } else if (transfer.result != CURLE_OK) {
    answer.failure = transfer.error[0] ? transfer.error : curl_easy_strerror(transfer.result);
  } else {
    answer.status = int(easy_.status());
    answer.retry_after = easy_.retry_after();
  }
  answer.body = std::move(transfer.received);
  return answer;
}

HttpAnswer Connection::run(const Endpoint& endpoint, const Access& access, bool verify_tls,
                           const HttpRequest& request, const AnswerReader& reader,
                           const std::stop_token& stop) {
  Transfer transfer;
  transfer.max_bytes = request.max_body_bytes;
  prepare(endpoint, request, transfer);
  prepare_tls(access, verify_tls);
  prepare_headers(endpoint, access, request, transfer);

  struct Added {
    CURLM* multi;
    CURL* easy;
    ~Added() { curl_multi_remove_handle(multi, easy); }
  };
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK)
    throw std::runtime_error("libcurl can't add a handle");
  const Added added{multi_.get(), easy_.get()};
  const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_.get()); });
  drive(request, reader, transfer, stop);
  return answer_of(transfer);
}

ConnectionPool::Lease ConnectionPool::take(milliseconds patience, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool free = free_.wait_for(lock, stop, patience, [&] { return in_use_ < max_connections; });
  if (stop.stop_requested()) throw Stopped();
  if (!free) return Lease(nullptr, Return{this});
  std::unique_ptr<Connection> connection;
  if (idle_.empty()) {
    connection = std::make_unique<Connection>();
  } else {
    connection = std::move(idle_.back());
    idle_.pop_back();
  }
  ++in_use_;
  return Lease(connection.release(), Return{this});
}

void ConnectionPool::give_back(Connection* connection) {
  std::unique_ptr<Connection> returned(connection);
  const std::scoped_lock lock(mutex_);
  --in_use_;
  if (idle_.size() < max_idle_connections) idle_.push_back(std::move(returned));
  free_.notify_one();
}

}  // namespace berth::kube
