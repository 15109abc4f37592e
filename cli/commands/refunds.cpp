// The commands for points that somebody wants back: users ask, owners of apps and admins answer;
// and what admins take back.
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

struct RefundFlags {
  std::string id;
  std::string amount;
  std::string reason;
  std::string status;
  bool is_deployment = false;
  bool of_users = false;
  bool reject = false;
  bool yes = false;
  size_t limit = 50;
  int days = 30;
};
using SharedRefundFlags = std::shared_ptr<RefundFlags>;

const std::vector<std::string> statuses = {"open", "approved", "rejected", "withdrawn", "expired"};

const std::vector<Column> request_columns = {{"REQUEST", "id"},
                                             {"STATUS", "status"},
                                             {"POINTS", "amount"},
                                             {"USER", "username"},
                                             {"APP", "app_name"},
                                             {"SPEND", "spend_id"},
                                             {"NOTE", "note"},
                                             {"ASKED", "inserted_at"},
                                             {"REASON", "reason"},
                                             {"BACK", "refunded"},
                                             {"DEPLOYMENT", "deployment_id"}};

void request(Run& run, const RefundFlags& flags) {
  json body = {{flags.is_deployment ? "deployment_id" : "spend_id",
                flags.is_deployment ? deployment_id(run.api(), flags.id) : flags.id},
               {"reason", flags.reason}};
  if (!flags.amount.empty()) body["amount"] = std::stoll(flags.amount);
  const json answer = run.api().post("/api/points/refund-requests", body, As::account);
  run.out().done(answer, "You have asked for " + cell(answer, "request.amount") +
                             " points; the answer comes by mail. The request is " +
                             cell(answer, "request.id") + ".");
}

void list(Run& run, const RefundFlags& flags, const std::string& path, As as) {
  const std::string query = flags.status.empty() ? "" : "?status=" + flags.status;
  const json body = run.api().all(path + query, "refund_requests", as, flags.limit);
  run.out().list(body, body.at("refund_requests"), request_columns);
}

void withdraw(Run& run, const RefundFlags& flags) {
  const json answer =
      run.api().call({.method = "DELETE",
                      .path = "/api/points/refund-requests/" + percent_encode(flags.id),
                      .as = As::account});
  run.out().done(answer, "The request was withdrawn.");
}

void tell(Run& run, const json& answer, const std::string& done) {
  if (!says_proposal(run, answer)) run.out().done(answer, done);
}

void answer(Run& run, const RefundFlags& flags, const std::string& path, As as) {
  const std::string what = flags.reject ? "Reject" : "Approve";
  confirm(what + " the refund request " + flags.id + "?", flags.yes);
  json body = {{"approve", !flags.reject}};
  if (!flags.amount.empty()) body["amount"] = std::stoll(flags.amount);
  if (!flags.reason.empty()) body["note"] = flags.reason;
  const json answered = run.api().post(path + percent_encode(flags.id) + "/answer", body, as);
  tell(run, answered,
       flags.reject ? "The request was rejected."
                    : cell(answered, "request.refunded") + " points were given back.");
}

void claw_back(Run& run, const RefundFlags& flags) {
  confirm("Take back " + flags.amount + " points of the transaction " + flags.id + "?", flags.yes);
  const json answered = run.api().post("/api/internal/points/claw-backs",
                                       {{"transaction_id", flags.id},
                                        {"amount", std::stoll(flags.amount)},
                                        {"reason", flags.reason}},
                                       As::admin);
  tell(run, answered,
       flags.amount + " points were taken back; " + cell(answered, "left") +
           " of the transaction are left.");
}

void proposals(Run& run, const RefundFlags& flags) {
  const std::string query = flags.status.empty() ? "" : "?status=" + flags.status;
  const json body =
      run.api().all("/api/internal/points/proposals" + query, "proposals", As::admin, flags.limit);
  run.out().list(body, body.at("proposals"),
                 {{"PROPOSAL", "id"},
                  {"STATUS", "status"},
                  {"KIND", "kind"},
                  {"POINTS", "amount"},
                  {"OF", "subject_id"},
                  {"BY", "proposed_by"},
                  {"DECIDED", "decided_by"},
                  {"WHEN", "inserted_at"},
                  {"REASON", "reason"}});
}

