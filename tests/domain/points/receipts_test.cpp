#include "controller/domain/points/receipts.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "controller/base/jws.h"
#include "controller/base/receipt.h"
#include "controller/domain/kernel/utc_date.h"
#include "controller/domain/ledger/closed_days.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/points/receipt_keys.h"
#include "tests/domain/ledger/fold_all.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using nlohmann::json;
using receipt::Verdict;

const std::string issuer = "https://api.example.org";

// A platform with a user who spends points in an app.
struct Platform {
  World world;
  ledger::Account user = ledger::user_account("u");
  ledger::Account app = ledger::app_account("a");
  std::vector<std::string> ids;  // of the spends
  std::string name = issuer;

  Platform() {
    world.write([&](db::Tx& tx) {
      ledger::open_account(tx, user);
      ledger::open_account(tx, app);
    });
    world.mint(user, 1'000'000);
  }
  void spend(int count) {
    // A hundred of them have the same time.
    for (int i = 0; i < count; i += 100) {
      world.clock.advance(10ms);
      world.write([&](db::Tx& tx) {
        for (int j = i; j < std::min(i + 100, count); ++j)
          ids.push_back(*ledger::post(
              tx, ledger::Movement{
                      .kind = "spend", .from = user, .to = app, .amount = 2, .memo = "a hat"}));
        fold_all(tx);
      });
    }
  }
  void close() {
    world.clock.advance(48h);
    while (const auto day = world.read([](db::Tx& tx) { return ledger::next_to_close(tx); }))
      world.write([&](db::Tx& tx) {
        ledger::begin_closing(tx, *day);
        ledger::DayWalk walk(tx, *day);
        ledger::finish(tx, walk);
        CHECK_FALSE(ledger::end_closing(tx, walk).empty());
      });
  }
  points::ReceiptKeys stored_keys(db::Tx& tx) { return points::receipt_keys(tx, world.keys.data); }
  std::string receipt_in(db::Tx& tx, const std::string& id) {
    const auto transaction = ledger::find_recorded(tx, id);
    return points::sign_receipt({.seed = stored_keys(tx).seed, .issuer = name}, *transaction,
                                ledger::prove(tx, *transaction), {});
  }
  std::string receipt_of(const std::string& id) {
    return world.read([&](db::Tx& tx) { return receipt_in(tx, id); });
  }
  receipt::Keys keys() {
    return receipt::parse_keys(world.read(
        [&](db::Tx& tx) { return points::published_keys(stored_keys(tx), name).dump(); }));
  }
  // The answer with all closed days.
  std::string published() {
    return world.read([&](db::Tx& tx) {
      json days = json::array();
      for (const auto& one : ledger::published_days(tx, 0, 100'000, {}).items)
        days.push_back(
            {{"row", receipt::sign_day(stored_keys(tx).seed, name, one.day, one.date_before)}});
      return json{{"days", days}}.dump();
    });
  }
  receipt::Ledger ledger_file() {
    receipt::Ledger file;
    file.add(published(), keys());
    return file;
  }
};

json payload_of(const std::string& receipt) { return jws::parse(receipt).value().payload; }

// BERTH_RECEIPTS=10000 takes a minute of an unoptimised program.
TEST_CASE("a thousand receipts are verified without a connection") {
  const char* asked = std::getenv("BERTH_RECEIPTS");
  const int count = asked == nullptr ? 1'000 : std::stoi(asked);
  Platform p;
  p.spend(count);
  p.close();
  std::vector<std::string> receipts;
  p.world.read([&](db::Tx& tx) {
    for (const std::string& id : p.ids) receipts.push_back(p.receipt_in(tx, id));
  });
  const receipt::Keys keys = p.keys();
  const receipt::Ledger file = p.ledger_file();
  std::map<Verdict, int> verdicts;
  for (const std::string& one : receipts) ++verdicts[receipt::judge(one, keys, file).verdict];
  CHECK(verdicts == std::map<Verdict, int>{{Verdict::stands, count}});
}

TEST_CASE("a receipt says who got what from whom, and has a proof once its day is closed") {
  Platform p;
  p.spend(1);
  const json open = payload_of(p.receipt_of(p.ids[0]));
  CHECK(open.at("iss") == issuer);
  CHECK(open.at("transaction_id") == p.ids[0]);
  CHECK(open.at("kind") == "spend");
  CHECK(open.at("amount") == 2);
  CHECK(open.at("postings").size() == 2);
  CHECK(open.at("cause").at("description") == "a hat");
  CHECK(open.at("interval").is_null());
  CHECK(open.at("proof").is_null());
  CHECK(receipt::judge(p.receipt_of(p.ids[0]), p.keys(), p.ledger_file()).verdict ==
        Verdict::signed_only);
  p.close();
  const std::string closed = p.receipt_of(p.ids[0]);
  CHECK(payload_of(closed).at("proof").at("index") == 1);  // the minting was the first one
  CHECK(receipt::judge(" " + closed + "\n", p.keys(), p.ledger_file()).verdict == Verdict::stands);
  CHECK(receipt::judge(closed, p.keys(), {}).verdict == Verdict::day_missing);
}

TEST_CASE("a day that was closed before there were trees gives receipts without a proof") {
  Platform p;
  p.spend(1);
  p.close();
  p.world.write([](db::Tx& tx) {
    tx.execute("UPDATE ledger_closed_days SET root = NULL");
    tx.execute("DELETE FROM ledger_day_trees");
  });
  CHECK(payload_of(p.receipt_of(p.ids[0])).at("proof").is_null());
}

// What whoever can write the database may do to a transaction, by its number.
void change(db::Tx& tx, int how, const std::string& id) {
  const auto parts = ledger::parts_of_id(id);
  const std::int64_t number =
      tx.number("SELECT number FROM ledger_transactions WHERE id_high = $1 AND id_low = $2",
                parts.high, parts.low);
  switch (how) {
    case 0:
      tx.execute(
          "UPDATE ledger_postings SET amount = CASE WHEN amount > 0 THEN amount + 1 ELSE amount - "
          "1 END WHERE transaction_number = $1",
          number);
      return;
    case 1:
      tx.execute(
          "UPDATE ledger_postings SET account_number = (SELECT number FROM ledger_accounts WHERE "
          "kind = 'treasury') WHERE transaction_number = $1 AND incoming = 1",
          number);
      return;
    case 2:
      tx.execute(
          "UPDATE ledger_transactions SET kind = (SELECT number FROM ledger_kinds WHERE kind = "
          "'mint') WHERE number = $1",
          number);
      return;
    default:
      tx.execute("DELETE FROM ledger_postings WHERE transaction_number = $1", number);
      tx.execute("UPDATE ledger_transactions SET id_low = id_low + 1 WHERE number = $1", number);
  }
}

// The published ledger if the day had been closed, and chained, with what the database has now.
receipt::Ledger forged_ledger(db::Tx& tx, Platform& p, std::int64_t day) {
  ledger::DayWalk walk(tx, day, ledger::DayWalk::Scope::transactions);
  ledger::finish(tx, walk);
  receipt::Day forged = {.date = utc_date(day),
                         .transactions = walk.sums().transactions,
                         .postings = walk.sums().postings,
                         .moved = walk.sums().moved,
                         .hash = walk.sums().hash,
                         .root = walk.sums().root,
                         .chain = {}};
  forged.chain = receipt::chain_after("", forged, day);
  receipt::Ledger file;
  const json row = {{"row", receipt::sign_day(p.stored_keys(tx).seed, issuer, forged, "")}};
  file.add(json{{"days", json::array({row})}}.dump(),
           receipt::parse_keys(points::published_keys(p.stored_keys(tx), issuer).dump()));
  return file;
}

TEST_CASE("each of a hundred changed rows is found by whoever has kept its receipt") {
  constexpr int changes = 100;
  Platform p;
  const std::int64_t day = utc_day(p.world.clock.now());
  p.spend(600);  // three parts of the tree
  p.close();
  const receipt::Keys keys = p.keys();
  int noticed = 0, refused = 0, standing_before = 0;
  for (int i = 0; i < changes; ++i) {
    const std::string& id = p.ids[size_t(i) * 6];
    const std::string kept = p.receipt_of(id);
    if (receipt::judge(kept, keys, p.ledger_file()).verdict == Verdict::stands) ++standing_before;
    const auto attempt = [&](db::Tx& tx) {
      allow_tampering(tx);
      change(tx, i % 4, id);
      // As long as the chain isn't changed as well, berthd itself notices.
      const auto now = ledger::find_recorded(tx, id);
      if (!now || ledger::prove(tx, *now).standing == ledger::Standing::contradicts) ++refused;
      // If it is, the ledger that is then published contradicts the receipt.
      if (receipt::judge(kept, keys, forged_ledger(tx, p, day)).verdict == Verdict::contradicted)
        ++noticed;
      throw std::runtime_error("undo the change");
    };
    CHECK_THROWS_WITH(p.world.write(attempt), "undo the change");
  }
  CHECK(standing_before == changes);
  CHECK(refused == changes);
  CHECK(noticed == changes);
}

TEST_CASE("no receipt is signed for what the closed day doesn't have") {
  Platform p;
  p.spend(3);
  p.close();
  p.world.write([&](db::Tx& tx) {
    allow_tampering(tx);
    change(tx, 0, p.ids[1]);
  });
  CHECK(refusal([&] { p.receipt_of(p.ids[1]); }) == "409 invalid_state");
}

TEST_CASE("after a rotation, earlier receipts stand, and later ones need the new keys") {
  Platform p;
  p.spend(1);
  p.close();
  const std::string before = p.receipt_of(p.ids[0]);
  const receipt::Keys old_keys = p.keys();
  const auto rotate = [&] {
    return p.world.write(
        [&](db::Tx& tx) { return points::rotate_receipt_key(tx, p.world.keys.data); });
  };
  const std::string first = rotate();
  const std::string second = rotate();
  CHECK(first != second);
  const std::string after = p.receipt_of(p.ids[0]);
  CHECK(jws::parse(after)->key_id == second);
  const receipt::Keys new_keys = p.keys();
  CHECK(new_keys.by_id.size() == 3);
  const receipt::Ledger file = p.ledger_file();
  CHECK(receipt::judge(before, new_keys, file).verdict == Verdict::stands);
  CHECK(receipt::judge(after, new_keys, file).verdict == Verdict::stands);
  CHECK(receipt::judge(after, old_keys, file).verdict == Verdict::unknown_key);
  // With another data key, nothing of what is stored is taken for a key.
  CHECK_THROWS(
      p.world.read([](db::Tx& tx) { return points::receipt_keys(tx, std::string(32, 'x')); }));
}

TEST_CASE("receipts of others, forged ones and other texts are told apart") {
  Platform p;
  p.spend(1);
  p.close();
  Platform other;
  other.name = "https://other.example.org";
  other.world.keys.data = std::string(32, 'e');
  other.spend(1);
  const receipt::Keys keys = p.keys();
  const receipt::Ledger file = p.ledger_file();
  const auto verdict = [&](const std::string& text) {
    return receipt::judge(text, keys, file).verdict;
  };
  const auto foreign = receipt::judge(other.receipt_of(other.ids[0]), keys, file);
  CHECK(foreign.verdict == Verdict::other_platform);
  CHECK_THAT(foreign.sentence, Catch::Contains("https://other.example.org"));
  const std::string good = p.receipt_of(p.ids[0]);
  const jws::Parsed parsed = *jws::parse(good);
  // It claims to be of this platform, but its key isn't one of the platform's.
  const std::string strange(32, 'z');
  CHECK(verdict(jws::sign(strange, receipt::receipt_type, parsed.payload)) == Verdict::unknown_key);
  json larger = parsed.payload;
  larger["amount"] = 1'000;
  const size_t dot = good.find('.');
  const std::string head = good.substr(0, dot + 1);
  CHECK(verdict(head + base64url(larger.dump()) + good.substr(good.rfind('.'))) == Verdict::forged);
  // A day of the ledger isn't a receipt, although the same key has signed it.
  const std::string row = json::parse(p.published()).at("days").at(0).at("row");
  for (const std::string& text : {std::string(), std::string("  \n"), std::string("receipt"), row,
                                  good.substr(0, good.size() / 2), good + "." + good})
    CHECK(verdict(text) == Verdict::malformed);
  CHECK_THROWS_WITH(receipt::Ledger().add(p.published(), other.keys()),
                    Catch::Contains("the published days are those of"));
}

TEST_CASE("a platform that has moved to another address still knows its earlier receipts") {
  Platform p;
  p.spend(1);
  p.close();
  const std::string before = p.receipt_of(p.ids[0]);
  const std::string published = p.published();
  p.name = "https://new.example.org";
  receipt::Ledger file;
  file.add(published, p.keys());
  CHECK(receipt::judge(before, p.keys(), file).verdict == Verdict::stands);
}

TEST_CASE("a platform that publishes two ledgers of a day, or a chain that breaks, is found out") {
  Platform p;
  p.spend(2);
  p.close();
  p.spend(2);
  p.close();
  receipt::Ledger kept = p.ledger_file();
  p.world.write([](db::Tx& tx) {
    tx.execute(
        "UPDATE ledger_closed_days SET moved = moved + 1 WHERE day = (SELECT max(day) FROM "
        "ledger_closed_days)");
  });
  CHECK_THROWS_WITH(kept.add(p.published(), p.keys()), Catch::Contains("two different ledgers"));
  CHECK_THROWS_WITH(receipt::Ledger().add(p.published(), p.keys()),
                    Catch::Contains("aren't a chain"));
}

TEST_CASE("parties of a transaction are its users and the owners of its apps") {
  World world;
  const auto owner = world.verified_user("owner");
  const auto bob = world.verified_user("bob");
  const auto eve = world.verified_user("eve");
  const auto app = world.new_app(owner).app;
  world.mint(ledger::user_account(bob.id), 10);
  const std::string id = world.write([&](db::Tx& tx) {
    return *ledger::post(tx, ledger::Movement{.kind = "spend",
                                              .from = ledger::user_account(bob.id),
                                              .to = ledger::app_account(app.id),
                                              .amount = 1,
                                              .memo = ""});
  });
  const auto is_party = [&](const accounts::User& user) {
    return world.read(
        [&](db::Tx& tx) { return points::is_party(tx, *ledger::find_recorded(tx, id), user.id); });
  };
  CHECK(is_party(bob));
  CHECK(is_party(owner));
  CHECK_FALSE(is_party(eve));
  CHECK_FALSE(world.read([&](db::Tx& tx) {
    return ledger::find_recorded(tx, "01936f5e-7c1a-7000-8000-000000000007").has_value();
  }));
}

}  // namespace
