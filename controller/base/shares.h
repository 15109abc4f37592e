#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controller/base/enum_text.h"

// Shares of the pools that all callers have in common, such as the threads that handle requests or
// the rows of logins that wait, so that no account and no network can take a pool for itself.
namespace berth {

// Everything in berthd that is limited for all callers together and that a caller from outside can
// fill. The texts are labels of metrics. shares.cpp says what a place in each pool is.
enum class Pool {
  requests,
  handlers,
  large_bodies,
  streams,
  exports,
  log_readers,
  heavy_reads,
  deep_pages,
  password_hashes,
  presence_users,
  presence_seats,
  rates_of_networks,
  rates_of_callers,
  failed_logins_of_pairs,
  failed_logins_of_networks,
  failed_logins_of_accounts,
  failed_codes_of_accounts,
  logged_networks,
  wrong_secrets_of_networks,
  device_requests,
  webhook_deliveries,
  domain_checks,
  image_checks,
  uploads,
  pictures,
  container_sessions,
  issuer_keys,
  client_documents,
  token_reviews,
};
constexpr auto texts_of(Pool) {
  return EnumTexts<Pool::token_reviews>{"requests",
                                        "handlers",
                                        "large_bodies",
                                        "streams",
                                        "exports",
                                        "log_readers",
                                        "heavy_reads",
                                        "deep_pages",
                                        "password_hashes",
                                        "presence_users",
                                        "presence_seats",
                                        "rates_of_networks",
                                        "rates_of_callers",
                                        "failed_logins_of_pairs",
                                        "failed_logins_of_networks",
                                        "failed_logins_of_accounts",
                                        "failed_codes_of_accounts",
                                        "logged_networks",
                                        "wrong_secrets_of_networks",
                                        "device_requests",
                                        "webhook_deliveries",
                                        "domain_checks",
                                        "image_checks",
                                        "uploads",
                                        "pictures",
                                        "container_sessions",
                                        "issuer_keys",
                                        "client_documents",
                                        "token_reviews"};
}
inline constexpr std::size_t pools = texts_of(Pool()).size();

// Who has shares of a pool.
enum class Sharers { networks, accounts, both };
constexpr auto texts_of(Sharers) {
  return EnumTexts<Sharers::both>{"networks", "accounts", "accounts and networks"};
}

// What the documentation says of a pool (docs/reference/pools.md).
struct PoolInfo {
  Pool pool;
  std::string_view place;  // what takes a place, and for how long
  Sharers sharers;
  std::string_view if_taken;  // what happens to whoever gets no place
  bool has_reserve = true;    // whether admins and probes have places of their own
};
const PoolInfo& info(Pool pool);

// Whether a place is taken for an ordinary caller, or for /health, the metrics or an admin, who may
// also take the places in reserve and have no share that could be used up.
enum class Standing { ordinary, essential };

// Who takes places.
struct Claimant {
  std::string account = {};  // a user's id; empty while nobody has been authenticated
  // The client's address as api::client_address() returns it; empty if there is no client, or if
  // the address stands for many clients, such as a trusted proxy's.
  std::string address = {};
  Standing standing = Standing::ordinary;
  std::string app = {};  // the id of the app by which the account calls; for the log alone

  // The claimant whose request the calling thread handles; one without account and address outside
  // of requests.
  static const Claimant& of_thread();
};

// While it exists, `claimant` is the one of the calling thread. It has to be destroyed by the
// thread that created it.
class ClaimantOfThread {
 public:
  explicit ClaimantOfThread(Claimant claimant);
  ~ClaimantOfThread();
  ClaimantOfThread(const ClaimantOfThread&) = delete;
  ClaimantOfThread& operator=(const ClaimantOfThread&) = delete;

  // Set the account of the thread's claimant once it is known, its app, or its standing. They do
  // nothing outside of requests.
  static void set_account(const std::string& account);
  static void set_app(const std::string& app);
  static void set_standing(Standing standing);

