#include "berthd/reference.h"

#include <map>

#include "api/gate/operations_page.h"
#include "berthd/config.h"
#include "berthd/exit_codes.h"
#include "controller/base/error.h"
#include "controller/base/roff.h"
#include "controller/base/shares.h"
#include "controller/domain/kernel/write_budgets.h"

namespace berth {
namespace {

// Defaults that are longer, or are YAML lists, get a block of their own below the table.
constexpr size_t longest_in_table = 80;

bool fits_table(const Setting& setting) {
  return setting.value.size() <= longest_in_table && !setting.value.contains('\n');
}

// Returns the text as a table cell: characters that would begin an HTML tag or the next cell are
// escaped.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '|')
      result += "\\|";
    else
      result += c;
  }
  return result;
}

std::string default_of(const Setting& setting) {
  if (!fits_table(setting)) return "below";
  return setting.value.empty() ? "(empty)" : "`" + setting.value + "`";
}

std::string configuration() {
  const std::vector<Setting> settings = load_config({}, {}).settings;
  std::string text = "| key | default | meaning |\n| --- | --- | --- |\n";
  for (const Setting& setting : settings)
    text +=
        "| `" + setting.key + "` | " + default_of(setting) + " | " + cell(setting.meaning) + " |\n";
  for (const Setting& setting : settings) {
    if (fits_table(setting)) continue;
    const std::string start = setting.value.starts_with('\n') ? ":" : ":\n";
    const std::string end = setting.value.ends_with('\n') ? "" : "\n";
    text += "\nThe default of `" + setting.key + "`:\n\n```yaml\n" + setting.key + start +
            setting.value + end + "```\n";
  }
  return text;
}

std::string errors() {
  std::map<int, std::string> rows;
  for (const CodeInfo& code : all_codes())
    rows[code.status] += "| " + std::to_string(code.status) + " | `" + std::string(code.name) +
                         "` | " + cell(code.meaning) + " |\n";
  std::string text = "| status | code | meaning |\n| --- | --- | --- |\n";
  for (const auto& [status, lines] : rows) text += lines;
  return text;
}

std::string exits() {
  std::string text = "| exit code | meaning |\n| --- | --- |\n";
  for (const ExitCode& exit : exit_codes)
    text += "| " + std::to_string(exit.code) + " | " + cell(exit.meaning) + " |\n";
  return text;
}

std::string table_of_pools() {
  std::string text =
      "| pool | what takes a place | whose shares bind | if there is none | reserve |\n"
      "| --- | --- | --- | --- | --- |\n";
  for (size_t i = 0; i < pools; ++i) {
    const PoolInfo& row = info(Pool(i));
    text += "| `" + std::string(to_string(row.pool)) + "` | " + cell(row.place) + " | " +
            std::string(to_string(row.sharers)) + " | " + cell(row.if_taken) + " | " +
            (row.has_reserve ? "1/16" : "") + " |\n";
  }
  return text;
}

// Prints one key a line, for completion in shells.
std::string keys() {
  std::string text;
  for (const std::string& name : flag_names()) text += name + "\n";
  return text;
}

struct Entry {
  const char* name;
  const char* meaning;
};

constexpr Entry commands[] = {
    {"berthd", "Serves, until SIGTERM."},
    {"berthd config", "Prints every key with its value and where the value came from."},
    {"berthd config check",
     "Names everything that is wrong with the configuration, each with its line in the file and "
     "the "
     "key that is nearest to a misspelt one."},
    {"berthd backup FILE --passphrase-file FILE [--url URL] [--keep COUNT] [--replace]",
     "Asks the running berthd for an encrypted archive of its database and keys. A file that "
     "exists is replaced only with --replace, once the new archive is complete."},
    {"berthd restore FILE --passphrase-file FILE [--data-dir DIR]",
     "Makes a data directory from an archive."},
    {"berthd verify [FILE] [--passphrase-file FILE] [--data-dir DIR]",
     "Checks whether a data directory, a database or an archive is sound, the ledger included."},
    {"berthd migrate --to ADDRESS | --from ADDRESS [--data-dir DIR]",
     "Moves the database from the data directory to an empty PostgreSQL database, or from there to "
     "the data directory that has its keys. ADDRESS is that of the key database. No berthd may use "
     "either of them meanwhile, and none starts on the old one afterwards. If a move was "
     "interrupted, run the command again."},
    {"berthd doctor --cluster | --database [ADDRESS] | --local",
     "Checks whether the cluster is ready for strangers' containers, whether the PostgreSQL server "
     "is fit for berthd, or whether this machine can run containers, and says what to do. With "
     "--cluster and the data directory of a platform that ran on one machine, also what stands in "
     "the way of its move to that cluster."},
    {"berthd local push REGISTRY/PATH [--data-dir DIR]",
     "Pushes the images that were built on this machine, as far as deployments run them, to that "
     "place, and changes the deployments, so that a cluster can pull them. No berthd may run "
     "meanwhile."},
    {"berthd local clean [--data-dir DIR]",
     "Ends and removes what berthd keeps on this machine if kubernetes is local: containers, their "
     "networks and images, podman's service, and Caddy. The database stays. No berthd may run "
     "meanwhile, unless kubernetes has another value."},
};

