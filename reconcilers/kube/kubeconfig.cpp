#include "reconcilers/kube/kubeconfig.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/ascii.h"
#include "controller/base/crypto.h"
#include "controller/base/url.h"
#include "controller/base/yaml.h"
#include "reconcilers/kube/files.h"
#include "reconcilers/kube/server_url.h"

namespace berth::kube {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A mapping in the file together with its path in it, which messages name instead of values.
class Section {
 public:
  Section(const json& node, std::string where, fs::path folder)
      : node_(node), where_(std::move(where)), folder_(std::move(folder)) {
    if (node_.is_null()) node_ = json::object();
    if (!node_.is_object()) throw std::runtime_error(where_ + " isn't a mapping");
  }

  [[noreturn]] void fail(const std::string& key, const std::string& why) const {
    throw std::runtime_error(where_ + (where_.ends_with(' ') ? "" : ".") + key + " " + why);
  }
  const json& value(const char* key) const {
    static const json none;
    const auto found = node_.find(key);
    return found == node_.end() ? none : *found;
  }
  Section sub(const char* key) const { return {value(key), where_ + "." + key, folder_}; }
  bool has(const char* key) const { return !value(key).is_null(); }

  // The text at `key`; nothing if it is missing or empty.
  std::optional<std::string> text(const char* key) const {
    const json& found = value(key);
    if (found.is_null()) return std::nullopt;
    if (!found.is_string()) fail(key, "isn't a string; write it in quotes");
    if (found.get_ref<const std::string&>().empty()) return std::nullopt;
    return found.get<std::string>();
  }
  std::string needed(const char* key) const {
    auto found = text(key);
    if (!found) fail(key, "is missing");
    return *found;
  }
  bool flag(const char* key) const {
    const json& found = value(key);
    if (found.is_null()) return false;
    if (found.is_boolean()) return found.get<bool>();
    // These were booleans in YAML 1.1, which kubectl reads.
    const std::string text = found.is_string() ? lower_case(found.get<std::string>()) : "";
    if (text == "yes" || text == "on" || text == "y") return true;
    if (text == "no" || text == "off" || text == "n") return false;
    fail(key, "is neither true nor false");
  }
  // The text at `key`, decoded from Base64: PEM blocks, at least one of which is a `block`.
  std::optional<std::string> pem(const char* key, const std::string& block) const {
    auto encoded = text(key);
    if (!encoded) return std::nullopt;
    std::erase_if(*encoded, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    auto decoded = parse_base64(*encoded);
    if (!decoded) fail(key, "isn't base64");
    if (decoded->find(block + "-----") == std::string::npos) fail(key, "contains no PEM " + block);
    return decoded;
  }
  // The path at `key`. The file is read once, so that a wrong name is reported at startup.
  std::optional<fs::path> file(const char* key) const {
    const auto name = text(key);
    if (!name) return std::nullopt;
    const fs::path path = folder_ / *name;
    try {
      read_credential_file(path);
    } catch (const std::runtime_error& failure) {
      fail(key, std::string("names a file that can't be used: ") + failure.what());
    }
    return path;
  }
  const fs::path& folder() const { return folder_; }

 private:
  json node_;
  std::string where_;
  fs::path folder_;
};

// What all the files say together.
class Files {
 public:
  void add(const fs::path& file) {
    const fs::path absolute = fs::absolute(file);
    const std::string name = absolute.string();
    const json document = parse_yaml(read_credential_file(absolute), name);
    if (!document.is_object()) throw std::runtime_error(name + ": isn't a kubeconfig");
    Section root(document, name + ": ", absolute.parent_path());
    if (root.text("kind").value_or("Config") != "Config")
      throw std::runtime_error(name + ": kind isn't Config");
    files_.push_back({name, std::move(root)});
  }

  std::string current_context() const {
    for (const File& file : files_)
      if (const auto context = file.root.text("current-context")) return *context;
    throw std::runtime_error(names() + ": current-context is missing");
  }

  // The entry called `name` of one of the lists `contexts`, `clusters` and `users`.
  Section entry(const char* list, const char* inner, const std::string& name) const {
    for (const File& file : files_) {
      const json& all = file.root.value(list);
      if (!all.is_null() && !all.is_array()) file.root.fail(list, "isn't a list");
      for (const json& item : all)
        if (item.is_object() && item.value("name", json()) == name)
          return {item.value(inner, json()), file.name + ": " + list + "[" + name + "]." + inner,
                  file.root.folder()};
    }
    throw std::runtime_error(names() + ": " + list + " has no entry named \"" + name + "\"");
  }

 private:
  struct File {
    std::string name;
    Section root;
  };
  std::string names() const {
    std::string all;
    for (const File& file : files_) all += (all.empty() ? "" : ", ") + file.name;
    return all;
  }
  std::vector<File> files_;
};

// Text that becomes a header field: a line break in it would add further ones.
void check_printable(const Section& section, const char* key, const std::string& text) {
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 127; }))
    section.fail(key, "is empty or has characters that no header field can have");
}

