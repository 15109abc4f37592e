#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <set>

#include "controller/domain/kernel/audit.h"
#include "reconcilers/cluster/isolation_pod.h"
#include "reconcilers/cluster/isolation_probe.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Status;
using isolation::State;
using nlohmann::json;

namespace {

const std::string image = "registry.example.org/berth:1";

const ProbeTenant one = {.addresses = {"10.244.0.5", "fd00::5"}, .service = "10.96.0.5"};
const ProbeTenant two = {.addresses = {"10.244.0.6", "fd00::6"}, .service = "10.96.0.6"};

ProbeSurroundings surroundings() {
  return {.nodes = {"192.0.2.10"},
          .api_servers = {{"API server", "192.0.2.20", 6443}},
          .berthd = {{"berthd", "10.244.0.9", 8080}},
          .system = {{"a port in kube-system", "10.244.0.2", 9153}},
          .cluster_ranges = {parse_address_range("198.51.100.0/24").value()},
          .internet = "203.0.113.7"};
}

// The answers that a container gets where policies are enforced.
ProbeAnswers enforced(const std::vector<std::string>& targets, const std::string& own) {
  ProbeAnswers answers;
  for (const std::string& target : targets)
    answers[target] =
        target.contains("@dns") || target == "tcp/" + own + "/3000" ? "answer" : "silence";
  return answers;
}

std::vector<std::string> targets_of(const std::vector<isolation::Path>& paths) {
  std::vector<std::string> targets;
  for (const isolation::Path& path : paths) targets.push_back(path.target);
  return targets;
}

// The paths of two tenants, and answers as where policies are enforced.
struct Tried {
  std::vector<isolation::Path> paths = probe_paths("one", one, two, surroundings());
  std::map<std::string, ProbeAnswers> answers = {
      {"one", enforced(targets_of(paths), "10.244.0.5")}};
  Tried() {
    const auto back = probe_paths("two", two, one, surroundings());
    answers["two"] = enforced(targets_of(back), "10.244.0.6");
    paths.insert(paths.end(), back.begin(), back.end());
  }
  isolation::Report report() const { return judge(paths, answers, Instant()); }
};

std::vector<std::string> open_targets(const isolation::Report& report) {
  std::vector<std::string> open;
  for (const isolation::Path& path : report.paths)
    if (path.wanted == isolation::Wanted::shut && path.result == isolation::Result::open)
      open.push_back(path.target);
  return open;
}

// A probe on a simulated cluster, which runs no containers: the test answers for them.
class ProbeWorld {
 public:
  ProbeWorld() {
    parts.limits = {.starting = std::chrono::seconds(20),
                    .answering = std::chrono::seconds(20),
                    .rights = std::chrono::seconds(2),
                    .look_again = std::chrono::milliseconds(10)};
  }

  embedded::Cluster cluster{quick()};
  World world{config_of(cluster), "probed"};
  std::string opened;  // every target that contains this answers
  bool leads = true;
  bool stops = false;
  std::function<void()> while_running = [] {};
  IsolationProbe::Parts parts = {
      .database = world.database(),
      .client = world.client(),
      .clock = world.clock(),
      .settings = world.settings(),
      .image = [] { return std::string(image); },
      .surroundings = surroundings,
      .leads = [this] { return leads; },
      .stopping = [this] { return stops; },
      .changed = {},
      .read_log = [this](const std::string& space,
                         const std::string& pod) { return log_of(space, pod); }};

  isolation::Known known() { return world.database().read(isolation::known); }
  State state() { return isolation::state_of(known(), world.clock().now()); }
  std::string why_to_wait() { return isolation::why_to_wait(known(), world.clock().now()); }
  std::vector<Object> namespaces() {
    return world.client()
        .list(kube::namespaces, {.name_space = "",
                                 .label_selector = "berth/instance=probed-isolation",
                                 .field_selector = ""})
        .items;
  }
  bool is_clean() {
    return eventually([this] { return namespaces().empty(); });
  }

