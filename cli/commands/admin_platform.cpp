// The commands for a platform's admin: treasury, ledger, audit log, tiers, orphans, the chat's word
// list and messages, mail, the key of sessions, and the clock.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

constexpr const char* tiers_path = "/api/internal/deploy/tiers";
constexpr const char* words_path = "/api/internal/chat/words";

struct TierFlags {
  std::string slug;
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::optional<std::int64_t> memory;
  std::optional<std::int64_t> cpu;
  std::optional<std::int64_t> price;
  std::optional<std::int64_t> price_per_hour;  // 0 stands for no price
  std::optional<std::int64_t> most;
  std::optional<std::int64_t> stipend;
  std::optional<bool> for_all;
  std::optional<bool> domains;
  std::optional<std::string> runtime_class;    // an empty text stands for the cluster's default
  std::optional<std::string> user_namespaces;  // true, false, or auto
  std::optional<bool> smtp;
  std::optional<std::int64_t> bandwidth;  // 0 stands for no limit
  std::optional<std::int64_t> build_price;
  std::optional<std::int64_t> max_replicas;
  std::optional<bool> exec;
};

template <typename T>
void put(json& body, const char* field, const std::optional<T>& value) {
  if (value) body[field] = *value;
}

json body_of(const TierFlags& flags) {
  json body = json::object();
  put(body, "name", flags.name);
  put(body, "description", flags.description);
  put(body, "memory_limit_mb", flags.memory);
  put(body, "cpu_limit_millicores", flags.cpu);
  put(body, "monthly_cost_points", flags.price);
  put(body, "points_per_hour", flags.price_per_hour);
  if (flags.price_per_hour == 0) body["points_per_hour"] = nullptr;
  put(body, "max_deployments", flags.most);
  put(body, "monthly_stipend_points", flags.stipend);
  put(body, "auto_approve", flags.for_all);
  put(body, "custom_domain_allowed", flags.domains);
  if (flags.user_namespaces)
    body["user_namespaces"] =
        *flags.user_namespaces == "auto" ? json() : json(*flags.user_namespaces == "true");
  put(body, "smtp", flags.smtp);
  put(body, "runtime_class", flags.runtime_class);
  if (flags.runtime_class == "") body["runtime_class"] = nullptr;
  put(body, "bandwidth", flags.bandwidth);
  if (flags.bandwidth == 0) body["bandwidth"] = nullptr;
  put(body, "build_points_per_minute", flags.build_price);
  put(body, "max_replicas", flags.max_replicas);
  put(body, "exec_allowed", flags.exec);
  return body;
}

const std::vector<Column> tier_columns = {{"TIER", "slug"},
                                          {"NAME", "name"},
                                          {"MEMORY (MB)", "memory_limit_mb"},
                                          {"CPU (1/1000)", "cpu_limit_millicores"},
                                          {"DEPLOYMENTS", "limits.max_deployments"},
                                          {"CONTAINERS", "max_replicas"},
                                          {"POINTS A MONTH", "monthly_cost_points"},
                                          {"POINTS AN HOUR", "points_per_hour"},
                                          {"STIPEND", "monthly_stipend_points"},
                                          {"POINTS A BUILD MINUTE", "build_points_per_minute"},
                                          {"OWN DOMAIN", "custom_domain_allowed"},
                                          {"COMMANDS", "exec_allowed"},
                                          {"FOR ALL", "auto_approve"},
                                          {"ID", "id"}};

// The path of the tier with this slug or id.
std::string tier_path(Run& run, const std::string& slug) {
  const json all = run.api().get(tiers_path, As::admin);
  for (const json& tier : all.at("tiers"))
    if (tier.at("slug") == slug || tier.at("id") == slug)
      return std::string(tiers_path) + "/" + tier.at("id").get<std::string>();
  throw Failure(Exit::not_found, "there is no tier " + slug,
                "`berth admin tiers list` shows them.");
}

void update_tier(Run& run, const TierFlags& flags) {
  const json body = body_of(flags);
  if (body.empty())
    throw Failure(Exit::usage, "nothing to change",
                  "`berth admin tiers update --help` lists what can be changed.");
  const json answer = run.api().call(
      {.method = "PATCH", .path = tier_path(run, flags.slug), .as = As::admin, .body = body});
  run.out().done(answer, "The tier " + flags.slug + " is changed.");
}

// What a change from one number to another looks like.
std::string from_to(const json& change) {
  return cell(change, "now") + " now, " + cell(change, "then") + " then";
}

