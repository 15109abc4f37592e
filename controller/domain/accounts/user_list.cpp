#include "controller/domain/accounts/account_rows.h"
#include "controller/domain/accounts/accounts.h"

namespace berth::accounts {
namespace {

// Returns the pattern for LIKE, with '\\' as its escape character.
std::string part(const std::optional<std::string>& search) {
  if (!search) return "%";
  std::string pattern = "%";
  for (const char c : folded(*search)) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern + "%";
}

}  // namespace

Page<User> list_users(db::Tx& tx, const std::optional<std::string>& search,
                      const PageRequest& page) {
  static const std::string matching = R"(
      WHERE u.deleted_at IS NULL
        AND (u.email_key LIKE $1 ESCAPE '\' OR u.username_key LIKE $1 ESCAPE '\'))";
  static const std::string count_sql = R"(
      SELECT count(*)
      FROM users u)" + matching;
  static const std::string list_sql = select_users + matching + R"(
      ORDER BY u.registration_number DESC
      LIMIT $2 OFFSET $3)";
  Page<User> result = {.items = {},
                       .page = page.page,
                       .page_size = page.page_size,
                       .total = tx.number(count_sql, part(search))};
  auto rows = tx.query(list_sql, part(search), page.page_size, page.offset());
  while (rows.next()) result.items.push_back(user_of(rows));
  return result;
}

}  // namespace berth::accounts