  // What the container would have written, had it run with the arguments of its Deployment.
  std::string log_of(const std::string& space, const std::string& pod_name) {
    while_running();
    const auto pod = world.client().get(kube::pods, space, pod_name);
    const json& container = pod->at("spec").at("containers").at(0);
    auto words = container.at("args").get<std::vector<std::string>>();
    words.erase(words.begin());
    const ProbePod pod_of = read_probe_arguments(words);
    json answers = json::object();
    const std::string own = own_address(space);
    for (const auto& [target, answer] : enforced(pod_of.targets, own))
      answers[target] = !opened.empty() && target.contains(opened) ? "answer" : answer;
    return "starting\n" + json{{"probe", "another"}, {"answers", json::object()}}.dump() + "\n" +
           json{{"probe", pod_of.nonce}, {"answers", answers}}.dump() + "\n";
  }

 private:
  // The address of the pod in the namespace that listens.
  std::string own_address(const std::string& space) {
    for (const Object& pod :
         world.client()
             .list(kube::pods, {.name_space = space,
                               .label_selector = "app.kubernetes.io/name=listens",
                               .field_selector = ""})
             .items)
      return text_at(pod, {"status", "podIP"});
    return "";
  }
};

// A socket that listens on a port of 127.0.0.1.
class Listening {
 public:
  Listening() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    auto* address = reinterpret_cast<sockaddr*>(&here);
    REQUIRE(::bind(fd_, address, size) == 0);
    REQUIRE(::listen(fd_, 1) == 0);
    REQUIRE(::getsockname(fd_, address, &size) == 0);
    port_ = ntohs(here.sin_port);
  }
  ~Listening() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  std::string target() const { return "tcp/127.0.0.1/" + std::to_string(port_); }

 private:
  int fd_;
  int port_ = 0;
};

}  // namespace

TEST_CASE("isolation: where policies are enforced, every path is as wanted") {
  const isolation::Report report = Tried().report();
  CHECK(open_targets(report).empty());
  CHECK(isolation::blocked_paths(report) == 0);
  CHECK(report.doubt.empty());
  CHECK(report.paths.size() <= isolation::max_paths);
  const std::vector<std::string> found = targets_of(report.paths);
  const std::set<std::string> tried(found.begin(), found.end());
  for (const char* target :
       {"tcp/10.244.0.6/3000", "tcp/10.244.0.6/3999", "udp/10.244.0.6/3000", "tcp/fd00::6/3000",
        "tcp/10.96.0.6/80", "tcp/@api/0", "tcp/192.0.2.20/6443", "tcp/192.0.2.10/10250",
        "tcp/169.254.169.254/80", "tcp/10.244.0.9/8080", "tcp/10.244.0.2/9153", "tcp/10.0.0.1/443",
        "tcp/198.51.100.1/443", "tcp/203.0.113.7/25", "tcp/203.0.113.7/443", "udp/@dns/53"}) {
    CAPTURE(target);
    CHECK(tried.contains(target));
  }
}

TEST_CASE("isolation: each forbidden path that answers or refuses is reported") {
  for (const char* answer : {"answer", "refused"}) {
    Tried tried;
    tried.answers["one"]["tcp/169.254.169.254/80"] = answer;
    tried.answers["two"]["tcp/192.0.2.10/10250"] = answer;
    CHECK(open_targets(tried.report()) ==
          std::vector<std::string>{"tcp/169.254.169.254/80", "tcp/192.0.2.10/10250"});
  }
}

TEST_CASE("isolation: where the network plugin refuses instead of dropping, a refusal is no way") {
  Tried tried;
  for (auto& [from, answers] : tried.answers)
    for (auto& [target, answer] : answers)
      if (answer == "silence") answer = "refused";
  CHECK(open_targets(tried.report()).empty());
  tried.answers["one"]["tcp/192.0.2.10/22"] = "answer";
  CHECK(open_targets(tried.report()) == std::vector<std::string>{"tcp/192.0.2.10/22"});
}

TEST_CASE("isolation: a cluster without internet isn't worse, and one without DNS is reported") {
  Tried tried;
  CHECK(isolation::blocked_paths(tried.report()) == 0);  // its internet is silent
  tried.answers["one"]["udp/@dns/53"] = "silence";
  CHECK(isolation::blocked_paths(tried.report()) == 1);
  CHECK(open_targets(tried.report()).empty());
}