void preview_price(Run& run, const TierFlags& flags) {
  const std::int64_t price = flags.price_per_hour.value_or(0);
  const json body = run.api().get(
      tier_path(run, flags.slug) + "/price-change" +
          (price == 0 ? "" : "?" + encoded({{"points_per_hour", std::to_string(price)}})),
      As::admin);
  run.out().print(body, [&] {
    std::vector<std::vector<std::string>> apps;
    for (const json& app : body.at("short_of_points"))
      apps.push_back({cell(app, "app_name"), cell(app, "balance"), cell(app, "points_a_day"),
                      cell(app, "app_id")});
    return facts_of({{"Points for an hour", from_to(body.at("points_per_hour"))},
                     {"Counts from", cell(body, "applies_from")},
                     {"Deployments", cell(body, "deployments")},
                     {"Apps", cell(body, "apps")},
                     {"Points a day", from_to(body.at("points_a_day"))},
                     {"Apps short of points", cell(body, "apps_short_of_points")}}) +
           (apps.empty() ? "" : "\n" + table_of({"APP", "BALANCE", "POINTS A DAY", "ID"}, apps));
  });
}

void add_sizes(CLI::App& command, TierFlags& flags) {
  command.add_option("--price", flags.price, "Points for 30 days of a container");
  command.add_option("--price-per-hour", flags.price_per_hour,
                     "Points for each hour that a container runs; 0 is no such price");
  command.add_option("--max-deployments", flags.most, "Deployments that an account may have");
  command.add_option("--stipend", flags.stipend,
                     "Points that the owner of a deployment gets every 30 days");
  command.add_option("--description", flags.description, "Description, for people");
  command.add_option("--auto-approve", flags.for_all,
                     "Whether every app may use it, without an admin's promotion: true or false");
  command.add_option("--custom-domains", flags.domains,
                     "Whether deployments may have a domain of their own: true or false");
  may_be_empty(*command.add_option("--runtime-class", flags.runtime_class,
                                   "RuntimeClass of the containers; '' is the cluster's default"));
  command
      .add_option("--user-namespaces", flags.user_namespaces,
                  "Whether containers have users of their own; auto is where all nodes support it")
      ->check(CLI::IsMember({"true", "false", "auto"}));
  command.add_option("--smtp", flags.smtp,
                     "Whether containers may connect to port 25: true or false");
  command.add_option("--bandwidth", flags.bandwidth,
                     "Mbit/s of a container in each direction; 0 is no limit");
  command.add_option(
      "--max-replicas", flags.max_replicas,
      "Containers that a deployment may have at once, 3 by default; deployments that "
      "have more keep them");
  command.add_option("--exec", flags.exec,
                     "Whether owners may run commands in containers that run: true or false");
  command.add_option("--build-price", flags.build_price,
                     "Points for each minute of building an image from source");
}

void add_tiers(CLI::App& admin, Run& run) {
  CLI::App* group = add_group(admin, "tiers", "The tiers that deployments run on");
  add_command(*group, "list", "List the tiers, with all of their settings",
              "berth admin tiers list", [&run] {
                const json body = run.api().get(tiers_path, As::admin);
                run.out().list(body, body.at("tiers"), tier_columns);
              });
  const auto made = std::make_shared<TierFlags>();
  CLI::App* creation = add_command(
      *group, "create", "Create a tier",
      "berth admin tiers create large --name Large --memory-mb 4096 --cpu 2000 --price 5000",
      [&run, made] {
        json body = body_of(*made);
        body["slug"] = made->slug;
        run.out().done(run.api().post(tiers_path, body, As::admin),
                       "The tier " + made->slug + " is offered.");
      });
  creation->add_option("SLUG", made->slug, "Slug, by which deployments name the tier")->required();
  creation->add_option("--name", made->name, "Name, for people")->required();
  creation->add_option("--memory-mb", made->memory, "Memory of a container in MiB")->required();
  creation->add_option("--cpu", made->cpu, "CPU of a container; 1000 is one CPU")->required();
  add_sizes(*creation, *made);
  const auto changed = std::make_shared<TierFlags>();
  CLI::App* change = add_command(
      *group, "update", "Change a tier; a new price applies from each deployment's next period",
      "berth admin tiers update basic --price 1200",
      [&run, changed] { update_tier(run, *changed); });
  change->add_option("TIER", changed->slug, "Tier, by its slug or id")->required();
  change->add_option("--name", changed->name, "Name, for people");
  change->add_option("--memory-mb", changed->memory, "Memory of a container in MiB");
  change->add_option("--cpu", changed->cpu, "CPU of a container; 1000 is one CPU");
  add_sizes(*change, *changed);
  const auto tried = std::make_shared<TierFlags>();
  CLI::App* preview = add_command(*group, "preview",
                                  "Show what another price by the hour would do; changes nothing",
                                  "berth admin tiers preview basic --price-per-hour 3",
                                  [&run, tried] { preview_price(run, *tried); });
  preview->add_option("TIER", tried->slug, "Tier, by its slug or id")->required();
  preview
      ->add_option("--price-per-hour", tried->price_per_hour,
                   "Points for each hour that a container runs; 0 is no such price")
      ->required();
}

