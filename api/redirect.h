#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::api {

using RedirectParameters = std::vector<std::pair<std::string, std::string>>;

// `uri`, which is one that an app has registered, with the parameters behind its query (RFC 6749,
// section 4.1.2). Everything but unreserved characters is percent-encoded: no value can end the
// parameter, the URI, or the header that it stands in.
std::string redirect_to(std::string_view uri, const RedirectParameters& parameters);

}  // namespace berth::api
