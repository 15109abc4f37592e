#include "controller/domain/accounts/guests.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/mail_address.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/kernel/utc_date.h"

namespace berth::guests {
namespace {

constexpr std::string_view of_all = "all";  // the subject of the count of all apps
constexpr size_t random_bytes_of_name = 6;

// The subject of the count of an account's apps.
std::string of_owner(const std::string& owner_id) { return "owner:" + owner_id; }

// How many guests there may be for a subject, and what the caller is told beyond that.
struct Limits {
  int made_per_day = 0;
  int living = 0;
  std::string beyond_living;
  std::string beyond_made;
};

Limits limits_of_app() {
  return {.made_per_day = max_made_per_day,
          .living = max_living,
          .beyond_living = "an app can have " + std::to_string(max_living) + " guests at a time",
          .beyond_made = "an app can make " + std::to_string(max_made_per_day) + " guests a day"};
}

Limits limits_of_owner(bool is_approved) {
  if (!is_approved)
    return {.made_per_day = max_made_per_day_by_owner_unapproved,
            .living = max_living_of_owner_unapproved,
            .beyond_living =
                "an app without an approved scope makes no guests while its owner's "
                "apps have " +
                std::to_string(max_living_of_owner_unapproved),
            .beyond_made =
                "an app without an approved scope makes no guests once its owner's apps "
                "have made " +
                std::to_string(max_made_per_day_by_owner_unapproved) + " on a day"};
  return {.made_per_day = max_made_per_day_by_owner,
          .living = max_living_of_owner,
          .beyond_living = "the apps of one account together can have " +
                           std::to_string(max_living_of_owner) + " guests at a time",
          .beyond_made = "the apps of one account together can make " +
                         std::to_string(max_made_per_day_by_owner) + " guests a day"};
}

Limits limits_of_all(bool is_approved) {
  if (!is_approved)
    return {.made_per_day = max_made_per_day_by_all_unapproved,
            .living = max_living_of_all_unapproved,
            .beyond_living =
                "an app without an approved scope makes no guests while all apps "
                "together have " +
                std::to_string(max_living_of_all_unapproved),
            .beyond_made =
                "an app without an approved scope makes no guests once all apps "
                "together have made " +
                std::to_string(max_made_per_day_by_all_unapproved) + " on a day"};
  return {.made_per_day = max_made_per_day_by_all,
          .living = max_living_of_all,
          .beyond_living = "all apps together can have " + std::to_string(max_living_of_all) +
                           " guests at a time",
          .beyond_made = "all apps together can make " + std::to_string(max_made_per_day_by_all) +
                         " guests a day"};
}

[[noreturn]] void refuse(db::Tx& tx, std::string_view subject, const Limits& limits) {
  if (tx.number(R"(SELECT living FROM guest_counts WHERE subject = $1)", subject) >= limits.living)
    throw Error(Code::rate_limited,
                limits.beyond_living + "; those who don't come back are removed after a while");
  Error refusal(Code::rate_limited, limits.beyond_made + "; the next day begins at 00:00 UTC");
  refusal.retry_after = accounts::until_next_letters(tx);
  throw refusal;
}

void count_made(db::Tx& tx, std::string_view subject, const Limits& limits) {
  if (tx.execute(R"(
      INSERT INTO guest_counts (subject, living, day, made)
      VALUES ($1, 1, $2, 1)
      ON CONFLICT (subject) DO UPDATE
        SET living = guest_counts.living + 1,
            made = CASE WHEN guest_counts.day = $2 THEN guest_counts.made + 1 ELSE 1 END,
            day = $2
        WHERE guest_counts.living < $3
          AND CASE WHEN guest_counts.day = $2 THEN guest_counts.made ELSE 0 END < $4)",
                 subject, utc_day(tx.now()), limits.living, limits.made_per_day) == 0)
    refuse(tx, subject, limits);
}

void count_left_of(db::Tx& tx, std::string_view subject) {
  tx.execute(R"(UPDATE guest_counts SET living = living - 1 WHERE subject = $1 AND living > 0)",
             subject);
}

std::string owner_of(db::Tx& tx, const std::string& app_id) {
  auto rows = tx.query(R"(SELECT owner_id FROM apps WHERE id = $1)", app_id);
  return rows.next() ? rows.text("owner_id") : std::string();
}

// The numbers of guests are negative, so that they take none from those who register.
std::int64_t next_number(db::Tx& tx) {
  return std::min<std::int64_t>(
             0, tx.number(R"(SELECT coalesce(min(registration_number), 0) FROM users)")) -
         1;
}

}  // namespace

