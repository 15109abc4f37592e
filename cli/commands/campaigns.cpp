// Ad campaigns of the current app.
#include <algorithm>

#include "cli/chart.h"
#include "cli/commands/commands.h"
#include "cli/files.h"
#include "cli/terminal.h"
#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

// The surfaces that are suggested, and all that the API accepts.
constexpr const char* offered_surfaces = "banner, video, rewarded";
const std::vector<std::string> all_surfaces = {"banner", "video", "rewarded", "interstitial",
                                               "native"};
constexpr int default_payout = 10;  // points for an impression
constexpr int chart_width = 40;

struct CampaignFlags {
  std::string campaign;
  std::string name;
  std::string surface = "banner";
  std::int64_t payment = 0;
  std::int64_t payout = default_payout;
  std::string starts_at;
  std::string ends_at;
  std::string targeting;
  std::string from;
  std::string to;
  std::string title;
  std::string text;
  std::string link;
  std::string image;     // the path of a file
  std::string creative;  // an id
  bool yes = false;
};
using SharedCampaignFlags = std::shared_ptr<CampaignFlags>;

constexpr const char* campaigns_path = "/api/external/campaigns";

const std::vector<Column> campaign_fields = {
    {"Name", "name"},           {"Id", "id"},
    {"Status", "status"},       {"Surface", "surface_type"},
    {"Budget", "budget"},       {"Spent", "spent"},
    {"Payout", "payout_rate"},  {"Paid", "total_payment_made"},
    {"Rake", "rake_amount"},    {"Reserved", "reserved"},
    {"Remaining", "remaining"}, {"Refunded", "refunded"},
    {"Ended by", "end_reason"}, {"Starts", "starts_at"},
    {"Ends", "ends_at"},        {"Targeting", "targeting_metadata"},
    {"Created", "inserted_at"}, {"Creatives", "creatives"}};
const std::vector<Column> creative_columns = {
    {"TITLE", "title"},   {"ID", "id"},     {"IMPRESSIONS", "impressions"},
    {"CLICKS", "clicks"}, {"LINK", "link"}, {"IMAGE", "image_url"}};

const json& inner(const json& body) {
  return body.contains("campaign") ? body.at("campaign") : body;
}

json list(Run& run) { return run.api().all(campaigns_path, "campaigns"); }

// Finds a campaign by its id, or by a name that only one campaign has.
std::string campaign_id(Run& run, const std::string& wanted) {
  if (is_uuid(wanted)) return wanted;
  std::vector<std::string> found;
  const json all = list(run);
  for (const json& campaign : all.at("campaigns"))
    if (campaign.at("name") == wanted) found.push_back(campaign.at("id"));
  if (found.size() == 1) return found[0];
  throw Failure(found.empty() ? Exit::not_found : Exit::usage,
                found.empty() ? "there is no campaign " + wanted
                              : "several campaigns are called " + wanted + "; use an id",
                "`berth campaigns list` shows them.");
}

std::string path_of(Run& run, const CampaignFlags& flags) {
  return std::string(campaigns_path) + "/" + campaign_id(run, flags.campaign);
}

void create(Run& run, const CampaignFlags& flags) {
  json body = {{"name", flags.name},
               {"surface_type", flags.surface},
               {"total_payment", flags.payment},
               {"payout_rate", flags.payout}};
  if (!flags.starts_at.empty()) body["starts_at"] = flags.starts_at;
  if (!flags.ends_at.empty()) body["ends_at"] = flags.ends_at;
  if (!flags.targeting.empty()) {
    body["targeting_metadata"] = json::parse(flags.targeting, nullptr, false);
    if (!body["targeting_metadata"].is_object())
      throw Failure(Exit::usage, "--targeting must be a JSON object",
                    "For example, '{\"geography\": \"de\"}'.");
  }
  const json answer = run.api().post(campaigns_path, body);
  const json& campaign = inner(answer);
  run.out().done(answer, "Created " + flags.name + " (" + cell(campaign, "id") + "): a budget of " +
                             cell(campaign, "budget") + " points, " + std::to_string(flags.payout) +
                             " for each impression.");
}

void put(Run& run, const CampaignFlags& flags, const json& body, const std::string& sentence) {
  const json answer = run.api().call({.method = "PUT", .path = path_of(run, flags), .body = body});
  run.out().done(answer, sentence);
}

void top_up(Run& run, const CampaignFlags& flags) {
  const json answer = run.api().call({.method = "PUT",
                                      .path = path_of(run, flags),
                                      .body = {{"additional_payment", flags.payment}}});
  run.out().done(answer, "Its budget is " + cell(inner(answer), "budget") + " points now.");
}