void reject_proposal(Run& run, const RefundFlags& flags) {
  const json answered = run.api().post(
      "/api/internal/points/proposals/" + percent_encode(flags.id) + "/reject", nullptr, As::admin);
  run.out().done(answered, "The proposal was rejected.");
}

void money(Run& run, const RefundFlags& flags) {
  const json body =
      run.api().get("/api/internal/money?days=" + std::to_string(flags.days), As::admin);
  run.out().print(body, [&] {
    std::vector<std::vector<std::string>> rows;
    for (const json& one : body.at("anomalies"))
      rows.push_back({cell(one, "rule"), cell(one, "app_name"), cell(one, "date"),
                      cell(one, "value"), cell(one, "threshold")});
    return facts_of({{"Points that exist", cell(body, "supply")},
                     {"Treasury", cell(body, "treasury")},
                     {"Owed", cell(body, "owed")},
                     {"Held", cell(body, "held")},
                     {"Issued", cell(body, "issued")},
                     {"Owed before", cell(body, "owed_before")}}) +
           (rows.empty() ? ""
                         : "\n" + table_of({"UNUSUAL", "APP", "DAY", "VALUE", "THRESHOLD"}, rows));
  });
}

void add_limit(CLI::App& command, const SharedRefundFlags& flags) {
  command.add_option("--limit", flags->limit, "Maximum number of entries")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), most_items));
}

void add_answer_options(CLI::App& command, const SharedRefundFlags& flags) {
  command.add_option("REQUEST", flags->id, "Id of the request")->required();
  command.add_flag("--reject", flags->reject, "Reject it; by default it is approved");
  command.add_option("--points", flags->amount, "Points to give back; by default all")
      ->check(check_points);
  command.add_option("--note", flags->reason, "Note, for whoever asked");
  command.add_flag("--yes,-y", flags->yes, "Don't ask");
}

}  // namespace

bool says_proposal(Run& run, const json& answer) {
  if (!answer.contains("proposal")) return false;
  run.out().done(answer, "Another admin has to confirm this in the console; the proposal is " +
                             cell(answer, "proposal.id") + ".");
  return true;
}

void add_refund_commands(CLI::App& root, Run& run) {
  CLI::App* refunds =
      add_group(root, "refunds", "Requests for points back: yours, and your users'");
  const SharedRefundFlags asked = std::make_shared<RefundFlags>();
  CLI::App* asking = add_command(
      *refunds, "request", "Ask for points back that you have spent in an app",
      "berth refunds request 01936f5e-7c1a-7000-8000-000000000007 --reason \"The hat never came\"",
      [&run, asked] { request(run, *asked); });
  asking->add_option("SPEND", asked->id, "Id of the spend, or the name or id of a deployment")
      ->required();
  asking->add_option("--reason", asked->reason, "Reason, for whoever answers")->required();
  asking->add_option("--points", asked->amount, "Number of points; by default all")
      ->check(check_points);
  asking->add_flag("--deployment", asked->is_deployment,
                   "It is about what a deployment of yours was charged; an admin answers");

  const SharedRefundFlags listed = std::make_shared<RefundFlags>();
  CLI::App* lists = add_command(*refunds, "list", "List what you, or your app's users, ask for",
                                "berth refunds list --users --status open", [&run, listed] {
                                  if (listed->of_users)
                                    list(run, *listed, "/api/operator/refund-requests", As::app);
                                  else
                                    list(run, *listed, "/api/points/refund-requests", As::account);
                                });
  CLI::Option* of_users =
      lists->add_flag("--users", listed->of_users, "What the users of the current app ask for");
  lists->add_option("--status", listed->status, "With --users: only requests with this status")
      ->needs(of_users)
      ->check(CLI::IsMember(statuses));
  add_limit(*lists, listed);

  const SharedRefundFlags back = std::make_shared<RefundFlags>();
  add_command(*refunds, "withdraw", "Withdraw an open request of yours",
              "berth refunds withdraw 01936f5e-7c1a-7000-8000-00000000000d",
              [&run, back] { withdraw(run, *back); })
      ->add_option("REQUEST", back->id, "Id of the request")
      ->required();

  const SharedRefundFlags answered = std::make_shared<RefundFlags>();
  CLI::App* answers = add_command(
      *refunds, "answer", "Answer a request of one of your app's users",
      "berth refunds answer 01936f5e-7c1a-7000-8000-00000000000d --note \"Sorry for that\"",
      [&run, answered] { answer(run, *answered, "/api/operator/refund-requests/", As::app); });
  add_answer_options(*answers, answered);
}

