#include "reconcilers/embedded/node/podman/podman_runtime.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "controller/base/ascii.h"
#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/base/public_address.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/podman/confinement.h"
#include "reconcilers/embedded/node/podman/control_groups.h"
#include "reconcilers/embedded/node/podman/log_file.h"
#include "reconcilers/embedded/node/podman/prober.h"
#include "reconcilers/embedded/node/podman/words.h"
#include "reconcilers/embedded/node/simulated/images.h"

namespace berth::embedded::podman {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int call_threads = 4;
constexpr int calls_of_an_app = call_threads - 1;
// A registry that doesn't answer keeps a thread waiting for a minute.
constexpr int pull_threads = 8;
constexpr int pulls_of_an_app = 4;
constexpr std::size_t most_tasks = 20'000;

// podman creates and starts a container within a second; on a machine that is busy it takes longer.
constexpr milliseconds patience = 120s;
constexpr int most_attempts = 3;
// How often podman is asked about a container whose process has ended until it knows.
constexpr int most_looks = 100;
constexpr milliseconds look_pause = 20ms;
constexpr int cleanup_attempts = 20;
constexpr milliseconds cleanup_pause = 100ms;

constexpr std::int64_t most_pods = 4'000;
constexpr std::uint64_t room_for_pods = std::uint64_t{500} << 20;

std::string rfc3339(const std::string& podmans) {
  // 2026-11-27T00:02:27.142550082Z, or with an offset; the kubelet has whole seconds.
  constexpr size_t seconds_end = 19;
  if (podmans.size() < seconds_end || podmans.starts_with("0001")) return timestamp();
  if (podmans.back() == 'Z') return podmans.substr(0, seconds_end) + "Z";
  const std::size_t zone = podmans.find_first_of("+-", seconds_end);
  std::tm parts{};
  if (zone == std::string::npos || podmans.size() < zone + 6 ||
      ::strptime(podmans.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr)
    return timestamp();
  const int minutes = parse_number<int>(podmans.substr(zone + 1, 2)).value_or(0) * 60 +
                      parse_number<int>(podmans.substr(zone + 4, 2)).value_or(0);
  std::time_t at = ::timegm(&parts) - (podmans[zone] == '+' ? 1 : -1) * minutes * 60;
  ::gmtime_r(&at, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string filters(const std::string& label) {
  return percent_encode(Json({{"label", {label}}}).dump());
}

Json parsed(const UnixAnswer& answer) { return Json::parse(answer.body, nullptr, false); }

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return lower_case(name.data());
}

// By podman's word for the state of a container: it was made, and its program wasn't started.
bool has_never_run(std::string_view state) {
  return state == "created" || state == "configured" || state == "initialized";
}

// The address by which the machine reaches others.
std::string first_address() {
  const auto all = machine_addresses();
  const auto four = std::find_if(all.begin(), all.end(), [](const std::string& one) {
    return one.find(':') == std::string::npos;
  });
  return four == all.end() ? "127.0.0.1" : *four;
}

fs::path whole_path(const fs::path& directory) {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(fs::absolute(directory), ignored);
  return whole.empty() ? fs::absolute(directory) : whole;
}

RuntimeOptions with_directory(RuntimeOptions options) {
  options.directory = whole_path(options.directory);
  fs::create_directories(options.directory);
  return options;
}

// The names by which other containers of the app find a pod: its own, that of its Service, which is
// called as its Deployment is, and that which the owner gave the deployment.
std::vector<std::string> names_of(const Json& pod) {
  const std::string own = embedded::name_of(pod);
  std::set<std::string> names = {own};
  const Json& owners = at_path(pod, "/metadata/ownerReferences");
  // A pod of a Deployment is called DEPLOYMENT-HASH-SUFFIX.
  const size_t suffix = own.rfind('-');
  const size_t hash =
      suffix == std::string::npos || suffix == 0 ? suffix : own.rfind('-', suffix - 1);
  if (!owners.empty() && text_at(owners[0], "kind") == "ReplicaSet" && hash != std::string::npos)
    names.insert(own.substr(0, hash));
  names.insert(text_at(at_path(pod, "/metadata/labels"), "app.kubernetes.io/name"));
  names.erase("");
  return {names.begin(), names.end()};
}

// A process that does less between two looks does nothing: it answers pings.
constexpr std::uint64_t little_work = 64'000;
constexpr int looks_until_stuck = 3;

// What a process has done so far: bytes that it has read and written (proc_pid_io(5)), and a
// kilobyte for each millisecond of processor time (proc_pid_stat(5)).
std::uint64_t work_of(pid_t pid) {
  const fs::path process = fs::path("/proc") / std::to_string(pid);
  std::uint64_t work = 0;
  std::ifstream io(process / "io");
  for (std::string name; io >> name;) {
    std::uint64_t bytes = 0;
    io >> bytes;
    if (name == "rchar:" || name == "wchar:") work += bytes;
  }
  std::istringstream fields = stat_fields(pid);
  std::string skipped;
  constexpr int before_user_time = 11;
  for (int i = 0; i < before_user_time; ++i) fields >> skipped;
  std::uint64_t user = 0, system = 0;
  fields >> user >> system;
  constexpr std::uint64_t per_second = 1'000'000;
  return work + (user + system) * per_second / std::uint64_t(::sysconf(_SC_CLK_TCK));
}

// Notes a call as unanswered as long as it lives.
class Unanswered {
 public:
  Unanswered(std::mutex& mutex, std::multiset<Moment>& all) : mutex_(mutex), all_(all) {
    const std::lock_guard lock(mutex_);
    at_ = all_.insert(Moment::clock::now());
  }
  ~Unanswered() {
    const std::lock_guard lock(mutex_);
    all_.erase(at_);
  }
  Unanswered(const Unanswered&) = delete;
  Unanswered& operator=(const Unanswered&) = delete;

 private:
  std::mutex& mutex_;
  std::multiset<Moment>& all_;
  std::multiset<Moment>::iterator at_;
};

std::vector<std::string> firewall_prefix(const Machine& machine) {
  if (machine.root) return {};
  return {"podman", "unshare", "--rootless-netns"};
}

}  // namespace

RunKey key_of(const Run& run) { return {run.uid, run.container, run.number}; }

std::string instance_of(const fs::path& directory) {
  constexpr size_t digits = 6;
  return hex(sha256(whole_path(directory).string())).substr(0, digits);
}

std::string table_of(const std::string& instance) { return "berth_" + instance; }

PodmanRuntime::PodmanRuntime(const RuntimeOptions& options, Machine machine, Wake wake)
    : options_(with_directory(options)),
      instance_(instance_of(options_.directory)),
      service_(options_.directory, std::move(machine)),
      networks_(instance_,
                [this](UnixCall call) {
                  call.silence = patience;
                  return this->call(std::move(call));
                }),
      firewall_(firewall_prefix(service_.machine()), service_.environment()),
      waker_(std::move(wake)),
      pulls_(pull_threads, pulls_of_an_app, most_tasks),
      calls_(call_threads, calls_of_an_app, most_tasks) {
  if (service_.machine().root) inotify_instances_ = make_room_for_containers();
  service_.ensure();
  watch_service();
  loop_.post([this] { look_whether_stuck(); });
  disks_ = std::thread([this] { measure_disks(); });
  loop_.post([this] { sample(); });
  if (service_.machine().root) loop_.post([this] { watch_rules(); });
}

PodmanRuntime::~PodmanRuntime() {
  ending_ = true;
  cancel_.cancel();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, pulling] : pulls_under_way_) pulling->cancel.cancel();
  }
  disks_changed_.notify_all();
  disks_.join();
  pulls_.stop();
  calls_.stop();
  loop_.stop();
  waker_.stop();
}