json words_in(Run& run) { return run.api().get(words_path, As::admin).at("words"); }

// The API replaces the whole list.
void set_words(Run& run, const json& words) {
  const json answer = run.api().call(
      {.method = "PUT", .path = words_path, .as = As::admin, .body = {{"words", words}}});
  run.out().done(answer, std::to_string(answer.at("words").size()) + " words are filtered.");
}

void add_words(CLI::App& admin, Run& run) {
  CLI::App* group = add_group(admin, "words", "The words that the chat filters");
  add_command(*group, "list", "List the filtered words", "berth admin words list", [&run] {
    const json body = run.api().get(words_path, As::admin);
    run.out().print(body, [&] {
      std::string text;
      for (const json& word : body.at("words")) text += printable(word.get<std::string>()) + "\n";
      return text;
    });
  });
  const auto added = std::make_shared<std::vector<std::string>>();
  add_command(*group, "add", "Filter more words", "berth admin words add darn",
              [&run, added] {
                json words = words_in(run);
                for (const std::string& word : *added)
                  if (std::find(words.begin(), words.end(), word) == words.end())
                    words.push_back(word);
                set_words(run, words);
              })
      ->add_option("WORD", *added, "Words")
      ->required();
  const auto taken = std::make_shared<std::vector<std::string>>();
  add_command(*group, "remove", "Stop filtering words", "berth admin words remove darn",
              [&run, taken] {
                json words = json::array();
                for (const json& word : words_in(run))
                  if (std::ranges::find(*taken, word.get<std::string>()) == taken->end())
                    words.push_back(word);
                set_words(run, words);
              })
      ->add_option("WORD", *taken, "Words")
      ->required();
}

void add_message_deletion(CLI::App& admin, Run& run) {
  struct MessageFlags {
    std::string id;
    bool yes = false;
  };
  const auto flags = std::make_shared<MessageFlags>();
  CLI::App* command = add_command(
      admin, "delete-message", "Delete a message of the chat for good",
      "berth admin delete-message 01936f5e-7c1a-7000-8000-00000000000c", [&run, flags] {
        if (!is_uuid(flags->id))
          throw Failure(Exit::usage, flags->id + " isn't the id of a message");
        confirm_name("This deletes the message " + flags->id + " for good.", flags->id, flags->yes);
        run.out().done(run.api().call({.method = "DELETE",
                                       .path = "/api/internal/chat/messages/" + flags->id,
                                       .as = As::admin}),
                       "The message is deleted.");
      });
  command->add_option("MESSAGE", flags->id, "Id of the message")->required();
  command->add_flag("--yes,-y", flags->yes, "Don't ask for the id");
}

void add_session_key(CLI::App& admin, Run& run) {
  add_command(
      admin, "rotate-session-key", "Sign new sessions with a new key; existing sessions stay valid",
      "berth admin rotate-session-key", [&run] {
        const json answer = run.api().post("/api/internal/session-keys/rotate", nullptr, As::admin);
        run.out().done(answer, "New sessions are signed with the key " + cell(answer, "kid") + ".");
      });
}

void add_clock(CLI::App& admin, Run& run) {
  const auto seconds = std::make_shared<std::int64_t>(0);
  CLI::App* command = add_command(
      admin, "clock", "Show berthd's clock, or move it ahead (development only)",
      "berth admin clock --advance 30d", [&run, seconds] {
        constexpr const char* path = "/api/internal/clock";
        const json answer = *seconds == 0
                                ? run.api().get(path, As::admin)
                                : run.api().post(path, {{"advance_seconds", *seconds}}, As::admin);
        run.out().object(answer, answer, {{"Now", "now"}, {"Seconds ahead", "ahead_seconds"}});
      });
  command
      ->add_option("--advance", *seconds,
                   "How far to move it ahead, such as 90s, 15m, 2h or 30d; it can't be moved back")
      ->type_name("DURATION")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, std::int64_t>{
                                            {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}})
                      .description(""));
}

void check_ledger(Run& run) {
  const json body = run.api().get("/api/internal/ledger/audit", As::admin);
  run.out().print(body, [&] {
    std::vector<std::vector<std::string>> rows;
    for (const json& check : body.at("checks"))
      rows.push_back(
          {check.at("ok") ? "ok" : "failed", cell(check, "name"), cell(check, "detail")});
    return table_of({"RESULT", "INVARIANT", "DETAIL"}, rows, Output::paint());
  });
  if (!body.at("ok")) throw Failure(Exit::failed, "the ledger isn't sound");
}

