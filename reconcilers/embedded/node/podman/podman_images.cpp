#include <sys/statvfs.h>

#include <algorithm>

#include "controller/base/address_range.h"
#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/podman/podman_runtime.h"
#include "reconcilers/embedded/node/podman/words.h"
#include "reconcilers/embedded/node/simulated/images.h"

// Images: pulling them from registries, and removing those that nobody uses.
namespace berth::embedded::podman {
namespace {

using namespace std::chrono_literals;

// A pull may take this long altogether (kubelet, image-pull-progress-timeout, is about progress).
constexpr auto longest_pull = 15min;
// A pull of which nothing arrives for this long is given up.
constexpr auto longest_silence = 60s;
constexpr auto look_at_progress = 5s;
constexpr std::size_t most_temporary_files = 1'000;
constexpr std::size_t most_progress = std::size_t{64} << 10;

// Images that were built on this machine; no registry has them.
constexpr std::string_view local_registry = "localhost/";

bool is_local(const std::string& image) { return image.starts_with(local_registry); }

std::string registry_auth(const RegistryLogin& login) {
  const Json auth = {{"username", login.username}, {"password", login.password}};
  std::string text = base64(auth.dump());
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

// `docker.io/library/nginx@sha256:…` of an image's repository; if it has none, its id.
std::string digest_of(const Json& image, const std::string& reference) {
  const size_t at = reference.find('@');
  const size_t slash = reference.rfind('/', at);
  const size_t colon = reference.find(':', slash == std::string::npos ? 0 : slash);
  const std::string repository = reference.substr(0, std::min(colon, at));
  for (const Json& digest : at_path(image, "/RepoDigests"))
    if (digest.is_string() && digest.get<std::string>().starts_with(repository + "@"))
      return digest.get<std::string>();
  const Json& digest = at_path(image, "/Digest");
  return digest.is_string() ? repository + "@" + digest.get<std::string>()
                            : "sha256:" + text_at(image, "Id");
}

}  // namespace

void PodmanRuntime::pull(const Run& run, const PullRequest& request, Moment) {
  PullingPtr pulling;
  {
    const std::lock_guard lock(mutex_);
    PullingPtr& known = pulls_under_way_[key_of(run)];
    if (known && known->state.stage != Pull::Stage::failed) return;
    known = pulling = std::make_shared<Pulling>();
    pulling->image = full_reference(request.image);
  }
  const auto pull = [this, run, pulling, request] { pull_now(run, pulling, request); };
  // An image that is there isn't kept waiting by those that are being pulled.
  const bool quick = request.policy != PullPolicy::always || is_local(pulling->image);
  if ((quick ? calls_ : pulls_).submit(run.name_space, pull)) return;
  const std::lock_guard lock(mutex_);
  pulling->state.stage = Pull::Stage::failed;
  pulling->state.reason = "ErrImagePull";
  pulling->state.message = "pull QPS exceeded";
  wake(run);
}

Pull PodmanRuntime::pull_state(const Run& run, Moment, std::optional<Moment>&) {
  const std::lock_guard lock(mutex_);
  const auto found = pulls_under_way_.find(key_of(run));
  return found == pulls_under_way_.end() ? Pull{} : found->second->state;
}

std::optional<Json> PodmanRuntime::image(const std::string& reference) {
  const UnixAnswer answer = request("GET", "/images/" + percent_encode(reference) + "/json");
  if (!answer.good()) return std::nullopt;
  return Json::parse(answer.body, nullptr, false);
}

// Returns false if the image is for another kind of processor.
bool PodmanRuntime::take_image(Pulling& pulling, const Json& image) {
  const std::string architecture = text_at(image, "Architecture");
  if (!architecture.empty() && architecture != service_.machine().architecture) return false;
  const std::lock_guard lock(mutex_);
  pulling.id = text_at(image, "Id");
  pulling.image_id = digest_of(image, pulling.image);
  pulling.state.bytes = std::uint64_t(number_at(image, "/Size", 0));
  return true;
}

void PodmanRuntime::pull_now(const Run& run, const PullingPtr& pulling,
                             const PullRequest& request) {
  const auto began = Moment::clock::now();
  const auto end = [&](Pull::Stage stage, const Failure& failure) {
    {
      const std::lock_guard lock(mutex_);
      pulling->state.stage = stage;
      pulling->state.reason = failure.reason;
      pulling->state.message = failure.message;
      pulling->state.took =
          std::chrono::duration_cast<std::chrono::milliseconds>(Moment::clock::now() - began);
    }
    wake(run);
  };
  const auto take = [&](const Json& image, Pull::Stage stage) {
    if (take_image(*pulling, image)) return end(stage, {});
    end(Pull::Stage::failed, other_platform(pulling->image));
  };
  try {
    const std::string& reference = pulling->image;
    if (!is_image_name(request.image)) return end(Pull::Stage::failed, invalid_name(request.image));
    if (request.policy != PullPolicy::always || is_local(reference)) {
      if (const auto known = image(reference)) return take(*known, Pull::Stage::present);
      if (request.policy == PullPolicy::never)
        return end(Pull::Stage::failed,
                   {"ErrImageNeverPull", "Container image \"" + request.image +
                                             "\" is not present with pull policy of Never"});
      if (is_local(reference)) return end(Pull::Stage::failed, missing_image(reference));
    }
    {
      const std::lock_guard lock(mutex_);
      pulling->state.stage = Pull::Stage::under_way;
    }
    wake(run);
    std::vector<const RegistryLogin*> logins;
    for (const RegistryLogin& login : request.logins) logins.push_back(&login);
    if (logins.empty()) logins.push_back(nullptr);
    Failure failure;
    for (const RegistryLogin* login : logins) {
      Stopped stopped = Stopped::no;
      const std::string words = pull_once(*pulling, login, stopped);
      if (words.empty()) {
        const auto pulled = image(pulling->id.empty() ? reference : pulling->id);
        if (pulled) return take(*pulled, Pull::Stage::pulled);
        failure = missing_image(reference);
        break;
      }
      if (pulling->cancel.cancelled()) return;  // the pod is gone
      failure = stopped == Stopped::silent    ? silent_registry(reference)
                : stopped == Stopped::limited ? limited_registry(reference)
                                              : pull_failure(reference, words, login != nullptr);
      if (stopped != Stopped::no) break;
    }
    end(Pull::Stage::failed, failure);
  } catch (const UnixHttpError& error) {
    if (ending_) return;
    end(Pull::Stage::failed,
        {"ErrImagePull", std::string("context deadline exceeded: ") + error.what()});
  } catch (const std::exception& error) {
    end(Pull::Stage::failed, {"ErrImagePull", error.what()});
  }
}

std::string PodmanRuntime::pull_once(Pulling& pulling, const RegistryLogin* login,
                                     Stopped& stopped) {
  // podman says nothing while a large layer arrives, but its temporary files grow.
  struct Progress {
    std::mutex mutex;
    std::uint64_t bytes = 0;
    Moment changed = Moment::clock::now();
    bool done = false;
    bool was_asked = false;  // the registry, by berth itself
    Stopped stopped = Stopped::no;
  };
  const auto progress = std::make_shared<Progress>();
  const std::filesystem::path temporary = options_.directory / "tmp";
  UnixCancel cancel;
  std::function<void()> look = [&, progress] {
    const std::uint64_t bytes = disk_usage(temporary, most_temporary_files);
    bool asks = false;
    {
      const std::lock_guard lock(progress->mutex);
      if (progress->bytes != bytes) progress->changed = Moment::clock::now();
      progress->bytes = bytes;
      const auto silence = Moment::clock::now() - progress->changed;
      if (silence >= longest_silence) progress->stopped = Stopped::silent;
      asks = !progress->was_asked && silence >= look_at_progress && options_.is_limited;
      progress->was_asked = progress->was_asked || asks;
    }
    const bool is_limited = asks && options_.is_limited(pulling.image, login);
    const std::lock_guard lock(progress->mutex);
    if (is_limited) progress->stopped = Stopped::limited;
    if (progress->stopped != Stopped::no) cancel.cancel();
  };
  std::condition_variable ended;
  std::thread watcher([&] {
    std::unique_lock lock(progress->mutex);
    while (!ended.wait_for(lock, look_at_progress, [&] { return progress->done; })) {
      lock.unlock();
      if (ending_ || pulling.cancel.cancelled())
        cancel.cancel();
      else
        look();
      lock.lock();
    }
  });

  UnixCall call;
  call.method = "POST";
  call.target = libpod_api +
                "/images/pull?policy=always&reference=" + percent_encode(pulling.image) +
                (is_loopback(pulling.image) ? "&tlsVerify=false" : "");
  if (login != nullptr) call.headers["X-Registry-Auth"] = registry_auth(*login);
  call.silence = longest_pull;
  call.cancel = &cancel;
  std::string words;
  std::string failed;
  std::string id;
  call.receive = [&](std::string_view part) {
    words += part;
    {
      const std::lock_guard lock(progress->mutex);
      progress->changed = Moment::clock::now();
    }
    for (size_t end = words.find('\n'); end != std::string::npos; end = words.find('\n')) {
      const Json line = Json::parse(words.substr(0, end), nullptr, false);
      words.erase(0, end + 1);
      if (!line.is_object()) continue;
      if (const std::string error = text_at(line, "error"); !error.empty()) failed = error;
      if (const std::string pulled = text_at(line, "id"); !pulled.empty()) id = pulled;
    }
    return words.size() < most_progress;
  };
  const auto finish = [&] {
    {
      const std::lock_guard lock(progress->mutex);
      progress->done = true;
    }
    ended.notify_one();
    watcher.join();
  };
  try {
    const UnixAnswer answer = this->call(call);
    if (!answer.good()) failed = words_of(answer.body);
  } catch (const UnixHttpError& error) {
    finish();
    stopped = progress->stopped;
    if (error.kind() == UnixHttpError::Kind::timed_out) stopped = Stopped::silent;
    if (stopped == Stopped::no && !pulling.cancel.cancelled()) throw;
    return error.what();
  } catch (...) {
    finish();
    throw;
  }
  finish();
  const std::lock_guard lock(mutex_);
  pulling.id = id;
  if (failed.empty() && id.empty()) failed = "podman said nothing about the image";
  return failed;
}

// As a kubelet does it: if the disk is fuller than the threshold, images that no container uses
// are removed; those that were built here stay, because nobody could pull them.
void PodmanRuntime::collect_images() {
  constexpr std::uint64_t threshold = 85;  // percent (kubelet, imageGCHighThresholdPercent)
  struct statvfs room {};
  if (::statvfs(options_.directory.c_str(), &room) != 0 || room.f_blocks == 0) return;
  const std::uint64_t used = 100 - std::uint64_t{room.f_bavail} * 100 / room.f_blocks;
  if (used < threshold) return;
  const UnixAnswer answer = request("GET", "/images/json");
  if (!answer.good()) return;
  int removed = 0;
  for (const Json& one : Json::parse(answer.body, nullptr, false)) {
    if (number_at(one, "/Containers", 1) != 0) continue;
    const Json& names = at_path(one, "/RepoTags");
    const Json& digests = at_path(one, "/RepoDigests");
    const auto built_here = [](const Json& name) {
      return name.is_string() && is_local(name.get<std::string>());
    };
    if (std::any_of(names.begin(), names.end(), built_here) ||
        std::any_of(digests.begin(), digests.end(), built_here))
      continue;
    removed += request("DELETE", "/images/" + text_at(one, "Id")).good();
  }
  if (removed > 0)
    log::info("images that no container used were removed, because the disk is nearly full",
              {{"images", removed}, {"used_percent", used}});
}

}  // namespace berth::embedded::podman
