#pragma once

#include <nlohmann/json.hpp>

// The texts of openapi.json, which are written in YAML files of api/resources.
namespace berth::api {

struct DocumentTexts {
  // resources/NAME/operations.yaml: by operationId, what the operation does, what it costs and what
  // happens afterwards. Scopes, limits and errors come from the route.
  nlohmann::json operations;
  // resources/tags.yaml: objects with name and description, in the order of the document.
  nlohmann::json tags;
  // resources/placeholders.yaml: by the end of a path, such as "/sessions/{id}", the component that
  // describes this placeholder: an object with name, description and example, and the format if it
  // has one.
  nlohmann::json placeholders;
  // resources/webhooks/events.yaml: `headers` of all requests, with description and example; and
  // `events`, by type, with name (the operationId), summary, description and the schema of `data`.
  nlohmann::json events;
};

// Returns the texts, which are parsed by the first call. Throws std::logic_error if an operation is
// described twice. Thread-safe.
const DocumentTexts& document_texts();

}  // namespace berth::api
