#include "reconcilers/embedded/apiserver/name_rules.h"

#include <algorithm>

namespace berth::embedded {
namespace {

bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return lower(c) || (c >= 'A' && c <= 'Z'); }

bool is_label(const std::string& text) {
  const auto allowed = [](char c) { return lower(c) || digit(c) || c == '-'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed) && text.front() != '-' &&
         text.back() != '-';
}

bool is_subdomain(const std::string& text) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    if (!is_label(text.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return !text.empty() && text.back() != '.';
}

bool is_qualified(const std::string& text) {
  const auto outer = [](char c) { return letter(c) || digit(c); };
  const auto inner = [&](char c) { return outer(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && outer(text.front()) && outer(text.back()) &&
         std::all_of(text.begin(), text.end(), inner);
}

std::string too_long(size_t most) {
  return "must be no more than " + std::to_string(most) + " characters";
}

constexpr size_t longest_label = 63;
constexpr size_t longest_subdomain = 253;

}  // namespace

std::string wrong_subdomain(const std::string& name) {
  if (name.size() > longest_subdomain) return too_long(longest_subdomain);
  if (is_subdomain(name)) return "";
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
         "or '.', "
         "and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
         "for "
         "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
}

std::string wrong_label(const std::string& name) {
  if (name.size() > longest_label) return too_long(longest_label);
  if (is_label(name)) return "";
  return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
         "and must "
         "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
         "for "
         "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

std::string wrong_service_name(const std::string& name) {
  if (name.size() > longest_label) return too_long(longest_label);
  if (is_label(name) && lower(name.front())) return "";
  return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
         "an "
         "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
         "'abc-123', "
         "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
}

std::string wrong_label_key(const std::string& key) {
  const size_t slash = key.find('/');
  const std::string name = slash == std::string::npos ? key : key.substr(slash + 1);
  if (slash != std::string::npos) {
    const std::string wrong = wrong_subdomain(key.substr(0, slash));
    if (!wrong.empty()) return "prefix part " + wrong;
  }
  if (name.size() > longest_label) return "name part " + too_long(longest_label);
  if (is_qualified(name)) return "";
  return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
         "end with "
         "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
         "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
}

std::string wrong_label_value(const std::string& value) {
  if (value.size() > longest_label) return too_long(longest_label);
  if (value.empty() || is_qualified(value)) return "";
  return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
         "'.', and "
         "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
         "'12345', "
         "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

std::string wrong_wildcard_host(const std::string& host) {
  if (host.starts_with("*.") && is_subdomain(host.substr(2))) return "";
  return "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
         "which must "
         "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
         "character "
         "(e.g. '*.example.com', regex used for validation is "
         "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
}

}  // namespace berth::embedded
