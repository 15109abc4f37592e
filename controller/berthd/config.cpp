#include "controller/berthd/config.h"

#include <arpa/inet.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "controller/base/url.h"
#include "controller/base/yaml.h"
#include "controller/berthd/config_keys.h"
#include "controller/berthd/secret_strength.h"
#include "controller/domain/deployments/custom_domains/domain_names.h"

namespace berth {
namespace {

using nlohmann::json;

std::string read_file(const std::string& key, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (!in || !(content << in.rdbuf())) throw ConfigError(key + ": " + path + " can't be read");
  std::string text = content.str();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

struct Value {
  std::string text;
  std::string source;
};
using Values = std::map<std::string, Value, std::less<>>;

const Key* find_key(std::string_view name) {
  const auto row = std::ranges::find(config_keys(), name, &Key::name);
  return row == config_keys().end() ? nullptr : &*row;
}

// `name` is a key, or a key followed by `-file`.
void set(Values& values, const std::string& name, const std::string& text,
         const std::string& source) {
  if (find_key(name) != nullptr) {
    values[name] = {text, source};
    return;
  }
  const std::string base = name.ends_with("-file") ? name.substr(0, name.size() - 5) : "";
  if (base.empty() || find_key(base) == nullptr)
    throw ConfigError(source + ": there is no key " + name);
  values[base] = {read_file(name, text), source + " (" + text + ")"};
}

void read_yaml(Values& values, const std::string& path) {
  json content;
  try {
    content = parse_yaml(read_file("config", path), path);
  } catch (const ConfigError&) {
    throw;
  } catch (const std::runtime_error& failure) {
    throw ConfigError(std::string("config: ") + failure.what());
  }
  if (content.is_null()) return;
  if (!content.is_object()) throw ConfigError("config: " + path + " must contain keys and values");
  for (const auto& [name, value] : content.items()) {
    std::string text = value.is_string() ? value.get<std::string>()
                       : value.is_null() ? ""
                                         : value.dump();
    const bool plain_list = value.is_array() && std::ranges::all_of(value, [](const json& item) {
                              return item.is_string();
                            });
    if (plain_list && !value.empty()) {
      text.clear();
      for (const json& item : value) text += (text.empty() ? "" : ",") + item.get<std::string>();
    }
    set(values, name, text, path);
  }
}

std::string variable_of(std::string_view key) {
  std::string name = "BERTHD_";
  for (const char c : key)
    name += c == '-' ? '_' : char(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

void read_environment(Values& values, const Environment& environment) {
  for (const Key& key : config_keys())
    for (const std::string& name : {std::string(key.name), std::string(key.name) + "-file"})
      if (const auto text = environment(variable_of(name)))
        set(values, name, *text, variable_of(name));
}

std::string shown(const Key& key, const std::string& text) {
  if (key.kind == Key::Kind::secret && !text.empty()) return "********";
  return text;
}

// Every process on the machine can read command lines.
void refuse_secrets_in_flags(const Config& config,
                             const std::map<std::string, std::string>& flags) {
  for (const auto& [name, text] : flags) {
    const Key* key = find_key(name);
    if (name == "smtp-url" && config.mail_server && config.mail_server->password.empty()) continue;
    if (key != nullptr && key->kind == Key::Kind::secret && !text.empty())
      throw ConfigError(name +
                        ": production doesn't accept this on the command line, which other " +
                        "processes can read; use --" + name + "-file or " + variable_of(name));
  }
}

void check_whole(const Config& config) {
  const auto refuse = [](const std::string& text) { throw ConfigError(text); };
  if (config.mail_server && !config.mail_from) refuse("mail-from: required if smtp-url is set");
  if (!config.production) {
    if (!is_loopback(config.listen.host) && !config.allow_remote)
      refuse("listen: " + config.listen.host +
             " isn't a loopback address; development accepts that only with allow-remote=on");
    return;
  }
  if (!config.internal_secret)
    refuse("internal-secret: required in production; set internal-secret-file");
  if (config.kubernetes == Cluster::simulated)
    refuse("kubernetes: production can't use the simulated cluster");
  if (!config.rate_limits) refuse("rate-limits: off is allowed in development only");
  if (config.webhook_allow_private)
    refuse("webhook-allow-private: on is allowed in development only");
  if (!config.base_url) refuse("base-url: required in production");
  // Passwords, session cookies and tokens are sent to this address.
  if (config.base_url->starts_with("http://") &&
      !is_loopback(parse_url(*config.base_url).value().host))
    refuse("base-url: '" + *config.base_url +
           "' is plain http; production requires https, or http to this machine (localhost, "
           "127.0.0.1, [::1]). Behind a proxy that ends TLS, base-url is the URL that the proxy "
           "serves");
  // The two domains must not share cookies, so that tenants can't set cookies for the platform.
  const std::string ours = domain_names::registered(parse_url(*config.base_url).value().host);
  if (ours == domain_names::registered(config.apps_domain))
    refuse("apps-domain: " + config.apps_domain + " and base-url share the domain " + ours +
           "; production needs two different domains");
  if (!is_strong_secret(*config.internal_secret))
    refuse(
        "internal-secret: production requires at least 128 random bits, which are 32 hexadecimal "
        "or 22 base64 characters; `openssl rand -hex 32` makes such a secret");
}

}  // namespace

std::string Address::text() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
         std::to_string(port);
}

std::vector<std::string> flag_names() {
  std::vector<std::string> names;
  for (const Key& key : config_keys()) {
    names.emplace_back(key.name);
    names.push_back(std::string(key.name) + "-file");
  }
  return names;
}

LoadedConfig load_config(const std::map<std::string, std::string>& flags,
                         const Environment& environment) {
  Values values;
  for (const Key& key : config_keys())
    values[std::string(key.name)] = {std::string(key.fallback), "default"};
  const auto file =
      flags.contains("config") ? std::optional(flags.at("config")) : environment("BERTHD_CONFIG");
  if (file) read_yaml(values, *file);
  read_environment(values, environment);
  for (const auto& [name, text] : flags)
    if (name != "config") set(values, name, text, "--" + name);

  LoadedConfig result;
  for (const Key& key : config_keys()) {
    const Value& value = values.find(key.name)->second;
    try {
      key.take(result.config, value.text);
    } catch (const std::invalid_argument& allowed) {
      throw ConfigError(std::string(key.name) + ": '" + shown(key, value.text) + "' (from " +
                        value.source + ") isn't valid; it must be " + allowed.what());
    } catch (const json::exception& failure) {
      throw ConfigError(std::string(key.name) + ": a field has the wrong type: " + failure.what());
    }
    if (key.effect == Key::Effect::none_yet && value.text != key.fallback)
      result.config.without_effect.emplace_back(key.name);
    result.settings.push_back(
        {std::string(key.name), shown(key, value.text), value.source, std::string(key.meaning)});
  }
  check_whole(result.config);
  if (result.config.production) refuse_secrets_in_flags(result.config, flags);
  return result;
}

}  // namespace berth
