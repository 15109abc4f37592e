#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/store.h"

// The label and field selectors of lists and watches.
namespace berth::embedded {

// Parsed `labelSelector` and `fieldSelector`.
class Selector {
 public:
  // Throws Refusal 400 if a text isn't a selector, or names a field that can't be selected by
  // (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ and
  // field-selectors/).
  Selector(const Type& type, const std::string& labels, const std::string& fields);
  bool matches(const Stored& object) const;
  // The value that the field, a JSON pointer, has to have; nothing if the selector doesn't say so.
  std::optional<std::string> required(std::string_view pointer) const;
  bool empty() const { return labels_.empty() && fields_.empty(); }

 private:
  enum class Operator { in, not_in, exists, does_not_exist };
  struct Requirement {
    std::string key;
    Operator op;
    std::vector<std::string> values;
  };
  struct Field {
    std::string pointer;
    Operator op;
    std::string value;
  };
  void parse_labels(const std::string& text);
  void parse_fields(const Type& type, const std::string& text);
  static bool holds(const Requirement& requirement, const Json& labels);

  const Type& type_;
  std::vector<Requirement> labels_;
  std::vector<Field> fields_;
};

// Whether a LabelSelector (matchLabels and matchExpressions) matches these labels.
bool label_selector_matches(const Json& selector, const Json& labels);

}  // namespace berth::embedded
