#include "api/gate/document_texts.h"

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
    if (file.name.ends_with("/tags.yaml"))
      result.tags = content;
    else
      result.events = content;
  }
  return result;
}

}  // namespace

const DocumentTexts& document_texts() {
  static const DocumentTexts texts = load_texts();
  return texts;
}

}  // namespace berth::api
