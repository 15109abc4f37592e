#include "controller/db/request_limits.h"

#include <atomic>

namespace berth::db {
namespace {

std::atomic<std::uint64_t> stopped{0};
thread_local const RequestLimits* limits = nullptr;

}  // namespace

std::uint64_t stopped_statements() { return stopped; }

TooSlow too_slow(const char* what) {
  ++stopped;
  return TooSlow(what);
}

LimitedThread::LimitedThread(const RequestLimits& own) : outer_(limits) { limits = &own; }
LimitedThread::~LimitedThread() { limits = outer_; }

const RequestLimits* RequestLimits::of_thread() { return limits; }
Readers RequestLimits::readers_of_thread() {
  return limits == nullptr ? Readers::ordinary : limits->readers;
}
std::optional<std::chrono::milliseconds> RequestLimits::statement_time_of_thread() {
  return limits == nullptr ? std::nullopt : std::optional(limits->statement_time);
}

}  // namespace berth::db
