#include "api/resources/container_sessions/session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "controller/base/error.h"
#include "controller/base/log.h"

namespace berth::api {
namespace {

using nlohmann::json;

// The channels of v5.channel.k8s.io (KEP-4006).
constexpr unsigned char input_channel = 0;
constexpr unsigned char output_channel = 1;
constexpr unsigned char error_channel = 2;
constexpr unsigned char status_channel = 3;
constexpr unsigned char resize_channel = 4;
constexpr unsigned char close_channel = 255;

constexpr int widest_terminal = 10'000;

// How long the output's thread waits at most before it looks at everything again.
constexpr std::chrono::milliseconds step{500};
// A session's descriptor may be readable although nothing comes; this keeps the thread from
// spinning then.
constexpr std::chrono::milliseconds after_hint{20};
// How long the input's thread waits at most before it looks whether the session is over.
constexpr std::chrono::milliseconds input_step{1000};

std::string on_channel(unsigned char channel, std::string_view data) {
  std::string message(1, static_cast<char>(channel));
  return message.append(data);
}

exec::TerminalSize size_in(std::string_view text) {
  const json size = json::parse(text, nullptr, false);
  const auto side = [&](const char* name) -> int {
    const auto found = size.is_object() ? size.find(name) : size.end();
    if (!size.is_object() || found == size.end() || !found->is_number_integer() || *found < 1 ||
        *found > widest_terminal)
      throw websocket::Violation(
          websocket::invalid_data,
          "a size of a terminal must be {\"Width\":n,\"Height\":n}, 1 to 10000");
    return found->get<int>();
  };
  return {.columns = side("Width"), .rows = side("Height")};
}

bool is_readable(int descriptor) {
  pollfd state{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&state, 1, 0) > 0;
}

}  // namespace

std::string status_message(const exec::End& end) {
  json status = {{"metadata", json::object()}, {"status", "Success"}};
  if (end.exit_code != 0 || !end.problem.empty()) {
    status["status"] = "Failure";
    if (end.exit_code) {
      const std::string code = std::to_string(*end.exit_code);
      status["message"] =
          end.problem.empty() ? "command terminated with exit code " + code : end.problem;
      status["reason"] = "NonZeroExitCode";
      const json cause = {{"reason", "ExitCode"}, {"message", code}};
      status["details"]["causes"] = json::array({cause});
    } else {
      status["message"] = end.problem.empty() ? "the command's exit code isn't known" : end.problem;
      status["reason"] = "InternalError";
      status["code"] = 500;
    }
  }
  return status.dump(-1, ' ', false, json::error_handler_t::replace);
}

ContainerSession::ContainerSession(Parts parts)
    : parts_(std::move(parts)), news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  outcome_.why = "the client went away before the session began";
  if (news_ < 0) {
    const int reason = errno;
    parts_.ended(outcome_);
    throw std::system_error(reason, std::generic_category(), "eventfd");
  }
}

ContainerSession::~ContainerSession() {
  ::close(news_);
  outcome_.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
  parts_.session.reset();
  parts_.ended(outcome_);
}

void ContainerSession::run(const Upgraded& upgraded) {
  websocket::Connection client(upgraded, {.message_bytes = parts_.limits.message_bytes});
  std::thread input;
  try {
    input = std::thread([&] { pass_input(client); });
  } catch (const std::system_error&) {
    outcome_.why = "no thread could be started";
    return client.close(websocket::try_again_later, "berthd has too few threads; try again later");
  }
  Ending ending;
  try {
    ending = pass_output(client, upgraded);
  } catch (const Error& refusal) {
    ending = {websocket::internal_error, refusal.what()};
  } catch (const std::exception& failure) {
    log::error("the output of a session in a container failed", {{"reason", failure.what()}});
    ending = {websocket::internal_error, "berthd failed"};
  }
  is_over_ = true;
  outcome_.why = ending.why;
  parts_.session->cancel();  // the input's thread may wait for it
  client.close(ending.code, ending.why);
  const auto deadline = Clock::now() + parts_.limits.close;
  while (!input_over_ && Clock::now() < deadline) {
    pollfd state{.fd = news_, .events = POLLIN, .revents = 0};
    ::poll(&state, 1, int(parts_.limits.close.count()));
  }
  // What has arrived from the client may still be read, so that it gets the close.
  if (!input_over_) client.hang_up();
  input.join();
}

ContainerSession::Ending ContainerSession::pass_output(websocket::Connection& client,
                                                       const Upgraded& upgraded) {
  std::chrono::milliseconds patience{0};
  while (true) {
    if (must_end(client, upgraded)) return *ending_;
    // Also while output comes without a pause: a client that is sent no ping sends no pong.
    if (Clock::now() - pinged_ >= parts_.limits.ping) {
      pinged_ = Clock::now();
      client.send(websocket::Kind::ping, "", [&] { return must_end(client, upgraded); });
    }
    if (auto event = parts_.session->receive(patience)) {
      patience = std::chrono::milliseconds(0);
      if (const auto* end = std::get_if<exec::End>(&*event)) return finish(client, upgraded, *end);
      if (send_output(client, upgraded, std::get<exec::Output>(*event))) continue;
      return ending_.value_or(
          Ending{websocket::going_away, "the client is gone, or took nothing for too long"});
    }
    std::array<pollfd, 3> waited = {
        {{.fd = parts_.session->descriptor(), .events = POLLIN, .revents = 0},
         {.fd = upgraded.ending, .events = POLLIN, .revents = 0},
         {.fd = news_, .events = POLLIN, .revents = 0}}};
    ::poll(waited.data(), waited.size(), int(std::min(step, parts_.limits.check).count()));
    patience = waited[0].revents == 0 ? std::chrono::milliseconds(0) : after_hint;
  }
}

