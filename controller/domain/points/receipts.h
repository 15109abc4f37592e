#pragma once

#include <optional>
#include <string>

#include "controller/domain/ledger/proofs.h"
#include "controller/domain/ledger/recorded.h"

// Receipts of transactions: signed texts that say who got how many points from whom, when and what
// for. They are made when they are asked for, from rows that don't change, so nothing is signed
// while points move. Once the transaction's day is closed, they have a proof that it is in there
// (base/receipt.h checks it).
namespace berth::points {

// What points were moved for, as far as it is known.
struct Cause {
  std::optional<std::string> deployment_id = {};
  std::optional<std::string> build_id = {};
  std::optional<std::string> spend_id = {};  // what a refund gives back
  // The time that was paid for.
  std::optional<Instant> from = {};
  std::optional<Instant> until = {};
};

struct Signer {
  std::string seed;    // the private key (jws.h)
  std::string issuer;  // berthd's public URL
};
// Signs what is in the ledger. Throws Error `invalid_state` if the transaction's day was closed
// with something else: then the ledger was changed, and berthd doesn't sign that.
std::string sign_receipt(const Signer& signer, const ledger::Recorded& transaction,
                         const ledger::Proof& proof, const Cause& cause);

// Whether points of the user, of an app that they own, or of a campaign of such an app were moved.
bool is_party(db::Tx& tx, const ledger::Recorded& transaction, const std::string& user_id);
// The spend that the refund gives back; nothing for other transactions.
std::optional<std::string> refunded_spend(db::Tx& tx, const std::string& transaction_id);

}  // namespace berth::points