accounts::User add(db::Tx& tx, const Maker& maker, Instant due_at) {
  tx.require_serializable();
  count_made(tx, maker.app_id, limits_of_app());
  count_made(tx, of_owner(maker.owner_id), limits_of_owner(maker.is_approved));
  count_made(tx, of_all, limits_of_all(maker.is_approved));
  const std::string id = new_uuid(tx.now());
  const std::string email = id + "@" + std::string(guest_mail_domain);
  tx.execute(
      R"(
      INSERT INTO users (id, email, email_key, username, username_key, password_hash,
                         referral_code, registration_number, signup_multiplier, created_at,
                         updated_at, guest_of, guest_due_at)
      VALUES ($1, $2, $2, $3, '~guest:' || $1, '', 'guest:' || $1, $4, 1, $5, $5, $6, $7))",
      id, email, "guest-" + hex(random_bytes(random_bytes_of_name)), next_number(tx), tx.now(),
      maker.app_id, due_at);
  return *accounts::find(tx, id);
}

std::optional<std::string> app_of(db::Tx& tx, const std::string& user_id) {
  auto rows =
      tx.query(R"(SELECT guest_of FROM users WHERE id = $1 AND deleted_at IS NULL)", user_id);
  return rows.next() ? rows.text_or_null("guest_of") : std::nullopt;
}

void require_none(db::Tx& tx, const std::string& one, const std::string& other) {
  if (tx.number(R"(
      SELECT count(*)
      FROM users
      WHERE id IN ($1, $2) AND guest_of IS NOT NULL)",
                one, other) > 0)
    throw Error(Code::guest_account,
                "guests neither give nor receive points and gifts; they have to become an account "
                "with an email address first");
}

void count_left(db::Tx& tx, const std::string& app_id) {
  count_left_of(tx, app_id);
  count_left_of(tx, of_owner(owner_of(tx, app_id)));
  count_left_of(tx, of_all);
}

void give_count(db::Tx& tx, const std::string& app_id, const std::string& from,
                const std::string& to) {
  const std::int64_t living =
      tx.number(R"(SELECT coalesce(sum(living), 0) FROM guest_counts WHERE subject = $1)", app_id);
  if (living == 0) return;
  tx.execute(R"(
      UPDATE guest_counts
      SET living = CASE WHEN living > $2 THEN living - $2 ELSE 0 END
      WHERE subject = $1)",
             of_owner(from), living);
  tx.execute(R"(
      INSERT INTO guest_counts (subject, living, day, made)
      VALUES ($1, $2, $3, 0)
      ON CONFLICT (subject) DO UPDATE
        SET living = guest_counts.living + excluded.living)",
             of_owner(to), living, utc_day(tx.now()));
}

bool is_any_due(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM users WHERE guest_due_at <= $1 LIMIT 1)", tx.now()) > 0;
}

std::vector<Due> due(db::Tx& tx, int most) {
  std::vector<Due> found;
  auto rows = tx.query(
      R"(
      SELECT id, deleted_at
      FROM users
      WHERE guest_due_at <= $1
      ORDER BY guest_due_at
      LIMIT $2)",
      tx.now(), most);
  while (rows.next())
    found.push_back({.user_id = rows.text("id"), .is_removed = !rows.null("deleted_at")});
  return found;
}

void look_again(db::Tx& tx, const std::string& user_id, std::optional<Instant> at) {
  tx.execute(R"(UPDATE users SET guest_due_at = $2 WHERE id = $1)", user_id, at);
}

bool has_ledger_account(db::Tx& tx, const std::string& user_id) {
  return tx.number(R"(SELECT count(*) FROM ledger_accounts WHERE kind = 'user' AND owner = $1)",
                   user_id) > 0;
}

bool has_rows(db::Tx& tx, const std::string& user_id) {
  return tx.number(R"(
      SELECT 1
      FROM erasures
      WHERE user_id = $1
      UNION ALL
      SELECT 1
      FROM grants
      WHERE user_id = $1
      LIMIT 1)",
                   user_id) > 0;
}

void remove_row(db::Tx& tx, const std::string& user_id) {
  tx.require_change(R"(
      DELETE FROM users
      WHERE id = $1 AND guest_of IS NOT NULL AND deleted_at IS NOT NULL)",
                    user_id);
}

}  // namespace berth::guests