TEST_CASE("isolation: silence everywhere proves nothing") {
  Tried tried;
  SECTION("the own app's pod isn't reached") {
    tried.answers["two"]["tcp/10.244.0.6/3000"] = "silence";
  }
  SECTION("a pod has said nothing") { tried.answers.erase("two"); }
  SECTION("a path is missing") { tried.answers["one"].erase("tcp/169.254.169.254/80"); }
  CHECK_FALSE(tried.report().doubt.empty());
}

TEST_CASE("isolation: what leads to an ingress controller on the nodes' network isn't forbidden") {
  ProbeSurroundings around = surroundings();
  const auto has = [&](const std::string& target) {
    const auto targets = targets_of(probe_paths("one", one, two, around));
    return std::ranges::find(targets, target) != targets.end();
  };
  around.ingress_ports = {443};
  CHECK(has("tcp/10.0.0.1/443"));
  around.ingress_ranges = {parse_address_range("10.0.0.0/24").value()};
  CHECK_FALSE(has("tcp/10.0.0.1/443"));
  CHECK(has("tcp/192.168.0.1/443"));
}

TEST_CASE("isolation: a large cluster makes no large report") {
  ProbeSurroundings around = surroundings();
  for (int i = 0; i < 1000; ++i) {
    around.nodes.push_back("10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250));
    around.system.push_back({"system", "10.2.0.1", i + 1});
    around.berthd.push_back({"berthd", "10.3.0.1", i + 1});
    around.cluster_ranges.push_back(parse_address_range("198.51.100.0/24").value());
  }
  CHECK(probe_paths("one", one, two, around).size() <= isolation::max_paths / 2);
}

TEST_CASE("isolation: a container's answers are read from its own line alone") {
  const std::string good = R"({"probe":"n1","answers":{"tcp/a/1":"answer"}})";
  CHECK(read_answers("starting\n" + good + "\nover\n", "n1") ==
        ProbeAnswers{{"tcp/a/1", "answer"}});
  for (const std::string bad :
       {"", "n1", R"({"probe":"n2","answers":{}})", R"({"probe":"n1"})", R"(["n1"])",
        R"({"probe":"n1","answers":[]})", R"({"probe":"n1","answers":)"}) {
    CAPTURE(bad);
    CHECK_FALSE(read_answers(bad, "n1").has_value());
  }
  const std::string long_one = R"({"probe":"n1","answers":{"a":")" + std::string(1 << 20, 'x');
  CHECK_FALSE(read_answers(long_one + "\"}}", "n1").has_value());
  const auto strange = read_answers(
      R"({"probe":"n1","answers":{"a":1,"b":")" + std::string(1000, 'x') + "\"}}", "n1");
  REQUIRE(strange.has_value());
  CHECK(strange->size() == 1);
  CHECK(strange->at("b").size() == isolation::max_text);
}

TEST_CASE("isolation: a container finds out what answers, refuses and can't be tried") {
  Listening open;
  Listening closed;
  closed.close();
  ProbePod pod = {.port = 1, .other_port = 2, .nonce = "n1"};
  pod.targets = {open.target(), closed.target(), "tcp/@elsewhere/1"};
  const auto words = probe_arguments(pod);
  REQUIRE(words.front() == "probe");
  const ProbePod read = read_probe_arguments({words.begin() + 1, words.end()});
  CHECK(read.targets == pod.targets);
  CHECK(read_answers(try_targets(read), "n1") == ProbeAnswers{{open.target(), "answer"},
                                                              {closed.target(), "refused"},
                                                              {"tcp/@elsewhere/1", "untried"}});
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{}, {"1"}, {"x", "2"}, {"1", "70000"}})
    CHECK_THROWS_AS(read_probe_arguments(bad), std::invalid_argument);
  for (const char* bad : {"tcp", "tcp/1.2.3.4", "icmp/1.2.3.4/1", "tcp/1.2.3.4/x"}) {
    pod.targets = {bad};
    CHECK_THROWS_AS(try_targets(pod), std::invalid_argument);
  }
}

