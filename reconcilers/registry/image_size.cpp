#include "reconcilers/registry/image_size.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "controller/base/curl.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/registry/challenge.h"

namespace berth::registry {
namespace {

using Json = nlohmann::json;

constexpr long unauthorized = 401;
constexpr long not_found = 404;
constexpr long too_many_requests = 429;
constexpr long server_error = 500;  // this and higher codes
constexpr long not_implemented = 501;
constexpr const char* accepted =
    "Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";
// The platform of tenants' nodes, as an image index names it.
constexpr std::string_view node_os = "linux";
constexpr std::string_view node_architectures[] = {"amd64", "arm64"};

struct Answer {
  long status = 0;
  std::string body;
  bool is_cut = false;  // there is more than max_bytes
  std::optional<Challenge> challenge;
  std::string digest;  // the digest of a manifest, as the registry states it; may be empty
  std::optional<std::uint64_t> length;  // the size that the field Content-Length gives

  bool is_success() const { return status >= 200 && status < 300; }
  bool is_busy() const {
    return status == too_many_requests || (status >= server_error && status != not_implemented);
  }
};

struct Receiver {
  Answer& answer;
  size_t max_bytes;

  static size_t take(char* data, size_t, size_t count, void* self) noexcept {
    auto& [answer, max_bytes] = *static_cast<Receiver*>(self);
    answer.is_cut = count > max_bytes - answer.body.size();
    if (answer.is_cut) return 0;
    try {
      answer.body.append(data, count);
    } catch (const std::exception&) {
      return 0;
    }
    return count;
  }
};

int is_stopped(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

std::optional<Challenge> challenge_in(const curl::Easy& easy) {
  curl_header* field = nullptr;
  for (size_t i = 0;
       curl_easy_header(easy.get(), "WWW-Authenticate", i, CURLH_HEADER, -1, &field) == CURLHE_OK;
       ++i)
    if (auto challenge = parse_challenge(field->value)) return challenge;
  return std::nullopt;
}

std::string header_in(const curl::Easy& easy, const char* name) {
  curl_header* field = nullptr;
  return curl_easy_header(easy.get(), name, 0, CURLH_HEADER, -1, &field) == CURLHE_OK ? field->value
                                                                                      : "";
}

// A digest becomes a part of a URL.
bool is_digest(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string algorithm = text.substr(0, colon);
  if (colon == std::string::npos || (algorithm != "sha256" && algorithm != "sha512")) return false;
  const std::string rest = text.substr(colon + 1);
  return !rest.empty() && percent_encode(rest) == rest;
}

enum class Method { get, head };

// Asks one registry about one image. Logs in when the registry wants it, and then stays logged in.
class Client {
 public:
  Client(const ImageName& image, const std::optional<Credentials>& credentials,
         const std::stop_token& stop)
      : image_(image), credentials_(credentials), stop_(stop) {}

  // Returns the digest of what the reference leads to. Throws if the registry doesn't say it.
  std::string needed_digest_of(const std::string& reference) {
    const Answer answer = ask(Method::head, "/manifests/" + reference, 0);
    if (!answer.is_success()) refuse(answer);
    if (!is_digest(answer.digest)) throw Unanswered("the registry doesn't say the digest", false);
    return answer.digest;
  }

  // Returns the digest of what the reference leads to; an empty text if the registry doesn't say
  // it.
  std::string digest_of(const std::string& reference) {
    const Answer answer = ask(Method::head, "/manifests/" + reference, 0);
    if (answer.is_busy()) refuse(answer);
    return answer.is_success() && is_digest(answer.digest) ? answer.digest : "";
  }

  // `digest` becomes the manifest's, empty if the registry doesn't say it.
  Json manifest(const std::string& reference, std::string* digest = nullptr) {
    const Answer answer = ask(Method::get, "/manifests/" + reference, max_manifest_bytes);
    if (!answer.is_success()) refuse(answer);
    if (answer.is_cut) throw Unmeasurable("its manifest has more than 256 KiB");
    if (digest != nullptr) *digest = is_digest(answer.digest) ? answer.digest : "";
    return Json::parse(answer.body, nullptr, false);
  }

  // Returns how large a blob is in the registry; nothing if it isn't there, so that no node can get
  // it either.
  std::optional<std::uint64_t> blob_size(const std::string& digest) {
    const Answer answer = ask(Method::head, "/blobs/" + digest, 0);
    if (answer.status == not_found) return std::nullopt;
    if (!answer.is_success()) refuse(answer);
    if (!answer.length)
      throw Unanswered("the registry doesn't say how large the image's layers are", false);
    return answer.length;
  }

 private:
  [[noreturn]] static void refuse(const Answer& answer) {
    throw Unanswered("the registry answered with " + std::to_string(answer.status),
                     answer.is_busy(), answer.status == too_many_requests);
  }

  // Asks for something below the repository, after logging in if the registry wants that.
  Answer ask(Method method, const std::string& path, size_t max_bytes) {
    const std::string url = (image_.is_plain() ? "http://" : "https://") + image_.host + "/v2/" +
                            image_.repository + path;
    Answer answer = request(method, url, max_bytes);
    if (answer.status == unauthorized && answer.challenge && !has_logged_in_) {
      has_logged_in_ = true;
      log_in(*answer.challenge);
      answer = request(method, url, max_bytes);
    }
    return answer;
  }

  Answer request(Method method, const std::string& url, size_t max_bytes) {
    Answer answer;
    Receiver receiver{answer, max_bytes};
    curl::Lines headers;
    headers.add(accepted);
    if (!token_.empty()) headers.add("Authorization: Bearer " + token_);
    const char* const protocols = image_.is_plain() ? "http,https" : "https";
    easy_.reset();
    easy_.set(CURLOPT_URL, url);
    if (method == Method::head) easy_.set(CURLOPT_NOBODY, 1L);
    easy_.set(CURLOPT_PROTOCOLS_STR, protocols);
    easy_.set(CURLOPT_REDIR_PROTOCOLS_STR, protocols);
    // libcurl sends credentials to no other host than the first one.
    easy_.set(CURLOPT_FOLLOWLOCATION, 1L);
    easy_.set(CURLOPT_MAXREDIRS, max_redirects);
    easy_.set(CURLOPT_PROXY, "");  // also ignores a proxy set in the environment
    easy_.set(CURLOPT_NOSIGNAL, 1L);
    easy_.set(CURLOPT_QUICK_EXIT, 1L);
    easy_.set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
    easy_.set(CURLOPT_CONNECTTIMEOUT_MS, connect_timeout_ms);
    easy_.set(CURLOPT_TIMEOUT_MS, timeout_ms);
    easy_.set(CURLOPT_USERAGENT, "berth");
    easy_.set(CURLOPT_HTTPHEADER, headers);
    easy_.set(CURLOPT_NOPROGRESS, 0L);
    easy_.set(CURLOPT_XFERINFOFUNCTION, &is_stopped);
    easy_.set(CURLOPT_XFERINFODATA, &stop_);
    easy_.set(CURLOPT_WRITEFUNCTION, &Receiver::take);
    easy_.set(CURLOPT_WRITEDATA, &receiver);
    if (sends_password_ && credentials_) {
      easy_.set(CURLOPT_HTTPAUTH, long{CURLAUTH_BASIC});
      easy_.set(CURLOPT_USERNAME, credentials_->username);
      easy_.set(CURLOPT_PASSWORD, credentials_->password);
    }
    const CURLcode result = easy_.perform();
    if (result != CURLE_OK && !answer.is_cut) throw Unanswered(curl_easy_strerror(result), true);
    answer.status = easy_.status();
    answer.challenge = challenge_in(easy_);
    answer.digest = header_in(easy_, "Docker-Content-Digest");
    answer.length = parse_number<std::uint64_t>(header_in(easy_, "Content-Length"));
    return answer;
  }

  // A registry asks for a password, or for a token that another place gives (distribution/spec,
  // "Token Authentication"); anonymous users get tokens, too.
  void log_in(const Challenge& challenge) {
    sends_password_ = true;
    if (challenge.scheme == Challenge::Scheme::basic) return;
    const auto realm = parse_url(challenge.realm);
    if (!realm || !realm->is_web() || challenge.realm.find('#') != std::string::npos)
      throw Unanswered("the registry names no place that gives tokens", false);
    const char between = challenge.realm.find('?') == std::string::npos ? '?' : '&';
    const Answer answer =
        request(Method::get,
                challenge.realm + between + "service=" + percent_encode(challenge.service) +
                    "&scope=" + percent_encode("repository:" + image_.repository + ":pull"),
                max_token_answer_bytes);
    sends_password_ = false;
    if (!answer.is_success() || answer.is_cut)
      throw Unanswered("the registry gave no token, but " + std::to_string(answer.status),
                       answer.is_busy(), answer.status == too_many_requests);
    const Json body = Json::parse(answer.body, nullptr, false);
    for (const char* name : {"token", "access_token"})
      if (body.is_object() && body.contains(name) && body[name].is_string()) token_ = body[name];
    // A line break would add header fields to the next request.
    if (token_.empty() || token_.find_first_of("\r\n") != std::string::npos)
      throw Unanswered("the registry's answer has no token", false);
  }

  const ImageName& image_;
  const std::optional<Credentials>& credentials_;
  std::stop_token stop_;
  curl::Easy easy_;
  bool has_logged_in_ = false;
  bool sends_password_ = false;
  std::string token_;
};

const Json& member(const Json& object, const char* name) {
  static const Json nothing;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : nothing;
}

std::string text(const Json& object, const char* name) {
  const Json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return b > most - a ? most : a + b;
}

// What a node downloads for an image, by digest, with the sizes that the manifest states.
std::map<std::string, std::uint64_t> blobs_of(const Json& manifest) {
  const Json& layers = member(manifest, "layers");
  if (!layers.is_array()) throw Unmeasurable("its manifest is of a kind that has no sizes");
  if (layers.size() > max_layers)
    throw Unmeasurable("it has more than " + std::to_string(max_layers) + " layers");
  std::map<std::string, std::uint64_t> blobs;
  const auto add = [&](const Json& blob) {
    const Json& size = member(blob, "size");
    const std::string digest = text(blob, "digest");
    if (!size.is_number_unsigned() || !is_digest(digest))
      throw Unmeasurable("its manifest has a layer without a size");
    // Nodes get such a layer from there, and not from the registry.
    if (!member(blob, "urls").empty()) throw Unmeasurable("it has a layer from another place");
    std::uint64_t& stated = blobs[digest];
    stated = std::max(stated, size.get<std::uint64_t>());
  };
  for (const Json& layer : layers) add(layer);
  if (const Json& config = member(manifest, "config"); !config.is_null()) add(config);
  return blobs;
}

std::uint64_t size_of(const Json& manifest, std::uint64_t enough, Client& client) {
  const auto blobs = blobs_of(manifest);
  std::uint64_t stated = 0;
  for (const auto& [digest, size] : blobs) stated = sum(stated, size);
  if (stated > enough) return stated;
  std::uint64_t bytes = 0;
  for (const auto& [digest, size] : blobs)
    bytes = sum(bytes, std::max(size, client.blob_size(digest).value_or(0)));
  return bytes;
}

// Whether a node may run what an entry of an index leads to. Container runtimes also take entries
// that name no platform.
bool is_for_nodes(const Json& entry) {
  const Json& platform = member(entry, "platform");
  if (platform.is_null()) return true;
  return text(platform, "os") == node_os &&
         std::ranges::find(node_architectures, text(platform, "architecture")) !=
             std::end(node_architectures);
}

// The digests of those entries of an index that a node may run.
std::vector<std::string> entries_for_nodes(const Json& index) {
  std::vector<std::string> digests;
  for (const Json& entry : member(index, "manifests"))
    if (is_for_nodes(entry)) digests.push_back(text(entry, "digest"));
  if (digests.empty()) throw Unmeasurable("it has no image for Linux on amd64 or arm64");
  if (!std::ranges::all_of(digests, is_digest))
    throw Unmeasurable("its index has an entry without a digest");
  return digests;
}

// Measures all images that a manifest leads to.
class Measurement {
 public:
  Measurement(Client& client, std::uint64_t enough) : client_(client), enough_(enough) {}

  void add(const Json& manifest, size_t depth = 0) {
    if (!member(manifest, "manifests").is_array()) {
      largest_ = std::max(largest_, size_of(manifest, enough_, client_));
      return;
    }
    if (depth == max_index_depth) throw Unmeasurable("its index has indexes within indexes");
    std::vector<std::string> fresh = entries_for_nodes(manifest);
    std::erase_if(fresh, [&](const std::string& digest) { return !seen_.insert(digest).second; });
    if (seen_.size() > max_images_asked)
      throw Unmeasurable("it has more than " + std::to_string(max_images_asked) +
                         " images for Linux on amd64 and arm64");
    for (const std::string& digest : fresh) add(client_.manifest(digest), depth + 1);
  }
  std::uint64_t largest() const { return largest_; }

 private:
  Client& client_;
  const std::uint64_t enough_;
  std::set<std::string> seen_;
  std::uint64_t largest_ = 0;
};

}  // namespace

std::optional<std::uint64_t> KnownSizes::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(key);
  return found == sizes_.end() ? std::nullopt : std::optional(found->second);
}

void KnownSizes::add(const std::string& key, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!sizes_.insert_or_assign(key, bytes).second) return;
  oldest_first_.push_back(key);
  if (oldest_first_.size() <= most) return;
  sizes_.erase(oldest_first_.front());
  oldest_first_.pop_front();
}

std::uint64_t image_size(const ImageName& image, const std::optional<Credentials>& credentials,
                         std::uint64_t enough, KnownSizes& known, const std::stop_token& stop) {
  Client client(image, credentials, stop);
  const std::string prefix = image.host + "/" + image.repository + "@";
  std::string digest = client.digest_of(image.reference);
  if (!digest.empty())
    if (const auto bytes = known.find(prefix + digest)) return *bytes;
  Measurement measurement(client, enough);
  // A tag may lead elsewhere by now.
  measurement.add(client.manifest(image.reference, &digest));
  if (!digest.empty()) known.add(prefix + digest, measurement.largest());
  return measurement.largest();
}

std::string tag_digest(const ImageName& image, const std::optional<Credentials>& credentials,
                       const std::stop_token& stop) {
  return Client(image, credentials, stop).needed_digest_of(image.reference);
}

}  // namespace berth::registry
