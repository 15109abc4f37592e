#pragma once

#include "controller/transport/http.h"
#include "reconcilers/embedded/apiserver/registry.h"

// Parses what a request says.
namespace berth::embedded {

// Parses a JSON object, which should be of that kind. Throws Refusal 400.
Json parse_object(const std::string& kind, const std::string& body);
// Parses YAML, of which JSON is a subset, as apply accepts it. Throws like parse_object().
Json parse_yaml_object(const std::string& kind, const std::string& body);
// From a DeleteOptions body and the query. Throws Refusal 400 and 422.
DeleteOptions delete_options(const api::Request& request, const std::string& body);
// The field manager (of the query, else of the User-Agent), the subresource, dryRun.
Request write_options(const api::Request& request, const std::string& subresource);

}  // namespace berth::embedded
