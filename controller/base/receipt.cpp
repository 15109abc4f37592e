#include "controller/base/receipt.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/jws.h"
#include "controller/base/merkle_tree.h"

namespace berth::receipt {
namespace {

using nlohmann::json;

constexpr size_t hash_bytes = 32;

json parsed(const std::string& text, const char* what) {
  json object = json::parse(text, nullptr, false);
  if (!object.is_object()) throw std::invalid_argument(std::string(what) + " isn't a JSON object");
  return object;
}

// The members of signed objects. They throw json::exception if a member is missing or has another
// type.
std::string text(const json& object, const char* name) {
  return object.at(name).get<std::string>();
}
std::int64_t number(const json& object, const char* name) {
  const json& value = object.at(name);
  if (!value.is_number_integer())
    throw std::invalid_argument(std::string(name) + " isn't a number");
  return value.get<std::int64_t>();
}

std::optional<merkle::Hash> parse_hash(const std::string& digits) {
  return digits.size() == 2 * hash_bytes ? parse_hex(digits) : std::nullopt;
}

bool is_signed_by(const jws::Parsed& parsed, const Keys& keys) {
  const auto key = keys.by_id.find(parsed.key_id);
  return key != keys.by_id.end() &&
         jws::verifies(key->second, parsed.signed_part, parsed.signature);
}

Day day_in(const json& payload) {
  return {.date = text(payload, "day"),
          .transactions = number(payload, "transactions"),
          .postings = number(payload, "postings"),
          .moved = number(payload, "moved"),
          .hash = text(payload, "hash"),
          .root = payload.at("root").is_null() ? "" : text(payload, "root"),
          .chain = text(payload, "chain")};
}

std::int64_t number_of(const std::string& date) {
  const auto at = parse_iso8601(date);
  if (!at) throw std::invalid_argument("\"" + date + "\" isn't a date");
  return utc_day(*at);
}

// Whether the root to which the proof leads from what the receipt says is that of the day.
bool leads_to(const json& payload, const json& proof, const Day& day) {
  std::vector<Posting> postings;
  for (const json& one : payload.at("postings"))
    postings.push_back({.account = text(one, "account"), .amount = number(one, "amount")});
  std::vector<merkle::Hash> path;
  for (const json& one : proof.at("path")) {
    auto hash = parse_hash(one.get<std::string>());
    if (!hash) return false;
    path.push_back(*std::move(hash));
  }
  const auto at = parse_iso8601(text(payload, "inserted_at"));
  const std::int64_t index = number(proof, "index");
  if (!at || index < 0 || day.transactions < 1) return false;
  const auto root =
      merkle::root_by_path(merkle::leaf_hash(leaf_text(text(payload, "transaction_id"),
                                                       text(payload, "kind"), *at, postings)),
                           std::uint64_t(index), std::uint64_t(day.transactions), path);
  return root && hex(*root) == day.root;
}

Judgement judge_signed(const json& payload, const Ledger& ledger) {
  Judgement found = {.verdict = Verdict::signed_only,
                     .sentence = {},
                     .transaction_id = text(payload, "transaction_id"),
                     .day = text(payload, "day")};
  const json& proof = payload.at("proof");
  const Day* day = ledger.find(found.day);
  if (proof.is_null()) {
    found.sentence = "The platform has signed it. It has no proof, because its day (" + found.day +
                     ") wasn't closed when it was made, or has no tree; get it again later.";
    return found;
  }
  if (day == nullptr) {
    found.verdict = Verdict::day_missing;
    found.sentence = "The platform has signed it, but " + found.day +
                     " isn't among the published days that were given.";
    return found;
  }
  const bool stands = !day->root.empty() && leads_to(payload, proof, *day);
  found.verdict = stands ? Verdict::stands : Verdict::contradicted;
  found.sentence =
      stands ? "It stands in the ledger that the platform has published for " + found.day + "."
             : "It does NOT stand in the ledger that the platform has published for " + found.day +
                   ", although the platform has signed both: the ledger was changed. "
                   "Keep both files, they prove it.";
  return found;
}

}  // namespace

std::string leaf_text(const std::string& id, const std::string& kind, Instant at,
                      const std::vector<Posting>& postings) {
  std::string text = id + "\n" + kind + "\n" + std::to_string(to_millis(at));
  for (const Posting& one : postings)
    text += "\n" + one.account + "\n" + std::to_string(one.amount);
  return text;
}

std::string chain_after(const std::string& before, const Day& day, std::int64_t number_of_day) {
  std::string covered = before + "\n" + std::to_string(number_of_day) + "\n" +
                        std::to_string(day.transactions) + "\n" + std::to_string(day.postings) +
                        "\n" + std::to_string(day.moved) + "\n" + day.hash;
  if (!day.root.empty()) covered += "\n" + day.root;
  return hex(sha256(covered));
}

Keys parse_keys(const std::string& text) {
  const json object = parsed(text, "the file of keys");
  Keys keys;
  const auto issuer = object.find("issuer");
  const auto list = object.find("keys");
  if (issuer == object.end() || !issuer->is_string() || list == object.end() || !list->is_array())
    throw std::invalid_argument("the file of keys needs \"issuer\" and \"keys\"");
  keys.issuer = issuer->get<std::string>();
  for (const json& jwk : *list)
    if (auto key = jws::public_key_in(jwk)) {
      // The name is computed, so that a file can't give a key another one's.
      const std::string id = jws::key_id(*key);
      keys.by_id.emplace(id, *std::move(key));
    }
  return keys;
}

void Ledger::add(const std::string& text, const Keys& keys) {
  const json object = parsed(text, "the file of published days");
  const auto list = object.find("days");
  if (list == object.end() || !list->is_array())
    throw std::invalid_argument("the file of published days needs \"days\"");
  for (const json& entry : *list) {
    const bool has_row = entry.is_object() && entry.contains("row") && entry.at("row").is_string();
    const auto row = has_row ? jws::parse(entry.at("row").get<std::string>()) : std::nullopt;
    if (!row || row->type != day_type)
      throw std::invalid_argument("a published day isn't a signed day of a ledger");
    try {
      Published found = {.day = day_in(row->payload),
                         .before = row->payload.at("before").is_null()
                                       ? ""
                                       : receipt::text(row->payload, "before")};
      // What one of the keys has signed is the platform's, also from before it had its present URL.
      if (const std::string issuer = receipt::text(row->payload, "iss");
          !keys.by_id.contains(row->key_id) && issuer != keys.issuer)
        throw std::invalid_argument("the published days are those of " + issuer +
                                    ", and the keys those of " + keys.issuer);
      if (!is_signed_by(*row, keys))
        throw std::invalid_argument("the published day " + found.day.date +
                                    " isn't signed with one of the keys");
      const auto [known, is_new] = days_.try_emplace(found.day.date, found);
      if (!is_new && known->second.day != found.day)
        throw std::invalid_argument("the platform has published two different ledgers of " +
                                    found.day.date + "; keep both files, they prove it");
    } catch (const json::exception&) {
      throw std::invalid_argument("a published day lacks something");
    }
  }
  check_chain();
}

void Ledger::check_chain() const {
  for (const auto& [date, published] : days_) {
    std::string before;
    if (!published.before.empty()) {
      const auto found = days_.find(published.before);
      if (found == days_.end()) continue;  // it isn't known what this one follows
      before = found->second.day.chain;
    }
    if (chain_after(before, published.day, number_of(date)) != published.day.chain)
      throw std::invalid_argument("the published days aren't a chain: that of " + date +
                                  " doesn't follow from the day before it");
  }
}

const Day* Ledger::find(const std::string& date) const {
  const auto found = days_.find(date);
  return found == days_.end() ? nullptr : &found->second.day;
}

std::string sign_day(const std::string& seed, const std::string& issuer, const Day& day,
                     const std::string& date_before) {
  return jws::sign(seed, day_type,
                   {{"iss", issuer},
                    {"day", day.date},
                    {"before", date_before.empty() ? json() : json(date_before)},
                    {"transactions", day.transactions},
                    {"postings", day.postings},
                    {"moved", day.moved},
                    {"hash", day.hash},
                    {"root", day.root.empty() ? json() : json(day.root)},
                    {"chain", day.chain}});
}

Judgement judge(std::string_view receipt, const Keys& keys, const Ledger& ledger) {
  const auto blanks = " \t\r\n";
  const size_t begin = receipt.find_first_not_of(blanks);
  const size_t end = receipt.find_last_not_of(blanks);
  const auto parsed = begin == std::string_view::npos
                          ? std::nullopt
                          : jws::parse(receipt.substr(begin, end - begin + 1));
  const Judgement malformed = {.verdict = Verdict::malformed,
                               .sentence = "This isn't a receipt of berth.",
                               .transaction_id = {},
                               .day = {}};
  if (!parsed || parsed->type != receipt_type) return malformed;
  try {
    Judgement refused = {.verdict = Verdict::other_platform,
                         .sentence = {},
                         .transaction_id = text(parsed->payload, "transaction_id"),
                         .day = text(parsed->payload, "day")};
    const std::string issuer = text(parsed->payload, "iss");
    // What one of the keys has signed is the platform's, also from before it had its present URL.
    const bool is_known = keys.by_id.contains(parsed->key_id);
    if (!is_known && issuer != keys.issuer) {
      refused.sentence = "It is a receipt of another platform, " + issuer +
                         ", and the keys are those of " + keys.issuer + ".";
      return refused;
    }
    if (!is_known) {
      refused.verdict = Verdict::unknown_key;
      refused.sentence = "It names a key that isn't among the keys of " + keys.issuer +
                         " that were given; get the newest ones.";
      return refused;
    }
    if (!is_signed_by(*parsed, keys)) {
      refused.verdict = Verdict::forged;
      refused.sentence = "Its signature is wrong: the platform hasn't signed this.";
      return refused;
    }
    return judge_signed(parsed->payload, ledger);
  } catch (const json::exception&) {
    return malformed;
  } catch (const std::invalid_argument&) {
    return malformed;
  }
}

}  // namespace berth::receipt
