#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "controller/base/processes.h"

// What a deployment's container is made of, with everything that is to be said of each field in a
// row. Schemas, decoding, encoding, checks, comparison, the client's flags, its berth.yaml and its
// output follow from the rows.
namespace berth::deployments {

inline constexpr int default_port = 3000;
inline constexpr int max_port = 65'535;
inline constexpr std::size_t max_image_length = 512;
inline constexpr std::size_t max_health_path_length = 256;
// Of `command` and of `args`, each. A page of a list has 100 deployments with both.
inline constexpr std::size_t max_arguments = 64;
inline constexpr std::size_t max_argument_length = 4096;
inline constexpr std::size_t max_arguments_bytes = 8192;
static_assert(max_arguments == 64 && max_argument_length == 4096 && max_arguments_bytes == 8192,
              "arguments_must says these numbers");
inline constexpr std::string_view arguments_must =
    "must have at most 64 texts of at most 4096 bytes, 8192 together, without control characters "
    "but tabs and line ends";

// Orders ask for it, changes alter it, revisions remember it, and rollbacks bring it back. Memory
// and CPU aren't part of it: the tier decides them, and a rollback leaves the tier as it is.
struct ContainerSpec {
  std::string image;
  int port = default_port;
  std::string health_path = {};  // empty: the port must accept TCP connections
  Texts command = {};            // instead of the image's ENTRYPOINT; empty: the image's own
  Texts args = {};               // instead of the image's CMD; empty: the image's own
  int replicas = 1;              // how many containers of web there are, without `scale`
  std::optional<Scale> scale = {};
  Processes processes = {};    // empty: web alone, as the fields above say
  Texts release_command = {};  // runs once before each rollout; empty: none
  Crons crons = {};
  bool auto_deploy = false;  // a new digest of the image's tag is rolled out
  // The hours of the day in UTC at which it is, such as "22-6"; empty: all.
  std::string deploy_hours = {};
  bool identity = false;  // its containers find a token that says which deployment they are of
  bool operator==(const ContainerSpec&) const = default;
};

struct ContainerField {
  enum class Kind { text, number, texts, flag, scale, processes, crons };  // in Member's order
  using Member =
      std::variant<std::string ContainerSpec::*, int ContainerSpec::*, Texts ContainerSpec::*,
                   bool ContainerSpec::*, std::optional<Scale> ContainerSpec::*,
                   Processes ContainerSpec::*, Crons ContainerSpec::*>;
  struct Words {  // a description for the published document, and an example as JSON
    std::string_view text;
    std::string_view example;
  };

  std::string_view name;         // in requests and in berth.yaml, and the column of both tables
  std::string_view answered_as;  // its name in answers
  Member member;
  std::int64_t least = 0;      // the limits of a number, or of the length of a text or of each of
  std::int64_t most = 0;       // a list's texts, which are a program's arguments
  std::size_t most_texts = 0;  // the limits of a list
  std::size_t most_bytes = 0;
  std::string_view must;  // why a value is refused, as a sentence that begins with the name
  bool replaces_container = true;  // whether a change of it does
  std::string_view schema = {};    // the published schema of what is made of several values
  Words in_order;
  Words in_change;
  Words in_answer;
  std::string_view title;  // in the output of `berth deploy get`
  std::string_view flag;   // of `berth deploy create` and `update`, as CLI11 takes it
  std::string_view help;   // the flag's

