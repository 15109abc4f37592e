#include "controller/domain/accounts/account_rows.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::accounts {
namespace {

// How many users a search counts and finds in each index. What it finds has to be sorted anew for
// each page.
constexpr std::int64_t most_found = 1'000;

// Selects the users that a search finds: by the beginning of their address, or by any part of their
// username. $1 and $2 are the ends of the range of texts that begin with the part. One row more
// than most_found is read of each index, which says that there are more.
const std::string matching_ids = R"(
      SELECT id
      FROM (SELECT id
            FROM users
            WHERE email_key >= $1 AND email_key < $2 AND deleted_at IS NULL
            ORDER BY email_key
            LIMIT 1001) a
      UNION
      SELECT id
      FROM (SELECT id
            FROM users
            WHERE username_key >= $1 AND username_key < $2 AND deleted_at IS NULL
            ORDER BY username_key
            LIMIT 1001) b
      UNION
      SELECT user_id
      FROM (SELECT user_id
            FROM username_suffixes
            WHERE suffix >= $1 AND suffix < $2
            ORDER BY suffix, user_id
            LIMIT 1001) c)";

}  // namespace

Page<User> list_users(db::Tx& tx, const std::optional<std::string>& search,
                      const PageRequest& page) {
  static const std::vector<SortColumn> newest_first = {
      {SortColumn::Type::integer, "registration_number"}};
  // The numbers of a page's users are found first, so that no balance is looked up for those who
  // are skipped or sorted out.
  static const ListSql all = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM users WHERE deleted_at IS NULL LIMIT $1) counted)",
                              .rows = select_users + R"(
      WHERE u.registration_number IN (
        SELECT registration_number
        FROM users
        WHERE deleted_at IS NULL AND registration_number < $1
        ORDER BY registration_number DESC
        LIMIT $2 OFFSET $3)
      ORDER BY u.registration_number DESC)",
                              .sorted_by = newest_first};
  static const ListSql fitting = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM ()" + matching_ids +
                                           R"() f LIMIT $3) counted)",
                                  .rows = select_users + R"(
      WHERE u.registration_number IN (
        SELECT f.registration_number
        FROM users f
        WHERE f.id IN ()" + matching_ids + R"()
          AND f.registration_number < $3
        ORDER BY f.registration_number DESC
        LIMIT $4 OFFSET $5)
      ORDER BY u.registration_number DESC)",
                                  .sorted_by = newest_first};
  if (!search) return read_page(tx, all, page, user_of);
  // A username has no '@'.
  const std::string part =
      search->find('@') == std::string::npos ? folded(*search) : email_key(*search);
  Page<User> found = read_page(tx, fitting, page, user_of, part, end_of_prefix(part));
  if (found.total > most_found) {
    found.total = most_found;
    found.total_is_at_least = true;
  }
  return found;
}

}  // namespace berth::accounts
