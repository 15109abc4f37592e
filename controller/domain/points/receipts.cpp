#include "controller/domain/points/receipts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/jws.h"
#include "controller/domain/accounts/merged_guests.h"
#include "controller/domain/kernel/utc_date.h"

namespace berth::points {
namespace {

using nlohmann::json;

json or_null(const std::optional<std::string>& text) { return text ? json(*text) : json(); }
json or_null(const std::optional<Instant>& at) { return at ? json(to_iso8601(*at)) : json(); }

json encode(const ledger::Proof& proof) {
  if (proof.standing != ledger::Standing::proven) return nullptr;
  json path = json::array();
  for (const merkle::Hash& hash : proof.path) path.push_back(hex(hash));
  return {{"index", proof.index}, {"path", std::move(path)}};
}

bool owns(db::Tx& tx, const std::string& user_id, const ledger::Account& account) {
  if (account.owner == user_id) return true;
  if (account.kind == "user") return guests::account_of(tx, account.owner) == user_id;
  return !account.owner.empty() && tx.number(R"(
      SELECT CASE WHEN EXISTS (
               SELECT 1
               FROM apps
               WHERE id = $1 AND owner_id = $2
             ) OR EXISTS (
               SELECT 1
               FROM campaigns c
               JOIN apps a ON a.id = c.app_id
               WHERE c.id = $1 AND a.owner_id = $2
             ) THEN 1 ELSE 0 END AS is_owner)",
                                             account.owner, user_id) == 1;
}

}  // namespace

std::string sign_receipt(const Signer& signer, const ledger::Recorded& transaction,
                         const ledger::Proof& proof, const Cause& cause) {
  if (proof.standing == ledger::Standing::contradicts)
    throw Error(Code::invalid_state,
                "the ledger's day was closed with something else than this transaction; whoever "
                "has kept an earlier receipt of it can prove what it was");
  std::int64_t amount = 0;
  json postings = json::array();
  for (const auto& one : transaction.postings) {
    postings.push_back({{"account", one.account.id()}, {"amount", one.amount}});
    amount += std::max<std::int64_t>(one.amount, 0);
  }
  const bool has_interval = cause.from || cause.until;
  return jws::sign(signer.seed, receipt::receipt_type,
                   {{"iss", signer.issuer},
                    {"transaction_id", transaction.id},
                    {"kind", transaction.kind},
                    {"inserted_at", to_iso8601(transaction.at)},
                    {"day", utc_date(utc_day(transaction.at))},
                    {"amount", amount},
                    {"postings", std::move(postings)},
                    {"cause",
                     {{"description", transaction.memo},
                      {"deployment_id", or_null(cause.deployment_id)},
                      {"build_id", or_null(cause.build_id)},
                      {"spend_id", or_null(cause.spend_id)}}},
                    {"interval", has_interval ? json{{"from", or_null(cause.from)},
                                                     {"until", or_null(cause.until)}}
                                              : json()},
                    {"proof", encode(proof)}});
}

bool is_party(db::Tx& tx, const ledger::Recorded& transaction, const std::string& user_id) {
  return std::ranges::any_of(transaction.postings,
                             [&](const auto& one) { return owns(tx, user_id, one.account); });
}

std::optional<std::string> refunded_spend(db::Tx& tx, const std::string& transaction_id) {
  auto rows = tx.query(R"(SELECT spend_id FROM refunds WHERE id = $1)", transaction_id);
  return rows.next() ? std::optional(rows.text("spend_id")) : std::nullopt;
}

}  // namespace berth::points