// Calls. ------------------------------------------------------------------------------------------

UnixAnswer PodmanRuntime::call(UnixCall call, Repeat repeat) {
  if (call.cancel == nullptr) call.cancel = &cancel_;
  for (int attempt = 1;; ++attempt) {
    const Daemon asked = service_.daemon();
    try {
      // What streams may say nothing for long.
      if (call.receive) return service_.http().call(call);
      const Unanswered unanswered(mutex_, unanswered_);
      return service_.http().call(call);
    } catch (const UnixHttpError& error) {
      const bool hangs = error.kind() == UnixHttpError::Kind::timed_out;
      const bool gone = error.kind() == UnixHttpError::Kind::unreachable || hangs;
      if (!gone || attempt == most_attempts || ending_) throw;
      if (hangs && !call.receive) {
        // One that waits for itself, and does something else meanwhile, so that it doesn't look
        // stuck, answers to what needs no lock, and would go on to do so.
        log::warning("podman's service hangs and is started anew", {{"call", call.target}});
        service_.give_up(asked);
      }
      ensure_service();
      if (repeat == Repeat::no) throw;
    }
  }
}

UnixAnswer PodmanRuntime::request(const std::string& method, const std::string& target,
                                  const std::string& body) {
  UnixCall call;
  call.method = method;
  call.target = libpod_api + target;
  call.body = body;
  call.silence = patience;
  return this->call(std::move(call));
}

void PodmanRuntime::ensure_service() {
  const Daemon before = service_.daemon();
  std::string trouble;
  try {
    service_.ensure();
  } catch (const Unusable& unusable) {
    trouble = unusable.finding().what;
    log::error("podman's service isn't there", {{"reason", trouble}});
  } catch (const std::exception& error) {
    trouble = error.what();
    log::error("podman's service isn't there", {{"reason", trouble}});
  }
  {
    const std::lock_guard lock(mutex_);
    trouble_ = trouble;
  }
  if (!trouble.empty())
    throw UnixHttpError(UnixHttpError::Kind::unreachable,
                        "podman's service isn't there: " + trouble);
  if (service_.daemon().pid != before.pid) {
    log::warning("podman's service had ended and was started again; containers weren't affected");
    watch_service();
  }
}

void PodmanRuntime::watch_service() {
  loop_.post([this] {
    if (service_process_.valid()) loop_.forget(service_process_.get());
    const Daemon service = service_.daemon();
    service_process_ = end_of(service);
    service_pid_ = service.pid;
    idle_since_ = Moment::clock::now();
    const int descriptor = service_process_.get();
    if (service_process_.valid())
      loop_.watch(descriptor, EPOLLIN,
                  [this, descriptor](std::uint32_t) { on_service_end(descriptor); });
    else
      on_service_end(-1);
  });
}

void PodmanRuntime::look_whether_stuck() {
  const Moment now = Moment::clock::now();
  const std::uint64_t work = work_of(service_pid_);
  if (work > service_work_ + little_work || work < service_work_) {
    service_work_ = work;
    idle_since_ = now;
  }
  bool waits = false;
  {
    const std::lock_guard lock(mutex_);
    waits = !unanswered_.empty() && now - *unanswered_.begin() >= options_.stuck_after;
  }
  if (waits && now - idle_since_ >= options_.stuck_after && service_process_.valid()) {
    log::error("podman's service does nothing and doesn't answer, so it is started again");
    // pidfd_send_signal(2); the end is noticed as any other is.
    ::syscall(SYS_pidfd_send_signal, service_process_.get(), SIGKILL, nullptr, 0);
    idle_since_ = now;
  }
  loop_.at(now + options_.stuck_after / looks_until_stuck, [this] { look_whether_stuck(); });
}

