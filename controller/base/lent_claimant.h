#pragma once

#include "controller/base/shares.h"

namespace berth {

// While it exists, the calling thread works for a request that another thread handles: SQLite's
// writer thread, for example, works for the threads that wait for their writes. The calling thread
// then has the claimant of that request, and what ClaimantOfThread sets is set for that request.
// `claimant` is what of_thread() returned on the other thread, which has to wait meanwhile; it may
// be null.
class LentClaimant {
 public:
  // The claimant of the request that the calling thread handles; null outside of requests.
  static Claimant* of_thread();

  explicit LentClaimant(Claimant* claimant);
  ~LentClaimant();
  LentClaimant(const LentClaimant&) = delete;
  LentClaimant& operator=(const LentClaimant&) = delete;

 private:
  Claimant* const own_;
};

}  // namespace berth
