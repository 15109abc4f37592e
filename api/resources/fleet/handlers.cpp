#include "api/resources/fleet/handlers.h"

#include "api/gate/encode.h"
#include "controller/domain/deployments/custom_domains/certificate_orders.h"
#include "controller/domain/deployments/custom_domains/refused_certificates.h"
#include "controller/domain/deployments/deployments.h"
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

}  // namespace

Reply fleet(const Call&, const Services& services) {
  const Fleet state = services.fleet ? services.fleet() : Fleet();
  json body = {{"cluster",
                {{"state", services.kubernetes_state()},
                 {"error", or_null_text(state.cluster_error)},
                 {"leads", state.leads},
                 {"leader", or_null_text(state.leader)}}},
               {"reconciles",
                {{"waiting", state.waiting},
                 {"stalled", state.stalled},
                 {"longest_seconds", state.longest_seconds},
                 {"errors", state.errors}}},
               {"orphans", services.orphans().size()},
               {"backup", {{"age_seconds", seconds(state.backup_age)}}},
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

}  // namespace berth::api