void PodmanRuntime::on_service_end(int descriptor) {
  if (descriptor >= 0) loop_.forget(descriptor);
  service_process_ = Descriptor();
  // A service that ends as soon as it was started isn't started again at once.
  constexpr auto pause = 100ms;
  loop_.at(Moment::clock::now() + pause, [this] {
    calls_.submit("", [this] {
      if (ending_) return;
      try {
        ensure_service();
      } catch (const UnixHttpError&) {
        constexpr auto long_pause = 5s;
        loop_.post([this, long_pause] {
          loop_.at(Moment::clock::now() + long_pause, [this] { on_service_end(-1); });
        });
      }
    });
  });
}

// The node. ---------------------------------------------------------------------------------------

NodeInfo PodmanRuntime::node() const {
  const Machine& machine = service_.machine();
  NodeInfo info;
  info.name = host_name();
  info.address = first_address();
  info.cpu_millicores = std::int64_t{1000} * ::get_nprocs();
  struct sysinfo memory {};
  if (::sysinfo(&memory) == 0) info.memory_bytes = std::uint64_t{memory.totalram} * memory.mem_unit;
  struct statvfs room {};
  if (::statvfs(options_.directory.c_str(), &room) == 0)
    info.disk_bytes = std::uint64_t{room.f_blocks} * room.f_frsize;
  info.pods = std::min<std::int64_t>(most_pods, std::int64_t(machine.containers_with_users));
  info.counts_requests = true;
  info.kubelet_version = "v1.37.0";
  utsname kernel{};
  ::uname(&kernel);
  info.kernel_version = kernel.release;
  info.runtime_version = "podman://" + machine.podman;
  return info;
}

std::vector<Finding> PodmanRuntime::findings() const {
  std::vector<Finding> all = service_.machine().findings;
  const std::lock_guard lock(mutex_);
  if (!trouble_.empty())
    all.push_back({"podman's service isn't there, so no container can be started or ended: " +
                       trouble_ + " Running containers keep running.",
                   "Its log has more: " + (options_.directory / "podman.log").string()});
  return all;
}

std::string PodmanRuntime::no_room_for(const Json&) const {
  struct statvfs room {};
  if (::statvfs(options_.directory.c_str(), &room) != 0) return "";
  return std::uint64_t{room.f_bavail} * room.f_frsize < room_for_pods
             ? "Insufficient ephemeral-storage"
             : "";
}

// Containers that exist. --------------------------------------------------------------------------

std::vector<Run> PodmanRuntime::runs() {
  networks_.load();
  const UnixAnswer answer =
      request("GET", "/containers/json?all=true&filters=" +
                         filters(std::string(instance_label) + "=" + instance_));
  if (!answer.good()) throw std::runtime_error(words_of(answer.body));
  for (const Json& listed : parsed(answer)) adopt(listed);
  remove_leftovers();
  std::vector<Run> found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, container] : containers_) found.push_back(container->run);
  }
  firewall_.doubt();
  return found;
}

void PodmanRuntime::adopt(const Json& listed) {
  const Json& labels = at_path(listed, "/Labels");
  const auto container = std::make_shared<Container>();
  container->run = {.name_space = text_at(labels, namespace_label),
                    .pod = text_at(labels, pod_label),
                    .uid = text_at(labels, uid_label),
                    .container = text_at(labels, container_label),
                    .number = parse_number<int>(text_at(labels, run_label)).value_or(-1)};
  container->name = name_of(container->run);
  container->id = text_at(listed, "Id");
  const std::string state = text_at(listed, "State");
  // One that was created and never started is none: berthd ended in between.
  if (container->run.uid.empty() || container->run.number < 0 || has_never_run(state) ||
      state == "removing") {
    remove_by_podman(container->id, container->id);
    return;
  }
  container->facts = pod_facts(Json::parse(text_at(labels, facts_label), nullptr, false));
  container->address = text_at(labels, address_label);
  networks_.keep_address(container->run.uid, container->run.name_space, container->address);
  container->log =
      options_.directory / "logs" / container->run.uid /
      (container->run.container + "_" + std::to_string(container->run.number) + ".log");
  container->state.container_id = "podman://" + container->id;
  container->state.image = full_reference(text_at(labels, image_label));
  container->state.image_id = container->facts.image_id;
  container->state.address = container->address;
  {
    const std::lock_guard lock(mutex_);
    containers_[key_of(container->run)] = container;
  }
  look_after_start(container);
}

// Directories of pods that have no container any more.
void PodmanRuntime::remove_leftovers() {
  std::set<std::string> uids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, container] : containers_) uids.insert(container->run.uid);
  }
  for (const char* part : {"logs", "pods"}) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(options_.directory / part, ignored))
      if (!uids.contains(entry.path().filename().string())) fs::remove_all(entry.path(), ignored);
  }
}

PodmanRuntime::ContainerPtr PodmanRuntime::find(const Run& run) const {
  const auto found = containers_.find(key_of(run));
  return found == containers_.end() ? nullptr : found->second;
}

std::string PodmanRuntime::name_of(const Run& run) const {
  return "b" + instance_ + "-" + run.uid + "-" + run.container + "-" + std::to_string(run.number);
}

// What happens to one pod happens in turn.
std::shared_ptr<std::mutex> PodmanRuntime::mutex_of(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  auto mutex = pod_mutexes_[uid].lock();
  if (!mutex) pod_mutexes_[uid] = mutex = std::make_shared<std::mutex>();
  if (pod_mutexes_.size() > std::size_t{most_pods})
    std::erase_if(pod_mutexes_, [](const auto& entry) { return entry.second.expired(); });
  return mutex;
}

