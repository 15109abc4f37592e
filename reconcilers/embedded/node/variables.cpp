#include "reconcilers/embedded/node/variables.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "reconcilers/embedded/node/simulated/images.h"

namespace berth::embedded {
namespace {

// Reads Secrets and ConfigMaps of one namespace.
class Sources {
 public:
  Sources(const Store& store, std::string name_space)
      : store_(store), name_space_(std::move(name_space)) {}

  // The values of an object, decoded. Sets `missing` if it doesn't exist and isn't optional.
  std::map<std::string, std::string> all(Kind kind, const Json& reference, std::string& missing) {
    std::map<std::string, std::string> values;
    const std::string name = text_at(reference, "name");
    const ObjectPtr source = store_.find({kind, name_space_, name});
    if (!source) {
      if (at_path(reference, "/optional") != true && missing.empty())
        missing = word(kind) + " \"" + name + "\" not found";
      return values;
    }
    for (const auto& [key, value] : at_path(*source, "/data").items())
      if (value.is_string()) values[key] = decoded(kind, value.get<std::string>());
    return values;
  }

  std::optional<std::string> one(Kind kind, const Json& reference, std::string& missing) {
    std::string no_source;
    const auto values = all(kind, reference, no_source);
    const std::string key = text_at(reference, "key");
    if (const auto found = values.find(key); found != values.end()) return found->second;
    if (at_path(reference, "/optional") == true || !missing.empty()) return std::nullopt;
    missing = !no_source.empty()
                  ? no_source
                  : "couldn't find key " + key + " in " + std::string(type_of(kind).kind) + " " +
                        name_space_ + "/" + text_at(reference, "name");
    return std::nullopt;
  }

 private:
  static std::string word(Kind kind) { return kind == Kind::secrets ? "secret" : "configmap"; }
  static std::string decoded(Kind kind, const std::string& value) {
    return kind == Kind::secrets ? parse_base64(value).value_or("") : value;
  }

  const Store& store_;
  const std::string name_space_;
};

// The subscript of a path such as `metadata.labels['app']`, if it begins with `prefix`.
std::optional<std::string> subscript(const std::string& path, const std::string& prefix) {
  const std::string before = prefix + "['";
  if (!path.starts_with(before) || !path.ends_with("']")) return std::nullopt;
  return path.substr(before.size(), path.size() - before.size() - 2);
}

std::string field_of(const Json& pod, const std::string& path) {
  if (path == "metadata.name") return name_of(pod);
  if (path == "metadata.namespace") return namespace_of(pod);
  if (path == "metadata.uid") return uid_of(pod);
  if (path == "spec.nodeName") return text_at(pod["spec"], "nodeName");
  if (path == "spec.serviceAccountName") return text_at(pod["spec"], "serviceAccountName");
  if (path == "status.hostIP") return text_at(pod["status"], "hostIP");
  if (path == "status.podIP") return text_at(pod["status"], "podIP");
  if (const auto label = subscript(path, "metadata.labels"))
    return text_at(at_path(pod, "/metadata/labels"), *label);
  if (const auto note = subscript(path, "metadata.annotations"))
    return text_at(at_path(pod, "/metadata/annotations"), *note);
  return "";
}

// `$(NAME)` is replaced if the variable is known, and `$$` is a dollar.
std::string expanded(const std::string& text, const std::map<std::string, std::string>& known) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      made += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      made += '$';
      ++i;
      continue;
    }
    const size_t end = text[i + 1] == '(' ? text.find(')', i) : std::string::npos;
    if (end == std::string::npos) {
      made += text[i];
      continue;
    }
    const auto found = known.find(text.substr(i + 2, end - i - 2));
    made += found == known.end() ? text.substr(i, end + 1 - i) : found->second;
    i = end;
  }
  return made;
}

std::vector<std::string> expanded_list(const Json& list,
                                       const std::map<std::string, std::string>& known) {
  std::vector<std::string> made;
  for (const Json& one : list)
    if (one.is_string()) made.push_back(expanded(one.get<std::string>(), known));
  return made;
}

// The registry and the path of an entry of a Docker configuration, such as `ghcr.io/acme`.
std::string place_of(std::string entry) {
  for (const char* scheme : {"https://", "http://"})
    if (entry.starts_with(scheme)) entry.erase(0, std::string_view(scheme).size());
  while (entry.ends_with('/')) entry.pop_back();
  for (const char* version : {"/v1", "/v2"})
    if (entry.ends_with(version)) entry.resize(entry.size() - 3);
  return entry == "index.docker.io" ? "docker.io" : entry;
}

