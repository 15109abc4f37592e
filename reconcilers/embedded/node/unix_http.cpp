#include "reconcilers/embedded/node/unix_http.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>

#include "controller/base/text.h"

namespace berth::embedded {
namespace {

using Failure = UnixHttpError::Kind;

// Returns an invalid descriptor if nobody listens.
Descriptor connected_to(const std::string& path) {
  Descriptor connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection.valid()) return connection;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  // Without this limit, a connection to a service that doesn't accept any would wait for ever
  // once its queue is full.
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  int result = 0;
  do {
    result =
        ::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? std::move(connection) : Descriptor();
}

class UnixClient final : public httplib::ClientImpl {
 public:
  UnixClient(std::string path, const std::atomic<bool>* cancelled)
      : ClientImpl("localhost"), path_(std::move(path)), cancelled_(cancelled) {}

 protected:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override {
    // stop() finds no connection to close before this function was called; afterwards it does.
    error = httplib::Error::Canceled;
    if (cancelled_ && *cancelled_) return false;
    Descriptor connection = connected_to(path_);
    error = httplib::Error::Connection;
    if (!connection.valid()) return false;
    error = httplib::Error::Success;
    socket.sock = connection.release();
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

namespace {

// Reads from a connection until a deadline. Throws UnixHttpError.
class DeadlineReader {
 public:
  DeadlineReader(int socket, std::chrono::milliseconds patience, std::string whom)
      : socket_(socket),
        until_(std::chrono::steady_clock::now() + patience),
        whom_(std::move(whom)) {}

  // Returns false at the end.
  bool read(char* to, std::size_t most, std::size_t& got) {
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until_ - std::chrono::steady_clock::now());
      pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
      const int ready = ::poll(&waiting, 1, int(std::max<std::int64_t>(left.count(), 0)));
      if (ready == 0) throw UnixHttpError(Failure::timed_out, whom_ + " didn't answer in time.");
      if (ready < 0 && errno == EINTR) continue;
      const ssize_t size = ::recv(socket_, to, most, 0);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) throw UnixHttpError(Failure::unreachable, whom_ + " broke the connection off.");
      got = std::size_t(size);
      return size > 0;
    }
  }

 private:
  const int socket_;
  const std::chrono::steady_clock::time_point until_;
  const std::string whom_;
};

constexpr std::size_t most_head_bytes = 16 * 1024;

// Reads no further than the end of the head: what follows a 101 isn't HTTP any more.
std::string read_head(DeadlineReader& reader) {
  std::string head;
  char byte = 0;
  std::size_t got = 0;
  while (!head.ends_with("\r\n\r\n")) {
    if (head.size() == most_head_bytes)
      throw UnixHttpError(Failure::too_large, "The head of an answer is too large.");
    if (!reader.read(&byte, 1, got))
      throw UnixHttpError(Failure::unreachable, "An answer ended within its head.");
    head += byte;
  }
  return head;
}

}  // namespace

Descriptor UnixHttp::upgrade(const UnixCall& call, UnixAnswer& answer) const {
  Descriptor connection = connected_to(path_);
  if (!connection.valid())
    throw UnixHttpError(Failure::unreachable, path_ + " can't be reached for " + call.target + ".");
  std::string request =
      call.method + " " + call.target + " HTTP/1.1\r\nHost: " + host_ +
      "\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Type: " + call.content_type +
      "\r\nContent-Length: " + std::to_string(call.body.size()) + "\r\n\r\n" + call.body;
  for (std::string_view rest = request; !rest.empty();) {
    const ssize_t sent = ::send(connection.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw UnixHttpError(Failure::unreachable, path_ + " took no request.");
    rest.remove_prefix(std::size_t(sent));
  }
  DeadlineReader reader(connection.get(), call.silence, path_);
  const std::string head = read_head(reader);
  // HTTP/1.1 101 …
  constexpr std::size_t status_at = 9;
  constexpr std::size_t status_size = 3;
  answer.status = parse_number<int>(
                      std::string_view(head).substr(std::min(head.size(), status_at), status_size))
                      .value_or(0);
  if (answer.status == 101) return connection;
  // Connections that aren't upgraded are kept open; what has arrived by now says what is wrong.
  std::array<char, 4096> part{};
  std::size_t got = 0;
  if (reader.read(part.data(), part.size(), got)) answer.body.assign(part.data(), got);
  return {};
}

}  // namespace berth::embedded