// Start. ------------------------------------------------------------------------------------------

void PodmanRuntime::start(const Run& run, const StartRequest& request, Moment) {
  Start start{.pod = request.pod,
              .spec = request.spec,
              .env = request.env,
              .command = request.command,
              .args = request.args,
              .image = full_reference(text_at(request.spec, "image")),
              .image_id = ""};
  ContainerPtr container;
  {
    const std::lock_guard lock(mutex_);
    container = find(run);
    if (container && container->state.stage != RunState::Stage::refused) return;
    container = std::make_shared<Container>();
    container->run = run;
    container->name = name_of(run);
    container->state.stage = RunState::Stage::starting;
    container->state.image = start.image;
    container->facts = facts_of(request.pod, request.spec);
    container->log = options_.directory / "logs" / run.uid /
                     (run.container + "_" + std::to_string(run.number) + ".log");
    if (const auto pulled = pulls_under_way_.find(key_of(run)); pulled != pulls_under_way_.end()) {
      start.image = pulled->second->id.empty() ? start.image : pulled->second->id;
      start.image_id = pulled->second->image_id;
      container->facts.image_id = start.image_id;
    }
    container->state.image_id = start.image_id;
    containers_[key_of(run)] = container;
  }
  if (!calls_.submit(run.name_space, [this, container, start] { start_now(container, start); }))
    refuse(container, "CreateContainerError", "the node is busy: context deadline exceeded");
}

void PodmanRuntime::refuse(const ContainerPtr& container, const std::string& reason,
                           const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    container->state.stage = RunState::Stage::refused;
    container->state.reason = reason;
    container->state.message = message;
    *container->log_end = true;
    // No container has the image, so it may be removed until the next try, which pulls it again.
    pulls_under_way_.erase(key_of(container->run));
  }
  wake(container->run);
}

void PodmanRuntime::start_now(const ContainerPtr& container, const Start& start) {
  const auto mutex = mutex_of(container->run.uid);
  const std::lock_guard one_at_a_time(*mutex);
  {
    const std::lock_guard lock(mutex_);
    if (container->removed || ending_) return;
  }
  try {
    bool made = false;
    const Network network = networks_.ensure(container->run.name_space, made);
    const std::string address = networks_.address_of(container->run.uid, container->run.name_space);
    {
      const std::lock_guard lock(mutex_);
      container->address = address;
      container->state.address = address;
    }
    // Before the first container of a network runs, its rules hold; a pod may have rules of its
    // own.
    set_rules();
    if (!create(container, start, network)) return;
    const UnixAnswer answer = start_by_podman(container->name);
    if (!answer.good() && answer.status != 304) {
      const Failure failure = start_failure(answer.body);
      remove_by_podman(container);
      return refuse(container, failure.reason, failure.message);
    }
    look_after_start(container);
  } catch (const UnixHttpError& error) {
    if (error.kind() == UnixHttpError::Kind::cancelled) return;  // this runtime ends
    refuse(container, "CreateContainerError",
           std::string("context deadline exceeded: ") + error.what());
  } catch (const std::exception& error) {
    refuse(container, "CreateContainerError", error.what());
  }
}

fs::path PodmanRuntime::volumes_of(const std::string& uid) const {
  return options_.directory / "pods" / uid;
}

// A file is replaced as a whole, so that nobody reads a part of a token. The directory is mounted
// read-only, so that nobody but berthd puts anything there.
std::optional<TokenFailure> PodmanRuntime::write_tokens(const std::string& uid,
                                                        const std::vector<TokenFile>& files) {
  for (const TokenFile& file : files) {
    const auto failure = [&](const std::string& why) {
      return TokenFailure{.volume = file.volume, .why = "write " + file.path + ": " + why};
    };
    try {
      const fs::path target = volumes_of(uid) / file.volume / file.path;
      fs::create_directories(target.parent_path());
      // The container's user is none of this machine's. Other users don't reach the directory.
      ::chmod(target.parent_path().c_str(), 0755);
      const fs::path fresh = target.parent_path() / ".new";
      {
        errno = 0;
        std::ofstream out(fresh, std::ios::trunc);
        out << file.token;
        if (!out.flush()) return failure(std::generic_category().message(errno));
      }
      ::chmod(fresh.c_str(), 0644);
      fs::rename(fresh, target);
    } catch (const fs::filesystem_error& error) {
      return failure(error.code().message());
    }
  }
  return std::nullopt;
}

bool PodmanRuntime::create(const ContainerPtr& container, const Start& start,
                           const Network& network) {
  Placement place;
  place.instance = instance_;
  place.name = container->name;
  place.image = start.image;
  place.image_id = start.image_id;
  place.network = network.name;
  place.address = container->address;
  place.mac = hardware_address(container->address);
  place.aliases = names_of(start.pod);
  place.log = container->log;
  place.volumes = volumes_of(container->run.uid);
  const CreateRequest wanted = create_request(container->run,
                                              {.pod = start.pod,
                                               .spec = start.spec,
                                               .env = start.env,
                                               .command = start.command,
                                               .args = start.args},
                                              place, service_.machine());
  if (!wanted.refusal.empty()) {
    refuse(container, "CreateContainerError", wanted.refusal);
    return false;
  }
  for (const fs::path& directory : wanted.directories) {
    fs::create_directories(directory);
    // As the kubelet makes an emptyDir.
    if (directory != place.log.parent_path()) ::chmod(directory.c_str(), 02777);
  }
  for (int attempt = 1;; ++attempt) {
    const UnixAnswer answer = request("POST", "/containers/create", wanted.body.dump());
    if (answer.good()) {
      const std::lock_guard lock(mutex_);
      container->id = text_at(parsed(answer), "Id");
      return true;
    }
    // It exists if an earlier call's answer was lost, or if berthd ended in between.
    const std::string words = words_of(answer.body);
    if (attempt == most_attempts || words.find("already in use") == std::string::npos) {
      const Failure failure = create_failure(answer.body);
      refuse(container, failure.reason, failure.message);
      return false;
    }
    const UnixAnswer other = request("GET", "/containers/" + container->name + "/json");
    remove_by_podman(container->name, other.good() ? text_at(parsed(other), "Id") : "");
  }
}