bool ContainerSession::must_end(const websocket::Connection& client, const Upgraded& upgraded) {
  if (!ending_) ending_ = reason_to_end(client, upgraded);
  return ending_.has_value();
}

std::optional<ContainerSession::Ending> ContainerSession::reason_to_end(
    const websocket::Connection& client, const Upgraded& upgraded) {
  if (is_readable(upgraded.ending))
    return Ending{websocket::going_away, "berthd is shutting down; open the session again"};
  {
    const std::lock_guard lock(mutex_);
    if (of_input_) return of_input_;
  }
  const auto now = Clock::now();
  if (now - client.heard() > parts_.limits.silence)
    return Ending{websocket::going_away, "the client has answered no ping"};
  if (now - used_.load() > parts_.limits.idle)
    return Ending{websocket::policy_violation, "nothing was sent for too long"};
  if (now - began_ > parts_.limits.longest)
    return Ending{websocket::policy_violation, "the session has lasted as long as it may"};
  if (now - checked_ < parts_.limits.check) return std::nullopt;
  auto refusal = refusal_to_go_on();
  checked_ = Clock::now();
  return refusal;
}

std::optional<ContainerSession::Ending> ContainerSession::refusal_to_go_on() {
  try {
    parts_.check();
    return std::nullopt;
  } catch (const Error& refusal) {
    return Ending{websocket::policy_violation, refusal.what()};
  } catch (const std::exception& failure) {
    log::error("a session in a container couldn't be checked", {{"reason", failure.what()}});
    return Ending{websocket::policy_violation,
                  "it couldn't be checked whether the session may go on"};
  }
}

bool ContainerSession::send_output(websocket::Connection& client, const Upgraded& upgraded,
                                   const exec::Output& from) {
  const bool has_channels = parts_.kind == exec::SessionKind::exec;
  std::string_view bytes = from.bytes;
  while (!bytes.empty()) {
    used_ = Clock::now();
    const std::string_view piece = bytes.substr(0, parts_.limits.frame_bytes);
    const auto give_up = [&] { return must_end(client, upgraded); };
    const auto channel = from.stream == exec::Output::Stream::out ? output_channel : error_channel;
    const bool was_sent =
        has_channels ? client.send(websocket::Kind::binary, on_channel(channel, piece), give_up)
                     : client.send(websocket::Kind::binary, piece, give_up);
    if (!was_sent) return false;
    bytes.remove_prefix(piece.size());
    if (bytes.empty()) break;
    // A large output is no reason not to look.
    if (must_end(client, upgraded)) return false;
  }
  return true;
}

ContainerSession::Ending ContainerSession::finish(websocket::Connection& client,
                                                  const Upgraded& upgraded, const exec::End& end) {
  outcome_.exit_code = end.exit_code;
  if (parts_.kind == exec::SessionKind::exec) {
    client.send(websocket::Kind::binary, on_channel(status_channel, status_message(end)),
                [&] { return must_end(client, upgraded); });
    return {websocket::normal, end.problem};
  }
  return {end.problem.empty() ? websocket::normal : websocket::internal_error, end.problem};
}

void ContainerSession::pass_input(websocket::Connection& client) {
  using Received = websocket::Connection::Received;
  Ending ending = {websocket::normal, "the client closed the connection"};
  try {
    while (true) {
      const Received received =
          client.receive(input_step, [&](const websocket::Message& message) { take(message); });
      if (received == Received::closed) break;
      if (received == Received::gone) {
        ending = {websocket::going_away, "the client is gone"};
        break;
      }
    }
  } catch (const websocket::Violation& violation) {
    ending = {violation.code, violation.what()};
  } catch (const Error& refusal) {
    ending = {websocket::internal_error, refusal.what()};
  } catch (const std::exception& failure) {
    if (!is_over_)
      log::error("the input of a session in a container failed", {{"reason", failure.what()}});
    ending = {websocket::internal_error, "berthd failed"};
  }
  input_is_over(ending);
}

void ContainerSession::input_is_over(const Ending& ending) {
  {
    const std::lock_guard lock(mutex_);
    of_input_ = ending;
  }
  input_over_ = true;
  ::eventfd_write(news_, 1);
}

void ContainerSession::take(const websocket::Message& message) {
  if (is_over_) return;  // only the answer to a close is waited for
  if (message.kind != websocket::Kind::binary)
    throw websocket::Violation(websocket::unsupported_data, "messages have to be binary");
  used_ = Clock::now();
  if (parts_.kind == exec::SessionKind::exec) return take_exec(message.data);
  if (message.data.empty())
    parts_.session->close_input();
  else
    parts_.session->send(message.data);
}

void ContainerSession::take_exec(std::string_view message) {
  if (message.empty())
    throw websocket::Violation(websocket::protocol_error, "a message names no channel");
  const auto channel = static_cast<unsigned char>(message.front());
  message.remove_prefix(1);
  switch (channel) {
    case input_channel:
      if (!message.empty()) parts_.session->send(message);
      return;
    case resize_channel:
      return parts_.session->resize(size_in(message));
    case close_channel:
      if (message == std::string_view("\0", 1)) parts_.session->close_input();
      return;
    default:
      throw websocket::Violation(websocket::protocol_error,
                                 "a message is on a channel that clients don't write to");
  }
}

}  // namespace berth::api
