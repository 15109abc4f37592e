#include "controller/base/requester.h"

namespace berth {
namespace {

thread_local Requester* of_this_thread = nullptr;

}  // namespace

Requester* Requester::of_thread() { return of_this_thread; }

RequesterOfThread::RequesterOfThread(Requester& requester) : outer_(of_this_thread) {
  of_this_thread = &requester;
}
RequesterOfThread::~RequesterOfThread() { of_this_thread = outer_; }

}  // namespace berth
