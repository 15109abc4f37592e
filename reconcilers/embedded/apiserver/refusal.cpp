#include "reconcilers/embedded/apiserver/refusal.h"

namespace berth::embedded {
namespace {

Json details_of(const Type& type, std::string_view kind, const std::string& name) {
  Json details{{"name", name}, {"kind", kind}};
  if (name.empty()) details.erase("name");
  if (!type.group.empty()) details["group"] = type.group;
  return details;
}

Json as_json(const std::vector<Cause>& causes) {
  Json list = Json::array();
  for (const Cause& cause : causes)
    list.push_back({{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  return list;
}

// Strings in quotes and everything else as JSON, as field.Error prints values.
std::string shown(const Json& value) { return value.dump(); }

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

}  // namespace

Json status_failure(int code, const std::string& reason, const std::string& message, Json details) {
  Json status{{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", Json::object()},
              {"status", "Failure"}, {"message", message}, {"code", code}};
  if (!reason.empty()) status["reason"] = reason;
  if (!details.is_null()) status["details"] = std::move(details);
  return status;
}

Json status_success(const Type& type, const std::string& name, const std::string& uid) {
  Json details = details_of(type, type.plural, name);
  if (!uid.empty()) details["uid"] = uid;
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"metadata", Json::object()},
          {"status", "Success"},
          {"details", std::move(details)}};
}

Refusal not_found(const Type& type, const std::string& name) {
  return Refusal(status_failure(404, "NotFound",
                                qualified_plural(type) + " " + quoted(name) + " not found",
                                details_of(type, type.plural, name)));
}

Refusal already_exists(const Type& type, const std::string& name) {
  return Refusal(status_failure(409, "AlreadyExists",
                                qualified_plural(type) + " " + quoted(name) + " already exists",
                                details_of(type, type.plural, name)));
}

Refusal conflict(const Type& type, const std::string& name, const std::string& why) {
  return Refusal(status_failure(409, "Conflict",
                                "Operation cannot be fulfilled on " + qualified_plural(type) + " " +
                                    quoted(name) + ": " + why,
                                details_of(type, type.plural, name)));
}

Refusal modified_meanwhile(const Type& type, const std::string& name) {
  return conflict(type, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Refusal forbidden(const Type& type, const std::string& name, const std::string& why,
                  const std::vector<Cause>& causes) {
  Json details = details_of(type, type.plural, name);
  if (!causes.empty()) details["causes"] = as_json(causes);
  return Refusal(status_failure(
      403, "Forbidden", qualified_plural(type) + " " + quoted(name) + " is forbidden: " + why,
      std::move(details)));
}

Refusal invalid(const Type& type, const std::string& name, const std::vector<Cause>& causes) {
  std::string reasons;
  for (const Cause& cause : causes)
    reasons += (reasons.empty() ? "" : ", ") + cause.field + ": " + cause.message;
  if (causes.size() > 1) reasons = "[" + reasons + "]";
  Json details = details_of(type, type.kind, name);
  details["causes"] = as_json(causes);
  return Refusal(status_failure(
      422, "Invalid", qualified_kind(type) + " " + quoted(name) + " is invalid: " + reasons,
      std::move(details)));
}

Refusal invalid_options(const std::string& kind, const Cause& cause) {
  return Refusal(status_failure(
      422, "Invalid", kind + ".meta.k8s.io \"\" is invalid: " + cause.field + ": " + cause.message,
      {{"group", "meta.k8s.io"}, {"kind", kind}, {"causes", as_json({cause})}}));
}

Refusal undecodable(const Type& type, const std::string& why) {
  const std::string kind(type.kind);
  return bad_request(kind + " in version \"" + std::string(type.version) +
                     "\" cannot be handled as a " + kind + ": " + why);
}

Refusal unsupported_media_type() {
  return Refusal(
      status_failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", Json::object()));
}

Refusal internal_error(const std::string& why) { return Refusal(status_failure(500, "", why)); }

Refusal bad_request(const std::string& why) {
  return Refusal(status_failure(400, "BadRequest", why));
}

Refusal expired(const std::string& why) { return Refusal(status_failure(410, "Expired", why)); }

Refusal method_not_allowed() {
  return Refusal(status_failure(405, "MethodNotAllowed",
                                "the server does not allow this method on the requested resource",
                                Json::object()));
}

Refusal no_such_resource() {
  return Refusal(status_failure(404, "NotFound", "the server could not find the requested resource",
                                Json::object()));
}

Cause required(const std::string& field, const std::string& detail) {
  return {"FieldValueRequired", detail.empty() ? "Required value" : "Required value: " + detail,
          field};
}

Cause invalid_value(const std::string& field, const Json& value, const std::string& detail) {
  return {"FieldValueInvalid", "Invalid value: " + shown(value) + ": " + detail, field};
}

Cause forbidden_field(const std::string& field, const std::string& detail) {
  return {"FieldValueForbidden", "Forbidden: " + detail, field};
}

Cause unsupported_value(const std::string& field, const Json& value,
                        const std::vector<std::string>& supported) {
  std::string list;
  for (const std::string& one : supported) list += (list.empty() ? "" : ", ") + quoted(one);
  return {"FieldValueNotSupported",
          "Unsupported value: " + shown(value) + ": supported values: " + list, field};
}

Cause duplicate_value(const std::string& field, const Json& value) {
  return {"FieldValueDuplicate", "Duplicate value: " + shown(value), field};
}

}  // namespace berth::embedded
