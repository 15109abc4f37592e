#pragma once

#include <map>
#include <string>

namespace berth::simulated {

// What the containers of an image do.
enum class ImageBehaviour {
  runs,           // and listens on the port that its readiness probe asks for
  missing,        // can't be pulled: ErrImagePull, ImagePullBackOff
  crashes,        // exits with 1 soon after its start: CrashLoopBackOff
  out_of_memory,  // is killed soon after its start: OOMKilled, exit code 137
  not_listening,  // runs, but refuses connections: its probes fail
  needs_root,     // exits with 1 and `Permission denied`, unless it runs as root
  unschedulable,  // its pod fits on no node
  talks,          // runs, and writes two lines ten times a second
};

// Which image does what. Needs the store's mutex.
class Images {
 public:
  // From now on containers of exactly this image reference do that, whatever its name says. Running
  // containers go on as they are.
  void set(const std::string& image, ImageBehaviour behaviour) { set_[image] = behaviour; }
  // By what was set, else by the last component of the repository: `missing…`, `crash…`, `oom…`,
  // `wrong-port…` or `not-listening…`, `needs-root…`, `unschedulable…`, `talking…`; all others run.
  ImageBehaviour of(const std::string& image) const;

 private:
  std::map<std::string, ImageBehaviour> set_;
};

// `nginx` is `docker.io/library/nginx:latest`: the reference as container runtimes report it.
std::string full_reference(const std::string& image);
// `docker.io/library/nginx@sha256:…`, the same for the same image always.
std::string image_id(const std::string& image);

}  // namespace berth::simulated
