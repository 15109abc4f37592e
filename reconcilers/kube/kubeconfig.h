#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::kube {

// An exec credential plugin (client.authentication.k8s.io/v1 and v1beta1): a program that prints an
// ExecCredential with a token or a client certificate, which is valid until its
// expirationTimestamp.
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // in addition to berthd's own environment
  std::string cluster_info;  // JSON of spec.cluster; empty: the plugin doesn't want it
  std::string install_hint;  // how to get the program; shown if it is missing
};

// How to reach one cluster: a kubeconfig file reduced to one context. Files that may be replaced
// (token_file, certificates) are named, not read, because the client reads them again and again.
struct Kubeconfig {
  // https://host:port, possibly with a path, without a slash at the end; http only for loopback.
  std::string server;
  std::optional<std::string> ca_data;  // PEM
  std::optional<std::filesystem::path> ca_file;
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;
  std::string proxy_url;  // http://, https:// or socks5://; empty: no proxy
  // The names and values of the header fields by which requests act as somebody else.
  std::vector<std::pair<std::string, std::string>> impersonation;
  std::optional<std::string> token;
  std::optional<std::filesystem::path> token_file;
  std::optional<std::string> client_certificate_data;  // PEM
  std::optional<std::filesystem::path> client_certificate_file;
  std::optional<std::string> client_key_data;  // PEM
  std::optional<std::filesystem::path> client_key_file;
  std::string username, password;
  std::optional<ExecPlugin> exec;
};

// Reads a kubeconfig file (kubernetes.io, "Organizing Cluster Access Using kubeconfig Files"). If
// `context` is empty, the file's current-context is used. Paths in the file are relative to its
// folder. As in kubectl, `yes` and `on` are true, and `no` and `off` are false. Throws
// std::runtime_error with a message that names the file, the field and the problem, and never
// contains a value that could be secret. Settings that berth doesn't support (auth-provider) are
// refused, not ignored.
Kubeconfig load_kubeconfig(const std::filesystem::path& file, const std::string& context = "");
// The same for several files, which count as one: the first that has a context, cluster or user of
// a name, or a current-context, counts. Files that don't exist are left out, unless none exists.
Kubeconfig load_kubeconfig(const std::vector<std::filesystem::path>& files,
                           const std::string& context = "");
// The files that $KUBECONFIG lists, separated by ':', otherwise ~/.kube/config. Throws
// std::runtime_error if neither KUBECONFIG nor HOME is set.
std::vector<std::filesystem::path> default_kubeconfig_paths();
// The configuration for a process inside a pod: KUBERNETES_SERVICE_HOST and _PORT, and the service
// account's token and CA in `service_account_dir` (kubernetes.io, "Accessing the Kubernetes API
// from a Pod"). Throws std::runtime_error if this process isn't in a pod.
Kubeconfig in_cluster_config(const std::filesystem::path& service_account_dir =
                                 "/var/run/secrets/kubernetes.io/serviceaccount");

// The namespace of the pod that this process runs in. Throws std::runtime_error if it isn't in a
// pod.
std::string in_cluster_namespace(const std::filesystem::path& service_account_dir =
                                     "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace berth::kube
