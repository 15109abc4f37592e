#include "controller/domain/webhooks/alert_texts.h"

#include <algorithm>
#include <utility>

#include "controller/base/text.h"
#include "controller/base/visible_text.h"

namespace berth::alerts {
namespace {

using nlohmann::json;

// The field as a text; empty if it is missing, null, or no text, number or truth value.
std::string field(const Event& event, const char* name) {
  if (!event.data.is_object()) return "";
  const auto found = event.data.find(name);
  if (found == event.data.end() || found->is_null() || found->is_structured()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string or_else(std::string text, const char* other) {
  return text.empty() ? other : std::move(text);
}

// Returns the time in the form "2026-01-31 12:00 UTC"; other text is returned as it is.
std::string for_people(const std::string& iso8601) {
  if (!parse_iso8601(iso8601)) return iso8601;
  std::string text = iso8601.substr(0, 16);
  if (text.size() == 16) text[10] = ' ';
  return text + " UTC";
}

std::string points(const std::string& number) {
  return or_else(number, "some") + (number == "1" ? " point" : " points");
}

// Why a deployment doesn't run, as docs/reference/reasons.md explains it.
std::string words_of(const std::string& reason) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> known = {{
      {"image_pull_failed", "The cluster can't get its image."},
      {"crash_loop", "Its container keeps crashing."},
      {"out_of_memory", "Its container used more memory than its tier has."},
      {"port_not_listening", "Nothing answers on its port."},
      {"quota_exceeded", "The quota of the app has no room for it."},
      {"unschedulable", "No node of the cluster has room for it."},
      {"image_needs_root", "Its image wants to run as root."},
      {"image_too_large", "Its image is larger than the platform allows."},
      {"runtime_class_missing", "The cluster lacks what its tier needs."},
      {"cluster_refused", "The cluster refuses it."},
      {"certificate_failed", "The issuer refused its certificate."},
      {"suspended_by_admin", "An admin of the platform stopped it."},
  }};
  const auto found =
      std::ranges::find(known, std::string_view(reason), &decltype(known)::value_type::first);
  if (found != known.end()) return std::string(found->second);
  if (reason.empty()) return "";
  std::string words = "The reason: " + reason + ".";
  std::ranges::replace(words, '_', ' ');
  return words;
}

// Both, with a blank between them if there are two.
std::string beside(const std::string& first, const std::string& second) {
  return first.empty() ? second : second.empty() ? first : first + " " + second;
}

std::string path_of_app(const Event& event) {
  return event.app_id.empty() ? "/console/alerts" : "/console/apps/" + event.app_id;
}
std::string path_of_deployment(const Event& event, const char* id) {
  const std::string deployment = field(event, id);
  return deployment.empty() ? path_of_app(event) : "/console/deployments/" + deployment;
}

Text of_status(const Event& event) {
  const std::string name = or_else(field(event, "subdomain"), "A deployment");
  const std::string cause = field(event, "cause"), reason = field(event, "reason");
  const bool is_rollout = reason == "rollout_failed" ||
                          (reason == "release_failed" && field(event, "status") == "running");
  std::string title;
  if (event.type == "deployment.crashed")
    title = name + " has crashed";
  else if (event.type == "certificate.failed")
    title = name + " has no certificate";
  else
    title = is_rollout ? "The new version of " + name + " has failed" : name + " has failed";
  std::string detail = words_of(cause.empty() ? reason : cause);
  if (is_rollout) detail = beside(detail, "The version before it goes on.");
  return {.title = title,
          .detail = beside(detail, field(event, "message")),
          .path = path_of_deployment(event, "id"),
          .weight = Weight::bad};
}

Text of_run(const Event& event) {
  const std::string kind = field(event, "kind"), code = field(event, "exit_code");
  std::string reason = field(event, "reason");
  std::ranges::replace(reason, '_', ' ');
  const std::string cause = code.empty() ? reason : reason + ", exit code " + code;
  return {
      .title = kind == "release" ? "A release command has failed"
               : kind == "cron"  ? "The cron " + field(event, "name") + " has failed"
                                 : "A command has failed",
      .detail = beside(cause.empty() ? "" : "The reason: " + cause + ".", field(event, "message")),
      .path = path_of_deployment(event, "deployment_id"),
      .weight = Weight::bad};
}

Text of_domain(const Event& event) {
  std::string reason = field(event, "reason");
  std::ranges::replace(reason, '_', ' ');
  return {.title = "The domain " + field(event, "domain") + " isn't served",
          .detail =
              beside(reason.empty() ? "" : "The reason: " + reason + ".", field(event, "message")),
          .path = path_of_deployment(event, "deployment_id"),
          .weight = Weight::bad};
}

Text of_billing(const Event& event) {
  const std::string name = or_else(field(event, "name"), "A deployment");
  const std::string path = path_of_deployment(event, "deployment_id");
  // It is only there if an hour's points are what is missing.
  const std::string hour = field(event, "points_per_hour");
  const std::string price = hour.empty() ? "30 days cost " + points(field(event, "amount"))
                                         : "An hour costs " + points(hour);
  const std::string have = price + ", and the app has " + points(field(event, "balance")) + ".";
  if (event.type == "billing.warning")
    return {.title = name + " will be stopped at " + for_people(field(event, "stops_at")) +
                     " unless points arrive",
            .detail = have,
            .path = path,
            .weight = Weight::warning};
  if (event.type == "billing.failed")
    return {.title = name + " was stopped, because points are missing",
            .detail = have,
            .path = path,
            .weight = Weight::bad};
  // What costs nothing for 30 days isn't paid until any time.
  const bool is_paid = field(event, "amount") != "0";
  return {
      .title = name + " starts again",
      .detail = is_paid ? "It is paid until " + for_people(field(event, "paid_until")) + "." : "",
      .path = path,
      .weight = Weight::info};
}

Text of_balance(const Event& event) {
  const std::string hours = field(event, "hours_left"), rate = field(event, "points_per_hour");
  std::string detail = "The app has " + points(field(event, "balance"));
  if (const std::string held = field(event, "held"); !held.empty() && held != "0")
    detail += ", of which " + held + " are held";
  detail += ".";
  if (!rate.empty() && rate != "0") detail += " It pays " + points(rate) + " an hour.";
  if (hours == "0")
    detail += " That lasts for less than an hour.";
  else if (!hours.empty())
    detail += " That lasts for about " + hours + (hours == "1" ? " hour." : " hours.");
  return {.title = "The points are running out",
          .detail = detail,
          .path = path_of_app(event) + "/points",
          .weight = Weight::warning};
}

Text of_budget(const Event& event) {
  const std::string percent = field(event, "percent");
  const bool is_over = percent == "100";
  const std::string period = field(event, "period") == "30d" ? "30 days" : "the day";
  std::string detail =
      field(event, "spent") + " of " + points(field(event, "limit")) + " of " + period + ".";
  if (is_over)
    detail += field(event, "at_limit") == "stop_all" ? " All its deployments are stopped."
                                                     : " What is paid by the hour is stopped.";
  return {.title = is_over ? "The budget is used up" : percent + " % of the budget are used",
          .detail = detail,
          .path = field(event, "deployment_id").empty()
                      ? path_of_app(event) + "/points"
                      : path_of_deployment(event, "deployment_id"),
          .weight = is_over ? Weight::bad : Weight::warning};
}

Text of_points(const Event& event) {
  const std::string path = path_of_app(event) + "/points";
  if (event.type == "charge.settled")
    return {.title = points(field(event, "points")) + " were charged",
            .detail = "For what ran by the hour on " + field(event, "day") + " (UTC).",
            .path = path,
            .weight = Weight::info};
  if (event.type == "points.spent")
    return {.title = "A user has spent " + points(field(event, "amount")),
            .detail = field(event, "description"),
            .path = path,
            .weight = Weight::info};
  if (event.type == "points.refunded")
    return {.title = points(field(event, "amount")) + " of a spend were given back",
            .detail = field(event, "initiated_by") == "admin"
                          ? "An admin of the platform gave them back."
                          : "",
            .path = path,
            .weight = Weight::info};
  return {.title = points(field(event, "amount")) + " were paid to you",
          .detail = field(event, "description"),
          .path = path,
          .weight = Weight::info};
}

Text of_campaign(const Event& event) {
  const std::string name = "The campaign " + field(event, "name");
  return {
      .title = name + (event.type == "campaign.exhausted" ? " has spent its budget" : " has ended"),
      .detail = points(field(event, "refunded")) + " came back to the app.",
      .path = "/console/campaigns",
      .weight = Weight::info};
}

Text of_request(const Event& event) {
  return {.title = "What the app asked for was " + or_else(field(event, "status"), "decided"),
          .detail = field(event, "reason"),
          .path = path_of_app(event),
          .weight = Weight::info};
}

Text unshortened(const Event& event) {
  const std::string_view type = event.type;
  if (type == "certificate.failed" && !field(event, "domain").empty()) return of_domain(event);
  if (type == "deployment.run_failed") return of_run(event);
  if (type.starts_with("deployment.") || type == "certificate.failed") return of_status(event);
  if (type.starts_with("billing.")) return of_billing(event);
  if (type == "balance.low") return of_balance(event);
  if (type == "budget.reached") return of_budget(event);
  if (type.starts_with("campaign.")) return of_campaign(event);
  if (type == "scope_request.decided") return of_request(event);
  if (type == test_type)
    return {.title = "This is a test",
            .detail = "Messages of this alert arrive here.",
            .path = "/console/alerts",
            .weight = Weight::info};
  return of_points(event);
}

std::string in_one_line(const std::string& text, size_t most) {
  std::string line = text;
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return shortened(without_controls(line), most);
}

}  // namespace

std::string shortened(const std::string& utf8, size_t most) {
  if (characters(utf8) <= most) return utf8;
  size_t end = 0, count = 0;
  const auto continues = [&](size_t at) {
    return (static_cast<unsigned char>(utf8[at]) & 0xc0) == 0x80;
  };
  for (; end < utf8.size(); ++end)
    if (!continues(end) && ++count == most) break;
  return utf8.substr(0, end) + "…";
}

Text text_of(const Event& event) {
  Text text = unshortened(event);
  text.title = in_one_line(text.title, max_title);
  text.detail = in_one_line(text.detail, max_detail);
  return text;
}

}  // namespace berth::alerts
