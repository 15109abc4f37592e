#pragma once

#include <nlohmann/json_fwd.hpp>

#include "controller/base/container_spec.h"

// The fields of a container as JSON, each by its row.
namespace berth::deployments {

// The field's value; null for an empty text.
nlohmann::json value_of(const ContainerSpec& container, const ContainerField& field);
// Sets the field. Null means its default. The schema has checked the value's type.
void set_value(ContainerSpec& container, const ContainerField& field, const nlohmann::json& value);
// Whether containers that run have to be replaced for this difference in the field. How many
// containers there are is no reason to replace one.
bool replaces_containers(const ContainerSpec& from, const ContainerSpec& to,
                         const ContainerField& field);
// Returns `now` with what the fields of `earlier` say that replace containers. The others, such as
// the number of containers, stay as they are.
ContainerSpec brought_back(ContainerSpec now, const ContainerSpec& earlier);
// Whether the value is within the limits of the row.
bool is_within_limits(const ContainerSpec& container, const ContainerField& field);

}  // namespace berth::deployments
