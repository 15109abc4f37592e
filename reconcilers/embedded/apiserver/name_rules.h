#pragma once

#include <string>

namespace berth::embedded {

// The rules for names (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/).
// Each function returns what is wrong in the API server's words, or an empty string.
std::string wrong_subdomain(const std::string& name);     // RFC 1123 subdomain
std::string wrong_label(const std::string& name);         // RFC 1123 label
std::string wrong_service_name(const std::string& name);  // RFC 1035 label
std::string wrong_label_key(const std::string& key);
std::string wrong_label_value(const std::string& value);
std::string wrong_wildcard_host(const std::string& host);  // `*.` followed by a subdomain

}  // namespace berth::embedded
