#include "controller/domain/points/receipt_keys.h"

#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/jws.h"
#include "controller/domain/kernel/meta.h"

namespace berth::points {
namespace {

using nlohmann::json;

// The key of the row in meta, which is also what the sealed text belongs to.
constexpr std::string_view place = "receipt_keys";
// What the data key is used for to make the first key.
constexpr std::string_view purpose = "berth: the first key of receipts";

std::string bytes_in(const json& text) {
  const auto bytes = parse_base64url(text.get<std::string>());
  if (!bytes) throw std::runtime_error("the keys of receipts in the database are malformed");
  return *bytes;
}

}  // namespace

ReceiptKeys receipt_keys(db::Tx& tx, const std::string& data_key) {
  const auto row = meta::find(tx, place);
  if (!row) return {.seed = hmac_sha256(data_key, purpose), .former = {}};
  const auto sealed = parse_base64(*row);
  const auto text = sealed ? open_sealed(data_key, *sealed, place) : std::nullopt;
  if (!text) throw std::runtime_error("the keys of receipts in the database can't be decrypted");
  const json stored = json::parse(*text);
  ReceiptKeys keys = {.seed = bytes_in(stored.at("seed")), .former = {}};
  for (const json& one : stored.at("former")) keys.former.push_back(bytes_in(one));
  return keys;
}

std::string rotate_receipt_key(db::Tx& tx, const std::string& data_key) {
  tx.require_serializable();
  const ReceiptKeys before = receipt_keys(tx, data_key);
  if (before.former.size() + 1 >= max_receipt_keys)
    throw Error(Code::invalid_state, "there are " + std::to_string(max_receipt_keys) +
                                         " keys of receipts, and no more are kept");
  const std::string seed = random_bytes(jws::seed_bytes);
  json former = json::array({base64url(jws::public_key_of(before.seed))});
  for (const std::string& one : before.former) former.push_back(base64url(one));
  const json next = {{"seed", base64url(seed)}, {"former", std::move(former)}};
  meta::put(tx, place, base64(seal(data_key, next.dump(), place)));
  return jws::key_id(jws::public_key_of(seed));
}

json published_keys(const ReceiptKeys& keys, const std::string& issuer) {
  json list = json::array({jws::jwk_of(jws::public_key_of(keys.seed))});
  for (const std::string& one : keys.former) list.push_back(jws::jwk_of(one));
  return {{"issuer", issuer}, {"keys", std::move(list)}};
}

}  // namespace berth::points