void cancel(Run& run, const CampaignFlags& flags) {
  const std::string where = path_of(run, flags);
  confirm_name("This cancels the campaign " + flags.campaign +
                   " for good. The rest of its budget will be refunded.",
               flags.campaign, flags.yes);
  const json answer = run.api().call({.method = "DELETE", .path = where});
  run.out().done(answer, "Cancelled; " + cell(answer, "refunded") + " points were refunded.");
}

void list_creatives(Run& run, const CampaignFlags& flags) {
  const json body = run.api().all(path_of(run, flags) + "/creatives", "creatives");
  run.out().list(body, body.at("creatives"), creative_columns);
}

void add_creative(Run& run, const CampaignFlags& flags) {
  json body = {{"title", flags.title}, {"link", flags.link}};
  if (!flags.text.empty()) body["text"] = flags.text;
  if (!flags.image.empty()) body["image"] = base64(*read_file(flags.image));
  const json answer = run.api().post(path_of(run, flags) + "/creatives", body);
  const json& creative = answer.at("creative");
  const std::string picture = creative.at("image_url").is_null()
                                  ? ""
                                  : " Its picture is " + cell(creative, "image_url") + ".";
  run.out().done(answer, "Added " + flags.title + " (" + cell(creative, "id") + ")." + picture);
}

void remove_creative(Run& run, const CampaignFlags& flags) {
  const json answer = run.api().call(
      {.method = "DELETE",
       .path = path_of(run, flags) + "/creatives/" + percent_encode(flags.creative)});
  run.out().done(answer, cell(answer, "message"));
}

std::string chart_of(const json& body) {
  std::vector<Bar> bars;
  for (const json& day : body.value("daily", json::array()))
    bars.push_back({.label = cell(day, "date"),
                    .value = day.value("impressions", std::int64_t(0)),
                    .note = cell(day, "clicks") + " clicks, " + cell(day, "spend") + " points"});
  if (bars.empty()) return "";
  return "\nImpressions by day (UTC)\n" +
         bar_chart(bars, chart_width, takes_utf8() ? Characters::utf8 : Characters::ascii);
}

void stats(Run& run, const CampaignFlags& flags) {
  std::vector<std::pair<std::string, std::string>> query;
  if (!flags.from.empty()) query.emplace_back("from", flags.from);
  if (!flags.to.empty()) query.emplace_back("to", flags.to);
  const json body = run.api().get("/api/v1/ads/campaigns/" + campaign_id(run, flags.campaign) +
                                  "/analytics" + (query.empty() ? "" : "?" + encoded(query)));
  run.out().print(body, [&] {
    return facts_of({{"Campaign", cell(body, "campaign_name")},
                     {"Impressions", cell(body, "summary.total_impressions")},
                     {"Clicks", cell(body, "summary.total_clicks")},
                     {"CTR", cell(body, "summary.ctr") + " %"},
                     {"Spend", cell(body, "summary.total_spend") + " points"}}) +
           chart_of(body);
  });
}

CLI::App* add_named(CLI::App& group, const SharedCampaignFlags& flags, const std::string& name,
                    const std::string& description, const std::string& example,
                    std::function<void()> action) {
  CLI::App* command = add_command(group, name, description, example, std::move(action));
  command->add_option("CAMPAIGN", flags->campaign, "Name or id of the campaign")->required();
  return command;
}

void add_campaign_creation(CLI::App& group, Run& run) {
  const SharedCampaignFlags flags = std::make_shared<CampaignFlags>();
  CLI::App* command = add_command(group, "create", "Create a campaign, paid from the app's balance",
                                  "berth campaigns create Spring --payment 1000",
                                  [&run, flags] { create(run, *flags); });
  command->add_option("NAME", flags->name, "Name, which apps that show the ad can see")->required();
  command->add_option("--payment", flags->payment, "Points to pay; 90% of them become the budget")
      ->required()
      ->check(check_points);
  command->add_option("--surface", flags->surface, std::string("Kind of ad: ") + offered_surfaces)
      ->capture_default_str()
      ->check([](const std::string& text) {
        return std::ranges::find(all_surfaces, text) != all_surfaces.end()
                   ? std::string()
                   : "must be one of " + joined(all_surfaces, ", ");
      });
  command
      ->add_option("--payout", flags->payout,
                   "Points that each impression pays to the app that shows the ad")
      ->capture_default_str()
      ->check(check_points);
  command->add_option("--starts-at", flags->starts_at,
                      "When it starts, in ISO 8601; by default at once");
  command->add_option("--ends-at", flags->ends_at,
                      "When it ends, in ISO 8601; the rest of the budget is then refunded");
  command->add_option("--targeting", flags->targeting,
                      "JSON object with game_type, play_tier and geography");
}

