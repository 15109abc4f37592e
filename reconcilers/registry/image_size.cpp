#include "reconcilers/registry/image_size.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "controller/base/curl.h"
#include "controller/base/url.h"
#include "reconcilers/registry/challenge.h"

namespace berth::registry {
namespace {

using Json = nlohmann::json;

constexpr long unauthorized = 401;
constexpr long too_many_requests = 429;
constexpr long server_error = 500;  // and above
constexpr const char* accepted =
    "Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";
// What tenants' nodes are, in the words of an image index.
constexpr std::string_view node_os = "linux";
constexpr std::string_view node_architectures[] = {"amd64", "arm64"};

struct Answer {
  long status = 0;
  std::string body;
  bool is_cut = false;  // there is more than max_bytes
  std::optional<Challenge> challenge;

  bool is_success() const { return status >= 200 && status < 300; }
  bool is_busy() const { return status == too_many_requests || status >= server_error; }
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

// Asks one registry about one image. Logs in when the registry wants it, and then stays logged in.
class Client {
 public:
  Client(const ImageName& image, const std::optional<Credentials>& credentials,
         const std::stop_token& stop)
      : image_(image), credentials_(credentials), stop_(stop) {}

  Json manifest(const std::string& reference) {
    const std::string url = (image_.is_plain() ? "http://" : "https://") + image_.host + "/v2/" +
                            image_.repository + "/manifests/" + reference;
    Answer answer = get(url, max_manifest_bytes);
    if (answer.status == unauthorized && answer.challenge) {
      log_in(*answer.challenge);
      answer = get(url, max_manifest_bytes);
    }
    if (!answer.is_success())
      throw Unanswered("the registry answered with " + std::to_string(answer.status),
                       answer.is_busy());
    if (answer.is_cut) throw Unmeasurable("its manifest has more than 256 KiB");
    return Json::parse(answer.body, nullptr, false);
  }

 private:
  Answer get(const std::string& url, size_t max_bytes) {
    Answer answer;
    Receiver receiver{answer, max_bytes};
    curl::Lines headers;
    headers.add(accepted);
    if (!token_.empty()) headers.add("Authorization: Bearer " + token_);
    const char* const protocols = image_.is_plain() ? "http,https" : "https";
    easy_.reset();
    easy_.set(CURLOPT_URL, url);
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
        get(challenge.realm + between + "service=" + percent_encode(challenge.service) +
                "&scope=" + percent_encode("repository:" + image_.repository + ":pull"),
            max_token_answer_bytes);
    sends_password_ = false;
    if (!answer.is_success() || answer.is_cut)
      throw Unanswered("the registry gave no token, but " + std::to_string(answer.status),
                       answer.is_busy());
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

std::uint64_t sum_of_layers(const Json& manifest) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const Json& layers = member(manifest, "layers");
  if (!layers.is_array()) throw Unmeasurable("its manifest is of a kind that has no sizes");
  std::uint64_t sum = 0;
  std::set<std::string> counted;
  for (const Json& layer : layers) {
    const Json& size = member(layer, "size");
    const std::string digest = text(layer, "digest");
    if (!size.is_number_unsigned() || digest.empty())
      throw Unmeasurable("its manifest has a layer without a size");
    if (!counted.insert(digest).second) continue;
    const auto bytes = size.get<std::uint64_t>();
    sum = bytes > most - sum ? most : sum + bytes;
  }
  return sum;
}

// The digests of an index's images that a node may run.
std::vector<std::string> images_for_nodes(const Json& index) {
  std::vector<std::string> digests;
  for (const Json& entry : member(index, "manifests")) {
    const Json& platform = member(entry, "platform");
    if (text(platform, "os") == node_os &&
        std::ranges::find(node_architectures, text(platform, "architecture")) !=
            std::end(node_architectures))
      digests.push_back(text(entry, "digest"));
  }
  if (digests.empty()) throw Unmeasurable("it has no image for Linux on amd64 or arm64");
  if (digests.size() > max_images_asked)
    throw Unmeasurable("it has more than " + std::to_string(max_images_asked) +
                       " images for Linux on amd64 and arm64");
  // The digest becomes a part of a URL.
  if (std::ranges::any_of(digests, [](const std::string& digest) {
        return !digest.starts_with("sha256:") ||
               percent_encode(digest.substr(7)) != digest.substr(7);
      }))
    throw Unmeasurable("its index has an entry without a digest");
  return digests;
}

}  // namespace

std::uint64_t image_size(const ImageName& image, const std::optional<Credentials>& credentials,
                         const std::stop_token& stop) {
  Client client(image, credentials, stop);
  Json manifest = client.manifest(image.reference);
  if (!member(manifest, "manifests").is_array()) return sum_of_layers(manifest);
  const std::vector<std::string> digests = images_for_nodes(manifest);
  manifest.clear();  // no more than one is kept in memory
  std::uint64_t largest = 0;
  for (const std::string& digest : digests)
    largest = std::max(largest, sum_of_layers(client.manifest(digest)));
  return largest;
}

}  // namespace berth::registry
