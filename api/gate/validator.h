#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/error.h"

namespace berth::api {

// How many errors a check reports. It stops after it has found this many.
inline constexpr size_t max_reported_errors = 20;

// Checks values against a schema of api/resources/*.yaml.
class Validator {
 public:
  // Throws std::logic_error if there is no schema with this name.
  explicit Validator(std::string_view schema_name);
  ~Validator();
  Validator(Validator&&) noexcept;

  // Returns what is wrong with `value`, by field; an empty result means that nothing is. A reason
  // says what the field must be. Fields inside others, items of arrays and names in maps are
  // written with dots ("surfaces.0.impressions"), and long names are cut. The size of an array or
  // object is checked first, and one that is too large isn't examined further. Thread-safe.
  Details check(const nlohmann::json& value) const;

  // Returns a sentence for each field of `value`, and of the objects in it, that the schema doesn't
  // have, up to max_reported_errors; it names the field that is written most alike. Objects that
  // take any field have no unknown ones. `value` must have passed check(). Thread-safe.
  std::vector<std::string> unknown_fields(const nlohmann::json& value) const;

  // Brings values that clients write in several ways into the form that handlers read. Call it
  // before check():
  // - An optional field that is null, or "" although the schema takes no empty text, is removed; if
  //   the schema takes null, it becomes null. So null, "" and a missing field mean the same.
  // - A UUID gets lower-case letters (RFC 9562, section 4).
  // - A text that somebody else may read (schema.h) is composed (composed() in visible_text.h).
  // - A one-time code (the format one-time-code) that is a number becomes its digits, with the
  //   zeros in front that a number can't have.
  // Thread-safe.
  void normalize(nlohmann::json& value) const;

 private:
  struct Rule;
  class Run;
  class Unknown;
  static void normalize(nlohmann::json& value, const Rule& rule);
  std::unique_ptr<const Rule> rule_;
};

}  // namespace berth::api
