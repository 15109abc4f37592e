#include "reconcilers/embedded/node/podman/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace berth::embedded::podman {
namespace {

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

EventLoop::EventLoop()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  check(epoll_.valid() && wake_.valid(), "epoll");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_.get();
  check(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0, "epoll_ctl");
  thread_ = std::thread([this] { serve(); });
}

EventLoop::~EventLoop() { stop(); }

void EventLoop::stop() {
  stopped_ = true;
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  if (!thread_.joinable()) return;
  thread_.join();
  // What handlers and timers own may call forget() and cancel() when it is destroyed.
  const auto handlers = std::exchange(handlers_, {});
  const auto timers = std::exchange(timers_, {});
  moments_.clear();
}

void EventLoop::post(Task task) {
  if (stopped_) return;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  const std::uint64_t one = 1;
  if (first) (void)!::write(wake_.get(), &one, sizeof one);
}

void EventLoop::watch(int descriptor, std::uint32_t events, Handler handler) {
  const bool known = handlers_.contains(descriptor);
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  ::epoll_ctl(epoll_.get(), known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event);
  handlers_[descriptor] = std::move(handler);
}

void EventLoop::forget(int descriptor) {
  if (handlers_.erase(descriptor) > 0)
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

EventLoop::Timer EventLoop::at(Moment moment, Task task) {
  const Timer timer = ++last_timer_;
  timers_.emplace(moment, std::pair(timer, std::move(task)));
  moments_[timer] = moment;
  return timer;
}

void EventLoop::cancel(Timer timer) {
  const auto found = moments_.find(timer);
  if (found == moments_.end()) return;
  const auto [first, last] = timers_.equal_range(found->second);
  const auto entry =
      std::find_if(first, last, [&](const auto& one) { return one.second.first == timer; });
  if (entry != last) timers_.erase(entry);
  moments_.erase(found);
}

int EventLoop::run_timers() {
  while (!timers_.empty()) {
    const Moment now = Moment::clock::now();
    const auto first = timers_.begin();
    if (first->first > now)
      return int(std::min<long>(
          std::chrono::ceil<std::chrono::milliseconds>(first->first - now).count(), 60'000));
    const Task task = std::move(first->second.second);
    moments_.erase(first->second.first);
    timers_.erase(first);
    task();
  }
  return -1;
}

void EventLoop::run_posted() {
  std::uint64_t count = 0;
  (void)!::read(wake_.get(), &count, sizeof count);
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (const Task& task : tasks) task();
}

void EventLoop::serve() {
  std::array<epoll_event, 64> events{};
  while (!stopped_) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), int(events.size()), run_timers());
    for (int i = 0; i < count && !stopped_; ++i) {
      const epoll_event& event = events.at(size_t(i));
      if (event.data.fd == wake_.get()) {
        run_posted();
        continue;
      }
      const auto found = handlers_.find(event.data.fd);
      if (found == handlers_.end()) continue;  // forgotten by a handler before it
      const Handler handler = found->second;
      handler(event.events);
    }
  }
}

}  // namespace berth::embedded::podman
