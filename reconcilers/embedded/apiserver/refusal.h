#pragma once

#include <exception>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/types.h"

// The error answers of an API server, as Status objects
// (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/), in the words of
// k8s.io/apimachinery, pkg/api/errors.
namespace berth::embedded {

struct Refusal : std::exception {
  explicit Refusal(Json status_object)
      : status(std::move(status_object)), message(text_at(status, "message")) {}
  const char* what() const noexcept override { return message.c_str(); }
  int code() const { return static_cast<int>(number_at(status, "/code", 500)); }
  Json status;
  std::string message;
};

// One problem of a field, as in Status.details.causes.
struct Cause {
  std::string reason;  // FieldValueRequired, FieldValueInvalid, …
  std::string message;
  std::string field;
};

Json status_failure(int code, const std::string& reason, const std::string& message,
                    Json details = nullptr);
Json status_success(const Type& type, const std::string& name, const std::string& uid);

Refusal not_found(const Type& type, const std::string& name);
Refusal already_exists(const Type& type, const std::string& name);
Refusal conflict(const Type& type, const std::string& name, const std::string& why);
// The answer to a PUT with an outdated resourceVersion.
Refusal modified_meanwhile(const Type& type, const std::string& name);
Refusal forbidden(const Type& type, const std::string& name, const std::string& why,
                  const std::vector<Cause>& causes = {});
Refusal invalid(const Type& type, const std::string& name, const std::vector<Cause>& causes);
// The parameters of a request (`PatchOptions`, `DeleteOptions`) have a bad field.
Refusal invalid_options(const std::string& kind, const Cause& cause);
Refusal bad_request(const std::string& why);
// A body that doesn't have the structure of the kind.
Refusal undecodable(const Type& type, const std::string& why);
Refusal unsupported_media_type();
// An error of the API server itself, which has no reason field.
Refusal internal_error(const std::string& why);
Refusal expired(const std::string& why);
Refusal method_not_allowed();
Refusal no_such_resource();

Cause required(const std::string& field, const std::string& detail = "");
Cause invalid_value(const std::string& field, const Json& value, const std::string& detail);
Cause forbidden_field(const std::string& field, const std::string& detail);
Cause unsupported_value(const std::string& field, const Json& value,
                        const std::vector<std::string>& supported);
Cause duplicate_value(const std::string& field, const Json& value);

}  // namespace berth::embedded