 private:
  Claimant claimant_;
  Claimant* const outer_;
};

// How many places of a pool a claimant may take. While fewer than `binds_at` are taken, there are
// no shares, so that one network may use an idle server. From then on, whoever has their share or
// more gets no further place; what they have, they keep.
struct PoolLimits {
  std::size_t places;
  std::size_t ordinary;  // without the reserve
  std::size_t binds_at;
  std::size_t of_account;
  std::size_t of_narrow_network;  // an IPv4 address, the /64 of an IPv6 address
  std::size_t of_middle_network;  // IPv4 /24, IPv6 /56
  std::size_t of_wide_network;    // IPv6 /48
};
// Three quarters are free for all; an account gets 1/32, the networks 1/16, 1/12 and 1/8, each at
// least one place; the reserve is 1/16.
constexpr PoolLimits limits_of(std::size_t places, bool has_reserve = true) {
  const auto part = [&](std::size_t divisor) {
    return places / divisor > 0 ? places / divisor : std::size_t(1);
  };
  return {.places = places,
          .ordinary = places - (has_reserve ? places / 16 : 0),
          .binds_at = places - places / 4,
          .of_account = part(32),
          .of_narrow_network = part(16),
          .of_middle_network = part(12),
          .of_wide_network = part(8)};
}

// What a pool has taken, for metrics.
struct PoolFigures {
  std::size_t places = 0;
  std::size_t used = 0;
  std::uint64_t over_share = 0;  // how often a share was used up, since the start
  std::uint64_t full = 0;        // how often no place was left, since the start
};
// The sums of all Shares of this process that belong to the pool.
PoolFigures figures_of(Pool pool);

// The places of one pool, and who has them. Thread-safe.
class Shares {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Taken {
    yes,
    over_share,  // the claimant's account or one of its networks has its share
    full,
  };

 private:
  struct Key {
    std::uint8_t kind = 0;
    std::uint64_t value = 0;
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& key) const noexcept;
  };
  struct Count {
    std::uint32_t places = 0;
    std::uint32_t claims = 0;  // how many claims refer to this count
    std::uint32_t share = 0;
  };
  using Counts = std::unordered_map<Key, Count, HashOfKey>;
  // The account, and three networks.
  using Entries = std::array<Counts::value_type*, 4>;

 public:
  Shares(Pool pool, std::size_t places);
  ~Shares();
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  struct Waiter;

  // A place that a claimant may take and give back any number of times. Its destruction gives the
  // place back. Not thread-safe; has to be destroyed before its pool, and stay where it is while it
  // is queued.
  class Claim {
   public:
    Claim();  // a claim that belongs to no pool and never gets a place
    Claim(Shares& shares, const Claimant& claimant);
    ~Claim();
    Claim(Claim&& other) noexcept;
    Claim& operator=(Claim&& other) noexcept;

    // Takes a place, unless this claim has one. Never waits.
    Taken take() { return take(standing_); }
    Taken take(Standing standing);
    // Waits until a place is free that the claimant may have. Those who may take it get it in the
    // order of their arrival. Returns false after the deadline or after close().
    bool wait(Deadline deadline) { return wait(deadline, standing_); }
    bool wait(Deadline deadline, Standing standing);
    // Takes a place, or queues for one among those who wait. Returns whether it has one now.
    // Otherwise `told` is called when there is one for it, or after close(), by whichever thread
    // that is, and the caller calls leave_queue(). `told` is called with the pool's lock held, so
    // it must be quick and must not use the pool.
    bool queue(Standing standing, std::function<void()> told);
    // Leaves the queue, if the claim is in it; `told` isn't called any more. Returns whether the
    // claim has a place.
    bool leave_queue();
    // Gives the place back, if this claim has one.
    void release();
    bool has_place() const { return has_place_; }

   private:
    friend class Shares;
    Shares* shares_ = nullptr;
    Entries entries_{};
    Standing standing_ = Standing::ordinary;
    bool has_place_ = false;
    std::unique_ptr<Waiter> queued_;  // while it is in the queue
  };

  // Returns what Claim::take() would return, but takes nothing.
  Taken look(const Claimant& claimant);

  // Ends all waiting. From now on, Claim::wait() returns false.
  void close();

  Pool pool() const { return pool_; }
  const PoolLimits& limits() const { return limits_; }
  std::size_t used() const;
  // The number of accounts and networks that are counted at the moment.
  std::size_t counted() const;
  PoolFigures figures() const;

 private:
  using Keys = std::array<Key, 4>;

  Keys keys_of(const Claimant& claimant) const;
  std::uint32_t share_of(std::uint8_t kind) const;
  // These need the lock.
  Taken verdict(const Entries& entries, Standing standing) const;
  void add(const Entries& entries);
  void serve_waiters();
  void note(Taken refusal);

  const Pool pool_;
  const Sharers sharers_;
  const PoolLimits limits_;
  mutable std::mutex mutex_;
  Counts counts_;
  std::size_t used_ = 0;
  std::list<Waiter*> waiters_;
  bool closed_ = false;
  std::uint64_t over_share_ = 0;
  std::uint64_t full_ = 0;
};

}  // namespace berth
