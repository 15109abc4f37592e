#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "controller/db/database.h"

// The Ed25519 keys with which berthd signs receipts and the days of the ledger. They are in the
// database, encrypted with the data key, so that all berthd processes on it have the same ones.
// Until a key is rotated for the first time, nothing is stored, and the key follows from the data
// key.
namespace berth::points {

struct ReceiptKeys {
  std::string seed;  // the private key that signs (jws.h)
  // The public keys of former ones, the newest first. They stay for ever, because receipts do;
  // their private keys are gone.
  std::vector<std::string> former;
};
// Throws std::runtime_error if what is stored can't be decrypted.
ReceiptKeys receipt_keys(db::Tx& tx, const std::string& data_key);
// Has a new key sign from now on, and returns its id. Needs a serializable write. Throws Error
// `invalid_state` if there were max_receipt_keys already, and like receipt_keys().
std::string rotate_receipt_key(db::Tx& tx, const std::string& data_key);
// How many keys there may ever be, because whoever checks receipts has to load them all.
inline constexpr size_t max_receipt_keys = 1'000;

// The JWK set (RFC 7517) of all public keys, with the issuer in whose receipts they are named.
nlohmann::json published_keys(const ReceiptKeys& keys, const std::string& issuer);

}  // namespace berth::points
