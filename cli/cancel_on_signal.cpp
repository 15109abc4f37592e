#include "cli/cancel_on_signal.h"

#include <pthread.h>
#include <signal.h>

#include <cstdlib>

namespace berth::cli {

CancelOnSignal::CancelOnSignal(Run& run, std::string what)
    : settings_(run.settings()), store_(run.store()), what_(std::move(what)) {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGUSR1);  // from the destructor
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { wait(); });
}

CancelOnSignal::~CancelOnSignal() {
  ended_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void CancelOnSignal::set_path(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  path_ = path;
}

std::string CancelOnSignal::path() {
  const std::scoped_lock lock(mutex_);
  return path_;
}

void CancelOnSignal::wait() {
  while (!ended_) {
    int signal = 0;
    sigwait(&signals_, &signal);
    if (ended_ || signal == SIGUSR1) continue;
    const std::string at = path();
    if (at.empty() || cancelled_) std::_Exit(exit_interrupted);
    cancelled_ = true;
    say("Cancelling the " + what_ + " …");
    try {
      Api(settings_, store_).call({.method = "DELETE", .path = at});
    } catch (const std::exception& failure) {
      say("The " + what_ + " couldn't be cancelled: " + failure.what());
    }
  }
}

}  // namespace berth::cli
