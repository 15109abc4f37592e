#include "controller/transport/connection_table.h"

#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace berth::api {
ConnectionTable::Entry::Entry(ConnectionTable& table, Descriptor socket, std::string address,
                              Network& network)
    : table_(table),
      socket_(std::move(socket)),
      address_(std::move(address)),
      network_(network),
      since_(Clock::now().time_since_epoch().count()) {}

// The descriptor is closed after this, so that for_each() never meets another connection with the
// same number.
ConnectionTable::Entry::~Entry() {
  const std::lock_guard lock(table_.mutex_);
  network_.entries.erase(place_);
  --table_.size_;
  if (known_) --network_.known;
  if (leaving_) {
    --network_.leaving;
    --table_.leaving_;
  }
  if (network_.entries.empty()) table_.networks_.erase(network_.name);
  if (table_.size_ == 0) table_.emptied_.notify_all();
}

void ConnectionTable::Entry::set_activity(Activity activity) {
  if (activity == Activity::reading) spoke_.store(true, std::memory_order_relaxed);
  // A connection that has sent nothing counts as waiting since it was opened.
  const bool is_new = activity == Activity::waiting && !spoke_.load(std::memory_order_relaxed);
  if (activity < Activity::handling && !is_new)
    since_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  activity_ = activity;
}

void ConnectionTable::Entry::set_known() {
  if (known_) return;
  const std::lock_guard lock(table_.mutex_);
  known_ = true;
  ++network_.known;
}

std::unique_ptr<ConnectionTable::Entry> ConnectionTable::admit(Descriptor& connection) {
  std::string address = peer_address(connection.get());
  std::string name = network_of(address);
  const std::lock_guard lock(mutex_);
  Network& network = networks_[name];
  network.name = std::move(name);
  if (!make_room(network, address)) {
    if (network.entries.empty()) networks_.erase(network.name);
    return nullptr;
  }
  auto entry = std::make_unique<Entry>(*this, std::move(connection), std::move(address), network);
  entry->place_ = network.entries.insert(network.entries.end(), entry.get());
  ++size_;
  return entry;
}

std::size_t ConnectionTable::limit_of(const Network& network, const std::string& address) const {
  const auto parsed = parse_ip_address(address);
  const bool shared =
      parsed && std::ranges::any_of(limits_.shared_addresses, [&](const AddressRange& range) {
        return contains(range, *parsed);
      });
  if (limits_.of_network == 0 || shared || address == unix_peer)
    return std::numeric_limits<std::size_t>::max();
  return network.known > 0 ? limits_.of_network : std::max<std::size_t>(limits_.of_network / 2, 1);
}

// The caller holds the lock. Returns false if the new connection has to be refused.
bool ConnectionTable::make_room(Network& network, const std::string& address) {
  if (network.staying() >= limit_of(network, address) &&
      !displace(victim_in(network, network, nullptr)))
    return false;
  const std::size_t staying = size_ - leaving_;
  if (staying < limits_.total) return true;
  if (displace(victim(network))) return true;
  return network.staying() == 0 && staying < limits_.total + reserved;
}

ConnectionTable::Entry* ConnectionTable::victim(const Network& newcomers) const {
  Entry* best = nullptr;
  for (const auto& [name, network] : networks_) best = victim_in(network, newcomers, best);
  return best;
}

// Returns the one that should be displaced first: `best`, or a connection of this network.
ConnectionTable::Entry* ConnectionTable::victim_in(const Network& network, const Network& newcomers,
                                                   Entry* best) const {
  const auto rank = [](const Entry& entry) {
    return std::tuple(entry.activity_.load(),
                      -static_cast<std::ptrdiff_t>(entry.network_.staying()), entry.known_.load(),
                      entry.since_.load());
  };
  const auto now = std::chrono::steady_clock::now();
  for (Entry* entry : network.entries)
    if (may_displace(*entry, newcomers, now) && (best == nullptr || rank(*entry) < rank(*best)))
      best = entry;
  return best;
}

bool ConnectionTable::may_displace(const Entry& entry, const Network& newcomers,
                                   std::chrono::steady_clock::time_point now) const {
  const Activity activity = entry.activity_;
  if (entry.leaving_ || activity >= Activity::handling) return false;
  if (entry.network_.staying() > newcomers.staying()) return true;
  const bool silent = activity == Activity::waiting && !entry.spoke_;
  const auto age = now.time_since_epoch() - Entry::Clock::duration(entry.since_);
  return age >= (silent ? limits_.silent_patience : limits_.patience);
}

// The caller holds the lock. Returns false if there is no connection to displace, or too many are
// leaving already.
bool ConnectionTable::displace(Entry* entry) {
  if (entry == nullptr || leaving_ >= max_leaving) return false;
  entry->leaving_ = true;
  ++entry->network_.leaving;
  ++leaving_;
  ++displaced_;
  // Only the receiving half is closed if no answer is being sent, so that a request which arrives
  // at this moment is still answered.
  const Activity activity = entry->activity_;
  const bool both = activity == Activity::sending || activity == Activity::ending;
  ::shutdown(entry->socket(), both ? SHUT_RDWR : SHUT_RD);
  return true;
}

void ConnectionTable::for_each(const std::function<void(const Entry&)>& call) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, network] : networks_)
    for (const Entry* entry : network.entries) call(*entry);
}

bool ConnectionTable::wait_until_empty(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  return emptied_.wait_until(lock, deadline, [&] { return size_ == 0; });
}

std::size_t ConnectionTable::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace berth::api