// Starts the container if it has never run. podman itself would also start one again that has ended
// since an earlier request whose answer was lost, and a command would run twice.
UnixAnswer PodmanRuntime::start_once(const std::string& name) {
  constexpr int has_started = 304;  // "container already started"
  UnixCall start;
  start.method = "POST";
  start.target = libpod_api + ("/containers/" + name) + "/start";
  start.silence = patience;
  for (int attempt = 1;; ++attempt) {
    try {
      return call(start, Repeat::no);
    } catch (const UnixHttpError& error) {
      if (error.kind() == UnixHttpError::Kind::cancelled || attempt == most_attempts || ending_)
        throw;
    }
    const UnixAnswer answer = request("GET", "/containers/" + name + "/json");
    if (answer.good() && !has_never_run(text_at(at_path(parsed(answer), "/State"), "Status")))
      return {.status = has_started, .body = {}};
  }
}

UnixAnswer PodmanRuntime::start_by_podman(const std::string& name) {
  // While podman cleans up after the pod's container before, that one still has the pod's address.
  for (int attempt = 1;; ++attempt) {
    UnixAnswer answer = start_once(name);
    if (answer.good() || attempt == cleanup_attempts || ending_ ||
        words_of(answer.body).find("already allocated") == std::string::npos)
      return answer;
    std::this_thread::sleep_for(cleanup_pause);
  }
}

void PodmanRuntime::look_after_start(const ContainerPtr& container) {
  const UnixAnswer answer = request("GET", "/containers/" + container->name + "/json");
  const Json inspected = answer.good() ? parsed(answer) : Json();
  // A podman that was killed while it started the container may have made a process that waits for
  // ever, and then says that there is nothing to start.
  if (has_never_run(text_at(at_path(inspected, "/State"), "Status"))) {
    remove_by_podman(container);
    return refuse(container, "CreateContainerError", "podman was interrupted during the start");
  }
  if (!answer.good()) {
    const std::lock_guard lock(mutex_);
    container->state.stage = RunState::Stage::running;
    container->state.started_at = timestamp();
  } else {
    take_running(container, inspected);
  }
  bool runs = false;
  pid_t pid = 0;
  {
    const std::lock_guard lock(mutex_);
    runs = container->process.valid();
    pid = container->pid;
  }
  if (runs && service_.machine().root) limit_kernel_use(pid, inotify_instances_);
  if (runs) {
    watch_process(container);
    wake(container->run);
  } else {
    finish(container);
  }
}

void PodmanRuntime::take_running(const ContainerPtr& container, const Json& inspected) {
  const Json& state = at_path(inspected, "/State");
  const pid_t pid = pid_t(number_at(state, "/Pid", 0));
  Descriptor process;
  CgroupPaths cgroups;
  if (pid > 0) {
    process = Descriptor(int(::syscall(SYS_pidfd_open, pid, 0)));
    // By now the id might be another process's.
    if (!belongs_to(pid, text_at(inspected, "Id"))) process = Descriptor();
    cgroups = own_cgroups_of(pid);
  }
  const std::lock_guard lock(mutex_);
  container->id = text_at(inspected, "Id");
  container->pid = pid;
  container->process = std::move(process);
  container->cgroups = cgroups;
  container->upper = text_at(at_path(inspected, "/GraphDriver/Data"), "UpperDir");
  container->stop_signal = int(number_at(inspected, "/Config/StopSignal", SIGTERM));
  const Json& ports = at_path(inspected, "/NetworkSettings/Ports");
  if (ports.is_object())
    for (const auto& [port, bindings] : ports.items())
      if (bindings.is_array() && !bindings.empty())
        container->host_ports[parse_number<int>(port.substr(0, port.find('/'))).value_or(0)] =
            parse_number<int>(text_at(bindings[0], "HostPort")).value_or(0);
  container->state.stage = RunState::Stage::running;
  container->state.container_id = "podman://" + container->id;
  container->state.started_at = rfc3339(text_at(state, "StartedAt"));
}

void PodmanRuntime::watch_process(const ContainerPtr& container) {
  loop_.post([this, container] {
    int descriptor = -1;
    std::optional<Moment> kill_at;
    {
      const std::lock_guard lock(mutex_);
      descriptor = container->process.get();
      kill_at = container->kill_at;
      if (kill_at && descriptor >= 0 && !container->signalled) {
        // stop() was called while it was being started.
        container->signalled = true;
        signal(container, container->stop_signal);
      }
    }
    if (descriptor < 0) return;
    loop_.watch(descriptor, EPOLLIN, [this, container](std::uint32_t) { on_end(container); });
    if (kill_at) schedule_kill(container, *kill_at);
  });
}

// The end of a run. -------------------------------------------------------------------------------

