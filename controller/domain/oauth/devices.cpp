#include "controller/domain/oauth/devices.h"

#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/oauth/token_rows.h"

namespace berth::devices {
namespace {

constexpr size_t kept_of_address = 64;  // more than any address has

// Returns the text as it can be shown in one line; empty if it can't.
std::string in_one_line(const std::string& text, size_t longest) {
  const std::string formed = composed(well_formed(text));
  return refusal_of_text(formed, Lines::one) ? "" : cut(formed, longest);
}

// A family can still act as long as one of its tokens can. $1 is the grant, $2 the time.
const std::string living = R"(
      FROM token_families f
      LEFT JOIN devices d ON d.family_id = f.id
      WHERE f.grant_id = $1
        AND f.revoked_at IS NULL
        AND f.expires_at > $2
        AND (EXISTS (SELECT 1
                     FROM refresh_tokens r
                     WHERE r.family_id = f.id AND r.consumed_at IS NULL AND r.expires_at > $2)
             OR EXISTS (SELECT 1
                        FROM access_tokens t
                        WHERE t.family_id = f.id AND t.revoked_at IS NULL AND t.expires_at > $2)))";

std::string name_or_unnamed(const std::string& name) { return name.empty() ? "unnamed" : name; }

Device device_of(const db::Query& row) {
  return {.id = row.text("id"),
          .name = name_or_unnamed(row.text("name")),
          .program = row.text("program"),
          .address = row.text("address"),
          .scopes = stored_scopes(row.text("scopes")),
          .connected_at = row.instant("connected_at"),
          .last_used = row.instant("last_used_at")};
}

}  // namespace

Device connect(db::Tx& tx, const oauth::Tokens& tokens, const Origin& origin) {
  const std::string name = in_one_line(origin.name, kept_of_name);
  Device device = {.id = tokens.family_id,
                   .name = name_or_unnamed(name),
                   .program = in_one_line(origin.program, kept_of_program),
                   .address = cut(origin.address, kept_of_address),
                   .scopes = tokens.scopes,
                   .connected_at = tx.now(),
                   .last_used = tx.now()};
  tx.execute(R"(
      INSERT INTO devices (family_id, name, program, address, last_used_at)
      VALUES ($1, $2, $3, $4, $5))",
             device.id, name, device.program, device.address, tx.now());
  return device;
}

void refreshed(db::Tx& tx, const oauth::Tokens& tokens, const Origin& origin) {
  if (!tokens.first_party) return;
  tx.execute(R"(
      UPDATE devices
      SET program = $2, address = $3, last_used_at = $4
      WHERE family_id = $1)",
             tokens.family_id, in_one_line(origin.program, kept_of_program),
             cut(origin.address, kept_of_address), tx.now());
}

std::int64_t connected_since(db::Tx& tx, const std::string& user_id, Instant since) {
  return tx.number(R"(
      SELECT count(*)
      FROM token_families
      WHERE grant_id = $1 AND created_at > $2)",
                   oauth::built_in_grant(tx, user_id), since);
}

Page<Device> list(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one)" +
               living + R"(
            LIMIT $3) counted)",
      .rows = R"(
      SELECT f.id, coalesce(d.name, '') AS name, coalesce(d.program, '') AS program,
             coalesce(d.address, '') AS address, f.scopes, f.created_at AS connected_at,
             coalesce(d.last_used_at, f.created_at) AS last_used_at)" +
              living + R"(
        AND (f.created_at, f.id) < ($3, $4)
      ORDER BY f.created_at DESC, f.id DESC
      LIMIT $5 OFFSET $6)",
      .sorted_by = {{SortColumn::Type::integer, "connected_at"}, {SortColumn::Type::text, "id"}}};
  // All families of a revoked consent are revoked, so it need not be checked.
  return read_page(tx, sql, page, device_of, oauth::built_in_grant(tx, user_id), tx.now());
}

void end(db::Tx& tx, const std::string& user_id, const std::string& id) {
  if (tx.number(R"(
      SELECT count(*)
      FROM token_families
      WHERE id = $1 AND grant_id = $2 AND revoked_at IS NULL AND expires_at > $3)",
                id, oauth::built_in_grant(tx, user_id), tx.now()) == 0)
    throw Error(Code::device_not_found, "there is no such device");
  oauth::revoke_family(tx, id);
}

void forget(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(
      DELETE FROM devices
      WHERE family_id IN (SELECT id FROM token_families WHERE grant_id = $1))",
             oauth::built_in_grant(tx, user_id));
}

}  // namespace berth::devices
