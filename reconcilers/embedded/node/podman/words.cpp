#include "reconcilers/embedded/node/podman/words.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "controller/base/address_range.h"
#include "controller/base/ascii.h"
#include "controller/base/text.h"

namespace berth::embedded::podman {
namespace {

// A message of an API object may not grow without a bound.
constexpr size_t most_words = 2'048;

template <size_t count>
bool has_one_of(const std::string& text, const std::array<std::string_view, count>& phrases) {
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view phrase) {
    return text.find(phrase) != std::string::npos;
  });
}

// Phrases, in lower case, of containers/image and of registries (docker/distribution's error
// codes).
constexpr std::array<std::string_view, 4> not_found = {
    "manifest unknown", "name unknown", "repository name not known", "404 (not found)"};
constexpr std::array<std::string_view, 6> unauthorized = {
    "unauthorized",
    "authentication required",
    "requested access to the resource is denied",
    "invalid username/password",
    "denied:",
    "403 (forbidden)"};
constexpr std::array<std::string_view, 3> too_many = {"toomanyrequests", "too many requests",
                                                      "429"};
constexpr std::array<std::string_view, 2> another_platform = {"no image found in manifest list for",
                                                              "no image found in image index for"};
constexpr std::array<std::string_view, 3> bad_name = {
    "invalid reference format", "parsing reference", "repository name must be lowercase"};

struct Reference {
  std::string registry;
  std::string repository;
  std::string version;  // the tag or the digest
};

Reference parts_of(const std::string& image) {
  const size_t slash = image.find('/');
  const size_t at = image.find('@');
  const size_t colon = image.rfind(':', at);
  const size_t end = at != std::string::npos                                  ? at
                     : colon != std::string::npos && colon > image.rfind('/') ? colon
                                                                              : image.size();
  Reference parts;
  parts.registry = image.substr(0, slash);
  parts.repository = slash == std::string::npos ? "" : image.substr(slash + 1, end - slash - 1);
  parts.version = end < image.size() ? image.substr(end + 1) : "latest";
  return parts;
}

std::string manifest_url(const std::string& image) {
  const Reference parts = parts_of(image);
  const std::string host = parts.registry == "docker.io" ? "registry-1.docker.io" : parts.registry;
  return "https://" + host + "/v2/" + parts.repository + "/manifests/" + parts.version;
}

Failure pull_error(const std::string& code, const std::string& image, const std::string& why) {
  return {"ErrImagePull", cut("rpc error: code = " + code + " desc = failed to pull and unpack " +
                                  "image \"" + image + "\": " + why,
                              most_words)};
}

std::string resolving(const std::string& image) {
  return "failed to resolve reference \"" + image + "\": ";
}

// What comes behind the last `Get "https://…": `, such as `dial tcp 192.0.2.1:443: connect:
// connection refused`; empty if podman didn't get as far.
std::string network_words(const std::string& words) {
  const size_t get = words.rfind("Get \"http");
  if (get == std::string::npos) return "";
  const size_t end = words.find("\": ", get);
  return end == std::string::npos ? "" : words.substr(end + 3);
}

// The text without what podman puts behind runc's words: `: OCI runtime error` and similar.
std::string without_kind(std::string words) {
  for (const char* kind :
       {": OCI runtime attempted to invoke a command that was not found", ": OCI runtime error",
        ": OCI permission denied", ": OCI runtime command not found error"})
    if (words.ends_with(kind)) words.erase(words.size() - std::string_view(kind).size());
  return words;
}

}  // namespace

std::string words_of(const std::string& answer) {
  const Json body = Json::parse(answer, nullptr, false);
  const std::string message = body.is_object() ? text_at(body, "message") : "";
  return message.empty() ? answer : message;
}

bool is_loopback(const std::string& image) {
  std::string host = image.substr(0, image.find('/'));
  if (host.starts_with('[')) return host.starts_with("[::1]");
  host = host.substr(0, host.find(':'));
  if (host == "localhost") return true;
  const auto address = parse_ip_address(host);
  return address && address->family == AF_INET && address->bytes[0] == 127;
}

