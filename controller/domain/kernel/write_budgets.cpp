#include "controller/domain/kernel/write_budgets.h"

#include <algorithm>

#include "controller/base/address_range.h"
#include "controller/base/crypto.h"

namespace berth::write_budgets {
namespace {

constexpr Amount none = {};

constexpr std::array budgets = {
    Budget{.stores = Stores::registration,
           .what = "registering, and mail about one's own address and password",
           .account = {500'000, 1'000},
           .unverified = {25'000, 100},
           .network = {30'000'000, 150'000},
           .stops_at = DiskStage::low},
    Budget{.stores = Stores::sign_in,
           .what = "logging in, consents, codes and tokens",
           .account = {1'000'000, 5'000},
           .unverified = {30'000, 150},
           .network = {50'000'000, 300'000}},
    Budget{.stores = Stores::account,
           .what = "one's own account: name, password, second factor, avatar, learning",
           .account = {1'000'000, 3'000},
           .unverified = {20'000, 100},
           .network = {10'000'000, 50'000},
           .stops_at = DiskStage::low},
    Budget{.stores = Stores::people,
           .what = "friends, blocks, presence and membership of channels",
           .account = {500'000, 2'000},
           .unverified = none,
           .network = {10'000'000, 50'000},
           .later = 1'000,  // the audit log's entry of the end of what was begun
           .stops_at = DiskStage::low},
    Budget{.stores = Stores::chat,
           .what = "messages",
           .account = {3'000'000, 8'000},
           .unverified = none,
           .network = {35'000'000, 100'000},
           .stops_at = DiskStage::low},
    Budget{.stores = Stores::apps,
           .what = "apps, their secrets, requests for scopes, webhooks and alerts",
           .account = {1'000'000, 3'000},
           .unverified = none,
           .network = {10'000'000, 50'000},
           .stops_at = DiskStage::very_low},
    Budget{.stores = Stores::deployments,
           .what = "deployments, their changes, variables and restarts, and budgets",
           .account = {4'000'000, 10'000},
           .unverified = none,
           .network = {15'000'000, 50'000},
           .later = 2'000,  // events for streams and webhooks, and entries of the log
           .stops_at = DiskStage::very_low},
    Budget{.stores = Stores::sessions,
           .what = "commands in containers, and connections to their ports",
           .account = {2'000'000, 4'000},
           .unverified = none,
           .network = {5'000'000, 20'000},
           .later = 1'000,  // the audit log's entry of the end
           .stops_at = DiskStage::very_low},
    Budget{.stores = Stores::ads,
           .what = "campaigns and their targeting, ads that are served, and their events",
           .account = {3'000'000, 15'000},
           .unverified = {10'000, 100},
           .network = {20'000'000, 100'000},
           .stops_at = DiskStage::very_low},
    Budget{.stores = Stores::payments,
           .what = "spends, transfers, purchases, gifts and live time",
           .account = {4'000'000, 40'000},
           .unverified = {15'000, 200},
           .network = {15'000'000, 150'000}},
};

constexpr std::int64_t sum_of(Amount Budget::*part) {
  std::int64_t sum = 0;
  for (const Budget& budget : budgets) sum += (budget.*part).bytes;
  return sum;
}
static_assert(sum_of(&Budget::account) == bytes_of_account);
static_assert(sum_of(&Budget::unverified) == bytes_of_unverified_account);
static_assert(sum_of(&Budget::network) == bytes_of_network);

constexpr bool in_order() {
  for (size_t i = 0; i < budgets.size(); ++i)
    if (size_t(budgets[i].stores) != i + size_t(Stores::registration)) return false;
  return budgets.size() + size_t(Stores::registration) == size_t(Stores::administration);
}
static_assert(in_order(), "a row for each kind that is limited, in the order of the enum");

bool is_used_up(const Amount& used, const Amount& budget) {
  return used.bytes >= budget.bytes || used.rows >= budget.rows;
}

std::string range_of(std::string_view address, int bits) {
  return to_string(*parse_address_range(std::string(address) + "/" + std::to_string(bits)));
}

Error used_up(const char* whose, const Budget& budget, Instant now) {
  const Instant next_day(std::chrono::days(utc_day(now) + 1));
  Error error(Code::rate_limited,
              std::string(whose) + " has stored as much as it may in one day (" +
                  std::string(budget.what) + "); the next day begins at 00:00 UTC");
  error.retry_after = std::chrono::ceil<std::chrono::seconds>(next_day - now);
  return error;
}

constexpr size_t flushed_at_once = 500;  // rows in one transaction: some milliseconds
// At most this many counts of a day are read. A count is only stored once somebody has used a
// sixteenth of a budget, so more are unlikely.
constexpr int most_read = 100'000;

}  // namespace

std::span<const Budget> all() { return budgets; }

const Budget* find(Stores stores) {
  if (stores == Stores::unsaid) stores = Stores::account;
  const auto found = std::ranges::find(budgets, stores, &Budget::stores);
  return found == budgets.end() ? nullptr : &*found;
}

Amount unverified_part(const Budget& budget, const Writer& writer) {
  return writer.is_guest && budget.stores == Stores::people ? people_of_guest : budget.unverified;
}

Error not_verified() { return Error(Code::email_not_verified, "verify your email address first"); }

std::string neighbourhood_of(std::string_view address) {
  constexpr int bits_of_ipv4 = 24, bits_of_ipv6 = 48;
  const auto parsed = parse_ip_address(address);
  if (!parsed) return "";
  return range_of(to_string(*parsed), parsed->family == AF_INET ? bits_of_ipv4 : bits_of_ipv6);
}

Counts::Counts(std::string data_key, int divisor, size_t max_counts)
    : data_key_(std::move(data_key)), divisor_(divisor), max_counts_(max_counts) {}

Amount Counts::divided(const Amount& amount) const {
  return {.bytes = amount.bytes / divisor_, .rows = amount.rows / divisor_};
}

Amount Counts::stored_for(const std::string& hash, std::int64_t day) const {
  if (day != stored_day_) return {};
  const auto found = stored_.find(hash);
  return found == stored_.end() ? Amount() : found->second;
}

namespace {

constexpr size_t bytes_of_hash = 16;

std::string hash_of(const std::string& data_key, const std::string& key) {
  return hex(hmac_sha256(data_key, key).substr(0, bytes_of_hash));
}

std::string key_of(char whose, Stores stores, const std::string& subject) {
  return std::string{whose, char('a' + int(stores))} + subject;
}

}  // namespace

Counts::Use Counts::used(Whose whose, Stores stores, const std::string& subject, std::int64_t day) {
  const std::lock_guard lock(mutex_);
  const Counted& counted_ones = counted(whose);
  const std::string key = key_of(char(whose), stores, subject);
  const auto found = counted_ones.counts.find(key);
  // A count that isn't in memory may have been stored before berthd was restarted.
  if (found == counted_ones.counts.end())
    return {.amount = stored_.empty() ? Amount() : stored_for(hash_of(data_key_, key), day)};
  const Count& count = found->second;
  Use use = {.amount = stored_for(count.hash, day), .is_verified = count.is_verified};
  if (count.day == day) use.amount += count.unflushed;
  return use;
}

void Counts::note_verified(Stores stores, const std::string& account_id) {
  const std::lock_guard lock(mutex_);
  const auto found = accounts_.counts.find(key_of(char(Whose::account), stores, account_id));
  if (found != accounts_.counts.end()) found->second.is_verified = true;
}

std::optional<Error> Counts::refusal(const Writer& writer, Stores stores, Instant now) {
  const Budget* budget = write_budgets::find(stores);
  if (budget == nullptr) return std::nullopt;
  const std::int64_t day = utc_day(now);
  if (!writer.account_id.empty()) {
    const auto [use, known] = used(Whose::account, budget->stores, writer.account_id, day);
    // Whether the address is verified is looked up only where the answer matters.
    const Amount unverified = unverified_part(*budget, writer);
    if (!known && is_used_up(use, divided(unverified))) {
      if (!writer.is_verified || !writer.is_verified()) {
        if (unverified.bytes == 0) return not_verified();
        return used_up("this account, whose email address isn't verified yet,", *budget, now);
      }
      note_verified(budget->stores, writer.account_id);
    }
    if (is_used_up(use, divided(budget->account))) return used_up("this account", *budget, now);
  }
  if (!writer.owner_id.empty() &&
      is_used_up(used(Whose::owner, budget->stores, writer.owner_id, day).amount,
                 divided(budget->network)))
    return used_up("what this account's containers and CI jobs share", *budget, now);
  if (writer.address.empty()) return std::nullopt;
  const Amount network = divided(budget->network);
  if (is_used_up(used(Whose::network, budget->stores, network_of(writer.address), day).amount,
                 network))
    return used_up("your network", *budget, now);
  const Amount more = {.bytes = network.bytes * networks_of_neighbourhood,
                       .rows = network.rows * networks_of_neighbourhood};
  if (is_used_up(
          used(Whose::neighbourhood, budget->stores, neighbourhood_of(writer.address), day).amount,
          more))
    return used_up("the network around yours", *budget, now);
  return std::nullopt;
}

void Counts::add(Whose whose, const Budget& budget, const std::string& subject,
                 const Amount& stored, std::int64_t day) {
  const std::string key = key_of(char(whose), budget.stores, subject);
  const std::lock_guard lock(mutex_);
  auto& [counts, by_age] = counted(whose);
  auto found = counts.find(key);
  if (found == counts.end()) {
    if (counts.size() >= max_counts_) {
      const auto oldest = counts.find(*by_age.front());
      by_age.pop_front();
      counts.erase(oldest);
    }
    found = counts.try_emplace(key).first;
    found->second.hash = hash_of(data_key_, key);
    found->second.place = by_age.insert(by_age.end(), &found->first);
    const Amount whole = divided(whose == Whose::account ? budget.account : budget.network);
    found->second.threshold = {.bytes = whole.bytes / stored_from,
                               .rows = whole.rows / stored_from};
  }
  Count& count = found->second;
  if (count.day != day) {
    count.day = day;
    count.unflushed = {};
  }
  count.unflushed += stored;
  by_age.splice(by_age.end(), by_age, count.place);
}

void Counts::charge(const Writer& writer, Stores stores, const Amount& stored, Instant now) {
  const Budget* budget = write_budgets::find(stores);
  if (budget == nullptr || (stored.bytes == 0 && stored.rows == 0)) return;
  const Amount whole = {.bytes = stored.bytes + budget->later, .rows = stored.rows};
  const std::int64_t day = utc_day(now);
  if (!writer.account_id.empty()) add(Whose::account, *budget, writer.account_id, whole, day);
  if (!writer.owner_id.empty()) add(Whose::owner, *budget, writer.owner_id, whole, day);
  if (writer.address.empty()) return;
  add(Whose::network, *budget, network_of(writer.address), whole, day);
  add(Whose::neighbourhood, *budget, neighbourhood_of(writer.address), whole, day);
}

void Counts::store(db::Tx& tx, const Waiting& one) {
  tx.execute(R"(
      INSERT INTO write_counts (day, subject_hash, bytes, row_count)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT (day, subject_hash) DO UPDATE
      SET bytes = write_counts.bytes + excluded.bytes,
          row_count = write_counts.row_count + excluded.row_count)",
             one.day, one.hash, one.amount.bytes, one.amount.rows);
}

void Counts::flush(db::Database& database, Instant now) {
  const std::int64_t day = utc_day(now);
  {
    const std::lock_guard lock(mutex_);
    if (day != stored_day_) stored_.clear();
    stored_day_ = day;
    for (Counted* all_of : {&accounts_, &networks_})
      for (auto& [key, count] : all_of->counts) {
        if (count.day != day || (count.unflushed.bytes == 0 && count.unflushed.rows == 0)) continue;
        Amount sum = stored_for(count.hash, day);
        sum += count.unflushed;
        if (!is_used_up(sum, count.threshold)) continue;
        waiting_.push_back({count.hash, day, count.unflushed});
        stored_[count.hash] = sum;
        count.unflushed = {};
      }
  }
  while (!waiting_.empty()) {
    const auto end = waiting_.begin() + std::ptrdiff_t(std::min(waiting_.size(), flushed_at_once));
    database.write([&](db::Tx& tx) {
      for (auto one = waiting_.begin(); one != end; ++one) store(tx, *one);
    });
    waiting_.erase(waiting_.begin(), end);
  }
  std::unordered_map<std::string, Amount> read;
  database.read([&](db::Tx& tx) {
    auto found = tx.query(
        R"(
        SELECT subject_hash, bytes, row_count
        FROM write_counts
        WHERE day = $1
        LIMIT $2)",
        day, most_read);
    while (found.next())
      read[found.text("subject_hash")] = {.bytes = found.integer("bytes"),
                                          .rows = found.integer("row_count")};
  });
  const std::lock_guard lock(mutex_);
  stored_ = std::move(read);
}

size_t Counts::size() {
  const std::lock_guard lock(mutex_);
  return accounts_.counts.size() + networks_.counts.size();
}

bool is_any_old(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM write_counts WHERE day < $1 LIMIT 1)", utc_day(tx.now())) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM write_counts
      WHERE (day, subject_hash) IN (SELECT day, subject_hash
                                    FROM write_counts
                                    WHERE day < $1
                                    LIMIT $2))",
      utc_day(tx.now()), limit);
}

}  // namespace berth::write_budgets
