#pragma once

#include <cstdint>
#include <string>

namespace berth::ledger {

// What a check of the ledger has found so far.
struct Finding {
  std::int64_t checked = 0;  // how many things were looked at
  std::int64_t broken = 0;   // how many violations were found
  std::string first;         // the first of them; empty if there is none

  void add_violation(const std::string& what) {
    if (broken++ == 0) first = what;
  }
  // Adds what another check has found later.
  void add(const Finding& other) {
    if (broken == 0) first = other.first;
    checked += other.checked;
    broken += other.broken;
  }
};

}  // namespace berth::ledger
