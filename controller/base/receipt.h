#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"

// What receipts and the published ledger consist of, and whether a receipt stands in that ledger.
// berthd signs them and the client checks them, without a connection; docs/guides/receipts.md
// has their form.
namespace berth::receipt {

// The header `typ` of a receipt, and of a published day of the ledger.
inline constexpr std::string_view receipt_type = "berth-receipt";
inline constexpr std::string_view day_type = "berth-ledger-day";

struct Posting {
  std::string account;  // its id in the ledger, such as "user:01936f5e-…"
  std::int64_t amount = 0;
};
// The text whose hash is the transaction's leaf in the tree of its day (merkle_tree.h). Everything
// in a row of the ledger is in it but the memo, because memos are emptied when a user is deleted.
std::string leaf_text(const std::string& id, const std::string& kind, Instant at,
                      const std::vector<Posting>& postings);

// The sums of a closed day, as they are published.
struct Day {
  std::string date;  // such as 2026-01-31, in UTC
  std::int64_t transactions = 0;
  std::int64_t postings = 0;
  std::int64_t moved = 0;
  std::string hash;   // SHA-256 in hex, like the next two
  std::string root;   // of the tree of its transactions; empty for a day that has no tree
  std::string chain;  // of this day and the published chain of the day before it

  bool operator==(const Day&) const = default;
};
// The chain of a day after that of the day before it, which is empty for the first one.
std::string chain_after(const std::string& before, const Day& day, std::int64_t number_of_day);

// A platform's public keys: what GET /.well-known/berth-receipts.json answers.
struct Keys {
  std::string issuer;
  std::map<std::string, std::string, std::less<>> by_id;
};
// Throws std::invalid_argument, with a sentence, if the text isn't such an answer.
Keys parse_keys(const std::string& text);

// Published days, from answers of GET /.well-known/berth-ledger.
class Ledger {
 public:
  // Adds the days of an answer. Throws std::invalid_argument, with a sentence, if the text isn't
  // such an answer, if a day isn't signed with one of the keys, or if two days contradict each
  // other: if the same day was published twice with other contents, or if the chain doesn't lead
  // from one day to the next one.
  void add(const std::string& text, const Keys& keys);
  // Nothing if it isn't among the days.
  const Day* find(const std::string& date) const;

 private:
  void check_chain() const;

  struct Published {
    Day day;
    std::string before;  // the date of the closed day before it; empty for the first one
  };
  std::map<std::string, Published> days_;
};
// The signed form of a published day.
std::string sign_day(const std::string& seed, const std::string& issuer, const Day& day,
                     const std::string& date_before);

enum class Verdict {
  stands,        // the ledger that was published has the transaction as the receipt says
  signed_only,   // the signature is the platform's; the receipt has no proof, since its day wasn't
                 // closed when it was made, or was closed without a tree
  day_missing,   // the same, and the receipt has a proof, but its day isn't among those given
  contradicted,  // the published ledger has something else
  forged,        // the signature isn't that of the key which it names
  other_platform,  // another platform's
  unknown_key,     // this platform's, with a key that isn't among those given
  malformed        // not a receipt
};
constexpr auto texts_of(Verdict) {
  return EnumTexts<Verdict::malformed>{"stands", "signed_only",    "day_missing", "contradicted",
                                       "forged", "other_platform", "unknown_key", "malformed"};
}
struct Judgement {
  Verdict verdict = Verdict::malformed;
  std::string sentence;        // what was found
  std::string transaction_id;  // empty if it is malformed
  std::string day;             // the date; empty if it is malformed
};
// Blanks around the receipt don't matter.
Judgement judge(std::string_view receipt, const Keys& keys, const Ledger& ledger);

}  // namespace berth::receipt