void PodmanRuntime::on_end(const ContainerPtr& container) {
  // The control group exists until podman has cleaned up, which takes it some 50 ms.
  const bool out_of_memory = out_of_memory_kills(container->cgroups) > 0;
  {
    const std::lock_guard lock(mutex_);
    loop_.forget(container->process.get());
    container->process = Descriptor();
    if (out_of_memory) container->state.reason = "OOMKilled";
  }
  calls_.submit(container->run.name_space, [this, container] { finish(container); });
}

void PodmanRuntime::finish(const ContainerPtr& container) {
  {
    const std::lock_guard lock(mutex_);
    if (container->finishing || container->removed) return;
    container->finishing = true;
  }
  const auto done = [this, &container](const Json& state) {
    bool out_of_memory = false;
    {
      const std::lock_guard lock(mutex_);
      out_of_memory = container->state.reason == "OOMKilled";
    }
    take_end(container, state, out_of_memory);
    wake(container->run);
  };
  try {
    for (int look = 0; look < most_looks && !ending_; ++look) {
      const UnixAnswer answer = request("GET", "/containers/" + container->name + "/json");
      if (answer.status == 404) break;  // somebody removed it
      const Json inspected = parsed(answer);
      const std::string status = text_at(at_path(inspected, "/State"), "Status");
      if (answer.good() && status != "running" && status != "stopping" && status != "paused")
        return done(at_path(inspected, "/State"));
      std::this_thread::sleep_for(look_pause);
    }
  } catch (const UnixHttpError& error) {
    if (error.kind() == UnixHttpError::Kind::cancelled) return;
  }
  if (!ending_) done({{"ExitCode", 137}});
}

void PodmanRuntime::take_end(const ContainerPtr& container, const Json& state, bool out_of_memory) {
  const int code = int(number_at(state, "/ExitCode", 0));
  const std::string words = last_words(container->log);
  const std::lock_guard lock(mutex_);
  RunState& known = container->state;
  known.stage = RunState::Stage::ended;
  known.exit_code = code;
  out_of_memory = out_of_memory || at_path(state, "/OOMKilled") == true;
  known.reason = code == 0 ? "Completed" : out_of_memory ? "OOMKilled" : "Error";
  known.message = words;
  if (const std::string started = text_at(state, "StartedAt"); !started.empty())
    known.started_at = rfc3339(started);
  known.finished_at = rfc3339(text_at(state, "FinishedAt"));
  // podman takes its time of the start a moment after the process began.
  if (known.finished_at < known.started_at) known.finished_at = known.started_at;
  container->usage.reset();
  *container->log_end = true;
}

RunState PodmanRuntime::state(const Run& run, Moment, std::optional<Moment>&) {
  const std::lock_guard lock(mutex_);
  const ContainerPtr container = find(run);
  if (!container) return {};
  RunState state = container->state;
  if (state.stage == RunState::Stage::running) state.reason.clear();
  return state;
}

void PodmanRuntime::signal(const ContainerPtr& container, int number) {
  if (container->process.valid() &&
      ::syscall(SYS_pidfd_send_signal, container->process.get(), number, nullptr, 0) == 0)
    return;
  // Without root, the container's users are others than berthd's, and podman has to do it.
  const std::string target =
      "/containers/" + container->name + "/kill?signal=" + std::to_string(number);
  calls_.submit(container->run.name_space, [this, target] {
    try {
      request("POST", target);
    } catch (const UnixHttpError&) {
      // The end of berthd; the next one is told again.
    }
  });
}

void PodmanRuntime::schedule_kill(const ContainerPtr& container, Moment at) {
  loop_.at(at, [this, container, at] {
    const std::lock_guard lock(mutex_);
    const bool is_current = container->kill_at == at;
    if (is_current && container->state.stage == RunState::Stage::running)
      signal(container, SIGKILL);
  });
}

void PodmanRuntime::stop(const Run& run, milliseconds grace, Moment now) {
  const std::lock_guard lock(mutex_);
  const ContainerPtr container = find(run);
  if (!container || (container->state.stage != RunState::Stage::running &&
                     container->state.stage != RunState::Stage::starting))
    return;
  const Moment at = now + grace;
  if (container->kill_at && *container->kill_at <= at) return;
  container->kill_at = at;
  if (container->state.stage == RunState::Stage::starting) return;  // see watch_process()
  if (!container->signalled) {
    container->signalled = true;
    signal(container, grace > 0ms ? container->stop_signal : SIGKILL);
  }
  loop_.post([this, container, at] { schedule_kill(container, at); });
}

// Other limits. -----------------------------------------------------------------------------------

Resize PodmanRuntime::resize(const Run& run, const Json& spec, Moment) {
  Json limits = resource_limits(spec, service_.machine());
  ContainerPtr container;
  {
    const std::lock_guard lock(mutex_);
    container = find(run);
    if (!container || container->state.stage != RunState::Stage::running) return {};
    if (container->resized_to == limits) return container->resizing;
    container->resized_to = limits;
    container->resizing = {};
  }
  if (calls_.submit(run.name_space, [this, container, limits] { resize_now(container, limits); }))
    return {};
  const std::lock_guard lock(mutex_);
  container->resized_to = nullptr;  // to be tried again at the next look
  return {};
}