  constexpr Kind kind() const { return Kind(member.index()); }
  // Whether its value is an object, or a list of objects.
  constexpr bool is_structure() const { return kind() >= Kind::scale; }
  // Whether it can be without a value: an empty text, list or object, which null means, too.
  constexpr bool is_removable() const {
    return kind() != Kind::number && kind() != Kind::flag && least == 0;
  }
};

inline constexpr auto container_fields = std::to_array<ContainerField>({
    {.name = "image",
     .answered_as = "container_image",
     .member = &ContainerSpec::image,
     .least = 1,
     .most = max_image_length,
     .must = "must be the name of an image, such as nginx:1.27 or ghcr.io/acme/web:1",
     .in_order =
         {"The image, as people write it: nginx is docker.io/library/nginx, and the address of its "
          "page at Docker Hub or GitHub works, too. In full, it must begin with one of the "
          "allowed registries.",
          R"("docker.io/library/nginx:1.27")"},
     .in_change = {"The image, as in a creation.", R"("docker.io/library/nginx:1.28")"},
     .in_answer = {"The image from the request, in full.", R"("docker.io/library/nginx:1.27")"},
     .title = "Image",
     .flag = "--image,-i",
     .help = "Image, such as nginx:1.27 or ghcr.io/acme/web:1"},
    {.name = "port",
     .answered_as = "port",
     .member = &ContainerSpec::port,
     .least = 1,
     .most = max_port,
     .must = "must be between 1 and 65535",
     .in_order = {"The port that the container listens on; the default is 3000.", "3000"},
     .in_change = {"The port that the container listens on.", "8080"},
     .in_answer = {"The port that the container must listen on.", "3000"},
     .title = "Port",
     .flag = "--port",
     .help = "Port on which the container listens; 3000 by default"},
    {.name = "health_path",
     .answered_as = "health_path",
     .member = &ContainerSpec::health_path,
     .most = max_health_path_length,
     .must = "must begin with '/' and have at most 256 printable ASCII characters",
     .in_order = {"A path that is requested by HTTP to find out whether the container is ready. "
                  "Without it, the port must accept TCP connections.",
                  "null"},
     .in_change = {"A path that is requested by HTTP to find out whether the container is ready; "
                   "null means that the port must accept TCP connections.",
                   R"("/healthz")"},
     .in_answer = {"The value from the request.", "null"},
     .title = "Health path",
     .flag = "--health-path",
     .help = "Path that answers with a status from 200 to 399 when the container is ready"},
    {.name = "command",
     .answered_as = "command",
     .member = &ContainerSpec::command,
     .most = max_argument_length,
     .most_texts = max_arguments,
     .most_bytes = max_arguments_bytes,
     .must = arguments_must,
     .in_order =
         {"The program that the container runs, with its first arguments, instead of the "
          "image's ENTRYPOINT; the image's CMD is then ignored. It is run as it is, without "
          "a shell, and $(NAME) isn't replaced. Empty or null stands for the image's own.",
          "[]"},
     .in_change = {"Instead of the image's ENTRYPOINT, as in a creation; [] or null returns to the "
                   "image's own.",
                   R"(["/bin/sh", "-c"])"},
     .in_answer = {"The value from the request; empty for the image's own ENTRYPOINT.", "[]"},
     .title = "Command",
     .flag = "--command",
     .help =
         "Program that runs instead of the image's ENTRYPOINT: give the flag once for each of its "
         "words; `update` takes none for the image's own"},
    {.name = "args",
     .answered_as = "args",
     .member = &ContainerSpec::args,
     .most = max_argument_length,
     .most_texts = max_arguments,
     .most_bytes = max_arguments_bytes,
     .must = arguments_must,
     .in_order = {"The arguments of the command, or of the image's ENTRYPOINT, instead of the "
                  "image's CMD. They are passed as they are, and $(NAME) isn't replaced. Empty or "
                  "null stands for the image's own.",
                  "[]"},
     .in_change =
         {"Instead of the image's CMD, as in a creation; [] or null returns to the image's "
          "own.",
          R"(["exec ./server --port=\"$PORT\""])"},
     .in_answer = {"The value from the request; empty for the image's own CMD.", "[]"},
     .title = "Arguments",
     .flag = "--args",
     .help = "Argument instead of the image's CMD: give the flag once for each; `update` takes "
             "none for "
             "the image's own"},
    {.name = "replicas",
     .answered_as = "replicas",
     .member = &ContainerSpec::replicas,
     .least = 1,
     .most = max_replicas,
     .must = "must be between 1 and 100; a deployment without containers is one that is stopped",
     .replaces_container = false,
     .in_order =
         {"How many containers the process web has; the default is 1, and the tier says how "
          "many a deployment may have.",
          "1"},
     .in_change = {"How many containers the process web has. None of those that stay is replaced.",
                   "2"},
     .in_answer = {"How many containers the process web is to have, without scale.", "1"},
     .title = "Replicas",
     .flag = "--replicas",
     .help = "Number of containers; 1 by default"},
    {.name = "scale",
     .answered_as = "scale",
     .member = &ContainerSpec::scale,
     .must = "must have min and max, from 1 to 100, min not above max, and in_flight, from 1 to "
             "10000",
     .replaces_container = false,
     .schema = "Scale",
     .in_order = {"How many containers the process web has, by the requests that are in flight, "
                  "instead of replicas.",
                  R"({"min": 1, "max": 2, "in_flight": 20})"},
     .in_change = {"As in a creation; null returns to the number in replicas.",
                   R"({"min": 1, "max": 2, "in_flight": 20})"},
     .in_answer = {"The value from the request.", "null"},
     .title = "Scale",
     .flag = "--scale",
     .help =
         R"(Number of containers by requests in flight: '{"min": 1, "max": 3, "in_flight": 20}')"},
    {.name = "processes",
     .answered_as = "processes",
     .member = &ContainerSpec::processes,
     .must =
         "must have at most 10 processes, each with a name of 1 to 20 lower-case letters, digits "
         "and hyphens, with a letter at its beginning and no hyphen at its end",
     .schema = "Processes",
     .in_order = {"What runs, by the names of the processes, each with containers of its own. All "
                  "have the deployment's image and variables. Only web has a port and is served. "
                  "Without this field there is web alone. What web leaves out is what the "
                  "deployment's own fields say.",
                  R"({"web": {}, "worker": {"command": ["./worker"]}})"},
     .in_change = {"All processes, as in a creation; {} or null returns to web alone.",
                   R"({"web": {}, "worker": {"command": ["./worker"]}})"},
     .in_answer = {"The value from the request; empty for web alone.", "{}"},
     .title = "Processes",
     .flag = "--processes",
     .help =
         R"(Processes beside or instead of web: '{"web": {}, "worker": {"command": ["./worker"]}}')"},
    {.name = "release_command",
     .answered_as = "release_command",
     .member = &ContainerSpec::release_command,
     .most = max_argument_length,
     .most_texts = max_arguments,
     .most_bytes = max_arguments_bytes,
     .must = arguments_must,
     .replaces_container = false,
     .in_order = {"A command that runs once before each rollout, with the new image and variables, "
                  "such as a migration. If it fails, the rollout doesn't begin, and what runs goes "
                  "on. Empty or null stands for none.",
                  "[]"},
     .in_change = {"As in a creation, from the next rollout on; [] or null for none.",
                   R"(["./migrate"])"},
     .in_answer = {"The value from the request; empty for none.", "[]"},
     .title = "Release command",
     .flag = "--release-command",
     .help =
         "Command that runs once before each rollout: give the flag once for each of its words; "
         "`update` takes none for no command"},
    {.name = "crons",
     .answered_as = "crons",
     .member = &ContainerSpec::crons,
     .must = "must have at most 20 commands with different names",
     .replaces_container = false,
     .schema = "Crons",
     .in_order =
         {"Commands that run at set times, each in a container of its own.",
          R"([{"name": "nightly", "schedule": "0 3 * * *", "zone": "UTC", "command": ["./clean-up"], "process": null}])"},
     .in_change =
         {"All commands that run at set times; [] or null for none.",
          R"([{"name": "nightly", "schedule": "0 3 * * *", "zone": "UTC", "command": ["./clean-up"], "process": null}])"},
     .in_answer = {"The value from the request.", "[]"},
     .title = "Crons",
     .flag = "--crons",
     .help =
         R"(Commands at set times: '[{"name": "n", "schedule": "0 3 * * *", "command": ["./n"]}]')"},
    {.name = "auto_deploy",
     .answered_as = "auto_deploy",
     .member = &ContainerSpec::auto_deploy,
     .must = "must be true or false",
     .replaces_container = false,
     .in_order = {"Whether a new image under the same tag is rolled out by itself.", "false"},
     .in_change = {"Whether a new image under the same tag is rolled out by itself.", "true"},
     .in_answer = {"The value from the request.", "false"},
     .title = "Deploys on push",
     .flag = "--auto-deploy",
     .help = "Whether a new image under the same tag is rolled out by itself: true or false"},
    {.name = "deploy_hours",
     .answered_as = "deploy_hours",
     .member = &ContainerSpec::deploy_hours,
     .most = 5,
     .must = "must be two hours of the day in UTC, such as 22-6 for 22:00 to 06:00",
     .replaces_container = false,
     .in_order =
         {"At which hours of the day in UTC a new image is rolled out by itself: 22-6 means "
          "from 22:00 to 06:00. Without it, at any.",
          "null"},
     .in_change = {"As in a creation; null for any hour.", R"("22-6")"},
     .in_answer = {"The value from the request.", "null"},
     .title = "Deploys at",
     .flag = "--deploy-hours",
     .help = "Hours of the day in UTC at which a new image is rolled out by itself: 22-6"},
    {.name = "identity",
     .answered_as = "identity",
     .member = &ContainerSpec::identity,
     .must = "must be true or false",
     .in_order =
         {"Whether the containers find a token that says which deployment they are of, in "
          "/var/run/secrets/berth/token. They exchange it for an access token if a trust of "
          "the app in the issuer berth accepts it. Containers of commands that run once have "
          "none.",
          "false"},
     .in_change = {"Whether the containers find a token that says which deployment they are of.",
                   "true"},
     .in_answer = {"The value from the request.", "false"},
     .title = "Identity",
     .flag = "--identity",
     .help =
         "Whether the containers find a token by which they prove which deployment they are of: "
         "true or false"},
});

