#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What a deployment's container is made of, with everything that is to be said of each field in a
// row. Schemas, decoding, encoding, checks, comparison, the client's flags, its berth.yaml and its
// output follow from the rows.
namespace berth::deployments {

inline constexpr int default_port = 3000;
inline constexpr int max_port = 65'535;
inline constexpr std::size_t max_image_length = 512;
inline constexpr std::size_t max_health_path_length = 256;

using Texts = std::vector<std::string>;

// Orders ask for it, changes alter it, revisions remember it, and rollbacks bring it back. Memory
// and CPU aren't part of it: the tier decides them, and a rollback leaves the tier as it is.
struct ContainerSpec {
  std::string image;
  int port = default_port;
  std::string health_path = {};  // empty: the port must accept TCP connections
  bool operator==(const ContainerSpec&) const = default;
};

struct ContainerField {
  enum class Kind { text, number, texts };  // in the order of Member
  using Member =
      std::variant<std::string ContainerSpec::*, int ContainerSpec::*, Texts ContainerSpec::*>;
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
  Words in_order;
  Words in_change;
  Words in_answer;
  std::string_view title;  // in the output of `berth deploy get`
  std::string_view flag;   // of `berth deploy create` and `update`, as CLI11 takes it
  std::string_view help;   // the flag's

  constexpr Kind kind() const { return Kind(member.index()); }
  // Whether it can be without a value: an empty text or list, which null means, too.
  constexpr bool is_removable() const { return kind() != Kind::number && least == 0; }
};

inline constexpr auto container_fields = std::to_array<ContainerField>({
    {.name = "image",
     .answered_as = "container_image",
     .member = &ContainerSpec::image,
     .least = 1,
     .most = max_image_length,
     .must = "must be an image reference such as docker.io/library/nginx:1.27",
     .in_order = {"The image, which must begin with one of the allowed registries.",
                  R"("docker.io/library/nginx:1.27")"},
     .in_change = {"The image, which must begin with one of the allowed registries.",
                   R"("docker.io/library/nginx:1.28")"},
     .in_answer = {"The value from the request.", R"("docker.io/library/nginx:1.27")"},
     .title = "Image",
     .flag = "--image,-i",
     .help = "Image with its registry, such as docker.io/library/hello:1"},
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
});

// The columns, and what an UPDATE sets them to: literals, because tests/sql finds no others.
inline constexpr std::string_view container_columns = R"(image, port, health_path)";
inline constexpr std::string_view container_values = R"(image = $3, port = $4, health_path = $5)";
inline constexpr int first_container_value = 3;

// The row of a member. Each member has one.
constexpr const ContainerField& field_of(const ContainerField::Member& member) {
  return *std::ranges::find(container_fields, member, &ContainerField::member);
}

}  // namespace berth::deployments
