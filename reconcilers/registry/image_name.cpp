#include "reconcilers/registry/image_name.h"

#include "controller/base/url.h"

namespace berth::registry {
namespace {

// Docker Hub's name in references, and the host that serves its images.
constexpr const char* docker_hub = "docker.io";
constexpr const char* docker_hub_host = "registry-1.docker.io";
constexpr const char* default_tag = "latest";

// The first part of a name is a registry if it couldn't be a user of Docker Hub.
bool is_registry(const std::string& part) {
  return part == "localhost" || part.find_first_of(".:") != std::string::npos;
}

}  // namespace

bool ImageName::is_plain() const { return is_loopback(host.substr(0, host.rfind(':'))); }

ImageName parse_image_name(const std::string& image) {
  const size_t slash = image.find('/');
  std::string host = slash == std::string::npos ? "" : image.substr(0, slash);
  std::string rest = host.empty() ? image : image.substr(slash + 1);
  if (!is_registry(host)) {
    host = docker_hub;
    rest = image;
  }
  ImageName name;
  const size_t at = rest.find('@');
  const std::string named = rest.substr(0, at);
  const size_t colon = named.rfind(':');  // there is no port any more
  name.repository = named.substr(0, colon);
  if (at != std::string::npos)
    name.reference = rest.substr(at + 1);
  else
    name.reference = colon == std::string::npos ? default_tag : named.substr(colon + 1);
  if (host == docker_hub && name.repository.find('/') == std::string::npos)
    name.repository.insert(0, "library/");
  name.host = host == docker_hub ? docker_hub_host : host;
  return name;
}

}  // namespace berth::registry
