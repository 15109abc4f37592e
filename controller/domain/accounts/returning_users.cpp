#include "controller/domain/accounts/returning_users.h"

#include "controller/base/crypto.h"
#include "controller/domain/accounts/account_rows.h"

namespace berth::accounts {
namespace {

std::string hash_of(std::string_view email, const std::string& data_key) {
  return base64url(hmac_sha256(data_key, "deleted address:" + mailbox_of(email)));
}

}  // namespace

std::string mailbox_of(std::string_view email) {
  const std::string address = email_key(email);
  const size_t at = address.rfind('@');
  std::string local = address.substr(0, at);
  std::string host = address.substr(at);
  // A local part that begins with '+' has no mailbox before the '+'.
  if (const size_t plus = local.find('+'); plus != std::string::npos && plus > 0)
    local.resize(plus);
  if (host == "@googlemail.com") host = "@gmail.com";
  if (host == "@gmail.com") std::erase(local, '.');
  return local + host;
}

void remember_address(db::Tx& tx, std::string_view email, const std::string& data_key) {
  tx.execute(
      R"(
      INSERT INTO deleted_addresses (address_hash, deleted_at)
      VALUES ($1, $2)
      ON CONFLICT (address_hash) DO UPDATE SET deleted_at = excluded.deleted_at)",
      hash_of(email, data_key), tx.now());
}

bool is_returning(db::Tx& tx, std::string_view email, const std::string& data_key) {
  return tx.number(
             R"(SELECT count(*) FROM deleted_addresses WHERE address_hash = $1 AND deleted_at > $2)",
             hash_of(email, data_key), tx.now() - address_remembered_for) > 0;
}

}  // namespace berth::accounts
