#include "controller/domain/social/user_search.h"

#include <algorithm>

#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/social/blocks.h"

namespace berth::user_search {
namespace {

// How many rows of the index are read in each of the two ranges, which takes milliseconds.
constexpr int max_looked_at = 4'000;

// Returns the end of the range of names that begin with `prefix`. No username contains DEL.
std::string after_all(const std::string& prefix) { return prefix + "\x7f"; }

class Results {
 public:
  Results(db::Tx& tx, const std::string& user_id)
      : user_id_(user_id), hidden_(blocks::around(tx, user_id)) {}

  // Takes results from rows of id and username.
  void take(db::Query rows) {
    while (!full() && rows.next()) {
      Found found = {.id = rows.text("id"), .username = rows.text("username")};
      if (found.id == user_id_ || hidden_.contains(found.id)) continue;
      // A name may contain the query more than once.
      if (std::ranges::find(found_, found.id, &Found::id) == found_.end())
        found_.push_back(std::move(found));
    }
  }
  bool full() const { return found_.size() == max_results; }
  std::vector<Found> get() && { return std::move(found_); }

 private:
  const std::string& user_id_;
  const std::unordered_set<std::string> hidden_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<Found> search(db::Tx& tx, const std::string& user_id, std::string_view query) {
  if (characters(query) < min_query_length)
    throw Error(Code::query_too_short, "q must have at least 2 characters");
  if (query.size() > accounts::max_username_length) return {};
  const std::string part = accounts::folded(query);
  Results results(tx, user_id);
  results.take(tx.query(
      R"(
      SELECT id, username
      FROM users
      WHERE username_key >= $1
        AND username_key < $2
        AND deleted_at IS NULL
        AND suspended_at IS NULL
      ORDER BY username_key
      LIMIT $3)",
      part, after_all(part), max_looked_at));
  if (!results.full())
    results.take(tx.query(
        R"(
      SELECT user_id AS id, username
      FROM username_suffixes
      WHERE suffix >= $1 AND suffix < $2
      ORDER BY suffix, user_id
      LIMIT $3)",
        part, after_all(part), max_looked_at));
  return std::move(results).get();
}

std::optional<Found> find(db::Tx& tx, std::string_view username) {
  auto rows = tx.query(
      R"(
      SELECT id, username
      FROM users
      WHERE username_key = $1 AND deleted_at IS NULL)",
      accounts::folded(username));
  if (!rows.next()) return std::nullopt;
  return Found{.id = rows.text("id"), .username = rows.text("username")};
}

}  // namespace berth::user_search
