#include "reconcilers/embedded/node/unix_http.h"

#include <httplib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>

namespace berth::embedded {
namespace {

using Failure = UnixHttpError::Kind;

class UnixClient final : public httplib::ClientImpl {
 public:
  UnixClient(std::string path, const std::atomic<bool>* cancelled)
      : ClientImpl("localhost"), path_(std::move(path)), cancelled_(cancelled) {}

 protected:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override {
    // stop() finds no connection to close before this function was called; afterwards it does.
    error = httplib::Error::Canceled;
    if (cancelled_ && *cancelled_) return false;
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    error = httplib::Error::Connection;
    if (fd < 0) return false;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    // Without this limit, a connection to a service that doesn't accept any would wait for ever
    // once its queue is full.
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int connected = 0;
    do {
      connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } while (connected != 0 && errno == EINTR);
    if (connected != 0) {
      ::close(fd);
      return false;
    }
    error = httplib::Error::Success;
    socket.sock = fd;
    return true;
  }

 private:
  std::string path_;
  const std::atomic<bool>* cancelled_;
};

}  // namespace

struct UnixCancel::Calls {
  std::mutex mutex;
  std::atomic<bool> cancelled = false;
  std::set<UnixClient*> running;
};

UnixCancel::UnixCancel() : calls_(std::make_shared<Calls>()) {}
UnixCancel::~UnixCancel() = default;

void UnixCancel::cancel() {
  const std::lock_guard lock(calls_->mutex);
  calls_->cancelled = true;
  for (UnixClient* client : calls_->running) client->stop();
}

bool UnixCancel::cancelled() const { return calls_->cancelled; }

namespace {

// While it exists, cancel() finds the client.
class Running {
 public:
  Running(UnixCancel::Calls* calls, UnixClient& client) : calls_(calls), client_(&client) {
    if (!calls_) return;
    const std::lock_guard lock(calls_->mutex);
    calls_->running.insert(client_);
  }
  ~Running() {
    if (!calls_) return;
    const std::lock_guard lock(calls_->mutex);
    calls_->running.erase(client_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  UnixCancel::Calls* calls_;
  UnixClient* client_;
};

}  // namespace

UnixHttp::UnixHttp(std::string socket_path, std::string host)
    : path_(std::move(socket_path)), host_(std::move(host)) {
  if (path_.size() > longest_path)
    throw std::invalid_argument("The path of the socket " + path_ + " has " +
                                std::to_string(path_.size()) + " bytes, and a socket's path has " +
                                std::to_string(longest_path) + " at most.");
}

UnixAnswer UnixHttp::call(const UnixCall& call) const {
  const std::shared_ptr<UnixCancel::Calls> calls = call.cancel ? call.cancel->calls_ : nullptr;
  UnixClient client(path_, calls ? &calls->cancelled : nullptr);
  client.set_url_encode(false);
  client.set_decompress(false);
  client.set_read_timeout(call.silence);
  client.set_write_timeout(call.silence);

  httplib::Request request;
  request.method = call.method;
  request.path = call.target;
  request.set_header("Host", host_);
  request.set_header("Accept-Encoding", "identity");
  for (const auto& [name, value] : call.headers) request.set_header(name, value);
  const bool has_body = !call.body.empty() || call.source;
  if (has_body && !call.headers.contains("Content-Type"))
    request.set_header("Content-Type", call.content_type);

  bool unwanted = false;
  bool too_large = false;
  if (call.source) {
    request.set_header("Transfer-Encoding", "chunked");
    request.is_chunked_content_provider_ = true;
    request.content_provider_ = [&](size_t, size_t, httplib::DataSink& sink) {
      try {
        const std::string part = call.source();
        if (part.empty())
          sink.done();
        else if (!sink.write(part.data(), part.size()))
          return false;
        return true;
      } catch (const std::exception&) {
        unwanted = true;
        return false;
      }
    };
  } else {
    request.body = call.body;
  }

  UnixAnswer answer;
  request.response_handler = [&](const httplib::Response& head) {
    answer.status = head.status;
    return true;
  };
  request.content_receiver = [&](const char* data, size_t size, std::uint64_t, std::uint64_t) {
    if (call.receive && answer.good()) {
      unwanted = !call.receive({data, size});
      return !unwanted;
    }
    too_large = answer.body.size() + size > call.most_bytes;
    if (!too_large) answer.body.append(data, size);
    return !too_large;
  };

  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  const auto began = std::chrono::steady_clock::now();
  bool done = false;
  {
    const Running running(calls.get(), client);
    done = client.send(request, response, error);
  }
  if (done) {
    answer.status = response.status;
    return answer;
  }
  if (too_large)
    throw UnixHttpError(Failure::too_large, "The answer to " + call.target + " has more than " +
                                                std::to_string(call.most_bytes) + " bytes.");
  if (unwanted || (calls && calls->cancelled))
    throw UnixHttpError(Failure::cancelled, "The call was cancelled.");
  const auto waited = std::chrono::steady_clock::now() - began;
  if (error != httplib::Error::Connection && waited >= call.silence)
    throw UnixHttpError(Failure::timed_out, path_ + " didn't answer " + call.method + " " +
                                                call.target + " within " +
                                                std::to_string(call.silence.count()) + " ms.");
  throw UnixHttpError(Failure::unreachable, path_ + " can't be reached for " + call.method + " " +
                                                call.target + ": " + httplib::to_string(error) +
                                                ".");
}

}  // namespace berth::embedded
