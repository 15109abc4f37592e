// Receipts of points that were moved, and statements: getting them, and checking receipts without a
// connection.
#include <iostream>
#include <map>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/env_file.h"
#include "controller/base/receipt.h"

namespace berth::cli {
namespace {

using receipt::Verdict;

constexpr const char* keys_path = "/.well-known/berth-receipts.json";
constexpr const char* ledger_path = "/.well-known/berth-ledger";

struct ReceiptFlags {
  std::string id;
  std::string file;
  std::string keys;
  std::vector<std::string> ledger;
  std::string from;
  std::string until;
  std::string format = "csv";
};
using SharedReceiptFlags = std::shared_ptr<ReceiptFlags>;

std::string query_of(const ReceiptFlags& flags) {
  std::vector<std::pair<std::string, std::string>> query;
  if (!flags.from.empty()) query.emplace_back("from", flags.from);
  if (!flags.until.empty()) query.emplace_back("to", flags.until);
  return query.empty() ? "" : "?" + encoded(query);
}

void get(Run& run, const ReceiptFlags& flags, const std::string& path, As as) {
  if (!is_uuid(flags.id)) throw Failure(Exit::usage, flags.id + " isn't the id of a transaction");
  const json body = run.api().get(path + flags.id, as);
  run.out().done(body, cell(body, "receipt"));
  if (body.value("proven", false)) return;
  say("It has no proof yet: its day isn't closed, or was closed before there were receipts.");
}

void show_published(Run& run, const ReceiptFlags& flags) {
  const json body = run.api().all(ledger_path + query_of(flags), "days", As::nobody);
  // A file for `verify --ledger`, whatever the format is.
  std::cout << json{{"days", body.at("days")}}.dump() << "\n";
}

receipt::Keys keys_for(Run& run, const ReceiptFlags& flags) {
  const std::string text =
      flags.keys.empty() ? run.api().get(keys_path, As::nobody).dump() : contents_of(flags.keys);
  return receipt::parse_keys(text);
}

// Adds the day of a receipt, as the server publishes it. Another server publishes nothing of it.
void add_published_day(Run& run, const receipt::Keys& keys, const std::string& day,
                       receipt::Ledger& ledger) {
  const json body = run.api().all(
      std::string(ledger_path) + "?" + encoded({{"from", day}, {"to", day}}), "days", As::nobody);
  ledger.add(body.dump(), keys);
}

Exit exit_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::stands:
      return Exit::ok;
    case Verdict::signed_only:
    case Verdict::day_missing:
    case Verdict::unknown_key:
      return Exit::not_found;
    case Verdict::other_platform:
      return Exit::conflict;
    default:
      return Exit::failed;
  }
}

// The number of a verdict's exit code says how bad it is: the worst one is the command's.
int badness(Exit exit) {
  if (exit == Exit::failed) return 3;
  if (exit == Exit::conflict) return 2;
  return exit == Exit::not_found ? 1 : 0;
}

std::string sentence_of(Exit worst, bool is_one) {
  if (worst == Exit::not_found)
    return is_one ? "the receipt isn't proven" : "not all receipts are proven";
  return is_one ? "the receipt doesn't stand in the ledger"
                : "not all receipts stand in the ledger";
}

void verify(Run& run, const ReceiptFlags& flags) {
  try {
    const receipt::Keys keys = keys_for(run, flags);
    receipt::Ledger ledger;
    for (const std::string& file : flags.ledger) ledger.add(contents_of(file), keys);
    std::istringstream receipts(contents_of(flags.file));
    json results = json::array();
    std::string text;
    std::map<std::string, int> counts;
    Exit worst = Exit::ok;
    for (std::string one; receipts >> one;) {
      receipt::Judgement found = receipt::judge(one, keys, ledger);
      if (found.verdict == Verdict::day_missing && flags.ledger.empty() &&
          ledger.find(found.day) == nullptr) {
        add_published_day(run, keys, found.day, ledger);
        found = receipt::judge(one, keys, ledger);
      }
      results.push_back({{"transaction_id", found.transaction_id},
                         {"verdict", to_string(found.verdict)},
                         {"sentence", found.sentence}});
      ++counts[std::string(to_string(found.verdict))];
      if (badness(exit_of(found.verdict)) > badness(worst)) worst = exit_of(found.verdict);
      if (found.verdict != Verdict::stands || results.size() == 1)
        text += printable((found.transaction_id.empty() ? "" : found.transaction_id + ": ") +
                          found.sentence) +
                "\n";
    }
    if (results.empty()) throw Failure(Exit::failed, "the file is empty: it has no receipt");
    if (results.size() > 1)
      for (const auto& [verdict, count] : counts)
        text += verdict + ": " + std::to_string(count) + "\n";
    run.out().print({{"receipts", results}, {"stands", worst == Exit::ok}}, [&] { return text; });
    if (worst != Exit::ok) throw Failure(worst, sentence_of(worst, results.size() == 1));
  } catch (const std::invalid_argument& refusal) {
    throw Failure(Exit::failed, refusal.what());
  }
}

