#include "controller/transport/poller.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace berth::api {
namespace {

constexpr std::size_t events_at_once = 256;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Poller::Poller(Call call)
    : call_(std::move(call)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_.valid() || !wake_.valid()) fail("epoll");
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = wake_.get()}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &wanted) != 0) fail("epoll_ctl");
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "connections");
}

Poller::~Poller() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

void Poller::wake() const { eventfd_write(wake_.get(), 1); }

bool Poller::watch(Watched& watched, std::uint32_t events, Deadline deadline, Takeable takeable) {
  const std::lock_guard lock(mutex_);
  if (takeable == Takeable::yes && watched.has_news_) return false;
  const auto number = static_cast<std::size_t>(watched.fd_);
  if (slots_.size() <= number) slots_.resize(std::max(number + 1, slots_.size() * 2));
  watched.deadline_ = deadline;
  set_timer(watched);
  if (events != 0) arm(watched, events);
  watched.takeable_ = takeable == Takeable::yes;
  watched.watched_ = true;
  slots_[number].watched = &watched;
  if (deadline < wakes_at_) {
    wakes_at_ = deadline;
    wake();
  }
  return true;
}

// Has epoll wait for these events, unless it does already.
void Poller::arm(Watched& watched, std::uint32_t events) {
  Slot& slot = slots_[static_cast<std::size_t>(watched.fd_)];
  if (watched.added_ && slot.armed == events) return;
  epoll_event wanted{.events = events | EPOLLONESHOT, .data = {.fd = watched.fd_}};
  const int change = watched.added_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (epoll_ctl(epoll_.get(), change, watched.fd_, &wanted) != 0) fail("epoll_ctl");
  watched.added_ = true;
  slot.armed = events;
}

// Sees to it that there is an entry in time for the deadline.
void Poller::set_timer(Watched& watched) {
  if (watched.deadline_ >= watched.timer_) return;
  if (watched.timer_ != Deadline::max()) timers_.erase({watched.timer_, &watched});
  watched.timer_ = watched.deadline_;
  timers_.emplace(watched.timer_, &watched);
}

void Poller::drop(Watched& watched) {
  const std::lock_guard lock(mutex_);
  if (watched.timer_ == Deadline::max()) return;
  timers_.erase({watched.timer_, &watched});
  watched.timer_ = Deadline::max();
}

bool Poller::tell(Watched& watched) {
  const std::lock_guard lock(mutex_);
  watched.has_news_ = true;
  if (!watched.watched_ || !watched.takeable_) return false;
  forget(watched);
  return true;
}

// The caller holds the lock.
void Poller::forget(Watched& watched) {
  watched.watched_ = false;
  slots_[static_cast<std::size_t>(watched.fd_)].watched = nullptr;
}

// How long epoll_wait() may wait, in milliseconds.
int Poller::patience() {
  const std::lock_guard lock(mutex_);
  if (stopping_) return 0;
  wakes_at_ = timers_.empty() ? Deadline::max() : timers_.begin()->first;
  if (timers_.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(wakes_at_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(
      left.count(), 0, std::chrono::milliseconds(std::chrono::hours(1)).count()));
}

void Poller::run() {
  std::array<epoll_event, events_at_once> events;
  while (true) {
    const int patience = this->patience();
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), patience);
    for (int i = 0; i < count; ++i) call_after_event(events[static_cast<std::size_t>(i)].data.fd);
    call_those_in_time();
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
}

void Poller::call_after_event(int fd) {
  if (fd == wake_.get()) {
    eventfd_t ignored = 0;
    eventfd_read(fd, &ignored);
    return;
  }
  Watched* watched = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[static_cast<std::size_t>(fd)];
    slot.armed = 0;
    watched = slot.watched;
    if (watched == nullptr) return;
    forget(*watched);
  }
  call_(*watched, Why::event);
}

void Poller::call_those_in_time() {
  const Deadline now = std::chrono::steady_clock::now();
  while (true) {
    Watched* watched = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (timers_.empty() || timers_.begin()->first > now) return;
      watched = timers_.begin()->second;
      timers_.erase(timers_.begin());
      watched->timer_ = Deadline::max();
      if (!watched->watched_) continue;
      if (watched->deadline_ > now) {
        set_timer(*watched);
        continue;
      }
      forget(*watched);
    }
    call_(*watched, Why::time);
  }
}

}  // namespace berth::api
