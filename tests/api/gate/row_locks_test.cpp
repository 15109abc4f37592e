// The operations whose writes others may overtake (Route::with_row_locks).
#include <catch2/catch.hpp>
#include <set>

#include "api/gate/route.h"

namespace {

using namespace berth::api;

// Everything that the handlers of these reach has been written for it: what they decide follows
// from conditions of their statements. Another one fails with std::logic_error where the domain
// needs a serializable write (Tx::require_serializable), so give it a test with simultaneous
// requests as tests/domain/ads/ads_together_test.cpp and deployments_together_test.cpp have.
TEST_CASE("the operations with row locks are those that were written for it") {
  std::set<std::string_view> names;
  for (const Route& route : routes())
    if (route.with_row_locks) {
      CHECK(std::holds_alternative<WriteHandler>(route.run));
      names.insert(route.name);
    }
  CHECK(names == std::set<std::string_view>{"createDeployment", "changeCampaign", "cancelCampaign",
                                            "recordAdEvent"});
}

}  // namespace
