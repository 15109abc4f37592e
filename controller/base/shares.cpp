#include "controller/base/shares.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/base/address_range.h"
#include "controller/base/lent_claimant.h"

namespace berth {
namespace {

// The kinds of claimants whose places are counted.
enum Counted : std::uint8_t {
  nothing,
  an_account,
  ipv4_address,
  ipv4_24,
  ipv6_64,
  ipv6_56,
  ipv6_48,
  other_text,
};

// All Shares that exist.
struct Register {
  std::mutex mutex;
  std::list<const Shares*> live;
};
Register& all_shares() {
  static Register all;
  return all;
}

thread_local Claimant* of_this_thread = nullptr;

// The leading bytes of an address as a number.
std::uint64_t leading(const IpAddress& address, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | address.bytes[i];
  return value;
}

}  // namespace

// A claim that waits for a place: a thread waits for `changed`, or `told` is called.
struct Shares::Waiter {
  Waiter(const Claim& waiting, Standing its_standing, std::function<void()> call = {})
      : claim(waiting), standing(its_standing), told(std::move(call)) {}

  const Claim& claim;
  const Standing standing;
  std::function<void()> told;
  bool has_place = false;
  std::condition_variable changed;
  std::list<Waiter*>::iterator place;  // in waiters_

  void tell() {
    if (told)
      std::exchange(told, nullptr)();
    else
      changed.notify_one();
  }
};

const PoolInfo& info(Pool pool) {
  using enum Sharers;
  constexpr std::string_view answered_503 = "the request is answered with 503";
  constexpr std::string_view waits = "the request waits, and is finally answered with 503";
  constexpr std::string_view answered_429 =
      "the request is answered with 429; if the table is full, its oldest entry goes";
  constexpr std::string_view later = "the work waits";
  static constexpr PoolInfo infos[] = {
      {Pool::requests, "a request from its head to the end of its answer, streams included",
       networks, answered_503},
      {Pool::handlers, "a request while it is handled", networks, waits},
      {Pool::large_bodies, "a request with a body above 64 KiB, until it has been handled",
       networks, waits},
      {Pool::streams, "an event stream or a log that is followed", both,
       "the stream is answered with 429; with 503 if the pool is full"},
      {Pool::exports, "a statement or a part of the audit log while it is sent", both,
       "the export is answered with 429; with 503 if the pool is full"},
      {Pool::log_readers, "a log that is read from the cluster", both, answered_503},
      {Pool::heavy_reads, "a read of very many rows that runs or waits", both, answered_503},
      {Pool::deep_pages, "a page with a high number that is read or waits", both, answered_503},
      {Pool::password_hashes, "a password that is being hashed or waits to be", both, answered_503},
      {Pool::presence_users, "a user who is online", both, answered_503},
      {Pool::presence_seats, "a seat at a table that a user has", both, answered_503},
      {Pool::rates_of_networks, "a network whose requests are counted, for each operation",
       networks, answered_429, false},
      {Pool::rates_of_callers, "a user or an app's grant whose requests are counted", accounts,
       answered_429, false},
      {Pool::failed_logins_of_pairs, "an account and a network with failed logins", networks,
       answered_429, false},
      {Pool::failed_logins_of_networks, "a network with failed logins", networks, answered_429,
       false},
      {Pool::failed_logins_of_accounts, "an account with failed logins", networks, answered_429,
       false},
      {Pool::failed_codes_of_accounts, "an account with wrong second factors", networks,
       answered_429, false},
      {Pool::logged_networks, "a network with security events of one kind", networks,
       "the event is counted and not logged", false},
      {Pool::wrong_secrets_of_networks, "a network that sent a wrong internal secret", networks,
       answered_429, false},
      {Pool::device_requests, "a login on a device that waits for its user, for ten minutes",
       networks, "the request is answered with 429; with 503 if the table is full", false},
      {Pool::webhook_deliveries,
       "a delivery to a webhook, or an alert's message, that is under way", accounts, later, false},
      {Pool::domain_checks, "a custom domain that is looked up", accounts, later, false},
      {Pool::image_checks, "an image whose registry is asked for its size", accounts, later, false},
      {Pool::uploads, "the source of a build while it is received, for ten minutes at most",
       networks, waits},
      {Pool::pictures, "an uploaded picture while it is decoded and encoded anew, or waits for it",
       both, waits, false},
      {Pool::container_sessions,
       "a command in a container, or a connection to its port, from its request to its end", both,
       "the request is answered with 429; with 503 if the pool is full"},
      {Pool::issuer_keys, "a CI job's login while the keys of its issuer are fetched", networks,
       answered_503, false},
      {Pool::client_documents,
       "an authorization while the document of a client that isn't registered is fetched", networks,
       answered_503, false},
      {Pool::token_reviews, "a container's login while its cluster is asked about its token",
       networks, answered_503, false},
  };
  static_assert(std::size(infos) == pools);
  return *std::ranges::find(infos, pool, &PoolInfo::pool);
}

const Claimant& Claimant::of_thread() {
  static const Claimant nobody;
  return of_this_thread == nullptr ? nobody : *of_this_thread;
}

ClaimantOfThread::ClaimantOfThread(Claimant claimant)
    : claimant_(std::move(claimant)), outer_(of_this_thread) {
  of_this_thread = &claimant_;
}
ClaimantOfThread::~ClaimantOfThread() { of_this_thread = outer_; }
void ClaimantOfThread::set_account(const std::string& account) {
  if (of_this_thread != nullptr) of_this_thread->account = account;
}
void ClaimantOfThread::set_app(const std::string& app) {
  if (of_this_thread != nullptr) of_this_thread->app = app;
}
void ClaimantOfThread::set_standing(Standing standing) {
  if (of_this_thread != nullptr) of_this_thread->standing = standing;
}

Claimant* LentClaimant::of_thread() { return of_this_thread; }
LentClaimant::LentClaimant(Claimant* claimant) : own_(of_this_thread) { of_this_thread = claimant; }
LentClaimant::~LentClaimant() { of_this_thread = own_; }

std::size_t Shares::HashOfKey::operator()(const Key& key) const noexcept {
  return std::hash<std::uint64_t>()((key.value ^ key.kind) * 0x9E3779B97F4A7C15ULL);
}

Shares::Keys Shares::keys_of(const Claimant& claimant) const {
  constexpr std::size_t ipv4_bytes = 4;
  Keys keys;
  // An attacker can't find accounts whose hashes collide, because berth chooses the ids of
  // accounts.
  if (!claimant.account.empty() && sharers_ != Sharers::networks)
    keys[0] = {an_account, std::hash<std::string_view>()(claimant.account)};
  if (claimant.address.empty() || sharers_ == Sharers::accounts) return keys;
  const auto address = parse_ip_address(claimant.address);
  if (!address) {
    keys[1] = {other_text, std::hash<std::string_view>()(claimant.address)};
  } else if (address->family == AF_INET) {
    keys[1] = {ipv4_address, leading(*address, ipv4_bytes)};
    keys[2] = {ipv4_24, leading(*address, 24 / 8)};
  } else {
    keys[1] = {ipv6_64, leading(*address, 64 / 8)};
    keys[2] = {ipv6_56, leading(*address, 56 / 8)};
    keys[3] = {ipv6_48, leading(*address, 48 / 8)};
  }
  return keys;
}

std::uint32_t Shares::share_of(std::uint8_t kind) const {
  switch (kind) {
    case an_account:
      return std::uint32_t(limits_.of_account);
    case ipv4_24:
    case ipv6_56:
      return std::uint32_t(limits_.of_middle_network);
    case ipv6_48:
      return std::uint32_t(limits_.of_wide_network);
    default:
      return std::uint32_t(limits_.of_narrow_network);
  }
}

Shares::Shares(Pool pool, std::size_t places)
    : pool_(pool),
      sharers_(info(pool).sharers),
      limits_(limits_of(places, info(pool).has_reserve)) {
  Register& all = all_shares();
  const std::lock_guard lock(all.mutex);
  all.live.push_back(this);
}

Shares::~Shares() {
  Register& all = all_shares();
  const std::lock_guard lock(all.mutex);
  all.live.remove(this);
}

Shares::Claim::Claim(Shares& shares, const Claimant& claimant)
    : shares_(&shares), standing_(claimant.standing) {
  const Keys keys = shares.keys_of(claimant);
  const std::lock_guard lock(shares.mutex_);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].kind == nothing) continue;
    const auto [entry, is_new] = shares.counts_.try_emplace(keys[i]);
    if (is_new) entry->second.share = shares.share_of(keys[i].kind);
    ++entry->second.claims;
    entries_[i] = &*entry;
  }
}

