#include "reconcilers/kube/connection.h"

#include <algorithm>
#include <charconv>
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

// curl_global_init has to be called before everything else, and isn't thread-safe in every build.
void init_libcurl_once() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) throw std::runtime_error("libcurl can't be initialised");
}

template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode result = curl_easy_setopt(easy, option, value);
  if (result == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (result != CURLE_OK)
    throw std::runtime_error(std::string("libcurl: ") + curl_easy_strerror(result));
}

void set_blob(CURL* easy, CURLoption option, const std::string& text) {
  curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_COPY};
  set(easy, option, &blob);
}

class Headers {
 public:
  Headers() = default;
  ~Headers() { curl_slist_free_all(list_); }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  void add(const std::string& line) {
    curl_slist* longer = curl_slist_append(list_, line.c_str());
    if (!longer) throw std::bad_alloc();
    list_ = longer;
  }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// The Retry-After header holds seconds or a date (RFC 9110, section 10.2.3).
std::optional<std::chrono::seconds> parse_retry_after(std::string_view text) {
  long seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size() && seconds >= 0)
    return std::chrono::seconds(seconds);
  const time_t date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::chrono::seconds(std::max<time_t>(0, date - std::time(nullptr)));
}

}  // namespace

struct Connection::Transfer {
  Headers headers;
  Headers connect_to;
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

Connection::Connection() : multi_(nullptr, curl_multi_cleanup), easy_(nullptr, curl_easy_cleanup) {
  init_libcurl_once();
  multi_.reset(curl_multi_init());
  easy_.reset(curl_easy_init());
  if (!multi_ || !easy_) throw std::bad_alloc();
}

int Connection::status() const {
  long code = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &code);
  return int(code);
}

void Connection::prepare(const Endpoint& endpoint, const HttpRequest& request, Transfer& transfer) {
  CURL* easy = easy_.get();
  curl_easy_reset(easy);
  set(easy, CURLOPT_URL, (endpoint.base_url + request.path).c_str());
  set(easy, CURLOPT_PATH_AS_IS, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_PROXY, "");  // ignores proxies in the environment too
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_TCP_NODELAY, 1L);
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_QUICK_EXIT, 1L);  // a stop doesn't wait for the thread that resolves the name
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, long(request.connect_timeout.count()));
  set(easy, CURLOPT_TIMEOUT_MS, long(request.timeout.count()));
  set(easy, CURLOPT_USERAGENT, "berth");
  set(easy, CURLOPT_ERRORBUFFER, &transfer.error[0]);
  set(easy, CURLOPT_WRITEFUNCTION, &Transfer::take);
  set(easy, CURLOPT_WRITEDATA, &transfer);
  set(easy, CURLOPT_HEADERFUNCTION, &Transfer::take_header);
  set(easy, CURLOPT_HEADERDATA, &transfer);
  if (!endpoint.connect_to.empty()) {
    transfer.connect_to.add(endpoint.connect_to);
    set(easy, CURLOPT_CONNECT_TO, transfer.connect_to.get());
  }
  set(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.content_type.empty()) {
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.size()));
    set(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  }
}

void Connection::prepare_tls(const Access& access, bool verify_tls) {
  CURL* easy = easy_.get();
  set(easy, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  if (!verify_tls) {
    set(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    set(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!access.ca.empty()) {
    set_blob(easy, CURLOPT_CAINFO_BLOB, access.ca);
    // The blob replaces only the system's bundle file, not its folder.
    set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (!access.certificate.empty()) {
    set(easy, CURLOPT_SSLCERTTYPE, "PEM");
    set_blob(easy, CURLOPT_SSLCERT_BLOB, access.certificate);
    set(easy, CURLOPT_SSLKEYTYPE, "PEM");
    set_blob(easy, CURLOPT_SSLKEY_BLOB, access.key);
  }
}

void Connection::prepare_headers(const Endpoint& endpoint, const Access& access,
                                 const HttpRequest& request, Transfer& transfer) {
  Headers& headers = transfer.headers;
  headers.add("Accept: application/json, */*");
  headers.add("Expect:");  // no 100-continue, which costs a round trip
  if (!endpoint.host.empty()) headers.add("Host: " + endpoint.host);
  if (!access.authorization.empty()) headers.add("Authorization: " + access.authorization);
  if (!request.content_type.empty()) headers.add("Content-Type: " + request.content_type);
  set(easy_.get(), CURLOPT_HTTPHEADER, headers.get());
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
      if (const int code = status(); reader && code >= 200) reader(code, transfer.received);
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
  } else if (transfer.refused == Transfer::Refused::too_large) {
    answer.failure = "the answer is larger than " + std::to_string(transfer.max_bytes) + " bytes";
  } else if (transfer.refused == Transfer::Refused::out_of_memory) {
    throw std::bad_alloc();
  } else if (transfer.result != CURLE_OK) {
    answer.failure = transfer.error[0] ? transfer.error : curl_easy_strerror(transfer.result);
  } else {
    answer.status = status();
    curl_header* header = nullptr;
    if (curl_easy_header(easy_.get(), "Retry-After", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
      answer.retry_after = parse_retry_after(header->value);
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
