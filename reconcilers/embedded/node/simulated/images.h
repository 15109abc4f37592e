#pragma once

#include <map>
#include <string>

namespace berth::embedded {

// What the containers of an image do.
enum class ImageBehaviour {
  runs,           // run, and listen on the port that their readiness probe uses
  missing,        // the image can't be pulled: ErrImagePull, ImagePullBackOff
  crashes,        // exit with 1 soon after they start: CrashLoopBackOff
  out_of_memory,  // are killed soon after they start: OOMKilled, exit code 137
  not_listening,  // run, but refuse connections, so that their probes fail
  needs_root,     // exit with 1 and `Permission denied`, unless they run as root
  unschedulable,  // the pod fits on no node
  talks,          // run, and write two lines ten times a second
  port_denied,  // run, but may not listen on a port below 1024; follows from the pod, not the image
};

// Knows what the containers of each image do. The caller must hold the store's mutex.
class Images {
 public:
  // Sets what containers of exactly this image reference do from now on, whatever its name says.
  // Running containers aren't affected.
  void set(const std::string& image, ImageBehaviour behaviour) { set_[image] = behaviour; }
  // The behaviour that was set, or else the one that the last component of the repository names:
  // `missing…`, `crash…`, `oom…`, `wrong-port…` or `not-listening…`, `needs-root…`,
  // `unschedulable…`, `talking…`. All other images run.
  ImageBehaviour of(const std::string& image) const;

 private:
  std::map<std::string, ImageBehaviour> set_;
};

// The reference as container runtimes report it: `nginx` becomes `docker.io/library/nginx:latest`.
std::string full_reference(const std::string& image);
// An id such as `docker.io/library/nginx@sha256:…`, which is always the same for the same image.
std::string image_id(const std::string& image);

}  // namespace berth::embedded
