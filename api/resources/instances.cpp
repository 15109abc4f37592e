// The containers of a deployment, of all its processes: after a rollout that failed, those that
// serve and those that don't start.
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {
namespace {

json encode(const instances::Instance& one) {
  return {{"id", one.name},
          {"name", one.name},
          {"process", one.process},
          {"version", text_or_null(one.version)},
          {"phase", one.phase},
          {"image", one.image},
          {"state", one.state},
          {"reason", text_or_null(one.reason)},
          {"node", text_or_null(one.node)},
          {"newest", one.is_newest},
          {"ready", one.is_ready},
          {"has_log", one.has_log},
          {"restarts", one.restarts},
          {"started_at", or_null(one.started_at)},
          {"inserted_at", or_null(one.made_at)}};
}

Reply list_instances(db::Tx& tx, const Call& call, const Services& services) {
  const auto row = deployments::get_owned(tx, call.caller->app_id, call.id());
  json list = json::array();
  if (services.cluster.instances_of)
    for (const instances::Instance& one : services.cluster.instances_of(row.id))
      list.push_back(encode(one));
  return {.body = {{"instances", std::move(list)}}};
}

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/instances",
     .name = "listInstances",
     .tag = "Deployments",
     .summary = "List a deployment's containers, with the image that each runs",
     .text = "Lists the containers that are on the cluster now, of all processes, newest first. "
             "During a rollout, and "
             "after one that failed, there are several: `newest` are those of what the deployment "
             "is meant to run now, `ready` those that serve. …/container-logs shows the output of "
             "one with `instance`.",
     .guards = {reads_deployments, deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "InstanceList"},
     .errors = {Code::deployment_not_found, Code::forbidden},
     .served_by = {"berth deploy instances", "/console"},
     .run = ReadHandler{list_instances}},
};

}  // namespace

std::span<const Route> instances_routes() { return rows; }

}  // namespace berth::api
