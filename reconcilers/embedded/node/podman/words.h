#pragma once

#include <string>

#include "reconcilers/embedded/apiserver/types.h"

// podman's errors in the reasons and words of a kubelet with containerd, so that what berth derives
// from them, and what its users read, is the same on one machine as on a cluster.
namespace berth::embedded::podman {

struct Failure {
  std::string reason;
  std::string message;
};

// Of an image that couldn't be pulled. `image` is its full reference, `words` are podman's.
Failure pull_failure(const std::string& image, const std::string& words, bool had_login);
// Of a registry from which too many images were pulled.
Failure limited_registry(const std::string& image);
// Of a registry that sent nothing for too long.
Failure silent_registry(const std::string& image);
// Of an image that is for another kind of processor.
Failure other_platform(const std::string& image);
// Of an image that only this machine could have, and hasn't.
Failure missing_image(const std::string& image);
// Of a text that isn't an image's name.
Failure invalid_name(const std::string& image);
bool is_image_name(const std::string& image);

// Of a container that couldn't be created, or started; `answer` is the body of podman's.
Failure create_failure(const std::string& answer);
Failure start_failure(const std::string& answer);

// Whether the registry is on this machine, where containerd, too, speaks HTTP without TLS.
bool is_loopback(const std::string& image);

// The member `message` of an error's body; the body itself if it has none.
std::string words_of(const std::string& answer);

}  // namespace berth::embedded::podman
