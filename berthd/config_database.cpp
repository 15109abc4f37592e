#include "berthd/config_keys.h"

namespace berth {

void take_database(Config& config, const std::string& text) {
  if (text.empty()) return;
  if (!text.starts_with("postgresql://") && !text.starts_with("postgres://"))
    want("empty, or an address that begins with postgresql://");
  db::postgres::parse_address(text);  // throws as want() does
  config.database = {.address = text};
}

void take_database_password_file(Config& config, const std::string& text) {
  if (text.empty()) return;
  if (!is_readable_file(text)) want("a file that berthd can read");
  if (config.database) config.database->password_file = text;
}

}  // namespace berth
