#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berthd/config.h"

namespace berth {

// A key of the configuration.
struct Key {
  enum class Kind { plain, secret };
  enum class Effect { acts, none_yet };

  std::string_view name;
  std::string_view fallback;  // the default, as text
  std::string_view meaning;
  // Parses the text and sets the member of Config. Throws std::invalid_argument that says what is
  // allowed.
  void (*take)(Config&, const std::string&);
  Kind kind = Kind::plain;
  Effect effect = Effect::acts;
};

// Returns the table of all keys. Installations rely on names and defaults, so changing one is like
// changing an API.
const std::vector<Key>& config_keys();

// Refuses the text of a key: throws std::invalid_argument with `allowed`, which ends the sentence
// "… isn't valid; it must be".
[[noreturn]] void want(const std::string& allowed);
// The value of a key that holds YAML.
nlohmann::json structured_value(const std::string& text);
// The items of a list that commas separate, without blanks around them.
std::vector<std::string> list_items(const std::string& text);
// Whether the text can be the name of an object on the cluster: a DNS subdomain name
// (kubernetes.io, "Object Names and IDs").
bool is_object_name(std::string_view text);
// Whether the path is a file, and not a directory, that this process can read.
bool is_readable_file(const std::string& path);
// Takes the value of the key `tiers` (config_tiers.cpp). Throws like want().
void take_tiers(Config& config, const std::string& text);
// The same for the keys tenant-node-selector and tenant-tolerations (config_tenants.cpp).
void take_tenant_node_selector(Config& config, const std::string& text);
void take_tenant_tolerations(Config& config, const std::string& text);
// The same for the keys database and database-password-file (config_database.cpp). The second one
// is to be taken after the first.
void take_database(Config& config, const std::string& text);
void take_database_password_file(Config& config, const std::string& text);

}  // namespace berth
