#include "reconcilers/embedded/ingress/access_log.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>

#include "controller/base/log.h"
#include "controller/base/text.h"

namespace berth::embedded {
namespace {

// Asked of the kernel; an unprivileged process gets less (net.core.rmem_max).
constexpr int receive_buffer = 16 << 20;
// How many lines are read by one system call, and their greatest length. Longer ones are cut: the
// line of a request has some 150 bytes.
constexpr size_t batch = 64;
constexpr size_t longest_line = 4'096;

// The longest reason that is kept, and of how many hosts what was said about a challenge.
constexpr size_t longest_reason = 1'000;
constexpr size_t most_challenges = 1'000;

// What a line of a request has, before and behind what matters. Quotes within values are escaped
// in JSON, so these can't be part of a value.
constexpr std::string_view before_host = "\"request\":{\"host\":\"";
constexpr std::string_view before_duration = "\"duration\":";
constexpr std::string_view before_status = "\"status\":";

sockaddr_in loopback_at(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool bind_to(int socket, int port) {
  const sockaddr_in address = loopback_at(port);
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

int port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

// The number that follows `name` where it occurs last.
template <typename Number>
std::optional<Number> number_behind(std::string_view line, std::string_view name) {
  const size_t at = line.rfind(name);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + name.size());
  Number value{};
  if (std::from_chars(line.data(), line.data() + line.size(), value).ec != std::errc()) return {};
  return value;
}

size_t range_of(double seconds) {
  const auto* end = std::ranges::lower_bound(HostTraffic::bounds, seconds);
  return size_t(end - HostTraffic::bounds.begin());
}

}  // namespace

AccessLog::AccessLog(int port, std::string secret, CertificateFailure on_failure)
    : mark_("\"" + std::move(secret) + "\":\""),
      on_failure_(std::move(on_failure)),
      socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!socket_.valid() || !wake_.valid() ||
      (!bind_to(socket_.get(), port) && !bind_to(socket_.get(), 0)))
    throw std::system_error(errno, std::generic_category(), "can't receive Caddy's log");
  port_ = port_of(socket_.get());
  const int on = 1;
  setsockopt(socket_.get(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
  if (setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer,
                 sizeof receive_buffer) != 0)
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

AccessLog::~AccessLog() {
  thread_.request_stop();
  eventfd_write(wake_.get(), 1);
}

void AccessLog::run(const std::stop_token& stop) {
  std::vector<std::array<char, longest_line>> texts(batch);
  std::vector<std::array<char, CMSG_SPACE(sizeof(std::uint32_t))>> controls(batch);
  std::vector<iovec> pieces(batch);
  std::vector<mmsghdr> messages(batch);
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> waited = {pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                    pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0}};
    poll(waited.data(), waited.size(), -1);
    for (size_t i = 0; i < batch; ++i) {
      pieces[i] = {texts[i].data(), texts[i].size()};
      messages[i] = {};
      messages[i].msg_hdr.msg_iov = &pieces[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      messages[i].msg_hdr.msg_control = controls[i].data();
      messages[i].msg_hdr.msg_controllen = controls[i].size();
    }
    const int count = recvmmsg(socket_.get(), messages.data(), batch, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < count; ++i) {
      msghdr& header = messages[size_t(i)].msg_hdr;
      if (const cmsghdr* extra = CMSG_FIRSTHDR(&header);
          extra != nullptr && extra->cmsg_type == SO_RXQ_OVFL) {
        std::uint32_t dropped = 0;
        std::copy_n(CMSG_DATA(extra), sizeof dropped, reinterpret_cast<unsigned char*>(&dropped));
        note_loss(dropped);
      }
      take({texts[size_t(i)].data(), messages[size_t(i)].msg_len});
    }
  }
}

// The kernel's counter has 32 bits and begins again at 0.
void AccessLog::note_loss(std::uint32_t dropped) {
  const std::uint32_t more = dropped - dropped_;
  if (more == 0) return;
  dropped_ = dropped;
  lost_ += more;
  log::warning("requests weren't counted, because berthd was too busy to read Caddy's log",
               {{"requests", more}});
}

void AccessLog::take(std::string_view line) {
  if (line.find(mark_) == std::string_view::npos) return;
  if (line.find(before_status) != std::string_view::npos &&
      line.find("\"logger\":\"http.log.access\"") != std::string_view::npos)
    take_request(line);
  else if (line.starts_with("{\"level\":\"error\"") || line.starts_with("{\"level\":\"warn\""))
    take_trouble(line);
}

void AccessLog::take_request(std::string_view line) {
  const size_t at = line.find(before_host);
  if (at == std::string_view::npos) return;
  std::string_view host = line.substr(at + before_host.size());
  host = host.substr(0, host.find('"'));
  host = host.substr(0, host.find(':'));
  const auto status = number_behind<int>(line, before_status);
  const auto seconds = number_behind<double>(line, before_duration);
  // An upgraded connection has 101, and an answer that nobody waited for 0.
  if (!status || !seconds || *status < 200 || *status > 599) return;
  const std::lock_guard lock(mutex_);
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  ++found->second.by_class.at(size_t(*status / 100 - 2));
  ++found->second.within.at(range_of(*seconds));
  found->second.seconds += *seconds;
}

void AccessLog::take_trouble(std::string_view line) {
  const auto told = nlohmann::json::parse(line, nullptr, false);
  if (!told.is_object()) return;
  const auto text = [&](const char* key) {
    const auto found = told.find(key);
    return found != told.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string logger = text("logger");
  const std::string host = text("identifier");
  if (host.empty()) return;
  // What the authority said about a challenge comes first; Caddy's last word is only that it has no
  // other challenge to try. Where the authority's words stand depends on the version of Caddy.
  if (logger.ends_with(".acme_client")) {
    const auto problem = told.find("problem");
    const std::string said = problem != told.end() && problem->is_object()
                                 ? problem->value("detail", "")
                                 : text("error");
    if (text("challenge_type").empty() || said.empty()) return;
    if (challenges_.size() >= most_challenges) challenges_.clear();
    challenges_[host] = said;
    return;
  }
  if (!logger.starts_with("tls.") && logger != "tls") return;
  std::string why = text("error");
  if (const auto said = challenges_.extract(host); !said.empty() && !said.mapped().empty())
    why = said.mapped();
  if (!why.empty() && on_failure_) on_failure_(host, why.substr(0, longest_reason));
}

void AccessLog::add(const std::string& host) {
  const std::lock_guard lock(mutex_);
  hosts_.try_emplace(host);
}

void AccessLog::remove(const std::string& host) {
  const std::lock_guard lock(mutex_);
  hosts_.erase(host);
}

std::optional<HostTraffic> AccessLog::of(const std::string& host) const {
  const std::lock_guard lock(mutex_);
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, HostTraffic> AccessLog::all() const {
  const std::lock_guard lock(mutex_);
  return {hosts_.begin(), hosts_.end()};
}

}  // namespace berth::embedded
