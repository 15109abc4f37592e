#pragma once

#include <httplib.h>

#include "reconcilers/simulated/apiserver/registry.h"

// Parses what a request says.
namespace berth::simulated {

// Parses a JSON object, which should be of that kind. Throws Refusal 400.
Json parse_object(const std::string& kind, const std::string& body);
// Parses YAML, of which JSON is a subset, as apply accepts it. Throws like parse_object().
Json parse_yaml_object(const std::string& kind, const std::string& body);
// Reads the options from a DeleteOptions body and the query. Throws Refusal 400 and 422.
DeleteOptions delete_options(const httplib::Request& request, const std::string& body);
// The field manager (from the query, or else the User-Agent), the subresource, and dryRun.
Request write_options(const httplib::Request& request, const std::string& subresource);

}  // namespace berth::simulated
