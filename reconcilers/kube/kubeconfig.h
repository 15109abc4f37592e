#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::kube {

// An exec credential plugin (client.authentication.k8s.io/v1 and v1beta1): a program that prints an
// ExecCredential with a token or a client certificate, valid until its expirationTimestamp.
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // in addition to our own environment
  std::string cluster_info;  // JSON of spec.cluster; empty: the plugin doesn't want it
  std::string install_hint;  // how to get the program, for the message where it is missing
};

// How one cluster is reached: what is left of a kubeconfig file once a context is chosen.
// Files that rotate (token_file, certificates) are named, not read: the client reads them again.
struct Kubeconfig {
  // https://host:port, perhaps with a path, without a slash behind it; http for loopback only.
  std::string server;
  std::optional<std::string> ca_data;  // PEM
  std::optional<std::filesystem::path> ca_file;
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;
  std::optional<std::string> token;
  std::optional<std::filesystem::path> token_file;
  std::optional<std::string> client_certificate_data;  // PEM
  std::optional<std::filesystem::path> client_certificate_file;
  std::optional<std::string> client_key_data;  // PEM
  std::optional<std::filesystem::path> client_key_file;
  std::string username, password;
  std::optional<ExecPlugin> exec;
};

// Reads a kubeconfig file (kubernetes.io, "Organizing Cluster Access Using kubeconfig Files").
// `context` empty: its current-context. Paths in it are relative to its folder. Throws
// std::runtime_error that names the file, the field and what is wrong with it, never a value that
// could be a secret. What berth can't do (proxy-url, auth-provider, impersonation) is refused, not
// ignored.
Kubeconfig load_kubeconfig(const std::filesystem::path& file, const std::string& context = "");
// $KUBECONFIG (of several entries with ':' between them the first that exists), else
// ~/.kube/config. Throws std::runtime_error where neither KUBECONFIG nor HOME is set.
std::filesystem::path default_kubeconfig_path();
// From inside a pod: KUBERNETES_SERVICE_HOST and _PORT, and the service account's token and CA
// under `service_account_dir` (kubernetes.io, "Accessing the Kubernetes API from a Pod"). Throws
// std::runtime_error where we are in none.
Kubeconfig in_cluster_config(const std::filesystem::path& service_account_dir =
                                 "/var/run/secrets/kubernetes.io/serviceaccount");

// The namespace of the pod that we are in. Throws std::runtime_error where we are in none.
std::string in_cluster_namespace(const std::filesystem::path& service_account_dir =
                                     "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace berth::kube