TEST_CASE("isolation: the probe proves it with tenants' objects, and leaves nothing") {
  ProbeWorld w;
  w.world.confine({.runtime_class = {}, .user_namespaces = true, .smtp = true, .bandwidth = 50});
  std::set<std::string> spaces;
  w.while_running = [&] {
    spaces.clear();
    for (const Object& space : w.namespaces()) {
      if (is_being_deleted(space)) continue;
      spaces.insert(name_of(space));
      CHECK(label_of(space, "pod-security.kubernetes.io/enforce") == "restricted");
      CHECK(name_of(space) == "berth-app-" + label_of(space, "berth/app"));
    }
    for (const std::string& space : spaces) {
      const auto policies = w.cluster.list("networkpolicies", space);
      REQUIRE(policies.size() == 1);  // none for SMTP
      CHECK(w.cluster.list("resourcequotas", space).size() == 1);
      CHECK(w.cluster.list("ingresses", space).empty());
      for (const json& deployment : w.cluster.list("deployments", space)) {
        const json& pod = deployment["spec"]["template"]["spec"];
        CHECK(pod["serviceAccountName"] == "tenant");
        CHECK(pod["automountServiceAccountToken"] == false);
        CHECK(pod["hostUsers"] == false);
        CHECK(pod["containers"][0]["image"] == image);
      }
    }
  };
  IsolationProbe probe(w.parts);
  probe.run_once();
  CHECK(spaces.size() == 2);
  CHECK(w.state() == State::proven);
  CHECK_FALSE(probe.is_busy());
  CHECK(w.is_clean());
  // It is daily, and at once when it is asked for.
  const Instant first = w.known().report.value().at;
  probe.run_once();
  CHECK(w.known().report.value().at == first);
  w.world.clock().advance(std::chrono::hours(25));
  probe.run_once();
  const Instant second = w.known().report.value().at;
  CHECK(second > first);
  probe.ask();
  CHECK(probe.is_busy());
  probe.run_once();
  CHECK(w.known().report.value().at > second);
  CHECK(w.is_clean());
  // Each is in the audit log.
  const auto entries = w.world.database().read([](db::Tx& tx) {
    return audit::list(tx, {.action = "isolation.probe"}, {.page = 1, .page_size = 10});
  });
  REQUIRE(entries.items.size() == 3);
  CHECK(json::parse(entries.items[0].details)["state"] == "proven");
  // A proof grows old.
  w.world.clock().advance(isolation::proof_lasts);
  CHECK(w.state() == State::unproven);
}

TEST_CASE("isolation: a new leader doesn't probe again what was probed within the hour") {
  ProbeWorld w;
  IsolationProbe(w.parts).run_once();
  const Instant first = w.known().report.value().at;
  IsolationProbe second(w.parts);
  second.run_once();
  CHECK(w.known().report.value().at == first);
  w.leads = false;
  second.run_once();
  w.leads = true;
  w.world.clock().advance(IsolationProbe::fresh);
  second.run_once();
  CHECK(w.known().report.value().at > first);
}

TEST_CASE("isolation: an open path is found, and forgotten once a run finds it shut") {
  ProbeWorld w;
  w.opened = "169.254.169.254";
  IsolationProbe probe(w.parts);
  probe.run_once();
  CHECK(w.state() == State::open);
  CHECK(isolation::open_paths(w.known().report.value()) == 2);  // from both tenants
  CHECK_FALSE(w.why_to_wait().empty());
  w.opened.clear();
  probe.ask();
  probe.run_once();
  CHECK(w.state() == State::proven);
  CHECK(w.why_to_wait().empty());
}

