#pragma once

#include <nlohmann/json.hpp>

// The texts of openapi.json that don't belong to one operation: YAML files.
namespace berth::api {

struct DocumentTexts {
  // gate/document/tags.yaml: objects with name and description, in the order of the document.
  nlohmann::json tags;
  // gate/document/events.yaml: `headers` of all requests, with description and example; and
  // `events`, by type, with name (the operationId), summary, description and the schema of `data`.
  nlohmann::json events;
};

// Returns the texts, which are parsed by the first call. Thread-safe.
const DocumentTexts& document_texts();

}  // namespace berth::api