Shares::Claim::Claim() = default;

Shares::Claim::~Claim() {
  if (shares_ == nullptr) return;
  leave_queue();
  release();
  const std::lock_guard lock(shares_->mutex_);
  for (Counts::value_type* const entry : entries_)
    if (entry != nullptr && --entry->second.claims == 0) shares_->counts_.erase(entry->first);
}

Shares::Claim::Claim(Claim&& other) noexcept { *this = std::move(other); }

Shares::Claim& Shares::Claim::operator=(Claim&& other) noexcept {
  std::swap(shares_, other.shares_);
  std::swap(entries_, other.entries_);
  std::swap(standing_, other.standing_);
  std::swap(has_place_, other.has_place_);
  std::swap(queued_, other.queued_);
  return *this;
}

Shares::Taken Shares::verdict(const Entries& entries, Standing standing) const {
  if (standing == Standing::essential) return used_ < limits_.places ? Taken::yes : Taken::full;
  if (used_ >= limits_.ordinary) return Taken::full;
  if (used_ < limits_.binds_at) return Taken::yes;
  const bool over = std::ranges::any_of(entries, [](const Counts::value_type* entry) {
    return entry != nullptr && entry->second.places >= entry->second.share;
  });
  return over ? Taken::over_share : Taken::yes;
}