void statement(Run& run, const ReceiptFlags& flags, const std::string& path, As as) {
  const std::string query = query_of(flags);
  run.api().stream({.path = path + query + (query.empty() ? "?" : "&") + "format=" + flags.format,
                    .accept = "*/*",
                    .headers = {},
                    .sink =
                        [](std::string_view part) {
                          std::cout << part;
                          return bool(std::cout);
                        },
                    .has_end = true,
                    .as = as});
  std::cout.flush();
}

void add_statement(CLI::App& parent, Run& run, const std::string& what, const std::string& command,
                   const std::string& path, As as) {
  const SharedReceiptFlags flags = std::make_shared<ReceiptFlags>();
  CLI::App* added = add_command(parent, "statement", what,
                                command + " --from 2026-01-01 --to 2026-01-31 > january.csv",
                                [&run, flags, path, as] { statement(run, *flags, path, as); });
  added->add_option("--from", flags->from, "First day, in UTC; by default 29 days before the last");
  added->add_option("--to", flags->until, "Last day, in UTC; by default today");
  added->add_option("--format", flags->format, "Form of the lines")
      ->capture_default_str()
      ->check(CLI::IsMember({"csv", "jsonl", "json"}));
}

}  // namespace

void add_points_statement(CLI::App& points, Run& run) {
  add_statement(points, run, "Print all movements of your points on some days, oldest first",
                "berth points statement", "/api/points/statement", As::account);
}

void add_app_statement(CLI::App& apps, Run& run) {
  add_statement(apps, run, "Print all movements of the current app's points, oldest first",
                "berth apps statement", "/api/operator/statement", As::app);
}

void add_receipt_commands(CLI::App& root, Run& run) {
  CLI::App* receipts =
      add_group(root, "receipt", "Receipts of points that were moved: get them, and check them");
  const SharedReceiptFlags got = std::make_shared<ReceiptFlags>();
  CLI::App* getting =
      add_command(*receipts, "get", "Print the receipt of a transaction",
                  "berth receipt get 01936f5e-7c1a-7000-8000-000000000007 > hat.receipt",
                  [&run, got] { get(run, *got, "/api/points/receipts/", As::account); });
  getting->add_option("TRANSACTION", got->id, "Id of the transaction, as in `berth points history`")
      ->required();

  const SharedReceiptFlags checked = std::make_shared<ReceiptFlags>();
  CLI::App* checking = add_command(
      *receipts, "verify", "Say whether receipts stand in the ledger that was published",
      "berth receipt verify hat.receipt --keys keys.json --ledger january.json",
      [&run, checked] { verify(run, *checked); });
  checking->add_option("FILE", checked->file, "File with receipts, one in a line; - for stdin")
      ->required();
  checking->add_option("--keys", checked->keys,
                       "File that `berth receipt keys` wrote; without it, the server is asked");
  checking
      ->add_option("--ledger", checked->ledger,
                   "File that `berth receipt ledger` wrote; may be repeated; without it, the "
                   "server is asked")
      ->allow_extra_args(false);

  add_command(*receipts, "keys", "Print the keys with which the platform signs receipts",
              "berth receipt keys > keys.json",
              [&run] { std::cout << run.api().get(keys_path, As::nobody).dump() << "\n"; });

  const SharedReceiptFlags listed = std::make_shared<ReceiptFlags>();
  CLI::App* listing = add_command(
      *receipts, "ledger", "Print the closed days of the ledger, as the platform publishes them",
      "berth receipt ledger --from 2026-01-01 --to 2026-01-31 > january.json",
      [&run, listed] { show_published(run, *listed); });
  listing->add_option("--from", listed->from,
                      "First day, in UTC; by default 29 days before the last");
  listing->add_option("--to", listed->until, "Last day, in UTC; by default today");
}

void add_admin_receipt_commands(CLI::App& admin, Run& run) {
  const SharedReceiptFlags got = std::make_shared<ReceiptFlags>();
  CLI::App* getting =
      add_command(admin, "receipt", "Print the receipt of any transaction",
                  "berth admin receipt 01936f5e-7c1a-7000-8000-000000000007",
                  [&run, got] { get(run, *got, "/api/internal/points/receipts/", As::admin); });
  getting->add_option("TRANSACTION", got->id, "Id of the transaction")->required();
  add_command(
      admin, "rotate-receipt-key",
      "Sign receipts with a new key; receipts that were signed stay valid",
      "berth admin rotate-receipt-key", [&run] {
        const json answer = run.api().post("/api/internal/receipt-keys/rotate", nullptr, As::admin);
        run.out().done(answer, "Receipts are signed with the key " + cell(answer, "kid") + ".");
      });
}

}  // namespace berth::cli