void add_ledger(CLI::App& admin, Run& run) {
  add_command(admin, "treasury", "Show the treasury's points", "berth admin treasury", [&run] {
    const json body = run.api().get("/api/internal/treasury", As::admin);
    run.out().object(body, body, {{"Points", "balance"}, {"Ever minted", "minted"}});
  });
  add_command(admin, "ledger", "Check every rule of the ledger; fails where one doesn't hold",
              "berth admin ledger", [&run] { check_ledger(run); });
}

constexpr const char* isolation_path = "/api/internal/isolation";
// A probe takes a minute or so, and a few at most.
constexpr std::chrono::minutes isolation_patience{6};
constexpr std::chrono::seconds isolation_pause{2};

json probed_isolation(Run& run) {
  json body = run.api().post(std::string(isolation_path) + "/probe", nullptr, As::admin);
  const auto until = std::chrono::steady_clock::now() + isolation_patience;
  while (body.at("busy")) {
    if (std::chrono::steady_clock::now() > until)
      throw Failure(Exit::timed_out, "the probe hasn't finished yet",
                    "`berth admin isolation` shows the last one that has.");
    std::this_thread::sleep_for(isolation_pause);
    body = run.api().get(isolation_path, As::admin);
  }
  return body;
}

// The paths that aren't as they should be come first.
std::string isolation_table(const json& body) {
  std::vector<std::vector<std::string>> wrong;
  std::vector<std::vector<std::string>> right;
  for (const json& path : body.at("paths")) {
    const std::string wanted = path.at("wanted");
    const std::string result = path.at("result");
    const bool is_right = wanted == "either" || result == "untried" || wanted == result;
    (is_right ? right : wrong)
        .push_back({is_right ? "ok" : "wrong", cell(path, "from"), cell(path, "to"),
                    cell(path, "target"), wanted, result, cell(path, "detail")});
  }
  wrong.insert(wrong.end(), right.begin(), right.end());
  if (wrong.empty()) return "";
  return table_of({"RESULT", "FROM", "TO", "TARGET", "WANTED", "FOUND", "ANSWER"}, wrong,
                  Output::paint());
}

void show_isolation(Run& run, bool probe) {
  const json body = probe ? probed_isolation(run) : run.api().get(isolation_path, As::admin);
  run.out().print(body, [&] {
    std::string text = "isolation is " + body.at("state").get<std::string>();
    if (body.at("checked_at").is_string())
      text += "; found at " + cell(body, "checked_at") + ": " + cell(body, "open") +
              " forbidden paths open, " + cell(body, "blocked") + " needed paths shut";
    text += '\n';
    if (body.at("problem").is_string())
      text += "the newest probe had no result: " + cell(body, "problem") + "\n";
    return text + isolation_table(body);
  });
  if (body.at("state") == "open")
    throw Failure(Exit::failed, "containers can reach what they must not reach");
}

void add_isolation(CLI::App& admin, Run& run) {
  const auto probe = std::make_shared<bool>(false);
  add_command(admin, "isolation",
              "Show whether containers are kept apart on the cluster; fails if a path is open",
              "berth admin isolation --probe", [&run, probe] { show_isolation(run, *probe); })
      ->add_flag("--probe", *probe, "Probe now, which takes a minute or so, and wait for it");
}

}  // namespace

void add_admin_platform_commands(CLI::App& admin, Run& run) {
  add_ledger(admin, run);
  add_admin_audit_command(admin, run);
  add_tiers(admin, run);
  add_command(admin, "orphans", "List what runs on the cluster and belongs to no deployment",
              "berth admin orphans", [&run] {
                const json body = run.api().get("/api/internal/deploy/orphans", As::admin);
                run.out().print(body, [&] {
                  std::string text;
                  for (const json& name : body.at("deployments"))
                    text +=
                        printable(name.is_string() ? name.get<std::string>() : name.dump()) + "\n";
                  return text.empty() ? std::string("There are none.\n") : text;
                });
              });
  add_isolation(admin, run);
  add_words(admin, run);
  add_message_deletion(admin, run);
  add_session_key(admin, run);
  add_admin_receipt_commands(admin, run);
  add_clock(admin, run);
  add_command(admin, "outbox", "List the mail that was or will be sent (development only)",
              "berth admin outbox -o json", [&run] {
                const json body = run.api().get("/api/internal/outbox", As::admin);
                run.out().list(body, body.at("messages"),
                               {{"TO", "to"},
                                {"SUBJECT", "subject"},
                                {"TOKEN", "token"},
                                {"SENT", "sent_at"},
                                {"ERROR", "error"}});
              });
}

}  // namespace berth::cli
