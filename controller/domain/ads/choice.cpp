#include "controller/domain/ads/choice.h"

#include <algorithm>
#include <cmath>

namespace berth::ads {
namespace {

// Steps on a path to a set. The ids of placements and the values of attributes can't be mistaken
// for these, because they are stored with a prefix.
constexpr const char* anything = "*";

// Returns the step for requests that don't name their placement. It leads to campaigns in
// placements that any app, or only this app, may use.
std::string unsaid_in(const std::string& app_id) { return "unsaid@" + app_id; }

std::string step_of(const Test& test) {
  if (test.mode == MatchMode::any) return anything;
  return (test.mode == MatchMode::exact ? "=" : "^") + test.value;
}

bool is_prefix(const std::string& step) { return step.starts_with('^'); }

double share_of_time(const Choice::Campaign& campaign, Instant at) {
  const double whole = double((*campaign.ends_at - campaign.starts_at).count());
  return std::clamp(double((at - campaign.starts_at).count()) / whole, 0.0, 1.0);
}

std::int64_t leeway(const Choice::Campaign& campaign) {
  return std::max<std::int64_t>(1, campaign.impressions / Choice::ahead_divisor);
}

bool is_spent(const Choice::Campaign& campaign) { return campaign.used >= campaign.impressions; }

}  // namespace

std::optional<Instant> due_of(const Choice::Campaign& campaign, Instant now) {
  if (is_spent(campaign) || (campaign.ends_at && *campaign.ends_at <= now)) return std::nullopt;
  const std::int64_t ahead = campaign.used - leeway(campaign) + 1;
  if (!campaign.ends_at || ahead <= 0) return campaign.starts_at;
  const double whole = double((*campaign.ends_at - campaign.starts_at).count());
  const double into = std::ceil(whole * double(ahead) / double(campaign.impressions));
  return campaign.starts_at + Duration(std::int64_t(std::min(into, whole)));
}

bool is_late(const Choice::Campaign& campaign, Instant now) {
  if (!campaign.ends_at) return false;
  return double(campaign.used) < double(campaign.impressions) * share_of_time(campaign, now);
}

std::vector<std::pair<Choice::Way, int>> Choice::ways_of(const Campaign& campaign) {
  std::vector<std::pair<Way, int>> ways;
  for (size_t i = 0; i < campaign.slots.size(); ++i) {
    const Slot& slot = campaign.slots[i];
    for (const Audience& audience : slot.audiences) {
      const auto add = [&](const std::string& first) {
        Way way = {first};
        for (const Test& test : audience) way.push_back(step_of(test));
        ways.emplace_back(std::move(way), int(i));
      };
      if (slot.ad_placement_id.empty()) {
        add(anything);
      } else {
        add("=" + slot.ad_placement_id);
        add(unsaid_in(slot.app_id));
      }
    }
  }
  return ways;
}

void Choice::link(Entry& entry) {
  for (const auto& [set, slot] : entry.sets) {
    if (entry.due)
      set->waiting.insert({*entry.due, entry.number, slot, &entry});
    else
      set->ready.insert({entry.pass, entry.number, slot, &entry});
  }
}

void Choice::unlink(Entry& entry) {
  for (const auto& [set, slot] : entry.sets) {
    if (entry.due)
      set->waiting.erase({*entry.due, entry.number, slot, &entry});
    else
      set->ready.erase({entry.pass, entry.number, slot, &entry});
  }
}

void Choice::insert(Surface& surface, Entry& entry) {
  entry.ways = ways_of(entry.campaign);
  for (const auto& [way, slot] : entry.ways) {
    Node* node = &surface.root;
    for (const std::string& step : way) {
      auto& next = node->next[step];
      if (!next) {
        next = std::make_unique<Node>();
        if (is_prefix(step)) ++node->prefix_lengths[step.size() - 1];
      }
      node = next.get();
    }
    const std::pair<Set*, int> place = {&node->set, slot};
    if (std::ranges::find(entry.sets, place) == entry.sets.end()) entry.sets.push_back(place);
  }
  link(entry);
}

// Removes the entry, and the nodes that are then unused.
void Choice::erase(Surface& surface, Entry& entry) {
  unlink(entry);
  entry.sets.clear();
  for (const auto& [way, slot] : entry.ways) {
    std::vector<Node*> nodes = {&surface.root};
    for (const std::string& step : way) {
      const auto next = nodes.back()->next.find(step);
      if (next == nodes.back()->next.end()) break;
      nodes.push_back(next->second.get());
    }
    for (size_t i = nodes.size() - 1; i > 0; --i) {
      if (!nodes[i]->next.empty() || !nodes[i]->set.empty()) break;
      const std::string& step = way[i - 1];
      Node& parent = *nodes[i - 1];
      parent.next.erase(step);
      if (!is_prefix(step)) continue;
      const auto length = parent.prefix_lengths.find(step.size() - 1);
      if (--length->second == 0) parent.prefix_lengths.erase(length);
    }
  }
  entry.ways.clear();
}

void Choice::put(const Campaign& campaign, Instant now) {
  Surface& surface = surfaces_[campaign.surface_type];
  const auto [found, is_new] = entries_.try_emplace(campaign.id);
  Entry& entry = found->second;
  if (is_new) {
    entry.number = ++last_number_;
  } else {
    erase(surface, entry);
  }
  if (is_new || entry.due) entry.pass = std::max(entry.pass, surface.pass);
  entry.campaign = campaign;
  set_due(entry, now);
  insert(surface, entry);
}

void Choice::remove(const std::string& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  erase(surfaces_[found->second.campaign.surface_type], found->second);
  entries_.erase(found);
}

void Choice::wake(Surface& surface, Set& set, Instant now) {
  for (int i = 0; i < max_woken && !set.waiting.empty(); ++i) {
    const Wait first = *set.waiting.begin();
    if (first.due > now) return;
    unlink(*first.entry);
    first.entry->due.reset();
    first.entry->pass = std::max(first.entry->pass, surface.pass);
    link(*first.entry);
  }
}

void Choice::set_due(Entry& entry, Instant now) {
  const Instant due = due_of(entry.campaign, now).value_or(Instant::max());
  entry.due = due > now ? std::optional(due) : std::nullopt;
}

// Returns by how much the entry's pass was raised.
double Choice::move_on(Surface& surface, Entry& entry, Instant now) {
  unlink(entry);
  surface.pass = std::max(surface.pass, entry.pass);
  const double weight =
      std::clamp(double(entry.campaign.payout_rate) * entry.campaign.reach, 1.0, max_weight);
  const double step = 1 / (is_late(entry.campaign, now) ? weight * late_factor : weight);
  entry.pass += step;
  ++entry.campaign.used;
  set_due(entry, now);
  link(entry);
  return step;
}

bool Choice::raise(Offer& offer, Instant now) {
  const auto found = entries_.find(offer.campaign_id);
  if (found == entries_.end() || is_spent(found->second.campaign)) return false;
  Entry& entry = found->second;
  offer.raised_by = move_on(surfaces_[entry.campaign.surface_type], entry, now);
  return true;
}

void Choice::take_back(const Offer& offer, Instant now) {
  const auto found = entries_.find(offer.campaign_id);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  unlink(entry);
  entry.pass -= offer.raised_by;
  entry.campaign.used = std::max<std::int64_t>(0, entry.campaign.used - 1);
  set_due(entry, now);
  link(entry);
}

std::vector<std::string> Choice::ids() const {
  std::vector<std::string> ids;
  ids.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) ids.push_back(id);
  return ids;
}

