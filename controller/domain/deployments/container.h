#pragma once

#include <nlohmann/json_fwd.hpp>

#include "controller/base/container_spec.h"

// The fields of a container as JSON, each by its row.
namespace berth::deployments {

// The field's value; null for an empty text.
nlohmann::json value_of(const ContainerSpec& container, const ContainerField& field);
// Sets the field. Null means its default. The schema has checked the value's type.
void set_value(ContainerSpec& container, const ContainerField& field, const nlohmann::json& value);
// Whether the value is within the limits of the row.
bool is_within_limits(const ContainerSpec& container, const ContainerField& field);

}  // namespace berth::deployments
