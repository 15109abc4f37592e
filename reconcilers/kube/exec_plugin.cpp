#include "reconcilers/kube/exec_plugin.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "reconcilers/kube/program.h"

namespace berth::kube {
namespace {

using nlohmann::json;

// The plugins of clouds ask their token service, which seldom takes more than a few seconds.
constexpr std::chrono::seconds exec_timeout{30};
// A credential has a few kilobytes; certificate chains reach some tens of kilobytes.
constexpr size_t max_exec_output_bytes = 1 << 20;

json exec_info(const ExecPlugin& plugin) {
  json spec = {{"interactive", false}};
  if (!plugin.cluster_info.empty()) spec["cluster"] = json::parse(plugin.cluster_info);
  return {{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", spec}};
}

std::string run(const ExecPlugin& plugin, const std::stop_token& stop) {
  Program program{plugin.command, plugin.args, plugin.env, exec_timeout, max_exec_output_bytes};
  program.env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(plugin).dump());
  try {
    return run_program(program, stop);
  } catch (const std::system_error& failure) {
    const std::string hint = plugin.install_hint.empty() ? "" : " (" + plugin.install_hint + ")";
    throw std::runtime_error("can't be started: " + failure.code().message() + hint);
  }
}

std::string text(const json& status, const char* key) {
  const auto found = status.find(key);
  if (found == status.end() || found->is_null()) return "";
  if (!found->is_string())
    throw std::runtime_error(std::string("printed a status.") + key + " that isn't a string");
  return found->get<std::string>();
}

ExecCredential parse(const std::string& output, const std::string& api_version) {
  const json answer = json::parse(output, nullptr, false);
  if (!answer.is_object() || answer.value("kind", json()) != "ExecCredential")
    throw std::runtime_error("didn't print an ExecCredential");
  if (answer.value("apiVersion", json()) != api_version)
    throw std::runtime_error("printed an ExecCredential of another version than " + api_version);
  const json status = answer.value("status", json());
  if (!status.is_object()) throw std::runtime_error("printed an ExecCredential without a status");

  ExecCredential credential{text(status, "token"), text(status, "clientCertificateData"),
                            text(status, "clientKeyData"), std::nullopt};
  if (credential.certificate.empty() != credential.key.empty())
    throw std::runtime_error("printed only one of clientCertificateData and clientKeyData");
  if (credential.token.empty() && credential.certificate.empty())
    throw std::runtime_error("printed neither a token nor a client certificate");
  if (const std::string expires = text(status, "expirationTimestamp"); !expires.empty()) {
    credential.expires = parse_iso8601(expires);
    if (!credential.expires)
      throw std::runtime_error("printed an expirationTimestamp that isn't a time");
  }
  return credential;
}

}  // namespace

ExecCredential run_exec_plugin(const ExecPlugin& plugin, const std::stop_token& stop) {
  try {
    return parse(run(plugin, stop), plugin.api_version);
  } catch (const std::runtime_error& failure) {
    throw std::runtime_error("exec plugin " + plugin.command + " " + failure.what());
  }
}

}  // namespace berth::kube
