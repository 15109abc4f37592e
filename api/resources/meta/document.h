#pragma once

#include <string>
#include <string_view>

#include "api/gate/services.h"

// openapi.json as it is served: printed and compressed once.
namespace berth::api {

// A text in one encoding. Each encoding has an ETag of its own, because its bytes differ (RFC 9110,
// section 8.8.3.3).
struct Representation {
  std::string bytes;
  std::string etag;  // with its quotes
};
struct Document {
  Representation plain;
  Representation gzip;
};

// Returns the document. The first call makes it for the environment and the base URL of `services`,
// which takes tens of milliseconds; later calls return the same one. Thread-safe. The reference
// stays valid until the process ends.
const Document& published_document(const Services& services);

// Whether an Accept-Encoding field allows gzip (RFC 9110, section 12.5.3).
bool accepts_gzip(std::string_view accept_encoding);
// Whether an If-None-Match field names the ETag, or any (RFC 9110, section 13.1.2).
bool names_etag(std::string_view if_none_match, std::string_view etag);

}  // namespace berth::api
