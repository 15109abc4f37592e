#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/merkle_tree.h"
#include "controller/base/receipt.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/ledger/recorded.h"

// Proofs that a transaction is in a closed day (closed_days.h). Whoever has kept one, and the root
// of the day, which is published, finds out if the transaction is changed afterwards.
namespace berth::ledger {

enum class Standing {
  open,        // its day isn't closed
  proven,      // there is a proof
  no_tree,     // its day was closed before there were trees
  contradicts  // its day was closed with something else
};
struct Proof {
  Standing standing = Standing::open;
  // Only set if it is proven: the place of the transaction among those of its day, and the hashes
  // beside the way from it to the root of the day.
  std::uint64_t index = 0;
  std::vector<merkle::Hash> path;
};
// Reads some hundred transactions, and a line for each leaves_of_part of its day.
Proof prove(db::Tx& tx, const Recorded& transaction);

// A closed day as it is published.
struct PublishedDay {
  receipt::Day day;
  std::string date_before;  // of the closed day before it; empty if it is the first one
};
// The days from `first` to `last` that were closed, newest first.
Page<PublishedDay> published_days(db::Tx& tx, std::int64_t first, std::int64_t last,
                                  const PageRequest& page);

}  // namespace berth::ledger
