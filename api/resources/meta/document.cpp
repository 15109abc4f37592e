#include "api/resources/meta/document.h"

#include <zlib.h>

#include <map>
#include <mutex>
#include <stdexcept>

#include "api/gate/list_field.h"
#include "api/gate/openapi.h"
#include "controller/base/crypto.h"

namespace berth::api {
namespace {

constexpr int gzip_window_bits = MAX_WBITS + 16;  // 16 asks zlib for gzip's header
constexpr int default_memory_level = 8;

std::string gzip(const std::string& text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window_bits, default_memory_level,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib can't compress");
  std::string result(deflateBound(&stream, text.size()), '\0');
  // zlib doesn't change its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int state = deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("zlib can't compress");
  return result;
}

Representation representation_of(std::string bytes) {
  std::string etag = '"' + base64url(sha256(bytes)) + '"';
  return {.bytes = std::move(bytes), .etag = std::move(etag)};
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  bool any = false;
  for (const ContentCoding& coding : content_codings(accept_encoding)) {
    if (same_name(coding.name, "gzip") || same_name(coding.name, "x-gzip")) return coding.wanted;
    if (coding.name == "*") any = coding.wanted;
  }
  return any;
}

bool names_etag(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {
    std::string_view item = take_item(if_none_match);
    if (item == "*") return true;
    if (item.starts_with("W/")) item.remove_prefix(2);
    if (item == etag) return true;
  }
  return false;
}

const Document& published_document(const Services& services) {
  static std::mutex mutex;
  static std::map<std::pair<Environment, std::string>, Document> made;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = made.try_emplace({services.environment, services.base_url});
  if (is_new || found->second.plain.bytes.empty()) {
    std::string text = openapi(routes(), services.environment, services.base_url).dump();
    Representation compressed = representation_of(gzip(text));
    found->second = {.plain = representation_of(std::move(text)), .gzip = std::move(compressed)};
  }
  return found->second;
}

}  // namespace berth::api