TEST_CASE(
    "isolation: a run that comes to nothing says why, keeps the last result and leaves nothing") {
  ProbeWorld w;
  IsolationProbe(w.parts).run_once();
  REQUIRE(w.state() == State::proven);
  w.parts.limits.starting = w.parts.limits.answering = std::chrono::milliseconds(300);
  std::string because;
  SECTION("there is no image") {
    w.parts.image = [] { return std::string(); };
    because = "isolation-image";
  }
  SECTION("the image is missing") {
    w.parts.image = [] { return std::string("registry.example.org/missing:1"); };
    because = "registry.example.org/missing:1";
  }
  SECTION("the containers say nothing") {
    w.parts.read_log = [](const std::string&, const std::string&) { return "starting\n"; };
    because = "doesn't say";
  }
  SECTION("the API server refuses") {
    w.cluster.fail_next(1, 403, std::nullopt, {"apply", "deployments"});
    because = "403";
  }
  IsolationProbe probe(w.parts);
  probe.ask();
  probe.run_once();
  CHECK(w.state() == State::proven);
  CHECK_FALSE(w.known().problem.empty());
  if (because != "403") CHECK(w.known().problem.contains(because));
  CHECK(w.is_clean());
  CHECK_FALSE(probe.is_busy());
  // It is tried again sooner than daily.
  const Instant failed = w.known().problem_at.value();
  w.world.clock().advance(IsolationProbe::after_problem);
  probe.run_once();
  CHECK((w.known().problem.empty() || w.known().problem_at.value() > failed));
}

TEST_CASE("isolation: what a killed berthd has left is removed by the next leader, in any mode") {
  ProbeWorld w;
  manifests::Settings left = w.world.settings();
  left.instance = "probed-isolation";
  w.world.client().apply(manifests::of_namespace("left-over", {}, left).front());
  manifests::Settings others = w.world.settings();
  w.world.client().apply(manifests::of_namespace("a-tenant", {}, others).front());
  REQUIRE(w.namespaces().size() == 1);
  w.parts.mode = isolation::Mode::off;
  IsolationProbe probe(w.parts);
  w.leads = false;
  probe.run_once();
  CHECK(w.namespaces().size() == 1);
  w.leads = true;
  probe.run_once();
  CHECK(w.is_clean());
  CHECK(w.world.objects(kube::namespaces).size() == 1);  // the tenant's
  CHECK(w.state() == State::unproven);
}

TEST_CASE("isolation: a run ends when berthd does, without a result") {
  ProbeWorld w;
  w.while_running = [&] {
    w.stops = true;
    throw kube::ApiError(400, "", "the container hasn't started");
  };
  IsolationProbe probe(w.parts);
  probe.run_once();
  CHECK(w.known().problem.empty());
  CHECK(w.state() == State::unproven);
  CHECK(w.is_clean());
}

TEST_CASE("isolation: while it is required, new deployments wait for the proof, and others don't") {
  ProbeWorld w;
  w.world.why_new_ones_wait = [&] { return w.why_to_wait(); };
  const std::string app = w.world.new_app();
  w.world.wake();
  const std::string waiting = w.world.deploy(app, {.name = "waiting"});
  REQUIRE(eventually([&] { return w.world.row(waiting).reason.has_value(); }));
  CHECK(w.world.row(waiting).reason == deployments::Reason::cluster_refused);
  CHECK(w.world.row(waiting).message.value_or("").contains("isolation"));
  CHECK(w.world.row(waiting).status == Status::pending);
  CHECK(w.world.objects(kube::namespaces).empty());
  w.parts.changed = [&] { w.world.engine().look_at_all(); };
  IsolationProbe probe(w.parts);
  probe.run_once();
  REQUIRE(w.state() == State::proven);
  REQUIRE(w.world.is(waiting, Status::running));
  CHECK_FALSE(w.world.row(waiting).reason.has_value());
  w.opened = "@api";
  probe.ask();
  probe.run_once();
  REQUIRE(w.state() == State::open);
  const std::string second = w.world.deploy(app, {.name = "second"});
  REQUIRE(eventually([&] { return w.world.row(second).reason.has_value(); }));
  CHECK(w.world.row(second).status == Status::pending);
  // What is on the cluster goes on, and can be changed.
  w.world.restart(waiting);
  CHECK(w.world.is(waiting, Status::running));
  CHECK(w.world.objects(kube::pods, second).empty());
}