bool covers(const std::string& place, const std::string& image) {
  return image.starts_with(place) && image.size() > place.size() &&
         std::string_view("/:@").find(image[place.size()]) != std::string_view::npos;
}

std::optional<RegistryLogin> login_of(const Json& entry) {
  RegistryLogin login{text_at(entry, "username"), text_at(entry, "password")};
  if (const std::string auth = parse_base64(text_at(entry, "auth")).value_or(""); !auth.empty()) {
    const size_t colon = auth.find(':');
    if (colon == std::string::npos) return std::nullopt;
    login = {auth.substr(0, colon), auth.substr(colon + 1)};
  }
  if (login.username.empty() && login.password.empty()) return std::nullopt;
  return login;
}

void add_logins(const Json& secret, const std::string& image, std::vector<RegistryLogin>& found) {
  const Json& data = at_path(secret, "/data");
  Json entries =
      Json::parse(parse_base64(text_at(data, ".dockerconfigjson")).value_or(""), nullptr, false);
  entries =
      entries.is_object() && entries.contains("auths")
          ? entries["auths"]
          : Json::parse(parse_base64(text_at(data, ".dockercfg")).value_or(""), nullptr, false);
  if (!entries.is_object()) return;
  for (const auto& [name, entry] : entries.items())
    if (entry.is_object() && covers(place_of(name), image))
      if (const auto login = login_of(entry)) found.push_back(*login);
}

}  // namespace

Variables variables_of(const Store& store, const Json& pod, const Json& spec) {
  Variables made;
  Sources sources(store, namespace_of(pod));
  for (const Json& from : at_path(spec, "/envFrom"))
    for (const auto& [field, kind] :
         {std::pair("/secretRef", Kind::secrets), std::pair("/configMapRef", Kind::config_maps)})
      if (const Json& reference = at_path(from, field); !reference.is_null())
        for (const auto& [key, value] : sources.all(kind, reference, made.missing))
          made.env[text_at(from, "prefix") + key] = value;
  for (const Json& variable : at_path(spec, "/env")) {
    const std::string name = text_at(variable, "name");
    const Json& from = at_path(variable, "/valueFrom");
    std::optional<std::string> value;
    if (const Json& secret = at_path(from, "/secretKeyRef"); !secret.is_null())
      value = sources.one(Kind::secrets, secret, made.missing);
    else if (const Json& map = at_path(from, "/configMapKeyRef"); !map.is_null())
      value = sources.one(Kind::config_maps, map, made.missing);
    else if (const Json& field = at_path(from, "/fieldRef"); !field.is_null())
      value = field_of(pod, text_at(field, "fieldPath"));
    else if (from.is_null())
      value = expanded(text_at(variable, "value"), made.env);
    if (value) made.env[name] = *value;
  }
  made.command = expanded_list(at_path(spec, "/command"), made.env);
  made.args = expanded_list(at_path(spec, "/args"), made.env);
  return made;
}

Logins logins_of(const Store& store, const Json& pod, const std::string& image) {
  Logins logins;
  const std::string whole = full_reference(image);
  for (const Json& reference : at_path(pod, "/spec/imagePullSecrets")) {
    const std::string name = text_at(reference, "name");
    if (const ObjectPtr secret = store.find({Kind::secrets, namespace_of(pod), name}))
      add_logins(*secret, whole, logins.found);
    else
      logins.missing.push_back(name);
  }
  return logins;
}

std::string failed_set_up(const std::string& volume, const std::string& why) {
  return "MountVolume.SetUp failed for volume \"" + volume + "\" : " + why;
}

std::string failed_mount(const Store& store, const Json& pod) {
  for (const Json& volume : at_path(pod, "/spec/volumes")) {
    const Json& secret = at_path(volume, "/secret");
    const std::string name = text_at(secret, "secretName");
    if (name.empty() || at_path(secret, "/optional") == true) continue;
    if (!store.find({Kind::secrets, namespace_of(pod), name}))
      return failed_set_up(text_at(volume, "name"), "secret \"" + name + "\" not found");
  }
  return "";
}

}  // namespace berth::embedded
