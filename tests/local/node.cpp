#include "tests/local/node.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <cstring>

#include "controller/base/crypto.h"
#include "controller/base/descriptor.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/process.h"

namespace berth::test {

using namespace std::chrono_literals;
using nlohmann::json;
namespace podman = embedded::podman;

const std::string& no_podman() {
  static const std::string why = []() -> std::string {
    const TempDir dir;
    try {
      podman::look({.directory = dir / "local"});
      return "";
    } catch (const embedded::Unusable& unusable) {
      return unusable.finding().what + " " + unusable.finding().help;
    }
  }();
  return why;
}

Node::Node(std::vector<int> public_ports) {
  options_.public_ports = std::move(public_ports);
  options_.directory = dir_ / "local";
  options_.stuck_after = std::chrono::seconds(3);
  begin();
  runtime_->runs();
}

void Node::begin() {
  runtime_ = podman::make_runtime(options_, [this](const std::string&, const std::string&) {
    const std::lock_guard lock(mutex_);
    woken_.notify_all();
  });
}

Node::~Node() {
  try {
    clean();
  } catch (const std::exception&) {
    // The case has failed before, or has said so.
  }
}

void Node::end() { runtime_.reset(); }

void Node::clean() {
  end();
  if (!cleaned_) podman::clean(options_);
  cleaned_ = true;
}

std::vector<embedded::Run> Node::begin_again() {
  end();
  begin();
  return runtime_->runs();
}

embedded::UnixAnswer Node::podman(const std::string& method, const std::string& target,
                                  const std::string& body) {
  const embedded::UnixHttp http(podman::socket_of(options_));
  embedded::UnixCall call;
  call.method = method;
  call.target = "/v4.0.0/libpod" + target;
  call.body = body;
  call.silence = 60s;
  return http.call(call);
}

std::string Node::image(const std::string& name, const std::vector<std::string>& arguments) {
  const std::string reference = "localhost/test/" + name + ":1";
  if (!images_.insert(reference).second) return reference;
  const std::filesystem::path root = dir_ / "image";
  std::filesystem::create_directories(root);
  std::filesystem::copy_file(local_app, root / "app",
                             std::filesystem::copy_options::overwrite_existing);
  const auto packed = embedded::run({.args = {"tar", "-C", root, "-cf", dir_ / "image.tar", "app"},
                                     .env = embedded::plain_environment()});
  if (!packed.good()) throw std::runtime_error(packed.errors);
  json command = json::array({"/app"});
  for (const std::string& argument : arguments) command.push_back(argument);
  const embedded::UnixHttp http(podman::socket_of(options_));
  embedded::UnixCall call;
  call.method = "POST";
  call.target = "/v4.0.0/libpod/images/import?reference=" + percent_encode(reference);
  if (!arguments.empty())
    call.target += "&changes=" + percent_encode("ENTRYPOINT " + command.dump());
  call.content_type = "application/x-tar";
  call.body = dir_.read("image.tar");
  const auto answer = http.call(call);
  if (!answer.good()) throw std::runtime_error(answer.body);
  return reference;
}

bool Node::wait(const std::function<bool()>& holds, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    std::unique_lock lock(mutex_);
    // A wake between the question and this would be missed, so it asks again by itself as well.
    woken_.wait_for(lock, 5ms);
    if (std::chrono::steady_clock::now() > until) return holds();
  }
  return true;
}