// The columns, and what an UPDATE sets them to: literals, because tests/sql finds no others.
inline constexpr std::string_view container_columns = R"(image, port, health_path, command, args,
           replicas, scale, processes, release_command, crons, auto_deploy, deploy_hours,
           identity)";
inline constexpr std::string_view container_values =
    R"(image = $3, port = $4, health_path = $5, command = $6, args = $7, replicas = $8, scale = $9,
          processes = $10, release_command = $11, crons = $12, auto_deploy = $13,
          deploy_hours = $14, identity = $15)";
inline constexpr int first_container_value = 3;

// One process as it is to run, with everything that it leaves out filled in.
struct ProcessSpec {
  std::string name;
  Texts command;
  Texts args;
  std::optional<int> port;  // only of web
  std::string health_path;
  int replicas = 1;            // without `scale`
  std::optional<Scale> scale;  // only of web
  std::optional<int> memory_mb;
  std::optional<int> cpu_millicores;
  // How many containers it may have at once.
  int most_replicas() const { return scale ? scale->max : replicas; }
};
// Returns the processes, web first and then by their names.
std::vector<ProcessSpec> processes_of(const ContainerSpec& container);
// Whether the deployment's names lead to a process: whether web has a port.
bool is_served(const ContainerSpec& container);
// How many containers all processes may have together at once.
int most_replicas(const ContainerSpec& container);

// The row of a member. Each member has one.
constexpr const ContainerField& field_of(const ContainerField::Member& member) {
  return *std::ranges::find(container_fields, member, &ContainerField::member);
}

}  // namespace berth::deployments