// The kernel would end what uses more memory than the new limit, so that is looked at before.
void PodmanRuntime::resize_now(const ContainerPtr& container, const Json& limits) {
  const auto mutex = mutex_of(container->run.uid);
  const std::lock_guard one_at_a_time(*mutex);
  CgroupPaths cgroups;
  {
    const std::lock_guard lock(mutex_);
    // The newest limits count; those before needn't be set.
    if (container->removed || ending_ || container->resized_to != limits) return;
    cgroups = container->cgroups;
  }
  Resize done{.stage = Resize::Stage::done};
  const auto used = working_set(cgroups);
  const std::int64_t limit = number_at(limits, "/memory/limit", 0);
  if (limit > 0 && used && *used >= std::uint64_t(limit)) {
    done = {.stage = Resize::Stage::failed,
            .message = "attempting to set pod memory limit below current usage"};
  } else if (!limits.empty()) {
    try {
      const UnixAnswer answer =
          request("POST", "/containers/" + container->name + "/update", limits.dump());
      if (!answer.good()) done = {.stage = Resize::Stage::failed, .message = words_of(answer.body)};
    } catch (const UnixHttpError& error) {
      if (error.kind() == UnixHttpError::Kind::cancelled) return;
      done = {.stage = Resize::Stage::failed, .message = error.what()};
    }
  }
  {
    const std::lock_guard lock(mutex_);
    if (container->resized_to == limits) container->resizing = std::move(done);
  }
  wake(container->run);
}

// Removal. ----------------------------------------------------------------------------------------

void PodmanRuntime::remove_by_podman(const std::string& name, const std::string& id) {
  // While podman cleans up after a container that has just ended, it can't remove it.
  for (int attempt = 1; !ending_; ++attempt) {
    const UnixAnswer answer =
        request("DELETE", "/containers/" + name + "?force=true&timeout=0&v=true");
    if (answer.good() || answer.status == 404) return remove_remains(id);
    if (attempt == cleanup_attempts) {
      log::warning("podman doesn't remove a container",
                   {{"container", name}, {"reason", words_of(answer.body)}});
      return;
    }
    std::this_thread::sleep_for(cleanup_pause);
  }
}

void PodmanRuntime::remove_by_podman(const ContainerPtr& container) {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    id = container->id;
  }
  remove_by_podman(container->name, id);
}

void PodmanRuntime::remove(const Run& run) {
  ContainerPtr container;
  {
    const std::lock_guard lock(mutex_);
    container = find(run);
    containers_.erase(key_of(run));
    if (const auto found = pulls_under_way_.find(key_of(run)); found != pulls_under_way_.end()) {
      found->second->cancel.cancel();
      pulls_under_way_.erase(found);
    }
    if (container) container->removed = true;
  }
  if (!container) return;
  calls_.submit(run.name_space, [this, container] {
    const auto mutex = mutex_of(container->run.uid);
    const std::lock_guard one_at_a_time(*mutex);
    try {
      remove_by_podman(container);
      std::error_code ignored;
      fs::remove(container->log, ignored);
    } catch (const UnixHttpError&) {
      // The next berthd finds it, and the kubelet removes it again.
    }
  });
}

void PodmanRuntime::remove(const std::string& name_space, const std::string& uid) {
  std::vector<ContainerPtr> containers;
  {
    const std::lock_guard lock(mutex_);
    const RunKey first{uid, "", std::numeric_limits<int>::min()};
    for (auto at = containers_.lower_bound(first);
         at != containers_.end() && std::get<0>(at->first) == uid; at = containers_.erase(at)) {
      at->second->removed = true;
      containers.push_back(at->second);
    }
    for (auto at = pulls_under_way_.lower_bound(first);
         at != pulls_under_way_.end() && std::get<0>(at->first) == uid;
         at = pulls_under_way_.erase(at))
      at->second->cancel.cancel();
  }
  calls_.submit(name_space, [this, uid, containers] {
    const auto mutex = mutex_of(uid);
    const std::lock_guard one_at_a_time(*mutex);
    try {
      for (const ContainerPtr& container : containers) remove_by_podman(container);
      std::error_code ignored;
      fs::remove_all(options_.directory / "pods" / uid, ignored);
      fs::remove_all(options_.directory / "logs" / uid, ignored);
      networks_.release(uid);
      set_rules();
    } catch (const std::exception& error) {
      // The next berthd finds what is left, and the kubelet removes it again.
      if (!ending_)
        log::warning("a pod's remains couldn't be removed",
                     {{"uid", uid}, {"reason", error.what()}});
    }
  });
}

// Networks and rules. -----------------------------------------------------------------------------

FirewallPlan PodmanRuntime::firewall_plan() const {
  FirewallPlan plan;
  plan.table = table_of(instance_);
  plan.networks = networks_.all();
  plan.public_addresses = machine_addresses();
  plan.public_ports = options_.public_ports;
  const std::lock_guard lock(mutex_);
  plan.policies = policies_;
  for (const auto& [key, container] : containers_)
    if (container->state.stage == RunState::Stage::running ||
        container->state.stage == RunState::Stage::starting)
      plan.pods.push_back({.name_space = container->run.name_space,
                           .address = container->address,
                           .labels = container->facts.labels});
  return plan;
}

// A plan is set before the next one is made: an older one that is set later would leave out what
// has started in between.
void PodmanRuntime::set_rules() {
  {
    const std::lock_guard lock(mutex_);
    rules_pending_ = false;
  }
  if (!service_.machine().root) return;
  const std::lock_guard one_at_a_time(rules_mutex_);
  firewall_.set(firewall_plan());
}

// Each change of the rules is a new table, too, so that what happens within a moment is looked at
// once.
void PodmanRuntime::watch_rules() {
  tables_ = watch_tables();
  if (!tables_.valid()) return;
  const auto waits = std::make_shared<bool>(false);
  loop_.watch(tables_.get(), EPOLLIN, [this, waits](std::uint32_t) {
    if (!was_table_removed(tables_.get()) || *waits) return;
    *waits = true;
    constexpr auto pause = 100ms;
    loop_.at(Moment::clock::now() + pause, [this, waits] {
      *waits = false;
      calls_.submit("", [this] { check_rules(); });
    });
  });
}

