#pragma once

#include <httplib.h>

#include "reconcilers/simulated/apiserver/registry.h"

// Reading what a request says.
namespace berth::simulated {

// A JSON object, which is meant to be of that kind. Throws Refusal 400.
Json parse_object(const std::string& kind, const std::string& body);
// The same in YAML, of which JSON is a part: what apply takes.
Json parse_yaml_object(const std::string& kind, const std::string& body);
// From a DeleteOptions body and the query. Throws Refusal 400 and 422.
DeleteOptions delete_options(const httplib::Request& request, const std::string& body);
// The field manager (of the query, else of the User-Agent), the subresource, dryRun.
Request write_options(const httplib::Request& request, const std::string& subresource);

}  // namespace berth::simulated
