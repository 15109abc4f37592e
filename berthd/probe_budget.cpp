#include "berthd/probe_budget.h"

#include <functional>
#include <string>

#include "controller/base/address_range.h"

namespace berth {

bool ProbeBudget::take(std::string_view address, Now now) {
  const auto second = std::uint64_t(
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
  const std::string network = network_of(address);
  auto& counter = taken_[std::hash<std::string>()(network) % counters];
  const std::uint64_t first = second << bits_of_count;
  std::uint64_t known = counter.load();
  while (true) {
    const std::uint64_t taken = known >> bits_of_count == second ? known - first : 0;
    if (taken >= most_in_a_second) return false;
    if (counter.compare_exchange_weak(known, first + taken + 1)) return true;
  }
}

}  // namespace berth
