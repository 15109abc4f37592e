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
#include "controller/domain/ads/surface_type.h"
#include "controller/domain/ads/targeting.h"

namespace berth::ads {

// Chooses which campaign is shown. It works in memory and uses no tables and no clock of its own.
//
// The rule: consider the campaigns of the requested surface type that match viewer and placement
// and are allowed by their plan at present. Show the one that was shown least in relation to its
// weight. This is stride scheduling (Waldspurger and Weihl, 1995): each campaign has a pass; the
// lowest pass goes first; being shown raises it by 1 / weight. So campaigns get shares in
// proportion to their weights, and equal ones take turns.
// - Weight: payout_rate × the reach multiplier of the owner's tier, from 1 to max_weight.
// - Plan: a campaign with ends_at may use its impressions evenly between start and end, and may be
//   5 % of them (at least one) ahead of that. One that is behind its plan counts with four times
//   its weight.
// - A new campaign, or one that waited for its plan, starts at the present pass of the others, so
//   that it isn't compensated for the time before.
// - An operator's own campaigns are shown to them only if there is nothing else.
//
// The cost of a choice grows with the number of campaigns only by the depth of search trees:
// campaigns for the same audience share an ordered set, and the sets that match are found by
// look-ups of the viewer's attributes and of those prefixes of them that are in use.
//
// Not thread-safe.
class Choice {
 public:
  static constexpr double max_weight = 1'000'000;
  static constexpr double late_factor = 4;
  static constexpr std::int64_t ahead_divisor = 20;  // 5 %
  // Limits of one choice: how many entries are examined, how many are offered, and how many
  // campaigns of each set return from waiting for their plan.
  static constexpr int max_looks = 4'096;
  static constexpr int max_offers = 64;
  static constexpr int max_woken = 32;

  // Where a campaign may be shown.
  struct Slot {
    std::string campaign_placement_id = {};  // empty if the campaign isn't bound to placements
    std::string ad_placement_id = {};        // empty if the campaign isn't bound to placements
    std::string app_id = {};  // the only app that may use the placement; empty if any may
    std::vector<Audience> audiences = {Audience()};
  };
  struct Campaign {
    std::string id;
    std::string owner_id;
    SurfaceType surface_type = {};
    std::int64_t payout_rate = 1;
    double reach = 1;
    std::int64_t impressions = 0;  // the number that the whole budget pays for
    std::int64_t used = 0;         // how many of them are reserved or paid
    Instant starts_at;
    std::optional<Instant> ends_at = {};
    std::vector<Slot> slots = {Slot()};
  };
  struct Request {
    SurfaceType surface_type = {};
    std::string owner_id;  // the owner of the app that asks
    Viewing viewing = {};
    std::string app_id = {};  // the app that asks
    // Where the ad would be shown. If it is empty, the app hasn't said so, and any placement of a
    // campaign matches unless it belongs to another app.
    std::string ad_placement_id = {};
    std::int64_t least_payout = 0;
    Instant now;
    // Returns true for campaigns that need not be considered, such as those that the viewer has
    // seen often enough. May be empty.
    std::function<bool(const std::string& campaign_id)> skip = {};
  };
  enum class Whose { others, own };
  struct Offer {
    std::string campaign_id;
    std::string campaign_placement_id;  // the slot's
    Whose whose = Whose::others;
    double raised_by = 0;  // by how much the campaign's pass was raised for it
  };

  // Adds a campaign, or replaces what is known of it. A campaign keeps its surface_type.
  void put(const Campaign& campaign, Instant now);
  void remove(const std::string& id);
  size_t size() const { return entries_.size(); }
  std::vector<std::string> ids() const;

  // Offers campaigns to `take`, in the order of the rule, until it accepts one by returning true,
  // which raises that campaign's pass. Returns that offer, or nothing. `take` must not call this
  // object.
  std::optional<Offer> choose(const Request& request,
                              const std::function<bool(const Offer&)>& take);
  // For offers that choose() made and that weren't accepted at once. raise() accepts one; it
  // returns false if the campaign is gone or spent. take_back() undoes that, or an acceptance by
  // choose().
  bool raise(Offer& offer, Instant now);
  void take_back(const Offer& offer, Instant now);

 private:
  struct Entry;
  struct Place {  // the position of an entry in a set
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
  struct Set {  // the campaigns of one audience
    std::set<Place> ready;
    std::set<Wait> waiting;
    bool empty() const { return ready.empty() && waiting.empty(); }
  };
  // A step on the path to a set. The first step is the placement, then comes one for each
  // attribute.
  struct Node {
    std::unordered_map<std::string, std::unique_ptr<Node>> next;
    // The lengths of prefixes among the keys of `next`, and how many keys have each.
    std::map<size_t, int> prefix_lengths;
    Set set;  // used only in the last step of a path
  };
  struct Surface {
    Node root;
    double pass = 0;  // the pass of the campaign that was shown last
  };
  using Way = std::vector<std::string>;
  struct Entry {
    Campaign campaign;
    std::uint64_t number = 0;
    double pass = 0;
    std::optional<Instant> due;  // set while the entry waits for its plan
    // The path to each of its sets, and the slot it stands for.
    std::vector<std::pair<Way, int>> ways = {};
    std::vector<std::pair<Set*, int>> sets = {};
  };
  class Search;

  static std::vector<std::pair<Way, int>> ways_of(const Campaign& campaign);
  void insert(Surface& surface, Entry& entry);
  void erase(Surface& surface, Entry& entry);
  static void link(Entry& entry);
  static void unlink(Entry& entry);
  static void wake(Surface& surface, Set& set, Instant now);
  static void set_due(Entry& entry, Instant now);
  static double move_on(Surface& surface, Entry& entry, Instant now);

  std::unordered_map<SurfaceType, Surface> surfaces_;
  std::unordered_map<std::string, Entry> entries_;
  std::uint64_t last_number_ = 0;
};

// Returns when the campaign's plan allows the next impression, which for a campaign without ends_at
// is its start. Returns nothing if the budget is used up or the campaign's time is over.
std::optional<Instant> due_of(const Choice::Campaign& campaign, Instant now);
// Whether the campaign is behind its plan.
bool is_late(const Choice::Campaign& campaign, Instant now);

}  // namespace berth::ads
