#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "controller/base/clock.h"
#include "controller/domain/ads/targeting.h"

namespace berth::ads {

// Which campaign is shown. In memory, pure: no tables, no clock of its own.
//
// The rule: among the campaigns of the surface type that fit who looks and where, and that their
// plan allows now, the one is shown that was shown least for its weight. After stride scheduling
// (Waldspurger and Weihl 1995): each has a pass, the lowest goes first, and being shown moves it on
// by 1 / weight, so that shares are as the weights, and equal campaigns take turns.
// - weight: payout_rate × the reach multiplier of the owner's tier, 1 to max_weight.
// - plan: a campaign with ends_at may use its impressions evenly between start and end, and be 5 %
//   of them ahead (one at least). One that is behind counts with four times its weight.
// - who comes anew, or back from waiting for its plan, stands where the others are: it has no
// credit
//   for the time before.
// - an operator's own campaigns come only where nothing else does.
//
// The cost of a choice doesn't depend on how many campaigns there are, but for the depth of search
// trees: campaigns of the same audience share an ordered set, and the sets that fit are found by
// look-ups of the viewer's attributes and of those prefixes of them that are in use.
//
// Not thread-safe.
class Choice {
 public:
  static constexpr double max_weight = 1'000'000;
  static constexpr double late_factor = 4;
  static constexpr std::int64_t ahead_divisor = 20;  // 5 %
  // Bounds of one choice: entries that are looked at, those that are offered, and campaigns that
  // are woken up in each set.
  static constexpr int max_looks = 4'096;
  static constexpr int max_offers = 64;
  static constexpr int max_woken = 32;

  // Where a campaign may be shown.
  struct Slot {
    std::string campaign_placement_id = {};  // empty: it isn't bound to placements
    std::string ad_placement_id = {};        // the same
    std::string app_id = {};                 // whose alone the placement is; empty: anybody's
    std::vector<Audience> audiences = {Audience()};
  };
  struct Campaign {
    std::string id;
    std::string owner_id;
    std::string surface_type;
    std::int64_t payout_rate = 1;
    double reach = 1;
    std::int64_t impressions = 0;  // that the whole budget pays
    std::int64_t used = 0;         // of them, reserved or paid
    Instant starts_at;
    std::optional<Instant> ends_at = {};
    std::vector<Slot> slots = {Slot()};
  };
  struct Request {
    std::string surface_type;
    std::string owner_id;  // of the app that asks
    Viewing viewing = {};
    std::string app_id = {};  // that asks
    // Where it would be shown; empty: the app doesn't say, and any placement of a campaign will do
    // that isn't another app's.
    std::string ad_placement_id = {};
    std::int64_t least_payout = 0;
    Instant now;
    // Campaigns that needn't be looked at: the viewer saw enough of them, …; empty: none.
    std::function<bool(const std::string& campaign_id)> skip = {};
  };
  enum class Whose { others, own };
  struct Offer {
    std::string campaign_id;
    std::string campaign_placement_id;  // of the slot
    Whose whose = Whose::others;
  };

  // Adds a campaign, or takes what changed of it.
  void put(const Campaign& campaign, Instant now);
  void remove(const std::string& id);
  size_t size() const { return entries_.size(); }

  // Offers campaigns in the order of the rule until `take` takes one, which moves that one on.
  // `take` must not call this object.
  std::optional<Offer> choose(const Request& request,
                              const std::function<bool(const Offer&)>& take);

 private:
  struct Entry;
  struct Place {  // of an entry in a set
    double pass;
    std::uint64_t number;
    int slot;
    Entry* entry;
    bool operator<(const Place& other) const {
      return std::tie(pass, number, slot) < std::tie(other.pass, other.number, other.slot);
    }
  };
  struct Wait {
    Instant due;
    std::uint64_t number;
    int slot;
    Entry* entry;
    bool operator<(const Wait& other) const {
      return std::tie(due, number, slot) < std::tie(other.due, other.number, other.slot);
    }
  };
  struct Set {  // of the campaigns of one audience
    std::set<Place> ready;
    std::set<Wait> waiting;
    bool empty() const { return ready.empty() && waiting.empty(); }
  };
  // A step of the way to a set: placement, then the attributes.
  struct Node {
    std::unordered_map<std::string, std::unique_ptr<Node>> next;
    std::map<size_t, int> prefix_lengths;  // of the prefixes among `next`, and how often
    Set set;                               // of the last step
  };
  struct Surface {
    Node root;
    double pass = 0;  // of who was shown last
  };
  using Way = std::vector<std::string>;
  struct Entry {
    Campaign campaign;
    std::uint64_t number = 0;
    double pass = 0;
    std::optional<Instant> due;                  // where it waits
    std::vector<std::pair<Way, int>> ways = {};  // to each of its sets, with the slot
    std::vector<std::pair<Set*, int>> sets = {};
  };
  class Search;

  static std::vector<std::pair<Way, int>> ways_of(const Campaign& campaign);
  void insert(Surface& surface, Entry& entry);
  void erase(Surface& surface, Entry& entry);
  static void link(Entry& entry);
  static void unlink(Entry& entry);
  static void wake(Surface& surface, Set& set, Instant now);
  static void move_on(Surface& surface, Entry& entry, Instant now);

  std::unordered_map<std::string, Surface> surfaces_;
  std::unordered_map<std::string, Entry> entries_;
  std::uint64_t last_number_ = 0;
};

// When the campaign's plan allows the next impression; nothing where the budget is used up or the
// time over. For a campaign without ends_at: its start.
std::optional<Instant> due_of(const Choice::Campaign& campaign, Instant now);
// Whether it is behind its plan.
bool is_late(const Choice::Campaign& campaign, Instant now);

}  // namespace berth::ads