// Somebody may have removed the rules, and the machine may have other addresses than before.
void PodmanRuntime::check_rules() {
  if (!service_.machine().root || ending_) return;
  if (!firewall_.holds(table_of(instance_))) {
    log::warning(
        "the rules of containers' networks were removed from the machine and are set again");
    firewall_.doubt();
  }
  try {
    set_rules();
  } catch (const std::exception& error) {
    log::error("the rules of containers' networks can't be set", {{"reason", error.what()}});
  }
}

void PodmanRuntime::set_policies(const std::string& name_space, std::vector<ObjectPtr> policies) {
  {
    const std::lock_guard lock(mutex_);
    if (policies.empty())
      policies_.erase(name_space);
    else
      policies_[name_space] = std::move(policies);
    if (rules_pending_) return;
    rules_pending_ = true;
  }
  calls_.submit("", [this] {
    try {
      set_rules();
    } catch (const std::exception& error) {
      log::error("the rules of containers' networks can't be set", {{"reason", error.what()}});
    }
  });
}

void PodmanRuntime::remove_namespace(const std::string& name_space) {
  {
    const std::lock_guard lock(mutex_);
    policies_.erase(name_space);
  }
  calls_.submit(name_space, [this, name_space] {
    try {
      networks_.remove(name_space);
      set_rules();
    } catch (const std::exception& error) {
      log::warning("a namespace's network couldn't be removed",
                   {{"namespace", name_space}, {"reason", error.what()}});
    }
  });
}

// Probes, logs, addresses. ------------------------------------------------------------------------

void PodmanRuntime::probe(const Run& run, ProbeKind kind, const ProbeRequest& request, Moment) {
  Probe probe;
  ContainerPtr container;
  const Json& get = at_path(request.probe, "/httpGet");
  {
    const std::lock_guard lock(mutex_);
    container = find(run);
    if (!container || container->state.stage != RunState::Stage::running) return;
    ProbeSlot& slot = container->probes[kind];
    if (slot.under_way) return;
    slot.result.reset();
    if (get.is_null() && at_path(request.probe, "/tcpSocket").is_null()) {
      slot.result = {.succeeded = false, .message = "this node makes only HTTP and TCP probes"};
      return wake(run);
    }
    slot.under_way = true;
    probe.shown = container->address + ":" + std::to_string(request.port);
    const auto published = container->host_ports.find(request.port);
    probe.behind_proxy = published != container->host_ports.end();
    probe.address = probe.behind_proxy ? "127.0.0.1" : container->address;
    probe.port = probe.behind_proxy ? published->second : request.port;
  }
  // A kubelet doesn't check certificates, so that of HTTPS only the connection is left.
  probe.http = !get.is_null() && text_at(get, "scheme") != "HTTPS";
  if (const std::string path = text_at(get, "path"); !path.empty())
    probe.path = path.front() == '/' ? path : "/" + path;
  for (const Json& header : at_path(get, "/httpHeaders"))
    probe.headers.emplace_back(text_at(header, "name"), text_at(header, "value"));
  probe.timeout = std::max(request.timeout, 1ms);
  probe.patience = request.patience;
  loop_.post([this, container, kind, probe] {
    begin_probe(loop_, probe, [this, container, kind](const ProbeResult& result) {
      {
        const std::lock_guard lock(mutex_);
        container->probes[kind] = {.under_way = false, .result = result};
      }
      wake(container->run);
    });
  });
}

std::optional<ProbeResult> PodmanRuntime::probe_result(const Run& run, ProbeKind kind, Moment,
                                                       std::optional<Moment>&) {
  const std::lock_guard lock(mutex_);
  const ContainerPtr container = find(run);
  if (!container) return std::nullopt;
  return std::exchange(container->probes[kind].result, std::nullopt);
}

std::shared_ptr<RunLog> PodmanRuntime::log(const Run& run,
                                           std::optional<std::uint64_t> tail_lines) const {
  ContainerPtr container;
  {
    const std::lock_guard lock(mutex_);
    container = find(run);
  }
  if (!container) return nullptr;
  return open_log(container->log, container->log_end, tail_lines);
}

std::optional<std::string> PodmanRuntime::address(const Run& run, int port) const {
  const std::lock_guard lock(mutex_);
  const ContainerPtr container = find(run);
  if (!container || container->state.stage != RunState::Stage::running) return std::nullopt;
  if (service_.machine().root) return container->address + ":" + std::to_string(port);
  const auto published = container->host_ports.find(port);
  if (published == container->host_ports.end()) return std::nullopt;
  return "127.0.0.1:" + std::to_string(published->second);
}

std::optional<Usage> PodmanRuntime::usage(const Run& run) const {
  const std::lock_guard lock(mutex_);
  const ContainerPtr container = find(run);
  return container ? container->usage : std::nullopt;
}

// Making and removing all of it. ------------------------------------------------------------------

std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options, Runtime::Wake wake) {
  const RuntimeOptions known = with_directory(options);
  return std::make_unique<PodmanRuntime>(known, look_at_machine(known.directory), std::move(wake));
}

std::vector<Finding> look(const RuntimeOptions& options) {
  const bool existed = fs::exists(options.directory);
  const RuntimeOptions known = with_directory(options);
  const Machine machine = look_at_machine(known.directory);
  std::error_code ignored;
  if (!existed) fs::remove(known.directory, ignored);
  return machine.findings;
}

fs::path socket_of(const RuntimeOptions& options) {
  return whole_path(options.directory) / "podman.sock";
}

}  // namespace berth::embedded::podman