Failure pull_failure(const std::string& image, const std::string& words, bool had_login) {
  const std::string lower = lower_case(words);
  if (has_one_of(lower, bad_name)) return invalid_name(image);
  if (has_one_of(lower, another_platform)) return other_platform(image);
  if (has_one_of(lower, too_many)) return limited_registry(image);
  if (has_one_of(lower, unauthorized))
    return pull_error(
        "Unknown", image,
        resolving(image) +
            (had_login ? "unexpected status from HEAD request to " + manifest_url(image) +
                             ": 401 Unauthorized"
                       : std::string("pull access denied, repository does not exist or may require "
                                     "authorization: authorization failed: no basic auth "
                                     "credentials")));
  if (has_one_of(lower, not_found))
    return pull_error("NotFound", image, resolving(image) + image + ": not found");
  if (const std::string network = network_words(words); !network.empty())
    return pull_error("Unknown", image,
                      resolving(image) + "failed to do request: Head \"" + manifest_url(image) +
                          "\": " + network);
  return pull_error("Unknown", image, words);
}

Failure limited_registry(const std::string& image) {
  return pull_error("Unknown", image,
                    "failed to copy: httpReadSeeker: failed open: unexpected status code " +
                        manifest_url(image) +
                        ": 429 Too Many Requests - Server message: toomanyrequests: You have "
                        "reached your pull rate limit.");
}

Failure silent_registry(const std::string& image) {
  return pull_error("Unknown", image,
                    resolving(image) + "failed to do request: Head \"" + manifest_url(image) +
                        "\": net/http: timeout awaiting response headers");
}

Failure other_platform(const std::string& image) {
  return pull_error("NotFound", image, "no match for platform in manifest: not found");
}

Failure missing_image(const std::string& image) {
  return pull_error("NotFound", image, resolving(image) + image + ": not found");
}

Failure invalid_name(const std::string& image) {
  return {"InvalidImageName", "Failed to apply default image tag \"" + shown(image) +
                                  "\": couldn't parse image name \"" + shown(image) +
                                  "\": invalid reference format"};
}

// The grammar of github.com/distribution/reference, without the lengths of its parts.
bool is_image_name(const std::string& image) {
  constexpr size_t most = 512;
  if (image.empty() || image.size() > most) return false;
  const size_t at = std::min(image.find('@'), image.size());
  const std::string digest = image.substr(at);
  if (!digest.empty() &&
      (digest.find(':') == std::string::npos ||
       digest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789ABCDEF:+.-_", 1) !=
           std::string::npos))
    return false;
  std::string name = image.substr(0, at);
  const size_t slash = name.rfind('/');
  const size_t colon = name.find(':', slash == std::string::npos ? 0 : slash);
  if (colon != std::string::npos) {
    const std::string tag = name.substr(colon + 1);
    if (tag.empty() || tag.size() > 128 || tag.front() == '.' || tag.front() == '-' ||
        !std::all_of(tag.begin(), tag.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '_' || c == '.' || c == '-';
        }))
      return false;
    name.erase(colon);
  }
  size_t begin = 0;
  bool first = true;
  while (begin <= name.size()) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool is_host = first && end < name.size() &&
                         (part == "localhost" || part.find_first_of(".:") != std::string::npos ||
                          part.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos);
    const std::string_view others = is_host ? ".:-ABCDEFGHIJKLMNOPQRSTUVWXYZ[]" : "._-";
    if (part.empty() || !std::all_of(part.begin(), part.end(), [&](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                 others.find(c) != std::string_view::npos;
        }))
      return false;
    const std::string ends = std::string(1, part.front()) + part.back();
    if (!is_host && ends.find_first_of("._-") != std::string::npos) return false;
    begin = end + 1;
    first = false;
  }
  return true;
}

Failure create_failure(const std::string& answer) {
  const std::string words = words_of(answer);
  if (words.find("no command or entrypoint provided") != std::string::npos)
    return {"CreateContainerError",
            "failed to generate container spec: failed to generate spec: no command specified"};
  return {"CreateContainerError",
          cut("failed to create containerd container: " + words, most_words)};
}

Failure start_failure(const std::string& answer) {
  std::string words = without_kind(words_of(answer));
  constexpr std::string_view runc = "runc: ";
  constexpr std::string_view crun = "crun: ";
  if (words.starts_with(runc)) words.erase(0, runc.size());
  if (words.starts_with(crun)) words.erase(0, crun.size());
  if (words.starts_with("runc create failed"))
    return {"RunContainerError",
            cut("failed to create containerd task: failed to create shim task: "
                "OCI runtime create failed: " +
                    words + ": unknown",
                most_words)};
  return {"RunContainerError", cut("failed to start containerd task: " + words, most_words)};
}

}  // namespace berth::embedded::podman