constexpr Entry files[] = {
    {"/etc/berth/berthd.yaml", "The configuration that the Debian package's service reads."},
    {"/var/lib/berth",
     "The data directory of that service: the database, the keys, and copies of "
     "the database from before upgrades. Purging the package keeps it."},
};

// berthd(8) in man(7) macros.
std::string manual() {
  std::string text =
      ".TH BERTHD 8 \"\" \"berth\" \"System Administration\"\n.nh\n.ad l\n.SH NAME\n"
      "berthd \\- container-hosting control plane with a points economy\n.SH SYNOPSIS\n"
      ".B berthd\n.RI [ command \"] [\" \\-\\-KEY \" VALUE]...\"\n.SH COMMANDS\n";
  for (const Entry& entry : commands) text += roff::tagged(entry.name, entry.meaning);
  text +=
      ".SH CONFIGURATION\nA key can stand in a YAML file (\\-\\-config FILE, or BERTHD_CONFIG), in "
      "a "
      "variable (BERTHD_LISTEN) or in a flag (\\-\\-listen); the later one wins. With \\-file "
      "behind "
      "it, the value is read from the file that is named.\n";
  for (const Setting& setting : load_config({}, {}).settings)
    text +=
        roff::tagged(setting.key, setting.meaning + (fits_table(setting) && !setting.value.empty()
                                                         ? " (" + setting.value + ")."
                                                         : "."));
  text += ".SH FILES\n";
  for (const Entry& entry : files) text += roff::tagged(entry.name, entry.meaning);
  text += ".SH EXIT STATUS\n";
  for (const ExitCode& exit : exit_codes)
    text += roff::tagged(std::to_string(exit.code), std::string(exit.meaning) + ".");
  return text + ".SH SEE ALSO\n.BR berth (1)\n";
}

// Amounts with a unit, such as 4.5 MB; a thousand bytes are a kB.
std::string bytes_in_words(std::int64_t bytes) {
  constexpr std::int64_t kilo = 1'000, mega = 1'000'000;
  const std::int64_t unit = bytes < mega ? kilo : mega;
  std::string text = std::to_string(bytes / unit);
  if (const auto tenths = bytes % unit * 10 / unit; tenths > 0)
    text += "." + std::to_string(tenths);
  return text + (unit == kilo ? " kB" : " MB");
}

std::string cell(const write_budgets::Amount& amount) {
  if (amount.bytes == 0) return "refused";
  return bytes_in_words(amount.bytes) + ", " + std::to_string(amount.rows) + " rows";
}

std::string_view when_refused(DiskStage stage) {
  switch (stage) {
    case DiskStage::low:
      return "first";
    case DiskStage::very_low:
      return "second";
    case DiskStage::ample:
      break;
  }
  return "last";
}

std::string budgets() {
  std::string table =
      "| budget | of what | account | account whose address isn't verified | network | near a full "
      "disk |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const write_budgets::Budget& budget : write_budgets::all())
    table.append("| `")
        .append(to_string(budget.stores))
        .append("` | ")
        .append(budget.what)
        .append(" | ")
        .append(cell(budget.account))
        .append(" | ")
        .append(cell(budget.unverified))
        .append(" | ")
        .append(cell(budget.network))
        .append(" | ")
        .append(when_refused(budget.stops_at))
        .append(" |\n");
  return table + "| all | | " + bytes_in_words(write_budgets::bytes_of_account) + " | " +
         bytes_in_words(write_budgets::bytes_of_unverified_account) + " | " +
         bytes_in_words(write_budgets::bytes_of_network) + " | |\n";
}

const std::map<std::string, std::string (*)()>& pages() {
  static const std::map<std::string, std::string (*)()> table = {
      {"budgets", budgets},
      {"configuration", configuration},
      {"errors", errors},
      {"exit-codes", exits},
      {"keys", keys},
      {"manual", manual},
      {"operations", api::operations_page},
      {"pools", table_of_pools}};
  return table;
}

}  // namespace

std::vector<std::string> reference_pages() {
  std::vector<std::string> names;
  for (const auto& [name, make] : pages()) names.push_back(name);
  return names;
}

std::string reference(const std::string& page) { return pages().at(page)(); }

}  // namespace berth