void add_admin_refund_commands(CLI::App& admin, Run& run) {
  const SharedRefundFlags listed = std::make_shared<RefundFlags>();
  CLI::App* lists = add_command(
      admin, "refund-requests", "List what all users and operators ask to get back",
      "berth admin refund-requests --status open",
      [&run, listed] { list(run, *listed, "/api/internal/refund-requests", As::admin); });
  lists->add_option("--status", listed->status, "Only requests with this status")
      ->check(CLI::IsMember(statuses));
  add_limit(*lists, listed);

  const SharedRefundFlags answered = std::make_shared<RefundFlags>();
  CLI::App* answers = add_command(
      admin, "answer-refund", "Answer any refund request",
      "berth admin answer-refund 01936f5e-7c1a-7000-8000-00000000000d --note \"The node was down\"",
      [&run, answered] { answer(run, *answered, "/api/internal/refund-requests/", As::admin); });
  add_answer_options(*answers, answered);

  const SharedRefundFlags taken = std::make_shared<RefundFlags>();
  CLI::App* taking = add_command(
      admin, "claw-back", "Take points back that a user or an app was given by mistake",
      "berth admin claw-back 01936f5e-7c1a-7000-8000-000000000008 5 --reason \"Given back twice\"",
      [&run, taken] { claw_back(run, *taken); });
  taking->add_option("TRANSACTION", taken->id, "Id of the transaction that gave them")->required();
  taking->add_option("POINTS", taken->amount, "Number of points")->required()->check(check_points);
  taking->add_option("--reason", taken->reason, "Reason, for the audit log and both sides")
      ->required();
  taking->add_flag("--yes,-y", taken->yes, "Don't ask");

  const SharedRefundFlags proposed = std::make_shared<RefundFlags>();
  CLI::App* proposal = add_command(
      admin, "proposals", "List refunds and claw-backs, and which of them wait for another admin",
      "berth admin proposals --status open", [&run, proposed] { proposals(run, *proposed); });
  proposal->add_option("--status", proposed->status, "Only those with this status")
      ->check(CLI::IsMember({"alone", "open", "confirmed", "rejected", "expired"}));
  add_limit(*proposal, proposed);

  const SharedRefundFlags ended = std::make_shared<RefundFlags>();
  add_command(admin, "reject-proposal", "End a proposal without effect",
              "berth admin reject-proposal 01936f5e-7c1a-7000-8000-00000000000e",
              [&run, ended] { reject_proposal(run, *ended); })
      ->add_option("PROPOSAL", ended->id, "Id of the proposal")
      ->required();

  const SharedRefundFlags summed = std::make_shared<RefundFlags>();
  constexpr int most_days = 31;
  add_command(admin, "money", "Show where the platform's points are, and what is unusual",
              "berth admin money", [&run, summed] { money(run, *summed); })
      ->add_option("--days", summed->days, "Number of days, today included")
      ->capture_default_str()
      ->check(CLI::Range(1, most_days));
}

}  // namespace berth::cli