void add_campaign_changes(CLI::App& group, Run& run) {
  const SharedCampaignFlags paused = std::make_shared<CampaignFlags>();
  add_named(group, paused, "pause", "Pause a campaign", "berth campaigns pause Spring",
            [&run, paused] {
              put(run, *paused, {{"status", "paused"}}, "The campaign is paused.");
            });
  const SharedCampaignFlags resumed = std::make_shared<CampaignFlags>();
  add_named(group, resumed, "resume", "Resume a paused campaign", "berth campaigns resume Spring",
            [&run, resumed] {
              put(run, *resumed, {{"status", "active"}}, "The campaign is active.");
            });
  const SharedCampaignFlags raised = std::make_shared<CampaignFlags>();
  add_named(group, raised, "top-up", "Add points to a campaign",
            "berth campaigns top-up Spring 500", [&run, raised] { top_up(run, *raised); })
      ->add_option("POINTS", raised->payment, "Points to pay; 90% of them become budget")
      ->required()
      ->check(check_points);
  const SharedCampaignFlags ended = std::make_shared<CampaignFlags>();
  add_named(group, ended, "cancel", "Cancel a campaign; the rest of its budget is refunded",
            "berth campaigns cancel Spring --yes", [&run, ended] { cancel(run, *ended); })
      ->add_flag("--yes,-y", ended->yes, "Don't ask for the name");
}

void add_creative_commands(CLI::App& group, Run& run) {
  const SharedCampaignFlags listed = std::make_shared<CampaignFlags>();
  add_named(group, listed, "creatives", "List what a campaign's ad shows, and how often",
            "berth campaigns creatives Spring", [&run, listed] { list_creatives(run, *listed); });
  const SharedCampaignFlags added = std::make_shared<CampaignFlags>();
  CLI::App* addition = add_named(
      group, added, "add-creative", "Add a title, a text and a picture to a campaign's ad",
      "berth campaigns add-creative Spring --title 'Play chess' --link https://chess.example.org/",
      [&run, added] { add_creative(run, *added); });
  addition->add_option("--title", added->title, "Title, in at most 80 characters")->required();
  addition->add_option("--link", added->link, "The page that a click leads to, with https://")
      ->required();
  addition->add_option("--text", added->text, "Text below the title, in at most 300 characters");
  addition->add_option("--image", added->image, "Picture: the file of a PNG or a JPEG")
      ->check(CLI::ExistingFile);
  const SharedCampaignFlags removed = std::make_shared<CampaignFlags>();
  add_named(group, removed, "remove-creative", "Remove a creative from a campaign's ad",
            "berth campaigns remove-creative Spring 01936f5e-7c1a-7000-8000-0000000000c1",
            [&run, removed] { remove_creative(run, *removed); })
      ->add_option("CREATIVE", removed->creative, "Id of the creative")
      ->required();
}

}  // namespace

void add_campaign_commands(CLI::App& root, Run& run) {
  CLI::App* group = add_group(root, "campaigns", "Ad campaigns, paid from the app's balance");
  add_campaign_creation(*group, run);
  add_command(*group, "list", "List the app's campaigns", "berth campaigns list", [&run] {
    const json body = list(run);
    run.out().list(body, body.at("campaigns"),
                   {{"NAME", "name"},
                    {"ID", "id"},
                    {"SURFACE", "surface_type"},
                    {"STATUS", "status"},
                    {"BUDGET", "budget"},
                    {"SPENT", "spent"},
                    {"PAYOUT", "payout_rate"}});
  });
  const SharedCampaignFlags shown = std::make_shared<CampaignFlags>();
  add_named(*group, shown, "show", "Show everything about a campaign",
            "berth campaigns show Spring", [&run, shown] {
              const json body = run.api().get(path_of(run, *shown));
              run.out().object(body, inner(body), campaign_fields);
            });
  add_campaign_changes(*group, run);
  add_creative_commands(*group, run);
  const SharedCampaignFlags measured = std::make_shared<CampaignFlags>();
  CLI::App* figures =
      add_named(*group, measured, "stats", "Show a campaign's impressions and clicks, day by day",
                "berth campaigns stats Spring --from 2026-01-01",
                [&run, measured] { stats(run, *measured); });
  figures->add_option("--from", measured->from, "First day (UTC), such as 2026-01-31");
  figures->add_option("--to", measured->to, "Last day (UTC)");
}

}  // namespace berth::cli