void read_proxy(const Section& cluster, Kubeconfig& config) {
  config.proxy_url = cluster.text("proxy-url").value_or("");
  if (config.proxy_url.empty()) return;
  constexpr std::array schemes = {"http://", "https://", "socks5://"};
  if (std::ranges::none_of(
          schemes, [&](const char* scheme) { return config.proxy_url.starts_with(scheme); }) ||
      config.proxy_url.find_first_of(" \t\r\n") != std::string::npos)
    cluster.fail("proxy-url", "isn't the URL of an http, https or socks5 proxy");
  if (config.server.starts_with("http://"))
    cluster.fail("proxy-url", "is set, but the proxy would read what is sent to an http:// server");
}

// The fields of a user who acts as another one (kubernetes.io, "User impersonation").
void read_impersonation(const Section& user, Kubeconfig& config) {
  const auto as = user.text("as");
  for (const char* key : {"as-uid", "as-groups", "as-user-extra"})
    if (user.has(key) && !as) user.fail("as", std::string("is missing, but there is ") + key);
  if (!as) return;
  const auto add = [&](const char* key, const std::string& field, const std::string& value) {
    check_printable(user, key, value);
    config.impersonation.emplace_back(field, value);
  };
  add("as", "Impersonate-User", *as);
  if (const auto uid = user.text("as-uid")) add("as-uid", "Impersonate-Uid", *uid);
  const auto each = [&](const json& list, const char* key, const std::string& field) {
    if (!list.is_array()) user.fail(key, "isn't a list of strings");
    for (const json& value : list) {
      if (!value.is_string()) user.fail(key, "isn't a list of strings");
      add(key, field, value.get<std::string>());
    }
  };
  if (user.has("as-groups")) each(user.value("as-groups"), "as-groups", "Impersonate-Group");
  if (!user.has("as-user-extra")) return;
  if (!user.value("as-user-extra").is_object()) user.fail("as-user-extra", "isn't a mapping");
  for (const auto& [name, values] : user.value("as-user-extra").items())
    each(values, "as-user-extra", "Impersonate-Extra-" + percent_encode(name));
}

void read_cluster(const Section& cluster, Kubeconfig& config) {
  config.tls_server_name = cluster.text("tls-server-name").value_or("");
  config.server = cluster.needed("server");
  try {
    endpoint_of(config.server, config.tls_server_name);
  } catch (const std::invalid_argument& failure) {
    cluster.fail("server", failure.what());
  }
  while (config.server.ends_with('/')) config.server.pop_back();
  read_proxy(cluster, config);
  config.insecure_skip_tls_verify = cluster.flag("insecure-skip-tls-verify");
  config.ca_data = cluster.pem("certificate-authority-data", "CERTIFICATE");
  if (!config.ca_data) config.ca_file = cluster.file("certificate-authority");
  if (config.insecure_skip_tls_verify && (config.ca_data || config.ca_file))
    cluster.fail("insecure-skip-tls-verify", "can't be combined with a certificate authority");
}

// The `Cluster` object of client.authentication.k8s.io/v1, which a plugin with provideClusterInfo
// receives.
std::string cluster_info(const Section& cluster, const Kubeconfig& config) {
  json info = {{"server", config.server}};
  if (!config.tls_server_name.empty()) info["tls-server-name"] = config.tls_server_name;
  if (config.insecure_skip_tls_verify) info["insecure-skip-tls-verify"] = true;
  if (!config.proxy_url.empty()) info["proxy-url"] = config.proxy_url;
  if (config.ca_data) info["certificate-authority-data"] = base64(*config.ca_data);
  if (config.ca_file)
    info["certificate-authority-data"] = base64(read_credential_file(*config.ca_file));
  const json& extensions = cluster.value("extensions");
  if (extensions.is_array())
    for (const json& item : extensions)
      if (item.is_object() && item.value("name", json()) == "client.authentication.k8s.io/exec")
        info["config"] = item.value("extension", json());
  return info.dump();
}

std::vector<std::pair<std::string, std::string>> exec_env(const Section& exec) {
  std::vector<std::pair<std::string, std::string>> env;
  const json& list = exec.value("env");
  if (list.is_null()) return env;
  if (!list.is_array()) exec.fail("env", "isn't a list");
  for (const json& item : list) {
    const bool good = item.is_object() && item.value("name", json()).is_string() &&
                      item.value("value", json()).is_string();
    if (!good) exec.fail("env", "has an entry that isn't a name and a value, both strings");
    env.emplace_back(item["name"].get<std::string>(), item["value"].get<std::string>());
    const std::string& name = env.back().first;
    if (name.empty() || name.find('=') != std::string::npos)
      exec.fail("env", "has an entry whose name is empty or contains '='");
  }
  return env;
}

