#include "reconcilers/embedded/apiserver/selectors.h"

#include <algorithm>

#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

std::string trimmed_copy(std::string_view text) { return std::string(trimmed(text)); }

// Splits at commas that aren't within parentheses.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    parts.push_back(trimmed_copy(std::string_view(text).substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

Refusal unparsable(const std::string& text) {
  return bad_request("unable to parse requirement: found '" + text + "', expected: identifier");
}

bool is_label_key(const std::string& key) {
  return !key.empty() && key.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789-_./") == std::string::npos;
}

// The fields that the API server's field label conversions allow, besides name and namespace.
bool selectable(const Type& type, const std::string& field) {
  if (field == "metadata.name") return true;
  if (field == "metadata.namespace") return type.namespaced();
  static const std::vector<std::string> of_pods{"spec.nodeName", "spec.restartPolicy",
                                                "status.phase", "status.podIP",
                                                "spec.serviceAccountName"};
  static const std::vector<std::string> of_events{"involvedObject.kind",
                                                  "involvedObject.namespace",
                                                  "involvedObject.name",
                                                  "involvedObject.uid",
                                                  "involvedObject.fieldPath",
                                                  "involvedObject.apiVersion",
                                                  "involvedObject.resourceVersion",
                                                  "reason",
                                                  "type",
                                                  "reportingComponent"};
  const auto within = [&](const std::vector<std::string>& fields) {
    return std::find(fields.begin(), fields.end(), field) != fields.end();
  };
  switch (type.id) {
    case Kind::pods:
      return within(of_pods);
    case Kind::events:
      return within(of_events);
    case Kind::namespaces:
      return field == "status.phase";
    case Kind::secrets:
      return field == "type";
    case Kind::replica_sets:
      return field == "status.replicas";
    default:
      return false;
  }
}

}  // namespace

Selector::Selector(const Type& type, const std::string& labels, const std::string& fields)
    : type_(type) {
  if (!trimmed(labels).empty()) parse_labels(labels);
  if (!trimmed(fields).empty()) parse_fields(type, fields);
}

void Selector::parse_labels(const std::string& text) {
  for (const std::string& part : split(text)) {
    Requirement requirement{part, Operator::exists, {}};
    const size_t open = part.find('(');
    if (open != std::string::npos && part.back() == ')') {
      const std::string head = trimmed_copy(std::string_view(part).substr(0, open));
      const size_t space = head.rfind(' ');
      const std::string word = space == std::string::npos ? "" : head.substr(space + 1);
      if (word != "in" && word != "notin") throw unparsable(part);
      requirement.key = trimmed_copy(std::string_view(head).substr(0, space));
      requirement.op = word == "in" ? Operator::in : Operator::not_in;
      requirement.values = split(part.substr(open + 1, part.size() - open - 2));
    } else if (const size_t unequal = part.find("!="); unequal != std::string::npos) {
      requirement = {trimmed_copy(part.substr(0, unequal)),
                     Operator::not_in,
                     {trimmed_copy(part.substr(unequal + 2))}};
    } else if (const size_t equal = part.find('='); equal != std::string::npos) {
      const size_t value = part.find_first_not_of('=', equal);
      requirement = {trimmed_copy(part.substr(0, equal)),
                     Operator::in,
                     {value == std::string::npos ? "" : trimmed_copy(part.substr(value))}};
    } else if (part.starts_with('!')) {
      requirement = {trimmed_copy(part.substr(1)), Operator::does_not_exist, {}};
    }
    if (!is_label_key(requirement.key)) throw unparsable(part);
    labels_.push_back(std::move(requirement));
  }
}

void Selector::parse_fields(const Type& type, const std::string& text) {
  for (const std::string& part : split(text)) {
    const size_t sign = part.find_first_of("!=");
    const size_t value = part.find_first_not_of("!=", sign);
    if (sign == std::string::npos)
      throw bad_request("invalid selector: '" + part + "'; can't understand '" + part + "'");
    const std::string field = part.substr(0, sign);
    if (!selectable(type, field))
      throw bad_request(type.id == Kind::events || type.id == Kind::pods ||
                                type.origin == Origin::custom
                            ? "field label not supported: " + field
                            : "\"" + field +
                                  "\" is not a known field selector: only \"metadata.name\", "
                                  "\"metadata.namespace\"");
    std::string pointer = "/" + field;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    fields_.push_back({pointer, part[sign] == '!' ? Operator::not_in : Operator::in,
                       value == std::string::npos ? "" : part.substr(value)});
  }
}

bool Selector::holds(const Requirement& requirement, const Json& labels) {
  const auto found = labels.is_object() ? labels.find(requirement.key) : labels.end();
  const bool exists = labels.is_object() && found != labels.end();
  const auto listed = [&] {
    return exists && std::find(requirement.values.begin(), requirement.values.end(),
                               found->get_ref<const std::string&>()) != requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::in:
      return listed();
    case Operator::not_in:
      return !listed();
    case Operator::exists:
      return exists;
    case Operator::does_not_exist:
      return !exists;
  }
  return false;
}

std::optional<std::string> Selector::required(std::string_view pointer) const {
  for (const Field& field : fields_)
    if (field.pointer == pointer && field.op == Operator::in) return field.value;
  return std::nullopt;
}

bool Selector::matches(const Stored& object) const {
  const Json whole = fields_.empty() ? Json() : tree_of(type_, object);
  for (const Field& field : fields_) {
    const Json& value = at_path(whole, field.pointer.c_str());
    const std::string text = value.is_string() ? value.get<std::string>()
                             : value.is_null() ? ""
                                               : value.dump();
    if ((text == field.value) != (field.op == Operator::in)) return false;
  }
  if (labels_.empty()) return true;
  const Json labels = object.labels.empty() ? Json() : Json::parse(object.labels);
  return std::all_of(labels_.begin(), labels_.end(),
                     [&](const Requirement& requirement) { return holds(requirement, labels); });
}

bool label_selector_matches(const Json& selector, const Json& labels) {
  for (const auto& [key, value] : at_path(selector, "/matchLabels").items())
    if (!labels.is_object() || !labels.contains(key) || labels[key] != value) return false;
  for (const Json& expression : at_path(selector, "/matchExpressions")) {
    const std::string op = text_at(expression, "operator");
    const bool exists = labels.is_object() && labels.contains(text_at(expression, "key"));
    const Json& values = at_path(expression, "/values");
    const bool listed = exists && std::find(values.begin(), values.end(),
                                            labels[text_at(expression, "key")]) != values.end();
    if (op == "In" && !listed) return false;
    if (op == "NotIn" && listed) return false;
    if (op == "Exists" && !exists) return false;
    if (op == "DoesNotExist" && exists) return false;
  }
  return true;
}

}  // namespace berth::embedded
