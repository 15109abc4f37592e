// Whether a name can be had, and what the deployment's address would be, for forms.
#include "api/resources/shared.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {
namespace {

std::string address_of(const std::string& name, const Services& services) {
  return services.cluster.url_of(name + "." + services.rules.deployments.apps_domain);
}

Reply deployment_name(db::Tx& tx, const Call& call, const Services& services) {
  const std::string name = call.id("name");
  json body = {{"name", name},
               {"available", false},
               {"reason", nullptr},
               {"proposal", nullptr},
               {"url", nullptr}};
  if (const auto why = deployments::refusal_of_name(name, services.rules.deployments)) {
    body["reason"] = *why;
    return {.body = std::move(body)};
  }
  const std::string free = deployments::free_name(tx, name);
  body["available"] = free == name;
  if (free != name) body["reason"] = "is taken";
  if (free != name) body["proposal"] = free;
  body["url"] = address_of(name, services);
  return {.body = std::move(body)};
}

constexpr Access deploy =
    keeping_to_deployments(oauth_token({Scope::deploy_read}, Access::ForApp::none));
constexpr Rate name_reads = per_minute(60);  // a form asks while somebody types
constexpr Placeholder name_in_path = {"DeploymentNameText", "The name, of 1 to 32 characters.",
                                      "hello", Kind::text};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/names/{name}",
     .name = "deploymentName",
     .tag = "Deployments",
     .summary = "Say whether a deployment can have this name, and its address",
     .text = "Says whether the name is free at the moment and, if somebody has it, proposes one "
             "like it. It reserves nothing.",
     .guards = {deploy, name_reads},
     .in_path = {&name_in_path},
     .answer = {200, "DeploymentName"},
     .served_by = {.page = "/console/new"},
     .run = ReadHandler{deployment_name}},
};

}  // namespace

std::span<const Route> deployment_names_routes() { return rows; }

}  // namespace berth::api
