#include "controller/base/requester.h"

namespace berth {
namespace {

thread_local Requester* requester_of_this_thread = nullptr;

}  // namespace

Requester* Requester::of_thread() { return requester_of_this_thread; }

RequesterOfThread::RequesterOfThread(Requester& requester) : outer_(requester_of_this_thread) {
  requester_of_this_thread = &requester;
}
RequesterOfThread::~RequesterOfThread() { requester_of_this_thread = outer_; }

}  // namespace berth