Pod::Pod(Node& node, const std::string& name, const std::string& image,
         const std::string& name_space)
    : node_(node) {
  static std::atomic<int> count = 0;
  const std::string hash = hex(sha256(name + std::to_string(++count)));
  const std::string uid = hash.substr(0, 8) + "-" + hash.substr(8, 4) + "-" + hash.substr(12, 4) +
                          "-" + hash.substr(16, 4) + "-" + hash.substr(20, 12);
  pod_ = json::parse(R"({
    "apiVersion": "v1", "kind": "Pod",
    "spec": {
      "restartPolicy": "Always",
      "securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1000,
                          "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
      "containers": [{
        "name": "app",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {"limits": {"cpu": "500m", "memory": "64Mi", "ephemeral-storage": "1Gi"},
                      "requests": {"cpu": "50m", "memory": "32Mi", "ephemeral-storage": "64Mi"}},
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": false,
                            "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}],
      "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}}]}})");
  pod_["metadata"] = {{"name", name},
                      {"namespace", name_space},
                      {"uid", uid},
                      {"labels", {{"berth/deployment", name}}}};
  spec()["image"] = image;
  env_["PORT"] = "8080";
}

Pod::~Pod() {
  if (!stays_ && node_.lives()) node_.runtime().remove(run().name_space, run().uid);
}

embedded::Run Pod::run(int number) const {
  return {.name_space = pod_["metadata"]["namespace"],
          .pod = pod_["metadata"]["name"],
          .uid = pod_["metadata"]["uid"],
          .container = "app",
          .number = number};
}

embedded::Pull Pod::pull(int number, embedded::PullPolicy policy,
                         const std::vector<embedded::RegistryLogin>& logins) {
  node_.runtime().pull(run(number), {.image = spec()["image"], .policy = policy, .logins = logins},
                       embedded::Moment::clock::now());
  std::optional<embedded::Moment> again;
  embedded::Pull pull;
  node_.wait(
      [&] {
        pull = node_.runtime().pull_state(run(number), embedded::Moment::clock::now(), again);
        return pull.stage != embedded::Pull::Stage::under_way &&
               pull.stage != embedded::Pull::Stage::looking;
      },
      120s);
  return pull;
}

void Pod::begin(int number) {
  const auto texts = [&](const char* field) {
    return spec().contains(field) ? spec()[field].get<std::vector<std::string>>()
                                  : std::vector<std::string>();
  };
  node_.runtime().start(run(number),
                        {.pod = pod_,
                         .spec = spec(),
                         .env = env_,
                         .command = texts("command"),
                         .args = texts("args")},
                        embedded::Moment::clock::now());
}

embedded::RunState Pod::start(int number) {
  pull(number);
  begin(number);
  node_.wait([&] { return state(number).stage != embedded::RunState::Stage::starting; });
  return state(number);
}

embedded::RunState Pod::state(int number) {
  std::optional<embedded::Moment> again;
  return node_.runtime().state(run(number), embedded::Moment::clock::now(), again);
}

bool Pod::wait_for(embedded::RunState::Stage stage, int number) {
  return node_.wait([&] { return state(number).stage == stage; });
}

embedded::ProbeResult Pod::probe(const nlohmann::json& probe, std::chrono::milliseconds patience,
                                 std::chrono::milliseconds timeout) {
  node_.runtime().probe(run(), embedded::ProbeKind::readiness,
                        {.probe = probe, .port = 8080, .timeout = timeout, .patience = patience},
                        embedded::Moment::clock::now());
  std::optional<embedded::ProbeResult> result;
  node_.wait([&] {
    std::optional<embedded::Moment> again;
    result = node_.runtime().probe_result(run(), embedded::ProbeKind::readiness,
                                          embedded::Moment::clock::now(), again);
    return result.has_value();
  });
  return result.value_or(embedded::ProbeResult{.succeeded = false, .message = "no result"});
}

std::string Pod::get(const std::string& path, int number) {
  const auto address = node_.runtime().address(run(number), 8080);
  if (!address) throw std::runtime_error("the container has no address");
  return http_get(*address, path);
}

std::string Pod::log(int number, std::optional<std::uint64_t> tail) {
  const auto log = node_.runtime().log(run(number), tail);
  std::string text;
  if (log)
    for (const auto& line : log->read(100'000)) text += line.text + "\n";
  return text;
}

std::string http_get(const std::string& address, const std::string& path,
                     std::chrono::milliseconds patience) {
  const size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(std::uint16_t(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = patience.count() / 1000, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    throw std::runtime_error("connect to " + address + ": " + std::strerror(errno));
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n";
  ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char part[4096];
  for (ssize_t size = 0; (size = ::recv(socket.get(), part, sizeof part, 0)) > 0;)
    answer.append(part, size_t(size));
  const size_t body = answer.find("\r\n\r\n");
  if (body == std::string::npos) throw std::runtime_error("no answer from " + address);
  return answer.substr(body + 4);
}

}  // namespace berth::test
