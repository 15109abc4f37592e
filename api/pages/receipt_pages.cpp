// The page on which a browser checks a receipt.
#include <nlohmann/json.hpp>

#include "api/pages/page.h"
#include "controller/domain/points/receipt_keys.h"

namespace berth::api::pages {

// The page has the platform's keys, so that a saved copy of it needs no connection.
Page show_receipt_check(Visit& visit) {
  const Services& services = visit.services;
  Page page = {.title = visit.say("Check a receipt"), .content = "verify_receipt"};
  const auto keys = services.db.read_committed(
      [&](db::Tx& tx) { return points::receipt_keys(tx, services.keys.data); });
  page.values.set("keys", points::published_keys(keys, services.base_url).dump());
  page.script = "verify_receipt";
  return page;
}

}  // namespace berth::api::pages
