#include "berthd/embedded_exec.h"

#include <atomic>

#include "controller/base/error.h"

namespace berth {
namespace {

using embedded::RunSession;
using embedded::SessionEvent;
using std::chrono::milliseconds;

constexpr std::chrono::seconds send_time{30};

class EmbeddedSession final : public exec::Session {
 public:
  EmbeddedSession(std::unique_ptr<RunSession> session, std::string pod, exec::Wanted wanted)
      : session_(std::move(session)), pod_(std::move(pod)), wanted_(std::move(wanted)) {}

  const std::string& instance() const override { return pod_; }
  void send(std::string_view bytes) override {
    try {
      session_->send(bytes, send_time);
    } catch (const std::runtime_error& error) {
      throw Error(Code::unavailable, error.what());
    }
  }
  void close_input() override {
    try {
      session_->close_input(send_time);
    } catch (const std::runtime_error& error) {
      throw Error(Code::unavailable, error.what());
    }
  }
  void resize(exec::TerminalSize size) override {
    const auto* command = std::get_if<exec::Command>(&wanted_.what);
    if (command != nullptr && command->has_terminal) session_->resize(size.columns, size.rows);
  }
  std::optional<exec::Event> receive(milliseconds patience) override {
    auto event = session_->receive(patience);
    if (!event) return std::nullopt;
    if (event->kind == SessionEvent::Kind::end) return end_of(event->end);
    const bool is_error = event->kind == SessionEvent::Kind::error_output;
    return exec::Output{
        .stream = is_error ? exec::Output::Stream::error : exec::Output::Stream::out,
        .bytes = std::move(event->bytes)};
  }
  int descriptor() const override { return session_->descriptor(); }
  void cancel() override {
    cancelled_ = true;
    session_->cancel();
  }

 private:
  exec::End end_of(const embedded::SessionEnd& end) const {
    if (cancelled_)
      return {.exit_code = {}, .problem = std::string(reconcilers::session_was_cancelled)};
    if (end.failure.empty()) {
      // podman reports what it doesn't know as -1.
      const bool is_known = end.exit_code.value_or(-1) >= 0;
      return {.exit_code = is_known ? end.exit_code : std::nullopt, .problem = {}};
    }
    if (const auto* port = std::get_if<exec::Port>(&wanted_.what))
      return reconcilers::end_of_refused_port(end.failure, port->number);
    return reconcilers::end_of_refused(end.failure, std::get<exec::Command>(wanted_.what).argv);
  }

  const std::unique_ptr<RunSession> session_;
  const std::string pod_;
  const exec::Wanted wanted_;
  std::atomic<bool> cancelled_ = false;
};

embedded::SessionRequest request_of(const exec::Wanted& wanted) {
  embedded::SessionRequest request;
  request.patience = exec::open_time;
  if (const auto* command = std::get_if<exec::Command>(&wanted.what)) {
    request.command = command->argv;
    request.has_input = command->has_input;
    request.has_terminal = command->has_terminal;
  } else {
    request.port = std::get<exec::Port>(wanted.what).number;
  }
  return request;
}

}  // namespace

std::unique_ptr<exec::Session> open_embedded(embedded::Cluster& cluster,
                                             const reconcilers::RunningContainer& container,
                                             const exec::Wanted& wanted) {
  return std::make_unique<EmbeddedSession>(
      cluster.open_session(container.name_space, container.pod, container.container,
                           request_of(wanted)),
      container.pod, wanted);
}

}  // namespace berth