void Shares::add(const Entries& entries) {
  ++used_;
  for (Counts::value_type* const entry : entries)
    if (entry != nullptr) ++entry->second.places;
}

Shares::Taken Shares::Claim::take(Standing standing) {
  if (has_place_) return Taken::yes;
  if (shares_ == nullptr) return Taken::full;
  const std::lock_guard lock(shares_->mutex_);
  const Taken taken = shares_->verdict(entries_, standing);
  if (taken == Taken::yes) {
    shares_->add(entries_);
    has_place_ = true;
  } else {
    shares_->note(taken);
  }
  return taken;
}

bool Shares::Claim::wait(Deadline deadline, Standing standing) {
  if (has_place_) return true;
  if (shares_ == nullptr) return false;
  std::unique_lock lock(shares_->mutex_);
  if (shares_->closed_) return false;
  if (shares_->verdict(entries_, standing) == Taken::yes) {
    shares_->add(entries_);
    has_place_ = true;
    return true;
  }
  Waiter waiter(*this, standing);
  waiter.place = shares_->waiters_.insert(shares_->waiters_.end(), &waiter);
  waiter.changed.wait_until(lock, deadline, [&] { return waiter.has_place || shares_->closed_; });
  shares_->waiters_.erase(waiter.place);
  has_place_ = waiter.has_place;
  if (!has_place_) shares_->note(shares_->verdict(entries_, standing));
  return has_place_;
}

bool Shares::Claim::queue(Standing standing, std::function<void()> told) {
  if (has_place_) return true;
  auto waiter = std::make_unique<Waiter>(*this, standing, std::move(told));
  if (shares_ == nullptr) {
    waiter->tell();
    return false;
  }
  const std::lock_guard lock(shares_->mutex_);
  if (!shares_->closed_ && shares_->verdict(entries_, standing) == Taken::yes) {
    shares_->add(entries_);
    has_place_ = true;
    return true;
  }
  queued_ = std::move(waiter);
  queued_->place = shares_->waiters_.insert(shares_->waiters_.end(), queued_.get());
  if (shares_->closed_) queued_->tell();
  return false;
}

bool Shares::Claim::leave_queue() {
  if (!queued_) return has_place_;
  const std::lock_guard lock(shares_->mutex_);
  shares_->waiters_.erase(queued_->place);
  has_place_ = queued_->has_place;
  if (!has_place_) shares_->note(shares_->verdict(entries_, queued_->standing));
  queued_.reset();
  return has_place_;
}

void Shares::Claim::release() {
  if (!has_place_) return;
  const std::lock_guard lock(shares_->mutex_);
  has_place_ = false;
  --shares_->used_;
  for (Counts::value_type* const entry : entries_)
    if (entry != nullptr) --entry->second.places;
  shares_->serve_waiters();
}

// A waiter costs the comparison of four numbers, since its counts were looked up when it came.
void Shares::serve_waiters() {
  for (Waiter* const waiter : waiters_) {
    if (used_ >= limits_.places) return;
    if (waiter->has_place || verdict(waiter->claim.entries_, waiter->standing) != Taken::yes)
      continue;
    add(waiter->claim.entries_);
    waiter->has_place = true;
    waiter->tell();
  }
}

void Shares::note(Taken refusal) {
  if (refusal == Taken::over_share) ++over_share_;
  if (refusal == Taken::full) ++full_;
}

Shares::Taken Shares::look(const Claimant& claimant) {
  const Keys keys = keys_of(claimant);
  const std::lock_guard lock(mutex_);
  Entries entries{};
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (const auto entry = counts_.find(keys[i]); entry != counts_.end()) entries[i] = &*entry;
  return verdict(entries, claimant.standing);
}

void Shares::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Waiter* const waiter : waiters_) waiter->tell();
}

std::size_t Shares::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::size_t Shares::counted() const {
  const std::lock_guard lock(mutex_);
  return counts_.size();
}

PoolFigures figures_of(Pool pool) {
  PoolFigures figures;
  Register& all = all_shares();
  const std::lock_guard lock(all.mutex);
  for (const Shares* const shares : all.live) {
    if (shares->pool() != pool) continue;
    const PoolFigures some = shares->figures();
    figures.places += some.places;
    figures.used += some.used;
    figures.over_share += some.over_share;
    figures.full += some.full;
  }
  return figures;
}

PoolFigures Shares::figures() const {
  const std::lock_guard lock(mutex_);
  return {.places = limits_.places, .used = used_, .over_share = over_share_, .full = full_};
}

}  // namespace berth
