// Receipts, keys and published days that somebody gives the client to check.
#include "controller/base/receipt.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/jws.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

using nlohmann::json;

const std::string seed(jws::seed_bytes, 's');
constexpr const char* issuer = "https://api.example.org";
constexpr const char* date = "2026-01-31";

const receipt::Keys& keys() {
  static const receipt::Keys all = receipt::parse_keys(
      json{{"issuer", issuer}, {"keys", json::array({jws::jwk_of(jws::public_key_of(seed))})}}
          .dump());
  return all;
}

// A ledger with one day, in whose tree there is nothing that an input can contain.
const receipt::Ledger& ledger() {
  static const receipt::Ledger all = [] {
    receipt::Day day = {.date = date,
                        .transactions = 1'000,
                        .postings = 2'000,
                        .moved = 3'000,
                        .hash = std::string(64, 'a'),
                        .root = std::string(64, 'b'),
                        .chain = {}};
    day.chain = receipt::chain_after("", day, utc_day(*parse_iso8601(date)));
    receipt::Ledger one;
    const json row = {{"row", receipt::sign_day(seed, issuer, day, "")}};
    one.add(json{{"days", json::array({row})}}.dump(), keys());
    return one;
  }();
  return all;
}

template <typename Work>
void refuse_or_take(Work&& work) {
  try {
    work();
  } catch (const std::invalid_argument& refusal) {
    hold(std::string(refusal.what()).size() > 10, "a refusal is a sentence");
  }
}

}  // namespace

void run(std::string_view input) {
  const std::string text(input);
  hold(receipt::judge(text, keys(), ledger()).verdict != receipt::Verdict::stands,
       "nobody else can sign a receipt");
  refuse_or_take([&] { receipt::parse_keys(text); });
  refuse_or_take([&] { receipt::Ledger().add(text, keys()); });
  // What the platform itself could have signed.
  const json payload = json::parse(text, nullptr, false);
  if (!payload.is_object()) return;
  const std::string signed_text = jws::sign(seed, receipt::receipt_type, payload);
  hold(receipt::judge(signed_text, keys(), ledger()).verdict != receipt::Verdict::stands,
       "what isn't in the tree doesn't stand");
  const json row = {{"row", jws::sign(seed, receipt::day_type, payload)}};
  refuse_or_take([&] { receipt::Ledger().add(json{{"days", json::array({row})}}.dump(), keys()); });
}

}  // namespace berth::fuzz
