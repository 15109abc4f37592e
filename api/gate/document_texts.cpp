#include "api/gate/document_texts.h"

#include <stdexcept>

#include "controller/base/embedded.h"
#include "controller/base/yaml.h"

namespace berth::api {

namespace texts {
const std::vector<EmbeddedFile>& files();
}

namespace {

DocumentTexts load_texts() {
  DocumentTexts result;
  for (const EmbeddedFile& file : texts::files()) {
    const nlohmann::json content = parse_yaml(file.text, std::string(file.name));
    if (file.name == "resources/tags.yaml") {
      result.tags = content;
    } else if (file.name == "resources/placeholders.yaml") {
      result.placeholders = content;
    } else if (file.name.ends_with("/events.yaml")) {
      result.events = content;
    } else {
      for (const auto& [operation, text] : content.items())
        if (!result.operations.emplace(operation, text).second)
          throw std::logic_error(std::string(file.name) + ": " + operation +
                                 " is described elsewhere, too");
    }
  }
  return result;
}

}  // namespace

const DocumentTexts& document_texts() {
  static const DocumentTexts texts = load_texts();
  return texts;
}

}  // namespace berth::api
