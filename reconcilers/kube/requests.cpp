#include "reconcilers/kube/requests.h"

#include <algorithm>
#include <utility>

#include "reconcilers/kube/answers.h"

namespace berth::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

}  // namespace

std::string Call::name() const { return method + " " + path.substr(0, path.find('?')); }

// Counts the calls that are running, so that the destructor can wait for them.
class Requests::Running {
 public:
  explicit Running(Requests& requests) : requests_(requests) {
    const std::scoped_lock lock(requests_.mutex_);
    ++requests_.running_;
  }
  ~Running() {
    const std::scoped_lock lock(requests_.mutex_);
    --requests_.running_;
    requests_.changed_.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Requests& requests_;
};

namespace {

Endpoint endpoint_with_proxy(const Kubeconfig& config) {
  Endpoint endpoint = endpoint_of(config.server, config.tls_server_name);
  endpoint.proxy = config.proxy_url;
  // As in client-go, the proxy resolves the server's name.
  constexpr std::string_view socks = "socks5://";
  if (endpoint.proxy.starts_with(socks)) endpoint.proxy.replace(0, socks.size(), "socks5h://");
  return endpoint;
}

}  // namespace

Requests::Requests(const Kubeconfig& config, ClientOptions options)
    : endpoint_(endpoint_with_proxy(config)),
      verify_tls_(!config.insecure_skip_tls_verify),
      options_(std::move(options)),
      credentials_(config) {}

Requests::~Requests() {
  closing_.request_stop();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ == 0; });
}

HttpRequest Requests::request_of(const Call& call) const {
  return {call.method,
          call.path,
          call.body,
          call.content_type,
          options_.connect_timeout,
          options_.request_timeout,
          milliseconds(0),
          call.max_body_bytes};
}

HttpAnswer Requests::send(const Call& call) {
  const Running running(*this);
  try {
    return attempts(call, request_of(call), nullptr, closing_.get_token());
  } catch (const Stopped&) {
    throw ApiError(0, "", call.name() + ": the client is closing");
  }
}

HttpAnswer Requests::stream(const Call& call, const std::function<void(std::string_view)>& on_piece,
                            const std::stop_token& stop, std::optional<milliseconds> within) {
  const Running running(*this);
  std::stop_source either;
  const std::stop_callback by_caller(stop, [&] { either.request_stop(); });
  const std::stop_callback by_closing(closing_.get_token(), [&] { either.request_stop(); });
  HttpRequest request = request_of(call);
  request.timeout = within.value_or(milliseconds(0));
  request.silence = options_.watch_silence;
  const AnswerReader reader = [&](int status, std::string& received) {
    if (status != 200) return;
    on_piece(received);
    received.clear();
  };
  try {
    return attempts(call, request, reader, either.get_token());
  } catch (const Stopped&) {
    if (!stop.stop_requested()) throw ApiError(0, "", call.name() + ": the client is closing");
    throw;
  }
}

Access Requests::access(const Call& call, const std::stop_token& stop) {
  try {
    return credentials_.now(stop);
  } catch (const std::runtime_error& failure) {
    if (stop.stop_requested()) throw Stopped();
    throw ApiError(0, "", call.name() + ": " + failure.what());
  }
}

HttpAnswer Requests::attempts(const Call& call, const HttpRequest& request,
                              const AnswerReader& reader, const std::stop_token& stop) {
  bool renewed = false;
  for (int retries = 0;;) {
    const Access shown = access(call, stop);
    HttpAnswer answer = attempt(call, shown, request, reader, stop);
    if (answer.status == 0) throw error_of(answer, call.name());
    if (answer.status == 401 && !std::exchange(renewed, true)) {
      credentials_.refused(shown);
      continue;
    }
    const bool busy = (answer.status == 429 || answer.status == 503) && answer.retry_after;
    if (!busy || retries++ >= options_.max_retries) return answer;
    pause(std::min(*answer.retry_after, options_.max_retry_after), stop);
  }
}

milliseconds Requests::time_for(const Call& call, milliseconds most) const {
  if (call.method == "GET" || !options_.write_time) return most;
  const auto time = options_.write_time();
  if (!time) throw Fenced(call.name() + ": this process doesn't lead");
  return std::min(most, *time);
}

HttpAnswer Requests::attempt(const Call& call, const Access& shown, HttpRequest request,
                             const AnswerReader& reader, const std::stop_token& stop) {
  const auto connection = pool_.take(options_.request_timeout, stop);
  if (!connection) throw ApiError(0, "", call.name() + ": all connections are in use");
  request.timeout = time_for(call, request.timeout);
  const auto start = steady_clock::now();
  bool observed = false;
  const auto observe = [&](int status) {
    if (!std::exchange(observed, true) && options_.observer)
      options_.observer(call.verb, call.plural, status, steady_clock::now() - start);
  };
  const AnswerReader observing = [&](int status, std::string& received) {
    observe(status);
    reader(status, received);
  };
  HttpAnswer answer =
      connection->run(endpoint_, shown, verify_tls_, request, reader ? observing : nullptr, stop);
  observe(answer.status);
  return answer;
}

void Requests::pause(std::chrono::seconds wait, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, wait, [] { return false; });
  if (stop.stop_requested()) throw Stopped();
}

}  // namespace berth::kube
