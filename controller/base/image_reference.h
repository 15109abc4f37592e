#pragma once

#include <string>
#include <string_view>

namespace berth {

// Returns the name of an image in full, as container runtimes read what people write
// (distribution/reference, "normalized names"): without a registry it is Docker Hub's, and without
// a user there it is an official image, so that nginx becomes docker.io/library/nginx. The address
// of an image's page at Docker Hub or GitHub, or one that begins with https://, becomes the image's
// name. A tag or a digest stays, and none is added. A text that can't be read is returned without
// the blanks around it; whether the result is a valid reference is checked elsewhere.
std::string normalized_image(std::string_view text);

// Returns the image with the tag `latest` if it has neither a tag nor a digest, which means the
// same.
std::string with_tag(const std::string& image);

}  // namespace berth
