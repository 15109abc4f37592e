// Receipts of transactions, the keys that sign them, and the ledger's closed days, which berthd
// publishes so that whoever has a receipt can check it.
#include "controller/domain/points/receipts.h"

#include "api/gate/day_window.h"
#include "api/gate/encode.h"
#include "api/resources/points.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/billing/charged.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/ledger/proofs.h"
#include "controller/domain/points/receipt_keys.h"

namespace berth::api {
namespace {

constexpr Placeholder transaction_in_path = {
    "TransactionId", "The id of the ledger's transaction, such as that of an entry in a history.",
    "01936f5e-7c1a-7000-8000-000000000007"};

points::Cause cause_of(db::Tx& tx, const std::string& transaction_id) {
  points::Cause cause = {.spend_id = points::refunded_spend(tx, transaction_id)};
  if (auto charged = billing::charged_by(tx, transaction_id)) {
    cause.deployment_id = std::move(charged->deployment_id);
    cause.build_id = std::move(charged->build_id);
    cause.from = charged->from;
    cause.until = charged->until;
  }
  return cause;
}

// Without `user_id`, an administrator asks. Whoever isn't a party learns nothing of the
// transaction.
Reply receipt_for(db::Tx& tx, const Call& call, const Services& services,
                  const std::optional<std::string>& user_id) {
  const auto transaction = ledger::find_recorded(tx, call.id("transaction_id"));
  if (!transaction || (user_id && !points::is_party(tx, *transaction, *user_id)))
    throw Error(Code::not_found, "there is no such transaction");
  const points::Signer signer = {.seed = points::receipt_keys(tx, services.keys.data).seed,
                                 .issuer = services.base_url};
  const ledger::Proof proof = ledger::prove(tx, *transaction);
  return {.body = {{"receipt", points::sign_receipt(signer, *transaction, proof,
                                                    cause_of(tx, transaction->id))},
                   {"proven", proof.standing == ledger::Standing::proven}}};
}

Reply own_receipt(db::Tx& tx, const Call& call, const Services& services) {
  return receipt_for(tx, call, services, user_of(call));
}

Reply any_receipt(db::Tx& tx, const Call& call, const Services& services) {
  return receipt_for(tx, call, services, std::nullopt);
}

Reply published_keys(db::Tx& tx, const Call&, const Services& services) {
  return {.body = points::published_keys(points::receipt_keys(tx, services.keys.data),
                                         services.base_url)};
}

Reply published_ledger(db::Tx& tx, const Call& call, const Services& services) {
  const DayWindow window = day_window(call, tx.now());
  const std::string seed = points::receipt_keys(tx, services.keys.data).seed;
  const auto encode = [&](const ledger::PublishedDay& one) -> json {
    return {{"day", one.day.date},
            {"transactions", one.day.transactions},
            {"root", text_or_null(one.day.root)},
            {"chain", one.day.chain},
            {"row", receipt::sign_day(seed, services.base_url, one.day, one.date_before)}};
  };
  return {.body = encode_page(
              "days", ledger::published_days(tx, window.first, window.last, call.page()), encode)};
}

Reply rotate_receipt_key(db::Tx& tx, const Call& call, const Services& services) {
  const std::string id = points::rotate_receipt_key(tx, services.keys.data);
  audit::record(tx, call.admin, "receipt_key.rotate", id);
  return {.body = {{"kid", id}}};
}

constexpr Rate publications = per_minute(60);  // for each network

constexpr Route rows[] = {
    {.request = "GET /api/points/receipts/{transaction_id}",
     .name = "receipt",
     .tag = "Points",
     .summary = "Return the receipt of a transaction",
     .text = "Returns a signed text (JWS, Ed25519) that says who got how many points from whom, "
             "when and what for. Once the transaction's UTC day is closed, an hour after its end, "
             "it has a proof that the transaction is in the published ledger. Only those whose "
             "points were moved get it: the user, or the owner of the app.",
     .guards = {person(), account_reads},
     .in_path = {&transaction_in_path},
     .answer = {200, "Receipt"},
     .errors = {Code::not_found, Code::invalid_state},
     .readers = db::Readers::heavy,
     .served_by = {"berth receipt get", "/console/points"},
     .run = ReadHandler{own_receipt}},
    {.request = "GET /api/internal/points/receipts/{transaction_id}",
     .name = "anyReceipt",
     .tag = "Internal",
     .summary = "Return the receipt of any transaction",
     .text = "Returns the same receipt as its parties get, for any transaction of the ledger.",
     .guards = every_admin,
     .in_path = {&transaction_in_path},
     .answer = {200, "Receipt"},
     .errors = {Code::not_found, Code::invalid_state},
     .readers = db::Readers::heavy,
     .served_by = {.command = "berth admin receipt"},
     .run = ReadHandler{any_receipt}},
    {.request = "POST /api/internal/receipt-keys/rotate",
     .name = "rotateReceiptKey",
     .tag = "Internal",
     .summary = "Sign receipts with a new key from now on; earlier receipts stay valid",
     .text = "Creates a key that signs from now on. The public keys of former ones stay published "
             "for ever; their private keys are destroyed.",
     .guards = admins,
     .stores = Stores::administration,
     .answer = {200, "ReceiptKey"},
     .errors = {Code::invalid_state},
     .served_by = {.command = "berth admin rotate-receipt-key"},
     .run = WriteHandler{rotate_receipt_key}},
    {.request = "GET /.well-known/berth-receipts.json",
     .name = "receiptKeys",
     .tag = "Meta",
     .summary = "Publish the keys with which receipts are signed",
     .text = "Returns the public keys of receipts and of published days as a JWK set (RFC 7517): "
             "the one that signs, and all former ones.",
     .guards = {with_any_page(open_to_all()), publications},
     .answer = {200, "ReceiptKeys"},
     .served_by = {"berth receipt keys"},
     .run = ReadHandler{published_keys}},
    {.request = "GET /.well-known/berth-ledger",
     .name = "publishedLedger",
     .tag = "Meta",
     .summary = "Publish the closed days of the ledger, newest first",
     .text = "Lists the closed UTC days from `from` to `to`, each with the root of the tree of its "
             "transactions and a signature. Each day's chain covers all days before it, so that "
             "whoever keeps one notices a change of what was before.",
     .guards = {with_any_page(open_to_all()), publications},
     .paged = true,
     .query = day_window_query,
     .answer = {200, "PublishedLedger"},
     .errors = {Code::validation_failed},
     .served_by = {"berth receipt ledger"},
     .run = ReadHandler{published_ledger}},
};

}  // namespace

std::span<const Route> receipts_routes() { return rows; }

}  // namespace berth::api
