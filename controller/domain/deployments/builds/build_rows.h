#pragma once

#include "controller/domain/deployments/builds/builds.h"

// Reads the rows of builds. Private to builds.
namespace berth::builds {

// Whether no deployment needs the image of this build, as unneeded_images() says.
bool is_unneeded(db::Tx& tx, const std::string& id);

}  // namespace berth::builds
