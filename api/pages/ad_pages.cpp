// The link of an ad, which records that it was clicked and leads to the advertiser's page.
#include "api/pages/page.h"
#include "controller/domain/ads/creatives.h"
#include "controller/domain/ads/events.h"

namespace berth::api::pages {
namespace {

// Whether somebody opens the link. HEAD, and what a browser fetches in advance (Fetch, the header
// Sec-Purpose), isn't a click.
bool is_click(const Request& http) {
  return http.method == "GET" && !http.headers.mentions("Sec-Purpose", "prefetch");
}

}  // namespace

// The link that the creative had when it was added is the only place that it can lead to. Who
// clicks is not asked: the token stands for one impression, and that is counted once.
Page follow_ad(Visit& visit) {
  const Services& services = visit.services;
  const auto target = services.db.read_committed([&](db::Tx& tx) {
    return creatives::find_target(tx, visit.query("token"), services.keys.data);
  });
  if (!target) {
    constexpr int gone = 404;
    Page page =
        message(visit.say("This ad is gone"),
                {visit.say("Its link doesn’t work any more. Go back to where you saw the ad.")});
    page.status = gone;
    return page;
  }
  if (is_click(visit.http))
    services.db.write_with_row_locks(
        [&](db::Tx& tx) { return ads::record_followed_link(tx, target->impression_id); });
  return go_to(target->link);
}

}  // namespace berth::api::pages