ExecPlugin read_exec(const Section& exec, const Section& cluster, const Kubeconfig& config) {
  ExecPlugin plugin;
  plugin.api_version = exec.needed("apiVersion");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1")
    exec.fail("apiVersion", "is neither client.authentication.k8s.io/v1 nor …/v1beta1");
  if (exec.text("interactiveMode") == "Always")
    exec.fail("interactiveMode", "is Always, but berth has no terminal");
  plugin.command = exec.needed("command");
  // A command with a slash is a path relative to the file; one without is looked for in PATH.
  if (plugin.command.find('/') != std::string::npos)
    plugin.command = (exec.folder() / plugin.command).string();
  const json& args = exec.value("args");
  if (!args.is_null() && !args.is_array()) exec.fail("args", "isn't a list");
  for (const json& arg : args) {
    if (!arg.is_string()) exec.fail("args", "has an entry that isn't a string; write it in quotes");
    plugin.args.push_back(arg.get<std::string>());
  }
  plugin.env = exec_env(exec);
  plugin.install_hint = exec.text("installHint").value_or("");
  if (exec.flag("provideClusterInfo")) plugin.cluster_info = cluster_info(cluster, config);
  return plugin;
}

void read_user(const Section& user, const Section& cluster, Kubeconfig& config) {
  if (user.has("auth-provider"))
    user.fail("auth-provider", "is set, but Kubernetes 1.26 removed it; use exec instead");
  read_impersonation(user, config);
  config.token = user.text("token");
  config.token_file = user.file("tokenFile");
  config.client_certificate_data = user.pem("client-certificate-data", "CERTIFICATE");
  if (!config.client_certificate_data)
    config.client_certificate_file = user.file("client-certificate");
  config.client_key_data = user.pem("client-key-data", "PRIVATE KEY");
  if (!config.client_key_data) config.client_key_file = user.file("client-key");
  const bool certificate = config.client_certificate_data || config.client_certificate_file;
  const bool key = config.client_key_data || config.client_key_file;
  if (certificate && !key) user.fail("client-key", "is missing, but there is a client certificate");
  if (key && !certificate) user.fail("client-certificate", "is missing, but there is a client key");
  config.username = user.text("username").value_or("");
  config.password = user.text("password").value_or("");
  if (config.username.empty() && !config.password.empty())
    user.fail("username", "is missing, but there is a password");
  if (config.username.find(':') != std::string::npos)
    user.fail("username", "contains a colon, which basic authentication doesn't support");
  if (user.has("exec")) config.exec = read_exec(user.sub("exec"), cluster, config);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Kubeconfig load_kubeconfig(const fs::path& file, const std::string& context) {
  return load_kubeconfig(std::vector<fs::path>{file}, context);
}

Kubeconfig load_kubeconfig(const std::vector<fs::path>& paths, const std::string& context) {
  Files files;
  const auto is_there = [](const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
  };
  const bool any_is_there = std::ranges::any_of(paths, is_there);
  for (const fs::path& path : paths)
    if (!any_is_there || is_there(path)) files.add(path);  // throws for one that is missing
  const Section chosen =
      files.entry("contexts", "context", context.empty() ? files.current_context() : context);
  const Section cluster = files.entry("clusters", "cluster", chosen.needed("cluster"));
  Kubeconfig config;
  read_cluster(cluster, config);
  if (const auto user = chosen.text("user"))
    read_user(files.entry("users", "user", *user), cluster, config);
  return config;
}

std::vector<fs::path> default_kubeconfig_paths() {
  const std::string list = variable("KUBECONFIG");
  std::vector<fs::path> paths;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    if (end > at) paths.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  if (!paths.empty()) return paths;
  const std::string home = variable("HOME");
  if (home.empty()) throw std::runtime_error("no kubeconfig: neither KUBECONFIG nor HOME is set");
  return {fs::path(home) / ".kube" / "config"};
}

Kubeconfig in_cluster_config(const fs::path& service_account_dir) {
  const std::string host = variable("KUBERNETES_SERVICE_HOST");
  const std::string port = variable("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty())
    throw std::runtime_error(
        "not in a cluster: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT isn't set");
  Kubeconfig config;
  const bool ipv6 = host.find(':') != std::string::npos;
  config.server = "https://" + (ipv6 ? "[" + host + "]" : host) + ":" + port;
  try {
    endpoint_of(config.server, "");
  } catch (const std::invalid_argument&) {
    throw std::runtime_error(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT aren't a host and a port");
  }
  config.token_file = service_account_dir / "token";
  config.ca_file = service_account_dir / "ca.crt";
  try {
    read_credential_file(*config.token_file);
    read_credential_file(*config.ca_file);
  } catch (const std::runtime_error& failure) {
    throw std::runtime_error(std::string("the service account can't be used: ") + failure.what());
  }
  return config;
}

std::string in_cluster_namespace(const fs::path& service_account_dir) {
  std::string name = read_credential_file(service_account_dir / "namespace");
  name.erase(name.find_last_not_of(" \t\r\n") + 1);
  if (name.empty())
    throw std::runtime_error((service_account_dir / "namespace").string() + ": is empty");
  return name;
}

}  // namespace berth::kube