// One choice: merges the sets that match, by the order of their entries.
class Choice::Search {
 public:
  Search(const Request& request, Surface& surface) : request_(request), surface_(surface) {
    for (const std::string& first : first_steps()) {
      const auto next = surface.root.next.find(first);
      if (next != surface.root.next.end()) descend(*next->second, 0);
    }
    for (Set* set : sets_) wake(surface_, *set, request_.now);
    // The cursors are made after all waking, which may affect several sets.
    for (Set* set : sets_) cursors_.emplace_back(set->ready.begin(), set->ready.end());
  }

  // Returns the next entry in the order of passes, or nothing.
  const Place* next() {
    auto lowest = cursors_.end();
    for (auto cursor = cursors_.begin(); cursor != cursors_.end(); ++cursor)
      if (cursor->first != cursor->second &&
          (lowest == cursors_.end() || *cursor->first < *lowest->first))
        lowest = cursor;
    return lowest == cursors_.end() ? nullptr : &*lowest->first++;
  }

 private:
  std::vector<std::string> first_steps() const {
    if (!request_.ad_placement_id.empty()) return {anything, "=" + request_.ad_placement_id};
    std::vector<std::string> steps = {anything, unsaid_in("")};
    if (!request_.app_id.empty()) steps.push_back(unsaid_in(request_.app_id));
    return steps;
  }

  void descend(Node& node, size_t depth) {
    if (depth == attributes.size()) {
      sets_.push_back(&node.set);
      return;
    }
    follow(node, anything, depth);
    const auto& value = request_.viewing[depth];
    if (!value) return;
    follow(node, "=" + *value, depth);
    for (const auto& [length, count] : node.prefix_lengths)
      if (length <= value->size()) follow(node, "^" + value->substr(0, length), depth);
  }

  void follow(Node& node, const std::string& step, size_t depth) {
    if (const auto next = node.next.find(step); next != node.next.end())
      descend(*next->second, depth + 1);
  }

  const Request& request_;
  Surface& surface_;
  std::vector<Set*> sets_;
  std::vector<std::pair<std::set<Place>::iterator, std::set<Place>::iterator>> cursors_;
};

std::optional<Choice::Offer> Choice::choose(const Request& request,
                                            const std::function<bool(const Offer&)>& take) {
  const auto found = surfaces_.find(request.surface_type);
  if (found == surfaces_.end()) return std::nullopt;
  Search search(request, found->second);
  std::vector<Place> own;
  int offers = 0;
  const auto taken = [&](const Place& place, Whose whose) -> std::optional<Offer> {
    ++offers;
    const Campaign& campaign = place.entry->campaign;
    Offer offer = {
        .campaign_id = campaign.id,
        .campaign_placement_id = campaign.slots[size_t(place.slot)].campaign_placement_id,
        .whose = whose};
    if (!take(offer)) return std::nullopt;
    offer.raised_by = move_on(found->second, *place.entry, request.now);
    return offer;
  };
  for (int looks = 0; looks < max_looks && offers < max_offers; ++looks) {
    const Place* place = search.next();
    if (place == nullptr) break;
    const Campaign& campaign = place->entry->campaign;
    if (campaign.payout_rate < request.least_payout || is_spent(campaign) ||
        (campaign.ends_at && *campaign.ends_at <= request.now) ||
        (request.skip && request.skip(campaign.id)))
      continue;
    if (campaign.owner_id == request.owner_id) {
      if (own.size() < size_t(max_offers)) own.push_back(*place);
    } else if (auto offer = taken(*place, Whose::others)) {
      return offer;
    }
  }
  for (const Place& place : own)
    if (auto offer = taken(place, Whose::own)) return offer;
  return std::nullopt;
}

}  // namespace berth::ads
