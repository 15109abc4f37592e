// Handler of the fleet's state: berthd's work for all deployments, and the state of its own files.
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/custom_domains/certificate_orders.h"
#include "controller/domain/deployments/custom_domains/refused_certificates.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/webhooks/backlog.h"

namespace berth::api {
namespace {

json or_null_text(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

json encode_counts(db::Tx& tx) {
  const auto counts = deployments::count_by_status(tx);
  json encoded = json::object();
  using enum deployments::Status;
  for (const auto status : {pending, deploying, running, stopped, errored}) {
    const auto count = counts.find(status);
    encoded[std::string(to_string(status))] = count == counts.end() ? 0 : count->second;
  }
  return encoded;
}

json encode_failed(db::Tx& tx) {
  json failed = json::array();
  for (const deployments::Deployment& row : deployments::newest_failed(tx))
    failed.push_back({{"id", row.id},
                      {"name", row.name},
                      {"app_id", row.app_id},
                      {"reason", or_null(row.reason)},
                      {"message", or_null(row.message)},
                      {"updated_at", to_iso8601(row.updated_at)}});
  return failed;
}

json encode_summary(const Isolation& isolation) {
  const auto& report = isolation.known->report;
  return {{"mode", isolation.mode},
          {"state", isolation.state},
          {"open", report ? isolation::open_paths(*report) : 0},
          {"blocked", report ? isolation::blocked_paths(*report) : 0},
          {"checked_at", report ? json(to_iso8601(report->at)) : json(nullptr)},
          {"problem", or_null_text(isolation.known->problem)}};
}

json encode_path(const isolation::Path& path) {
  return {{"from", path.from},     {"to", path.to},         {"target", path.target},
          {"wanted", path.wanted}, {"result", path.result}, {"detail", path.detail}};
}

json encode(const Isolation& isolation) {
  json body = encode_summary(isolation);
  body["busy"] = isolation.is_busy;
  body["paths"] = json::array();
  if (isolation.known->report)
    for (const isolation::Path& path : isolation.known->report->paths)
      body["paths"].push_back(encode_path(path));
  return body;
}

Reply isolation_report(const Call&, const Services& services) {
  return {.body = encode(services.cluster.isolation ? services.cluster.isolation() : Isolation())};
}

Reply probe_isolation(const Call& call, const Services& services) {
  if (!services.cluster.probe_isolation)
    throw Error(Code::invalid_state, "the cluster is simulated: there is nothing to probe");
  const json body = encode(services.cluster.probe_isolation());
  services.db.write([&](db::Tx& tx) { audit::record(tx, call.admin, "isolation.ask", "cluster"); });
  return {.body = body};
}

Reply fleet(const Call&, const Services& services) {
  const Fleet state = services.cluster.fleet ? services.cluster.fleet() : Fleet();
  const Isolation isolation =
      services.cluster.isolation ? services.cluster.isolation() : Isolation();
  json body = {
      {"cluster",
       {{"state", services.cluster.state()},
        {"error", or_null_text(state.cluster_error)},
        {"leads", state.leads},
        {"leader", or_null_text(state.leader)}}},
      {"reconciles",
       {{"waiting", state.waiting},
        {"stalled", state.stalled},
        {"longest_seconds", state.longest_seconds},
        {"errors", state.errors}}},
      {"orphans", services.cluster.orphans().size()},
      {"isolation", encode_summary(isolation)},
      {"backup", {{"age_seconds", state.backup_age ? json(seconds(*state.backup_age)) : json()}}},
      {"storage",
       {{"database_bytes", state.database_bytes},
        {"history_bytes", state.history_bytes},
        {"disk_bytes", state.disk_bytes},
        {"disk_free_bytes", state.disk_free_bytes}}}};
  services.db.read([&](db::Tx& tx) {
    body["deployments"] = encode_counts(tx);
    body["failed"] = encode_failed(tx);
    const auto window = certificate_orders::on_platform_window;
    body["certificates"] = {
        {"ordered", certificate_orders::count_on_platform(tx)},
        {"most", certificate_orders::on_platform},
        {"window_hours", std::chrono::duration_cast<std::chrono::hours>(window).count()},
        {"refused", custom_domains::refused_certificates(tx)}};
    body["mail"] = {{"waiting", outbox::waiting(tx)}};
    const webhooks::Backlog backlog = webhooks::backlog(tx);
    body["webhooks"] = {{"waiting", backlog.waiting},
                        {"overdue_seconds", seconds(backlog.overdue)}};
  });
  return {.body = std::move(body)};
}

constexpr Route rows[] = {
    {.request = "GET /api/internal/fleet",
     .name = "fleet",
     .tag = "Internal",
     .summary = "Show the state of berthd's work: the cluster, what waits, what has failed",
     .text = "Returns the state of the cluster, the work that waits or has failed, what is left of "
             "the budget of certificates, mail and deliveries that wait, the age of the newest "
             "backup, and the room on the disk. The numbers of reconciles are those of the process "
             "that answers. Prometheus gets the same and more from berthd's metrics.",
     .guards = every_admin,
     .answer = {200, "Fleet"},
     .served_by = {.page = "/console/admin"},
     .run = FreeHandler{fleet}},
    {.request = "GET /api/internal/isolation",
     .name = "isolation",
     .tag = "Internal",
     .summary = "Show what the isolation probe has found",
     .text = "Returns what the newest isolation probe found: each path that a container like the "
             "operators' tried, and whether the result is as it should be. A probe runs when a "
             "berthd begins to "
             "lead, daily, and when it is asked for.",
     .guards = every_admin,
     .answer = {200, "IsolationReport"},
     .served_by = {"berth admin isolation"},
     .run = FreeHandler{isolation_report}},
    {.request = "POST /api/internal/isolation/probe",
     .name = "probeIsolation",
     .tag = "Internal",
     .summary = "Run the isolation probe now",
     .text = "Asks for a run of the isolation probe, and returns at once what is known so far, "
             "with `busy`. The run takes a minute or so, for which two namespaces with four small "
             "pods are on the cluster; if one is under way, it isn't started again. It is refused "
             "on the simulated cluster and while the configuration key `isolation` is `off`.",
     .guards = admins,
     .stores = Stores::administration,
     .answer = {200, "IsolationReport"},
     .errors = {Code::invalid_state, Code::unavailable},
     .served_by = {"berth admin isolation"},
     .run = FreeHandler{probe_isolation}},
};

}  // namespace

std::span<const Route> fleet_routes() { return rows; }

}  // namespace berth::api
